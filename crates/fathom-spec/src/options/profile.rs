//! Built-in workloads.

use crate::definition::options;

options! {
    /// Built-in workloads.
    pub struct ProfileOptions at job.profile, in Profile, table TABLE;

    /// Use a built in profile
    Later Text profile: Option<String>;
}
