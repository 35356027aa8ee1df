//! Routes each path to its response.

use super::answer::{self, Answer};
use super::stream;
use crate::check::Checker;
use crate::folder::{Folder, Request};
use crate::history::HistoryRequest;
use crate::options;
use crate::pages::ASSETS;
use crate::runs::{FILES, Refusal, Runs};
use fathom_answers::Runner;
use fathom_errors::plain;
use fathom_spec::Source;
use hyper::header::HeaderValue;
use hyper::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::json;
use std::cell::RefCell;
use std::ffi::OsString;
use std::rc::Rc;
use thiserror::Error;
use tokio::sync::oneshot;

/// Maximum size in bytes of a file that is sent.
const MOST_FILE: u64 = 1 << 30;

/// State that all requests need.
pub(crate) struct Site<'a> {
    pub(crate) runs: Rc<Runs>,
    pub(crate) machine: &'a dyn Source,
    pub(crate) runner: RefCell<&'a mut dyn Runner>,
    /// Directory for relative names in jobs.
    pub(crate) directory: String,
}

/// An authorised request.
pub(crate) struct Question {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    /// Number of the last event that the browser has received.
    pub(crate) last_event: Option<u64>,
    pub(crate) body: Vec<u8>,
    pub(crate) reply: oneshot::Sender<Reply>,
}

/// The kind of response.
pub(crate) enum Reply {
    Now(Answer),
    /// A page: the output of this command with these arguments.
    Page(&'static str, Vec<OsString>),
    /// A page of the history.
    History(Box<HistoryRequest>),
}

impl<'a> Site<'a> {
    pub(crate) fn answer(&self, question: &Question) -> Reply {
        self.runs.reap();
        let parts: Vec<&str> = question.path.trim_start_matches('/').split('/').collect();
        let ok = StatusCode::OK;
        Reply::Now(match (question.method.as_str(), &parts[..]) {
            ("GET", [""]) => asset("index.html"),
            ("GET", ["assets", name]) => asset(name),
            ("GET", ["api", "options"]) => answer::whole(ok, "application/json", options::document()),
            ("GET", ["api", "place"]) => answer::json(ok, &self.place()),
            ("POST", ["api", "check"]) => match read::<Request>(&question.body) {
                Ok(request) => answer::json(ok, &self.checker().check(&request)),
                Err(error) => answer::problem(StatusCode::BAD_REQUEST, &error.to_string()),
            },
            ("GET", ["api", "runs"]) => {
                let runs = self.runs.results.runs();
                let runs: Vec<_> = runs.iter().filter_map(|folder| self.runs.describe(folder)).collect();
                answer::json(ok, &runs)
            }
            ("POST", ["api", "runs"]) => match read::<Request>(&question.body) {
                Ok(request) => self.start(request),
                Err(error) => answer::problem(StatusCode::BAD_REQUEST, &error.to_string()),
            },
            ("GET", ["compare"]) => return self.compare(question.query.as_deref()),
            (_, ["api", "runs", id, rest @ ..]) => match self.runs.results.run(id) {
                Some(folder) => return self.of_run(question, folder, rest),
                None => answer::problem(StatusCode::NOT_FOUND, "there is no such run"),
            },
            ("GET", [name]) => match self.history(name, question.query.as_deref()) {
                Some(request) => return Reply::History(Box::new(request)),
                None => answer::problem(StatusCode::NOT_FOUND, "there is no such page"),
            },
            _ => answer::problem(StatusCode::NOT_FOUND, "there is no such page"),
        })
    }

    fn history(&self, name: &str, query: Option<&str>) -> Option<HistoryRequest> {
        self.runs.history.as_ref()?.request(name, query, &self.runs.results)
    }

    fn checker(&self) -> Checker<'a, '_> {
        Checker {
            machine: self.machine,
            runner: &self.runner,
            allowed: &self.runs.allowed,
            results: &self.runs.results,
        }
    }

    fn place(&self) -> serde_json::Value {
        let allowed = &self.runs.allowed;
        let shown = |paths: &[std::path::PathBuf]| -> Vec<String> {
            paths.iter().map(|path| path.display().to_string()).collect()
        };
        let mut place = json!({
            "version": fathom_spec::VERSION,
            "results": self.runs.results.path().display().to_string(),
            "directory": self.directory,
            "paths": shown(&allowed.paths),
            "devices": shown(&allowed.devices),
            "commands": allowed.commands,
            "network": allowed.network,
        });
        if let Some(history) = &self.runs.history {
            place["history"] = json!(history.shown);
        }
        place
    }

    fn start(&self, request: Request) -> Answer {
        let found = self.checker().check(&request);
        match self.runs.start(request, found) {
            Ok(folder) => answer::json(StatusCode::CREATED, &json!({ "id": folder.id })),
            Err(Refusal::Wrong(text)) => answer::problem(StatusCode::UNPROCESSABLE_ENTITY, &text),
            Err(Refusal::Busy(text)) => answer::problem(StatusCode::CONFLICT, &text),
            Err(Refusal::Unconfirmed(names)) => {
                let text = format!(
                    "the data on {} would be lost or changed, and no run here made it; type its name to confirm that",
                    names.join(" and ")
                );
                answer::json(
                    StatusCode::PRECONDITION_REQUIRED,
                    &json!({ "problem": text, "to_confirm": names }),
                )
            }
            Err(Refusal::System(error)) => {
                let text = format!("the run cannot be started: {error}", error = plain(&error));
                answer::problem(StatusCode::INTERNAL_SERVER_ERROR, &text)
            }
        }
    }

    fn of_run(&self, question: &Question, folder: Folder, rest: &[&str]) -> Reply {
        let ok = StatusCode::OK;
        let missing = |text| answer::problem(StatusCode::NOT_FOUND, text);
        Reply::Now(match (question.method.as_str(), rest) {
            ("GET", []) => match self.runs.describe(&folder).zip(folder.accepted()) {
                Some((run, accepted)) => {
                    answer::json(ok, &json!({ "run": run, "request": accepted.request }))
                }
                None => missing("this run has no request"),
            },
            ("GET", ["events"]) => {
                stream::of(Rc::clone(&self.runs), folder, question.last_event.unwrap_or(0))
            }
            ("POST", ["stop"]) => match self.runs.stop(&folder) {
                Ok(signal) => answer::json(ok, &json!({ "sent": signal })),
                Err(reason) => answer::problem(StatusCode::CONFLICT, reason),
            },
            ("GET", ["page"]) => match folder.result() {
                Some(name) => {
                    return Reply::Page("report", vec![folder.file(name).into(), "--output=-".into()]);
                }
                None => answer::problem_page(StatusCode::NOT_FOUND, "This run has no result."),
            },
            ("GET", ["files", name]) => file(&folder, name),
            _ => missing("there is no such page"),
        })
    }

    fn compare(&self, query: Option<&str>) -> Reply {
        let mut words: Vec<OsString> = vec!["--output=-".into()];
        for key in ["a=", "b="] {
            let id = query.unwrap_or("").split('&').find_map(|pair| pair.strip_prefix(key));
            let folder = id.and_then(|id| self.runs.results.run(id));
            let Some((folder, name)) = folder.and_then(|folder| Some((folder.clone(), folder.result()?)))
            else {
                let text = "A comparison takes two runs with results: /compare?a=ID&b=ID. One of these does not exist, or has no result.";
                return Reply::Now(answer::problem_page(StatusCode::NOT_FOUND, text));
            };
            words.push(folder.file(name).into());
        }
        Reply::Page("compare", words)
    }
}

fn asset(name: &str) -> Answer {
    match ASSETS.iter().find(|asset| asset.name == name) {
        Some(asset) => answer::whole(StatusCode::OK, asset.media_type, asset.text),
        None => answer::problem(StatusCode::NOT_FOUND, "there is no such page"),
    }
}

fn file(folder: &Folder, name: &str) -> Answer {
    let Some(name) = FILES.iter().find(|own| **own == name) else {
        return answer::problem(StatusCode::NOT_FOUND, "there is no such file");
    };
    let path = folder.file(name);
    if std::fs::metadata(&path).is_ok_and(|found| found.len() > MOST_FILE) {
        let text =
            format!("{} is too large for a browser; copy it from the results directory", path.display());
        return answer::problem(StatusCode::PAYLOAD_TOO_LARGE, &text);
    }
    match std::fs::read(&path) {
        Ok(bytes) => {
            let mut answer = answer::whole(StatusCode::OK, "text/plain; charset=utf-8", bytes);
            let shown = format!("attachment; filename=\"{}-{name}\"", folder.id);
            if let Ok(value) = HeaderValue::from_str(&shown) {
                answer.headers_mut().insert(hyper::header::CONTENT_DISPOSITION, value);
            }
            answer
        }
        Err(_) => answer::problem(StatusCode::NOT_FOUND, "there is no such file"),
    }
}

/// Error: a request body is not the expected JSON document.
#[derive(Debug, Error)]
#[error("the request cannot be read: {0}")]
struct Unreadable(#[from] serde_json::Error);

/// Parses the document in a request.
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Unreadable> {
    Ok(serde_json::from_slice(body)?)
}
