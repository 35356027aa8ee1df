//! The runs of a history's page: a table with an entry per run, to which marks and changes link. What is the same in
//! all of them is said once, above the table.

use super::courses::Course;
pub(crate) use super::courses::Said;
use super::shell::list;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of runs in the table.
pub(crate) const MOST: usize = 500;
/// Maximum number of figures that have their own columns; more share one.
const MOST_COLUMNS: usize = 4;
/// Maximum number of figures of a run in that column.
const MOST_FIGURES: usize = 6;

/// Where the link to a run leads, by its number; `None` if it has none.
pub(crate) type Links<'l> = &'l dyn Fn(i64) -> Option<String>;

/// A run in the table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) number: i64,
    pub(crate) begun: String,
    /// Findings of the verdict.
    pub(crate) findings: Vec<String>,
    /// The verdict, what it was on, its tags, and the rest, with names; empty ones are left out.
    pub(crate) properties: Vec<(String, String)>,
}

/// The runs in the table, and how many more are drawn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries {
    pub(crate) runs: Vec<Entry>,
    pub(crate) left_out: usize,
}

/// Sentences, each with a link to its run.
pub(crate) fn said(sentences: &[Said], links: Links<'_>) -> Markup {
    html! { @for Said { text, run } in sentences { li {
        (text)
        @if let Some((number, href)) = run.and_then(|run| Some((run, links(run)?))) { " (" a href=(href) { "run " (number) } ")" }
    } } }
}

/// A number of a run as a link, if it has one.
pub(crate) fn linked(number: &str, links: Links<'_>) -> Markup {
    let href = number.parse().ok().and_then(links);
    html! { @match href { Some(href) => a href=(href) { (number) }, None => (number) } }
}

impl Entries {
    /// Links to the entries of the table.
    pub(crate) fn links(&self) -> impl Fn(i64) -> Option<String> + use<> {
        let known: BTreeSet<i64> = self.runs.iter().map(|run| run.number).collect();
        move |run| known.contains(&run).then(|| format!("#run-{run}"))
    }

    /// The section of the page; `courses` are the figures that it shows.
    pub(crate) fn section(&self, courses: &[Course]) -> Markup {
        let (mut shared, varied) = self.divided();
        let findings = self.shared_findings();
        shared.extend(findings.iter().map(|text| ("finding".to_owned(), (*text).clone())));
        let own = |run: &'_ Entry| -> Vec<String> {
            run.findings.iter().filter(|text| !findings.contains(text)).cloned().collect()
        };
        let has_findings = self.runs.iter().any(|run| !own(run).is_empty());
        let figures = figures_of(courses);
        let has_columns = courses.len() <= MOST_COLUMNS;
        let one = |run: &Entry, course: usize| {
            let found = figures.get(&run.number)?.iter().find(|(own, _)| *own == course)?;
            Some(found.1.clone())
        };
        html! {
            section aria-labelledby="runs" {
                h2 id="runs" { "Runs" }
                @if self.left_out > 0 { p {
                    "The table has " (self.runs.len()) " runs: the newest, and those where a figure changed. " (self.left_out) " more \
                     are in the charts, without links; fathom history show NUMBER prints each."
                } }
                @if !shared.is_empty() { p { "In all of these runs:" } (list(&shared)) }
                div.scroll tabindex="0" role="region" aria-label="Table: runs" { table.runs {
                    thead { tr {
                        @for name in ["run", "begun"] { th scope="col" { (name) } }
                        @for name in &varied { th scope="col" { (name) } }
                        @if has_findings { th scope="col" { "findings" } }
                        @if has_columns { @for course in courses { th.right scope="col" { (course.title) } } }
                        @else { th scope="col" { "figures" } }
                    } }
                    tbody { @for run in &self.runs { tr id={ "run-" (run.number) } {
                        th scope="row" { (run.number) }
                        td.fixed { (run.begun) }
                        @for name in &varied { td { (run.property(name).map_or("", String::as_str)) } }
                        @if has_findings { td { ul { @for text in own(run) { li { (text) } } } } }
                        @if has_columns {
                            @for course in 0..courses.len() { td.right { (one(run, course).unwrap_or_default()) } }
                        } @else { td { (several(figures.get(&run.number), courses)) } }
                    } } }
                } }
            }
        }
    }

    /// Findings that all runs have.
    fn shared_findings(&self) -> Vec<&String> {
        let first = self.runs.first().map_or(&[][..], |run| &run.findings);
        let is_shared = |text: &&String| self.runs.iter().all(|run| run.findings.contains(text));
        first.iter().filter(is_shared).collect()
    }

    /// The properties that all runs share, and the names of those that differ.
    fn divided(&self) -> (Vec<(String, String)>, Vec<String>) {
        let (mut shared, mut varied) = (Vec::new(), Vec::new());
        let mut seen = BTreeSet::new();
        for (name, value) in self.runs.iter().flat_map(|run| &run.properties) {
            if !seen.insert(name) {
                continue;
            }
            match self.runs.iter().all(|run| run.property(name) == Some(value)) {
                true => shared.push((name.clone(), value.clone())),
                false => varied.push(name.clone()),
            }
        }
        (shared, varied)
    }
}

impl Entry {
    fn property(&self, name: &str) -> Option<&String> {
        self.properties.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }
}

/// The figures of each run: which course, and the value.
fn figures_of(courses: &[Course]) -> BTreeMap<i64, Vec<(usize, String)>> {
    let mut figures: BTreeMap<i64, Vec<(usize, String)>> = BTreeMap::new();
    for (index, course) in courses.iter().enumerate() {
        for run in &course.runs {
            figures.entry(run.number).or_default().push((index, course.unit.text(run.value)));
        }
    }
    figures
}

/// The figures of a run in one cell.
fn several(figures: Option<&Vec<(usize, String)>>, courses: &[Course]) -> Markup {
    let figures = figures.map_or(&[][..], Vec::as_slice);
    let rest = figures.len().saturating_sub(MOST_FIGURES);
    html! { ul {
        @for (course, value) in figures.iter().take(MOST_FIGURES) { li { (courses[*course].title) ": " (value) } }
        @if rest > 0 { li { "and " (rest) " more in the charts" } }
    } }
}

#[cfg(test)]
mod tests {
    use super::super::chart::scale::Unit;
    use super::super::courses::Run;
    use super::*;

    fn entry(number: i64, kernel: &str) -> Entry {
        let property = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut properties =
            vec![property("verdict", "wrong"), property("host", "db1"), property("kernel", kernel)];
        properties.extend((number == 2).then(|| property("tag a", "<script>")));
        let mut findings = vec!["wrong: too few".to_owned()];
        findings.extend((number == 2).then(|| "wrong: too <short>".to_owned()));
        Entry { number, begun: format!("night {number}"), findings, properties }
    }

    fn course(title: &str) -> Course {
        let run = |number: i64| Run {
            number,
            time: String::new(),
            value: number as f64 * 1000.0,
            is_evidence: true,
        };
        Course {
            title: title.to_owned(),
            unit: Unit::Latency,
            runs: (1..=3).map(run).collect(),
            levels: Vec::new(),
            told: Vec::new(),
        }
    }

    #[test]
    fn what_all_runs_share_is_said_once() {
        let entries = Entries { runs: vec![entry(1, "6.12.8"), entry(2, "6.12.11")], left_out: 1 };
        let section = entries.section(&[course("p99 of a")]).0;
        for once in ["db1", "too few", ">wrong<"] {
            assert_eq!(section.matches(once).count(), 1, "{once}: {section}");
        }
        for wanted in [
            "id=\"run-1\"",
            "id=\"run-2\"",
            "6.12.8",
            "2.00 µs",
            "1 more are in",
            "too &lt;short&gt;",
            "&lt;script&gt;",
        ] {
            assert!(section.contains(wanted), "{wanted}: {section}");
        }
        let links = entries.links();
        assert_eq!((links(2).as_deref(), links(3)), (Some("#run-2"), None), "those in the table only");
    }

    #[test]
    fn many_figures_share_a_column() {
        let courses: Vec<Course> = (0..9).map(|number| course(&format!("p{number} of a"))).collect();
        let section = Entries { runs: vec![entry(1, "x")], left_out: 0 }.section(&courses).0;
        assert_eq!(section.matches("<th scope=\"col\">").count(), 3, "{section}");
        assert!(section.contains("p5 of a: 1.00 µs") && !section.contains("p6 of a"), "{section}");
        assert!(section.contains("and 3 more in the charts"), "{section}");
    }
}
