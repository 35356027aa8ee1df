//! Charts for the terminal.

use super::Screen;
use crate::bars::Ink;
use crate::columns;
use crate::figures;
use crate::shapes::{Bin, Moment, Shapes, Subject, depth_range};
use std::fmt::Write as _;

/// Number of rows of a chart over time.
const ROWS: usize = 8;
/// Number of columns for the values next to a chart, including the gap after them.
const MARGIN: usize = 12;
/// Maximum number of rows of a distribution.
const MOST_BINS: usize = 16;
/// Percentiles of the curve.
const CURVE: [f64; 9] = [1.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99];
/// Minimum share, in percent, of a bin at either end; bins with a smaller share are not shown.
const LEAST_SHARE: f64 = 0.01;

/// All charts of a subject.
pub(super) fn of(subject: &Subject, screen: Screen) -> String {
    let mut text = String::new();
    for direction in &subject.directions {
        text.push_str(&curve(direction, screen));
        text.push_str(&distribution(direction, screen));
        text.push_str(&over_time(direction, "MB/s", |moment| moment.bytes_per_second / 1e6, screen));
        text.push_str(&over_time(direction, "IOPS", |moment| moment.iops, screen));
        text.push_str(&heat(direction, screen));
    }
    text.push_str(&depths(subject, screen));
    text
}

/// The percentile curve as bars on a logarithmic scale.
fn curve(direction: &Shapes, screen: Screen) -> String {
    let known: Vec<(f64, f64)> = CURVE
        .iter()
        .filter_map(|&percent| {
            let index = direction.curve.partition_point(|point| point.0 < percent - 1e-6);
            Some((percent, direction.curve.get(index)?.1))
        })
        .collect();
    let (Some(first), Some(last)) = (known.first(), known.last()) else { return String::new() };
    let (low, high) = (first.1.max(1.0).log10().floor(), last.1.max(1.0).log10());
    let mut text = format!("\n{} latency by percentile (lengths are logarithmic)\n", direction.name);
    for &(percent, ns) in &known {
        let share = (ns.max(1.0).log10() - low) / (high - low).max(0.01);
        let width = screen.width - MARGIN - 12;
        let bar = screen.ink.bar(share, width);
        let _ = writeln!(text, "{:>9}  {bar} {}", format!("p{percent}"), figures::duration(ns));
    }
    text
}

fn distribution(direction: &Shapes, screen: Screen) -> String {
    let mut bins: Vec<Bin> = direction.distribution.clone();
    while bins.len() > MOST_BINS && bins.first().is_some_and(|bin| bin.percent < LEAST_SHARE) {
        bins.remove(0);
    }
    while bins.len() > MOST_BINS && bins.last().is_some_and(|bin| bin.percent < LEAST_SHARE) {
        bins.pop();
    }
    let each = bins.len().div_ceil(MOST_BINS).max(1);
    let rows: Vec<Bin> = bins
        .chunks(each)
        .map(|part| Bin {
            start_ns: part[0].start_ns,
            end_ns: part[part.len() - 1].end_ns,
            percent: part.iter().map(|bin| bin.percent).sum(),
        })
        .collect();
    let largest = rows.iter().map(|row| row.percent).fold(0.0, f64::max);
    if largest == 0.0 {
        return String::new();
    }
    let mut text =
        format!("\n{} latency distribution (share of I/Os in each latency range)\n", direction.name);
    for row in rows {
        let bar = screen.ink.bar(row.percent / largest, screen.width - MARGIN - 10);
        let _ =
            writeln!(text, "{:>9}  {bar} {}", figures::duration(row.start_ns), figures::percent(row.percent));
    }
    text
}

/// The average of the points in each column; columns without I/O are empty.
fn along<T>(
    timeline: &[Moment],
    width: usize,
    value: impl Fn(&Moment) -> T,
    merge: impl Fn(&[T]) -> f64,
) -> Vec<Option<f64>> {
    let (Some(first), Some(last)) = (timeline.first(), timeline.last()) else { return Vec::new() };
    let length = (last.end_s - first.start_s).max(1e-3) / width as f64;
    (0..width)
        .map(|column| {
            let start = first.start_s + length * column as f64;
            let falls = |moment: &&Moment| moment.start_s < start + length && moment.end_s > start;
            let values: Vec<T> = timeline.iter().filter(falls).map(&value).collect();
            (!values.is_empty()).then(|| merge(&values))
        })
        .collect()
}

fn over_time(direction: &Shapes, unit: &str, value: impl Fn(&Moment) -> f64, screen: Screen) -> String {
    let timeline = &direction.timeline;
    if timeline.len() < 2 {
        return String::new();
    }
    let width = screen.width - MARGIN;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let heights = along(timeline, width, value, mean);
    let largest = heights.iter().flatten().fold(0.0, |largest: f64, height| largest.max(*height));
    if largest == 0.0 {
        return String::new();
    }
    let mut text = format!("\n{} {unit} over time\n", direction.name);
    for row in (0..ROWS).rev() {
        let label = match row + 1 {
            ROWS => figures::count(largest),
            half if half == ROWS / 2 => figures::count(largest / 2.0),
            _ => String::new(),
        };
        let line: String =
            heights.iter().map(|height| block(height.unwrap_or(0.0) / largest, row, screen.ink)).collect();
        let _ = writeln!(text, "{label:>9} |{}", line.trim_end());
    }
    text + &time_axis(timeline, width)
}

/// The character of a column of this height in a row counted from the bottom.
fn block(share: f64, row: usize, ink: Ink) -> char {
    const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let filled = (share * ROWS as f64 - row as f64).clamp(0.0, 1.0);
    match ink {
        Ink::Blocks => EIGHTHS[(filled * 8.0).round() as usize],
        Ink::Letters if filled >= 0.5 => '#',
        Ink::Letters => ' ',
    }
}

fn time_axis(timeline: &[Moment], width: usize) -> String {
    let (start, end) = (timeline[0].start_s, timeline[timeline.len() - 1].end_s);
    let first = format!("{} s", figures::three_figures(start));
    let last = format!("{} s", figures::three_figures(end));
    let gap = width.saturating_sub(first.chars().count() + last.chars().count());
    format!("{:>9} +{}\n{:>10} {first}{}{last}\n", "", "-".repeat(width), "", " ".repeat(gap))
}

/// Latencies over time: each row is a range of latencies, with the slowest at the top. Denser characters stand
/// for more I/Os.
fn heat(direction: &Shapes, screen: Screen) -> String {
    let timeline = &direction.timeline;
    let mut keys: Vec<u64> = timeline.iter().flat_map(|moment| moment.bins.keys().copied()).collect();
    keys.sort_unstable();
    keys.dedup();
    if timeline.len() < 2 || keys.is_empty() {
        return String::new();
    }
    let shades: [char; 5] = match screen.ink {
        Ink::Blocks => [' ', '░', '▒', '▓', '█'],
        Ink::Letters => [' ', '.', ':', '*', '#'],
    };
    let width = screen.width - MARGIN;
    let each = keys.len().div_ceil(MOST_BINS);
    let ranges: Vec<&[u64]> = keys.chunks(each).collect();
    let rows: Vec<Vec<Option<f64>>> = ranges
        .iter()
        .map(|range| {
            let (low, high) = (range[0], range[range.len() - 1]);
            let count = |moment: &Moment| moment.bins.range(low..=high).map(|(_, count)| *count).sum::<u64>();
            along(timeline, width, count, |counts| counts.iter().sum::<u64>() as f64 / counts.len() as f64)
        })
        .collect();
    let most = rows.iter().flatten().flatten().fold(0.0, |most: f64, count| most.max(*count));
    let mut text = format!("\n{} latency over time (darker = more I/Os)\n", direction.name);
    for (range, row) in ranges.iter().zip(&rows).rev() {
        let shade = |count: f64| match count {
            0.0 => ' ',
            count => shades[1 + ((count.ln_1p() / most.ln_1p() * 4.0) as usize).min(3)],
        };
        let line: String = row.iter().map(|count| shade(count.unwrap_or(0.0))).collect();
        let _ = writeln!(text, "{:>9} |{}", figures::duration(range[0] as f64), line.trim_end());
    }
    text + &time_axis(timeline, width)
}

fn depths(subject: &Subject, screen: Screen) -> String {
    if subject.depths.iter().all(|(_, share)| *share == 0.0) {
        return String::new();
    }
    let mut text = String::from("\ndepth reached (I/Os in flight when one more was issued)\n");
    for (level, share) in subject.depths.iter().filter(|(_, share)| *share > 0.0) {
        let name =
            columns::cut(&depth_range(level).replace(" to ", "-").replace("64 or more", ">=64"), MARGIN - 3);
        let bar = screen.ink.bar(share / 100.0, screen.width - MARGIN - 10);
        let _ = writeln!(text, "{}  {bar} {}", columns::right(&name, MARGIN - 3), figures::percent(*share));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes;
    use proptest::prelude::*;

    fn run(points: &[(u64, u64)]) -> fathom_results::RunResult {
        let points: Vec<String> = points
            .iter()
            .zip(1..)
            .map(|((ns, count), number)| {
                format!(
                    r#"{{"end_ms":{},"read":{{"io_bytes":{},"total_ios":{count},"clat_bins":{{"{ns}":{count}}}}}}}"#,
                    number * 250,
                    count * 4096
                )
            })
            .collect();
        let text = format!(
            r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"a","read":{{"total_ios":5,"io_bytes":20480,
                "clat_ns":{{"bins":{{"1000":3,"70000":2}}}}}},"iodepth_level":{{"1":25.0,"2":75.0}}}}],
                "fathom timeline":{{"interval_ms":250,"jobs":[{{"jobname":"a","points":[{}]}}]}}}}"#,
            points.join(",")
        );
        fathom_results::parse(&text, "text").expect("reads")
    }

    #[test]
    fn charts_in_letters() {
        let run = run(&[(1000, 10), (1000, 20), (70_000, 2), (70_000, 20)]);
        let text = of(&shapes::subjects(&run)[0], Screen { width: 40, limit: None, ink: Ink::Letters });
        assert!(text.replace('µ', "u").is_ascii(), "{text}");
        // There are two points in the second half, of which the later one has ten times as many I/Os.
        let heat: Vec<&str> = text.split("latency over time").nth(1).expect("a heat map").lines().collect();
        assert_eq!(heat[1], "  70.0 µs |              :::::::#######");
        assert!(text.contains("      2-3  ##############"), "{text}");
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_the_screen(
            points in prop::collection::vec((1u64..1 << 36, 0u64..100_000), 1..60), width in 40usize..160
        ) {
            let run = run(&points);
            for ink in [Ink::Blocks, Ink::Letters] {
                let text = of(&shapes::subjects(&run)[0], Screen { width, limit: None, ink });
                // Headings may be longer than the lines of a chart.
                let drawn = text.lines().filter(|line| line.starts_with(' '));
                for line in drawn {
                    prop_assert!(line.chars().count() <= width, "{} > {width}: {line}", line.chars().count());
                }
            }
        }
    }
}
