//! Finding options by name.

use crate::definition::OptionDef;
use crate::options::{TABLES, private};

/// The options of every job, in the order of the tables.
pub fn job_options() -> impl Iterator<Item = &'static OptionDef> {
    TABLES.iter().copied().flatten()
}

/// The job option with this name or alias.
pub fn find_job_option(name: &str) -> Option<&'static OptionDef> {
    job_options().find(|option| option.is_named(name))
}

/// Every name and alias of the options of every job.
pub(crate) fn job_option_names() -> impl Iterator<Item = &'static str> {
    job_options().flat_map(|option| std::iter::once(option.name).chain(option.aliases.iter().copied()))
}

/// The place of an option among those of its section, as in fio's `--showcmd` and reports: options that affect
/// how others are parsed come first, file names come after the options that determine them, and engine options
/// come after the engine. Within these groups, the order is that of the file.
pub(crate) fn rank(name: &str) -> u8 {
    match find_job_option(name).map(|definition| definition.name) {
        Some("lockfile" | "cpus_allowed_policy" | "kb_base" | "unit_base") => 0,
        Some("filename" | "filename_format") => 2,
        Some(_) => 1,
        // fio treats profile options as options of every job.
        None if private::of_profiles().into_iter().flatten().any(|option| option.is_named(name)) => 1,
        None => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_find_their_option() {
        assert_eq!(find_job_option("blocksize").map(|option| option.name), Some("bs"));
    }
}
