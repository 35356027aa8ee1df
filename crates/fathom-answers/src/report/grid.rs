//! The grid of `fathom quick` on a page: each test has a bar, its figures, and its doubts.

use super::chart::Coordinate;
use super::shell::sentences;
use crate::quick::{Bar, GridReport};
use maud::{Markup, html};

/// Headings of the columns, and their CSS classes.
const COLUMNS: [(&str, &str); 8] = [
    ("test", ""),
    ("MB/s", "right"),
    ("compared with tests of the same block size", "bar-cell"),
    ("IOPS", "right"),
    ("p50", "right less"),
    ("p99", "right"),
    ("p99.9", "right less"),
    ("doubts", ""),
];

/// Renders the answer, the grid, and the doubts about the whole run, in this order.
pub(super) fn html(report: &GridReport<'_>) -> Markup {
    let notes = report.notes();
    html! {
        p.headline { (report.headline()) }
        div.scroll tabindex="0" role="region" aria-label="Table: all tests" { table.grid-of-tests {
            thead { tr { @for (heading, class) in COLUMNS { th scope="col" class=(class) { (heading) } } } }
            tbody { @for bar in report.bars() { (row(&bar)) } }
        } }
        @if !notes.is_empty() { h3 { "Doubts" } (sentences(notes)) }
    }
}

fn row(bar: &Bar) -> Markup {
    let [direction, pattern, depth] = &bar.names;
    let figure = |place: usize| bar.figures.get(place).map_or("-", String::as_str);
    let kind = if direction == "write" { "s1" } else { "s0" };
    html! {
        tr {
            th scope="row" { (direction) " " (pattern) ", depth " (depth) }
            td.right { (figure(0)) }
            td.bar-cell {
                svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" {
                    rect class={ "bar " (kind) } width=(Coordinate(bar.share * 100.0)) height="10" {}
                }
            }
            @for place in 1..5 { td class=(COLUMNS[place + 2].1) { (figure(place)) } }
            @if bar.doubts.is_empty() { td {} }
            @else { td.doubts { details { summary { "doubtful" } ul { @for doubt in &bar.doubts { li { (doubt) } } } } } }
        }
    }
}
