//! The page of a history: each figure over the runs, with its levels and where they changed.

use super::chart::links::Linked;
use super::chart::scale::{Scale, Unit};
use super::chart::{Axis, Chart, Figure, Series};
use super::charts::{TABLE_ROWS, charts};
use super::courses::Said;
pub(crate) use super::courses::{Course, Level, Run};
use super::runs::{Entries, Links, linked, said};
use super::shell;
use crate::table::{Align, Table};
use maud::{Markup, html};

/// Styles of the lines.
const RUNS: usize = 0;
const LEVELS: usize = 1;

/// The page of these courses. `lead` is what is said of all of them, and `entries` are their runs.
pub(crate) fn page(title: &str, lead: &[Said], courses: &[Course], entries: &Entries) -> String {
    let mut links = vec![("answer".to_owned(), "What changed".to_owned())];
    links.extend(courses.iter().enumerate().map(|(index, course)| (id_of(index), course.title.clone())));
    links.push(("runs".to_owned(), "Runs".to_owned()));
    let body = html! { (sections(lead, courses, &entries.links())) (entries.section(courses)) };
    shell::shell(title, &links, &body)
}

fn id_of(index: usize) -> String {
    format!("course-{}", index + 1)
}

/// What changed, and a section per course. Marks and changes have links to their runs.
pub(crate) fn sections(lead: &[Said], courses: &[Course], links: Links<'_>) -> Markup {
    html! {
        section aria-labelledby="answer" {
            h2 id="answer" { "What changed" }
            div.verdict { ul { (said(lead, links)) } }
            p { "Each mark is a link to its run. In a chart with the focus, Enter opens the run at the cursor." }
            @if courses.len() > 1 { (matrix(courses).html()) }
        }
        @for (index, course) in courses.iter().enumerate() {
            @let id = id_of(index);
            section aria-labelledby=(id) {
                h2 id=(id) { (course.title) }
                @if !course.told.is_empty() { ul.notes { (said(&course.told, links)) } }
                (charts([figure(course, &format!("{id}-chart"), links)]))
            }
        }
    }
}

/// All courses in one table: where they began, where they are, and how far they have gone.
fn matrix(courses: &[Course]) -> Table {
    let right = Align::Right;
    let mut table = Table::new(&[
        ("figure", Align::Left),
        ("runs", right),
        ("first level", right),
        ("level now", right),
        ("change", right),
        ("changes", right),
    ]);
    for course in courses {
        let level = |level: Option<&Level>| level.map(|level| level.centre);
        let (first, now) = (level(course.levels.first()), level(course.levels.last()));
        let text = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| course.unit.text(value));
        let change = first.zip(now).filter(|(first, _)| *first > 0.0 && course.levels.len() > 1);
        table.row(vec![
            course.title.clone(),
            course.runs.len().to_string(),
            text(first),
            text(now),
            change.map_or_else(String::new, |(first, now)| format!("{:+.1} %", (now / first - 1.0) * 100.0)),
            course.levels.len().saturating_sub(1).to_string(),
        ]);
    }
    table
}

/// The chart of a course: a mark per run, and a line per level with the interval of its median.
fn figure(course: &Course, id: &str, links: Links<'_>) -> Figure {
    let place = |index: usize| index as f64 + 1.0;
    let ends = course.levels.iter().filter_map(|level| level.ends).flat_map(|(low, high)| [low, high]);
    let x = Axis {
        label: "run, the oldest first".to_owned(),
        scale: Scale::up_to_last([place(course.runs.len())].into_iter()),
        unit: Unit::Count,
    };
    let y = Axis {
        label: course.title.clone(),
        scale: Scale::around(course.runs.iter().map(|run| run.value).chain(ends)),
        unit: course.unit,
    };
    let mut chart = Chart::new(&course.title, x, y);
    chart.linked_marks(marks(course, links), RUNS);
    let levels = course.levels.iter().flat_map(|level| {
        let (first, last) = level.runs;
        [(place(first) - 0.5, level.centre), (place(last) + 0.5, level.centre)]
    });
    let name = "level, with the interval of its median".to_owned();
    chart.bare_line(&Series { name, style: LEVELS, points: levels.collect() });
    let intervals = course.levels.iter().filter_map(|level| {
        let (low, high) = level.ends?;
        Some((place(level.runs.0 + level.runs.1) / 2.0 + 0.5, low, high))
    });
    chart.intervals(&intervals.collect::<Vec<_>>(), LEVELS, (0, 1));
    let table = table(course).html_with(&|heading, cell| match heading {
        "run" => linked(cell, links),
        _ => html! { (cell) },
    });
    chart.figure_with(id, table)
}

/// The runs in the chart, with what the cursor says at each.
fn marks(course: &Course, links: Links<'_>) -> Vec<Linked> {
    let runs = course.runs.iter().enumerate();
    runs.map(|(index, run)| {
        let doubt = if run.is_evidence { "" } else { " (wrong: no evidence)" };
        Linked {
            x: index as f64 + 1.0,
            y: run.value,
            told: format!("run {}, {}: {}{doubt}", run.number, run.time, course.unit.text(run.value)),
            href: links(run.number),
            is_hollow: !run.is_evidence,
        }
    })
    .collect()
}

fn table(course: &Course) -> Table {
    let right = Align::Right;
    let mut table = Table::new(&[
        ("run", right),
        ("time", Align::Left),
        ("value", right),
        ("level", right),
        ("", Align::Left),
    ]);
    let step = course.runs.len().div_ceil(TABLE_ROWS).max(1);
    for (index, run) in course.runs.iter().enumerate().step_by(step) {
        let level = course.levels.iter().find(|level| (level.runs.0..=level.runs.1).contains(&index));
        table.row(vec![
            run.number.to_string(),
            run.time.clone(),
            course.unit.text(run.value),
            level.map_or_else(String::new, |level| course.unit.text(level.centre)),
            if run.is_evidence { String::new() } else { "wrong".to_owned() },
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::runs::Entry;
    use super::*;

    #[test]
    fn runs_levels_and_doubts_are_drawn_and_told() {
        let run = |number: i64| Run {
            number,
            time: format!("night {number}"),
            value: if number <= 6 { 100_000.0 } else { 123_000.0 },
            is_evidence: number != 4,
        };
        let level = |first, last, centre| Level {
            runs: (first, last),
            centre,
            ends: Some((centre - 1000.0, centre + 1000.0)),
        };
        let course = |title: &str| Course {
            title: title.to_owned(),
            unit: Unit::Latency,
            runs: (1..=12).map(run).collect(),
            levels: vec![level(0, 5, 100_000.0), level(6, 11, 123_000.0)],
            told: vec![Said { text: "since night 7, +23 %".to_owned(), run: Some(7) }],
        };
        let entry = |number| Entry { number, ..Entry::default() };
        let entries = Entries { runs: (3..=12).map(entry).collect(), left_out: 2 };
        let lead = ["one <change>".to_owned().into()];
        let page = page("Nights", &lead, &[course("p99 of a"), course("p99 of b")], &entries);
        assert_eq!(page.matches("<figure ").count(), 2);
        assert_eq!(page.matches("class=\"mark s0\"").count(), 22, "the runs that count");
        assert_eq!(page.matches("class=\"hollow s0\"").count(), 2, "the wrong ones");
        assert_eq!(
            page.matches("<a href=\"#run-4\" tabindex=\"-1\" aria-label=\"run 4, night 4: 100 µs").count(),
            2
        );
        assert!(page.contains("+23 % (<a href=\"#run-7\">run 7</a>)") && page.contains("<tr id=\"run-7\">"));
        assert!(!page.contains("#run-2\""), "a run without an entry has no links");
        for wanted in ["one &lt;change&gt;", "run 4, night 4: 100 µs (wrong: no evidence)", "+23.0 %"] {
            assert!(page.contains(wanted), "{wanted}: {page}");
        }
    }

    #[test]
    fn a_history_without_levels_has_its_page() {
        let run = Run { number: 1, time: "-".to_owned(), value: 5.0, is_evidence: true };
        let course = Course {
            title: "iops".to_owned(),
            unit: Unit::Count,
            runs: vec![run],
            levels: Vec::new(),
            told: vec!["not enough runs".to_owned().into()],
        };
        assert!(page("x", &[], &[course], &Entries::default()).contains("not enough runs"));
    }
}
