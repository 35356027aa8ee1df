//! `stalled`: the machine, or the entire program, was stopped for a while during the run.

use super::{Found, Severity};
use crate::figures;
use fathom_results::RunResult;

/// Minimum delay in ms; shorter ones occur on any busy machine, and other checks cover them.
pub(super) const LEAST_MS: u64 = 1000;

pub(super) fn find(run: &RunResult) -> Vec<Found> {
    let Some(facts) = &run.facts else { return Vec::new() };
    let duration = |ms: u64| figures::duration(ms as f64 * 1e6);
    let mut found = Vec::new();
    let suspended_ms = facts.clock.suspended_ms;
    if suspended_ms >= LEAST_MS {
        let text = format!(
            "the machine was suspended for {} during the run: devices and caches were not the same after it",
            duration(suspended_ms)
        );
        let suspended = Found::new(Severity::Wrong, text, "run it again on a machine that stays awake");
        found.push(suspended.with(&[("suspended_ms", suspended_ms as f64)]));
    }
    let late_ms = facts.latest_look_ms;
    if late_ms >= LEAST_MS {
        let text = format!(
            "the supervisor of the run, which sleeps most of the time, woke up {} late: the machine or the program was stopped",
            duration(late_ms)
        );
        let late =
            Found::new(Severity::Doubtful, text, "run it on an idle machine, and do not stop it meanwhile");
        found.push(late.with(&[("late_ms", late_ms as f64)]).weighing(late_ms as f64));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, run, told};

    #[test]
    fn standstills_are_told() {
        let of = |facts: &str| told(find(&run("", "", &format!("\"fathom facts\":{{{facts}}}"))));
        is_told(&of(r#""latest_look_ms":2500"#), Severity::Doubtful, "woke up 2.50 s late");
        is_told(&of(r#""clock":{"suspended_ms":60000}"#), Severity::Wrong, "suspended for 60.0 s");
        assert_eq!(of(r#""latest_look_ms":80,"clock":{"suspended_ms":0}"#), []);
    }
}
