//! Measures the clock offset of a host by several round trips, of which the shortest is the most precise. The
//! host reads its clock between request and reply, so the offset is known to within half the round-trip time
//! (Cristian, "Probabilistic clock synchronization", Distributed Computing 3, 1989). This bound holds
//! regardless of the network.

use crate::protocol::Pong;
use fathom_stats::hosts::{ClockOffset, HostRunReport};

/// Number of round trips per measurement.
const ROUNDS: u32 = 12;

/// A measurement in progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Probe {
    left: u32,
    best: Option<ClockOffset>,
    /// Wall clock minus monotonic clock of the host, from the last reply.
    pub wall_ns: i64,
}

impl Probe {
    /// Creates a measurement that has not sent its first request.
    pub fn begin() -> Probe {
        Probe { left: ROUNDS, ..Probe::default() }
    }

    /// True if another request is needed.
    pub fn wants_more(&self) -> bool {
        self.left > 0
    }

    /// Processes a reply that arrived at this time of the controller's clock.
    pub fn take(&mut self, pong: &Pong, now_ns: u64) {
        self.left = self.left.saturating_sub(1);
        self.wall_ns = pong.wall_ns;
        let offset = offset(pong, now_ns);
        if self.best.is_none_or(|best| offset.bound_ns < best.bound_ns) {
            self.best = Some(offset);
        }
    }

    /// The best estimate so far.
    pub fn best(&self) -> Option<ClockOffset> {
        self.best
    }
}

/// The offset and its bound from one round trip.
fn offset(pong: &Pong, now_ns: u64) -> ClockOffset {
    let (sent, received) = (i128::from(pong.sent_ns), i128::from(pong.received_ns));
    let (answered, now) = (i128::from(pong.answered_ns), i128::from(now_ns));
    let on_the_way = ((now - sent) - (answered - received)).max(0);
    let offset = ((received - sent) + (answered - now)) / 2;
    ClockOffset {
        offset_ns: i64::try_from(offset).unwrap_or(if offset < 0 { i64::MIN } else { i64::MAX }),
        // The bound is rounded up, so that it holds.
        bound_ns: u64::try_from(on_the_way / 2 + 1).unwrap_or(u64::MAX),
    }
}

/// Converts a time of the host's clock to the controller's; 0 for times before the controller's clock began.
pub fn here(host_ns: u64, offset: ClockOffset) -> u64 {
    let time = i128::from(host_ns) - i128::from(offset.offset_ns);
    u64::try_from(time.max(0)).unwrap_or(u64::MAX)
}

/// Converts a time of the controller's clock to the host's.
pub fn there(own_ns: u64, offset: ClockOffset) -> u64 {
    let time = i128::from(own_ns) + i128::from(offset.offset_ns);
    u64::try_from(time.max(0)).unwrap_or(u64::MAX)
}

/// Converts the times in a host's report to the controller's clock, relative to the agreed start.
pub fn set_times(host: &mut HostRunReport, begun_ns: Option<u64>) {
    let span = host.report.as_ref().and_then(|report| report.span);
    let Some((span, begun_ns)) = span.zip(begun_ns) else { return };
    let before = host.clock.before.unwrap_or_default();
    let after = host.clock.after.unwrap_or(before);
    let since = |time: u64, offset| here(time, offset) as i64 - begun_ns as i64;
    let ms = |time: u64| (since(time, after) / 1_000_000).max(0) as u64;
    host.start_skew_ns = Some(since(span.first_begin_ns, before));
    host.first_done_ms = span.first_end_ns.map(ms);
    host.last_done_ms = span.last_end_ns.map(ms);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_true_offset_lies_within_the_bound(
            start in 0u64..1 << 60,
            truth in -(1i64 << 40)..1 << 40,
            ways in prop::collection::vec((0u64..1 << 30, 0u64..1 << 20, 0u64..1 << 30), 1..20),
        ) {
            let start = start + (1 << 41);
            let on_host = |ns: u64| there(ns, ClockOffset { offset_ns: truth, bound_ns: 0 });
            let (mut probe, mut shortest) = (Probe::begin(), u64::MAX);
            for (there_ns, work_ns, back_ns) in ways {
                let received = start + there_ns;
                let answered = received + work_ns;
                let pong = Pong {
                    sent_ns: start,
                    received_ns: on_host(received),
                    answered_ns: on_host(answered),
                    wall_ns: 0,
                };
                probe.take(&pong, answered + back_ns);
                shortest = shortest.min(there_ns + back_ns);
            }
            let best = probe.best().expect("answers came");
            prop_assert!(best.offset_ns.abs_diff(truth) <= best.bound_ns, "{best:?} for {truth}");
            prop_assert_eq!(best.bound_ns, shortest / 2 + 1);
            prop_assert!(here(on_host(start), best).abs_diff(start) <= best.bound_ns);
        }
    }

    #[test]
    fn a_lying_host_does_no_harm() {
        let pong = Pong { sent_ns: u64::MAX, received_ns: 0, answered_ns: u64::MAX, wall_ns: i64::MIN };
        let offset = offset(&pong, 0);
        let _ = (here(u64::MAX, offset), there(u64::MAX, offset), here(0, offset));
    }
}
