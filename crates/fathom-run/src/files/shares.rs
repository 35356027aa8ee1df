//! `split`: assigns parts of the files to clones.

use super::entry::{FileEntry, FileError};
use crate::plan::WorkerPlan;
use crate::plan::model::files::Share;

/// Reduces the files to this clone's share, if it has one. The files are divided as one sequence of blocks, so
/// shares differ by at most one block even if there are more files than shares.
pub(super) fn keep_share(plan: &WorkerPlan, entries: &mut [FileEntry]) -> Result<(), FileError> {
    let Some(share) = plan.files.part.share else { return Ok(()) };
    let lengths =
        plan.target_plan.used_directions().iter().map(|&direction| plan.target_plan.lengths[direction].min());
    let unit = lengths.fold(plan.files.part.alignment, u64::max).max(1);
    let sizes: Vec<u64> = entries.iter().map(|entry| entry.size).collect();
    let blocks: u128 = sizes.iter().map(|size| u128::from(size.div_ceil(unit))).sum();
    if blocks < u128::from(share.of) {
        return Err(FileError::without_line(format!(
            "fathom: job {}: split: {blocks} blocks of {unit} bytes cannot be divided into {} shares; use a larger size= or a smaller bs=",
            plan.name, share.of
        )));
    }
    for (entry, (from, to)) in entries.iter_mut().zip(parts(&sizes, unit, share)) {
        // All hosts lay a file out with the same length; otherwise one host might truncate another's part. If
        // the layout writes content, each host writes up to the end of its share, and all wait for the last
        // one before they start.
        let is_filled_by_others = plan.files.layout.content_needed && from < to;
        entry.data_set_end = (!is_filled_by_others).then_some(entry.start.saturating_add(entry.size));
        entry.start = entry.start.saturating_add(from);
        entry.size = to - from;
    }
    Ok(())
}

/// Start and end of the share in each of these files. Both are multiples of `unit` or the end of a file.
fn parts(sizes: &[u64], unit: u64, share: Share) -> Vec<(u64, u64)> {
    let blocks: u128 = sizes.iter().map(|size| u128::from(size.div_ceil(unit))).sum();
    let bound = |number: u32| blocks * u128::from(number) / u128::from(share.of.max(1));
    let (begin, end) = (bound(share.number), bound(share.number + 1));
    let mut before: u128 = 0;
    let part = |size: &u64| {
        let own = u128::from(size.div_ceil(unit));
        let place = |bound: u128| {
            let blocks = bound.saturating_sub(before).min(own);
            u64::try_from(blocks * u128::from(unit)).unwrap_or(u64::MAX).min(*size)
        };
        let part = (place(begin), place(end));
        before += own;
        part
    };
    sizes.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_cover_everything_and_never_overlap(
            sizes in prop::collection::vec(prop_oneof![0u64..100, 0u64..(1 << 40), Just(i64::MAX as u64)], 1..6),
            unit in prop_oneof![1u64..10, Just(4096u64), 1u64..(1 << 24)],
            of in 1u32..40,
        ) {
            let all: Vec<Vec<(u64, u64)>> = (0..of).map(|number| parts(&sizes, unit, Share { number, of })).collect();
            for (file, size) in sizes.iter().enumerate() {
                let mut at = 0;
                for share in &all {
                    let (from, to) = share[file];
                    if from == to {
                        continue;
                    }
                    prop_assert_eq!(from, at, "a share begins where the one before it ended");
                    prop_assert!(from < to && from % unit == 0);
                    at = to;
                }
                prop_assert_eq!(at, *size, "the last one ends with the file");
            }
            // Shares differ by at most one block.
            let blocks = |share: &Vec<(u64, u64)>| -> u128 {
                share.iter().map(|(from, to)| u128::from((to - from).div_ceil(unit))).sum()
            };
            let counts: Vec<u128> = all.iter().map(blocks).collect();
            prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{:?}", counts);
        }
    }
}
