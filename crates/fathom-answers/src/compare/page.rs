//! A comparison as a page: what is compared, each job with its figures side by side, the differences with error bars and their
//! intervals, and the percentile curves of both sides.

use super::change;
use super::matching::Pair;
use super::output::{ComparisonReport, row};
use crate::report::{self, Change, Series};
use crate::shapes;
use crate::table::{Align, Table, escape};
use std::fmt::Write as _;

/// The whole page.
pub(super) fn html(report: &ComparisonReport, title: &str) -> String {
    let mut body = String::from(
        "<section aria-labelledby=\"sides\"><h2 id=\"sides\">Compared results</h2>\n<dl class=\"facts\">",
    );
    for (letter, side, only) in
        [("A", &report.a, &report.matched.only_a), ("B", &report.b, &report.matched.only_b)]
    {
        let runs =
            if side.runs.len() == 1 { "1 run".to_owned() } else { format!("{} runs", side.runs.len()) };
        let _ = write!(body, "<dt>{letter}</dt><dd>{runs}: {}</dd>", escape(&side.sources().join(", ")));
        if !only.is_empty() {
            let _ = write!(body, "<dt>only in {letter}</dt><dd>{}</dd>", escape(&only.join("; ")));
        }
    }
    body.push_str("</dl>\n");
    body.push_str(&list("Caveats", &report.warnings));
    let outcomes: Vec<String> = report.outcomes.iter().map(super::limits::LimitOutcome::line).collect();
    body.push_str(&list("Limits (--fail-if)", &outcomes));
    body.push_str("</section>\n");
    let mut links = String::new();
    for (number, pair) in report.matched.pairs.iter().enumerate() {
        let _ = write!(links, "<li><a href=\"#pair-{number}\">{}</a></li>", escape(&pair.title()));
        body.push_str(&section(pair, number));
    }
    body.push_str(&list("How to read this", &report.notes()));
    let navigation = format!("<nav aria-label=\"Results\"><ul>{links}</ul></nav>\n");
    report::shell(title, &navigation, &body)
}

fn list(heading: &str, sentences: &[String]) -> String {
    if sentences.is_empty() {
        return String::new();
    }
    let items: String = sentences.iter().map(|sentence| format!("<li>{}</li>", escape(sentence))).collect();
    format!("<h3>{heading}</h3><ul class=\"notes\">{items}</ul>\n")
}

fn section(pair: &Pair, number: usize) -> String {
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
                value: percent(comparison.best_ratio()?),
                ends: comparison
                    .ratio
                    .map(|ratio| (percent(ratio.interval.low), percent(ratio.interval.high))),
                told: format!("{}, {}", change::in_percent(comparison), comparison.words()),
            })
        })
        .collect();
    let mut text = format!(
        "<section aria-labelledby=\"pair-{number}\"><h2 id=\"pair-{number}\">{}</h2>\n{}<div class=\"charts\">\n",
        escape(&pair.title()),
        table.html()
    );
    if !changes.is_empty() {
        text.push_str(&report::intervals(&changes, "B against A, with 95 % confidence intervals"));
    }
    if let Some(histograms) = &pair.histograms {
        let line = |style: usize| Series {
            name: ["A", "B"][style].to_owned(),
            style,
            points: shapes::curve(&histograms[style]),
        };
        let lines = [line(0), line(1)];
        text.extend(report::percentiles("Latency by percentile", &lines, &format!("pair-{number}")));
    }
    text + "</div>\n</section>\n"
}
