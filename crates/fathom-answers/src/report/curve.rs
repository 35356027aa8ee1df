//! The page of curves: response times by offered load, with the table and the answers below each, and all of them side by side.

use super::chart::scale::{Scale, Unit};
use super::chart::{Axis, Chart, Series};
use super::page;
use crate::curve::answer::{Curve, PERCENTILES};
use crate::curve::output::{Shown, answers, table};
use crate::curve::record::RecordedCurve;
use crate::curve::shown;
use crate::figures;
use crate::results_file;
use crate::table::{Align, Table, escape};
use fathom_command::Failure;
use std::fmt::Write as _;
use std::path::Path;

/// Lines that one chart can show apart.
const STYLES: usize = 6;
/// Place of p99 among the percentiles.
const P99: usize = 1;

/// The page of a results file.
pub(super) fn page(path: &Path, title: &str) -> Result<String, Failure> {
    let recorded: RecordedCurve = results_file::read(path)?;
    let shown = shown(&recorded)?;
    let mut body = format!(
        "<section aria-labelledby=\"curves\"><h2 id=\"curves\">Response time by offered load</h2>\n<p>{}</p>\n",
        escape(&shown.opening())
    );
    let mut links = String::from("<li><a href=\"#curves\">Curves</a></li>");
    if shown.curves.len() > 1 {
        let lines: Vec<Series> = shown
            .curves
            .iter()
            .take(STYLES)
            .enumerate()
            .map(|(style, curve)| Series { name: curve.name.clone(), style, points: points(curve, P99) })
            .collect();
        body.push_str(&chart("p99 of the response time, side by side", &lines, "side-by-side"));
    }
    for (number, curve) in shown.curves.iter().enumerate() {
        let id = format!("curve-{number}");
        if !curve.name.is_empty() {
            let _ = write!(links, "<li><a href=\"#{id}\">{}</a></li>", escape(&curve.name));
        }
        body.push_str(&section(&shown, curve, &id));
    }
    body.push_str("</section>\n");
    let navigation = format!("<nav aria-label=\"Results\"><ul>{links}</ul></nav>\n");
    Ok(page::shell(title, &navigation, &body))
}

fn section(shown: &Shown<'_>, curve: &Curve, id: &str) -> String {
    let heading = if curve.name.is_empty() { "The curve" } else { &curve.name };
    let mut text = format!("<h3 id=\"{id}\">{}</h3>\n", escape(heading));
    let lines: String =
        answers(shown, curve).iter().map(|line| format!("<li>{}</li>", escape(line))).collect();
    if !lines.is_empty() {
        let _ = writeln!(text, "<div class=\"verdict\"><ul>{lines}</ul></div>");
    }
    let lines: Vec<Series> = PERCENTILES
        .iter()
        .enumerate()
        .map(|(place, percent)| Series {
            name: format!("p{percent}"),
            style: place,
            points: points(curve, place),
        })
        .collect();
    text.push_str(&chart("Response time by offered load", &lines, &format!("{id}-chart")));
    let _ = writeln!(text, "{}", table(curve).html());
    text
}

/// A percentile over the loads that are kept up with.
fn points(curve: &Curve, place: usize) -> Vec<(f64, f64)> {
    let steps = curve.steps.iter().filter(|step| step.is_sustained);
    steps.filter_map(|step| Some((step.rate, step.percentiles[place]?.0))).collect()
}

/// Empty for fewer than two loads.
fn chart(title: &str, lines: &[Series], id: &str) -> String {
    let lines: Vec<Series> = lines.iter().filter(|line| line.points.len() > 1).cloned().collect();
    if lines.is_empty() {
        return String::new();
    }
    let all = || lines.iter().flat_map(|line| line.points.iter());
    let x = Axis {
        label: "I/Os a second offered".into(),
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
    format!("<div class=\"charts\">{}</div>\n", chart.figure(id, &table))
}
