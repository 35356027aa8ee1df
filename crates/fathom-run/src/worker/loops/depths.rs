//! Counts the queue depths of a batch of I/Os in one step.

use fathom_stats::report::DEPTH_BUCKETS;
use fathom_stats::samples::{bump, depth_bucket};
use std::sync::atomic::AtomicU64;

/// Counts every depth above `before` up to `reached`, as the same number of consecutive I/Os would.
#[inline]
pub(super) fn bump_depths(map: &[AtomicU64; DEPTH_BUCKETS], before: u32, reached: u32) {
    let mut below = before;
    while below < reached {
        let bucket = depth_bucket(below + 1);
        let last_of_bucket = if bucket + 1 < DEPTH_BUCKETS { (2 << bucket) - 1 } else { u32::MAX };
        let last = last_of_bucket.min(reached);
        bump(&map[bucket], u64::from(last - below));
        below = last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn depths_of_a_batch_count_as_one_by_one(before in 0u32..200, count in 0u32..200) {
            let [together, single] = [(); 2].map(|()| [const { AtomicU64::new(0) }; DEPTH_BUCKETS]);
            bump_depths(&together, before, before + count);
            (1..=count).for_each(|more| bump(&single[depth_bucket(before + more)], 1));
            prop_assert_eq!(together.map(AtomicU64::into_inner), single.map(AtomicU64::into_inner));
        }
    }
}
