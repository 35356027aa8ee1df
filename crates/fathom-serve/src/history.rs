//! The pages of the history (`--history`): content from the commands, in the frame of this page. They have no scripts but
//! the cursor of their charts, so that a text in the store cannot be one.

use crate::folder::Results;
use fathom_answers::{HistoryPage, HistoryQuery, Keeper, history_page};
use fathom_command::Failure;
use fathom_command::printer::harmless;
use maud::{PreEscaped, html};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path};

/// Maximum length of the part of an address after its question mark, in bytes.
const MOST_QUERY: usize = 8 << 10;

/// The store.
#[derive(Clone, Debug)]
pub(crate) struct History {
    /// Its name, as `--history` takes it.
    pub(crate) store: OsString,
    /// The same for people.
    pub(crate) shown: String,
}

/// A page that a browser asks for.
pub(crate) struct HistoryRequest {
    page: HistoryPage,
    query: String,
    history: History,
    results: Results,
}

/// A page, and whether it has a message instead of an answer.
pub(crate) struct Made {
    pub(crate) html: String,
    pub(crate) is_problem: bool,
}

impl History {
    /// Makes sure that runs can be added to the store, which is the usual one without a name.
    pub(crate) fn open(named: Option<&OsStr>) -> Result<History, Failure> {
        let keeper = Keeper::begin(named)?;
        Ok(History { store: keeper.name(named)?, shown: keeper.shown() })
    }

    /// The request for the page of this name; `None` for any other name.
    pub(crate) fn request(
        &self,
        name: &str,
        query: Option<&str>,
        results: &Results,
    ) -> Option<HistoryRequest> {
        let page = match name {
            "history" => HistoryPage::List,
            "history-run" => HistoryPage::Run,
            "history-changes" => HistoryPage::Changes,
            "history-fleet" => HistoryPage::Fleet,
            _ => return None,
        };
        let query = query.unwrap_or_default().to_owned();
        Some(HistoryRequest { page, query, history: self.clone(), results: results.clone() })
    }
}

impl HistoryRequest {
    /// Asks the store and makes the page. This may take seconds.
    pub(crate) fn make(&self) -> Made {
        if self.query.len() > MOST_QUERY {
            let text =
                format!("The address is too long: at most {MOST_QUERY} bytes follow its question mark.");
            return Made {
                html: framed("History", &html! { p.verdict role="alert" { (text) } }.into_string()),
                is_problem: true,
            };
        }
        let report_of = |source: &str| report_of(source, &self.results);
        let made =
            history_page(self.page, &self.history.store, &HistoryQuery::parse(&self.query), &report_of);
        Made { html: framed(made.title, &made.html), is_problem: made.is_problem }
    }
}

/// The option that names a store.
pub(crate) fn word(store: &OsStr) -> OsString {
    let mut word = OsString::from("--history=");
    word.push(store);
    word
}

/// The address of the report of a run, by the file with its result, if the results directory has it.
fn report_of(source: &str, results: &Results) -> Option<String> {
    let rest = Path::new(source).strip_prefix(results.path().join("runs")).ok()?;
    let mut parts = rest.components();
    let (Some(Component::Normal(id)), Some(Component::Normal(_)), None) =
        (parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    let folder = results.run(id.to_str()?)?;
    folder.result().map(|_| format!("api/runs/{}/page", folder.id))
}

/// The frame of the page around a content.
fn framed(title: &str, content: &str) -> String {
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "fathom: " (title) }
                meta name="viewport" content="width=device-width, initial-scale=1";
                link rel="icon" href="data:,";
                link rel="stylesheet" href="assets/report.css";
                link rel="stylesheet" href="assets/history.css";
                script src="assets/cursor.js" defer {}
            }
            body {
                a.skip href="#content" { "Skip to the content" }
                header {
                    h1 { "fathom" }
                    nav aria-label="Views" { ul {
                        @for (view, name) in [("job", "Job"), ("quick", "Quick"), ("sweep", "Sweep"), ("runs", "Runs")] {
                            li { a href={ "./#" (view) } { (name) } }
                        }
                        li { a href="history" aria-current="page" { "History" } }
                    } }
                }
                main id="content" tabindex="-1" { h2 { (title) } (PreEscaped(content)) }
            }
        }
    };
    // Texts in the store can contain anything, and browsers obey some characters that are not visible.
    let lines: Vec<Cow<'_, str>> = page.0.split('\n').map(harmless).collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_results_of_this_directory_have_reports() {
        let directory = tempfile::tempdir().expect("a directory");
        let (results, _lock) = Results::open(directory.path()).expect("results");
        let folder = results.path().join("runs/20260101-000000-000");
        std::fs::create_dir(&folder).expect("a folder");
        let source = |name: &str| format!("{}/runs/{name}", results.path().display());
        let own = source("20260101-000000-000/result.json");
        assert_eq!(report_of(&own, &results), None, "the file is not there");
        std::fs::write(folder.join("result.json"), "{}").expect("written");
        assert_eq!(report_of(&own, &results).as_deref(), Some("api/runs/20260101-000000-000/page"));
        for other in [
            "",
            "/etc/passwd",
            &source("../../x/result.json"),
            &source("x/result.json"),
            &source("20260101-000000-000"),
        ] {
            assert_eq!(report_of(other, &results), None, "{other}");
        }
    }
}
