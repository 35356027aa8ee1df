//! The page of a rehearsal: the answer, response times by scale, and the recorded latencies next to those of the
//! target.

use super::chart::scale::{Scale, Unit};
use super::chart::{Axis, Chart, Figure, Series};
use super::charts::{charts, percentiles};
use super::shell;
use crate::figures;
use crate::loads::step::PERCENTILES;
use crate::rehearse::output::{Shown, comparison, measured_where, table};
use crate::rehearse::record::{RecordedRehearsal, scale_word};
use crate::rehearse::shown;
use crate::results_file;
use crate::table::{Align, Table};
use fathom_command::Failure;
use maud::html;
use std::path::Path;

/// The page of a results file.
pub(super) fn page(path: &Path, title: Option<&str>) -> Result<String, Failure> {
    let title = title.map_or_else(|| format!("Rehearsal: {}", path.display()), str::to_owned);
    let recorded: RecordedRehearsal = results_file::read(path)?;
    let shown = shown(&recorded)?;
    let production = recorded.plan.production.as_ref();
    let compared = &shown.rehearsed.compared;
    let remarks: Vec<String> = shown.remarks().into_iter().chain(recorded.doubts()).collect();
    let mut links = vec![("answer".to_owned(), "Answer".to_owned())];
    if !compared.is_empty() {
        links.push(("recorded".to_owned(), "Next to the recording".to_owned()));
    }
    let body = html! {
        section aria-labelledby="answer" {
            h2 id="answer" { "Does it carry the load?" }
            div.verdict { ul { @for line in shown.answer() { li { (line) } } } }
            p { (shown.opening()) }
            @if let Some(production) = production.filter(|production| !production.sentence.is_empty()) {
                p { (production.sentence) }
            }
            @if !remarks.is_empty() { div.verdict { ul { @for remark in &remarks { li { (remark) } } } } }
            (charts(by_scale(&shown)))
            (table(&shown).html())
        }
        @if !compared.is_empty() {
            section aria-labelledby="recorded" {
                h2 id="recorded" { "At the recorded rate, next to the recording" }
                (charts(side_by_side(&shown)))
                (comparison(compared).html())
                p { (measured_where(compared)) }
            }
        }
    };
    Ok(shell::shell(&title, &links, &body))
}

/// The charts of a results file.
pub(super) fn all_charts(path: &Path) -> Result<Vec<Figure>, Failure> {
    let recorded: RecordedRehearsal = results_file::read(path)?;
    let shown = shown(&recorded)?;
    Ok(by_scale(&shown).into_iter().chain(side_by_side(&shown)).collect())
}

/// Response times by scale; `None` without a run.
fn by_scale(shown: &Shown<'_>) -> Option<Figure> {
    let steps = &shown.rehearsed.steps;
    let series = |is_sustained: bool| -> Vec<Series> {
        PERCENTILES
            .iter()
            .enumerate()
            .map(|(place, percent)| {
                let wanted = steps.iter().filter(|step| step.step.is_sustained == is_sustained);
                let points =
                    wanted.filter_map(|step| Some((step.step.rate, step.step.percentiles[place]?.0)));
                Series { name: format!("p{percent}"), style: place, points: points.collect() }
            })
            .collect()
    };
    let (sustained, overloaded) = (series(true), series(false));
    let all = || sustained.iter().chain(&overloaded).flat_map(|series| series.points.iter().copied());
    all().next()?;
    let x = Axis {
        label: "multiple of the recorded rate".into(),
        scale: Scale::logarithmic(all().map(|point| point.0)),
        unit: Unit::Count,
    };
    let y = Axis {
        label: "response time".into(),
        scale: Scale::logarithmic(all().map(|point| point.1)),
        unit: Unit::Latency,
    };
    let is_overloaded = overloaded.iter().any(|series| !series.points.is_empty());
    let remark = if is_overloaded { " (hollow: the target does not keep up)" } else { "" };
    let mut chart = Chart::new(&format!("Response time by scale{remark}"), x, y);
    chart.lines(&sustained, false);
    let mut table =
        Table::new(&[("line", Align::Left), ("scale", Align::Right), ("response time", Align::Right)]);
    for (full, hollow) in sustained.iter().zip(&overloaded) {
        chart.marks(full, false);
        chart.marks(hollow, true);
        for point in full.points.iter().chain(&hollow.points) {
            table.row(vec![full.name.clone(), scale_word(point.0), figures::duration(point.1)]);
        }
    }
    Some(chart.figure("by-scale", &table))
}

/// Percentiles of the recording and of the target, for each direction.
fn side_by_side(shown: &Shown<'_>) -> Option<Figure> {
    let compared = &shown.rehearsed.compared;
    let mut lines: Vec<Series> = Vec::new();
    for direction in compared {
        let word = direction.direction.word();
        let here = PERCENTILES
            .iter()
            .zip(direction.here().percentiles)
            .filter_map(|(&percent, ns)| Some((percent, ns?)));
        let recorded = PERCENTILES.iter().copied().zip(direction.recorded.percentiles);
        let style = lines.len();
        lines.push(Series { name: format!("{word}s, recorded"), style, points: recorded.collect() });
        lines.push(Series { name: format!("{word}s, here"), style: style + 1, points: here.collect() });
    }
    percentiles("Latencies at the recorded rate, recorded and here", &lines, "side-by-side")
}
