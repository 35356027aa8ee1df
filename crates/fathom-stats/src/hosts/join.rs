//! Joins lists from several hosts by adding up entries with the same key.

use std::collections::HashMap;

/// An entry of a list, in which several entries may have the same name.
pub(super) trait Entry: Clone {
    /// Returns reporting group (0 if entries have none) and name.
    fn key(&self) -> (u32, &str);
}

/// Adds entries to those with the same key: the first entry of a key to the first, the second to the second,
/// and so on. Further entries are appended. The result is in the order of groups, and within a group in the
/// order of appearance.
pub(super) fn join<T: Entry>(own: &mut Vec<T>, theirs: &[T], merge: impl Fn(&mut T, &T)) {
    join_with(own, theirs, merge, T::clone);
}

/// Does the same, with `take` for new entries.
pub(super) fn join_with<T: Entry>(
    own: &mut Vec<T>,
    theirs: &[T],
    merge: impl Fn(&mut T, &T),
    take: impl Fn(&T) -> T,
) {
    for (entry, place) in theirs.iter().zip(places(own, theirs)) {
        match place.and_then(|place| own.get_mut(place)) {
            Some(own) => merge(own, entry),
            None => own.push(take(entry)),
        }
    }
    own.sort_by_key(|entry| entry.key().0);
}

/// Returns for each entry the index of its partner in `own`.
fn places<T: Entry>(own: &[T], theirs: &[T]) -> Vec<Option<usize>> {
    let mut by_key: HashMap<(u32, &str), Vec<usize>> = HashMap::new();
    for (place, entry) in own.iter().enumerate() {
        by_key.entry(entry.key()).or_default().push(place);
    }
    let mut taken: HashMap<(u32, &str), usize> = HashMap::new();
    let mut places = Vec::with_capacity(theirs.len());
    for entry in theirs {
        let nth = taken.entry(entry.key()).or_default();
        places.push(by_key.get(&entry.key()).and_then(|found| found.get(*nth)).copied());
        *nth += 1;
    }
    places
}
