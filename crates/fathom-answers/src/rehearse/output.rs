//! Prints a rehearsal as text and JSON.

use super::answer::{Compared, Missed, Rehearsed, ScaleStep};
use super::plan::Source;
use super::record::{RecordedRehearsal, multiple, scale_word};
use crate::columns;
use crate::figures;
use crate::loads::highest::Highest;
use crate::loads::objective::Objective;
use crate::loads::precision::LEAST_RUNS;
use crate::loads::step::{PERCENTILES, late};
use crate::table::{Align, Table};
use serde_json::{Map, Value as Json, json};

/// A results file with all answers derived from it.
pub(crate) struct Shown<'a> {
    pub(crate) recorded: &'a RecordedRehearsal,
    pub(crate) rehearsed: Rehearsed,
    pub(crate) objectives: Vec<Objective>,
}

impl Shown<'_> {
    /// The answer, which comes first.
    pub(crate) fn answer(&self) -> Vec<String> {
        let target = &self.recorded.plan.target;
        let limits = self.limits();
        let with = if limits.is_empty() { String::new() } else { format!(" with {limits}") };
        let mut lines = Vec::new();
        match &self.rehearsed.highest {
            None if self.rehearsed.steps.is_empty() => lines.push("No run was valid.".to_owned()),
            None => {}
            Some(Highest::Found { rate, interval }) => {
                let ends = match interval {
                    Some(ends) => {
                        format!(" (95 % interval {} – {})", multiple(ends.low), multiple(ends.high))
                    }
                    None => {
                        format!(" (fewer than {LEAST_RUNS} runs of the scales around it give no interval)")
                    }
                };
                lines.push(format!("{target} carries {} times this load{with}{ends}.", multiple(*rate)));
            }
            Some(Highest::AtLeast(1.0)) => lines.push(format!("{target} carries this load{with}.")),
            Some(Highest::AtLeast(rate)) => {
                lines.push(format!("{target} carries at least {} times this load{with}.", multiple(*rate)));
            }
            Some(Highest::Below(1.0)) => lines.push(format!("{target} does not carry this load{with}.")),
            Some(Highest::Below(rate)) => {
                lines.push(format!("{target} does not carry {} times this load{with}.", multiple(*rate)));
            }
        }
        lines.extend(self.rehearsed.missed.as_ref().map(missed_words));
        lines
    }

    /// What was rehearsed.
    pub(crate) fn opening(&self) -> String {
        let plan = &self.recorded.plan;
        let how = match plan.source {
            Source::Replay => "replayed at its recorded times, in an open loop",
            Source::Dependencies => "replayed with the dependencies and think times of its programs",
            Source::Jobs => "jobs in an open loop",
        };
        let size = plan.production.as_ref().map(|production| {
            format!(
                ": {} I/Os in {}",
                figures::count(production.requests as f64),
                figures::duration(production.seconds * 1e9)
            )
        });
        format!("{} on {}, {how}{}.", plan.load, plan.target, size.unwrap_or_default())
    }

    /// What a reader must know of the load and of the runs.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let production = self.recorded.plan.production.as_ref();
        let mut lines = production.map(|production| production.caveats.clone()).unwrap_or_default();
        lines.extend(self.recorded.idle_limits(&self.objectives));
        let names = |scales: Vec<f64>| scales.into_iter().map(scale_word).collect::<Vec<_>>().join(", ");
        lines.extend(late(self.rehearsed.steps.iter().map(|step| &step.step), names));
        match self.recorded.failed_runs() {
            0 => {}
            failed => {
                lines.push(format!("{} failed and do not count.", fathom_stats::counted(failed, "run")))
            }
        }
        lines
    }

    fn limits(&self) -> String {
        let texts: Vec<String> = self.objectives.iter().map(ToString::to_string).collect();
        texts.join(" and ")
    }

    fn is_closed(&self) -> bool {
        self.recorded.plan.source == Source::Dependencies
    }
}

/// `At 3.6x, read:p99 is 11 ms.`
fn missed_words(missed: &Missed) -> String {
    let scale = scale_word(missed.scale);
    match &missed.limit {
        None => format!("At {scale}, the backlog grows: the target does not keep up."),
        Some((objective, value)) => {
            let subject = objective.text.split('<').next().unwrap_or_default().trim().to_owned();
            format!("At {scale}, {subject} is {}.", figures::duration(*value))
        }
    }
}

/// The whole text.
pub(super) fn text(shown: &Shown<'_>, limit: Option<usize>) -> String {
    let width = limit.unwrap_or(usize::MAX);
    let mut text = String::new();
    let lead = shown.answer();
    lead.iter().for_each(|line| text.push_str(&columns::wrapped(line, width)));
    if !lead.is_empty() {
        text.push('\n');
    }
    text.push_str(&columns::wrapped(&shown.opening(), width));
    let sentence = shown.recorded.plan.production.as_ref().map(|production| production.sentence.as_str());
    for line in sentence.into_iter().filter(|sentence| !sentence.is_empty()) {
        text.push_str(&columns::wrapped(line, width));
    }
    text.push('\n');
    text.push_str(&table(shown).text(2, limit));
    if !shown.rehearsed.compared.is_empty() {
        text.push_str("\nAt 1x, with the recorded latencies\n");
        text.push_str(&comparison(&shown.rehearsed.compared).text(2, limit));
        text.push_str(&columns::wrapped(measured_where(&shown.rehearsed.compared), width));
    }
    let remarks: Vec<String> = shown.remarks().into_iter().chain(shown.recorded.doubts()).collect();
    if !remarks.is_empty() {
        text.push('\n');
    }
    text.extend(remarks.iter().map(|line| columns::wrapped(line, width)));
    text
}

/// The scales.
pub(crate) fn table(shown: &Shown<'_>) -> Table {
    let right = Align::Right;
    let pace = if shown.is_closed() { "took" } else { "offered" };
    let mut table = Table::new(&[
        ("scale", right),
        (pace, right),
        ("served", right),
        ("runs", right),
        ("p50", right),
        ("p99", right),
        ("95 % interval", Align::Left),
        ("p99.9", right),
        ("backlog", right),
        ("", Align::Left),
    ]);
    for ScaleStep { step, seconds } in &shown.rehearsed.steps {
        let at = |place: usize| step.percentile_text(place);

        let interval = step.interval_text(1);

        let pace = match shown.is_closed() {
            true => figures::duration(seconds * 1e9),
            false => figures::count(step.offered),
        };
        table.row(vec![
            scale_word(step.rate),
            pace,
            figures::count(step.served),
            step.runs.to_string(),
            at(0),
            at(1),
            interval,
            at(2),
            figures::three_figures(step.backlog),
            if step.is_sustained { String::new() } else { "the backlog grows".to_owned() },
        ]);
    }
    table
}

/// The recorded latencies, and those of the target at the recorded rate.
pub(crate) fn comparison(compared: &[Compared]) -> Table {
    let right = Align::Right;
    let mut columns =
        vec![("", Align::Left), ("", right), ("recorded", right), ("here", right), ("change", right)];
    let is_at_device = compared.iter().any(|direction| direction.block.is_some());
    if is_at_device {
        columns.push(("response", right));
    }
    let mut table = Table::new(&columns);
    let duration = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), figures::duration);
    for direction in compared {
        let mut name = format!("{}s", direction.direction.word());
        for (figure, recorded, here, response) in rows(direction) {
            let change = here.filter(|_| recorded > 0.0).map(|here| change_word(recorded, here));
            let mut row = vec![
                std::mem::take(&mut name),
                figure,
                figures::duration(recorded),
                duration(here),
                change.unwrap_or_default(),
            ];
            row.extend(is_at_device.then(|| duration(response)));
            table.row(row);
        }
    }
    table
}

/// The figures of a direction: name, recorded, next to it, and response time.
fn rows(compared: &Compared) -> impl Iterator<Item = (String, f64, Option<f64>, Option<f64>)> {
    let (recorded, here, response) = (&compared.recorded, compared.here(), compared.response);
    let percentiles = recorded.percentiles.into_iter().zip(here.percentiles).zip(response.percentiles);
    let percentiles = PERCENTILES.iter().zip(percentiles);
    let rows = percentiles
        .map(|(percent, ((recorded, here), response))| (format!("p{percent}"), recorded, here, response));
    rows.chain([("mean".to_owned(), recorded.mean_ns, here.mean_ns, response.mean_ns)])
}

/// Says which part of an I/O's way the latencies of a comparison cover.
pub(crate) fn measured_where(compared: &[Compared]) -> &'static str {
    match compared.iter().all(|direction| direction.block.is_some()) {
        true => {
            "Recorded and here: from the block layer to the end of the request. The response times above include the system call and the tester."
        }
        false => {
            "The recorded latencies begin at the block layer; those here are response times, which include the system call and the tester. \
             As root, and with tracefs, they are measured from the block layer as well."
        }
    }
}

/// `-12 %`, or from a factor of 2 `3.1 times`.
fn change_word(recorded: f64, here: f64) -> String {
    match here / recorded {
        ratio if ratio >= 2.0 => format!("{} times", figures::three_figures(ratio)),
        ratio => format!("{:+.0} %", (ratio - 1.0) * 100.0),
    }
}

/// The complete rehearsal.
pub(super) fn json(shown: &Shown<'_>, need: f64) -> String {
    let plan = &shown.recorded.plan;
    let highest = shown.rehearsed.highest.as_ref().map(|highest| match highest {
        Highest::Found { rate, interval } => {
            let ends = interval.as_ref();
            json!({"scale": rate, "low": ends.map(|ends| ends.low), "high": ends.map(|ends| ends.high)})
        }
        Highest::AtLeast(rate) => json!({"at_least": rate}),
        Highest::Below(rate) => json!({"below": rate}),
    });
    let missed = shown.rehearsed.missed.as_ref().map(|missed| {
        let limit = missed.limit.as_ref();
        json!({
            "scale": missed.scale,
            "limit": limit.map(|(objective, _)| objective.to_string()),
            "value_ns": limit.map(|(_, value)| value),
        })
    });
    let limits: Vec<String> = shown.objectives.iter().map(ToString::to_string).collect();
    let document = json!({
        "load": plan.load,
        "source": plan.source,
        "recorded": plan.production,
        "target": plan.target,
        "limits": limits,
        "need": need,
        "carries_need": shown.rehearsed.carries(need),
        "highest": highest,
        "missed": missed,
        "scales": shown.rehearsed.steps.iter().map(step_json).collect::<Vec<Json>>(),
        "at_recorded_rate": shown.rehearsed.compared.iter().map(compared_json).collect::<Vec<Json>>(),
        "failed_runs": shown.recorded.failed_runs(),
        "remarks": shown.remarks(),
        "doubts": shown.recorded.doubts(),
    });
    format!("{document:#}\n")
}

fn step_json(ScaleStep { step, seconds }: &ScaleStep) -> Json {
    let percentiles = step.percentiles_json();
    json!({
        "scale": step.rate,
        "runs": step.runs,
        "seconds": seconds,
        "offered_iops": step.offered,
        "served_iops": step.served,
        "response": percentiles,
        "response_mean_ns": step.mean_ns,
        "backlog_mean": step.backlog,
        "sustained": step.is_sustained,
        "own_delay_p99_ns": step.own_delay_ns,
    })
}

fn compared_json(compared: &Compared) -> Json {
    let mut figures: Map<String, Json> = Map::new();
    let mut mean = Json::Null;
    for (name, recorded, here, response) in rows(compared) {
        let row = json!({"recorded": recorded, "here": here, "response": response});
        match name.as_str() {
            "mean" => mean = row,
            percentile => drop(figures.insert(format!("{percentile}_ns"), row)),
        }
    }
    json!({
        "direction": compared.direction.word(),
        "requests": compared.recorded.count,
        "here_from": if compared.block.is_some() { "block layer" } else { "due time" },
        "mean_ns": mean,
        "percentiles": figures,
    })
}
