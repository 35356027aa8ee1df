//! Requests that the kernel refused because they would have had to wait (`IOCB_NOWAIT`), and that came again from a worker of
//! io_uring, for example. Both are in a trace as queued, although the device saw one.

use crate::blktrace::{Event, TraceAction, code};
use crate::names::Device;
use std::collections::VecDeque;

/// EAGAIN.
const WOULD_WAIT: u16 = 11;
/// Maximum number of refused requests that may come again: a retry follows within microseconds.
const REMEMBERED: usize = 256;

/// The categories that a refusal has as well as its request.
const DIRECTION: u32 = code::READ | code::WRITE | code::DISCARD;

/// Drops refusals and the requests that follow them, so that each request is queued once.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// Device, first sector, bytes and event code without the action.
    refused: VecDeque<(Device, u64, u32, u32)>,
}

impl Refusals {
    /// True if the event is a refusal, or the retry of a refused request.
    pub(crate) fn drops(&mut self, event: &Event) -> bool {
        let request = (event.device, event.sector, event.bytes, event.code & DIRECTION);
        match event.action {
            TraceAction::Complete if event.error == WOULD_WAIT => {
                if self.refused.len() == REMEMBERED {
                    self.refused.pop_front();
                }
                self.refused.push_back(request);
                true
            }
            TraceAction::Queue if !self.refused.is_empty() => {
                let found = self.refused.iter().position(|refused| *refused == request);
                found.is_some_and(|place| self.refused.remove(place).is_some())
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(code: u32, sector: u64, error: u16) -> Event {
        Event { sector, bytes: 1 << 20, error, ..Event::of_code(code) }
    }

    #[test]
    fn a_request_that_was_refused_is_queued_once() {
        let (queue, complete) = (code::QUEUE | code::READ, code::COMPLETE | code::READ);
        let mut refusals = Refusals::default();
        let mut kept = |events: &[Event]| events.iter().filter(|event| !refusals.drops(event)).count();
        let again =
            [event(queue, 0, 0), event(complete, 0, WOULD_WAIT), event(queue, 0, 0), event(complete, 0, 0)];
        assert_eq!(kept(&again), 2, "queued and complete");
        assert_eq!(kept(&[event(queue, 0, 0), event(complete, 0, 0)]), 2, "a later one is another request");
        let other =
            [event(complete, 0, WOULD_WAIT), event(queue, 8, 0), event(code::QUEUE | code::WRITE, 0, 0)];
        assert_eq!(kept(&other), 2, "at another place, in another direction");
        assert_eq!(kept(&[event(complete, 16, 5)]), 1, "another error");
    }
}
