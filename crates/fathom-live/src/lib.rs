//! The full-screen view of a run, which converts snapshots from [`fathom_stats::live`] to a terminal screen.
//!
//! [`View`] is the content: it keeps past snapshots, handles keys, and draws into any buffer, so that tests can
//! examine its screens without a terminal. [`LiveTerminal`] is the display: it takes control of a terminal and
//! always restores it.

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
