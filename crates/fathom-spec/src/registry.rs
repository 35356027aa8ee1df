//! Finding options by name.

use crate::definition::OptionDef;
use crate::options::TABLES;

/// The options of every job, in the order of the tables.
pub fn job_options() -> impl Iterator<Item = &'static OptionDef> {
    TABLES.iter().copied().flatten()
}

/// The option of every job that goes by this name or alias.
pub fn find_job_option(name: &str) -> Option<&'static OptionDef> {
    job_options().find(|option| option.is_named(name))
}

/// Every name and alias of the options of every job.
pub(crate) fn job_option_names() -> impl Iterator<Item = &'static str> {
    job_options().flat_map(|option| std::iter::once(option.name).chain(option.aliases.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_find_their_option() {
        assert_eq!(find_job_option("blocksize").map(|option| option.name), Some("bs"));
    }
}
