//! Verification: combinations of options that a meaningful check requires.

use super::Review;
use crate::diagnostic::Rejected;
use crate::options::verification::VerifyMethod;
use crate::spec::JobSpec;
use crate::value::Rw;
use fathom_stats::Direction;
use fathom_verify::method::Method;

/// True if the job verifies data.
fn verifies(job: &JobSpec) -> bool {
    job.verification.verify != VerifyMethod::None
}

/// True if the job writes.
fn writes(job: &JobSpec) -> bool {
    !matches!(job.io_type.rw.rw, Rw::Read | Rw::RandRead | Rw::Trim | Rw::RandTrim)
}

/// Requires a pattern for `verify=pattern`. A pattern implies verification.
pub(super) fn check_pattern(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let has_pattern = job.verification.verify_pattern.as_ref().is_some_and(|pattern| !pattern.0.is_empty());
    if has_pattern && !verifies(job) {
        // A pattern implies verification.
        job.verification.verify = VerifyMethod::By(Method::PatternHeader);
    }
    let word = match job.verification.verify {
        VerifyMethod::By(method @ (Method::Pattern | Method::PatternHeader)) if !has_pattern => method.word(),
        _ => return Ok(()),
    };
    Err(review.refuse_in_our_words(
        &job.origin,
        format!(
            "job {}: verify={word} needs verify_pattern, for example verify_pattern=0xdeadbeef",
            job.name
        ),
    ))
}

/// Requires blocks that identify their write, and files that stay, for a ledger.
pub(super) fn check_ledger(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let Some(place) = &job.verification.verify_ledger else { return Ok(()) };
    let problem = match job.verification.verify {
        VerifyMethod::None => "needs verify=, for example verify=crc32c",
        VerifyMethod::By(Method::Pattern | Method::Null) => {
            "needs a kind of verify with headers, for example verify=crc32c: without headers, all writes look the same"
        }
        _ if job.file.unlink_each_loop => "cannot be combined with unlink_each_loop, which deletes the data",
        _ if !writes(job) || job.verification.verify_only => {
            let name = &job.name;
            review.note(format!("fathom: job {name}: verify_ledger has no effect: the job writes nothing"));
            return Ok(());
        }
        _ => return Ok(()),
    };
    Err(review.refuse(
        &job.origin,
        format!("fathom: verify_ledger={place} cannot be used"),
        format!("job {}: a job with verify_ledger {problem}", job.name),
    ))
}

/// Refuses to verify data that an earlier run appended, because it begins where the file ended at that time.
pub(super) fn check_appended(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    match job.only_checks() && job.size.file_append {
        false => Ok(()),
        true => Err(review.refuse_in_our_words(
            &job.origin,
            format!(
                "job {}: verify_only cannot know where file_append=1 began to write; leave file_append out, and give the place as \
                 offset= and size=",
                job.name
            ),
        )),
    }
}

/// Requires that `verify_interval` divides every block that is written or read.
pub(super) fn fit_interval(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if !verifies(job) {
        return Ok(());
    }
    let written =
        if writes(job) { job.block_sizes(Direction::Write) } else { job.block_sizes(Direction::Read) };
    let mut interval = match job.verification.verify_interval {
        Some(interval) => u64::from(interval),
        None if written.min == written.max => return check_room(job, written.min, review),
        None => written.min,
    };
    interval = interval.min(written.min);
    if !matches!(job.io_type.rw.rw, Rw::Write | Rw::RandWrite | Rw::TrimWrite | Rw::RandTrimWrite) {
        interval = interval.min(job.smallest_block(Direction::Read));
    }
    if written.min % interval != 0 || written.max % interval != 0 {
        interval = greatest_common_divisor(written.min, written.max);
    }
    job.verification.verify_interval = u32::try_from(interval).ok();
    check_room(job, interval, review)
}

/// Requires that an interval has room for its header and at least a byte of data.
fn check_room(job: &JobSpec, interval: u64, review: &mut Review<'_>) -> Result<(), Rejected> {
    let room = header_room(job);
    if interval > room || room == 0 {
        return Ok(());
    }
    Err(review.refuse_in_our_words(
        &job.origin,
        format!(
            "job {}: a verify interval of {interval} bytes is too small: the header and checksum of this verify kind take {room} bytes, so blocks and verify_interval must be \
             larger than that",
            job.name
        ),
    ))
}

/// Size of header and checksum in bytes.
fn header_room(job: &JobSpec) -> u64 {
    match job.verification.verify {
        VerifyMethod::By(method) => method.header_room(job.verification.verify_header_format.format()) as u64,
        VerifyMethod::None => 0,
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Requires that `verify_offset` keeps the header inside its interval, without overwriting itself.
pub(super) fn check_header_place(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let Some(at) = job.verification.verify_offset.map(u64::from).filter(|&at| at > 0) else { return Ok(()) };
    let room = header_room(job);
    if !verifies(job) || room == 0 {
        return Ok(());
    }
    let smallest = if writes(job) { Direction::Write } else { Direction::Read };
    let interval = job.verification.verify_interval.map_or(job.smallest_block(smallest), u64::from);
    if at + room > interval {
        return Err(review.refuse(
            &job.origin,
            "fio: cannot offset verify header beyond the verify interval.",
            format!(
                "job {}: verify_offset={at} and a header of {room} bytes do not fit into {interval} bytes",
                job.name
            ),
        ));
    }
    if at < room {
        return Err(review.refuse_in_our_words(
            &job.origin,
            format!(
                "job {}: verify_offset={at} lies inside the verify header of {room} bytes; give 0 or at least {room}",
                job.name
            ),
        ));
    }
    Ok(())
}

/// Disables checks that need state which an earlier run cannot have saved.
pub(super) fn turn_checks_off(job: &mut JobSpec, _review: &mut Review<'_>) -> Result<(), Rejected> {
    let knows_what_was_written = writes(job) && !job.verification.verify_only;
    if !verifies(job) || knows_what_was_written {
        return Ok(());
    }
    if !job.is_set("verify_header_seed") {
        job.verification.verify_header_seed = false;
    }
    if !job.is_set("verify_write_sequence") {
        job.verification.verify_write_sequence = false;
    }
    Ok(())
}

/// Warns that without a map, blocks of different sizes may partly overwrite each other.
pub(super) fn warn_without_map(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let sizes = job.block_sizes(Direction::Write);
    if verifies(job) && writes(job) && job.io_type.norandommap && sizes.min != sizes.max {
        review.warn("fio: norandommap given for variable block sizes, verify limited");
    }
    Ok(())
}

/// Warns about jobs that can run but may not verify everything that was requested.
pub(super) fn warn_of_trouble(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if verifies(job)
        && let Some(engine) = review.engine_of(job).filter(|engine| !engine.moves_data())
    {
        let (job, engine) = (&job.name, engine.name);
        review.note(format!("fathom: job {job}: verify has no effect: ioengine={engine} moves no data"));
        return Ok(());
    }
    if !verifies(job) || !writes(job) {
        return Ok(());
    }
    let options = &job.verification;
    if job.job_description.numjobs > 1 && (job.is_set("filename") || job.is_set("filename_format")) {
        review.note_as_fio(
            "fio: multiple writers may overwrite blocks that belong to other jobs. This can cause verification failures.",
        );
    }
    let only_writes = matches!(job.io_type.rw.rw, Rw::Write | Rw::RandWrite);
    if job.time.time_based
        && !job.time.runtime.is_zero()
        && options.do_verify
        && options.verify_backlog.is_none_or(|writes| writes == 0)
        && only_writes
    {
        review.note_as_fio(
            "fio: verification read phase will never start because write phase uses all of runtime",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::resolve::testing::{job, quiet_job};

    #[test]
    fn intervals_divide_all_blocks() {
        let interval = |words: &str| {
            quiet_job(&format!("--name=a --rw=write --size=1m --verify=md5 {words}"))
                .verification
                .verify_interval
        };
        assert_eq!(interval("--bs=4k"), None);
        assert_eq!(interval("--bs=4k --verify_interval=512"), Some(512));
        assert_eq!(interval("--bs=4k --verify_interval=8k"), Some(4096));
        assert_eq!(interval("--bsrange=4k-16k"), Some(4096));
        assert_eq!(interval("--bs=6k --verify_interval=4k"), Some(6144));
        assert_eq!(interval("--bssplit=6k/50:4k/50"), Some(2048));
    }

    #[test]
    fn headers_need_room() {
        let lines = |words: &str| job(&format!("--name=a --rw=write --size=1m {words}")).1.join("\n");
        assert!(lines("--bs=128 --verify=sha512").contains("too small"));
        assert!(lines("--bs=4k --verify=md5 --verify_offset=4090").contains("beyond the verify interval"));
        assert!(lines("--bs=4k --verify=md5 --verify_offset=50").contains("inside the verify header"));
        assert!(lines("--bs=4k --verify=pattern").contains("needs verify_pattern"));
        assert!(lines("--bs=16 --verify_pattern=0xaa").contains("too small"));
        assert!(lines("--bs=4k --verify=md5 --time_based --runtime=5").contains("will never start"));
    }

    #[test]
    fn ledgers_need_headers_and_files_that_stay() {
        let lines = |words: &str| {
            job(&format!("--name=a --rw=write --size=1m --verify_ledger=/l {words}")).1.join("\n")
        };
        assert!(lines("").contains("needs verify=, for example"));
        assert!(lines("--verify=pattern --verify_pattern=1").contains("look the same"));
        assert!(lines("--verify=md5 --unlink_each_loop=1").contains("deletes the data"));
        assert!(lines("--verify=md5 --verify_only").contains("has no effect"));
        assert_eq!(lines("--verify=md5"), "");
    }

    #[test]
    fn readers_do_not_know_seeds() {
        assert!(quiet_job("--name=a --rw=write --size=1m --verify=md5").verification.verify_header_seed);
        assert!(!quiet_job("--name=a --rw=read --size=1m --verify=md5").verification.verify_header_seed);
        let asked =
            quiet_job("--name=a --rw=write --size=1m --verify=md5 --verify_only --verify_header_seed=1");
        assert!(asked.verification.verify_header_seed);
    }
}
