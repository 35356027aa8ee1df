//! The interface of transports between a controller and an agent.

use fathom_sys::socket::Awaited;
use std::io;
use std::time::Duration;

/// A transport to an agent.
pub trait Pipe: Send {
    /// Name of the transport in reports.
    fn transport(&self) -> &'static str;

    /// Descriptors to poll. `to_send` is true if output is pending.
    fn descriptors(&self, to_send: bool) -> Vec<Awaited>;

    /// Reads available bytes: returns 0 at the end, and `WouldBlock` if none are available.
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize>;

    /// Writes as much as possible without waiting.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Deadline for the agent's first answer, for transports that need neither a shell nor a password.
    fn answers_within(&self) -> Option<Duration> {
        None
    }

    /// Address of this side as the peer sees it, if known.
    fn own_address(&self) -> Option<String> {
        None
    }

    /// True if the controller has authenticated, either by keys or to the shell that started the agent.
    fn shows_keys(&self) -> bool;

    /// True if all written bytes have been sent.
    fn is_flushed(&self) -> bool {
        true
    }

    /// Why the transport ended, as far as is known, such as the output of the shell.
    fn last_words(&mut self) -> String;

    /// Closes the transport. The agent notices this and stops.
    fn close(&mut self);
}
