//! Builds the rules of zones from options.

use super::Subject;
use super::questions::verifies;
use crate::plan::model::zones::{WriteOrder, ZonePlan};
use fathom_spec::options::depth::IoSubmitMode;
use fathom_spec::options::file::ZoneMode;
use fathom_spec::value::SizeSpec;
use fathom_stats::{Direction, PerDirection};

/// The zone rules of a job, if it has any.
pub(super) fn zone_plan(subject: &Subject<'_>) -> Option<ZonePlan> {
    let (options, targets) = (&subject.job.file, &subject.targets);
    // With `verify_only`, reads replace the writes, so the zones must not be filled with data first.
    let only_reads = verifies(subject.job) && subject.job.verification.verify_only;
    (options.zonemode == ZoneMode::Zbd).then(|| ZonePlan {
        zone_size: options.zonesize,
        capacity: options.zonecapacity,
        skip: options.zoneskip.unwrap_or(SizeSpec::Bytes(0)),
        reads_beyond: options.read_beyond_wp,
        max_open: options.max_open_zones,
        job_max_open: options.job_max_open_zones,
        ignores_limits: options.ignore_zone_limits,
        reset_threshold: options.zone_reset_threshold,
        reset_frequency: options.zone_reset_frequency.filter(|&frequency| frequency > 0.0),
        recovers: options.recover_zbd_write_error,
        writes_remainder: options.write_zone_remainder,
        write_order: write_order(subject),
        random: targets.random,
        mixed: !only_reads && targets.used_directions() == [Direction::Read, Direction::Write],
        writes: !only_reads && targets.used_directions().contains(&Direction::Write),
        keeps_data: verifies(subject.job),
        shortest: PerDirection::from_fn(|direction| targets.lengths[direction].min().max(1)),
        longest: PerDirection::from_fn(|direction| targets.lengths[direction].max().max(1)),
    })
}

fn write_order(subject: &Subject<'_>) -> WriteOrder {
    let (job, engine) = (subject.job, subject.engine);
    let ring = &job.private.io_uring;
    // Appended blocks are placed by the device, so their order matters only if they are read back.
    let has_no_order = engine.on_media && (!only_appends(subject) || verifies(job));
    let has_threads = job.depth.io_submit_mode == IoSubmitMode::Offload
        || engine.hands_to_threads
        || ring.force_async.is_some_and(|every| every > 0);
    match () {
        () if has_no_order || has_threads => WriteOrder::Nothing,
        () if ring.sqthread_poll => WriteOrder::OneWorker,
        () => WriteOrder::HandingOver,
    }
}

/// True if the device chooses the location of each write within its zone.
fn only_appends(subject: &Subject<'_>) -> bool {
    subject.engine.sends_commands && subject.job.private.io_uring.write_mode.only_appends()
}
