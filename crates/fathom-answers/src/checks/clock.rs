//! `clock`: the clock that timed the I/Os cannot be trusted, or the time of day was set during the run.

use super::{Found, Severity};
use crate::figures;
use fathom_results::model::RunFacts;
use fathom_results::{JobResult, RunResult};

/// The kernel steers its clock by up to 500 parts per million, and the calibration is off by 25 at most. Beyond
/// the first limit, one of the two clocks is suspect. Beyond the second limit, latencies and rates are wrong by
/// the same proportion.
const STRANGE_PPM: f64 = 1_000.0;
const OFF_PPM: f64 = 10_000.0;
/// Minimum duration of a run in ms; in a shorter one, the clocks cannot be compared.
const LEAST_SPAN_MS: u64 = 1000;
/// Minimum step of the wall clock in ms; smaller steps are ordinary corrections.
const LEAST_JUMP_MS: u64 = 100;

pub(super) fn find(run: &RunResult) -> Vec<Found> {
    let Some(facts) = &run.facts else { return Vec::new() };
    // A job that names a clock does not use the one that fathom would choose.
    let names_clock =
        |job: &JobResult| run.option(job, "clocksource").is_some_and(|name| name.trim() != "cpu");
    let is_used = run.jobs.is_empty() || !run.jobs.iter().all(names_clock);
    [source(facts), drift(facts).filter(|_| is_used), jump(facts)].into_iter().flatten().collect()
}

/// Finds a change of the kernel's clock source.
fn source(facts: &RunFacts) -> Option<Found> {
    let clock = &facts.clock;
    let change = format!("from {} to {}", clock.source, clock.source_after);
    if clock.lost_source {
        return Some(Found::new(
            Severity::Wrong,
            format!("the kernel found its clock unstable during the run and went {change}"),
            "look for `clocksource` in the kernel's log; boot with another clock source",
        ));
    }
    (clock.source != clock.source_after).then(|| {
        let text = format!("the clock source of the kernel changed {change} during the run");
        Found::new(Severity::Doubtful, text, "run it again without changing it")
    })
}

fn drift(facts: &RunFacts) -> Option<Found> {
    let ppm = facts.clock.drift_ppm;
    if facts.span_ms < LEAST_SPAN_MS || ppm.abs() < STRANGE_PPM {
        return None;
    }
    let severity = if ppm.abs() >= OFF_PPM { Severity::Wrong } else { Severity::Doubtful };
    let way = if ppm > 0.0 { "ahead of" } else { "behind" };
    let found = Found::new(
        severity,
        format!(
            "the clock that timed the I/Os ran {} {way} the system's, and all times with it",
            figures::percent(ppm.abs() / 1e4)
        ),
        "set clocksource=clock_gettime, which uses the system's clock",
    );
    Some(found.with(&[("drift_ppm", ppm)]).weighing(ppm.abs()))
}

/// Finds a step of the wall clock. Figures do not depend on the time of day, but logs and comparisons with
/// other machines do.
fn jump(facts: &RunFacts) -> Option<Found> {
    let jump_ms = facts.clock.wall_jump_ms;
    (jump_ms.unsigned_abs() >= LEAST_JUMP_MS).then(|| {
        let found = Found::new(
            Severity::Note,
            format!(
                "the time of day was moved by {} during the run; rates and latencies do not depend on it, but times of day in logs do",
                figures::duration(jump_ms as f64 * 1e6)
            ),
            "",
        );
        found.with(&[("jump_ms", jump_ms as f64)]).weighing(jump_ms.unsigned_abs() as f64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, run, told};

    #[test]
    fn clocks_that_go_wrong_are_told() {
        let of = |span_ms: u32, clock: &str| {
            let facts = format!(r#""fathom facts":{{"span_ms":{span_ms},"clock":{{{clock}}}}}"#);
            told(find(&run("", "", &facts)))
        };
        let sources = |after: &str| format!(r#""source":"tsc","source_after":"{after}""#);
        let lost = format!(r#"{},"lost_source":true"#, sources("hpet"));
        is_told(&of(5000, &lost), Severity::Wrong, "unstable during the run and went from tsc to hpet");
        is_told(&of(5000, &sources("hpet")), Severity::Doubtful, "changed from tsc to hpet");
        assert_eq!(of(5000, &sources("tsc")), []);
        is_told(&of(5000, r#""drift_ppm":30000"#), Severity::Wrong, "ran 3.0 % ahead of");
        is_told(&of(5000, r#""drift_ppm":-2000"#), Severity::Doubtful, "ran 0.2 % behind");
        assert_eq!(of(5000, r#""drift_ppm":-400"#), []);
        assert_eq!(of(200, r#""drift_ppm":30000"#), []);
        let own = r#""fathom facts":{"span_ms":5000,"clock":{"drift_ppm":30000}}"#;
        assert_eq!(told(find(&run(r#""clocksource":"clock_gettime""#, "", own))), []);
        is_told(&of(5000, r#""wall_jump_ms":-3000"#), Severity::Note, "moved by -3.00 s");
        assert_eq!(of(5000, r#""wall_jump_ms":20"#), []);
    }
}
