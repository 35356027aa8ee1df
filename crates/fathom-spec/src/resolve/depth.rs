//! Queue depth and batches.

use super::Review;
use crate::diagnostic::Rejected;
use crate::options::depth::IoSubmitMode;
use crate::spec::JobSpec;

/// Limits the depth to 1 for engines that complete each I/O before the next.
pub(super) fn cap_synchronous(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    job.asked_iodepth = job.depth.iodepth;
    let synchronous = review.engine_of(job).is_some_and(|engine| engine.synchronous);
    // Threads that submit I/Os for the job give a synchronous engine a queue depth.
    let offloaded = job.depth.io_submit_mode == IoSubmitMode::Offload;
    if !synchronous || offloaded || job.depth.iodepth <= 1 {
        return Ok(());
    }
    // The run itself reports this, after laying out the files. For vsync, the depth still matters, because
    // adjacent blocks are merged up to this number.
    if job.engine.ioengine.name != "vsync" {
        job.depth.iodepth = 1;
    }
    Ok(())
}

/// Fills in unset batch sizes, and limits batch sizes to the depth.
pub(super) fn clamp_batches(job: &mut JobSpec, _: &mut Review<'_>) -> Result<(), Rejected> {
    let depth = &mut job.depth;
    let limit = depth.iodepth;
    depth.iodepth_low = Some(match depth.iodepth_low {
        None | Some(0) => limit,
        Some(low) => low.min(limit),
    });
    if depth.iodepth_batch == 0 || depth.iodepth_batch > limit {
        depth.iodepth_batch = limit;
    }
    depth.iodepth_batch_complete_min = depth.iodepth_batch_complete_min.min(limit);
    let most = depth.iodepth_batch_complete_max.unwrap_or(0);
    depth.iodepth_batch_complete_max = Some(most.min(limit).max(depth.iodepth_batch_complete_min));
    Ok(())
}

/// Refuses offloading for engines that can be used only by the thread that set them up.
pub(super) fn check_offload(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let engine = job.engine.ioengine.name.as_str();
    let refuses = review.engine_of(job).is_some_and(|engine| engine.one_thread);
    if job.depth.io_submit_mode == IoSubmitMode::Offload && refuses {
        return Err(review.refuse(
            &job.origin,
            format!("{engine}: can't be used with offloaded submit. Use a sync engine"),
            format!("job {}: io_submit_mode=offload works with psync, pvsync2, libaio and others", job.name),
        ));
    }
    Ok(())
}

/// Refuses several options that set the priority of individual I/Os.
pub(super) fn check_command_priorities(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if job.is_set("cmdprio_percentage") && job.is_set("cmdprio_bssplit") {
        return Err(review.refuse(
            &job.origin,
            format!("{}: cmdprio_percentage and cmdprio_bssplit options are mutually exclusive", job.name),
            format!("job {}: give one share for all block sizes, or one per block size", job.name),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::quiet_job;

    #[test]
    fn synchronous_engines_are_capped() {
        let capped = quiet_job("--name=a --iodepth=8");
        assert_eq!((capped.depth.iodepth, capped.asked_iodepth), (1, 8));
        assert_eq!(quiet_job("--name=a --ioengine=libaio --iodepth=8").depth.iodepth, 8);
    }

    #[test]
    fn offloading_gives_depth_to_synchronous_engines() {
        assert_eq!(quiet_job("--name=a --iodepth=8 --io_submit_mode=offload").depth.iodepth, 8);
        let line = super::super::testing::refusal("--name=a --ioengine=io_uring --io_submit_mode=offload");
        assert_eq!(line, "io_uring: can't be used with offloaded submit. Use a sync engine");
    }

    #[test]
    fn a_share_of_all_or_of_each_size() {
        let words = "--name=a --ioengine=libaio --cmdprio_percentage=10 --cmdprio_bssplit=4k/20";
        assert_eq!(
            super::super::testing::refusal(words),
            "a: cmdprio_percentage and cmdprio_bssplit options are mutually exclusive"
        );
    }

    #[test]
    fn batches_stay_within_the_depth() {
        let depth = quiet_job("--name=a --ioengine=libaio --iodepth=8 --iodepth_batch=0").depth;
        assert_eq!((depth.iodepth_batch, depth.iodepth_low), (8, Some(8)));
        assert_eq!((depth.iodepth_batch_complete_min, depth.iodepth_batch_complete_max), (1, Some(1)));
        let depth = quiet_job(
            "--name=a --ioengine=libaio --iodepth=8 --iodepth_batch=99 --iodepth_low=99 \
             --iodepth_batch_complete_min=4 --iodepth_batch_complete_max=2",
        )
        .depth;
        assert_eq!((depth.iodepth_batch, depth.iodepth_low), (8, Some(8)));
        assert_eq!(depth.iodepth_batch_complete_max, Some(4));
    }
}
