//! The server: connections, access control ([`door`]), paths ([`routes`]). One thread answers all requests; it
//! never opens a target of a job. A slow or silent client occupies one of a limited number of connections until
//! its time is up.

mod answer;
mod body;
mod door;
mod routes;
mod stream;

use crate::allowed::Allowed;
use crate::folder::{Folder, Results};
use crate::history::{History, HistoryRequest};
use crate::reading::NoRunner;
use crate::runs::Runs;
use crate::words::Wishes;
use answer::Answer;
use door::Door;
use fathom_answers::Runner;
use fathom_command::{Failure, Streams};
use fathom_errors::plain;
use fathom_spec::Source;
use fathom_sys::forbidden;
use fathom_sys::signal::{OF_USERS, SignalQueue};
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use routes::{Question, Reply, Site};
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::ffi::OsString;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{self, Sender};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::{JoinHandle, LocalSet};
use tokio::time::{sleep, timeout};

/// Maximum number of connections; a browser opens six.
const MOST_CONNECTIONS: usize = 128;
/// Maximum time within which a client must send its headers.
const HEADER_TIME: Duration = Duration::from_secs(10);
/// Maximum size of the headers in bytes.
const MOST_HEADERS: usize = 32 << 10;
/// Pages of the history that are made at the same time. A question about a large store takes a processor for seconds, which
/// would otherwise be missing to a run.
static HISTORY_PAGES: Semaphore = Semaphore::const_new(2);
/// Interval at which signals are polled.
const LOOK: Duration = Duration::from_millis(100);

/// Serves until a signal ends it; returns the exit code.
pub(crate) fn serve(
    wishes: &Wishes,
    streams: &mut Streams<'_>,
    machine: &dyn Source,
    runner: &mut dyn Runner,
) -> Result<u8, Failure> {
    let history = wishes.history.as_ref().map(|named| History::open(named.as_deref())).transpose()?;
    let (results, _lock) = Results::open(&wishes.results)?;
    let allowed = allowed(&wishes.allowed, &results)?;
    let directory =
        allowed.paths.iter().find(|path| path.is_dir()).cloned().unwrap_or_else(|| results.targets());
    // Relative names in jobs, and files that jobs leave behind, refer to the allowed directory, so the server
    // changes to it.
    std::env::set_current_dir(&directory).map_err(|error| crate::failed(&directory, &error))?;
    let failed = |error: std::io::Error| {
        Failure::new(format!(
            "cannot listen on {}: {error}; name another port (--port=)",
            wishes.address,
            error = plain(&error)
        ))
    };
    let listener = TcpListener::bind(wishes.address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let door = Door::new(address.port()).map_err(Failure::because)?;
    let signals = SignalQueue::new(&OF_USERS)
        .map_err(|errno| Failure::new(format!("cannot wait for signals: {errno}")))?;
    tell(streams, address, &door, &results, history.as_ref())?;
    let site = Site {
        runs: Rc::new(Runs::new(results, allowed, history)),
        machine,
        runner: RefCell::new(runner),
        directory: directory.display().to_string(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        let refused = forbidden::Refused::new(error.into(), forbidden::OF_EVENT_LOOPS);
        Failure::new(format!("the server cannot start: {refused}"))
    })?;
    LocalSet::new().block_on(&runtime, answer_all(&site, listener, door, &signals)).map_err(failed)?;
    // Pages that commands are still generating are abandoned, because no client will receive them.
    runtime.shutdown_background();
    if let Some(Folder { id, .. }) = site.runs.current() {
        writeln!(streams.err, "fathom serve: run {id} continues; the next fathom serve finds it")?;
    }
    Ok(0)
}

/// Resolves the access of jobs to real paths.
fn allowed(asked: &Allowed, results: &Results) -> Result<Allowed, Failure> {
    let real = |option: &str, paths: &[PathBuf]| -> Result<Vec<PathBuf>, Failure> {
        let real = |path: &PathBuf| {
            path.canonicalize().map_err(|error| {
                Failure::new(format!("{option}={}: {error}", path.display(), error = plain(&error)))
            })
        };
        paths.iter().map(real).collect()
    };
    let mut paths = real("--allow-path", &asked.paths)?;
    paths.push(results.targets());
    let devices = real("--allow-device", &asked.devices)?;
    Ok(Allowed { paths, devices, results: results.path().to_owned(), ..asked.clone() })
}

fn tell(
    streams: &mut Streams<'_>,
    address: SocketAddr,
    door: &Door,
    results: &Results,
    history: Option<&History>,
) -> Result<(), Failure> {
    writeln!(streams.out, "fathom serve: http://{address}/?token={}", door.token())?;
    if let Some(history) = history {
        writeln!(streams.out, "Runs are added to {}.", history.shown)?;
    }
    writeln!(
        streams.out,
        "Results are kept in {}. Ctrl-C ends the server, not its runs.",
        results.path().display()
    )?;
    streams.out.flush()?;
    Ok(())
}

/// A connection.
struct Open {
    /// True if the client has presented the cookie.
    is_known: Rc<Cell<bool>>,
    task: JoinHandle<()>,
}

/// Accepts connections for the lifetime of the server.
async fn accept(listener: tokio::net::TcpListener, door: Rc<Door>, questions: Sender<Question>) {
    let mut open: Vec<Open> = Vec::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // An error usually means that the process has no free descriptors, so the server waits before it
            // tries again.
            sleep(LOOK).await;
            continue;
        };
        open.retain(|connection| !connection.task.is_finished());
        if open.len() >= MOST_CONNECTIONS {
            // The oldest connection without access is dropped to make room. If all have access, the new one is
            // closed immediately.
            let Some(place) = open.iter().position(|connection| !connection.is_known.get()) else { continue };
            open.remove(place).task.abort();
        }
        let is_known = Rc::new(Cell::new(false));
        let work = connection(stream, Rc::clone(&door), questions.clone(), Rc::clone(&is_known));
        open.push(Open { is_known, task: tokio::task::spawn_local(work) });
    }
}

async fn connection(
    stream: TcpStream,
    door: Rc<Door>,
    questions: Sender<Question>,
    is_known: Rc<Cell<bool>>,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (door, questions, is_known) = (Rc::clone(&door), questions.clone(), Rc::clone(&is_known));
        async move { Ok::<_, Infallible>(answer_to(request, &door, &questions, &is_known).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(MOST_HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    // The result is ignored, because only the connection of a client with malformed requests, or of a silent
    // one, has to end.
    let _ = served.await;
}

async fn answer_to(
    request: Request<Incoming>,
    door: &Door,
    questions: &Sender<Question>,
    is_known: &Cell<bool>,
) -> Answer {
    let (parts, body) = request.into_parts();
    if let Some(mut answer) = door.check(&parts.method, &parts.uri, &parts.headers) {
        // Connections of clients without access are closed after a response, so that they do not occupy one.
        answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        return answer;
    }
    is_known.set(true);
    let body = match body::read(body).await {
        Ok(body) => body,
        Err(answer) => return answer,
    };
    let last = parts.headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let (reply, replied) = oneshot::channel();
    let question = Question {
        method: parts.method,
        path: door.inside(parts.uri.path()).unwrap_or_default().to_owned(),
        query: parts.uri.query().map(str::to_owned),
        last_event: last.and_then(|text| text.parse().ok()),
        body,
        reply,
    };
    let is_asked = questions.send(question).await.is_ok();
    match replied.await {
        Ok(Reply::Now(answer)) if is_asked => answer,
        Ok(Reply::Page(command, words)) => page(command, words).await,
        Ok(Reply::History(request)) => history(request).await,
        _ => answer::problem(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down"),
    }
}

/// Generates a page with a command on a separate thread, so that other requests are answered meanwhile.
async fn page(command: &'static str, words: Vec<OsString>) -> Answer {
    let made = tokio::task::spawn_blocking(move || {
        let command =
            fathom_answers::by_name(command).ok_or_else(|| "there is no such command".to_owned())?;
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut streams = Streams { out: &mut out, err: &mut err };
        (command.run)(&words, &mut streams, &mut NoRunner).map_err(|failure| failure.to_string())?;
        Ok::<Vec<u8>, String>(out)
    });
    match made.await {
        Ok(Ok(bytes)) => answer::result_page(bytes),
        Ok(Err(text)) => answer::problem_page(StatusCode::UNPROCESSABLE_ENTITY, &text),
        Err(_) => answer::problem_page(
            StatusCode::INTERNAL_SERVER_ERROR,
            "fathom has a bug; its messages say where",
        ),
    }
}

/// Makes a page of the history on a separate thread.
async fn history(request: Box<HistoryRequest>) -> Answer {
    let permit = HISTORY_PAGES.acquire().await;
    let made = tokio::task::spawn_blocking(move || {
        // The question goes on if the browser leaves, so it keeps its permit.
        let _permit = permit;
        request.make()
    });
    match made.await {
        Ok(made) => answer::history_page(made.html, made.is_problem),
        Err(_) => answer::problem_page(
            StatusCode::INTERNAL_SERVER_ERROR,
            "fathom has a bug; its messages say where",
        ),
    }
}

/// Answers requests one by one until a signal ends the server.
async fn answer_all(
    site: &Site<'_>,
    listener: TcpListener,
    door: Door,
    signals: &SignalQueue,
) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let (sender, mut questions) = mpsc::channel::<Question>(MOST_CONNECTIONS);
    tokio::task::spawn_local(accept(listener, Rc::new(door), sender));
    while signals.asked_to_end().is_none() {
        let Ok(Some(question)) = timeout(LOOK, questions.recv()).await else {
            site.runs.reap();
            continue;
        };
        let reply = site.answer(&question);
        // The result is ignored, because the client may have disconnected.
        let _ = question.reply.send(reply);
    }
    Ok(())
}
