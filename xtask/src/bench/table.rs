//! The table of results.

use super::programs::Pair;
use std::fmt;
use std::path::Path;

/// Unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// I/Os per second.
    PerSecond,
    /// Milliseconds.
    Milliseconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Instructions.
    Instructions,
    /// MiB.
    Mebibytes,
    /// Percent.
    Percent,
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Unit::PerSecond if value >= 1e6 => format!("{:.2} M IOPS", value / 1e6),
            Unit::PerSecond => format!("{:.1} k IOPS", value / 1e3),
            Unit::Milliseconds => format!("{value:.1} ms"),
            Unit::Nanoseconds => format!("{value:.0} ns"),
            Unit::Instructions => format!("{value:.0}"),
            Unit::Mebibytes => format!("{value:.0} MiB"),
            Unit::Percent => format!("{value:.0} %"),
        }
    }
}

/// Goal for fathom. Ratios are fathom's figure divided by fio's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Goal {
    /// At least this multiple of fio's figure.
    RatioAtLeast(f64),
    /// Less than this multiple of fio's figure.
    RatioBelow(f64),
    /// Less than this, regardless of fio's figure.
    Below(f64),
    /// At least this, regardless of fio's figure.
    AtLeast(f64),
}

impl Goal {
    fn is_met(self, pair: Pair) -> bool {
        match self {
            Goal::RatioAtLeast(limit) => pair.fathom / pair.fio >= limit,
            Goal::RatioBelow(limit) => pair.fathom / pair.fio < limit,
            Goal::Below(limit) => pair.fathom < limit,
            Goal::AtLeast(limit) => pair.fathom >= limit,
        }
    }

    fn show(self, unit: Unit) -> String {
        match self {
            Goal::RatioAtLeast(limit) => format!(">= {limit:.1}x"),
            Goal::RatioBelow(limit) => format!("< {}x", (limit * 100.0).round() / 100.0),
            Goal::Below(limit) => format!("< {}", unit.show(limit)),
            Goal::AtLeast(limit) => format!(">= {}", unit.show(limit)),
        }
    }
}

/// Outcome of a case.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Measured {
    /// One figure per program.
    Pair(Pair),
    /// Not measured, with the reason.
    Skipped(String),
}

/// One line.
pub(crate) struct Row {
    /// The case.
    pub(crate) case: String,
    /// Unit of its figures.
    pub(crate) unit: Unit,
    /// Its goal.
    pub(crate) goal: Goal,
    /// Its outcome.
    pub(crate) measured: Measured,
}

impl fmt::Display for Row {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { case, unit, goal, measured } = self;
        let wanted = goal.show(*unit);
        match measured {
            Measured::Skipped(reason) => write!(out, "| {case} | | | | {wanted} | not measured: {reason} |"),
            Measured::Pair(pair) => {
                let (fio, fathom) = (unit.show(pair.fio), unit.show(pair.fathom));
                let met = if goal.is_met(*pair) { "yes" } else { "no" };
                write!(
                    out,
                    "| {case} | {fio} | {fathom} | {:.2}x | {wanted} | {met} |",
                    pair.fathom / pair.fio
                )
            }
        }
    }
}

/// All rows as a Markdown table.
pub(crate) fn markdown(rows: &[Row]) -> String {
    let head = "| case | fio | fathom | ratio | goal | met |\n|---|---:|---:|---:|---:|---|";
    let lines: Vec<String> = rows.iter().map(Row::to_string).collect();
    format!("{head}\n{}", lines.join("\n"))
}

const BEGIN: &str = "<!-- bench: begin; written by `make bench BENCH=--write` -->";
const END: &str = "<!-- bench: end -->";

/// Writes the table and the description of the machine between the two markers of the page.
pub(crate) fn store(page: &Path, machine: &[String], rounds: usize, table: &str) -> Result<(), String> {
    let fail = |error: std::io::Error| format!("{}: {error}", page.display());
    let text = std::fs::read_to_string(page).map_err(fail)?;
    let marked = replaced(&text, &section(machine, rounds, table));
    let new =
        marked.ok_or_else(|| format!("{}: the lines `{BEGIN}` and `{END}` are missing", page.display()))?;
    std::fs::write(page, new).map_err(fail)
}

fn section(machine: &[String], rounds: usize, table: &str) -> String {
    let machine: Vec<String> = machine.iter().map(|line| format!("* {line}")).collect();
    format!(
        "{}\n* Medians of {rounds} rounds unless the case states another number\n\n{table}",
        machine.join("\n")
    )
}

fn replaced(text: &str, section: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{section}\n\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(goal: Goal, fio: f64, fathom: f64) -> String {
        let measured = Measured::Pair(Pair { fio, fathom });
        Row { case: "it".into(), unit: Unit::PerSecond, goal, measured }.to_string()
    }

    #[test]
    fn rows_say_whether_the_goal_is_met() {
        let good = "| it | 500.0 k IOPS | 2.00 M IOPS | 4.00x | >= 4.0x | yes |";
        assert_eq!(row(Goal::RatioAtLeast(4.0), 5e5, 2e6), good);
        assert!(row(Goal::RatioAtLeast(4.1), 5e5, 2e6).ends_with("| no |"));
        assert!(row(Goal::RatioBelow(1.0), 100.0, 99.0).ends_with("| yes |"));
        assert!(row(Goal::RatioBelow(1.0), 100.0, 100.0).ends_with("| no |"));
        assert!(row(Goal::Below(30.0), 1.0, 29.0).ends_with("| yes |"));
        assert!(row(Goal::Below(30.0), 100.0, 30.0).ends_with("| no |"));
    }

    #[test]
    fn what_was_not_measured_says_why() {
        let measured = Measured::Skipped("a block device needs root".into());
        let row = Row { case: "it".into(), unit: Unit::Milliseconds, goal: Goal::Below(30.0), measured };
        assert_eq!(row.to_string(), "| it | | | | < 30.0 ms | not measured: a block device needs root |");
    }

    #[test]
    fn only_the_marked_part_of_the_page_changes() {
        let page = format!("# Title\n\n{BEGIN}\nold\n{END}\n\nMore.\n");
        let expected = format!("# Title\n\n{BEGIN}\n\nnew\n\n{END}\n\nMore.\n");
        assert_eq!(replaced(&page, "new"), Some(expected));
        assert_eq!(replaced("# Title\n", "new"), None);
    }
}
