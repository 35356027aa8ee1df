//! Draws differences with error bars: the change of each figure, and its interval.

use super::chart::Coordinate;
use maud::{Markup, html};

/// The change of one figure.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// Its name.
    pub(crate) name: String,
    /// The change in percent.
    pub(crate) value: f64,
    /// Both ends of the change's interval, if it has one.
    pub(crate) ends: Option<(f64, f64)>,
    /// The change and its meaning, as text.
    pub(crate) told: String,
}

const WIDTH: f64 = 720.0;
const ROW: f64 = 24.0;
const LEFT: f64 = 110.0;
const RIGHT: f64 = 290.0;

/// One row per figure, on both sides of the line of no change.
pub(crate) fn html(changes: &[Change], title: &str) -> Markup {
    let largest = changes
        .iter()
        .flat_map(|change| {
            [change.value, change.ends.map_or(0.0, |ends| ends.0), change.ends.map_or(0.0, |ends| ends.1)]
        })
        .filter(|value| value.is_finite())
        .fold(1.0, |largest: f64, value| largest.max(value.abs()))
        // Longer bars are truncated, because a doubling is wide enough.
        .min(100.0);
    let at = |percent: f64| {
        LEFT + (percent.clamp(-largest, largest) / largest + 1.0) / 2.0 * (WIDTH - LEFT - RIGHT)
    };
    let height = ROW * changes.len() as f64 + 20.0;
    let told: String = changes.iter().map(|change| format!("{}: {}. ", change.name, change.told)).collect();
    html! {
        figure.chart {
            figcaption { (title) }
            svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(told) {
                path.grid d={ "M" (Coordinate(at(0.0))) " 0V" (Coordinate(height - 18.0)) } {}
                @for (number, change) in changes.iter().enumerate() {
                    @let y = ROW * (number as f64 + 0.5);
                    text.label x=(LEFT - 8.0) y=(Coordinate(y + 4.0)) text-anchor="end" { (change.name) }
                    @if let Some((low, high)) = change.ends {
                        path.line.s0.stroke d={ "M" (Coordinate(at(low))) " " (Coordinate(y)) "H" (Coordinate(at(high))) } {}
                    }
                    circle.bar.s0 cx=(Coordinate(at(change.value))) cy=(Coordinate(y)) r="4" {}
                    text.label x=(WIDTH - RIGHT + 10.0) y=(Coordinate(y + 4.0)) { (change.told) }
                }
                @for percent in [-largest, 0.0, largest] {
                    text.tick x=(Coordinate(at(percent))) y=(Coordinate(height - 4.0)) text-anchor="middle" {
                        (format_args!("{percent:+.0} %"))
                    }
                }
            }
        }
    }
}
