//! The comparison of a model with its trace, for people and for programs.

use super::check::Checked;
use crate::characterize::output::caveats;
use crate::table::{Align, Table};
use crate::{columns, figures};
use fathom_command::Failure;
use fathom_workload::Profile;
use fathom_workload::fidelity::{Compared, Property};
use serde::Serialize;
use serde_json::{Value as Json, json};

/// Version of the JSON document.
const VERSION: u32 = 1;
/// A device that served less than this share of the rate did not keep up.
const KEPT_UP: f64 = 0.95;

/// Text for people.
pub(super) fn text(checked: &Checked<'_>, limit: Option<usize>) -> String {
    let width = limit.unwrap_or(columns::USUAL);
    let accuracy = checked.fidelity.accuracy() * 100.0;
    let properties = checked.fidelity.properties.len();
    let sentence = format!(
        "The model is {accuracy:.1} % accurate: 100 % less the mean error of {properties} properties. Its job file has {}.",
        figures::size(checked.job_bytes as u64)
    );
    let mut text = columns::hanging(&sentence, 0, width);
    for doubt in doubts(checked) {
        text.push_str(&columns::hanging(&doubt, 2, width));
    }
    let mut table = Table::new(&[
        ("property", Align::Name),
        ("trace", Align::Right),
        ("model", Align::Right),
        ("error", Align::Right),
    ]);
    for compared in &checked.fidelity.properties {
        let error = format!("{:.1} %", compared.error * 100.0);
        table.row(vec![
            name(&compared.property, checked.trace.files.is_some()),
            value(compared, compared.trace),
            value(compared, compared.model),
            error,
        ]);
    }
    for (name, of) in [
        ("depth, mean", depth as fn(&Profile) -> String),
        ("latency, p50", |of| latency(of, 50.0)),
        ("latency, p99", |of| latency(of, 99.0)),
    ] {
        let (trace, model) = (of(&checked.trace.profile), of(&checked.played.profile));
        table.row(vec![name.to_owned(), trace, model, "–".to_owned()]);
    }
    text.push('\n');
    text.push_str(&table.text(2, limit));
    text.push_str(&columns::hanging(
        "Depth and latencies are those of the storage, so they do not count.",
        2,
        width,
    ));
    text
}

/// The comparison, with both profiles.
pub(super) fn json(checked: &Checked<'_>) -> Result<String, Failure> {
    crate::output::json(&Document {
        version: VERSION,
        trace: &checked.trace.name,
        accuracy: checked.fidelity.accuracy(),
        properties: &checked.fidelity.properties,
        doubts: doubts(checked),
        not_modelled: &checked.model.lacks,
        left_out: checked.trace.files.as_ref().map(|sums| {
            json!({ "files": sums.unwanted.files, "calls": sums.unwanted.calls, "pseudo_files": sums.pseudo.files, "pseudo_calls": sums.pseudo.calls })
        }),
        job_file_bytes: checked.job_bytes,
        rate: checked.rate,
        profiles: Profiles { trace: &checked.trace.profile, model: &checked.played.profile },
    })
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "fathom model")]
    version: u32,
    trace: &'a str,
    accuracy: f64,
    properties: &'a [Compared],
    doubts: Vec<String>,
    not_modelled: &'a [String],
    /// Files without a part in the model, of a recording of files.
    left_out: Option<Json>,
    job_file_bytes: usize,
    rate: f64,
    profiles: Profiles<'a>,
}

#[derive(Serialize)]
struct Profiles<'a> {
    trace: &'a Profile,
    model: &'a Profile,
}

/// Reasons why the comparison may mislead.
fn doubts(checked: &Checked<'_>) -> Vec<String> {
    let mut told: Vec<String> =
        checked.model.lacks.iter().map(|lack| format!("Not modelled: {lack}.")).collect();
    told.extend(caveats(checked.trace).into_iter().map(|caveat| format!("The trace: {caveat}")));
    told.extend(caveats(&checked.played).into_iter().map(|caveat| format!("The run of the model: {caveat}")));
    let rate = checked.fidelity.properties.iter().find(|compared| compared.property == Property::Rate);
    if rate.is_some_and(|rate| rate.model < rate.trace * KEPT_UP) {
        told.push(
            "The scratch storage did not keep up with the rate, so properties over time are not the model's."
                .to_owned(),
        );
    }
    told
}

/// Name of a property; programs sync files, and devices are flushed.
fn name(property: &Property, is_of_files: bool) -> String {
    match property {
        Property::Flushes if is_of_files => "syncs per second".to_owned(),
        Property::Rate => "I/Os per second".to_owned(),
        Property::Bandwidth => "bandwidth".to_owned(),
        Property::Directions => "directions (share of reads)".to_owned(),
        Property::Sizes(of) => format!("sizes of {}s (mean)", of.direction.word()),
        Property::Sequential(of) => format!("sequential {}s (share)", of.direction.word()),
        Property::RunLength(of) => format!("I/Os per sequential run of {}s", of.direction.word()),
        Property::Skew(of) => format!("skew of {}s (hottest 10 % of blocks)", of.direction.word()),
        Property::Footprint => "footprint".to_owned(),
        Property::Reuse => "reuse (share of accesses)".to_owned(),
        Property::Flushes => "flushes per second".to_owned(),
        Property::OverTime => "rate over time (highest)".to_owned(),
        Property::Burstiness { window_s } => {
            format!("burstiness in {}", figures::duration(window_s * 1e9))
        }
    }
}

/// A value of a property.
fn value(compared: &Compared, value: f64) -> String {
    match compared.property {
        Property::Rate | Property::RunLength(_) | Property::Flushes | Property::OverTime => {
            figures::count(value)
        }
        Property::Bandwidth => figures::bandwidth(value),
        Property::Directions | Property::Sequential(_) | Property::Skew(_) | Property::Reuse => {
            format!("{:.1} %", value * 100.0)
        }
        Property::Sizes(_) => figures::size(value.round() as u64),
        Property::Footprint => figures::size(value as u64),
        Property::Burstiness { .. } => format!("{value:.2}"),
    }
}

fn depth(of: &Profile) -> String {
    of.depth.as_ref().map_or_else(|| "–".to_owned(), |depth| format!("{:.1}", depth.mean))
}

/// A percentile over all directions: that of the busiest.
fn latency(of: &Profile, percent: f64) -> String {
    let busiest = of.directions.iter().max_by_key(|direction| direction.requests);
    let found = busiest.and_then(|direction| direction.service.total.percentile(percent));
    found.map_or_else(|| "–".to_owned(), |ns| figures::duration(ns as f64))
}
