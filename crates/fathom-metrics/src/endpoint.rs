//! The endpoint that Prometheus scrapes.

use crate::figures::{families, families_of_nothing};
use crate::prometheus::{self, CONTENT_TYPE};
use crate::shared::Shared;
use bytes::Bytes;
use fathom_errors::plain;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE as TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Maximum time that a client may take to send a request, and between two requests.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum lifetime of a connection, so that a client that reads a byte at a time cannot keep it forever.
const LONGEST: Duration = Duration::from_secs(300);
/// Maximum number of connections; further ones wait.
const MOST_CONNECTIONS: usize = 32;
/// Pause after the system has refused a connection.
const PAUSE: Duration = Duration::from_millis(100);

/// Why metrics cannot be served.
#[derive(Debug, Error)]
pub enum EndpointError {
    /// The address is not available.
    #[error("cannot listen on {address}: {error}", error = plain(.error))]
    NotListening {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
    /// The serving thread cannot start.
    #[error("the endpoint for Prometheus: {error}", error = plain(.0))]
    NotServing(#[from] io::Error),
}

/// Binds the address.
pub fn listen(address: SocketAddr) -> Result<TcpListener, EndpointError> {
    let listener =
        TcpListener::bind(address).and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    listener.map_err(|error| EndpointError::NotListening { address, error })
}

/// Serves forever.
pub(crate) fn serve(listener: TcpListener, shared: Arc<Shared>) -> Result<(), EndpointError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let local = tokio::task::LocalSet::new();
        local.run_until(accept(listener, places, shared)).await;
        Ok(())
    })
}

async fn accept(listener: tokio::net::TcpListener, places: Arc<Semaphore>, shared: Arc<Shared>) {
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::task::spawn_local(async move {
            let service = service_fn(move |request| {
                let answer = answer(&request, &shared);
                async move { Ok::<_, Infallible>(answer) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .serve_connection(TokioIo::new(stream), service);
            // The result is ignored, because a client that has disconnected needs no answer.
            let _ = timeout(LONGEST, connection).await;
            drop(place);
        });
    }
}

fn answer(request: &Request<Incoming>, shared: &Shared) -> Response<Full<Bytes>> {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let (status, kind, text) = match request.uri().path() {
        _ if !is_read => (StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET and HEAD\n".to_owned()),
        "/metrics" => {
            let (snapshot, version) = shared.for_reader();
            let families =
                snapshot.map_or_else(|| families_of_nothing(version), |snapshot| families(&snapshot));
            (StatusCode::OK, CONTENT_TYPE, prometheus::text(&families))
        }
        "/" => (StatusCode::OK, "text/plain", "The metrics of this fathom run are at /metrics.\n".to_owned()),
        _ => (StatusCode::NOT_FOUND, "text/plain", "the metrics are at /metrics\n".to_owned()),
    };
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(TYPE, hyper::header::HeaderValue::from_static(kind));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        answer.headers_mut().insert(ALLOW, hyper::header::HeaderValue::from_static("GET, HEAD"));
    }
    answer
}
