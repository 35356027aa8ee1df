//! Prints a comparison as text, tables, CSV and JSON.

use super::answer;
use super::change;
use super::chart;
use super::input::Side;
use super::limits::LimitOutcome;
use super::matching::{Matched, Pair};
use crate::bars::Ink;
use crate::columns;
use crate::measures::comparison::Summary;
use crate::measures::{Comparison, ComparisonVerdict, Figure};
use crate::table::{Align, Table};
use serde_json::{Value as Json, json};

/// A comparison with everything that is printed about it.
pub(super) struct ComparisonReport {
    pub(super) a: Side,
    pub(super) b: Side,
    pub(super) matched: Matched,
    /// Reasons why the results are hard to compare.
    pub(super) warnings: Vec<String>,
    /// Outcomes of the conditions.
    pub(super) outcomes: Vec<LimitOutcome>,
    /// Characters for drawing distributions; `None` to leave them out.
    pub(super) ink: Option<Ink>,
    /// Width of the reader's terminal in columns, if there is a terminal.
    pub(super) limit: Option<usize>,
}

/// Maximum number of jobs and directions whose distributions are drawn on a terminal.
const MOST_CHARTED: usize = 4;

fn effect(comparison: &Comparison) -> String {
    comparison.hedges_g.map_or_else(|| "-".to_owned(), |g| format!("{g:+.1}"))
}

impl ComparisonReport {
    /// Exit code of the program.
    pub(super) fn exit(&self) -> u8 {
        match () {
            () if self.outcomes.iter().any(LimitOutcome::is_met) => 2,
            // A comparison with a wrong result must not pass.
            () if self.outcomes.iter().any(LimitOutcome::is_refused) => 1,
            () => 0,
        }
    }

    /// Wraps a sentence at the terminal's width or 80 columns. On a terminal, a name wider than a line is
    /// truncated.
    fn sentence(&self, text: &str, indent: usize) -> String {
        let room = self.limit.map(|columns| columns.saturating_sub(indent));
        columns::hanging(&columns::words_cut_to(text, room), indent, self.limit.unwrap_or(columns::USUAL))
    }

    /// Text for people, wrapped at the terminal's width or 80 columns.
    pub(super) fn text(&self) -> String {
        let mut text = self.sentence(&answer::sentence(&self.matched), 0) + &self.heading();
        for warning in &self.warnings {
            text.push_str(&self.sentence(&format!("warning: {warning}"), 9));
        }
        for pair in &self.matched.pairs {
            let left = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Name];
            let headings = ["", "A", "B", "B against A", ""];
            let columns: Vec<(&str, Align)> = headings.into_iter().zip(left).collect();
            let mut table = Table::new(&columns);
            for comparison in &pair.comparisons {
                table.row(row(comparison));
            }
            text.push_str(&format!(
                "\n{}\n{}",
                columns::cut_to(&pair.title(), self.limit),
                table.text(2, self.limit)
            ));
            let ink = self.ink.filter(|_| !self.omits_charts());
            if let (Some(ink), Some(histograms)) = (ink, &pair.histograms) {
                text.push('\n');
                text.push_str(&chart::overlay(histograms, ink));
            }
        }
        text.push('\n');
        for note in self.notes() {
            text.push_str(&self.sentence(&note, 0));
        }
        for outcome in &self.outcomes {
            text.push_str(&self.sentence(&outcome.line(), 2));
        }
        text
    }

    /// Lines about the outcomes of the conditions.
    pub(super) fn outcome_lines(&self) -> String {
        self.outcomes.iter().map(|outcome| outcome.line() + "\n").collect()
    }

    /// Messages about pairs of which one side has wrong figures.
    pub(super) fn refusals(&self) -> Vec<String> {
        let is_refused = |pair: &&Pair| pair.comparisons.iter().any(|comparison| comparison.is_refused);
        let left_out = self.matched.pairs.iter().filter(is_refused);
        left_out
            .map(|pair| {
                format!(
                    "fathom compare: {} is left out: the figures of one side are judged wrong; see fathom explain",
                    pair.title()
                )
            })
            .collect()
    }

    /// One Markdown table, preceded by the warnings.
    pub(super) fn markdown(&self) -> String {
        let mut text = format!("{}\n\n", answer::sentence(&self.matched));
        text.extend(self.warnings.iter().map(|warning| format!("> {warning}\n>\n")));
        if !self.warnings.is_empty() {
            text.push('\n');
        }
        let mut table = Table::new(&[
            ("Job", Align::Left),
            ("Figure", Align::Left),
            ("A", Align::Right),
            ("B", Align::Right),
            ("B against A", Align::Right),
            ("Effect (g)", Align::Right),
            ("", Align::Left),
        ]);
        for pair in &self.matched.pairs {
            for comparison in &pair.comparisons {
                let mut cells = row(comparison);
                cells.insert(0, pair.title());
                cells.pop();
                cells.extend([effect(comparison), comparison.words().to_owned()]);
                table.row(cells);
            }
        }
        text.push_str(&table.markdown());
        for note in self.notes() {
            text.push_str(&format!("\n{note}\n"));
        }
        text
    }

    /// One line per job, direction and figure. A missing value is an empty field.
    pub(super) fn csv(&self) -> String {
        const HEADINGS: [&str; 19] = [
            "job",
            "direction",
            "figure",
            "unit",
            "a_runs",
            "a_median",
            "a_low",
            "a_high",
            "b_runs",
            "b_median",
            "b_low",
            "b_high",
            "change_percent",
            "change_low",
            "change_high",
            "hedges_g",
            "cliffs_delta",
            "rank_p",
            "verdict",
        ];
        let mut table = Table::new(&HEADINGS.map(|heading| (heading, Align::Left)));
        for pair in &self.matched.pairs {
            for comparison in &pair.comparisons {
                let object = figure_json(pair, comparison);
                let field = |name: &str| match &object[name] {
                    Json::Null => String::new(),
                    Json::String(text) => text.clone(),
                    other => other.to_string(),
                };
                table.row(HEADINGS.iter().map(|name| field(name)).collect());
            }
        }
        table.csv()
    }

    /// The complete comparison.
    pub(super) fn json(&self) -> String {
        let comparisons =
            self.matched.pairs.iter().flat_map(|pair| {
                pair.comparisons.iter().map(move |comparison| figure_json(pair, comparison))
            });
        let outcomes = self.outcomes.iter().map(|outcome| {
            json!({"limit": outcome.limit, "job": outcome.title, "outcome": outcome.word(), "found": outcome.found})
        });
        let document = json!({
            "answer": answer::sentence(&self.matched),
            "a": self.a.sources(),
            "b": self.b.sources(),
            "warnings": self.warnings,
            "only_in_a": self.matched.only_a,
            "only_in_b": self.matched.only_b,
            "comparisons": comparisons.collect::<Vec<Json>>(),
            "fail_if": outcomes.collect::<Vec<Json>>(),
            "notes": self.notes(),
        });
        format!("{document:#}\n")
    }

    fn heading(&self) -> String {
        let side = |letter: char, side: &Side| {
            let runs = match side.runs.len() {
                1 => "1 run".to_owned(),
                count => format!("{count} runs"),
            };
            self.sentence(&format!("{letter}: {runs}: {}", side.sources().join(", ")), 3)
        };
        let only = |letter: char, names: &[String]| match names {
            [] => String::new(),
            names => self.sentence(&format!("only in {letter}: {}", names.join("; ")), 3),
        };
        side('A', &self.a)
            + &side('B', &self.b)
            + &only('A', &self.matched.only_a)
            + &only('B', &self.matched.only_b)
    }

    /// Explanations of the figures.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let is_percentile_told = |comparison: &Comparison| {
            matches!(comparison.figure, Figure::Percentile(_)) && comparison.ratio.is_some()
        };
        let supposes =
            |pair: &Pair| pair.supposes_independence && pair.comparisons.iter().any(is_percentile_told);
        let all = || self.matched.pairs.iter().flat_map(|pair| &pair.comparisons);
        let is_single = |comparison: &Comparison| comparison.a.runs == 1 && comparison.b.runs == 1;
        let is_mixed = |comparison: &Comparison| (comparison.a.runs == 1) != (comparison.b.runs == 1);
        let is_told = |comparison: &Comparison| is_single(comparison) && comparison.ratio.is_some();
        if all().any(is_single) && !all().any(is_told) {
            notes.push(
                "One run of each, with too little data about the variation within them to distinguish a \
                difference from chance; repeat the runs, or make them longer."
                    .to_owned(),
            );
        } else if all().any(is_single) {
            notes.push(
                "One run of each: the intervals (95 %) come from the variation within the runs. They do not say how \
                 far off the next run may be; repeat the runs to find out."
                    .to_owned(),
            );
        }
        if all().any(is_mixed) {
            notes.push("One run against several: the intervals assume that it varies as they do.".to_owned());
        }
        if all().any(|comparison| comparison.a.runs > 1 || comparison.b.runs > 1) {
            notes.push("Medians of the runs; differences with 95 % confidence intervals.".to_owned());
        }
        if self.matched.pairs.iter().any(supposes) {
            notes.push(
                "A result has too little data over time: intervals of percentiles treat each I/O as an independent measurement, and \
                 are too narrow if slow I/Os came in bursts."
                    .to_owned(),
            );
        }
        let judged = |verdict: ComparisonVerdict| all().any(|comparison| comparison.verdict() == verdict);
        if judged(ComparisonVerdict::TooFew) {
            notes.push(
                "Too few I/Os: a percentile is compared where at least 10 I/Os of each side were slower; run for longer."
                    .to_owned(),
            );
        }
        if judged(ComparisonVerdict::UnlikeCounts) {
            notes.push(
                "The slowest of more I/Os is slower: maxima of different numbers of I/Os are not compared."
                    .to_owned(),
            );
        }
        if judged(ComparisonVerdict::Unresolved) {
            notes.push(
                "Below resolution: latencies below 500 ns that differ by less than 50 ns (the clock), or percentiles at most one \
                 histogram bin (1.6 %) apart, count as equal."
                    .to_owned(),
            );
        }
        if judged(ComparisonVerdict::Scattered) {
            notes.push(
                "Where the measurements of a side scatter by orders of magnitude, no interval says anything; fathom \
                 explain says what disturbed a run."
                    .to_owned(),
            );
        }
        if self.omits_charts() {
            notes.push(format!(
                "The distributions of {} jobs are on the page: -o FILE.",
                self.matched.pairs.len()
            ));
        }
        notes
    }

    /// True if there are too many charts for a terminal.
    fn omits_charts(&self) -> bool {
        self.ink.is_some() && self.matched.pairs.len() > MOST_CHARTED
    }
}

/// The cells of a row: figure, A, B, change, verdict.
pub(super) fn row(comparison: &Comparison) -> Vec<String> {
    let figure = comparison.figure;
    let effect =
        comparison.hedges_g.filter(|_| comparison.ratio.is_some_and(|ratio| ratio.is_distinguishable()));
    let verdict = match effect {
        Some(g) => format!("{} (g {g:+.1})", comparison.words()),
        None => comparison.words().to_owned(),
    };
    vec![
        figure.heading(),
        figure.text(comparison.a.median),
        figure.text(comparison.b.median),
        change::in_percent(comparison),
        verdict,
    ]
}

fn figure_json(pair: &Pair, comparison: &Comparison) -> Json {
    let end = |summary: Summary, high: bool| {
        summary.interval.map(|interval| if high { interval.high } else { interval.low })
    };
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let (a, b) = (comparison.a, comparison.b);
    json!({
        "job": pair.job,
        "direction": pair.direction,
        "figure": comparison.figure.heading(),
        "unit": comparison.figure.unit(),
        "a_runs": a.runs,
        "a_median": a.median,
        "a_low": end(a, false),
        "a_high": end(a, true),
        "b_runs": b.runs,
        "b_median": b.median,
        "b_low": end(b, false),
        "b_high": end(b, true),
        "change_percent": comparison.plain_ratio.map(percent),
        "change_low": comparison.ratio.map(|ratio| percent(ratio.interval.low)),
        "change_high": comparison.ratio.map(|ratio| percent(ratio.interval.high)),
        "hedges_g": comparison.hedges_g,
        "cliffs_delta": comparison.cliffs_delta,
        "rank_p": comparison.rank_p,
        "verdict": comparison.words(),
    })
}
