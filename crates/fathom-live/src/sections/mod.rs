//! The sections of the screen, one file each. A section converts the state of the run to rows of a buffer.

pub(crate) mod devices;
pub(crate) mod header;
pub(crate) mod help;
pub(crate) mod hosts;
pub(crate) mod jobs;
pub(crate) mod latency;
pub(crate) mod messages;
pub(crate) mod queue;
pub(crate) mod rates;
pub(crate) mod table;

use crate::history::History;
use crate::look::Look;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use ratatui::widgets::{Sparkline, Widget};

/// Widths of the columns before a chart: label, first figure, second figure.
const LABEL: u16 = 6;
const FIGURE: u16 = 10;
const SECOND: u16 = 11;
/// Minimum useful width of a chart.
const NARROWEST_CHART: u16 = 8;
/// Minimum width for displaying the maximum value next to a chart.
const CHART_WITH_PEAK: u16 = 40;
/// Width of the maximum value next to a chart.
const PEAK: u16 = 16;

/// Splits off the first row.
pub(crate) fn first_row(area: Rect) -> (Rect, Rect) {
    let height = area.height.min(1);
    let rest = Rect { y: area.y + height, height: area.height - height, ..area };
    (Rect { height, ..area }, rest)
}

/// Iterates over the rows of an area.
pub(crate) fn rows(area: Rect) -> impl Iterator<Item = Rect> {
    (area.y..area.bottom()).map(move |y| Rect { y, height: 1, ..area })
}

/// Returns the display width of a text.
pub(crate) fn width_of(text: &str) -> u16 {
    u16::try_from(Span::raw(text).width()).unwrap_or(u16::MAX)
}

/// Writes a text into the first row of an area; a text that is too long ends in an ellipsis.
pub(crate) fn put(buffer: &mut Buffer, area: Rect, text: &str, style: Style, look: Look) {
    if area.is_empty() {
        return;
    }
    buffer.set_stringn(area.x, area.y, text, area.width.into(), style);
    if width_of(text) > area.width {
        let mut end = [0; 4];
        let ellipsis = look.ellipsis().encode_utf8(&mut end);
        buffer.set_stringn(area.right() - 1, area.y, ellipsis, 1, style);
    }
}

/// Writes a text at the right end of the first row of an area; a text that is too long ends in an ellipsis.
pub(crate) fn put_right(buffer: &mut Buffer, area: Rect, text: &str, style: Style, look: Look) {
    let blank = area.width.saturating_sub(width_of(text));
    put(buffer, Rect { x: area.x + blank, width: area.width - blank, ..area }, text, style, look);
}

/// Writes as many of the leading pieces as fit into a row.
pub(crate) fn put_pieces(buffer: &mut Buffer, area: Rect, pieces: &[(String, Style)], look: Look) {
    let mut left = area;
    for (index, (text, style)) in pieces.iter().enumerate() {
        let width = width_of(text);
        if width > left.width && index > 0 {
            return;
        }
        put(buffer, left, text, *style, look);
        let taken = width.min(left.width);
        left = Rect { x: left.x + taken, width: left.width - taken, ..left };
    }
}

/// Writes a heading followed by a rule to the end of the row.
pub(crate) fn put_heading(buffer: &mut Buffer, area: Rect, text: &str, look: Look) {
    let rule = look.rule();
    let start = format!("{} {text} ", rule.repeat(2));
    let rest = area.width.saturating_sub(width_of(&start));
    put(buffer, area, &format!("{start}{}", rule.repeat(rest.into())), look.heading(), look);
}

/// A figure: its name, its current value, and a chart of its history if it fits.
pub(crate) struct Charted<'a> {
    pub(crate) label: &'a str,
    pub(crate) figure: String,
    pub(crate) second: String,
    pub(crate) history: &'a History,
    pub(crate) style: Style,
    /// Formats a value of the figure.
    pub(crate) value: &'a dyn Fn(u64) -> String,
}

impl Charted<'_> {
    pub(crate) fn draw(&self, buffer: &mut Buffer, area: Rect, look: Look) {
        let column = |x: u16, width: u16| {
            let x = x.min(area.width);
            Rect { x: area.x + x, width: width.min(area.width - x), height: area.height.min(1), ..area }
        };
        put(buffer, column(0, LABEL), self.label, look.heading(), look);
        put_right(buffer, column(LABEL, FIGURE), &self.figure, Style::new(), look);
        put_right(buffer, column(LABEL + FIGURE, SECOND), &self.second, Style::new(), look);
        let start = (LABEL + FIGURE + SECOND + 1).min(area.width);
        let mut chart = Rect { x: area.x + start, width: area.width - start, ..area };
        let has_peak = chart.width >= CHART_WITH_PEAK;
        if has_peak {
            chart.width -= PEAK;
        }
        if chart.width < NARROWEST_CHART || area.is_empty() {
            return;
        }
        let points = self.history.columns(chart.width.into());
        let highest = points.iter().flatten().copied().max().unwrap_or(0);
        draw_chart(buffer, chart, &points, highest, self.style, look);
        if has_peak && highest > 0 {
            let text = format!("peak {:<10}", (self.value)(highest));
            put_right(buffer, column(area.width - PEAK, PEAK), &text, Style::new(), look);
        }
    }
}

/// Draws columns with heights proportional to the values; every value other than 0 is visible.
fn draw_chart(
    buffer: &mut Buffer,
    area: Rect,
    points: &[Option<u64>],
    highest: u64,
    style: Style,
    look: Look,
) {
    let steps = u64::from(area.height) * 8;
    let height = |value: u64| match value {
        0 => 0,
        _ => (u128::from(value) * u128::from(steps) / u128::from(highest.max(1))).max(1) as u64,
    };
    Sparkline::default()
        .data(points.iter().map(|point| point.map(height)).collect::<Vec<Option<u64>>>())
        .max(steps)
        .bar_set(look.bars())
        .style(style)
        .absent_value_style(Style::new())
        .render(area, buffer);
}

/// Draws a bar that is filled to a percentage.
pub(crate) fn bar(percent: f64, width: u16, look: Look) -> String {
    let full = (percent.clamp(0.0, 100.0) / 100.0 * f64::from(width)).round() as usize;
    let (done, open) = if look.unicode { ("█", "░") } else { ("#", ".") };
    format!("{}{}", done.repeat(full), open.repeat(usize::from(width).saturating_sub(full)))
}
