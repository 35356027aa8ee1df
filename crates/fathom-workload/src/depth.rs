//! The number of requests in flight.

use serde::{Deserialize, Serialize};

/// Statistics of the number of requests in flight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Depth {
    /// Mean depth over time.
    pub mean: f64,
    /// Largest.
    pub largest: u64,
    /// Mean depth at arrivals, not counting the arriving request.
    pub seen: f64,
    /// Variance of the depth at arrivals, divided by its mean: 1 for independent arrivals, near 0 for a depth
    /// that is kept.
    pub dispersion: f64,
    /// Share of the time with requests in flight.
    pub busy: f64,
    /// Number of arrivals by the depth including the arriving request: 1, 2 to 3, 4 to 7, ...
    pub reached: Vec<u64>,
}

/// Follows the depth from event to event.
#[derive(Debug, Default)]
pub(crate) struct DepthFollower {
    depth: u64,
    since_ns: Option<u64>,
    start_ns: u64,
    /// Sum of the depth multiplied by its time in ns; the sum of the time with requests in flight follows.
    area: f64,
    busy_ns: u64,
    seen: f64,
    squares: f64,
    arrivals: u64,
    found: Depth,
}

impl DepthFollower {
    pub(crate) fn change(&mut self, time_ns: u64, depth: u64) {
        let since = *self.since_ns.get_or_insert_with(|| {
            self.start_ns = time_ns;
            time_ns
        });
        let lasted = time_ns.saturating_sub(since);
        self.area += self.depth as f64 * lasted as f64;
        self.busy_ns += if self.depth > 0 { lasted } else { 0 };
        self.since_ns = Some(since.max(time_ns));
        if depth > self.depth {
            self.seen += self.depth as f64;
            self.squares += (self.depth as f64).powi(2);
            self.arrivals += 1;
            let class = depth.ilog2() as usize;
            if self.found.reached.len() <= class {
                self.found.reached.resize(class + 1, 0);
            }
            self.found.reached[class] += 1;
        }
        self.depth = depth;
        self.found.largest = self.found.largest.max(depth);
    }

    pub(crate) fn finish(mut self) -> Depth {
        let length = self.since_ns.unwrap_or(0).saturating_sub(self.start_ns) as f64;
        let arrivals = self.arrivals.max(1) as f64;
        let mean_of = |sum: f64, over: f64| if over > 0.0 { sum / over } else { 0.0 };
        self.found.mean = mean_of(self.area, length);
        self.found.busy = mean_of(self.busy_ns as f64, length);
        self.found.seen = self.seen / arrivals;
        let variance = (self.squares / arrivals - self.found.seen.powi(2)).max(0.0);
        self.found.dispersion = mean_of(variance, self.found.seen);

        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_that_of_the_time() {
        let mut follower = DepthFollower::default();
        for (time, depth) in [(0, 1), (10, 2), (20, 1), (30, 0), (40, 1), (50, 0)] {
            follower.change(time, depth);
        }
        let found = follower.finish();
        assert_eq!((found.mean, found.busy, found.largest), (1.0, 0.8, 2));
        assert_eq!(found.reached, [2, 1]);
        assert!((found.seen - 1.0 / 3.0).abs() < 1e-9);
    }
}
