//! The lines of an open loop: I/Os due, I/Os that waited, and the parts of the delay.

use crate::scale::{Scale, duration};
use fathom_stats::LatencyStats;
use fathom_stats::arrivals::ArrivalsReport;
use fathom_stats::counted;

/// Appends a direction's arrivals, after its latencies.
pub(super) fn append(text: &mut String, arrivals: &ArrivalsReport, scale: &Scale) {
    *text += &format!(
        "   arrivals    : due={}, rate={}/s, backlog: avg={:.2}, max={}, end={}\n",
        arrivals.due(),
        scale.count(arrivals.offered_per_second().round() as u64),
        arrivals.mean_backlog(),
        arrivals.highest_backlog,
        arrivals.waiting
    );
    append_delay(text, "start delay", &arrivals.start_delay);
    append_delay(text, "own delay", &arrivals.own_delay);
    if arrivals.waiting > 0 {
        *text += &format!(
            "   not started : {} due and waiting at the end; counted in resp with the time so far\n",
            counted(arrivals.waiting, "I/O")
        );
    }
}

fn append_delay(text: &mut String, label: &str, stats: &LatencyStats) {
    let [p50, p99, p99_9] = stats.percentiles(&[50.0, 99.0, 99.9])[..] else { return };
    *text += &format!(
        "   {label:<12}: 50%={}, 99%={}, 99.9%={}, max={}\n",
        duration(p50),
        duration(p99),
        duration(p99_9),
        duration(stats.max_ns)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_told() {
        let mut arrivals =
            ArrivalsReport { span_ns: 2_000_000_000, waited_ns: 5_000_000_000, ..Default::default() };
        arrivals.start_delay.record(2_000_000);
        arrivals.own_delay.record(900);
        let shown = |arrivals: &ArrivalsReport| {
            let mut text = String::new();
            append(&mut text, arrivals, &Scale::new(1024, 8, 4));
            text
        };
        arrivals.highest_backlog = 7;
        assert_eq!(
            shown(&arrivals),
            "   arrivals    : due=1, rate=1/s, backlog: avg=2.50, max=7, end=0\n   start delay : 50%=2.00ms, 99%=2.00ms, \
             99.9%=2.00ms, max=2.00ms\n   own delay   : 50%=900.00ns, 99%=900.00ns, 99.9%=900.00ns, max=900.00ns\n"
        );
        arrivals.waiting = 3;
        assert!(shown(&arrivals).contains("not started : 3 I/Os"));
    }
}
