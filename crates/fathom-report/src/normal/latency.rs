//! Latency lines and percentile tables.

use crate::scale::latency_figure;
use fathom_stats::histogram::RANGE_END_NS;
use fathom_stats::{Histogram, LatencyStats};

/// Number of columns that the entries of a percentile table share.
const TABLE_COLUMNS: usize = 80 - 7;
/// Minimum number of columns of a value in a percentile table.
const LEAST_VALUE_COLUMNS: usize = 5;
/// Maximum number of decimals of a percentile.
const MOST_DECIMALS: usize = 6;

/// The unit in which a line or table is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unit {
    name: &'static str,
    nanoseconds: u64,
}

const NSEC: Unit = Unit { name: "nsec", nanoseconds: 1 };
const USEC: Unit = Unit { name: "usec", nanoseconds: 1_000 };
const MSEC: Unit = Unit { name: "msec", nanoseconds: 1_000_000 };

impl Unit {
    /// Returns the largest unit in which the extremes and the deviation remain significant.
    fn of_line(stats: &LatencyStats) -> Unit {
        let fits = |unit: Unit| {
            stats.min_ns > 2 * unit.nanoseconds
                && stats.max_ns > 100 * unit.nanoseconds - 1
                && stats.stddev_ns() > unit.nanoseconds as f64
        };
        [MSEC, USEC].into_iter().find(|&unit| fits(unit)).unwrap_or(NSEC)
    }

    fn of_table(smallest: u64, largest: u64) -> Unit {
        let fits = |unit: Unit| smallest > 2 * unit.nanoseconds && largest > 100 * unit.nanoseconds - 1;
        [MSEC, USEC].into_iter().find(|&unit| fits(unit)).unwrap_or(NSEC)
    }
}

/// Appends `    clat (usec): min=4, max=10801, avg=69.86, stdev=698.95`, or nothing if there is no value.
/// `label` is right-justified in eight columns.
pub(super) fn append_line(text: &mut String, label: &str, stats: &LatencyStats) {
    if stats.count == 0 {
        return;
    }
    let unit = Unit::of_line(stats);
    let divisor = unit.nanoseconds as f64;
    *text += &format!(
        "{label:>8} ({}): min={}, max={}, avg={:5.2}, stdev={:5.2}\n",
        unit.name,
        latency_figure(stats.min_ns / unit.nanoseconds),
        latency_figure(stats.max_ns / unit.nanoseconds),
        stats.mean_ns() / divisor,
        stats.stddev_ns() / divisor
    );
}

/// Appends a percentile table under `    TITLE percentiles (usec):`, or nothing if no distribution was kept.
pub(super) fn append_percentiles(text: &mut String, title: &str, stats: &LatencyStats, percentiles: &[f64]) {
    append_times(text, title, stats, percentiles, decimals_of(percentiles));
}

/// Appends a table with percentiles rounded to whole numbers, as fio shows them for all clients.
pub(super) fn append_whole_percentiles(
    text: &mut String,
    title: &str,
    stats: &LatencyStats,
    percentiles: &[f64],
) {
    append_times(text, title, stats, percentiles, 0);
}

/// Appends a table of plain numbers, without a unit.
pub(super) fn append_number_percentiles(
    text: &mut String,
    title: &str,
    histogram: &Histogram,
    percentiles: &[f64],
) {
    let shown: Vec<String> = histogram.percentiles(percentiles).iter().map(u64::to_string).collect();
    append_table(text, &format!("{title} percentiles"), &shown, percentiles, decimals_of(percentiles));
}

fn append_times(text: &mut String, title: &str, stats: &LatencyStats, percentiles: &[f64], decimals: usize) {
    let values = stats.histogram.percentiles(percentiles);
    let (Some(&smallest), Some(&largest)) = (values.iter().min(), values.iter().max()) else {
        return;
    };
    let unit = Unit::of_table(smallest, largest);
    let shown: Vec<String> = values.iter().map(|&value| value_text(value, unit)).collect();
    append_table(text, &format!("{title} percentiles ({})", unit.name), &shown, percentiles, decimals);
}

/// Appends a table of formatted values, or nothing if there are none.
fn append_table(text: &mut String, title: &str, shown: &[String], percentiles: &[f64], decimals: usize) {
    let Some(last) = shown.len().checked_sub(1) else { return };
    let value_columns = shown.iter().map(String::len).max().unwrap_or(0).max(LEAST_VALUE_COLUMNS);
    let entry_columns = decimals + 3;
    let per_row = (TABLE_COLUMNS / (decimals + 10 + value_columns)).max(1);

    *text += &format!("    {title}:\n");
    for (index, (percentile, value)) in percentiles.iter().zip(shown).enumerate() {
        if index % per_row == 0 {
            *text += "     |";
        }
        *text += &format!(" {percentile:entry_columns$.decimals$}th=[{value:>value_columns$}]");
        if index != last {
            text.push(',');
        }
        if index == last || (index + 1) % per_row == 0 {
            text.push('\n');
        }
    }
}

/// Formats a value in whole units, rounded up. Values beyond the histogram's range are marked as lower bounds.
fn value_text(nanoseconds: u64, unit: Unit) -> String {
    let value = nanoseconds.div_ceil(unit.nanoseconds);
    if nanoseconds >= RANGE_END_NS { format!(">={value}") } else { value.to_string() }
}

/// Returns the number of decimals that the most precise percentile of the list needs.
fn decimals_of(percentiles: &[f64]) -> usize {
    let needed = |percentile: &f64| {
        let text = format!("{percentile:.MOST_DECIMALS$}");
        text.trim_end_matches('0').split_once('.').map_or(0, |(_, decimals)| decimals.len())
    };
    percentiles.iter().map(needed).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_stats::report::DEFAULT_PERCENTILES;

    fn recorded(values: impl IntoIterator<Item = u64>) -> LatencyStats {
        let mut stats = LatencyStats::default();
        values.into_iter().for_each(|value| stats.record(value));
        stats
    }

    fn table(values: impl IntoIterator<Item = u64>, percentiles: &[f64]) -> String {
        let mut text = String::new();
        append_percentiles(&mut text, "clat", &recorded(values), percentiles);
        text
    }

    #[test]
    fn the_default_table_has_five_rows() {
        let text = table((1..=1000).map(|us| us * 3_000), &DEFAULT_PERCENTILES);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "    clat percentiles (usec):");
        assert_eq!(lines[1], "     |  1.00th=[   31],  5.00th=[  151], 10.00th=[  302], 20.00th=[  603],");
        assert_eq!(lines[5], "     | 99.99th=[ 2999]");
        assert_eq!(lines.len(), 6);
    }

    #[test]
    fn decimals_follow_the_list() {
        assert_eq!(
            table([20, 40], &[50.0, 99.0]),
            "    clat percentiles (nsec):\n     |  50th=[   20],  99th=[   40]\n"
        );
        assert_eq!(
            table([102, 102, 2999], &[50.0, 99.0, 99.9]),
            "    clat percentiles (nsec):\n     | 50.0th=[  102], 99.0th=[ 2992], 99.9th=[ 2992]\n"
        );
    }

    #[test]
    fn wide_values_make_short_rows() {
        let text = table([20, 30, 81, 201, 330, 524, 195_584], &[1.0, 2.0, 50.0, 60.0, 70.0, 80.0, 99.9999]);
        let rows: Vec<usize> = text.lines().skip(1).map(|row| row.matches("th=[").count()).collect();
        assert_eq!(rows, [3, 3, 1]);
        assert!(
            text.contains("     |  1.0000th=[    20],  2.0000th=[    20], 50.0000th=[   201],\n"),
            "{text}"
        );
    }

    #[test]
    fn beyond_the_range_is_a_lower_bound() {
        let text = table([3_000_000, u64::from(u32::MAX) << 20], &[50.0, 99.0]);
        assert_eq!(text, "    clat percentiles (msec):\n     |  50th=[         3],  99th=[>=17592187]\n");
    }

    #[test]
    fn units_of_lines() {
        let line = |values: &[u64]| {
            let mut text = String::new();
            append_line(&mut text, "clat", &recorded(values.iter().copied()));
            text
        };
        assert_eq!(line(&[]), "");
        assert_eq!(
            line(&[612, 4_556_100]),
            "    clat (nsec): min=612, max=4556.1k, avg=2278356.00, stdev=3221216.46\n"
        );
        assert_eq!(
            line(&[4_000, 10_801_999]),
            "    clat (usec): min=4, max=10801, avg=5403.00, stdev=7635.34\n"
        );
        assert!(line(&[3_000_000, 200_000_000]).starts_with("    clat (msec): min=3, max=200, "));
        assert_eq!(line(&[7_291]), "    clat (nsec): min=7291, max=7291, avg=7291.00, stdev= 0.00\n");
    }
}
