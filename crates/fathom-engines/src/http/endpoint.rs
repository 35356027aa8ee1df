//! A server, and the connections to it.

use super::body::Content;
use super::tally::Tally;
use super::wire::Wire;
use crate::net::refusal::Refusal;
use crate::net::tls::{TlsError, TlsRules};
use fathom_errors::plain;
use fathom_sys::Errno;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, Semaphore, SemaphorePermit};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

/// Why a request failed.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) errno: Errno,
    pub(super) sentence: String,
    /// True if a retry may succeed.
    pub(super) is_passing: bool,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Refusal {
        Refusal { errno: failure.errno, sentence: failure.sentence }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure { errno: refusal.errno, sentence: refusal.sentence, is_passing: false }
    }
}

impl Failure {
    pub(super) fn new(errno: i32, sentence: impl Into<String>) -> Failure {
        Failure { errno: Errno(errno), sentence: sentence.into(), is_passing: false }
    }

    fn of_io(server: &str, error: &io::Error) -> Failure {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        Failure { errno: Errno(errno), sentence: format!("{server}: {}", plain(error)), is_passing: true }
    }

    pub(super) fn of_connection(server: &str, error: &hyper::Error) -> Failure {
        let mut cause: Option<&dyn std::error::Error> = Some(error);
        while let Some(error) = cause {
            if let Some(error) = error.downcast_ref::<io::Error>() {
                return Failure::of_io(server, error);
            }
            cause = error.source();
        }
        let sentence = format!("{server}: the connection is lost ({})", plain(error));
        Failure { errno: Errno(libc::ECONNRESET), sentence, is_passing: true }
    }
}

/// Connection settings.
pub(super) struct Transport {
    /// TLS settings with the trusted certificates, without protocol versions.
    pub(super) tls: Option<Arc<ClientConfig>>,
    /// True if HTTP/1.1 may be used.
    pub(super) speaks_one: bool,
    pub(super) speaks_two: bool,
    /// Maximum number of connections to each server; 0 for as many as needed.
    pub(super) connections: u32,
    pub(super) acknowledges_at_once: bool,
}

impl Transport {
    /// TLS settings with the protocol versions to offer.
    pub(super) fn with_tls(mut self, rules: &TlsRules) -> Result<Transport, TlsError> {
        let mut settings = ClientConfig::clone(&*rules.settings()?);
        if self.speaks_two {
            settings.alpn_protocols.push(b"h2".to_vec());
        }
        if self.speaks_one {
            settings.alpn_protocols.push(b"http/1.1".to_vec());
        }
        self.tls = Some(Arc::new(settings));
        Ok(self)
    }
}

enum Sender {
    One(http1::SendRequest<Content>),
    Two(http2::SendRequest<Content>),
}

/// A connection.
pub(super) struct Link {
    sender: Sender,
    task: Option<JoinHandle<()>>,
    /// True once the connection has delivered a response.
    pub(super) is_proven: bool,
}

impl Link {
    /// Sends a request; returns the head of the response.
    pub(super) async fn send(&mut self, request: Request<Content>) -> hyper::Result<Response<Incoming>> {
        match &mut self.sender {
            Sender::One(sender) => sender.send_request(request).await,
            Sender::Two(sender) => sender.send_request(request).await,
        }
    }

    /// Closes the connection and releases all of its resources.
    pub(super) async fn end(self) {
        drop(self.sender);
        if let Some(task) = self.task {
            task.abort();
            let _ = task.await;
        }
    }

    pub(super) fn is_two(&self) -> bool {
        matches!(self.sender, Sender::Two(_))
    }

    async fn is_ready(&mut self) -> bool {
        match &mut self.sender {
            Sender::One(sender) => sender.ready().await.is_ok(),
            Sender::Two(sender) => sender.ready().await.is_ok(),
        }
    }
}

/// A server.
pub(super) struct Endpoint {
    /// Host and port, as in URLs.
    pub(super) authority: String,
    host: String,
    addresses: Vec<SocketAddr>,
    /// Idle HTTP/1.1 connections.
    idle: RefCell<Vec<Link>>,
    /// HTTP/2 connections.
    shared: RefCell<Vec<Link>>,
    turn: Cell<usize>,
    limit: Semaphore,
    connecting: Mutex<()>,
}

impl Endpoint {
    /// A server, given its host and port.
    pub(super) fn find(authority: &str, transport: &Transport) -> Result<Endpoint, Failure> {
        let parsed: hyper::http::uri::Authority = authority.parse().map_err(|_| {
            let sentence = format!("http_host={authority}: a host, or HOST:PORT, is needed");
            Failure::new(libc::EINVAL, sentence)
        })?;
        let port = parsed.port_u16().unwrap_or(if transport.tls.is_some() { 443 } else { 80 });
        let host = parsed.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let found = (host.as_str(), port).to_socket_addrs();
        let addresses: Vec<SocketAddr> = found
            .map_err(|error| {
                Failure::new(
                    libc::EHOSTUNREACH,
                    format!("http_host={authority}: {error}", error = plain(&error)),
                )
            })?
            .collect();
        let limit = match transport.connections {
            0 => Semaphore::MAX_PERMITS,
            count => count as usize,
        };
        Ok(Endpoint {
            authority: authority.to_owned(),
            host,
            addresses,
            idle: RefCell::default(),
            shared: RefCell::default(),
            turn: Cell::new(0),
            limit: Semaphore::new(limit),
            connecting: Mutex::new(()),
        })
    }

    /// Acquires a connection for one request, which must be [released](Endpoint::release) or closed afterwards.
    pub(super) async fn acquire(
        &self,
        transport: &Transport,
        tally: &Tally,
    ) -> Result<(Link, Option<SemaphorePermit<'_>>), Failure> {
        if let Some(link) = self.shared_link(transport, tally).await? {
            return Ok((link, None));
        }
        let permit = self.limit.acquire().await.ok();
        loop {
            let waiting = self.idle.borrow_mut().pop();
            let Some(mut link) = waiting else { break };
            if link.is_ready().await {
                return Ok((link, permit));
            }
            tally.count("connections closed by the server", 1);
        }
        Ok((self.connect(transport, tally).await?, permit))
    }

    /// The HTTP/2 connection that all requests share, if the server supports HTTP/2.
    async fn shared_link(&self, transport: &Transport, tally: &Tally) -> Result<Option<Link>, Failure> {
        if self.shared.borrow().is_empty() {
            return Ok(None);
        }
        let count = self.shared.borrow().len();
        let place = self.turn.replace(self.turn.get().wrapping_add(1)) % count;
        let is_closed = |link: &Link| matches!(&link.sender, Sender::Two(sender) if sender.is_closed());
        if is_closed(&self.shared.borrow()[place]) {
            let _alone = self.connecting.lock().await;
            if is_closed(&self.shared.borrow()[place]) {
                tally.count("connections closed by the server", 1);
                let link = self.connect(transport, tally).await?;
                self.shared.borrow_mut()[place] = link;
            }
        }
        let shared = self.shared.borrow();
        let link = &shared[place];
        let Sender::Two(sender) = &link.sender else { return Ok(None) };
        Ok(Some(Link { sender: Sender::Two(sender.clone()), task: None, is_proven: link.is_proven }))
    }

    /// Takes a connection back after a complete response, so that it can be reused.
    pub(super) fn release(&self, mut link: Link) {
        if !link.is_two() {
            link.is_proven = true;
            self.idle.borrow_mut().push(link);
        }
    }

    /// Opens the first connections, so that problems are reported before the run.
    pub(super) async fn open(&self, transport: &Transport, tally: &Tally) -> Result<(), Failure> {
        let first = self.connect(transport, tally).await?;
        if !first.is_two() {
            self.idle.borrow_mut().push(first);
            return Ok(());
        }
        self.shared.borrow_mut().push(first);
        for _ in 1..transport.connections {
            let link = self.connect(transport, tally).await?;
            self.shared.borrow_mut().push(link);
        }
        Ok(())
    }

    async fn connect(&self, transport: &Transport, tally: &Tally) -> Result<Link, Failure> {
        let began = Instant::now();
        let mut failure = Failure::new(libc::EHOSTUNREACH, format!("{}: no address", self.authority));
        let mut connected = None;
        for address in &self.addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    connected = Some(stream);
                    break;
                }
                Err(error) => failure = Failure::of_io(&self.authority, &error),
            }
        }
        let stream = connected.ok_or(failure)?;
        let failed = |error: io::Error| Failure::of_io(&self.authority, &error);
        stream.set_nodelay(true).map_err(failed)?;
        tally.record("connect", began.elapsed());
        tally.count("connections", 1);
        let stream = Wire::new(stream, transport.acknowledges_at_once);
        let Some(settings) = &transport.tls else {
            return self.greet(stream, !transport.speaks_one).await;
        };
        let began = Instant::now();
        let name = ServerName::try_from(self.host.clone())
            .map_err(|error| Failure::new(libc::EINVAL, format!("{}: {error}", self.authority)))?;
        let secured =
            TlsConnector::from(Arc::clone(settings)).connect(name, stream).await.map_err(|error| {
                let mut failure = failed(error);
                failure.sentence +=
                    "; http_ca= names the certificates to trust, https=insecure trusts any certificate";
                failure
            })?;
        tally.record("TLS handshake", began.elapsed());
        let is_two = secured.get_ref().1.alpn_protocol() == Some(b"h2");
        self.greet(secured, is_two).await
    }

    async fn greet<S>(&self, stream: S, is_two: bool) -> Result<Link, Failure>
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let failed = |error: hyper::Error| Failure::of_connection(&self.authority, &error);
        let stream = TokioIo::new(stream);
        let (sender, task) = if is_two {
            let (sender, connection) = http2::Builder::new(OnThisThread)
                .initial_stream_window_size(4 << 20)
                .initial_connection_window_size(16 << 20)
                .handshake(stream)
                .await
                .map_err(failed)?;
            (Sender::Two(sender), tokio::task::spawn_local(async move { drop(connection.await) }))
        } else {
            let (sender, connection) = http1::Builder::new().handshake(stream).await.map_err(failed)?;
            (Sender::One(sender), tokio::task::spawn_local(async move { drop(connection.await) }))
        };
        Ok(Link { sender, task: Some(task), is_proven: false })
    }
}

/// Runs the background tasks of a connection on the thread that opened it.
#[derive(Clone)]
struct OnThisThread;

impl<F: Future + 'static> hyper::rt::Executor<F> for OnThisThread {
    fn execute(&self, task: F) {
        tokio::task::spawn_local(async move { drop(task.await) });
    }
}
