//! Log options that depend on one another.

use super::Review;
use crate::diagnostic::Rejected;
use crate::spec::JobSpec;

/// Options that affect logs without requesting one.
const MODIFIERS: [&str; 7] = [
    "log_avg_msec",
    "log_window_value",
    "log_offset",
    "log_prio",
    "log_entries",
    "log_store_compressed",
    "log_alternate_epoch",
];

/// Notes that only latency logs contain issue times.
pub(super) fn check_issue_time(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let options = &job.measurement;
    if options.log_issue_time && (options.write_lat_log.is_none() || !options.log_offset) {
        return Err(review.refuse(
            &job.origin,
            "fio: log_issue_time option requires write_lat_log and log_offset options",
            format!("job {}: add write_lat_log and log_offset=1, or leave log_issue_time out", job.name),
        ));
    }
    Ok(())
}

/// The clocks of Linux by number, from `CLOCK_REALTIME` to `CLOCK_TAI`.
const CLOCKS: [u32; 11] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11];

/// Refuses a clock that does not exist; log times would otherwise silently be times since the start.
pub(super) fn check_epoch_clock(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    match job.measurement.log_alternate_epoch_clock_id {
        Some(clock) if !CLOCKS.contains(&clock) => Err(review.refuse_in_our_words(
            &job.origin,
            format!(
                "job {}: there is no clock {clock}; 0 is the time of day, 1 the monotonic clock, 7 the time since boot, 11 TAI",
                job.name
            ),
        )),
        _ => Ok(()),
    }
}

/// Notes log options without effect because the job does not write such a log.
pub(super) fn note_idle_options(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let options = &job.measurement;
    let asks =
        [&options.write_bw_log, &options.write_iops_log, &options.write_lat_log, &options.write_hist_log];
    let mut idle: Vec<(&str, &str)> = Vec::new();
    if asks.iter().all(|prefix| prefix.is_none()) {
        idle.extend(
            MODIFIERS
                .iter()
                .filter(|name| job.is_set(name))
                .map(|name| (*name, "a log (write_lat_log, ...)")),
        );
    }
    if options.write_hist_log.is_none() {
        let about_histograms = ["log_hist_msec", "log_hist_coarseness"];
        idle.extend(
            about_histograms.iter().filter(|name| job.is_set(name)).map(|name| (*name, "write_hist_log")),
        );
    }
    if !options.log_alternate_epoch && options.log_alternate_epoch_clock_id.is_some() {
        idle.push(("log_alternate_epoch_clock_id", "log_alternate_epoch=1"));
    }
    if !options.log_store_compressed && job.is_set("log_compression") {
        idle.push(("log_compression", "log_store_compressed=1 (logs are not held in memory)"));
    }
    for (name, needed) in idle {
        review.note(format!("fathom: job {}: {name} has no effect without {needed}", job.name));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, quiet_job, refusal};

    #[test]
    fn issue_times_need_a_latency_log_with_offsets() {
        let line = "fio: log_issue_time option requires write_lat_log and log_offset options";
        assert_eq!(refusal("--name=a --log_issue_time=1 --write_lat_log=l"), line);
        assert_eq!(refusal("--name=a --log_issue_time=1 --log_offset=1"), line);
        assert!(
            quiet_job("--name=a --log_issue_time=1 --log_offset=1 --write_lat_log=l")
                .measurement
                .log_issue_time
        );
    }

    #[test]
    fn times_are_of_a_clock_that_exists() {
        let words = "--name=a --write_bw_log=b --log_alternate_epoch=1 --log_alternate_epoch_clock_id";
        for clock in ["10", "12", "99"] {
            let line = refusal(&format!("{words}={clock}"));
            assert!(line.contains(&format!("there is no clock {clock};")), "{line}");
        }
        quiet_job(&format!("{words}=7"));
        assert_eq!(
            job("--name=a --write_bw_log=b --log_alternate_epoch_clock_id=1").1,
            ["fathom: job a: log_alternate_epoch_clock_id has no effect without log_alternate_epoch=1"]
        );
    }

    #[test]
    fn options_without_effect_are_named() {
        let lines = job("--name=a --log_avg_msec=100 --log_hist_msec=100").1;
        assert_eq!(
            lines,
            [
                "fathom: job a: log_avg_msec has no effect without a log (write_lat_log, ...)",
                "fathom: job a: log_hist_msec has no effect without write_hist_log",
            ]
        );
        assert_eq!(job("--name=a --log_compression=64k --write_bw_log=b").1.len(), 1);
        quiet_job("--name=a --log_avg_msec=100 --write_bw_log=b");
        quiet_job("--name=a --log_hist_msec=100 --log_hist_coarseness=6 --write_hist_log=b");
    }
}
