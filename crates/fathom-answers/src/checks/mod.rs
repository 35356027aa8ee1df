//! The checks of a result: reasons not to trust its figures. `--verdict`, the JSON, `quick`, `explain`,
//! `compare`, `show` and the page all report these findings. Each check is one file and one entry in the list
//! [`CHECKS`]. A check is a pure function of a result. It reports *wrong* only for evidence that has no other
//! explanation; anything based on a rule of thumb is *doubtful*, or a note.

mod above_device;
mod below_device;
mod clock;
mod cpu_limit;
mod depth;
mod device_cache;
mod drift;
mod failed;
mod few_samples;
mod fits_in_memory;
mod heat;
mod holes;
mod hosts;
mod in_memory;
mod io_limit;
mod judge;
mod late_starts;
mod missing;
mod mount;
mod no_effect;
mod of_runs;
mod other_io;
mod outage;
mod processor;
mod rate_missed;
mod short;
mod stalled;
mod starved;
mod stolen;
mod stopped;
mod submission;
mod swapping;
mod tell;
#[cfg(test)]
mod testing;
mod trimmed;
mod unwritten;
mod verified;
mod waits;

pub(crate) use judge::{judge, judge_report};
pub(crate) use of_runs::of_runs;
pub(crate) use tell::{finding as tell_finding, lines, paragraphs, summary};

use crate::evidence::Evidence;
use fathom_results::RunResult;
pub(crate) use fathom_stats::verdict::Severity;

/// A check.
pub(crate) struct Check {
    /// Published name of the check, which never changes.
    pub(crate) code: &'static str,
    /// The part of a result that the check requires.
    needs: Needs,
    look: Look,
}

/// Parts of a result that a check may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// Figures of the jobs, which every result has.
    Figures,
    /// Device counters of the kernel.
    Devices,
    /// The timeline of the run.
    Timeline,
    /// Facts about the machine recorded during the run.
    Facts,
}

/// What a check examines.
#[derive(Clone, Copy)]
enum Look {
    /// Every job.
    Job(fn(&Evidence<'_>) -> Vec<Found>),
    /// Every stage with separate counters, each represented by one of its jobs.
    Stage(fn(&Evidence<'_>) -> Vec<Found>),
    /// The whole run.
    Run(fn(&RunResult) -> Vec<Found>),
}

/// Result of a check, without the job and hosts that it concerns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    severity: Severity,
    /// `read`, `write` or `trim`.
    direction: Option<&'static str>,
    text: String,
    advice: String,
    evidence: Vec<(&'static str, f64)>,
    weight: f64,
}

impl Found {
    /// A finding, with its sentence (without a full stop, because it is placed after a colon) and the advice.
    fn new(severity: Severity, text: impl Into<String>, advice: impl Into<String>) -> Found {
        Found {
            severity,
            direction: None,
            text: text.into(),
            advice: advice.into(),
            evidence: Vec::new(),
            weight: 1.0,
        }
    }

    /// Restricts the finding to one direction.
    fn in_direction(self, direction: usize) -> Found {
        Found { direction: Some(DIRECTIONS[direction]), ..self }
    }

    /// Adds the figures on which the finding is based.
    fn with(self, evidence: &[(&'static str, f64)]) -> Found {
        Found { evidence: evidence.to_vec(), ..self }
    }

    /// Sets the finding's weight relative to others of the same check.
    fn weighing(self, weight: f64) -> Found {
        Found { weight: if weight.is_finite() { weight } else { f64::MAX }, ..self }
    }
}

/// Names of the directions by index.
const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];
/// Plural nouns for the directions, for sentences.
const MANY: [&str; 3] = ["reads", "writes", "trims"];

/// All checks. Findings of equal weight are reported in the order of this list.
pub(crate) const CHECKS: [Check; 37] = [
    check("failed", Needs::Figures, Look::Job(failed::find)),
    check("unverified", Needs::Figures, Look::Run(verified::unchecked)),
    check("verify-from-memory", Needs::Figures, Look::Run(verified::from_memory)),
    check("lost-hosts", Needs::Figures, Look::Run(hosts::lost)),
    check("clock", Needs::Facts, Look::Run(clock::find)),
    check("stalled", Needs::Facts, Look::Run(stalled::find)),
    check("stopped", Needs::Facts, Look::Run(stopped::find)),
    check("outage", Needs::Timeline, Look::Job(outage::find)),
    check("reads-missing", Needs::Devices, Look::Stage(missing::reads)),
    check("writes-missing", Needs::Devices, Look::Stage(missing::writes)),
    check("below-device", Needs::Devices, Look::Stage(below_device::find)),
    check("holes", Needs::Facts, Look::Run(holes::find)),
    check("trimmed", Needs::Figures, Look::Run(trimmed::find)),
    check("in-memory", Needs::Figures, Look::Run(in_memory::find)),
    check("mount", Needs::Figures, Look::Run(mount::find)),
    check("other-io", Needs::Devices, Look::Stage(other_io::find)),
    check("io-limit", Needs::Figures, Look::Job(io_limit::find)),
    check("cpu-limit", Needs::Figures, Look::Job(cpu_limit::find)),
    check("heat", Needs::Facts, Look::Run(heat::find)),
    check("swapping", Needs::Facts, Look::Run(swapping::find)),
    check("short", Needs::Figures, Look::Job(short::find)),
    check("step", Needs::Timeline, Look::Job(drift::step)),
    check("drift", Needs::Timeline, Look::Job(drift::find)),
    check("starved", Needs::Figures, Look::Job(starved::find)),
    check("late-starts", Needs::Figures, Look::Job(late_starts::find)),
    check("rate-missed", Needs::Figures, Look::Job(rate_missed::find)),
    check("depth", Needs::Figures, Look::Job(depth::find)),
    check("above-device", Needs::Devices, Look::Job(above_device::find)),
    check("submission", Needs::Figures, Look::Job(submission::find)),
    check("processor-wait", Needs::Figures, Look::Job(waits::find)),
    check("stolen", Needs::Figures, Look::Job(stolen::find)),
    check("processor", Needs::Figures, Look::Job(processor::find)),
    check("few-samples", Needs::Figures, Look::Job(few_samples::find)),
    check("fits-in-memory", Needs::Figures, Look::Job(fits_in_memory::find)),
    check("unwritten", Needs::Figures, Look::Job(unwritten::find)),
    check("no-effect", Needs::Figures, Look::Job(no_effect::find)),
    check("device-cache", Needs::Figures, Look::Stage(device_cache::find)),
];

const fn check(code: &'static str, needs: Needs, look: Look) -> Check {
    Check { code, needs, look }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_its_row_on_the_page() {
        let page = include_str!("../../../../docs/verdict.md");
        for check in &CHECKS {
            assert!(
                page.contains(&format!("| `{}` |", check.code)),
                "{} is not in docs/verdict.md",
                check.code
            );
        }
        let rows = page.lines().filter(|line| line.starts_with("| `")).count();
        assert_eq!(rows, CHECKS.len(), "docs/verdict.md lists checks that there are not");
    }
}
