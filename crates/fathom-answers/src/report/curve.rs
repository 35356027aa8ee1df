//! The page of curves: response times by offered load for each curve, with its table and answers, and a
//! comparison of all curves.

use super::chart::scale::{Scale, Unit};
use super::chart::{Axis, Chart, Figure, Series};
use super::charts::charts;
use super::shell;
use crate::curve::answer::Curve;
use crate::curve::output::{Shown, answers, table};
use crate::curve::record::RecordedCurve;
use crate::curve::shown;
use crate::figures;
use crate::loads::step::PERCENTILES;
use crate::results_file;
use crate::table::{Align, Table};
use fathom_command::Failure;
use maud::{Markup, html};
use std::path::Path;

/// Maximum number of lines that can be told apart in one chart.
const STYLES: usize = 6;
/// Index of p99 among the percentiles.
const P99: usize = 1;

/// The page of a results file.
pub(super) fn page(path: &Path, title: Option<&str>) -> Result<String, Failure> {
    let title = title.map_or_else(|| format!("Curve: {}", path.display()), str::to_owned);
    let recorded: RecordedCurve = results_file::read(path)?;
    let shown = shown(&recorded)?;
    let named = shown.curves.iter().enumerate().filter(|(_, curve)| !curve.name.is_empty());
    let mut links = vec![("curves".to_owned(), "Curves".to_owned())];
    links.extend(named.map(|(number, curve)| (id_of(number), curve.name.clone())));
    let body = html! {
        section aria-labelledby="curves" {
            h2 id="curves" { "Response time by offered load" }
            p { (shown.opening()) }
            @let doubts = shown.recorded.doubts();
            @if !doubts.is_empty() { div.verdict { ul { @for doubt in doubts { li { (doubt) } } } } }
            @if let Some(figure) = side_by_side(&shown.curves) { (charts([figure])) }
            @for (number, curve) in shown.curves.iter().enumerate() { (section(&shown, curve, &id_of(number))) }
        }
    };
    Ok(shell::shell(&title, &links, &body))
}

/// The charts of a results file.
pub(super) fn all_charts(path: &Path) -> Result<Vec<Figure>, Failure> {
    let recorded: RecordedCurve = results_file::read(path)?;
    let shown = shown(&recorded)?;
    let curves = shown.curves.iter().enumerate();
    let of_curves = curves.filter_map(|(number, curve)| chart_of(curve, &id_of(number)));
    Ok(side_by_side(&shown.curves).into_iter().chain(of_curves).collect())
}

fn id_of(curve: usize) -> String {
    format!("curve-{curve}")
}

/// One line of a chart.
struct Line {
    /// The sustained loads.
    sustained: Series,
    /// Loads that the storage does not sustain.
    overloaded: Series,
    /// The rate and both ends of each interval.
    intervals: Vec<(f64, f64, f64)>,
}

impl Line {
    /// A line of one percentile over the offered loads.
    fn of(curve: &Curve, place: usize, name: String, style: usize) -> Line {
        let points = |is_sustained: bool| {
            let steps = curve.steps.iter().filter(|step| step.is_sustained == is_sustained);
            steps.filter_map(|step| Some((step.rate, step.percentiles[place]?.0))).collect()
        };
        let series = |is_sustained| Series { name: name.clone(), style, points: points(is_sustained) };
        let intervals = curve.steps.iter().filter_map(|step| {
            let interval = step.percentiles[place]?.1?;
            Some((step.rate, interval.low, interval.high))
        });
        Line { sustained: series(true), overloaded: series(false), intervals: intervals.collect() }
    }

    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.sustained.points.iter().chain(&self.overloaded.points).copied()
    }
}

/// A chart that compares all curves; `None` if there is only one.
fn side_by_side(curves: &[Curve]) -> Option<Figure> {
    if curves.len() < 2 {
        return None;
    }
    let named = curves.iter().take(STYLES).enumerate();
    let lines: Vec<Line> =
        named.map(|(style, curve)| Line::of(curve, P99, curve.name.clone(), style)).collect();
    chart("p99 of the response time, side by side", &lines, "side-by-side")
}

fn section(shown: &Shown<'_>, curve: &Curve, id: &str) -> Markup {
    let answers = answers(shown, curve);
    html! {
        h3 id=(id) { @if curve.name.is_empty() { "The curve" } @else { (curve.name) } }
        @if !answers.is_empty() { div.verdict { ul { @for answer in answers { li { (answer) } } } } }
        @if let Some(figure) = chart_of(curve, id) { (charts([figure])) }
        (table(curve).html())
    }
}

fn chart_of(curve: &Curve, id: &str) -> Option<Figure> {
    let percentiles = PERCENTILES.iter().enumerate();
    let lines: Vec<Line> =
        percentiles.map(|(place, percent)| Line::of(curve, place, format!("p{percent}"), place)).collect();
    chart("Response time by offered load", &lines, &format!("{id}-chart"))
}

/// A chart of these lines; `None` without a load.
fn chart(title: &str, lines: &[Line], id: &str) -> Option<Figure> {
    let all = || lines.iter().flat_map(Line::points);
    all().next()?;
    let ends = lines.iter().flat_map(|line| &line.intervals).flat_map(|&(_, low, high)| [low, high]);
    let x = Axis {
        label: "I/Os per second offered".into(),
        scale: Scale::linear(all().map(|point| point.0)),
        unit: Unit::Count,
    };
    let y = Axis {
        label: "response time".into(),
        scale: Scale::logarithmic(all().map(|point| point.1).chain(ends)),
        unit: Unit::Latency,
    };
    let is_overloaded = lines.iter().any(|line| !line.overloaded.points.is_empty());
    let remark =
        if is_overloaded { " (hollow: more than the storage sustains, the queue grows)" } else { "" };
    let mut chart = Chart::new(&format!("{title}{remark}"), x, y);
    let sustained: Vec<Series> = lines.iter().map(|line| line.sustained.clone()).collect();
    chart.lines(&sustained, false);
    let mut table = Table::new(&[
        ("line", Align::Left),
        ("offered", Align::Right),
        ("response time", Align::Right),
        ("sustained", Align::Left),
    ]);
    for (number, line) in lines.iter().enumerate() {
        chart.intervals(&line.intervals, line.sustained.style, (number, lines.len()));
        for (series, is_sustained) in [(&line.sustained, true), (&line.overloaded, false)] {
            chart.marks(series, !is_sustained);
            for point in &series.points {
                let word = if is_sustained { "yes" } else { "no" };
                let (rate, time) = (figures::count(point.0), figures::duration(point.1));
                table.row(vec![series.name.clone(), rate, time, word.to_owned()]);
            }
        }
    }
    Some(chart.figure(id, &table))
}
