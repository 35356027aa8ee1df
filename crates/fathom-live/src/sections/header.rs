//! The first row: elapsed time, progress, and an indication that the view is frozen.

use super::{bar, put, put_pieces, put_right, width_of};
use crate::look::Look;
use crate::state::State;
use fathom_report::eta::time_to_go;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Minimum and maximum width of the bar.
const BAR: std::ops::RangeInclusive<u16> = 10..=40;

pub(crate) fn draw(buffer: &mut Buffer, area: Rect, state: &State, is_paused: bool, look: Look) {
    let notice = if is_paused { " PAUSED: p resumes " } else { "" };
    let keys = if is_paused { "" } else { "? help" };
    let right = Rect { width: area.width.saturating_sub(width_of(notice)), ..area };
    let title = if area.width >= 60 { "fathom  " } else { "" };
    let percent = state.tick.percent_done.filter(|percent| percent.is_finite());
    let percent_text = percent.map_or_else(|| "--%".to_owned(), |percent| format!("{percent:.1}%"));
    let elapsed = time_to_go(Some(state.details.elapsed_ns / 1_000_000_000));
    let times = format!("{elapsed}  to go {}  {percent_text}", time_to_go(state.tick.eta_seconds));
    let pieces = [(title.to_owned(), look.heading()), (times, look.heading())];
    put_pieces(buffer, right, &pieces, look);
    let taken = pieces.iter().map(|(text, _)| width_of(text)).sum::<u16>() + 2;
    let free = right.width.saturating_sub(taken);
    let rest = Rect { x: right.x + taken.min(right.width), width: free, ..right };
    let bar_width = free.saturating_sub(width_of(keys) + 2).min(*BAR.end());
    if bar_width >= *BAR.start() {
        put(buffer, rest, &bar(percent.unwrap_or(0.0), bar_width, look), look.bar(), look);
    }
    if free >= width_of(keys) {
        put_right(buffer, rest, keys, Style::new(), look);
    }
    put_right(buffer, area, notice, look.notice(), look);
}
