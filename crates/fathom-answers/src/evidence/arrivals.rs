//! Describes an open loop: whether the storage kept up with the arrivals, and how much waiting added to
//! response times.

use crate::figures;
use fathom_results::DirectionResult;
use fathom_results::model::ArrivalsResult;

/// Maximum share of all arrivals that may be waiting at the end for a load to count as sustained.
const MOST_LEFT: f64 = 0.01;

/// True if hardly any arrival was waiting at the end.
pub(crate) fn was_kept_up_with(arrivals: &ArrivalsResult) -> bool {
    arrivals.waiting as f64 <= MOST_LEFT * arrivals.due as f64
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
            if was_kept_up_with(arrivals) { "" } else { ": the storage did not keep up with this load" }
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
