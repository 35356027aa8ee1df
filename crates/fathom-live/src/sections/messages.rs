//! The last messages; the newest is at the bottom.

use super::{put, rows};
use crate::look::Look;
use crate::state::State;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

pub(crate) fn heading() -> String {
    "messages".to_owned()
}

pub(crate) fn draw(buffer: &mut Buffer, area: Rect, state: &State, look: Look) {
    let hidden = state.messages.len().saturating_sub(area.height.into());
    for (row, message) in rows(area).zip(state.messages.iter().skip(hidden)) {
        put(buffer, row, message, Style::new(), look);
    }
}
