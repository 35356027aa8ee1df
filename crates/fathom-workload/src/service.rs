//! Latencies of requests: from arrival to completion, and the parts before and within the device.

use fathom_stats::latency::LatencyStats;
use fathom_trace::requests::Request;
use serde::{Deserialize, Serialize};

/// Upper limits of the classes of sizes in bytes; the last class has no limit.
const CLASSES: [u32; 4] = [4 << 10, 16 << 10, 64 << 10, 256 << 10];

/// Latencies of requests with data of one direction, without failed requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Service {
    /// Time from arrival to completion (Q2C).
    pub total: LatencyStats,
    /// Time from arrival until the device received it (Q2D).
    pub queue: LatencyStats,
    /// Time from then to completion (D2C).
    pub device: LatencyStats,
    /// Time from arrival to completion by size: (largest size of the class in bytes, or `None` for the last
    /// class; latencies).
    pub by_size: Vec<(Option<u32>, LatencyStats)>,
    /// Number of requests that failed.
    pub errors: u64,
}

/// Adds a time. Damaged traces contain times of years, whose sum would overflow; once a sum would overflow,
/// further times are left out.
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

    /// Returns the latencies of each direction.
    pub(crate) fn finish(mut self) -> [Service; 3] {
        for service in &mut self.found {
            service.by_size.retain(|(_, latencies)| latencies.count > 0);
        }
        self.found
    }
}
