//! `heat`: processors were throttled during the run because they were too hot.

use super::{Found, Severity};
use fathom_results::RunResult;
use fathom_stats::counted;

pub(super) fn find(run: &RunResult) -> Vec<Found> {
    let times = run.facts.as_ref().and_then(|facts| facts.slowed_by_heat).unwrap_or(0);
    if times == 0 {
        return Vec::new();
    }
    let found = Found::new(
        Severity::Doubtful,
        format!("processors slowed down {} because they were hot (thermal_throttle)", counted(times, "time")),
        "cool the machine, or look at how the rate changed over time",
    );
    vec![found.with(&[("slowed_by_heat", times as f64)]).weighing(times as f64)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, run, told};

    #[test]
    fn heat_is_told() {
        let of = |facts: &str| told(find(&run("", "", &format!("\"fathom facts\":{{{facts}}}"))));
        is_told(&of(r#""slowed_by_heat":7"#), Severity::Doubtful, "slowed down 7 times");
        assert_eq!(of(r#""slowed_by_heat":0"#), []);
        assert_eq!(of(""), []);
    }
}
