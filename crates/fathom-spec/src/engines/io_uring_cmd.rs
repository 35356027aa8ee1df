//! The `io_uring_cmd` engine: its commands, and its requirements for jobs. Its options are those of
//! [`io_uring`](super::io_uring).

use super::commands::{CdbLength, CommandType, ReadMode, VerifyBytchk, WriteMode, refuse_zeroes_of_others};
use super::io_uring::TABLE;
use super::{EngineDef, refuse_appending};
use crate::diagnostic::Rejected;
use crate::engines::Review;
use crate::options::engine::DataPlacement;
use crate::options::file::ZoneMode;
use crate::options::verification::VerifyMethod;
use crate::spec::JobSpec;
use crate::value::Rw;

/// `ioengine=io_uring_cmd`
pub const DEFINITION: EngineDef = EngineDef::new("io_uring_cmd", "NVMe and SCSI pass-through over io_uring")
    .built()
    .many_ranges()
    .syncfs()
    .places_data()
    .sends_commands()
    .on_media()
    .one_thread()
    .with_options(TABLE)
    .with_rules(&[
        refuse_what_the_block_layer_does,
        refuse_what_cannot_be_checked,
        check_ranges,
        check_zones,
        check_command,
        check_scsi,
        note_options_of_the_other_type,
    ]);

/// Refuses options that make sense only for files, or for the kernel's own requests.
fn refuse_what_the_block_layer_does(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    refuse_appending(job, review, "on a device")?;
    let options = &job.private.io_uring;
    let priorities =
        options.cmdprio_percentage.values().any(|percent| *percent > 0) || job.is_set("cmdprio_bssplit");
    let refused = [
        (options.nowait, "nowait"),
        (options.uncached.unwrap_or(0) != 0, "uncached"),
        (priorities, "cmdprio_percentage"),
        (job.io_type.sync_file_range.is_some(), "sync_file_range"),
    ];
    let Some((_, option)) = refused.into_iter().find(|(is_asked, _)| *is_asked) else { return Ok(()) };
    Err(review.refuse(
        &job.origin,
        format!("fio: {option} does not work with ioengine=io_uring_cmd"),
        format!("job {}: {option} concerns the kernel's block layer or page cache, which commands bypass; leave it out, or use ioengine=io_uring on the block device", job.name),
    ))
}

/// Refuses verification of writes that leave no known data to read back.
fn refuse_what_cannot_be_checked(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if job.verification.verify == VerifyMethod::None {
        return Ok(());
    }
    let options = &job.private.io_uring;
    let scsi = options.cmd_type == CommandType::Bsg;
    let what = match () {
        () if options.write_mode.loses_data() => "write_mode=write, zeroes or zone_append",
        () if scsi && options.read_mode == ReadMode::Prefetch => "read_mode=read",
        () if options.write_mode.writes_zeroes() => return refuse_zeroes_of_others(job, review),
        () => return Ok(()),
    };
    Err(review.refuse(
        &job.origin,
        format!("fio: verify needs {what}"),
        format!("job {}: other commands move no data that could be checked", job.name),
    ))
}

/// Refuses features that track single ranges in jobs whose trims have several ranges, because such a trim is
/// one I/O.
fn check_ranges(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if job.engine.num_range <= 1 {
        return Ok(());
    }
    if matches!(job.io_type.rw.rw, Rw::TrimWrite | Rw::RandTrimWrite) {
        return Err(review.refuse(
            &job.origin,
            "fio: trimwrite cannot be used with multiple ranges.",
            format!(
                "job {}: each trim is overwritten immediately; num_range needs rw=trim or randtrim",
                job.name
            ),
        ));
    }
    let neighbours = [
        (job.file.zonemode == ZoneMode::Zbd, "zonemode=zbd"),
        (job.depth.serialize_overlap, "serialize_overlap=1"),
        (job.verification.verify != VerifyMethod::None, "verify"),
    ];
    let Some((_, option)) = neighbours.into_iter().find(|(is_asked, _)| *is_asked) else { return Ok(()) };
    Err(review.refuse(
        &job.origin,
        format!("fio: num_range does not work with {option}"),
        format!("job {}: {option} handles each range separately; leave num_range out", job.name),
    ))
}

fn check_zones(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let options = &job.private.io_uring;
    let appends = options.write_mode.0.iter().any(|(mode, _)| *mode == WriteMode::ZoneAppend);
    if appends && job.file.zonemode != ZoneMode::Zbd {
        return Err(review.refuse(
            &job.origin,
            "fio: io_uring_cmd with write_mode=zone_append requires zonemode=zbd",
            format!("job {}: add zonemode=zbd, which chooses the zones to append to", job.name),
        ));
    }
    if job.file.zonemode == ZoneMode::Zbd && options.cmd_type == CommandType::Bsg {
        return Err(review.refuse(
            &job.origin,
            "fio: This cmd_type does not support get_zoned_model",
            format!(
                "job {}: zonemode=zbd works on the block device of a SCSI disk, with another engine",
                job.name
            ),
        ));
    }
    Ok(())
}

/// Refuses options of SCSI commands that the command to be sent cannot carry.
fn check_command(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let options = &job.private.io_uring;
    let scsi = options.cmd_type == CommandType::Bsg;
    let prefetches = scsi && options.read_mode == ReadMode::Prefetch;
    let verifies = scsi && options.write_mode.0.iter().any(|(mode, _)| *mode == WriteMode::Verify);
    let refused = [
        (!scsi && job.is_set("read_mode"), "fio: read_mode is only supported with cmd_type=bsg"),
        (
            prefetches && options.cdb_len == CdbLength::ThirtyTwo,
            "cdb_len=32 is not supported with read_mode=prefetch for bsg",
        ),
        (prefetches && options.readfua, "readfua is not supported with read_mode=prefetch for bsg"),
        (verifies && options.writefua, "writefua is not supported with write_mode=verify for bsg"),
        (
            scsi && !verifies && options.verify_bytchk != VerifyBytchk::Zero,
            "verify_bytchk is only supported with write_mode=verify for bsg",
        ),
    ];
    let Some((_, line)) = refused.into_iter().find(|(is_wrong, _)| *is_wrong) else { return Ok(()) };
    Err(review.refuse(
        &job.origin,
        line,
        format!("job {}: the command cannot carry it; leave one of the two out", job.name),
    ))
}

fn check_scsi(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let options = &job.private.io_uring;
    if options.cmd_type != CommandType::Bsg {
        return Ok(());
    }
    let other = |mode: WriteMode| !matches!(mode, WriteMode::Write | WriteMode::Verify);
    if options.write_mode.0.len() > 1 || options.write_mode.0.iter().any(|(mode, _)| other(*mode)) {
        return Err(review.refuse(
            &job.origin,
            "Not Support Write mode in BSG io_uring_cmd",
            format!(
                "job {}: with cmd_type=bsg write_mode is write or verify; ioengine=sg has more",
                job.name
            ),
        ));
    }
    if options.md_per_io_size > 0 {
        return Err(review.refuse(
            &job.origin,
            "fio: This cmd_type does not support generate_guard",
            format!("job {}: md_per_io_size works with cmd_type=nvme, or with ioengine=io_uring on the block device", job.name),
        ));
    }
    if job.engine.fdp || job.engine.dataplacement != DataPlacement::None {
        return Err(review.refuse(
            &job.origin,
            format!("{}: cmd_type=bsg does not support data placement", job.name),
            format!("job {}: dataplacement needs NVMe; ioengine=sg has sg_write_mode=write_stream", job.name),
        ));
    }
    Ok(())
}

/// Prints notes about options that apply only to the other type of commands.
fn note_options_of_the_other_type(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let (options, other): (&[&str], _) = match job.private.io_uring.cmd_type {
        CommandType::Nvme => (&["cdb_len", "verify_bytchk"], "bsg"),
        CommandType::Bsg => (&["pi_act", "pi_chk", "apptag", "apptag_mask", "deac"], "nvme"),
    };
    for option in options {
        if job.is_set(option) {
            review.note(format!("fathom: job {}: {option} has no effect without cmd_type={other}", job.name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::resolve::testing::{job, quiet_job, refusal};

    const START: &str = "--name=a --ioengine=io_uring_cmd --filename=/dev/ng0n1";

    #[test]
    fn what_commands_cannot_do_is_refused() {
        for (words, line) in [
            ("--file_append=1 --size=1m", "fio: can't append/extent with IO engine io_uring_cmd"),
            ("--nowait=1", "fio: nowait does not work with ioengine=io_uring_cmd"),
            ("--uncached=1", "fio: uncached does not work with ioengine=io_uring_cmd"),
            ("--cmdprio_percentage=10", "fio: cmdprio_percentage does not work with ioengine=io_uring_cmd"),
            (
                "--rw=write --sync_file_range=write:8",
                "fio: sync_file_range does not work with ioengine=io_uring_cmd",
            ),
            (
                "--rw=write --verify=crc32c --write_mode=write/50:uncor/50",
                "fio: verify needs write_mode=write, zeroes or zone_append",
            ),
            (
                "--rw=write --verify=crc32c --write_mode=zeroes --verify_only",
                "fathom: verify_only does not know which blocks are zeroes",
            ),
            (
                "--rw=write --verify=crc32c --write_mode=write/50:zeroes/50 --experimental_verify=1",
                "fathom: experimental_verify does not know which blocks are zeroes",
            ),
            ("--rw=trimwrite --num_range=2", "fio: trimwrite cannot be used with multiple ranges."),
            ("--rw=trim --num_range=2 --zonemode=zbd", "fio: num_range does not work with zonemode=zbd"),
            (
                "--rw=write --write_mode=zone_append",
                "fio: io_uring_cmd with write_mode=zone_append requires zonemode=zbd",
            ),
            ("--cmd_type=bsg --rw=write --write_mode=uncor", "Not Support Write mode in BSG io_uring_cmd"),
            (
                "--cmd_type=bsg --rw=write --write_mode=write/50:verify/50",
                "Not Support Write mode in BSG io_uring_cmd",
            ),
            ("--cmd_type=bsg --md_per_io_size=64", "fio: This cmd_type does not support generate_guard"),
            ("--cmd_type=bsg --zonemode=zbd", "fio: This cmd_type does not support get_zoned_model"),
            ("--cmd_type=bsg --rw=write --fdp=1", "a: cmd_type=bsg does not support data placement"),
            ("--read_mode=prefetch", "fio: read_mode is only supported with cmd_type=bsg"),
            (
                "--cmd_type=bsg --read_mode=prefetch --cdb_len=32",
                "cdb_len=32 is not supported with read_mode=prefetch for bsg",
            ),
            (
                "--cmd_type=bsg --read_mode=prefetch --readfua=1",
                "readfua is not supported with read_mode=prefetch for bsg",
            ),
            (
                "--cmd_type=bsg --rw=write --write_mode=verify --writefua=1",
                "writefua is not supported with write_mode=verify for bsg",
            ),
            (
                "--cmd_type=bsg --rw=write --verify_bytchk=1",
                "verify_bytchk is only supported with write_mode=verify for bsg",
            ),
            ("--atomic=1", "fio: engine does not support atomic writes"),
        ] {
            assert_eq!(refusal(&format!("{START} {words}")), line, "{words}");
        }
        quiet_job(&format!("{START} --rw=trim --num_range=256 --bs=4k"));
    }

    #[test]
    fn options_without_effect_are_said() {
        let (job, lines) = job(&format!("{START} --cdb_len=16"));
        assert!(job.is_some());
        assert_eq!(lines, ["fathom: job a: cdb_len has no effect without cmd_type=bsg"]);
    }
}
