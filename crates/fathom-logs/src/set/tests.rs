use super::*;
use crate::rules::WindowValue;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const ALL: [LogKind; 6] = [
    LogKind::Bandwidth,
    LogKind::Iops,
    LogKind::SubmissionLatency,
    LogKind::CompletionLatency,
    LogKind::Latency,
    LogKind::Histogram,
];

fn rules(kinds: &[LogKind]) -> LogRules {
    LogRules { kinds: kinds.to_vec(), directions: [true, false, false], ..LogRules::default() }
}

fn record(end_ns: u64, length: u32, direction: u8) -> IoRecord {
    IoRecord { end_ns, slat_ns: Some(10), clat_ns: 1000, length, direction, ..IoRecord::default() }
}

fn texts(rules: &LogRules, records: &[IoRecord], end_ns: u64) -> Vec<String> {
    let mut set = LogSet::new(rules);
    let mut texts = vec![Vec::new(); rules.kinds.len()];
    let mut spill = |output: usize, bytes: &mut Vec<u8>| texts[output].append(bytes);
    records.iter().for_each(|record| set.add(record, &mut spill));
    set.finish(end_ns, &mut spill);
    set.outputs().iter_mut().enumerate().for_each(|(number, output)| spill(number, &mut output.bytes));
    texts.into_iter().map(|text| String::from_utf8(text).expect("text")).collect()
}

#[test]
fn every_io_has_a_line_in_every_log() {
    let mut rules = rules(&ALL[..5]);
    rules.columns.issue_time = true;
    let io = IoRecord { offset: 512, ..record(7 * MS, 4096, 1) };
    assert_eq!(
        texts(&rules, &[io], 8 * MS),
        [
            "7, 4096000, 1, 4096, 0, 0\n",
            "7, 1, 1, 4096, 0, 0\n",
            "7, 10, 1, 4096, 0, 6999000\n",
            "7, 1000, 1, 4096, 0, 6999000\n",
            "7, 1010, 1, 4096, 0, 0\n",
        ]
    );
}

#[test]
fn a_single_io_has_no_second_value() {
    let mut rules = rules(&[LogKind::Iops, LogKind::Latency]);
    rules.columns.maximum = true;
    let io = IoRecord { offset: 512, ..record(7 * MS, 4096, 1) };
    assert_eq!(texts(&rules, &[io], 8 * MS), ["7, 1, 0, 1, 4096, 0\n", "7, 1010, 0, 1, 4096, 0\n"]);
    rules.columns.offset = true;
    assert_eq!(texts(&rules, &[io], 8 * MS), ["7, 1, 0, 1, 4096, 512, 0\n", "7, 1010, 0, 1, 4096, 512, 0\n"]);
}

#[test]
fn windows_without_io_are_zeros_and_have_no_latency() {
    let mut rules = rules(&[LogKind::Bandwidth, LogKind::Iops, LogKind::Latency]);
    rules.window_ns = 100 * MS;
    rules.window_value = WindowValue::Both;
    let records = [record(10 * MS, 102_400, 0), record(20 * MS, 102_400, 0), record(310 * MS, 102_400, 0)];
    assert_eq!(
        texts(&rules, &records, 350 * MS),
        [
            "100, 2000, 2000, 0, 0, 0\n200, 0, 0, 0, 0, 0\n300, 0, 0, 0, 0, 0\n400, 1000, 1000, 0, 0, 0\n",
            "100, 20, 20, 0, 0, 0\n200, 0, 0, 0, 0, 0\n300, 0, 0, 0, 0, 0\n400, 10, 10, 0, 0, 0\n",
            "100, 1010, 1010, 0, 0, 0\n400, 1010, 1010, 0, 0, 0\n",
        ]
    );
}

#[test]
fn what_ends_just_after_the_run_time_belongs_to_the_last_window() {
    let mut rules = rules(&[LogKind::Iops]);
    rules.window_ns = 100 * MS;
    rules.runtime_ns = 200 * MS;
    let late = |late_ns| {
        texts(&rules, &[record(150 * MS, 1, 0), record(200 * MS + late_ns, 1, 0)], 200 * MS + late_ns)
    };
    assert_eq!(late(MS), ["100, 0, 0, 0, 0\n200, 20, 0, 0, 0\n"]);
    assert_eq!(late(20 * MS), ["100, 0, 0, 0, 0\n200, 10, 0, 0, 0\n300, 10, 0, 0, 0\n"]);
}

/// Checks long times without I/O in windows of one millisecond: all lines are present, but only a few are in
/// memory at a time.
#[test]
fn windows_of_a_long_idle_time_are_not_gathered_in_memory() {
    const IDLE_MS: u64 = 20_000;
    let kinds = [LogKind::Histogram, LogKind::Iops];
    let mut rules = rules(&kinds);
    (rules.window_ns, rules.histogram_window_ns) = (MS, MS);
    let mut set = LogSet::new(&rules);
    let (mut lines, mut most) = ([0; 2], 0);
    let mut spill = |output: usize, bytes: &mut Vec<u8>| {
        most = most.max(bytes.len());
        lines[output] += bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
        bytes.clear();
    };
    set.add(&record(0, 512, 0), &mut spill);
    set.add(&record(IDLE_MS / 2 * MS, 512, 0), &mut spill);
    set.finish(IDLE_MS * MS, &mut spill);
    for (number, output) in set.outputs().iter_mut().enumerate() {
        spill(number, &mut output.bytes);
    }
    assert_eq!(lines, [IDLE_MS; 2]);
    assert!(most < 256 << 10, "{most} bytes at a time");
}

#[test]
fn the_epoch_moves_times() {
    let mut set = LogSet::new(&rules(&[LogKind::Iops]));
    set.set_epoch_ms(1_000_000);
    set.add(&record(5 * MS, 512, 0), &mut |_, _| {});
    assert_eq!(set.outputs()[0].bytes, b"1000005, 1, 0, 512, 0\n");
}

#[test]
fn a_histogram_without_windows_is_one_line_per_direction() {
    let mut rules = rules(&[LogKind::Histogram]);
    rules.coarseness = 6;
    let text = texts(&rules, &[record(MS, 512, 0), record(2 * MS, 4096, 1)], 3 * MS).remove(0);
    let lines: Vec<HistogramLine> = text.lines().filter_map(HistogramLine::parse).collect();
    let of: Vec<(u64, u8, u64, u64)> = lines
        .iter()
        .map(|line| (line.time_ms, line.direction, line.block_size, line.bins.iter().sum()))
        .collect();
    assert_eq!(of, [(3, 0, 512, 1), (3, 1, 4096, 1)]);
}

prop_compose! {
    fn run()(gaps in prop::collection::vec((0u64..400 * MS, 1u32..1 << 20, 0u8..2, 0u64..1 << 36), 0..60)) -> Vec<IoRecord> {
        let mut end_ns = 0;
        gaps.into_iter()
            .map(|(gap, length, direction, clat_ns)| {
                end_ns += gap;
                IoRecord { end_ns, clat_ns, length, direction, ..IoRecord::default() }
            })
            .collect()
    }
}

proptest! {
    #[test]
    fn windows_sum_to_the_total(records in run(), width_ms in 1u64..1000, tail in 0u64..500 * MS) {
        let mut rules = rules(&[LogKind::Bandwidth, LogKind::Iops]);
        rules.window_ns = width_ms * MS;
        let end_ns = records.last().map_or(0, |record| record.end_ns) + tail;
        let texts = texts(&rules, &records, end_ns);
        for direction in 0..2 {
            let of_direction = || records.iter().filter(|record| record.direction == direction);
            let totals = [of_direction().map(|record| u64::from(record.length)).sum::<u64>(), of_direction().count() as u64];
            for (text, (total, unit)) in texts.iter().zip(totals.into_iter().zip([1024, 1])) {
                let entries: Vec<Entry> =
                    text.lines().filter_map(|line| Entry::parse(line, Columns::default())).collect();
                prop_assert!(entries.windows(2).all(|pair| pair[0].time_ms <= pair[1].time_ms));
                prop_assert!(entries.iter().all(|entry| entry.time_ms % width_ms == 0));
                let sum: u64 = entries.iter().filter(|entry| entry.direction == direction).map(|entry| entry.value).sum();
                // Rounding loses less than one unit per second over the whole log.
                let exact = total as f64 * 1000.0 / width_ms as f64 / unit as f64;
                prop_assert!(sum as f64 <= exact + 1e-6 && exact < sum as f64 + 1.0, "{} against {}", sum, exact);
            }
        }
    }

    #[test]
    fn histograms_sum_to_the_total(records in run(), width_ms in 0u64..1000, coarseness in 0u32..7) {
        let mut rules = rules(&[LogKind::Histogram]);
        rules.histogram_window_ns = width_ms * MS;
        rules.coarseness = coarseness;
        let end_ns = records.last().map_or(0, |record| record.end_ns);
        let text = texts(&rules, &records, end_ns).remove(0);
        let lines: Vec<HistogramLine> = text.lines().filter_map(HistogramLine::parse).collect();
        prop_assert_eq!(lines.len(), text.lines().count());
        for direction in 0..2 {
            let mut expected = vec![0; 1856 >> coarseness];
            for record in records.iter().filter(|record| record.direction == direction) {
                let bin = fathom_stats::histogram::bin_of(record.clat_ns).unwrap_or(1855).min(1855);
                expected[bin >> coarseness] += 1;
            }
            let mut sum = vec![0; 1856 >> coarseness];
            for line in lines.iter().filter(|line| line.direction == direction) {
                sum.iter_mut().zip(&line.bins).for_each(|(sum, bin)| *sum += bin);
            }
            prop_assert_eq!(sum, expected);
        }
    }
}
