//! Built-in workloads (`--profile`): each one creates jobs from its own options.

mod act;
mod tiobench;

use crate::job_file::JobFile;
use crate::message::Message;
use crate::source::Source;
use crate::spec::JobSpec;

/// One built-in workload.
pub(crate) struct Profile {
    /// Name given to `--profile`.
    pub(crate) name: &'static str,
    /// Options that belong only to this profile.
    pub(crate) own_options: &'static [&'static str],
    /// Translates the profile's options to job options: names and values.
    pub(crate) meanings: fn(&JobSpec) -> Vec<(&'static str, String)>,
    /// Warnings about the profile's options that have no effect.
    pub(crate) notes: fn(&JobSpec) -> Vec<Message>,
    /// The profile's jobs, given the settings of the command line.
    pub(crate) jobs: fn(&JobSpec, &dyn Source) -> JobFile,
}

/// All profiles.
pub(crate) const PROFILES: [Profile; 2] = [tiobench::PROFILE, act::PROFILE];

/// The profile with this name.
pub(crate) fn find(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}
