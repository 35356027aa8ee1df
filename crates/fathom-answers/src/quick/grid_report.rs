//! The report of `quick`: a grid, the machine, the doubts. It is derived from the result alone, so that pages
//! and other commands show the same report.

use super::doubts::in_few_words;
use super::test_line::{BYTES_PER_SECOND, Figure, IOPS, PERCENTILES, TestLine};
use crate::bars::Ink;
use crate::columns;
use crate::evidence::mounts;
use crate::figures;
use crate::hardware;
use crate::table::{Align, Table};
use fathom_results::model::{HostReport, QuickResult};
use fathom_results::{HostsResult, RunResult};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Minimum and maximum length of the longest bar, in columns.
const BAR: std::ops::RangeInclusive<usize> = 6..=30;

/// A figure in CSV output: its heading, and how to compute and format it.
type CsvColumn = (&'static str, Figure, fn(f64) -> String);

/// A result with all data that the report shows.
pub(crate) struct GridReport<'a> {
    quick: &'a QuickResult,
    host: Option<&'a HostReport>,
    /// The hosts of a run over several hosts, whose rates are added up.
    hosts: Option<&'a HostsResult>,
    lines: Vec<TestLine<'a>>,
    /// Number of runs of all tests.
    runs: usize,
}

/// A test as a bar: its names, its figures, and its length relative to the other tests with the same pattern.
pub(crate) struct Bar {
    /// Direction, pattern and depth, such as `read`, `sequential 1 MiB`.
    pub(crate) names: [String; 3],
    /// MB/s, IOPS, p50, p99 and p99.9; empty if the test was not run.
    pub(crate) figures: Vec<String>,
    /// 0 to 1.
    pub(crate) share: f64,
    /// Doubts, as sentences.
    pub(crate) doubts: Vec<String>,
}

impl<'a> GridReport<'a> {
    /// The report of a `quick` result; `None` for other results.
    pub(crate) fn of(run: &'a RunResult) -> Option<GridReport<'a>> {
        GridReport::of_runs(std::slice::from_ref(run), run.quick.as_ref()?)
    }

    /// The report of several runs whose combined evaluation is `quick`; `None` without runs.
    pub(super) fn of_runs(runs: &'a [RunResult], quick: &'a QuickResult) -> Option<GridReport<'a>> {
        let lines = quick.tests.iter().map(|test| TestLine::of(test, runs)).collect();
        let first = runs.first()?;
        Some(GridReport {
            quick,
            host: first.host.as_ref(),
            hosts: first.hosts.as_ref(),
            lines,
            runs: runs.len(),
        })
    }

    /// What was measured, on one line, such as `nvme0n1 (Samsung SSD 990 PRO), /data`.
    pub(crate) fn title(&self) -> String {
        let devices = self.host.map_or(&[][..], |host| &host.devices);
        let Some(device) = devices.first() else { return self.quick.place.clone() };
        let model = if device.model.is_empty() { String::new() } else { format!(" ({})", device.model) };
        format!("{}{model}, {}", device.name, self.quick.place)
    }

    /// The answer in a sentence, and how much it can be trusted.
    pub(crate) fn headline(&self) -> String {
        let sequential = self.both(false, "sequential ", BYTES_PER_SECOND, figures::roughly::bandwidth);
        let random = self.both(true, "random ", IOPS, figures::roughly::count);
        let random = random.map(|(told, depth)| format!("{told} per second at depth {depth}"));
        let parts: Vec<String> =
            sequential.map(|(told, _)| told).into_iter().chain(random).chain(self.alone()).collect();
        let answer = match parts.is_empty() {
            true => "No test has figures".to_owned(),
            false => format!("About {}", parts.join("; ")),
        };
        let together = match self.hosts.map_or(0, |hosts| hosts.hosts.len()) {
            0 | 1 => String::new(),
            count => format!(", {count} hosts together"),
        };
        format!("{answer}{together}.{}", self.trust())
    }

    /// The figures of reads and writes with a pattern at its highest depth, and that depth:
    /// `2.3 GB/s sequential reads and 1.1 GB/s writes`.
    fn both(
        &self,
        is_random: bool,
        pattern: &str,
        figure: Figure,
        told: impl Fn(f64) -> String,
    ) -> Option<(String, u32)> {
        let of = |direction: &str| {
            let own = self.lines.iter().filter(|line| line.is_of(direction, is_random));
            own.filter_map(|line| Some((line.test.depth, line.value(figure)?)))
                .max_by_key(|(depth, _)| *depth)
        };
        Some(match (of("read"), of("write")) {
            (Some((depth, read)), Some((_, write))) => {
                (format!("{} {pattern}reads and {} writes", told(read), told(write)), depth)
            }
            (Some((depth, read)), None) => (format!("{} {pattern}reads", told(read)), depth),
            (None, Some((depth, write))) => (format!("{} {pattern}writes", told(write)), depth),
            (None, None) => return None,
        })
    }

    /// Latency of a single random I/O on an otherwise idle disk.
    fn alone(&self) -> Option<String> {
        let of = |direction: &str| {
            let mut own =
                self.lines.iter().filter(|line| line.is_of(direction, true) && line.test.depth == 1);
            own.next()?
                .value(PERCENTILES[0])
                .map(|ns| format!("{} for a single {direction}", figures::roughly::duration(ns)))
        };
        let told: Vec<String> = ["read", "write"].into_iter().filter_map(of).collect();
        (!told.is_empty()).then(|| told.join(", "))
    }

    /// The most common kind of doubt, and how many tests it affects. The shortness of tests counts only if no
    /// other doubt applies.
    fn widest_doubt(&self) -> Option<(&str, usize)> {
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for doubt in self.lines.iter().flat_map(|line| &line.test.doubts) {
            *kinds.entry(&doubt.kind).or_default() += 1;
        }
        let is_of_length = |kind: &str| matches!(kind, "short" | "few-samples");
        kinds.into_iter().max_by_key(|(kind, count)| (!is_of_length(kind), *count))
    }

    fn trust(&self) -> String {
        let doubtful: Vec<&TestLine<'_>> =
            self.lines.iter().filter(|line| !line.test.doubts.is_empty()).collect();
        let widest = self.widest_doubt().and_then(|(kind, count)| Some((in_few_words(kind)?, count)));
        let count = match doubtful.len() {
            0 if self.quick.doubts.is_empty() => return String::new(),
            0 => return " See the doubts.".to_owned(),
            1 => "One figure is".to_owned(),
            count => format!("{count} of {} figures are", self.lines.len()),
        };
        match widest {
            Some((why, tests)) if tests == doubtful.len() => format!(" {count} doubtful: {why}."),
            Some((why, tests)) => format!(" {count} doubtful, {tests} of them because {why}."),
            None => format!(" {count} doubtful; see the doubts."),
        }
    }

    /// Lines that say what was measured and where.
    pub(crate) fn heading(&self) -> Vec<String> {
        let quick = self.quick;
        let mut lines = vec![match self.host.and_then(|host| host.file_systems.first()) {
            Some(system) if mounts::matters(system) => format!("{} on {}", quick.place, mounts::told(system)),
            Some(system) => format!("{} on {} ({})", quick.place, system.kind, system.source),
            None => quick.place.clone(),
        }];
        if let Some(host) = self.host {
            lines.extend(host.devices.iter().map(|device| {
                let model = if device.model.is_empty() { "unnamed model" } else { &device.model };
                let (size, kind) = (figures::size(device.size_bytes), hardware::kind(device));
                format!("device {}: {model}, {size}, {kind}", device.name)
            }));
            lines.push(format!("{}, {} × {}", host.kernel, host.processors, host.processor));
        }
        lines.push(format!(
            "file of {}, {}, {}, {} s per test",
            figures::size(quick.file_bytes),
            quick.engine,
            if quick.direct { "direct I/O" } else { "through the page cache" },
            figures::three_figures(quick.time_ms as f64 / 1000.0)
        ));
        if let Some(hosts) = self.hosts {
            let told = crate::hosts::counted(hosts);
            lines.push(format!("rates are sums over {told}; latencies are those of all I/Os"));
        }
        if self.runs > 1 {
            lines.push(format!("medians of {} runs, with 95 % intervals between runs", self.runs));
        }
        lines
    }

    /// The tests as bars.
    pub(crate) fn bars(&self) -> Vec<Bar> {
        let longest = |random: bool| {
            let own = self.lines.iter().filter(|line| line.test.random == random);
            own.filter_map(|line| line.value(BYTES_PER_SECOND)).fold(0.0, f64::max)
        };
        let (random, sequential) = (longest(true), longest(false));
        let bar = |line: &TestLine<'_>| {
            let most = if line.test.random { random } else { sequential };
            let value = line.value(BYTES_PER_SECOND).unwrap_or(0.0);
            Bar {
                names: [line.test.direction.clone(), line.pattern(), line.test.depth.to_string()],
                figures: line.cells(),
                share: if most > 0.0 { value / most } else { 0.0 },
                doubts: line.test.doubts.iter().map(|doubt| doubt.text.clone()).collect(),
            }
        };
        self.lines.iter().map(bar).collect()
    }

    /// The doubts: first those about the whole run, then one sentence per kind, with the affected tests.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut kinds: Vec<&str> = Vec::new();
        for doubt in self.lines.iter().flat_map(|line| &line.test.doubts) {
            if !kinds.contains(&doubt.kind.as_str()) {
                kinds.push(&doubt.kind);
            }
        }
        let of_kind = |kind: &&str| {
            let own = self.lines.iter().filter_map(|line| {
                let doubt = line.test.doubts.iter().find(|doubt| doubt.kind == *kind)?;
                Some((line, doubt))
            });
            let all: Vec<_> = own.collect();
            let name = |line: &TestLine<'_>| {
                format!("{} {}, depth {}", line.test.direction, line.pattern(), line.test.depth)
            };
            let worst = all.iter().max_by(|a, b| a.1.weight.total_cmp(&b.1.weight));
            worst.map_or_else(String::new, |(line, doubt)| match all.len() {
                1 => format!("{}: {}", name(line), doubt.text),
                count if count == self.lines.len() => {
                    format!("all tests, worst in {}: {}", name(line), doubt.text)
                }
                count => format!("{count} tests, worst in {}: {}", name(line), doubt.text),
            })
        };
        self.quick.doubts.iter().cloned().chain(kinds.iter().map(of_kind)).collect()
    }

    /// Text for people: the answer, the figures, the doubts, and the setup. Lines fit into `limit` columns
    /// where possible.
    pub(crate) fn text(&self, limit: Option<usize>) -> String {
        self.with_grid(&self.grid(limit), limit.unwrap_or(columns::USUAL))
    }

    /// Like [`text`](GridReport::text), with bars at the ends of lines if they fit.
    pub(crate) fn text_with_bars(&self, limit: usize, ink: Ink) -> String {
        self.with_grid(&self.grid_with_bars(Some(limit), ink), limit)
    }

    fn with_grid(&self, grid: &str, wide: usize) -> String {
        let mut text = format!("{}\n{grid}", columns::wrapped(&self.headline(), wide));
        let notes = self.notes();
        if !notes.is_empty() {
            text.push_str("\nDoubts:\n");
            text.extend(notes.iter().map(|note| columns::wrapped(&format!("  * {note}"), wide)));
        }
        text.push('\n');
        text.extend(self.heading().iter().map(|line| columns::hanging(line, 2, wide)));
        text
    }

    /// The table, without columns that do not fit.
    pub(crate) fn grid(&self, limit: Option<usize>) -> String {
        let fits =
            |text: &String| limit.is_none_or(|limit| text.lines().all(|line| columns::width(line) <= limit));
        let tables = [
            (5, false, true),
            (4, false, true),
            (4, true, true),
            (3, true, true),
            (3, true, false),
            (2, true, false),
        ];
        let texts = tables.map(|(figures, is_short, has_intervals)| {
            self.table(figures, is_short, has_intervals).text(0, None)
        });
        let last = texts[texts.len() - 1].clone();
        texts.into_iter().find(fits).unwrap_or(last)
    }

    fn grid_with_bars(&self, limit: Option<usize>, ink: Ink) -> String {
        let room = limit.map(|limit| limit.saturating_sub(BAR.start() + 2));
        let text = self.grid(room);
        let used = text.lines().map(columns::width).max().unwrap_or(0);
        if limit.is_some_and(|limit| used + 2 + BAR.start() > limit) {
            return self.grid(limit);
        }
        let wide =
            limit.unwrap_or(used + 2 + BAR.end()).saturating_sub(used + 2).clamp(*BAR.start(), *BAR.end());
        let bars =
            std::iter::once(String::new()).chain(self.bars().into_iter().map(|bar| ink.bar(bar.share, wide)));
        let line = |(line, bar): (&str, String)| {
            format!("{}  {bar}", columns::left(line, used)).trim_end().to_owned() + "\n"
        };
        text.lines().zip(bars).map(line).collect()
    }

    /// A table of the tests. Intervals exist only if there are several runs.
    fn table(&self, figures: usize, is_short: bool, has_intervals: bool) -> Table {
        let (right, has_intervals) = (Align::Right, has_intervals && self.runs > 1);
        let mut columns =
            vec![("", Align::Left), ("", Align::Left), (if is_short { "" } else { "depth" }, right)];
        columns.extend(
            [("MB/s", right), ("IOPS", right), ("p50", right), ("p99", right), ("p99.9", right)]
                .iter()
                .take(figures),
        );
        if has_intervals {
            columns.insert(4, ("95 % interval", Align::Left));
        }
        columns.push(("", Align::Left));
        let mut table = Table::new(&columns);
        for line in &self.lines {
            let pattern = match is_short {
                true => line.pattern().replace("sequential", "seq").replace("random", "rand"),
                false => line.pattern(),
            };
            let mut cells = vec![line.test.direction.clone(), pattern, line.test.depth.to_string()];
            let mut own = line.cells();
            own.resize(5, "-".to_owned());
            cells.extend(own.into_iter().take(figures));
            if has_intervals {
                cells.insert(4, line.bandwidth_interval());
            }
            cells.push(match (line.test.doubts.is_empty(), is_short) {
                (true, _) => String::new(),
                (false, true) => "?".to_owned(),
                (false, false) => "doubtful".to_owned(),
            });
            table.row(cells);
        }
        table
    }

    /// The report in Markdown, for a web page or an issue.
    pub(super) fn markdown(&self) -> String {
        let list = |lines: &[String]| lines.iter().map(|line| format!("* {line}\n")).collect::<String>();
        let mut text = format!("{}\n\n{}", self.headline(), self.table(5, false, true).markdown());
        let notes = self.notes();
        if !notes.is_empty() {
            text.push_str(&format!("\nDoubts:\n\n{}", list(&notes)));
        }
        text.push_str(&format!("\n{}", list(&self.heading())));
        text
    }

    /// The grid as CSV, with latencies in µs. With several runs, each figure is followed by its interval.
    pub(super) fn csv(&self) -> String {
        let figures: [CsvColumn; 5] = [
            ("MB/s", BYTES_PER_SECOND, |bytes| figures::three_figures(bytes / 1e6)),
            ("IOPS", IOPS, |iops| format!("{iops:.1}")),
            ("p50_us", PERCENTILES[0], |ns| format!("{:.3}", ns / 1000.0)),
            ("p99_us", PERCENTILES[1], |ns| format!("{:.3}", ns / 1000.0)),
            ("p99.9_us", PERCENTILES[2], |ns| format!("{:.3}", ns / 1000.0)),
        ];
        let ends: &[&str] = if self.runs > 1 { &["", "_low", "_high"] } else { &[""] };
        let names = figures.iter().flat_map(|(name, ..)| ends.iter().map(move |end| format!("{name}{end}")));
        let headings: Vec<String> = ["direction", "pattern", "depth"]
            .map(str::to_owned)
            .into_iter()
            .chain(names)
            .chain(["doubts".to_owned()])
            .collect();
        let columns: Vec<(&str, Align)> =
            headings.iter().map(|heading| (heading.as_str(), Align::Left)).collect();
        let mut table = Table::new(&columns);
        for line in &self.lines {
            let mut cells = vec![line.test.direction.clone(), line.pattern(), line.test.depth.to_string()];
            for (_, figure, text) in figures {
                let interval = line.interval(figure);
                let values =
                    [line.value(figure), interval.map(|ends| ends.low), interval.map(|ends| ends.high)];
                cells.extend(values.iter().take(ends.len()).map(|value| value.map_or("-".to_owned(), text)));
            }
            let doubts: Vec<&str> = line.test.doubts.iter().map(|doubt| doubt.text.as_str()).collect();
            cells.push(doubts.join("; "));
            table.row(cells);
        }
        table.csv()
    }

    /// The report as JSON, with rates in bytes per second and latencies in ns. `intervals` has both ends of
    /// each figure's interval between runs.
    pub(super) fn json(&self) -> String {
        let quick = self.quick;
        let test = |line: &TestLine<'_>| {
            let test = line.test;
            let mut object = json!({
                "name": test.jobname,
                "direction": test.direction,
                "random": test.random,
                "block_size": test.block_size,
                "depth": test.depth,
                "doubts": test.doubts.iter().map(|doubt| &doubt.text).collect::<Vec<_>>(),
            });
            let [p50, p99, p999] = PERCENTILES;
            for (name, figure) in [
                ("bytes_per_second", BYTES_PER_SECOND),
                ("iops", IOPS),
                ("p50_ns", p50),
                ("p99_ns", p99),
                ("p99.9_ns", p999),
            ] {
                if line.has_figures() {
                    object[name] = json!(line.value(figure));
                }
                if let Some(ends) = line.interval(figure) {
                    object["intervals"][name] = json!([ends.low, ends.high]);
                }
            }
            object
        };
        let document = json!({
            "headline": self.headline(),
            "place": quick.place,
            "file_bytes": quick.file_bytes,
            "engine": quick.engine,
            "direct": quick.direct,
            "runs": self.runs,
            "kernel": self.host.map(|host| &host.kernel),
            "file_system": self.host.and_then(|host| host.file_systems.first()).map(|system| &system.kind),
            "devices": self.host.map(|host| host.devices.iter().map(|device| &device.name).collect::<Vec<_>>()),
            "tests": self.lines.iter().map(test).collect::<Vec<Value>>(),
            "doubts": quick.doubts,
        });
        format!("{document:#}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> RunResult {
        let job = |name: &str, direction: &str, rate: u32| {
            format!(
                r#"{{"jobname":"{name}","{direction}":{{"total_ios":9,"io_bytes":9,"iops":{rate},"bw_bytes":{rate}000000,
                "clat_ns":{{"mean":5,"percentile":{{"50.000000":1234567,"99.000000":2234567,"99.900000":3234567}}}}}}}}"#
            )
        };
        let test = |name: &str, direction: &str, random: bool, doubts: &str| {
            let block_size = if random { "4k" } else { "1m" };
            format!(
                r#"{{"jobname":"{name}","direction":"{direction}","random":{random},"block_size":"{block_size}","depth":8,"doubts":[{doubts}]}}"#
            )
        };
        let wait = |share: u32| {
            format!(
                r#"{{"kind":"processor-wait","weight":{share},"text":"the job waited {share} % of the time"}}"#
            )
        };
        let text = format!(
            r#"{{"fio version":"fio-3.42","jobs":[{},{},{}],"fathom quick":{{"place":"/data","file_bytes":1048576,"engine":"libaio",
            "direct":true,"time_ms":5000,"doubts":["the first doubt is about all of it, and long enough to be broken somewhere"],
            "tests":[{},{},{},{}]}}}}"#,
            job("a", "read", 2000),
            job("b", "read", 1000),
            job("c", "write", 500),
            test("a", "read", false, &wait(20)),
            test("b", "read", false, &wait(42)),
            test("c", "write", true, ""),
            test("d", "write", true, ""),
        );
        fathom_results::parse(&text, "text").expect("reads")
    }

    #[test]
    fn the_answer_comes_first_and_all_fits() {
        let run = run();
        let report = GridReport::of(&run).expect("of quick");
        for columns in [40, 60, 80, 120] {
            let text = report.text(Some(columns));
            assert!(text.lines().all(|line| columns::width(line) <= columns), "{columns}:\n{text}");
            assert!(text.starts_with("About 1.0 GB/s"), "{text}");
            let bars = report.text_with_bars(columns, Ink::Letters);
            assert!(bars.lines().all(|line| columns::width(line) <= columns), "{columns}:\n{bars}");
        }
        assert!(
            report
                .text(None)
                .contains("read   sequential 1 MiB      8  2000  2.00k  1.23 ms  2.23 ms  3.23 ms  doubtful")
        );
    }

    #[test]
    fn the_answer_is_a_sentence() {
        let mut run = run();
        let headline = |run: &RunResult| GridReport::of(run).expect("of quick").headline();
        assert_eq!(
            headline(&run),
            "About 1.0 GB/s sequential reads; 500 random writes per second at depth 8. 2 of 4 figures are doubtful: the tester waited for a CPU."
        );
        // The reason is listed only for the tests to which it applies.
        let quick = run.quick.as_mut().expect("of quick");
        let mut short = quick.tests[0].doubts[0].clone();
        short.kind = "short".into();
        quick.tests[2].doubts.push(short);
        let told = headline(&run);
        assert!(
            told.ends_with("3 of 4 figures are doubtful, 2 of them because the tester waited for a CPU."),
            "{told}"
        );
        let quick = run.quick.as_mut().expect("of quick");
        quick.tests.iter_mut().for_each(|test| test.doubts.clear());
        (quick.tests[2].direction, quick.tests[2].depth) = ("write".into(), 1);
        assert_eq!(
            headline(&run),
            "About 1.0 GB/s sequential reads; 500 random writes per second at depth 1; 1.2 ms for a single write. See the doubts."
        );
        assert!(GridReport::of(&run).is_some_and(|report| report.title() == "/data"));
    }

    #[test]
    fn a_doubt_of_several_tests_is_said_once() {
        let run = run();
        let notes = GridReport::of(&run).expect("of quick").notes();
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert_eq!(
            notes[1],
            "2 tests, worst in read sequential 1 MiB, depth 8: the job waited 42 % of the time"
        );
    }

    #[test]
    fn bars_are_those_of_a_pattern() {
        let run = run();
        let shares: Vec<f64> =
            GridReport::of(&run).expect("of quick").bars().iter().map(|bar| bar.share).collect();
        assert_eq!(shares, [1.0, 0.5, 1.0, 0.0]);
    }
}
