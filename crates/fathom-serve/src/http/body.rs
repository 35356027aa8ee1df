//! Reads the body of a request, with limits on size and time.

use super::answer::{self, Answer};
use hyper::StatusCode;
use hyper::body::{Body, Incoming};
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::timeout;

/// Maximum size of a request in bytes.
const MOST_BYTES: usize = 1 << 20;
/// Maximum time within which a request must arrive.
const TIME: Duration = Duration::from_secs(10);

/// Returns the body, or the response that refuses it.
pub(super) async fn read(body: Incoming) -> Result<Vec<u8>, Answer> {
    match timeout(TIME, collect(body)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(status)) => Err(answer::problem(status, "a request must be complete and at most 1 MiB long")),
        Err(_) => Err(answer::problem(StatusCode::REQUEST_TIMEOUT, "the request did not arrive within 10 s")),
    }
}

async fn collect(mut body: Incoming) -> Result<Vec<u8>, StatusCode> {
    let mut bytes = Vec::new();
    if body.size_hint().lower() > MOST_BYTES as u64 {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let data = frame.map_err(|_| StatusCode::BAD_REQUEST)?.into_data().unwrap_or_default();
        if bytes.len() + data.len() > MOST_BYTES {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}
