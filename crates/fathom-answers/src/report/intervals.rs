//! Differences with error bars: how far a figure changed, and the interval of the change.

use crate::table::escape;
use std::fmt::Write as _;

/// A figure that changed.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// What it is called.
    pub(crate) name: String,
    /// The change in percent.
    pub(crate) value: f64,
    /// Its interval, where there is one.
    pub(crate) ends: Option<(f64, f64)>,
    /// The change and its meaning as text.
    pub(crate) told: String,
}

const WIDTH: f64 = 720.0;
const ROW: f64 = 24.0;
const LEFT: f64 = 110.0;
const RIGHT: f64 = 290.0;

/// A row per figure around the line of no change.
pub(crate) fn html(changes: &[Change], title: &str) -> String {
    let largest = changes
        .iter()
        .flat_map(|change| {
            [change.value, change.ends.map_or(0.0, |ends| ends.0), change.ends.map_or(0.0, |ends| ends.1)]
        })
        .filter(|value| value.is_finite())
        .fold(1.0, |largest: f64, value| largest.max(value.abs()))
        // Beyond, a stroke is cut off: a doubling is far enough.
        .min(100.0);
    let at = |percent: f64| {
        LEFT + (percent.clamp(-largest, largest) / largest + 1.0) / 2.0 * (WIDTH - LEFT - RIGHT)
    };
    let height = ROW * changes.len() as f64 + 20.0;
    let mut text = format!(
        "<figure class=\"chart\"><figcaption>{}</figcaption><svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\"><path \
         class=\"grid\" d=\"M{zero:.1} 0V{bottom:.1}\"/>",
        escape(title),
        escape(
            &changes.iter().map(|change| format!("{}: {}. ", change.name, change.told)).collect::<String>()
        ),
        zero = at(0.0),
        bottom = height - 18.0
    );
    for (number, change) in changes.iter().enumerate() {
        let y = ROW * (number as f64 + 0.5);
        let _ = write!(
            text,
            "<text class=\"label\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            y + 4.0,
            escape(&change.name)
        );
        if let Some((low, high)) = change.ends {
            let _ =
                write!(text, "<path class=\"line s0 stroke\" d=\"M{:.1} {y:.1}H{:.1}\"/>", at(low), at(high));
        }
        let _ = write!(
            text,
            "<circle class=\"bar s0\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4\"/><text class=\"label\" x=\"{}\" y=\"{:.1}\">{}</text>",
            at(change.value),
            WIDTH - RIGHT + 10.0,
            y + 4.0,
            escape(&change.told)
        );
    }
    for percent in [-largest, 0.0, largest] {
        let _ = write!(
            text,
            "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{percent:+.0} %</text>",
            at(percent),
            height - 4.0
        );
    }
    text + "</svg></figure>\n"
}
