//! The figures of B in the format of github-action-benchmark, which keeps them on a page and warns of changes. Source: the
//! action's README, tools `customBiggerIsBetter` and `customSmallerIsBetter`: a list of objects with `name`, `unit`, `value`,
//! and optionally `range` and `extra`.

use super::change;
use super::output::ComparisonReport;
use crate::measures::Comparison;
use fathom_stats::counted;
use serde::Serialize;

/// An entry of the list.
#[derive(Serialize)]
struct Entry {
    name: String,
    unit: &'static str,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

/// Figures for which larger, or smaller, values are better. Figures that the verdict calls wrong are left out,
/// because the page would keep them permanently.
pub(super) fn entries(report: &ComparisonReport, more_is_better: bool) -> String {
    let of_kind = |comparison: &&Comparison| {
        comparison.figure.more_is_better() == more_is_better && !comparison.is_refused
    };
    let entries: Vec<Entry> = report
        .matched
        .pairs
        .iter()
        .flat_map(|pair| {
            pair.comparisons.iter().filter(of_kind).map(|comparison| entry(&pair.title(), comparison))
        })
        .collect();
    serde_json::to_string_pretty(&entries).map_or_else(|error| format!("{error}\n"), |text| text + "\n")
}

fn entry(title: &str, comparison: &Comparison) -> Entry {
    let b = comparison.b;
    // The action shows only one number, so the interval is given as the larger of its two sides.
    let spread = b.interval.map(|interval| (interval.high - b.median).max(b.median - interval.low));
    Entry {
        name: format!("{title}, {}", comparison.figure.heading()),
        unit: comparison.figure.unit(),
        value: b.median,
        range: spread.map(|spread| format!("± {}", comparison.figure.text(spread))),
        extra: format!(
            "{} before; {}: {}; {} and {}",
            comparison.figure.text(comparison.a.median),
            change::in_percent(comparison),
            comparison.words(),
            counted(comparison.a.runs, "run"),
            counted(b.runs, "run")
        ),
    }
}
