//! The full-screen view of a run: a moment as [`fathom_stats::live`] reports it in, a terminal's screen out.
//!
//! [`View`] is what is shown: it remembers the past moments, takes keys, and draws itself into any buffer, so its screens can be
//! looked at without a terminal. [`LiveTerminal`] is where it is shown: it takes a terminal over, and gives it back whatever
//! happens.

#![forbid(unsafe_code)]

mod history;
mod keys;
mod layout;
mod look;
mod sections;
mod state;
mod terminal;
mod view;

pub use keys::{Key, KeyReader};
pub use look::Look;
pub use terminal::{LiveTerminal, restore};
pub use view::View;
