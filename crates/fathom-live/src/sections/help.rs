//! The list of keys, in a window on top of the other sections.

use super::{put, rows};
use crate::look::Look;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Clear, Widget};

const LINES: [&str; 6] = [
    "q, Ctrl-C   stop the run; the report follows",
    "p           freeze the view, not the run",
    "Up, Down    scroll the jobs by one",
    "PageUp/Down scroll the jobs by a page",
    "Ctrl-Z      suspend the view; fg returns",
    "?           hide this",
];

/// Width of the longest line.
const WIDTH: u16 = 44;

pub(crate) fn draw(buffer: &mut Buffer, area: Rect, look: Look) {
    let height = (LINES.len() as u16 + 2).min(area.height);
    let width = (WIDTH + 2).min(area.width);
    let (x, y) = (area.x + (area.width - width) / 2, area.y + (area.height - height) / 2);
    let window = Rect { x, y, width, height };
    Clear.render(window, buffer);
    let texts = std::iter::once("keys").chain(LINES).chain(std::iter::once(""));
    for (index, (row, text)) in rows(window).zip(texts).enumerate() {
        let is_edge = index == 0 || index == LINES.len() + 1;
        let style = if is_edge { look.notice() } else { Style::new() };
        put(
            buffer,
            row,
            &format!(" {text:<rest$}", rest = usize::from(width).saturating_sub(1)),
            style,
            look,
        );
    }
}
