//! Tables whose less important columns are dropped on a narrow terminal.

use super::{put, put_right, width_of};
use crate::look::Look;
use crate::state::State;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Minimum width of the name. Other columns are dropped to widen it up to `LONGEST_NAME`.
const SHORTEST_NAME: u16 = 8;
const LONGEST_NAME: u16 = 24;
/// Width of short names if all columns fit.
const NAME_ON_WIDE: u16 = 20;
/// Highest rank of columns that take precedence over complete names.
const DEAR: u8 = 4;

/// A column of figures in a table.
pub(crate) struct Column<T> {
    pub(crate) title: &'static str,
    pub(crate) width: u16,
    /// Rank of the column: those with smaller ranks are kept longer on a narrow terminal. Columns of rank 0
    /// contain words.
    pub(crate) rank: u8,
    pub(crate) text: fn(&T, &State) -> String,
}

/// The columns of a table that a terminal shows.
pub(crate) struct Columns<T: 'static> {
    name_width: u16,
    shown: Vec<&'static Column<T>>,
}

impl<T> Columns<T> {
    /// Selects the columns that fit next to the longest name.
    pub(crate) fn of<'a>(
        all: &'static [Column<T>],
        width: u16,
        names: impl Iterator<Item = &'a str>,
    ) -> Columns<T> {
        let longest = names.map(width_of).max().unwrap_or(0).saturating_add(2);
        let shown = fitting(all, width, longest);
        let taken: u16 = shown.iter().map(|column| column.width).sum();
        // The space of columns that do not fit is left free at the right.
        let name_width = width.saturating_sub(taken).min(longest.max(NAME_ON_WIDE));
        Columns { name_width, shown }
    }

    /// Draws the row of column titles.
    pub(crate) fn draw_titles(&self, buffer: &mut Buffer, row: Rect, title: &str, look: Look) {
        buffer.set_style(row, look.heading());
        put(buffer, Rect { width: self.name_width, ..row }, title, look.heading(), look);
        self.draw_cells(buffer, row, look, |column| (column.title.to_owned(), look.heading()));
    }

    /// Draws the row of an item; `style` returns the style of a column.
    pub(crate) fn draw_row(
        &self,
        buffer: &mut Buffer,
        row: Rect,
        (name, name_style): (&str, Style),
        look: Look,
        cell: impl Fn(&Column<T>) -> (String, Style),
    ) {
        let name_area = Rect { width: self.name_width.saturating_sub(1), ..row };
        put(buffer, name_area, name, name_style, look);
        self.draw_cells(buffer, row, look, cell);
    }

    fn draw_cells(
        &self,
        buffer: &mut Buffer,
        row: Rect,
        look: Look,
        cell: impl Fn(&Column<T>) -> (String, Style),
    ) {
        let mut x = row.x + self.name_width;
        for column in &self.shown {
            let (text, style) = cell(column);
            let area = Rect { x, width: column.width.saturating_sub(1), ..row };
            // Words are left-aligned and figures right-aligned, as in the titles.
            if column.rank == 0 {
                put(buffer, area, &text, style, look);
            } else {
                put_right(buffer, area, &text, style, look);
            }
            x += column.width;
        }
    }
}

/// Returns the columns that fit, from left to right.
pub(crate) fn fitting<T>(
    all: &'static [Column<T>],
    width: u16,
    longest_name: u16,
) -> Vec<&'static Column<T>> {
    let mut by_rank: Vec<&Column<T>> = all.iter().collect();
    by_rank.sort_by_key(|column| column.rank);
    let mut left = width;
    let mut limit = u8::MAX;
    for column in by_rank {
        let name = match column.rank {
            0..=DEAR => SHORTEST_NAME,
            _ => longest_name.clamp(SHORTEST_NAME, LONGEST_NAME),
        };
        if limit == u8::MAX && left >= name + column.width {
            left -= column.width;
        } else {
            limit = limit.min(column.rank);
        }
    }
    all.iter().filter(|column| column.rank < limit).collect()
}
