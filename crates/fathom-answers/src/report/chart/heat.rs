//! Heat maps with time on the x axis and latency on the y axis; darker cells stand for more I/Os.

use super::{Chart, HEIGHT};
use maud::{Markup, html};
use std::fmt::Write as _;

/// Distinguishable shades.
pub(crate) const SHADES: usize = 8;

/// A cell: its range on either axis, and its count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    pub(crate) x: (f64, f64),
    pub(crate) y: (f64, f64),
    pub(crate) count: u64,
}

/// A range on the x axis, a range on the y axis, and the shade.
pub(crate) type Shaded = ((f64, f64), (f64, f64), usize);

/// The shade of a count; 0 is the lightest. The scale is logarithmic, so that single slow I/Os are visible next
/// to thousands of fast ones.
pub(crate) fn shade(count: u64, most: u64) -> usize {
    if most <= 1 {
        return SHADES - 1;
    }
    let share = (count as f64).ln_1p() / (most as f64).ln_1p();
    ((share * SHADES as f64) as usize).min(SHADES - 1)
}

/// The shade of a value between `low` and `high`; 0 is the lightest. The scale is logarithmic, because the
/// values of varied options are usually doubled.
pub(crate) fn shade_between(value: f64, low: f64, high: f64) -> usize {
    let share = if high > low && low > 0.0 { (value / low).ln() / (high / low).ln() } else { 1.0 };
    ((share * SHADES as f64) as usize).min(SHADES - 1)
}

/// A table with shaded cells. Each row has a name and its cells.
pub(crate) fn table(caption: &str, across: &[String], lines: &[(String, Vec<Markup>)]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) { table.heat-map {
            caption { (caption) "; darker = more" }
            thead { tr { td {} @for name in across { th.right scope="col" { (name) } } } }
            tbody { @for (name, cells) in lines {
                tr { th scope="row" { (name) } @for cell in cells { (cell) } }
            } }
        } }
    }
}

impl Chart {
    /// Draws the cells. All cells of one shade form one path.
    pub(crate) fn heat(&mut self, cells: &[Cell]) {
        let most = cells.iter().map(|cell| cell.count).max().unwrap_or(0);
        let shaded: Vec<Shaded> =
            cells.iter().map(|cell| (cell.x, cell.y, shade(cell.count, most))).collect();
        self.shaded(&shaded);
    }

    /// Draws cells with given shades.
    pub(crate) fn shaded(&mut self, cells: &[Shaded]) {
        let mut paths = vec![String::new(); SHADES];
        for &(x, y, shade) in cells {
            let (left, right) = (self.at_x(x.0), self.at_x(x.1));
            let (low, high) = (self.at_y(y.0), self.at_y(y.1));
            let (width, height) = ((right - left).max(0.5), (low - high).clamp(0.5, HEIGHT));
            let _ = write!(paths[shade], "M{left:.1} {high:.1}h{width:.1}v{height:.1}h-{width:.1}z");
        }
        for (shade, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
            self.draw(&html! { path class={ "heat h" (shade) } d=(path) {} });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_have_the_lightest_and_the_darkest_shade() {
        assert_eq!([1.0, 10.0, 100.0].map(|value| shade_between(value, 1.0, 100.0)), [0, 4, 7]);
        assert_eq!((shade_between(5.0, 5.0, 5.0), shade_between(0.0, 0.0, 5.0)), (7, 7));
    }

    #[test]
    fn shades_grow_with_the_logarithm() {
        assert_eq!(shade(1, 1), SHADES - 1);
        assert_eq!(shade(100_000, 100_000), SHADES - 1);
        assert!(shade(1, 100_000) == 0 && shade(300, 100_000) >= 3);
        assert!((1..1000).all(|count| shade(count, 1000) <= shade(count + 1, 1000)));
    }
}
