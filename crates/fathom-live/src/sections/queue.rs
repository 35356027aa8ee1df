//! I/Os in flight, next to the requested queue depth.

use super::Charted;
use crate::look::Look;
use crate::state::{State, count};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub(crate) fn heading(state: &State) -> String {
    match state.details.waiting() {
        None => "I/Os in flight".to_owned(),
        Some(waiting) => format!("I/Os in flight; {} more are due and wait", count(waiting)),
    }
}

pub(crate) fn draw(buffer: &mut Buffer, area: Rect, state: &State, look: Look) {
    let (now, asked) = state.details.depth();
    Charted {
        label: "queue",
        figure: count(now),
        second: format!(" of {:<7}", count(asked)),
        history: &state.in_flight,
        style: look.bar(),
        value: &count,
    }
    .draw(buffer, area, look);
}
