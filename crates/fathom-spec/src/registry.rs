//! Finding options by name, and the nearest name to a misspelt one.

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

/// The number of letters to insert, delete or replace to turn one word into another.
pub fn distance(from: &str, to: &str) -> usize {
    strsim::levenshtein(from, to)
}

/// The name nearest to a word, with its distance; of equally near ones the first by alphabet.
pub(crate) fn nearest_with_distance<'n>(
    word: &str,
    names: impl Iterator<Item = &'n str>,
) -> Option<(&'n str, usize)> {
    // No name is that long, and the distance of long texts takes long to find.
    if word.len() > 256 {
        return None;
    }
    names.map(|name| (name, distance(word, name))).min_by_key(|(name, distance)| (*distance, *name))
}

/// The nearest name, if it is near enough to be what was meant.
pub fn nearest<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    nearest_with_distance(word, names)
        .filter(|(_, distance)| *distance <= word.chars().count().div_ceil(2))
        .map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn distances_are_counted_in_letters() {
        assert_eq!(distance("bs", "bs"), 0);
        assert_eq!(distance("bogus", "bs"), 3);
        assert_eq!(distance("", "size"), 4);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        assert_eq!(nearest("iodept", job_option_names()), Some("iodepth"));
        assert_eq!(nearest("bogus", job_option_names()), Some("bs"));
        assert_eq!(nearest("zzzzzzzzzzzzzzzz", job_option_names()), None);
    }

    #[test]
    fn aliases_find_their_option() {
        assert_eq!(find_job_option("blocksize").map(|option| option.name), Some("bs"));
    }

    proptest! {
        #[test]
        fn distance_is_symmetric(one in "[a-e_]{0,8}", other in "[a-e_]{0,8}") {
            prop_assert_eq!(distance(&one, &other), distance(&other, &one));
            prop_assert_eq!(distance(&one, &other) == 0, one == other);
        }
    }
}
