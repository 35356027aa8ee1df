//! Responses: bodies, complete or streamed, and the headers that all responses have.

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use maud::{PreEscaped, html};
use serde::Serialize;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc::Receiver;

/// The body of a response.
pub(crate) enum Content {
    Whole(Option<Bytes>),
    Stream(Receiver<Bytes>),
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Content::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Content::Stream(receiver) => {
                receiver.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Content::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Content::Stream(_) => SizeHint::default(),
        }
    }
}

/// An answer.
pub(crate) type Answer = Response<Content>;

/// Content security policy of the page: it may connect only to this server.
const OF_PAGE: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                       form-action 'none'; base-uri 'none'; frame-ancestors 'none'";
/// Result pages contain their own style and script. They are sandboxed without an origin, so that a script in a
/// result cannot access a run.
const OF_RESULT: &str = "sandbox allow-scripts allow-modals; default-src 'none'; style-src 'unsafe-inline'; script-src \
                         'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/// Pages of the history have forms, whose answers are pages of this server, and scripts of this server alone.
const OF_HISTORY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; form-action 'self'; \
                          base-uri 'none'; frame-ancestors 'none'";

/// Creates a response with this content.
pub(crate) fn of(status: StatusCode, media_type: &'static str, content: Content) -> Answer {
    let mut answer = Response::new(content);
    *answer.status_mut() = status;
    let headers = [
        (header::CONTENT_TYPE, media_type),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, OF_PAGE),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in headers {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// A complete body.
pub(crate) fn whole(status: StatusCode, media_type: &'static str, bytes: impl Into<Bytes>) -> Answer {
    of(status, media_type, Content::Whole(Some(bytes.into())))
}

/// A JSON document.
pub(crate) fn json(status: StatusCode, document: &impl Serialize) -> Answer {
    match serde_json::to_vec(document) {
        Ok(bytes) => whole(status, "application/json", bytes),
        Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// Creates an error response as text.
pub(crate) fn problem(status: StatusCode, text: &str) -> Answer {
    json(status, &serde_json::json!({ "problem": text }))
}

/// Creates an error response as a page, for addresses that people open in a tab.
pub(crate) fn problem_page(status: StatusCode, text: &str) -> Answer {
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "fathom: no such result" }
                meta name="viewport" content="width=device-width, initial-scale=1";
                style { "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}" }
            }
            body {
                h1 { "This page cannot be made" }
                p { (text) }
            }
        }
    };
    let mut answer = result_page(page.into_string().into_bytes());
    *answer.status_mut() = status;
    answer
}

/// Creates the page of a result.
pub(crate) fn result_page(bytes: Vec<u8>) -> Answer {
    let mut answer = whole(StatusCode::OK, "text/html; charset=utf-8", bytes);
    answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(OF_RESULT));
    answer
}

/// Creates a page of the history.
pub(crate) fn history_page(html: String, is_problem: bool) -> Answer {
    let status = if is_problem { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let mut answer = whole(status, "text/html; charset=utf-8", html.into_bytes());
    answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(OF_HISTORY));
    answer
}
