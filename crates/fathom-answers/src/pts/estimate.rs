//! Estimates a test before it starts: its duration, the bytes that it writes, and their share of the drive's
//! life.

use super::definition::Ends;
use super::endurance::Endurance;
use super::findings::rounds;
use super::plan::{PtsPlan, TestTarget};
use super::steady_state;
use crate::columns;
use crate::device::Facts;
use crate::figures;

/// Width of the label column.
const NAMES: usize = 14;

/// A range of values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Range {
    least: f64,
    most: f64,
}

impl Range {
    fn add(&mut self, least: f64, most: f64) {
        self.least += least;
        self.most += most;
    }

    /// Both ends of the range, or a single value if they are equal.
    fn text(self, text: impl Fn(f64) -> String) -> String {
        let (least, most) = (text(self.least), text(self.most));
        if least == most { most } else { format!("{least} to {most}") }
    }
}

/// Estimated duration of a test and bytes that it writes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Estimate {
    seconds: Range,
    /// Duration in seconds before the first round.
    preconditioning: f64,
    /// Bytes written in total.
    bytes: Range,
    /// Assumed rate of sequential writes, in bytes per second.
    rate: f64,
}

impl Estimate {
    /// The estimate for a target with this write rate.
    pub(super) fn at(plan: &PtsPlan, rate: f64) -> Estimate {
        let (mut seconds, mut bytes, mut preconditioning) = (Range::default(), Range::default(), 0.0);
        let point = plan.point_time().as_secs_f64();
        for part in plan.parts() {
            let before = f64::from(part.passes) * plan.pass_bytes() as f64;
            preconditioning += before;
            seconds.add(before / rate, before / rate);
            bytes.add(before, before);
            let round = point * part.points.len() as f64;
            match part.ends {
                Ends::Steady => {
                    let writes: f64 =
                        part.points.iter().map(|point| f64::from(100 - point.read_percent) / 100.0).sum();
                    let rounds = plan.most_rounds as f64;
                    seconds.add(round * rounds.min(steady_state::ROUNDS as f64), round * rounds);
                    bytes.add(0.0, writes * point * rate * rounds);
                }
                Ends::Written { fills, rounds } => {
                    let (amount, time) = (plan.fill_bytes(fills) as f64, round * rounds as f64);
                    seconds.add((amount / rate).min(time), time);
                    bytes.add(0.0, amount.min(rate * time));
                }
            }
        }
        Estimate { seconds, preconditioning, bytes, rate }
    }

    /// Estimates the test for a typical target of this kind.
    pub(super) fn of(plan: &PtsPlan) -> Estimate {
        Estimate::at(plan, assumed_rate(&plan.target))
    }

    /// The complete estimate, one line per item.
    pub(super) fn text(&self, plan: &PtsPlan, holds: &[String], endurance: Option<Endurance>) -> String {
        let mut text = format!("{} test of {}\n", plan.test.definition().title, plan.target.told());
        let mut line = |name: &str, told: &str| {
            let line = format!("  {}{told}", columns::left(name, NAMES));
            text.push_str(&columns::hanging(&line, NAMES + 2, columns::of_text()));
        };
        if plan.target.is_device() {
            line(
                "will be lost",
                &match holds.is_empty() {
                    true => "all content (no partitions or file systems were found)".to_owned(),
                    false => format!("all content: {}", holds.join("; ")),
                },
            );
        }
        line(
            "purge",
            match (plan.target.is_device(), plan.purges) {
                (false, _) => "none: a file cannot purge the device below it",
                (true, true) => "discard of all blocks, if the device can",
                (true, false) => "none (--no-purge)",
            },
        );
        for (number, part) in plan.parts().iter().enumerate() {
            let name = |name: &str| {
                if part.name.is_empty() { name.to_owned() } else { format!("{}: {name}", part.name) }
            };
            let lead = if number == 0 || !part.name.is_empty() { "then" } else { "" };
            line(lead, &name(&rounds_in_words(plan, part)));
        }
        let left_out: Vec<String> = plan.left_out().into_iter().map(figures::size).collect();
        if !left_out.is_empty() {
            line(
                "left out",
                &format!("blocks of {}: smaller than a sector of the device", left_out.join(", ")),
            );
        }
        let engine = if plan.engine.is_empty() { String::new() } else { format!(", {}", plan.engine) };
        line("load", &format!("{} × depth {}{engine}", threads(plan.threads), plan.depth));
        line("time", &format!("{}, if it writes {}", self.seconds.text(time), figures::bandwidth(self.rate)));
        line("written", &self.written_in_words());
        line("endurance", &self.endurance_in_words(endurance));
        if plan.scale < 1.0 {
            line("scale", &format!("{} of all times and amounts: this will not be a PTS result", plan.scale));
        }
        text
    }

    fn written_in_words(&self) -> String {
        let size = |bytes: f64| figures::size(bytes as u64);
        let rounds = self.bytes.most - self.preconditioning;
        match self.preconditioning > 0.0 {
            true => format!(
                "{} before the rounds and up to {} in them: {} at most",
                size(self.preconditioning),
                size(rounds),
                size(self.bytes.most)
            ),
            false => format!("up to {}", size(self.bytes.most)),
        }
    }

    fn endurance_in_words(&self, endurance: Option<Endurance>) -> String {
        let Some(endurance) = endurance else { return "unknown: the device does not report it".to_owned() };
        let told = format!(
            "by its own figures, {} % of its life has been used by {} written",
            endurance.used_percent,
            figures::size(endurance.written_bytes as u64)
        );
        match endurance.whole_bytes() {
            Some(whole) => {
                let share = |bytes: f64| format!("{} %", figures::three_figures(100.0 * bytes / whole));
                format!("{} of the drive's life; {told}", self.bytes.text(share))
            }
            None => format!("not known; {told}"),
        }
    }
}

fn rounds_in_words(plan: &PtsPlan, part: &super::definition::Part) -> String {
    let point = time(plan.point_time().as_secs_f64());
    let before = match part.passes {
        0 => String::new(),
        passes => format!("{passes} × {} written in sequence, ", figures::size(plan.pass_bytes())),
    };
    match part.ends {
        Ends::Steady => format!(
            "{before}{}{} of {} points of {point}",
            if plan.most_rounds > steady_state::ROUNDS {
                format!("{} to ", steady_state::ROUNDS)
            } else {
                String::new()
            },
            rounds(plan.most_rounds),
            part.points.len()
        ),
        Ends::Written { fills, rounds } => format!(
            "{before}random writes of {} until {} are written, for {} at most",
            part.points.first().map_or_else(String::new, super::definition::Point::block),
            figures::size(plan.fill_bytes(fills)),
            time(plan.point_time().as_secs_f64() * rounds as f64)
        ),
    }
}

/// `1 thread`, `4 threads`.
pub(super) fn threads(count: u32) -> String {
    if count == 1 { "1 thread".to_owned() } else { format!("{count} threads") }
}

/// A long duration in a readable unit, such as `40.0 s`, `56 min`, `4.7 h`.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 119.5 => figures::duration(seconds * 1e9),
        seconds if seconds < 7_170.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

/// Typical rate of sequential writes to such a target, in bytes per second.
fn assumed_rate(target: &TestTarget) -> f64 {
    let facts =
        std::fs::metadata(&target.path).ok().filter(|_| target.is_device()).map(|found| Facts::of(&found));
    let is_nvme = target.path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("nvme"));
    match facts.map(|facts| facts.value_of_disk("queue/rotational")).as_deref() {
        Some("1") => 150e6,
        Some(_) if is_nvme => 1e9,
        _ => 400e6,
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::{PtsTest, tests::plan};
    use super::*;

    #[test]
    fn amounts_follow_from_the_plan() {
        let mut plan = plan(PtsTest::Iops);
        plan.target.bytes = 1_000_000_000_000;
        let found = Estimate::at(&plan, 1e9);
        // The test has 2000 s of preconditioning and 5 to 25 rounds of 56 minutes, in which half of all I/Os
        // are writes.
        assert_eq!(found.seconds, Range { least: 2000.0 + 5.0 * 3360.0, most: 2000.0 + 25.0 * 3360.0 });
        assert_eq!((found.preconditioning, found.bytes.least), (2e12, 2e12));
        assert!((found.bytes.most - (2e12 + 28.0 * 60.0 * 25.0 * 1e9)).abs() < 1e3, "{found:?}");
        let saturation = Estimate::at(&super::super::plan::tests::plan(PtsTest::Saturation), 1e6);
        assert_eq!(saturation.bytes, Range { least: 0.0, most: f64::from(256 << 20) });
        assert!(
            (saturation.seconds.least - f64::from(256 << 20) / 1e6).abs() < 1e-6
                && saturation.seconds.most == 21_600.0
        );
    }

    #[test]
    fn the_life_of_the_drive_is_told() {
        let plan = plan(PtsTest::Throughput);
        let text =
            |endurance| Estimate::at(&plan, 1e9).text(&plan, &["xfs file system".to_owned()], endurance);
        assert!(text(None).contains("unknown: the device does not report it"), "{}", text(None));
        assert!(text(None).contains("all content: xfs file system"), "{}", text(None));
        let known = text(Some(Endurance { used_percent: 10, written_bytes: 1e12 }));
        // The test writes at least 256 MiB, on a drive for 10 TB.
        assert!(known.contains("0.00268 % to 30.0 % of the drive's life"), "{known}");
        let early = text(Some(Endurance { used_percent: 0, written_bytes: 1e12 }));
        assert!(early.contains("not known; by its own figures, 0 % of its life"), "{early}");
    }

    #[test]
    fn long_times_are_short_words() {
        let told = [0.6, 90.0, 3360.0, 16_800.0].map(time);
        assert_eq!(told, ["600 ms", "90.0 s", "56 min", "4.7 h"]);
    }
}
