//! Finds the closest name to a misspelt one.

/// Edit distance: the number of letters to insert, delete or replace to turn one word into another.
pub fn distance(from: &str, to: &str) -> usize {
    strsim::levenshtein(from, to)
}

/// The name closest to a word, with its distance; among equally close names, the first in alphabetical order.
pub(crate) fn nearest_with_distance<'n>(
    word: &str,
    names: impl Iterator<Item = &'n str>,
) -> Option<(&'n str, usize)> {
    // No name is this long, and distances of long texts are expensive to compute.
    if word.len() > 256 {
        return None;
    }
    names.map(|name| (name, distance(word, name))).min_by_key(|(name, distance)| (*distance, *name))
}

/// The closest name, if it is close enough to be the intended one.
pub fn nearest<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    nearest_with_distance(word, names)
        .filter(|(_, distance)| *distance <= word.chars().count().div_ceil(2))
        .map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::registry::job_option_names;

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

    proptest! {
        #[test]
        fn distance_is_symmetric(one in "[a-e_]{0,8}", other in "[a-e_]{0,8}") {
            prop_assert_eq!(distance(&one, &other), distance(&other, &one));
            prop_assert_eq!(distance(&one, &other) == 0, one == other);
        }
    }
}
