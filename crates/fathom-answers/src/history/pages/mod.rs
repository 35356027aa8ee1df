//! The history as pages for a browser: the list of runs, one run, the series with their changes, and the fleet. A server
//! puts each into a frame. The addresses are relative: `history`, `history-run`, `history-changes`, `history-fleet`.

mod fleet;
mod form;
mod query;
mod run;
mod series;

pub use query::HistoryQuery;

use super::question::Question;
use super::{condition_of, list, open};
use crate::report::runs::linked;
use crate::report::{PAGE_SCRIPT, PAGE_STYLE};
use fathom_command::Failure;
use fathom_history::{Access, Condition};
use maud::{Markup, html};
use std::ffi::{OsStr, OsString};

/// Styles and script of the pages.
pub const HISTORY_STYLE: &str = PAGE_STYLE;
/// The cursor of the charts.
pub const HISTORY_SCRIPT: &str = PAGE_SCRIPT;

/// Maximum number of runs that are judged while a browser waits.
const MOST_RUNS: u64 = 20_000;
/// Runs on one page of the list.
const ROWS: u64 = 50;

/// Which page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryPage {
    /// The runs, the newest first.
    List,
    /// One run.
    Run,
    /// The series, with their levels and changes.
    Changes,
    /// Drives or hosts that are worse than their siblings.
    Fleet,
}

/// Content of a page.
#[derive(Debug)]
pub struct HistoryContent {
    /// Heading.
    pub title: &'static str,
    /// What is below the heading.
    pub html: String,
    /// True if the question has no answer: the page then has the message.
    pub is_problem: bool,
}

/// Makes a page. `store` is what `--store` names, and `report_of` gives the address of a result's report, by the file
/// from which it was stored.
pub fn history_page(
    page: HistoryPage,
    store: &OsStr,
    query: &HistoryQuery,
    report_of: &dyn Fn(&str) -> Option<String>,
) -> HistoryContent {
    let title = match page {
        HistoryPage::List => "History",
        HistoryPage::Run => "Run of the history",
        HistoryPage::Changes => "History: changes",
        HistoryPage::Fleet => "History: fleet",
    };
    let asked = Asked { store: store.to_owned(), query };
    let answer = match page {
        HistoryPage::List => asked.list(),
        HistoryPage::Run => asked.run(report_of),
        HistoryPage::Changes => asked.changes(),
        HistoryPage::Fleet => asked.fleet(),
    };
    let html = html! {
        (form::links(page, query))
        @if page != HistoryPage::Run { (form::form(page, query)) }
        @match &answer {
            Ok(answer) => (answer),
            Err(failure) => p.verdict role="alert" { (failure) },
        }
    };
    HistoryContent { title, html: html.into_string(), is_problem: answer.is_err() }
}

/// The address of a run's page.
fn of_run(run: i64) -> Option<String> {
    Some(format!("history-run?number={run}"))
}

struct Asked<'q> {
    store: OsString,
    query: &'q HistoryQuery,
}

impl Asked<'_> {
    fn conditions(&self) -> Result<Vec<Condition>, Failure> {
        self.query.check()?;
        self.query.conditions.iter().map(|text| condition_of(text)).collect()
    }

    fn question(&self) -> Result<Question, Failure> {
        let conditions = self.conditions()?;
        // Counting is fast, and reading what would be refused is not.
        let runs =
            open(Some(&self.store), Access::Read)?.list(&conditions, 1, 0).map_err(super::failed)?.total;
        if runs > MOST_RUNS {
            return Err(Failure::new(format!(
                "{runs} runs meet the conditions, and at most {MOST_RUNS} are judged while a browser waits; add a condition, or use \
                 fathom history report or fleet"
            )));
        }
        let smallest = Some(self.query.smallest.trim()).filter(|text| !text.is_empty());
        Question::new(conditions, self.store.clone(), self.query.figures.clone(), smallest)
    }

    fn list(&self) -> Result<Markup, Failure> {
        let (conditions, skip) = (self.conditions()?, self.query.skip);
        let mut store = open(Some(&self.store), Access::Read)?;
        let page = store.list(&conditions, ROWS, skip).map_err(super::failed)?;
        let shown = page.runs.len() as u64;
        let place = |skip: u64, text: &str| html! { a href=(self.query.address("history", skip)) { (text) } };
        let rest = page.total.saturating_sub(skip.saturating_add(shown));
        Ok(html! {
            @match (page.total, shown) {
                (0, _) => p { "No run meets the conditions." },
                (total, 0) => p { "There are " (total) " runs, and none after the first " (skip) "." },
                (total, _) => p { "Runs " (skip + 1) " to " (skip + shown) " of " (total) ", the newest first." },
            }
            @if shown > 0 {
                (list::table(&page.runs).html_with(&|heading, cell| match heading {
                    "run" => linked(cell, &of_run),
                    _ => html! { (cell) },
                }))
            }
            p.row {
                @if skip > 0 { (place(0, "Newest")) (place(skip.min(page.total).saturating_sub(ROWS), "Newer")) }
                @if rest > 0 && shown > 0 { (place(skip + shown, "Older")) }
            }
        })
    }

    fn run(&self, report_of: &dyn Fn(&str) -> Option<String>) -> Result<Markup, Failure> {
        let number = super::run_numbers(&[OsString::from(self.query.number.trim())])?[0];
        let run = open(Some(&self.store), Access::Read)?.run(number).map_err(super::failed)?;
        Ok(run::content(&run, report_of(&run.record.source)))
    }

    fn changes(&self) -> Result<Markup, Failure> {
        series::content(&self.question()?)
    }

    fn fleet(&self) -> Result<Markup, Failure> {
        fleet::content(&self.question()?, &self.query.by)
    }
}
