//! Client libraries that report completions through callbacks and are driven by polling their sockets.

use fathom_run::engine::Completions;
use fathom_sys::Errno;
use fathom_sys::socket::{self, Awaited};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Maximum poll interval, because libraries have timers for reconnection and timeouts, which no socket signals.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// Why a connection was lost, in the words of its library.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct ConnectionLost(pub(crate) String);

/// A connection of such a library. Closing it calls the callbacks of all its I/Os in flight.
pub(crate) trait Client {
    /// Sends and receives without blocking.
    fn service(&mut self) -> Result<(), ConnectionLost>;
    /// Events for which the socket must be polled.
    fn awaited(&self) -> Awaited;
}

/// Data that the callbacks write.
pub(crate) struct Ends {
    ended: VecDeque<(u32, i64)>,
    /// The error text of each slot.
    explained: Vec<Option<String>>,
    in_flight: usize,
    /// Why the connection that is being closed was lost, if it was.
    lost: Option<ConnectionLost>,
}

impl Ends {
    /// Records that an I/O was started.
    pub(crate) fn begun(&mut self) {
        self.in_flight += 1;
    }

    /// Records that an I/O could not be started after all.
    pub(crate) fn not_begun(&mut self) {
        self.in_flight -= 1;
    }

    /// Records that an I/O has completed. If its connection was given up, the reason for that takes precedence
    /// over the library's text.
    pub(crate) fn ended(&mut self, slot: u32, result: i64, said: impl FnOnce() -> String) {
        if result < 0 {
            let text = self.lost.as_ref().map_or_else(said, ConnectionLost::to_string);
            self.explain(slot, &text);
        }
        self.in_flight -= 1;
        self.ended.push_back((slot, result));
    }

    /// True while callbacks run because their connection is given up.
    pub(crate) fn is_losing(&self) -> bool {
        self.lost.is_some()
    }

    /// Stores the error text of a failed I/O.
    pub(crate) fn explain(&mut self, slot: u32, text: &str) {
        let text = text.trim().replace(char::is_control, " ");
        self.explained[slot as usize] = Some(text).filter(|text| !text.is_empty());
    }

    /// Takes it.
    pub(crate) fn explanation(&mut self, slot: u32) -> Option<String> {
        self.explained[slot as usize].take()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn list(&mut self, out: &mut Completions) {
        while out.room() > 0
            && let Some((slot, result)) = self.ended.pop_front()
        {
            out.push(slot, result);
        }
    }
}

/// The connections of an engine, and the completions of its I/Os.
pub(crate) struct Polled<C: Client> {
    /// The clients; `None` for a lost one.
    pub(crate) clients: Vec<Option<C>>,
    ends: *mut Ends,
    awaited: Vec<Awaited>,
    next: usize,
}

impl<C: Client> Polled<C> {
    /// Creates the state for slots with numbers below `slots`.
    pub(crate) fn new(clients: Vec<C>, slots: usize) -> Polled<C> {
        let ends = Ends {
            ended: VecDeque::with_capacity(slots),
            explained: vec![None; slots],
            in_flight: 0,
            lost: None,
        };
        Polled {
            awaited: Vec::with_capacity(clients.len()),
            clients: clients.into_iter().map(Some).collect(),
            ends: Box::into_raw(Box::new(ends)),
            next: 0,
        }
    }

    /// The pointer that callbacks get. It stays valid until all clients are gone.
    pub(crate) fn ends_pointer(&self) -> *mut Ends {
        self.ends
    }

    pub(crate) fn ends(&mut self) -> &mut Ends {
        // SAFETY: it lives as long as `self`; callbacks, which use it as well, only run inside calls to a
        // client, while no such reference is held.
        unsafe { &mut *self.ends }
    }

    /// The next client, round-robin, of `count` starting at `first`; `None` if all are lost.
    pub(crate) fn choose(&mut self, first: usize, count: usize) -> Option<usize> {
        self.next = self.next.wrapping_add(1);
        let turn = self.next;
        (0..count).map(|step| first + (turn + step) % count).find(|&index| self.clients[index].is_some())
    }

    /// Lists completions until `min` are listed, `out` is full, nothing is in flight, or the timeout expires.
    pub(crate) fn collect(
        &mut self,
        min: u32,
        span: Option<Duration>,
        out: &mut Completions,
    ) -> Result<(), Errno> {
        let until = span.filter(|span| !span.is_zero()).map(|span| Instant::now() + span);
        let is_enough = |out: &Completions| min > 0 && out.len() as u32 >= min || out.room() == 0;
        loop {
            self.ends().list(out);
            if is_enough(out) {
                return Ok(());
            }
            self.service();
            self.ends().list(out);
            let left = match until {
                None if span.is_some() => return Ok(()),
                None => None,
                Some(until) => Some(until.saturating_duration_since(Instant::now())),
            };
            if is_enough(out) || self.ends().in_flight == 0 || left.is_some_and(|left| left.is_zero()) {
                return Ok(());
            }
            self.wait(left)?;
        }
    }

    /// The result of an I/O outside of the loop. Completions of other I/Os are kept for the loop.
    pub(crate) fn wait_for_end_of(&mut self, slot: u32) -> i64 {
        loop {
            let ended = &mut self.ends().ended;
            if let Some(place) = ended.iter().position(|(number, _)| *number == slot) {
                return ended.remove(place).map_or(0, |(_, result)| result);
            }
            self.service();
            if self.ends().ended.iter().any(|(number, _)| *number == slot) {
                continue;
            }
            if let Err(errno) = self.wait(None)
                && errno != Errno(libc::EINTR)
            {
                return -i64::from(errno.0);
            }
        }
    }

    /// Lets all clients send and receive. A failed client is closed, which also ends its I/Os.
    fn service(&mut self) {
        for index in 0..self.clients.len() {
            let Some(client) = &mut self.clients[index] else { continue };
            if let Err(why) = client.service() {
                self.ends().lost = Some(why);
                self.clients[index] = None;
                self.ends().lost = None;
            }
        }
    }

    fn wait(&mut self, span: Option<Duration>) -> Result<(), Errno> {
        let span = Some(span.map_or(LONGEST_WAIT, |span| span.min(LONGEST_WAIT)));
        self.awaited.clear();
        self.awaited.extend(self.clients.iter().flatten().map(Client::awaited));
        socket::wait_for_any(&self.awaited, span).map(|_| ())
    }
}

impl<C: Client> Drop for Polled<C> {
    fn drop(&mut self) {
        // While the clients are closed, callbacks of I/Os in flight run and write to memory, so this memory is
        // freed afterwards.
        self.clients.clear();
        // SAFETY: it came from a box, and no client is left that could use it.
        drop(unsafe { Box::from_raw(self.ends) });
    }
}
