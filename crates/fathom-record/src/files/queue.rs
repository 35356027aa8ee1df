//! Calls in the order of their submission, until they may be written.

use fathom_trace::files::{Call, CallEnd, Done, Item, Operation};
use std::collections::{HashSet, VecDeque};

/// A call that takes longer is written without its end, which follows later.
const LONGEST_NS: u64 = 1_000_000_000;
/// Calls that are held.
const MOST: usize = 1 << 20;
/// Ends that are awaited.
const MOST_LATER: usize = 1 << 16;

#[derive(Clone, Copy, Debug)]
struct Held {
    call: Call,
    has_ended: bool,
    /// It turned out not to be a call on a file.
    is_void: bool,
}

/// Calls that are not written yet.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    held: VecDeque<Held>,
    /// Number of the first call that is held.
    first: u64,
    /// Calls that were written without their end.
    later: HashSet<u64>,
    sums: Sums,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) calls: u64,
    pub(crate) unplaced: u64,
    pub(crate) mapped: u64,
    /// Calls written without their end, whose end did not come so far.
    pub(crate) unfinished: u64,
}

impl Queue {
    /// Adds a call that begins; returns its number.
    pub(crate) fn begin(&mut self, call: Call) -> u64 {
        self.held.push_back(Held { call, has_ended: false, is_void: false });
        self.first + self.held.len() as u64 - 1
    }

    fn at(&mut self, serial: u64) -> Option<&mut Held> {
        self.held.get_mut(usize::try_from(serial.checked_sub(self.first)?).ok()?)
    }

    /// A call that is still held.
    pub(crate) fn call(&mut self, serial: u64) -> Option<&mut Call> {
        self.at(serial).map(|held| &mut held.call)
    }

    /// The call is not one on a file.
    pub(crate) fn void(&mut self, serial: u64) {
        if let Some(held) = self.at(serial) {
            held.is_void = true;
        }
    }

    /// The call has ended.
    pub(crate) fn end(&mut self, serial: u64, time_ns: u64, result: i64, done: &mut Vec<Item>) {
        if let Some(held) = self.at(serial) {
            held.call.end = CallEnd::Known(time_ns.saturating_sub(held.call.time_ns), result);
            held.has_ended = true;
        } else if self.later.remove(&serial) {
            self.sums.unfinished -= 1;
            done.push(Item::Done(Done { serial, time_ns, result }));
        }
    }

    /// The file of these calls turned out to be another, or nothing that is recorded.
    pub(crate) fn rename(&mut self, from: u32, to: Option<u32>) {
        for held in self.held.iter_mut().filter(|held| held.call.file == from) {
            match to {
                Some(to) => held.call.file = to,
                None => held.is_void = true,
            }
        }
    }

    /// Gives the calls that have ended or taken long, up to the first that is neither, or whose file is still `searched`; all of them
    /// at the end.
    pub(crate) fn flush(
        &mut self,
        now_ns: u64,
        is_end: bool,
        searched: impl Fn(u32) -> bool,
        items: &mut Vec<Item>,
    ) {
        while let Some(held) = self.held.front() {
            let is_long = now_ns.saturating_sub(held.call.time_ns) > LONGEST_NS || self.held.len() > MOST;
            let is_ready = (held.has_ended || held.is_void) && !searched(held.call.file);
            if !(is_ready || is_long || is_end) {
                return;
            }
            let Held { mut call, has_ended, is_void } = *held;
            if !is_void {
                if !has_ended {
                    if self.later.len() >= MOST_LATER {
                        self.later.clear();
                    }
                    self.later.insert(self.first);
                    self.sums.unfinished += 1;
                    call.end = CallEnd::Later(self.first);
                }
                let moves = matches!(call.operation, Operation::Read | Operation::Write);
                self.sums.unplaced += u64::from(moves && call.offset.is_none());
                self.sums.mapped += u64::from(call.operation == Operation::Map);
                self.sums.calls += 1;
                items.push(Item::Call(call));
            }
            self.held.pop_front();
            self.first += 1;
        }
    }

    pub(crate) fn sums(&self) -> Sums {
        self.sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(time_ns: u64) -> Call {
        Call {
            time_ns,
            tid: 1,
            operation: Operation::Read,
            is_ring: false,
            file: 1,
            offset: Some(0),
            length: 1,
            end: CallEnd::Later(0),
        }
    }

    #[test]
    fn calls_leave_in_the_order_in_which_they_came() {
        let (mut queue, mut items) = (Queue::default(), Vec::new());
        let serials = [10, 20, 30, 40].map(|time| queue.begin(call(time)));
        queue.end(serials[1], 25, 1, &mut items);
        queue.flush(50, false, |_| false, &mut items);
        assert_eq!(items, [], "the first has not ended");
        queue.void(serials[0]);
        queue.flush(50, false, |_| false, &mut items);
        assert_eq!(items, [Item::Call(Call { end: CallEnd::Known(5, 1), ..call(20) })]);
        items.clear();
        queue.end(serials[3], 41, 7, &mut items);
        queue.flush(LONGEST_NS + 31, false, |_| false, &mut items);
        let late = Item::Call(Call { end: CallEnd::Later(serials[2]), ..call(30) });
        assert_eq!(items, [late, Item::Call(Call { end: CallEnd::Known(1, 7), ..call(40) })]);
        assert_eq!((queue.sums().calls, queue.sums().unfinished), (3, 1));
        items.clear();
        queue.end(serials[2], 99, 3, &mut items);
        queue.end(serials[2], 100, 3, &mut items);
        assert_eq!(items, [Item::Done(Done { serial: serials[2], time_ns: 99, result: 3 })]);
        assert_eq!(queue.sums().unfinished, 0);
    }
}
