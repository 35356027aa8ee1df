//! Describes an open loop: whether the storage kept up with the arrivals, and how much waiting added to
//! response times.

use crate::figures;
use fathom_results::DirectionResult;
use fathom_results::model::ArrivalsResult;

/// Minimum share of arrivals that are not complete at the end of a run for its backlog to count as growing.
const LEAST_LEFT: f64 = 0.01;
/// Minimum ratio of the final backlog to its mean: a steadily growing backlog ends at twice its mean, a stable
/// one anywhere around it.
const LEAST_GROWTH: f64 = 1.5;
/// Number of arrivals that may have come just before the end by chance.
const CHANCE: f64 = 3.0;

/// Arrivals of a run, or of several of its jobs together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backlog {
    /// Number that was due.
    due: u64,
    /// Number that was not complete at the end.
    left: u64,
    /// Mean number that was due and not complete.
    mean: f64,
}

impl Backlog {
    /// Adds the arrivals of a direction, whose mean response time is in ns.
    pub(crate) fn add(&mut self, arrivals: &ArrivalsResult, response_ns: f64) {
        self.due += arrivals.due;
        // Results of earlier versions do not have the number in flight.
        match arrivals.unfinished {
            0 => {
                self.left += arrivals.waiting;
                self.mean += arrivals.backlog_mean;
            }
            unfinished => {
                self.left += unfinished;
                // Little's law: the mean number in a system is its rate by the mean time in it.
                self.mean += arrivals.offered_iops * response_ns / 1e9;
            }
        }
    }

    /// True if it grew: the storage did not keep up.
    pub(crate) fn grew(&self) -> bool {
        let left = self.left as f64;
        left > LEAST_LEFT * self.due as f64 && left > LEAST_GROWTH * self.mean + CHANCE
    }
}

/// True if the storage kept up with the arrivals of a direction.
pub(crate) fn was_kept_up_with(arrivals: &ArrivalsResult, response_ns: f64) -> bool {
    let mut backlog = Backlog::default();
    backlog.add(arrivals, response_ns);
    !backlog.grew()
}

/// Sentences about the arrivals of a direction; none in a closed loop. `many` is the plural of the direction.
pub(crate) fn told(many: &str, direction: &DirectionResult) -> Vec<String> {
    let (Some(arrivals), Some(response)) = (&direction.arrivals, &direction.response) else {
        return Vec::new();
    };
    let mut sentences = vec![format!(
        "Open loop: {} {many} were due ({} per second), at whatever rate they completed; {} of them waited for a slot on average, {} at most.",
        figures::count(arrivals.due as f64),
        figures::count(arrivals.offered_iops),
        figures::three_figures(arrivals.backlog_mean),
        figures::count(arrivals.backlog_max as f64)
    )];
    if let (Some(median), Some(p99), Some(served)) =
        (response.percentile(50.0), response.percentile(99.0), arrivals.service.percentile(99.0))
    {
        sentences.push(format!(
            "From when they were due (resp), half of them took up to {}, 99 % up to {}; from when they were started, 99 % up to {}.",
            figures::duration(median),
            figures::duration(p99),
            figures::duration(served)
        ));
    }
    if arrivals.waiting > 0 {
        sentences.push(format!(
            "{} had not been started at the end{}. They count in resp with the time that they had waited, so its percentiles are \
             lower bounds.",
            figures::count(arrivals.waiting as f64),
            if was_kept_up_with(arrivals, response.mean_ns) { "" } else { ": the storage did not keep up with this load" }
        ));
    }
    if let Some(p99) = arrivals.own_delay.percentile(99.0) {
        sentences.push(format!(
            "fathom itself started 99 % of them within {} of when they could start (own delay).",
            figures::duration(p99)
        ));
    }
    sentences
}
