//! Prints curves as text, Markdown, CSV and JSON.

use super::answer::Curve;
use super::record::RecordedCurve;
use crate::bars::Ink;
use crate::columns;
use crate::figures;
use crate::loads::highest::Highest;
use crate::loads::objective::Objective;
use crate::loads::precision::LEAST_RUNS;
use crate::loads::step::{LoadStep, PERCENTILES, late};
use crate::table::{Align, Table};
use serde_json::{Value as Json, json};
use std::fmt::Write as _;

/// Maximum length of a bar in columns.
const BAR: usize = 40;

/// A results file with all figures and answers derived from it.
pub(crate) struct Shown<'a> {
    pub(crate) recorded: &'a RecordedCurve,
    pub(crate) curves: Vec<Curve>,
    pub(crate) objectives: Vec<Objective>,
}

impl Shown<'_> {
    /// A sentence that says what was measured.
    pub(crate) fn opening(&self) -> String {
        let plan = &self.recorded.plan;
        format!(
            "Response time by offered load, in an open loop with {} arrivals; runs of {}.",
            plan.process,
            figures::duration(plan.time_ms as f64 * 1e6)
        )
    }

    fn limits(&self) -> String {
        let texts: Vec<String> = self.objectives.iter().map(ToString::to_string).collect();
        texts.join(" and ")
    }
}

/// A table, a chart and the answers for each curve.
pub(super) fn text(shown: &Shown<'_>, ink: Ink, limit: Option<usize>) -> String {
    let mut text = shown.opening() + "\n";
    for curve in &shown.curves {
        text.push('\n');
        if !curve.name.is_empty() {
            let _ = writeln!(text, "{}", curve.name);
        }
        text.push_str(&table(curve).text(2, limit));
        text.push_str(&chart(curve, ink));
        for line in answers(shown, curve) {
            text.push_str(&columns::wrapped(&format!("  {line}"), limit.unwrap_or(usize::MAX)));
        }
    }
    let doubts = shown.recorded.doubts();
    if !doubts.is_empty() {
        text.push('\n');
    }
    text.extend(doubts.iter().map(|line| columns::wrapped(line, limit.unwrap_or(usize::MAX))));
    text
}

/// The steps of a curve.
pub(crate) fn table(curve: &Curve) -> Table {
    let right = Align::Right;
    let mut table = Table::new(&[
        ("offered", right),
        ("served", right),
        ("runs", right),
        ("p50", right),
        ("p99", right),
        ("95 % interval", Align::Left),
        ("p99.9", right),
        ("backlog", right),
        ("", Align::Left),
    ]);
    for (place, step) in curve.steps.iter().enumerate() {
        let at = |place: usize| step.percentile_text(place);

        let interval = step.interval_text(1);

        let mut notes = Vec::new();
        if !step.is_sustained {
            notes.push("the backlog grows");
        }
        if curve.knee == Some(place) {
            notes.push("knee");
        }
        table.row(vec![
            figures::count(step.rate),
            figures::count(step.served),
            step.runs.to_string(),
            at(0),
            at(1),
            interval,
            at(2),
            figures::three_figures(step.backlog),
            notes.join(", "),
        ]);
    }
    table
}

/// Bars of p99 on a logarithmic scale; a load whose backlog grows has none.
fn chart(curve: &Curve, ink: Ink) -> String {
    let p99 = |step: &LoadStep| step.percentiles[1].map(|(ns, _)| ns.max(1.0)).filter(|_| step.is_sustained);
    let known: Vec<f64> = curve.steps.iter().filter_map(p99).collect();
    if known.len() < 2 {
        return String::new();
    }
    let low = known.iter().copied().fold(f64::INFINITY, f64::min).log10().floor();
    let high = known.iter().copied().fold(0.0, f64::max).log10();
    let mut text = String::from("\n  p99 of the response time (lengths are logarithmic)\n");
    for step in &curve.steps {
        let drawn = match p99(step) {
            Some(ns) => {
                let bar = ink.bar((ns.log10() - low) / (high - low).max(0.01), BAR);
                format!("{bar} {}", figures::duration(ns))
            }
            None => "backlog grows".to_owned(),
        };
        let _ = writeln!(text, "{:>9}  {drawn}", figures::count(step.rate));
    }
    text
}

/// The sentences that follow a curve.
pub(crate) fn answers(shown: &Shown<'_>, curve: &Curve) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(capacity) = curve.capacity {
        lines.push(format!("Without a limit, in a closed loop: {} IOPS.", figures::count(capacity)));
    }
    if let Some(step) = curve.knee.and_then(|place| curve.steps.get(place)) {
        lines.push(format!(
            "Knee: {} IOPS, the load with the most rate per response time (mean {}).",
            figures::count(step.rate),
            figures::duration(step.mean_ns)
        ));
    }
    let limits = shown.limits();
    match &curve.highest {
        None => {}
        Some(Highest::Found { rate, interval: Some(interval) }) => lines.push(format!(
            "{limits}: up to {} IOPS (95 % interval {} – {}).",
            figures::count(*rate),
            figures::count(interval.low),
            figures::count(interval.high)
        )),
        Some(Highest::Found { rate, interval: None }) => lines.push(format!(
            "{limits}: up to {} IOPS; fewer than {LEAST_RUNS} runs of the loads around it give no interval.",
            figures::count(*rate)
        )),
        Some(Highest::AtLeast(rate)) => lines.push(format!(
            "{limits}: every rate tried meets it; the answer is at least {} IOPS.",
            figures::count(*rate)
        )),
        Some(Highest::Below(rate)) => lines.push(format!(
            "{limits}: every rate tried was too high; the answer is below {} IOPS.",
            figures::count(*rate)
        )),
    }
    lines.extend(shown.recorded.idle_limits(&shown.objectives));
    let names = |rates: Vec<f64>| {
        let rates: Vec<String> = rates.into_iter().map(figures::count).collect();
        format!("{} IOPS", rates.join(", "))
    };
    lines.extend(late(curve.steps.iter(), names));
    lines
}

/// One table per curve, in Markdown.
pub(super) fn markdown(shown: &Shown<'_>) -> String {
    let mut text = String::new();
    for curve in &shown.curves {
        if !curve.name.is_empty() {
            let _ = writeln!(text, "### {}\n", curve.name);
        }
        let _ = writeln!(text, "{}", table(curve).markdown());
        for line in answers(shown, curve) {
            let _ = writeln!(text, "* {line}");
        }
        text.push('\n');
    }
    for line in shown.recorded.doubts() {
        let _ = writeln!(text, "* {line}");
    }
    text
}

/// One line per step, with rates in I/Os per second and times in ns.
pub(super) fn csv(shown: &Shown<'_>) -> String {
    let options: Vec<&str> =
        shown.recorded.plan.vary.iter().map(|variation| variation.name.as_str()).collect();
    let mut headings: Vec<String> = options.iter().map(|name| (*name).to_owned()).collect();
    headings.extend(["rate", "runs", "offered_iops", "served_iops"].map(str::to_owned));
    for percent in PERCENTILES {
        headings.extend(["", "_low", "_high"].map(|part| format!("resp_p{percent}_ns{part}")));
    }
    headings.extend(["resp_mean_ns", "backlog_mean", "sustained", "own_delay_p99_ns"].map(str::to_owned));
    let columns: Vec<(&str, Align)> =
        headings.iter().map(|heading| (heading.as_str(), Align::Left)).collect();
    let mut table = Table::new(&columns);
    for (number, curve) in shown.curves.iter().enumerate() {
        for step in &curve.steps {
            let values = shown.recorded.plan.values_of(number);
            let mut cells: Vec<String> = values.into_iter().map(|(_, value)| value.to_owned()).collect();
            cells.extend([step.rate.to_string(), step.runs.to_string()]);
            cells.extend([step.offered.to_string(), step.served.to_string()]);
            for figure in &step.percentiles {
                let ends = figure.and_then(|(_, interval)| interval);
                let fields =
                    [figure.map(|(ns, _)| ns), ends.map(|ends| ends.low), ends.map(|ends| ends.high)];
                cells.extend(fields.map(|field| field.map_or_else(String::new, |value| value.to_string())));
            }
            cells.extend([step.mean_ns.to_string(), step.backlog.to_string()]);
            cells.extend([step.is_sustained.to_string(), step.own_delay_ns.to_string()]);
            table.row(cells);
        }
    }
    table.csv()
}

/// The complete curves.
pub(super) fn json(shown: &Shown<'_>) -> String {
    let step = |step: &LoadStep| {
        let percentiles = step.percentiles_json();
        json!({
            "rate": step.rate,
            "runs": step.runs,
            "offered_iops": step.offered,
            "served_iops": step.served,
            "response": percentiles,
            "response_mean_ns": step.mean_ns,
            "backlog_mean": step.backlog,
            "sustained": step.is_sustained,
            "own_delay_p99_ns": step.own_delay_ns,
        })
    };
    let highest = |highest: &Highest| match highest {
        Highest::Found { rate, interval } => {
            let ends = interval.as_ref();
            json!({"rate": rate, "low": ends.map(|ends| ends.low), "high": ends.map(|ends| ends.high)})
        }
        Highest::AtLeast(rate) => json!({"at_least": rate}),
        Highest::Below(rate) => json!({"below": rate}),
    };
    let curves = shown.curves.iter().enumerate().map(|(number, curve)| {
        let options: serde_json::Map<String, Json> = shown
            .recorded
            .plan
            .values_of(number)
            .into_iter()
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        json!({
            "options": options,
            "capacity_iops": curve.capacity,
            "knee": curve.knee.and_then(|place| curve.steps.get(place)).map(|step| step.rate),
            "highest": curve.highest.as_ref().map(highest),
            "steps": curve.steps.iter().map(step).collect::<Vec<Json>>(),
        })
    });
    let limits: Vec<String> = shown.objectives.iter().map(ToString::to_string).collect();
    let document = json!({
        "process": shown.recorded.plan.process,
        "time_ms": shown.recorded.plan.time_ms,
        "limits": limits,
        "curves": curves.collect::<Vec<Json>>(),
        "failed_runs": shown.recorded.failed_runs(),
        "doubts": shown.recorded.doubts(),
    });
    format!("{document:#}\n")
}
