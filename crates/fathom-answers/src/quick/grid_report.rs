//! The result of `quick`: a grid, the machine, the doubts.

use super::doubts;
use super::grid::{Setting, TESTS, Test};
use crate::columns;
use crate::evidence::Evidence;
use crate::figures;
use crate::table::{Align, Table};
use fathom_results::model::HostReport;
use fathom_results::{DirectionResult, RunResult};
use serde_json::{Value, json};

/// A test that was run, and what to doubt about it.
pub(super) struct Line<'a> {
    test: Test,
    /// `None` for a test that a signal kept from being run.
    figures: Option<&'a DirectionResult>,
    doubts: Vec<String>,
}

/// Everything there is to say.
pub(super) struct Report<'a> {
    place: String,
    host: Option<&'a HostReport>,
    setting: &'a Setting,
    lines: Vec<Line<'a>>,
    doubts: Vec<String>,
}

impl<'a> Report<'a> {
    pub(super) fn new(run: &'a RunResult, setting: &'a Setting, place: String) -> Report<'a> {
        let evidence = Evidence::all(run);
        let line = |test: &Test| {
            let found = evidence.iter().find(|evidence| evidence.job.name == test.name);
            let figures = found.and_then(|evidence| evidence.job.directions()[test.direction]);
            let doubts = found.filter(|_| figures.is_some()).map(|evidence| doubts::of_test(test, evidence));
            Line { test: *test, figures, doubts: doubts.unwrap_or_default() }
        };
        let lines: Vec<Line<'_>> = TESTS.iter().map(line).collect();
        let of_run = evidence.first().map(|evidence| doubts::of_run(evidence, setting.direct));
        let mut doubts = of_run.unwrap_or_default();
        let done = lines.iter().filter(|line| line.figures.is_some()).count();
        if done < lines.len() {
            doubts.insert(
                0,
                format!(
                    "stopped early: {done} of {} tests have figures, the last of them from less time",
                    lines.len()
                ),
            );
        }
        Report { place, host: run.host.as_ref(), setting, lines, doubts }
    }

    /// What was measured, on what.
    fn heading(&self) -> Vec<String> {
        let mut lines = vec![match self.host.and_then(|host| host.file_systems.first()) {
            Some(system) => format!("{} on {} ({})", self.place, system.kind, system.source),
            None => self.place.clone(),
        }];
        if let Some(host) = self.host {
            lines.extend(host.devices.iter().map(|device| {
                let kind = if device.rotational { "rotational" } else { "not rotational" };
                let model = if device.model.is_empty() { "unnamed model" } else { &device.model };
                format!("device {}: {model}, {}, {kind}", device.name, figures::size(device.size_bytes))
            }));
            lines.push(format!("{}, {} x {}", host.kernel, host.processors, host.processor));
        }
        lines.push(format!(
            "file of {}, {}, {}, {} s a test",
            figures::size(self.setting.size),
            self.setting.engine,
            if self.setting.direct { "direct I/O" } else { "through the page cache" },
            figures::three_figures(self.setting.time.as_secs_f64())
        ));
        lines
    }

    fn table(&self, with_units: bool) -> Table {
        let right = Align::Right;
        let columns = [
            ("", Align::Left),
            ("", Align::Left),
            ("depth", right),
            ("MB/s", right),
            ("IOPS", right),
            ("p50", right),
            ("p99", right),
            ("p99.9", right),
            ("", Align::Left),
        ];
        let mut table = Table::new(&match with_units {
            true => columns,
            false => {
                let mut columns = columns;
                (columns[0].0, columns[1].0) = ("direction", "pattern");
                (columns[5].0, columns[6].0, columns[7].0) = ("p50_us", "p99_us", "p99.9_us");
                columns[8].0 = "doubts";
                columns
            }
        });
        for line in &self.lines {
            let mut cells = vec![
                line.test.direction_name().to_owned(),
                line.test.pattern().to_owned(),
                line.test.depth.to_string(),
            ];
            match line.figures {
                None => cells.extend(["-", "-", "-", "-", "-"].map(str::to_owned)),
                Some(direction) => {
                    cells.push(figures::three_figures(direction.bytes_per_second / 1e6));
                    cells.push(match with_units {
                        true => figures::count(direction.iops),
                        false => format!("{:.1}", direction.iops),
                    });
                    cells.extend([50.0, 99.0, 99.9].map(|percent| {
                        match direction.latency().percentile(percent) {
                            Some(ns) if with_units => figures::duration(ns),
                            Some(ns) => format!("{:.3}", ns / 1000.0),
                            None => "-".to_owned(),
                        }
                    }));
                }
            }
            cells.push(match (line.doubts.is_empty(), with_units) {
                (true, _) => String::new(),
                (false, true) => "doubtful".to_owned(),
                (false, false) => line.doubts.join("; "),
            });
            table.row(cells);
        }
        table
    }

    fn notes(&self) -> Vec<String> {
        let of_tests = self.lines.iter().flat_map(|line| {
            let name =
                format!("{} {}, depth {}", line.test.direction_name(), line.test.pattern(), line.test.depth);
            line.doubts.iter().map(move |doubt| format!("{name}: {doubt}"))
        });
        self.doubts.iter().cloned().chain(of_tests).collect()
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut text = self.heading().join("\n") + "\n\n" + &self.table(true).text(0, None);
        let notes = self.notes();
        if !notes.is_empty() {
            text.push_str("\nTo bear in mind:\n");
            let noted = |note: &String| columns::wrapped(&format!("  * {note}"), columns::USUAL);
            text.extend(notes.iter().map(noted));
        }
        text
    }

    /// For a web page or an issue.
    pub(super) fn markdown(&self) -> String {
        let mut text = self.heading().iter().map(|line| format!("* {line}\n")).collect::<String>();
        text.push('\n');
        text.push_str(&self.table(true).markdown());
        let notes = self.notes();
        if !notes.is_empty() {
            text.push_str("\nTo bear in mind:\n\n");
            notes.iter().for_each(|note| text.push_str(&format!("* {note}\n")));
        }
        text
    }

    /// For spreadsheets: the grid alone, latencies in µs.
    pub(super) fn csv(&self) -> String {
        self.table(false).csv()
    }

    /// For programs: rates in bytes per second, latencies in ns.
    pub(super) fn json(&self) -> String {
        let test = |line: &Line<'_>| {
            let mut object = json!({
                "name": line.test.name,
                "direction": line.test.direction_name(),
                "random": line.test.is_random,
                "block_size": line.test.block_size,
                "depth": line.test.depth,
                "doubts": line.doubts,
            });
            if let Some(direction) = line.figures {
                let percentile = |percent| direction.latency().percentile(percent);
                object["bytes_per_second"] = json!(direction.bytes_per_second);
                object["iops"] = json!(direction.iops);
                object["p50_ns"] = json!(percentile(50.0));
                object["p99_ns"] = json!(percentile(99.0));
                object["p99.9_ns"] = json!(percentile(99.9));
            }
            object
        };
        let document = json!({
            "place": self.place,
            "file_bytes": self.setting.size,
            "engine": self.setting.engine,
            "direct": self.setting.direct,
            "kernel": self.host.map(|host| &host.kernel),
            "file_system": self.host.and_then(|host| host.file_systems.first()).map(|system| &system.kind),
            "devices": self.host.map(|host| host.devices.iter().map(|device| &device.name).collect::<Vec<_>>()),
            "tests": self.lines.iter().map(test).collect::<Vec<Value>>(),
            "doubts": self.doubts,
        });
        format!("{document:#}\n")
    }
}
