//! What a way from a controller to an agent is.

use fathom_sys::socket::Awaited;
use std::io;
use std::time::Duration;

/// A way to an agent.
pub trait Pipe: Send {
    /// The word for it in reports.
    fn transport(&self) -> &'static str;

    /// What to wait for. `to_send` tells that there is something to write.
    fn descriptors(&self, to_send: bool) -> Vec<Awaited>;

    /// Reads what is there: 0 at the end, `WouldBlock` if nothing is.
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize>;

    /// Writes what goes without waiting.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// How long an agent may take to answer at all, where a shell or a password has no part in it.
    fn answers_within(&self) -> Option<Duration> {
        None
    }

    /// The address of this side, as the other sees it, where there is one.
    fn own_address(&self) -> Option<String> {
        None
    }

    /// The controller has proved who it is: by keys, or to the shell that started the agent.
    fn shows_keys(&self) -> bool;

    /// Everything that was written has left this side.
    fn is_flushed(&self) -> bool {
        true
    }

    /// Why the way has ended, as far as it is known: what the shell said, for example.
    fn last_words(&mut self) -> String;

    /// Ends it; the agent sees that and stops.
    fn close(&mut self);
}
