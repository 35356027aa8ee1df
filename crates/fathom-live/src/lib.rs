//! The full-screen view of a run: converts snapshots from [`fathom_stats::live`] to a terminal screen.
//!
//! [`View`] is the content: it remembers past snapshots, handles keys, and draws itself into any buffer, so
//! that its screens can be examined without a terminal. [`LiveTerminal`] is the display: it takes control of a
//! terminal and restores it in all cases.

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
