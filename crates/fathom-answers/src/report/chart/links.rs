//! Points that link to what they stand for. Their links are not stops of the Tab key, because a chart can have
//! thousands of them: the cursor of the chart leads to each, and so does the table below it.

use super::{Chart, Coordinate, MARK};
use maud::html;

/// A point with a link.
pub(crate) struct Linked {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// What the cursor says there, which is the name of the link, too.
    pub(crate) told: String,
    /// Where it leads to; `None` without a link.
    pub(crate) href: Option<String>,
    /// True for points of a different kind.
    pub(crate) is_hollow: bool,
}

impl Chart {
    /// Marks points, and makes each a stop of the cursor.
    pub(crate) fn linked_marks(&mut self, points: Vec<Linked>, style: usize) {
        let stops: Vec<(f64, String)> = points.iter().map(|point| (point.x, point.told.clone())).collect();
        self.stops_at(&stops);
        for Linked { x, y, told, href, is_hollow } in points {
            let kind = if is_hollow { "hollow" } else { "mark" };
            let (x, y) = (Coordinate(self.at_x(x)), Coordinate(self.at_y(y)));
            let mark = html! { circle class={ (kind) " s" (style) } cx=(x) cy=(y) r=(MARK) {} };
            self.draw(&html! {
                @if let Some(href) = &href { a href=(href) tabindex="-1" aria-label=(told) { (mark) } }
                @else { (mark) }
            });
            self.hrefs.push(href);
        }
    }
}
