//! Counts recorded events, for the status line and the summary.

use crate::figures;
use fathom_stats::Direction;
use fathom_stats::per_direction::PerDirection;
use fathom_trace::blktrace::{Event, TraceAction};

/// Number of requests, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Amount {
    requests: u64,
    bytes: u64,
}

/// Numbers counted since the start of the recording.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    asked: PerDirection<Amount>,
    flushes: u64,
    issued: u64,
    requeued: u64,
    completed: u64,
    pub(super) events: u64,
}

impl Tally {
    pub(super) fn add(&mut self, event: &Event) {
        self.events += 1;
        match event.action {
            TraceAction::Queue => {
                self.flushes += u64::from(event.flushes);
                if event.bytes > 0 {
                    let amount = &mut self.asked[event.direction];
                    amount.requests += 1;
                    amount.bytes += u64::from(event.bytes);
                }
            }
            TraceAction::Issue => self.issued += 1,
            TraceAction::Requeue => self.requeued += 1,
            TraceAction::Complete => self.completed += 1,
            _ => {}
        }
    }

    /// Number of requests in the device; `None` for devices without a request queue.
    fn depth(&self) -> Option<u64> {
        (self.issued > 0).then(|| self.issued.saturating_sub(self.requeued + self.completed))
    }

    /// The rates since an earlier state, such as `1.2k reads/s (84 MB/s), 310 writes/s (1.3 MB/s), depth 7`.
    pub(super) fn rates(&self, earlier: &Tally, seconds: f64) -> String {
        let mut parts = Vec::new();
        for direction in Direction::ALL {
            let (now, before) = (self.asked[direction], earlier.asked[direction]);
            if now.requests > before.requests {
                let requests = (now.requests - before.requests) as f64 / seconds;
                let bytes = (now.bytes - before.bytes) as f64 / seconds;
                let (requests, bytes) = (figures::count(requests), figures::bandwidth(bytes));
                parts.push(format!("{requests} {}s/s ({bytes})", direction.word()));
            }
        }
        if parts.is_empty() {
            parts.push("nothing asked".to_owned());
        }
        parts.extend(self.depth().map(|depth| format!("depth {depth}")));
        parts.join(", ")
    }

    /// The totals, such as `12,345 reads (1.2 GiB), 88 writes (3 MiB), 12 flushes`.
    pub(super) fn sums(&self) -> String {
        let mut parts = Vec::new();
        for direction in Direction::ALL {
            let amount = self.asked[direction];
            if amount.requests > 0 {
                let plural = if amount.requests == 1 { "" } else { "s" };
                let bytes = figures::size(amount.bytes);
                parts.push(format!("{} {}{plural} ({bytes})", amount.requests, direction.word()));
            }
        }
        if self.flushes > 0 {
            parts.push(format!("{} flush{}", self.flushes, if self.flushes == 1 { "" } else { "es" }));
        }
        if parts.is_empty() { "nothing was asked of it".to_owned() } else { parts.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_trace::blktrace::code;

    #[test]
    fn requests_are_counted_where_they_are_asked() {
        let event = |code: u32, bytes: u32| Event { bytes, ..Event::of_code(code) };
        let mut tally = Tally::default();
        for (code, bytes) in [
            (code::QUEUE | code::READ, 4096),
            (code::QUEUE | code::READ, 4096),
            (code::BACK_MERGE | code::READ, 4096),
            (code::ISSUE | code::READ, 8192),
            (code::QUEUE | code::WRITE | code::FLUSH, 0),
        ] {
            tally.add(&event(code, bytes));
        }
        assert_eq!(tally.sums(), "2 reads (8 KiB), 1 flush");
        assert_eq!(tally.rates(&Tally::default(), 2.0), "1 reads/s (0.00410 MB/s), depth 1");
        assert_eq!(tally.events, 5);
    }
}
