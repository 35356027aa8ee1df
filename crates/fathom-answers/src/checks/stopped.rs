//! `stopped`: a signal or a debugger stopped the process of a job for a while.

use super::{Found, Severity};
use crate::figures;
use fathom_results::RunResult;

/// Minimum duration of a reported stop in ms, if it is a large enough share of the run.
const LEAST_MS: u64 = 100;
const SHARE: f64 = 0.01;
/// Duration in ms from which a stop is always reported.
const LONG_MS: u64 = 500;

pub(super) fn find(run: &RunResult) -> Vec<Found> {
    let Some(facts) = &run.facts else { return Vec::new() };
    let span_ms = facts.span_ms.max(1);
    let counts =
        |all_ms: u64| all_ms >= LEAST_MS && (all_ms >= LONG_MS || all_ms as f64 >= SHARE * span_ms as f64);
    let mut jobs: Vec<&str> = Vec::new();
    facts.stops.iter().for_each(|stop| {
        if !jobs.contains(&stop.job.as_str()) {
            jobs.push(&stop.job);
        }
    });
    let of_job = |job: &str| {
        let mut own: Vec<Stretch> = facts
            .stops
            .iter()
            .filter(|stop| stop.job == job)
            .map(|stop| (stop.begin_ms, stop.begin_ms.saturating_add(stop.length_ms)))
            .collect();
        let stops = joined(&mut own);
        let all_ms: u64 = stops.iter().map(|(begin, end)| end - begin).sum();
        let &(begin_ms, end_ms) = stops.iter().max_by_key(|(begin, end)| end - begin)?;
        let length_ms = end_ms - begin_ms;
        let duration = |ms: u64| figures::duration(ms as f64 * 1e6);
        let times = match stops.len() {
            1 => String::new(),
            count => format!("; it was stopped {count} times, for {} in all", duration(all_ms)),
        };
        let text = format!(
            "a process of job {job} was stopped for {}, from {} after the start of the run on: it did no I/O \
            in that time, which its figures include{times}",
            duration(length_ms),
            duration(begin_ms),
        );
        let found = Found::new(
            Severity::Doubtful,
            text,
            "run it again, and do not stop it (SIGSTOP, a debugger) meanwhile",
        );
        let figures = [
            ("stopped_ms", length_ms as f64),
            ("begin_ms", begin_ms as f64),
            ("all_stops_ms", all_ms as f64),
        ];
        counts(all_ms).then(|| found.with(&figures).weighing(all_ms as f64))
    };
    jobs.into_iter().filter_map(of_job).collect()
}

/// A period: start and end, ms.
type Stretch = (u64, u64);

/// Merges overlapping periods, such as those of clones that were stopped together.
fn joined(stretches: &mut [Stretch]) -> Vec<Stretch> {
    stretches.sort_unstable();
    let mut found: Vec<Stretch> = Vec::new();
    for &mut (begin, end) in stretches {
        match found.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => found.push((begin, end)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, run, told};

    #[test]
    fn stops_are_told_with_their_time() {
        let of = |stops: &str| {
            told(find(&run("", "", &format!(r#""fathom facts":{{"span_ms":4000,"stops":[{stops}]}}"#))))
        };
        let stop =
            |begin: u32, length: u32| format!(r#"{{"job":"a","begin_ms":{begin},"length_ms":{length}}}"#);
        is_told(
            &of(&stop(1500, 1200)),
            Severity::Doubtful,
            "job a was stopped for 1.20 s, from 1.50 s after",
        );
        let twice = format!("{},{}", stop(100, 300), stop(1500, 1200));
        is_told(&of(&twice), Severity::Doubtful, "stopped 2 times, for 1.50 s in all");
        // The stops of clones that were stopped together count once.
        let clones = format!("{},{},{}", stop(1502, 1201), stop(1500, 1200), stop(1501, 1190));
        is_told(&of(&clones), Severity::Doubtful, "job a was stopped for 1.20 s, from 1.50 s after");
        assert!(!of(&clones)[0].1.contains("times"), "{:?}", of(&clones));
        assert_eq!((of(&stop(5, 20)), of("")), (Vec::new(), Vec::new()));
    }
}
