//! Formats a change.

use crate::figures;
use crate::measures::Comparison;

/// The difference in percent, with its interval, such as `+6.9 % (+4.1, +9.8)`.
pub(super) fn in_percent(comparison: &Comparison) -> String {
    match comparison.ratio {
        Some(ratio) => {
            let (low, high) = (percent(ratio.interval.low), percent(ratio.interval.high));
            format!("{} % ({low}, {high})", percent(ratio.value))
        }
        None => plain_in_percent(comparison),
    }
}

/// The difference in percent without an interval, such as `+6.9 %`.
pub(super) fn plain_in_percent(comparison: &Comparison) -> String {
    comparison.plain_ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{} %", percent(ratio)))
}

fn percent(ratio: f64) -> String {
    let change = (ratio - 1.0) * 100.0;
    if change >= 99_999.5 {
        return format!("+{}", figures::count(change));
    }
    let decimals = if change.abs() < 99.95 { 1 } else { 0 };
    // Avoids "-0".
    let text = format!("{change:+.decimals$}");
    if text == "-0.0" { "+0.0".to_owned() } else { text }
}
