//! A run on a full screen: user input, and the signals of a terminal.

use super::gather::Occasion;
use super::{Request, Supervisor, TerminalEvent};
use fathom_sys::clock::monotonic_ns;
use fathom_sys::signal;

/// Signals handled while a terminal is in use, because their default action would leave it in a bad state.
pub(super) const SIGNALS: &[i32] =
    &[libc::SIGWINCH, libc::SIGTSTP, libc::SIGCONT, libc::SIGQUIT, libc::SIGHUP];

impl Supervisor<'_> {
    /// Carries out the user's requests.
    pub(super) fn take_requests(&mut self) {
        while let Some(request) = self.observer.take_input() {
            match request {
                Request::Stop => self.end_by_signal(libc::SIGINT),
                Request::Trigger => self.fire_trigger("the controller's trigger", monotonic_ns()),
                Request::Report => {
                    let report = self.report(Occasion::Interval);
                    self.observer.interim_report(&report);
                }
            }
        }
    }

    /// Reports one of [`SIGNALS`] to the observer, then lets the signal take effect.
    pub(super) fn handle_terminal_signal(&mut self, signal: i32) {
        match signal {
            libc::SIGWINCH => self.observer.terminal(TerminalEvent::Resized),
            libc::SIGTSTP => {
                self.observer.terminal(TerminalEvent::Suspending);
                signal::stop_here();
            }
            libc::SIGCONT => self.observer.terminal(TerminalEvent::Continued),
            libc::SIGQUIT | libc::SIGHUP => {
                self.observer.terminal(TerminalEvent::Ending);
                signal::die_of(signal);
            }
            _ => {}
        }
    }
}
