//! File operations that depend on the engine: atomic writes, syncing, pre-reading.

use super::Review;
use crate::diagnostic::Rejected;
use crate::spec::JobSpec;

/// Requires direct I/O for atomic writes, and an engine that supports them.
pub(super) fn check_atomic(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if !job.engine.atomic {
        return Ok(());
    }
    if !review.engine_of(job).is_some_and(|engine| engine.atomic_writes) {
        return Err(review.refuse(
            &job.origin,
            "fio: engine does not support atomic writes",
            format!("job {}: atomic=1 needs ioengine pvsync2, libaio or io_uring", job.name),
        ));
    }
    job.io_type.direct = true;
    job.io_type.buffered = false;
    Ok(())
}

/// Requires an engine that can sync a whole file system.
pub(super) fn check_syncfs(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if job.io_type.end_syncfs && !review.engine_of(job).is_some_and(|engine| engine.syncfs) {
        let engine = &job.engine.ioengine.name;
        return Err(review.refuse(
            &job.origin,
            format!("{}: I/O engine does not support syncfs", job.name),
            format!("job {}: end_syncfs=1 does not work with ioengine {engine}", job.name),
        ));
    }
    Ok(())
}

/// Requires an engine that can send a trim command with several ranges.
pub(super) fn check_ranges(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if job.engine.num_range > 1 && review.engine_of(job).is_none_or(|engine| !engine.many_ranges) {
        let engine = &job.engine.ioengine.name;
        return Err(review.refuse(
            &job.origin,
            format!("fio: can't use multiple ranges with IO engine {engine}"),
            format!("job {}: num_range=1 works with every engine", job.name),
        ));
    }
    Ok(())
}

/// Refuses to replace files between two loops while they are mapped.
pub(super) fn check_unlink_each_loop(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let maps_files = review.engine_of(job).is_some_and(|engine| engine.maps_files);
    if job.file.unlink_each_loop && job.job_description.loops > 1 && maps_files {
        return Err(review.refuse(
            &job.origin,
            format!("{}: unlink_each_loop does not work with ioengine mmap", job.name),
            format!("job {}: use unlink=1, or another engine such as psync", job.name),
        ));
    }
    Ok(())
}

/// Drops `pre_read` for engines without files.
pub(super) fn drop_pre_read(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if job.file.pre_read
        && review.engine_of(job).is_some_and(|engine| !engine.has_files() || !engine.moves_data())
    {
        review.warn("fio: cannot pre-read files with an IO engine that isn't seekable. Pre-read disabled.");
        job.file.pre_read = false;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, quiet_job, refusal};

    #[test]
    fn ranges_need_an_engine() {
        let line = "fio: can't use multiple ranges with IO engine null";
        assert_eq!(refusal("--name=a --ioengine=null --num_range=2"), line);
        assert_eq!(quiet_job("--name=a --num_range=1").engine.num_range, 1);
    }

    #[test]
    fn atomic_writes_are_direct_and_need_an_engine() {
        assert_eq!(refusal("--name=a --atomic=1"), "fio: engine does not support atomic writes");
        assert!(quiet_job("--name=a --atomic=1 --ioengine=io_uring").io_type.direct);
    }

    #[test]
    fn not_every_engine_syncs_file_systems() {
        let line = refusal("--name=a --end_syncfs=1 --ioengine=null");
        assert_eq!(line, "a: I/O engine does not support syncfs");
        quiet_job("--name=a --end_syncfs=1");
    }

    #[test]
    fn nothing_is_read_ahead_without_files() {
        let (accepted, lines) = job("--name=a --pre_read=1 --ioengine=null");
        assert!(!accepted.unwrap().file.pre_read);
        assert!(lines[0].ends_with("Pre-read disabled."));
        assert!(quiet_job("--name=a --pre_read=1").file.pre_read);
    }
}
