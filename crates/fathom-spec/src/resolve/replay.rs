//! Recording and replaying: which options can be combined, and which ones a log overrides.

use super::Review;
use crate::diagnostic::Rejected;
use crate::options::file::ZoneMode;
use crate::options::verification::VerifyMethod;
use crate::spec::JobSpec;
use crate::value::split_file_names;

/// Options that a log overrides, because it determines direction, offset, size and time of every I/O.
const DECIDED_BY_LOG: [&str; 28] = [
    "rw",
    "bs",
    "bsrange",
    "bssplit",
    "ba",
    "size",
    "io_size",
    "filename",
    "nrfiles",
    "offset",
    "offset_increment",
    "number_ios",
    "rwmixread",
    "rwmixwrite",
    "percentage_random",
    "random_distribution",
    "rate",
    "rate_iops",
    "rate_min",
    "rate_iops_min",
    "thinktime",
    "thinkcycles",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "loops",
    "time_based",
    "fill_device",
];

/// Refuses recording and verification in a job that replays a log, because the log is replayed unchanged.
pub(super) fn check_replay(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if job.replay.read_iolog.is_none() {
        return Ok(());
    }
    if job.replay.write_iolog.take().is_some() {
        review.warn("fio: read iolog overrides write_iolog");
    }
    let name = job.name.clone();
    let unfit = [
        (
            job.verification.verify != VerifyMethod::None,
            "verify= must make its own writes; a log does not record the data written",
        ),
        (
            job.file.zonemode == ZoneMode::Zbd,
            "zonemode=zbd would change the offsets of the log; replay on a device without zones",
        ),
        (job.io_type.sprandom, "sprandom chooses its own offsets"),
        (
            job.replay.replay_dependencies && job.rate.open_loop,
            "replay_dependencies=1 makes due times depend on completions, and an open loop (open_loop=1) needs due times \
             that do not",
        ),
        (
            job.replay.replay_dependencies && job.replay.merge_blktrace_file.is_some(),
            "replay_dependencies=1 waits for the completions of a trace, and merge_blktrace_file leaves them out",
        ),
    ];
    if let Some((_, reason)) = unfit.iter().find(|(is_given, _)| *is_given) {
        let problem = format!("job {name}: read_iolog: {reason}; use one or the other");
        return Err(review.refuse_in_our_words(&job.origin, problem));
    }
    if job.replay.replay_map.is_some() && job.replay.replay_redirect.as_ref().is_none_or(String::is_empty) {
        let problem =
            format!("job {name}: replay_map= fits the log into one target; name that with replay_redirect=");
        return Err(review.refuse_in_our_words(&job.origin, problem));
    }
    let idle: Vec<&str> = DECIDED_BY_LOG.into_iter().filter(|option| job.is_set(option)).collect();
    if !idle.is_empty() {
        review.note(format!(
            "fathom: job {name}: read_iolog= overrides these options, so they have no effect: {}",
            idle.join(", ")
        ));
    }
    Ok(())
}

/// Notes replay options without effect because no log is replayed, and requires lists of equal lengths.
pub(super) fn check_merge(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let traces = job.replay.read_iolog.as_deref().map_or(0, |list| split_file_names(list).len());
    let name = job.name.clone();
    if traces == 0 {
        for option in [
            "read_iolog_chunked",
            "replay_no_stall",
            "replay_dependencies",
            "replay_redirect",
            "replay_scale",
            "replay_align",
            "replay_map",
            "replay_time_scale",
            "replay_skip",
        ] {
            if job.is_set(option) {
                review.note(format!("fathom: job {name}: {option} has no effect without read_iolog"));
            }
        }
    }
    let options = &job.replay;
    let lists = [
        ("merge_blktrace_scalars", options.merge_blktrace_scalars.len()),
        ("merge_blktrace_iters", options.merge_blktrace_iters.len()),
    ];
    if options.merge_blktrace_file.is_none() {
        for (option, _) in lists.iter().filter(|(_, length)| *length > 0) {
            review.note(format!("fathom: job {name}: {option} has no effect without merge_blktrace_file"));
        }
        return Ok(());
    }
    if traces == 0 {
        return Err(review.refuse_in_our_words(
            &job.origin,
            format!(
                "job {name}: merge_blktrace_file needs the traces to merge, such as read_iolog=a.bin:b.bin"
            ),
        ));
    }
    let misfit = lists.into_iter().find(|(_, length)| *length > 0 && *length != traces);
    if let Some((option, length)) = misfit {
        return Err(review.refuse(
            &job.origin,
            format!("fio: {option}({length}) != nr_logs({traces})"),
            format!("job {name}: give {option} a value for each trace of read_iolog"),
        ));
    }
    let is_bad_time = |value: &f64| !(value.is_finite() && *value > 0.0);
    let is_bad_count = |value: &f64| !(*value >= 1.0 && *value <= 1e9 && value.fract() == 0.0);
    let problem = match () {
        () if options.merge_blktrace_scalars.iter().any(is_bad_time) => {
            "merge_blktrace_scalars are percentages above 0"
        }
        () if options.merge_blktrace_iters.iter().any(is_bad_count) => {
            "merge_blktrace_iters are whole numbers from 1"
        }
        () => return Ok(()),
    };
    Err(review.refuse_in_our_words(&job.origin, format!("job {name}: {problem}")))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, quiet_job, refusal};

    #[test]
    fn a_log_goes_before_the_options_of_the_job() {
        quiet_job("--name=a --read_iolog=log --replay_no_stall=1");
        let (replay, lines) = job("--name=a --read_iolog=log --write_iolog=other --bs=4k --loops=2");
        assert!(replay.unwrap().replay.write_iolog.is_none());
        assert_eq!(lines[0], "fio: read iolog overrides write_iolog");
        assert!(lines[1].ends_with("no effect: bs, loops"), "{lines:?}");
        refusal("--name=a --read_iolog=log --verify=crc32c");
        quiet_job("--name=a --read_iolog=log --replay_dependencies=1 --replay_no_stall=1");
        let line = refusal("--name=a --read_iolog=log --replay_map=wrap:1g");
        assert!(line.contains("name that with replay_redirect="), "{line}");
        quiet_job("--name=a --read_iolog=log --replay_map=wrap:1g --replay_redirect=x");
        let line = refusal("--name=a --read_iolog=log --replay_dependencies=1 --open_loop=1");
        assert!(line.contains("due times depend on completions"), "{line}");
        let line = refusal("--name=a --read_iolog=a:b --replay_dependencies=1 --merge_blktrace_file=c");
        assert!(line.contains("merge_blktrace_file leaves them out"), "{line}");
        let (_, lines) = job("--name=a --size=1m --replay_no_stall=1");
        assert!(lines[0].contains("replay_no_stall has no effect without read_iolog"), "{lines:?}");
    }

    #[test]
    fn lists_of_a_merge_fit() {
        quiet_job(
            "--name=a --read_iolog=a:b --merge_blktrace_file=c --merge_blktrace_scalars=50:100 --merge_blktrace_iters=2:1",
        );
        let line = refusal("--name=a --read_iolog=a:b --merge_blktrace_file=c --merge_blktrace_scalars=50");
        assert_eq!(line, "fio: merge_blktrace_scalars(1) != nr_logs(2)");
        refusal("--name=a --read_iolog=a:b --merge_blktrace_file=c --merge_blktrace_iters=1:1.5");
        refusal("--name=a --read_iolog=a:b --merge_blktrace_file=c --merge_blktrace_scalars=0:1");
        refusal("--name=a --size=1m --merge_blktrace_file=c");
    }
}
