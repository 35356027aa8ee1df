//! A session with a server. Every statement has a limit on the time for its answer, because TCP does not notice that a
//! server has stopped while its kernel still acknowledges what it receives.

use super::address::{Endpoint, Server};
use super::cause::{LOCK_PATIENCE, cause, is_tls, is_uncertain};
use super::password;
use super::stream::Connector;
use super::tls::Mode;
use crate::Error;
use std::future::{Future, poll_fn};
use std::net::{IpAddr, ToSocketAddrs};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};

/// Limit on the time of a statement, and on the time between two statements of a transaction, unless the server's
/// administrator or the URL has set one.
const PATIENCE: Duration = Duration::from_secs(60);
/// How much later than the server's own limit its answer is given up.
const GRACE: Duration = Duration::from_secs(5);
/// How long to wait for the connection to end properly.
const FAREWELL: Duration = Duration::from_secs(1);

type Link = Pin<Box<dyn Future<Output = Result<(), tokio_postgres::Error>> + Send>>;

/// A session.
pub(super) struct Session {
    runtime: Runtime,
    client: Option<Client>,
    /// Reads and writes the socket; `None` when the connection has ended.
    link: Option<Link>,
    /// Limit on the time for an answer.
    limit: Duration,
    place: String,
    /// True after an answer did not come in time.
    is_silent: bool,
}

/// A host on which no session could be opened.
struct Refusal {
    error: Error,
    /// Other hosts would not help.
    is_final: bool,
    /// Without TLS, it might work.
    is_of_tls: bool,
}

impl Refusal {
    fn other(error: Error) -> Refusal {
        Refusal { error, is_final: false, is_of_tls: false }
    }
}

impl Session {
    /// Connects to the first host that answers.
    pub(super) fn open(server: &Server) -> Result<Session, Error> {
        let mut failures = Vec::new();
        for endpoint in server.endpoints() {
            match at_host(server, &endpoint) {
                Ok(session) => return Ok(session),
                Err(refusal) if refusal.is_final => return Err(refusal.error),
                Err(refusal) => failures.push(refusal.error),
            }
        }
        match (failures.pop(), failures.is_empty()) {
            (Some(only), true) => Err(only),
            (last, _) => {
                let all: Vec<String> = failures.iter().chain(&last).map(Error::to_string).collect();
                Err(Error::Other {
                    place: server.name(),
                    why: format!("no host answers: {}", all.join("; ")),
                })
            }
        }
    }

    /// Limits on the server's side, and how long to wait on this one.
    fn prepare(mut self) -> Result<Session, Error> {
        let (lock, usual) = (LOCK_PATIENCE.as_millis(), PATIENCE.as_millis());
        self.batch(&format!(
            "SET search_path TO fathom; SET lock_timeout TO {lock}; SET client_min_messages TO warning;
             SELECT set_config(name, '{usual}', false) FROM pg_settings
             WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout') AND setting = '0'"
        ))?;
        let rows =
            self.query("SELECT setting::bigint FROM pg_settings WHERE name = 'statement_timeout'", &[])?;
        let limit =
            rows.first().and_then(|row| row.try_get::<_, i64>(0).ok()).and_then(|ms| ms.try_into().ok());
        self.limit = limit.map_or(PATIENCE, Duration::from_millis).saturating_add(GRACE);
        Ok(self)
    }

    /// The server as a URL without secrets.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn batch(&mut self, sql: &str) -> Result<(), Error> {
        self.wait(self.limit, async |client| client.batch_execute(sql).await)
    }

    pub(super) fn query(&mut self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Error> {
        self.wait(self.limit, async |client| client.query(sql, values).await)
    }

    pub(super) fn execute(&mut self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<(), Error> {
        self.wait(self.limit, async |client| client.execute(sql, values).await.map(|_| ()))
    }

    /// Begins a transaction as soon as no other one has the lock. Waiting for that has its own limit, `lock_timeout`.
    pub(super) fn begin(&mut self, lock: i64) -> Result<(), Error> {
        let usual = self.limit.saturating_sub(GRACE).as_millis();
        // A server that has stopped is noticed here, without the time for the lock.
        self.batch("BEGIN; SET LOCAL statement_timeout TO 0")?;
        let sql = format!("SELECT pg_advisory_xact_lock({lock}); SET LOCAL statement_timeout TO {usual}");
        let limit = self.limit.max(LOCK_PATIENCE + GRACE);
        self.wait(limit, async |client| client.batch_execute(&sql).await)
    }

    /// Commits. If the outcome is unknown, the error says so.
    pub(super) fn commit(&mut self) -> Result<(), Error> {
        let place = self.place.clone();
        let uncertain = |why: String| Error::Uncertain { place, why };
        match self.answer(self.limit, async |client| client.batch_execute("COMMIT").await) {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) if is_uncertain(&error) => Err(uncertain(super::cause::told(&error))),
            Some(Err(error)) => Err(cause(&self.place, &error)),
            None => Err(uncertain(format!("the server has not answered for {} s", self.limit.as_secs()))),
        }
    }

    fn wait<T>(
        &mut self,
        limit: Duration,
        work: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, Error> {
        let seconds = limit.as_secs();
        match self.answer(limit, work) {
            Some(done) => done.map_err(|error| cause(&self.place, &error)),
            None => Err(Error::Silent { place: self.place.clone(), seconds }),
        }
    }

    /// The answer to a statement; `None` if there is none in time. The connection ends then, and the server rolls back
    /// when it notices.
    fn answer<T>(
        &mut self,
        limit: Duration,
        work: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Option<Result<T, tokio_postgres::Error>> {
        let client = self.client.as_ref().filter(|_| !self.is_silent)?;
        let link = &mut self.link;
        let done = self
            .runtime
            .block_on(async { tokio::time::timeout(limit, with_link(link, work(client))).await.ok() });
        if done.is_none() {
            self.is_silent = true;
            self.link = None;
        }
        done
    }
}

impl Drop for Session {
    /// The server is told that the session ends, so that its log has no broken connection.
    fn drop(&mut self) {
        self.client = None;
        if let Some(link) = self.link.take() {
            let _ = self.runtime.block_on(async { tokio::time::timeout(FAREWELL, link).await });
        }
    }
}

/// Moves the connection on while waiting for an answer.
async fn with_link<T>(
    link: &mut Option<Link>,
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, tokio_postgres::Error> {
    let mut work = pin!(work);
    poll_fn(|context| {
        let ended = match link.as_mut().map(|open| open.as_mut().poll(context)) {
            Some(Poll::Ready(ended)) => {
                *link = None;
                ended.err()
            }
            _ => None,
        };
        match (work.as_mut().poll(context), ended) {
            // The connection knows why it ended; the statement only that it did.
            (Poll::Ready(Err(error)), Some(why)) if error.is_closed() => Poll::Ready(Err(why)),
            (Poll::Pending, Some(why)) => Poll::Ready(Err(why)),
            (done, _) => done,
        }
    })
    .await
}

fn at_host(server: &Server, endpoint: &Endpoint) -> Result<Session, Refusal> {
    let place = server.name_at(endpoint);
    let Host::Tcp(name) = &endpoint.host else {
        // As with libpq, sockets of this machine have no TLS.
        return attempt(server, endpoint, None, Mode::Disable);
    };
    let addresses: Vec<IpAddr> = match endpoint.address {
        Some(address) => vec![address],
        None => (name.as_str(), endpoint.port)
            .to_socket_addrs()
            .map(|found| found.map(|address| address.ip()).collect())
            .map_err(|error| {
                let why = format!("this host is unknown: {}", fathom_errors::plain(&error));
                Refusal::other(Error::Other { place: place.clone(), why })
            })?,
    };
    let why = "this host has no address".to_owned();
    let mut last = Refusal::other(Error::Other { place, why });
    for address in addresses {
        match at_address(server, endpoint, address) {
            Err(refusal) if !refusal.is_final => last = refusal,
            done => return done,
        }
    }
    Err(last)
}

fn at_address(server: &Server, endpoint: &Endpoint, address: IpAddr) -> Result<Session, Refusal> {
    let mode = server.tls.mode;
    let refusal = match attempt(server, endpoint, Some(address), mode) {
        Err(refusal) if refusal.is_of_tls && mode == Mode::Prefer => refusal,
        done => return done,
    };
    attempt(server, endpoint, Some(address), Mode::Disable).map_err(|second| Refusal {
        error: Error::Other {
            place: server.name_at(endpoint),
            why: format!("with TLS: {}; without: {}", why_of(refusal.error), why_of(second.error)),
        },
        ..second
    })
}

/// The reason without the place.
fn why_of(error: Error) -> String {
    match error {
        Error::Other { why, .. } => why,
        other => other.to_string(),
    }
}

/// Connects once.
fn attempt(
    server: &Server,
    endpoint: &Endpoint,
    address: Option<IpAddr>,
    mode: Mode,
) -> Result<Session, Refusal> {
    let place = server.name_at(endpoint);
    let ssl = match mode {
        Mode::Disable => SslMode::Disable,
        Mode::Prefer => SslMode::Prefer,
        Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
    };
    let mut config = server.settings(endpoint, address, ssl);
    if let Some(password) = password::find(&config).map_err(Refusal::other)? {
        config.password(password);
    }
    let tls = match mode {
        Mode::Disable => None,
        _ => Some(server.tls.client().map_err(|error| Refusal { is_final: true, ..Refusal::other(error) })?),
    };
    let connector = Connector { config: tls, host: String::new() };
    let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| {
        Refusal::other(Error::Other { place: place.clone(), why: fathom_errors::plain(&error) })
    })?;
    let limit = server.patience();
    let done = runtime
        .block_on(async { tokio::time::timeout(limit, config.connect(connector)).await })
        .map_err(|_| Refusal::other(Error::Silent { place: place.clone(), seconds: limit.as_secs() }))?;
    let (client, link) = done.map_err(|error| {
        let rejected = error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
        Refusal {
            error: cause(&place, &error),
            // As with libpq, a server that answers and refuses the user is the right one.
            is_final: error.code().is_some_and(|code| code.code().starts_with("28")),
            is_of_tls: is_tls(&error) || rejected,
        }
    })?;
    let link: Option<Link> = Some(Box::pin(link));
    let client = Some(client);
    let session = Session { runtime, client, link, limit, place, is_silent: false };
    session.prepare().map_err(Refusal::other)
}
