//! The page of curves: response times by offered load, with the table and the answers below each, and all of them side by side.

use super::chart::scale::{Scale, Unit};
use super::chart::{Axis, Chart, Series};
use super::charts::charts;
use super::shell;
use crate::curve::answer::{Curve, PERCENTILES};
use crate::curve::output::{Shown, answers, table};
use crate::curve::record::RecordedCurve;
use crate::curve::shown;
use crate::figures;
use crate::results_file;
use crate::table::{Align, Table};
use fathom_command::Failure;
use maud::{Markup, html};
use std::path::Path;

/// Lines that are distinguishable in one chart.
const STYLES: usize = 6;
/// Index of p99 among the percentiles.
const P99: usize = 1;

/// The page of a results file.
pub(super) fn page(path: &Path, title: &str) -> Result<String, Failure> {
    let recorded: RecordedCurve = results_file::read(path)?;
    let shown = shown(&recorded)?;
    let named = shown.curves.iter().enumerate().filter(|(_, curve)| !curve.name.is_empty());
    let mut links = vec![("curves".to_owned(), "Curves".to_owned())];
    links.extend(named.map(|(number, curve)| (id_of(number), curve.name.clone())));
    let body = html! {
        section aria-labelledby="curves" {
            h2 id="curves" { "Response time by offered load" }
            p { (shown.opening()) }
            @if shown.curves.len() > 1 { (side_by_side(&shown.curves)) }
            @for (number, curve) in shown.curves.iter().enumerate() { (section(&shown, curve, &id_of(number))) }
        }
    };
    Ok(shell::shell(title, &links, &body))
}

fn id_of(curve: usize) -> String {
    format!("curve-{curve}")
}

fn side_by_side(curves: &[Curve]) -> Markup {
    let lines: Vec<Series> = curves
        .iter()
        .take(STYLES)
        .enumerate()
        .map(|(style, curve)| Series { name: curve.name.clone(), style, points: points(curve, P99) })
        .collect();
    chart("p99 of the response time, side by side", &lines, "side-by-side")
}

fn section(shown: &Shown<'_>, curve: &Curve, id: &str) -> Markup {
    let answers = answers(shown, curve);
    let lines: Vec<Series> = PERCENTILES
        .iter()
        .enumerate()
        .map(|(place, percent)| Series {
            name: format!("p{percent}"),
            style: place,
            points: points(curve, place),
        })
        .collect();
    html! {
        h3 id=(id) { @if curve.name.is_empty() { "The curve" } @else { (curve.name) } }
        @if !answers.is_empty() { div.verdict { ul { @for answer in answers { li { (answer) } } } } }
        (chart("Response time by offered load", &lines, &format!("{id}-chart")))
        (table(curve).html())
    }
}

/// A percentile over the sustained loads.
fn points(curve: &Curve, place: usize) -> Vec<(f64, f64)> {
    let steps = curve.steps.iter().filter(|step| step.is_sustained);
    steps.filter_map(|step| Some((step.rate, step.percentiles[place]?.0))).collect()
}

/// Empty for fewer than two loads.
fn chart(title: &str, lines: &[Series], id: &str) -> Markup {
    let lines: Vec<Series> = lines.iter().filter(|line| line.points.len() > 1).cloned().collect();
    if lines.is_empty() {
        return Markup::default();
    }
    let all = || lines.iter().flat_map(|line| line.points.iter());
    let x = Axis {
        label: "I/Os per second offered".into(),
        scale: Scale::linear(all().map(|point| point.0)),
        unit: Unit::Count,
    };
    let y = Axis {
        label: "response time".into(),
        scale: Scale::logarithmic(all().map(|point| point.1)),
        unit: Unit::Latency,
    };
    let mut chart = Chart::new(title, x, y);
    chart.lines(&lines, false);
    let mut table =
        Table::new(&[("line", Align::Left), ("offered", Align::Right), ("response time", Align::Right)]);
    for line in &lines {
        for point in &line.points {
            table.row(vec![line.name.clone(), figures::count(point.0), figures::duration(point.1)]);
        }
    }
    charts([chart.figure(id, &table)])
}
