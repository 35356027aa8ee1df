//! Zones of the files, and amounts given in zones.

use super::Review;
use crate::diagnostic::{Diagnostic, Rejected};
use crate::message::Message;
use crate::options::file::ZoneMode;
use crate::spec::JobSpec;
use crate::value::SizeSpec;
use fathom_stats::Direction;

/// Requires a zone size for amounts given in zones.
pub(super) fn check_zones(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if job.file.zonemode == ZoneMode::Zbd {
        return Ok(());
    }
    if job.file.zonemode == ZoneMode::Strided && job.file.zonesize > 0 {
        turn_zones_into_bytes(job);
        return Ok(());
    }
    let amounts = [
        ("size", job.size.size),
        ("io_size", job.size.io_size),
        ("offset", Some(job.io_type.offset)),
        ("offset_increment", Some(job.io_type.offset_increment)),
    ];
    let Some((option, _)) = amounts.iter().find(|(_, amount)| matches!(amount, Some(SizeSpec::Zones(_))))
    else {
        return Ok(());
    };
    if *option == "size" {
        review.messages.push(Message::stderr(format!("{}: you need to specify size=", job.name)));
    }
    let problem = format!(
        "job {}: {option} is in zones, which needs zonemode=zbd, or zonemode=strided and zonesize",
        job.name
    );
    review.messages.push(Diagnostic::general(&job.origin, problem).message());
    Err(Rejected)
}

/// Converts amounts in zones to bytes: without a zoned device, `zonesize` is the unit.
fn turn_zones_into_bytes(job: &mut JobSpec) {
    let zone = job.file.zonesize;
    let in_bytes = |amount: &mut SizeSpec| {
        if let SizeSpec::Zones(zones) = *amount {
            *amount = SizeSpec::Bytes(zones.saturating_mul(zone));
        }
    };
    in_bytes(&mut job.io_type.offset);
    in_bytes(&mut job.io_type.offset_increment);
    job.size.size.iter_mut().chain(&mut job.size.io_size).chain(&mut job.file.zoneskip).for_each(in_bytes);
}

/// Checks the requirements of each zone mode.
pub(super) fn check_zone_mode(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    match job.file.zonemode {
        ZoneMode::None => check_without_zones(job, review),
        ZoneMode::Strided => check_strided(job, review),
        ZoneMode::Zbd => check_zoned(job, review),
    }
}

fn check_without_zones(job: &JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if job.file.zonesize > 0 {
        return Err(review.refuse(
            &job.origin,
            "fio: --zonemode=none and --zonesize are not compatible.",
            format!("job {}: give zonemode=strided with zonesize, or leave out zonesize", job.name),
        ));
    }
    let skips = !matches!(job.file.zoneskip, None | Some(SizeSpec::Bytes(0)));
    for (option, is_given) in [("zonerange", job.file.zonerange > 0), ("zoneskip", skips)] {
        if is_given {
            review.note(format!("fathom: job {}: {option} has no effect without zonemode=strided", job.name));
        }
    }
    Ok(())
}

/// Checks the rules that hold for any device; rules that depend on the device are checked when it is opened.
fn check_zoned(job: &JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if job.verification.experimental_verify {
        return Err(review.refuse(
            &job.origin,
            "zonemode=zbd does not support experimental verify",
            format!("job {}: leave out experimental_verify with zonemode=zbd", job.name),
        ));
    }
    if let Some(skip @ SizeSpec::Percent(_)) = &job.file.zoneskip {
        let problem = format!("job {}: zoneskip={skip} is neither a size nor a number of zones", job.name);
        review.messages.push(Diagnostic::general(&job.origin, problem).message());
        return Err(Rejected);
    }
    let continues = job.error_handling.continue_on_error.write || job.error_handling.ignore_error.is_some();
    if job.file.recover_zbd_write_error && !continues {
        let problem = format!(
            "job {}: recover_zbd_write_error has no effect, since the first failed write ends the job; add \
             continue_on_error=write",
            job.name
        );
        review.messages.push(Diagnostic::general(&job.origin, problem).message());
        return Err(Rejected);
    }
    let mode = job.io_type.rw.rw;
    if mode.is_random() && !matches!(job.file.zoneskip, None | Some(SizeSpec::Bytes(0))) {
        review.note(format!(
            "fathom: job {}: zoneskip has no effect on random I/O with zonemode=zbd",
            job.name
        ));
    }
    let (threshold, frequency) = (job.file.zone_reset_threshold, job.file.zone_reset_frequency);
    for (option, other, is_lonely) in [
        ("zone_reset_threshold", "zone_reset_frequency", threshold.is_some() && frequency.is_none()),
        ("zone_reset_frequency", "zone_reset_threshold", threshold.is_none() && frequency.is_some()),
    ] {
        if is_lonely {
            review.note(format!("fathom: job {}: {option} has no effect without {other}", job.name));
        }
    }
    Ok(())
}

fn check_strided(job: &JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if job.file.zonesize == 0 {
        return Err(review.refuse(
            &job.origin,
            "fio: --zonesize must be specified when using --zonemode=strided.",
            format!("job {}: set zonesize, the bytes to transfer in each zone", job.name),
        ));
    }
    if let Some(skip @ SizeSpec::Percent(_)) = &job.file.zoneskip {
        let problem = format!("job {}: zoneskip={skip} is neither a size nor a number of zones", job.name);
        review.messages.push(Diagnostic::general(&job.origin, problem).message());
        return Err(Rejected);
    }
    let length = if job.file.zonerange > 0 { job.file.zonerange } else { job.file.zonesize };
    let mode = job.io_type.rw.rw;
    let used =
        [(Direction::Read, mode.reads()), (Direction::Write, mode.writes()), (Direction::Trim, mode.trims())];
    let needed = |direction| {
        let alignment = job.block_size.ba[direction].unwrap_or(0);
        job.smallest_block(direction).max(alignment)
    };
    let needed = used
        .iter()
        .filter(|(_, is_used)| *is_used)
        .map(|(direction, _)| needed(*direction))
        .max()
        .unwrap_or(0);
    if mode.is_random() && length < needed {
        let problem = format!(
            "job {}: zones of {length} bytes have no room for random blocks of {needed}; make zonerange larger",
            job.name
        );
        review.messages.push(Diagnostic::general(&job.origin, problem).message());
        return Err(Rejected);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, quiet_job, refusal};
    use crate::value::SizeSpec;

    #[test]
    fn strided_zones_need_their_sizes() {
        let line = "fio: --zonesize must be specified when using --zonemode=strided.";
        assert_eq!(refusal("--name=a --size=1m --zonemode=strided"), line);
        let line = "fio: --zonemode=none and --zonesize are not compatible.";
        assert_eq!(refusal("--name=a --size=1m --zonesize=16k"), line);
        let strided = "--name=a --size=1m --zonemode=strided --zonesize=16k";
        assert!(
            refusal(&format!("{strided} --zoneskip=10%")).contains("neither a size nor a number of zones")
        );
        assert!(refusal(&format!("{strided} --zonerange=2k --rw=randread")).contains("no room"));
        quiet_job(&format!("{strided} --zonerange=2k --zoneskip=14k"));
    }

    #[test]
    fn strided_zones_are_counted_in_zonesize() {
        let counted = "--size=4z --io_size=8z --offset=1z --offset_increment=2z --zoneskip=3z";
        let strided = quiet_job(&format!("--name=a --zonemode=strided --zonesize=16k {counted}"));
        let zones = |count: u64| SizeSpec::Bytes(count * 16384);
        assert_eq!((strided.size.size, strided.size.io_size), (Some(zones(4)), Some(zones(8))));
        assert_eq!((strided.io_type.offset, strided.io_type.offset_increment), (zones(1), zones(2)));
        assert_eq!(strided.file.zoneskip, Some(zones(3)));
        let line = "fio: --zonesize must be specified when using --zonemode=strided.";
        let (job, lines) = job("--name=a --zonemode=strided --zoneskip=1z");
        assert!(job.is_none() && lines[0] == line, "{lines:?}");
    }

    #[test]
    fn zoned_jobs_have_rules_of_their_own() {
        let zoned = "--name=a --size=1m --zonemode=zbd --zonesize=64k";
        let line = "zonemode=zbd does not support experimental verify";
        assert_eq!(refusal(&format!("{zoned} --experimental_verify=1")), line);
        quiet_job(&format!("{zoned} --size=4z --io_size=8z --offset=1z --zoneskip=1z"));
        assert!(refusal(&format!("{zoned} --zoneskip=10%")).contains("neither a size nor a number of zones"));
        assert!(refusal(&format!("{zoned} --recover_zbd_write_error=1")).contains("continue_on_error=write"));
        quiet_job(&format!("{zoned} --recover_zbd_write_error=1 --continue_on_error=write"));
        let (_, lines) = job(&format!("{zoned} --rw=randwrite --zoneskip=64k --zone_reset_threshold=0.5"));
        let notes = [
            "fathom: job a: zoneskip has no effect on random I/O with zonemode=zbd",
            "fathom: job a: zone_reset_threshold has no effect without zone_reset_frequency",
        ];
        assert_eq!(lines, notes);
        quiet_job(&format!("{zoned} --rw=randwrite --zone_reset_threshold=0.5 --zone_reset_frequency=1"));
    }

    #[test]
    fn what_has_no_effect_is_said() {
        let (_, lines) = job("--name=a --size=1m --zonerange=1m --zoneskip=4k");
        let note = |option: &str| format!("fathom: job a: {option} has no effect without zonemode=strided");
        assert_eq!(lines, [note("zonerange"), note("zoneskip")]);
        quiet_job("--name=a --size=1m --zonerange=0 --zoneskip=0");
    }

    #[test]
    fn zones_need_a_zoned_job() {
        assert_eq!(refusal("--name=a --size=4z"), "a: you need to specify size=");
        for option in ["io_size", "offset", "offset_increment"] {
            let line = refusal(&format!("--name=a --{option}=1z"));
            let needed = "zonemode=zbd, or zonemode=strided and zonesize";
            assert!(line.ends_with(&format!("{option} is in zones, which needs {needed}")), "{line}");
        }
        quiet_job("--name=a --size=1m --offset=4k");
    }
}
