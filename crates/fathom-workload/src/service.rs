//! Time that requests took: from arrival to completion, and its parts before and within the device.

use crate::requests::Request;
use fathom_stats::latency::LatencyStats;
use serde::{Deserialize, Serialize};

/// Ends of the classes of sizes, bytes; the last class has no end.
const CLASSES: [u32; 4] = [4 << 10, 16 << 10, 64 << 10, 256 << 10];

/// Latencies of requests with data of one direction. Errors are not in them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Service {
    /// From arrival to completion (Q2C).
    pub total: LatencyStats,
    /// From arrival until the device got it (Q2D).
    pub queue: LatencyStats,
    /// From then to completion (D2C).
    pub device: LatencyStats,
    /// From arrival to completion by size: (largest size of the class in bytes, `None` for the last, latencies).
    pub by_size: Vec<(Option<u32>, LatencyStats)>,
    /// Requests that failed.
    pub errors: u64,
}

/// Adds a time. Damaged traces have times of years, whose sum would not fit; they are left out from there on.
pub(crate) fn measure(times: &mut LatencyStats, ns: u64) {
    if times.sum_ns.checked_add(ns).is_some() {
        times.record(ns);
    }
}

/// Measures requests.
#[derive(Debug, Default)]
pub(crate) struct ServiceMeter {
    found: [Service; 3],
}

impl ServiceMeter {
    pub(crate) fn completed(&mut self, request: &Request, issued_ns: Option<u64>, time_ns: u64, error: u16) {
        let found = &mut self.found[request.direction as usize];
        if error != 0 {
            found.errors += 1;
            return;
        }
        let total = time_ns.saturating_sub(request.time_ns);
        measure(&mut found.total, total);
        if let Some(issued) = issued_ns {
            measure(&mut found.queue, issued.saturating_sub(request.time_ns));
            measure(&mut found.device, time_ns.saturating_sub(issued));
        }

        if found.by_size.is_empty() {
            let ends = CLASSES.map(Some).into_iter().chain([None]);
            found.by_size = ends.map(|end| (end, LatencyStats::default())).collect();
        }
        let class = CLASSES.iter().position(|end| request.bytes <= *end).unwrap_or(CLASSES.len());
        measure(&mut found.by_size[class].1, total);
    }

    /// Latencies of each direction.
    pub(crate) fn finish(mut self) -> [Service; 3] {
        for service in &mut self.found {
            service.by_size.retain(|(_, latencies)| latencies.count > 0);
        }
        self.found
    }
}
