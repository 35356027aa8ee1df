//! The page of a fleet: which drives are worse than their siblings, and how the drives of each group are distributed.

use super::chart::links::Linked;
use super::chart::scale::{Scale, Unit};
use super::chart::{Axis, Chart, Figure, Series};
use super::charts::{TABLE_ROWS, charts};
use super::runs::{Entries, Links, linked};
use super::shell::{self, sentences};
use crate::table::{Align, Table};
use maud::{Markup, html};

/// Styles of drives, and of the median of all.
const DRIVES: usize = 0;
const SIBLINGS: usize = 1;

/// One figure of siblings.
#[derive(Clone, Debug)]
pub(crate) struct Distribution {
    /// Which figure, of which group.
    pub(crate) title: String,
    /// The figure alone.
    pub(crate) figure: String,
    /// Its unit.
    pub(crate) unit: Unit,
    /// What the siblings are: `drive` or `host`.
    pub(crate) noun: &'static str,
    /// The siblings, the worst first.
    pub(crate) drives: Vec<Drive>,
    /// Their median.
    pub(crate) centre: f64,
    /// One robust standard deviation around it; `None` for too few siblings.
    pub(crate) ends: Option<(f64, f64)>,
}

/// One of the siblings.
#[derive(Clone, Debug)]
pub(crate) struct Drive {
    /// Its name.
    pub(crate) name: String,
    /// The median of its runs.
    pub(crate) value: f64,
    /// Number of its newest run.
    pub(crate) run: i64,
    /// True if it is worse than its siblings.
    pub(crate) is_worse: bool,
}

/// The answer of `fathom history fleet`.
pub(crate) struct FleetAnswer {
    /// What was judged, in sentences.
    pub(crate) summary: Vec<String>,
    /// The drives that are worse, the one that is furthest off first; `None` without any.
    pub(crate) worse: Option<Table>,
    /// The figures of all groups.
    pub(crate) distributions: Vec<Distribution>,
}

/// The page; `entries` are the runs of the drives that are worse.
pub(crate) fn page(title: &str, answer: &FleetAnswer, entries: &Entries) -> String {
    let mut links = vec![("answer".to_owned(), "Worse than their siblings".to_owned())];
    let titles = answer.distributions.iter().enumerate();
    links.extend(titles.map(|(index, distribution)| (id_of(index), distribution.title.clone())));
    let has_runs = !entries.runs.is_empty();
    if has_runs {
        links.push(("runs".to_owned(), "Runs".to_owned()));
    }
    let body = html! {
        (sections(answer, &entries.links()))
        @if has_runs { (entries.section(&[])) }
    };
    shell::shell(title, &links, &body)
}

fn id_of(index: usize) -> String {
    format!("siblings-{}", index + 1)
}

/// The drives that are worse, and a section per distribution. Drives have links to their runs.
pub(crate) fn sections(answer: &FleetAnswer, links: Links<'_>) -> Markup {
    html! {
        section aria-labelledby="answer" {
            h2 id="answer" { "Worse than their siblings" }
            div.verdict { (sentences(&answer.summary)) }
            @if let Some(worse) = &answer.worse {
                (worse.html_with(&|heading, cell| match heading {
                    "runs" => html! { @for run in cell.split(' ') { (linked(run, links)) " " } },
                    _ => html! { (cell) },
                }))
            }
        }
        @for (index, distribution) in answer.distributions.iter().enumerate() {
            @let id = id_of(index);
            section aria-labelledby=(id) {
                h2 id=(id) { (distribution.title) }
                p { "A mark per " (distribution.noun) ", the worst first: full for those in the list above, hollow for all others." }
                (charts([figure(distribution, &format!("{id}-chart"), links)]))
            }
        }
    }
}

/// The siblings in order, and the middle of them.
fn figure(distribution: &Distribution, id: &str, links: Links<'_>) -> Figure {
    let Distribution { unit, noun, drives, centre, ends, .. } = distribution;
    let count = drives.len() as f64;
    let lines = ends.iter().flat_map(|(low, high)| [*low, *high]).chain([*centre]);
    let x = Axis {
        label: format!("{noun}, the worst first"),
        scale: Scale::up_to_last([count].into_iter()),
        unit: Unit::Count,
    };
    let y = Axis {
        label: distribution.figure.clone(),
        scale: Scale::around(drives.iter().map(|drive| drive.value).chain(lines)),
        unit: *unit,
    };
    let mut chart = Chart::new(&distribution.title, x, y);
    let marks = (1..).zip(drives).map(|(place, drive)| {
        let worse = if drive.is_worse { ", worse than its siblings" } else { "" };
        Linked {
            x: f64::from(place),
            y: drive.value,
            told: format!("{}: {}{worse}", drive.name, unit.text(drive.value)),
            href: links(drive.run),
            is_hollow: !drive.is_worse,
        }
    });
    chart.linked_marks(marks.collect(), DRIVES);
    let across = |value: f64| vec![(0.5, value), (count + 0.5, value)];
    chart.bare_line(&Series {
        name: format!("median of the {noun}s"),
        style: SIBLINGS,
        points: across(*centre),
    });
    if let Some((low, high)) = *ends {
        chart.intervals(&[((count + 1.0) / 2.0, low, high)], SIBLINGS, (0, 1));
    }
    chart.figure(id, &table(distribution))
}

fn table(distribution: &Distribution) -> Table {
    let mut table =
        Table::new(&[(distribution.noun, Align::Name), ("value", Align::Right), ("", Align::Left)]);
    let step = distribution.drives.len().div_ceil(TABLE_ROWS).max(1);
    let rows = distribution.drives.iter().enumerate();
    for (_, drive) in rows.filter(|(index, drive)| drive.is_worse || index % step == 0) {
        let worse = if drive.is_worse { "worse than its siblings" } else { "" };
        table.row(vec![drive.name.clone(), distribution.unit.text(drive.value), worse.to_owned()]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_are_marks_and_outliers_are_full_ones() {
        let drive = |number: i64| Drive {
            name: format!("S{number}<b>"),
            value: 1e6 + number as f64,
            run: number,
            is_worse: number == 3,
        };
        let distribution = Distribution {
            title: "p99 of X".to_owned(),
            figure: "p99".to_owned(),
            unit: Unit::Latency,
            noun: "drive",
            drives: (1..=12).map(drive).collect(),
            centre: 1e6,
            ends: Some((0.9e6, 1.1e6)),
        };
        let answer = FleetAnswer {
            summary: vec!["1 of 12 drives".to_owned()],
            worse: Some(table(&distribution)),
            distributions: vec![distribution],
        };
        let text = page("Fleet", &answer, &Entries::default());
        assert_eq!(
            (text.matches("class=\"mark s0\"").count(), text.matches("class=\"hollow s0\"").count()),
            (1, 11)
        );
        assert!(text.contains("S3&lt;b&gt;: 1.00 ms, worse than its siblings"), "{text}");
        assert!(!text.contains("<b>") && !text.contains("id=\"runs\""));
    }
}
