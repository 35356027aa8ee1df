//! A comparison as an HTML page. For each job it shows the figures of both sides, their differences with error
//! bars and intervals, and both percentile curves.

use super::answer;
use super::change;
use super::matching::Pair;
use super::output::{ComparisonReport, row};
use crate::report::{self, Change, Link, Series};
use crate::shapes;
use crate::table::{Align, Table};
use maud::{Markup, Render, html};

/// The whole page.
pub(super) fn html(report: &ComparisonReport, title: &str) -> String {
    let sides = [("A", &report.a, &report.matched.only_a), ("B", &report.b, &report.matched.only_b)];
    let outcomes: Vec<String> = report.outcomes.iter().map(super::limits::LimitOutcome::line).collect();
    let pairs = || report.matched.pairs.iter().enumerate();
    let body = html! {
        section aria-labelledby="sides" {
            p.answer { (answer::sentence(&report.matched)) }
            h2 id="sides" { "Compared results" }
            dl.facts { @for (letter, side, only) in sides {
                dt { (letter) }
                dd {
                    @if side.runs.len() == 1 { "1 run" } @else { (side.runs.len()) " runs" }
                    ": " (side.sources().join(", "))
                }
                @if !only.is_empty() { dt { "only in " (letter) } dd { (only.join("; ")) } }
            } }
            (list("Warnings", &report.warnings))
            (list("Limits (--fail-if)", &outcomes))
        }
        @for (number, pair) in pairs() { (section(pair, &id_of(number))) }
        (list("How to read this", &report.notes()))
    };
    let links: Vec<Link> = pairs().map(|(number, pair)| (id_of(number), pair.title())).collect();
    report::shell(title, &links, &body)
}

fn id_of(pair: usize) -> String {
    format!("pair-{pair}")
}

fn list(heading: &str, sentences: &[String]) -> Markup {
    html! { @if !sentences.is_empty() { h3 { (heading) } (report::sentences(sentences)) } }
}

fn section(pair: &Pair, id: &str) -> Markup {
    let right = Align::Right;
    let mut table = Table::new(&[
        ("figure", Align::Left),
        ("A", right),
        ("B", right),
        ("B against A", right),
        ("", Align::Left),
    ]);
    pair.comparisons.iter().for_each(|comparison| table.row(row(comparison)));
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let changes: Vec<Change> = pair
        .comparisons
        .iter()
        .filter_map(|comparison| {
            Some(Change {
                name: comparison.figure.heading(),
                value: percent(comparison.plain_ratio?),
                ends: comparison
                    .ratio
                    .map(|ratio| (percent(ratio.interval.low), percent(ratio.interval.high))),
                told: format!("{}, {}", change::in_percent(comparison), comparison.words()),
            })
        })
        .collect();
    let curves = pair.histograms.as_ref().and_then(|histograms| {
        let line = |style: usize| Series {
            name: ["A", "B"][style].to_owned(),
            style,
            points: shapes::curve(&histograms[style], pair.max_ns[style]),
        };
        report::percentiles("Latency by percentile", &[line(0), line(1)], id)
    });
    let differences = (!changes.is_empty())
        .then(|| report::intervals(&changes, "B against A, with 95 % confidence intervals"));
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (pair.title()) }
            (table.html())
            (report::charts(differences.into_iter().chain(curves.map(|curves| curves.render()))))
        }
    }
}
