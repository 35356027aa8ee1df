//! Formats a change.

use crate::figures;
use crate::measures::Comparison;

/// The difference in percent with its interval: `+6.9 % (+4.1, +9.8)`.
pub(super) fn in_percent(comparison: &Comparison) -> String {
    let percent = |ratio: f64| {
        let change = (ratio - 1.0) * 100.0;
        if change >= 99_999.5 {
            return format!("+{}", figures::count(change));
        }
        let decimals = if change.abs() < 99.95 { 1 } else { 0 };
        // Avoids "-0".
        let text = format!("{change:+.decimals$}");
        if text == "-0.0" { "+0.0".to_owned() } else { text }
    };
    match (comparison.ratio, comparison.plain_ratio) {
        (Some(ratio), _) => {
            let (low, high) = (percent(ratio.interval.low), percent(ratio.interval.high));
            format!("{} % ({low}, {high})", percent(ratio.value))
        }
        (None, Some(ratio)) => format!("{} %", percent(ratio)),
        (None, None) => "-".to_owned(),
    }
}
