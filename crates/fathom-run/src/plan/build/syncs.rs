//! Builds syncs and barriers from options.

use super::Subject;
use crate::plan::model::syncs::{FinalSync, SyncPlan};

/// Rules for syncing a clone's data to the device.
pub(super) fn sync_plan(subject: &Subject<'_>) -> SyncPlan {
    let options = &subject.job.io_type;
    let writes = subject.directions()[1];
    // Syncs follow writes. A replayed log contains its own syncs, so none are added.
    let every = |writes_between: u32| match writes && subject.log.is_none() {
        true => u64::from(writes_between),
        false => 0,
    };
    SyncPlan {
        sync_every: every(options.fsync),
        data_sync_every: every(options.fdatasync),
        range_sync_every: every(options.sync_file_range.as_ref().map_or(0, |range| range.every)),
        barrier_every: u64::from(options.write_barrier),
        at_close: writes && options.fsync_on_close,
        at_end: match (options.end_syncfs, options.end_fsync || options.fsync_on_close) {
            _ if !writes => None,
            (true, _) => Some(FinalSync::FileSystems),
            (false, true) => Some(FinalSync::Files),
            (false, false) => None,
        },
    }
}
