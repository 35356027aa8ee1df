//! Requests and responses: connections, retries, and evaluation of responses.

use super::body::{Content, Payload};
use super::credentials::Credentials;
use super::endpoint::{Endpoint, Failure, Transport};
use super::sign::{self, Signed, Signer};
use super::tally::Tally;
use crate::net::tls::TlsRules;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use fathom_spec::engines::http::{HttpChecksum, HttpMode, HttpOptions, HttpVersion, Https, S3Payload};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Request, Response};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::cell::Cell;
use std::pin::Pin;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::Receiver;

/// Characters to escape in URLs: all but those that need no escaping.
const IN_VALUES: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
const IN_PATHS: &AsciiSet = &IN_VALUES.remove(b'/');
/// Response statuses after which a retry may succeed.
const PASSING: [u16; 6] = [429, 500, 502, 503, 504, 509];
/// Maximum size of a text response in bytes.
const TEXT_LIMIT: usize = 1 << 20;

/// One request.
pub(super) struct Call {
    /// Name under which the request is counted.
    pub(super) name: &'static str,
    pub(super) method: Method,
    /// Unescaped.
    pub(super) path: String,
    pub(super) query: Vec<(&'static str, String)>,
    /// Range of the request: first and last byte.
    pub(super) range: Option<(u64, u64)>,
    pub(super) payload: Payload,
    /// True if the request creates an object, with the job's storage class and encryption key.
    pub(super) makes_object: bool,
}

impl Call {
    pub(super) fn new(name: &'static str, method: Method, path: &str) -> Call {
        let (path, query) = (path.to_owned(), Vec::new());
        Call { name, method, path, query, range: None, payload: Payload::Empty, makes_object: false }
    }
}

/// An answer.
pub(super) struct Answer {
    pub(super) status: u16,
    /// Number of bytes received of the body.
    pub(super) received: u64,
    /// `Content-Length`.
    pub(super) length: Option<u64>,
    pub(super) etag: Option<String>,
    /// The body, unless it was received into the buffer of an I/O.
    pub(super) text: Vec<u8>,
    reason: &'static str,
}

impl Answer {
    pub(super) fn is_good(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The failure that an unsuccessful response stands for.
    pub(super) fn refusal(&self, call: &Call) -> Failure {
        let text = String::from_utf8_lossy(&self.text);
        let said: Vec<&str> = ["Code", "Message"]
            .iter()
            .filter_map(|name| element(&text, name))
            .filter(|s| !s.is_empty())
            .collect();
        let said = if said.is_empty() { String::new() } else { format!(": {}", said.join(": ")) };
        let advice = match self.status {
            401 | 403 => "; check the credentials and what they allow",
            404 if call.method == Method::PUT => {
                "; the bucket, container or folder must exist before the run"
            }
            404 => "; there is no such object: write the objects first, with the same block size",
            409 if call.method == Method::PUT => "; the folder must exist before the run",
            _ => "",
        };
        let sentence = format!(
            "{} {} was answered with HTTP {} {}{said}{advice}",
            call.method, call.path, self.status, self.reason
        );
        Failure::new(libc::EIO, sentence)
    }
}

/// Destination for the body of a successful response.
#[derive(Clone, Copy)]
pub(super) enum Sink {
    /// The buffer of an I/O, valid until the I/O has completed.
    Buffer(*mut u8, usize),
    /// [`Answer::text`].
    Text,
}

enum Access {
    Dav(Option<String>),
    S3(Box<Signer>),
    Swift(String),
}

/// The servers of a job, the credentials, and connection settings.
pub(super) struct Client {
    transport: Transport,
    endpoints: Vec<Endpoint>,
    turn: Cell<usize>,
    access: Access,
    options: HttpOptions,
    pub(super) tally: Tally,
}

impl Client {
    /// Determines servers and credentials, without connecting.
    pub(super) fn new(options: &HttpOptions) -> Result<Client, Failure> {
        let access = match options.http_mode {
            HttpMode::WebDav => Access::Dav(options.http_user.as_ref().map(|user| {
                let password = options.http_pass.as_deref().unwrap_or("");
                format!("Basic {}", BASE64.encode(format!("{user}:{password}")))
            })),
            HttpMode::S3 => {
                let found = Credentials::find(options);
                let found = found.map_err(|error| Failure::new(libc::EACCES, error.to_string()))?;
                Access::S3(Box::new(Signer::new(found, &options.http_s3_region)))
            }
            HttpMode::Swift => {
                let token =
                    options.http_swift_auth_token.clone().or_else(|| std::env::var("OS_AUTH_TOKEN").ok());
                let lacks = "no Swift token: set OS_AUTH_TOKEN, or http_swift_auth_token= in the job file";
                Access::Swift(token.ok_or_else(|| Failure::new(libc::EACCES, lacks))?)
            }
        };
        let mut transport = Transport {
            tls: None,
            speaks_one: options.http_version != HttpVersion::Two,
            speaks_two: options.http_version != HttpVersion::One,
            connections: options.http_connections,
            acknowledges_at_once: options.http_quickack,
        };
        if options.https != Https::Off {
            let identity = options.http_cert.as_ref().zip(options.http_key.as_ref());
            let rules = TlsRules {
                authorities: options.http_ca.as_ref().map(Into::into),
                identity: identity.map(|(certificate, key)| (certificate.into(), key.into())),
                verifies_server: options.https == Https::On,
            };
            transport =
                transport.with_tls(&rules).map_err(|error| Failure::new(libc::EINVAL, error.to_string()))?;
        }
        let hosts = options.http_host.split(',').map(str::trim).filter(|host| !host.is_empty());
        let endpoints: Result<Vec<Endpoint>, Failure> =
            hosts.map(|host| Endpoint::find(host, &transport)).collect();
        let endpoints = endpoints?;
        if endpoints.is_empty() {
            return Err(Failure::new(libc::EINVAL, "http_host= does not name a server"));
        }
        let (turn, tally) = (Cell::new(0), Tally::default());
        Ok(Client { transport, endpoints, turn, access, options: options.clone(), tally })
    }

    /// Connects to every server.
    pub(super) async fn open(&self) -> Result<(), Failure> {
        for endpoint in &self.endpoints {
            self.in_time(&endpoint.authority, endpoint.open(&self.transport, &self.tally)).await?;
        }
        Ok(())
    }

    /// Like [`send`](Client::send), before the run. It has a timeout, because no supervisor watches for stuck
    /// I/Os yet.
    pub(super) async fn ask(&self, call: &Call) -> Result<Answer, Failure> {
        self.in_time(&self.endpoints[0].authority, self.send(call, Sink::Text)).await
    }

    async fn in_time<T>(
        &self,
        server: &str,
        task: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let limit = self.options.http_connect_limit;
        tokio::time::timeout(limit, task).await.unwrap_or_else(|_| {
            let sentence = format!("{server}: no answer within {limit:?} (http_connect_limit=)");
            Err(Failure::new(libc::ETIMEDOUT, sentence))
        })
    }

    /// Sends a request, with the job's retries, and receives the response.
    pub(super) async fn send(&self, call: &Call, sink: Sink) -> Result<Answer, Failure> {
        let began = Instant::now();
        let mut pause = self.options.http_retry_pause;
        let mut left = self.options.http_retries;
        loop {
            let outcome = self.send_once(call, sink).await;
            let may_pass = match &outcome {
                Ok(answer) => PASSING.contains(&answer.status),
                Err(failure) => failure.is_passing,
            };
            if !may_pass || left == 0 {
                self.tally.record(call.name, began.elapsed());
                return outcome;
            }
            left -= 1;
            self.tally.count("retries", 1);
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2).min(Duration::from_secs(60));
        }
    }

    /// Sends a request without the job's retries. If a reused connection was closed while the request was in
    /// transit, the server has not failed, so the request is sent once more on another connection.
    async fn send_once(&self, call: &Call, sink: Sink) -> Result<Answer, Failure> {
        let turn = self.turn.replace(self.turn.get().wrapping_add(1));
        let endpoint = &self.endpoints[turn % self.endpoints.len()];
        let mut is_second = false;
        loop {
            let (mut link, _permit) = endpoint.acquire(&self.transport, &self.tally).await?;
            let (content, loan) = call.payload.body();
            let request = self.request(call, &endpoint.authority, link.is_two(), content)?;
            let sent = Instant::now();
            let outcome = link.send(request).await;
            let outcome = match outcome {
                Ok(response) => {
                    self.tally.record("first byte", sent.elapsed());
                    self.take(call, response, sink, &endpoint.authority).await
                }
                Err(error) if link.is_proven && !is_second => {
                    is_second = true;
                    link.end().await;
                    wait_for(&loan).await;
                    self.tally.count("connections closed by the server", 1);
                    self.tally.trace(|| format!("* {}: {error}; sent again", endpoint.authority));
                    continue;
                }
                Err(error) => Err(Failure::of_connection(&endpoint.authority, &error)),
            };
            // A response may arrive before the whole request has been sent. The unsent part then still refers
            // to the buffer, so the connection cannot be reused.
            match outcome.is_ok() && loan.is_back() {
                true => endpoint.release(link),
                false => link.end().await,
            }
            wait_for(&loan).await;
            return outcome;
        }
    }

    /// Sends an object of `length` bytes that is produced in pieces.
    pub(super) async fn stream(
        &self,
        call: &Call,
        length: u64,
        pieces: Receiver<Bytes>,
    ) -> Result<Answer, Failure> {
        let endpoint = &self.endpoints[0];
        let (mut link, _permit) = endpoint.acquire(&self.transport, &self.tally).await?;
        let content = Content::Streamed(length, pieces);
        let request = self.request(call, &endpoint.authority, link.is_two(), content)?;
        let response = link.send(request).await;
        let response = response.map_err(|error| Failure::of_connection(&endpoint.authority, &error))?;
        let answer = self.take(call, response, Sink::Text, &endpoint.authority).await?;
        link.end().await;
        Ok(answer)
    }

    fn request(
        &self,
        call: &Call,
        authority: &str,
        is_two: bool,
        content: Content,
    ) -> Result<Request<Content>, Failure> {
        let path = utf8_percent_encode(&call.path, IN_PATHS).to_string();
        let mut query: Vec<String> = call
            .query
            .iter()
            .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, IN_VALUES)))
            .collect();
        query.sort();
        let query = query.join("&");
        let mut headers = self.headers(call, authority);
        let is_streamed = matches!(content, Content::Streamed(..));
        self.authorize(call, &path, &query, &mut headers, is_streamed);
        if let Some((first, last)) = call.range {
            headers.push(("range".to_owned(), format!("bytes={first}-{last}")));
        }
        let target = if query.is_empty() { path } else { format!("{path}?{query}") };
        let scheme = if self.transport.tls.is_some() { "https" } else { "http" };
        let uri = if is_two { format!("{scheme}://{authority}{target}") } else { target.clone() };
        let mut request = Request::builder().method(&call.method).uri(uri);
        for (name, value) in &headers {
            if is_two && name == "host" {
                continue;
            }
            let invalid =
                |_| Failure::new(libc::EINVAL, format!("{name}: a character that headers must not contain"));
            let mut value = HeaderValue::from_str(value).map_err(|error| invalid(error.to_string()))?;
            value.set_sensitive(is_secret(name));
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| invalid(error.to_string()))?;
            request = request.header(name, value);
        }
        self.trace_request(&call.method, &target, &headers);
        request.body(content).map_err(|error| {
            let sentence =
                format!("{}: {error}; names begin with a slash, as in filename=/bucket/name", call.path);
            Failure::new(libc::EINVAL, sentence)
        })
    }

    /// Request headers, except those for authentication.
    fn headers(&self, call: &Call, authority: &str) -> Vec<(String, String)> {
        let mut headers = vec![("host".to_owned(), authority.to_owned())];
        let mut add = |name: &str, value: String| headers.push((name.to_owned(), value));
        if call.name == "list" && self.options.http_mode == HttpMode::WebDav {
            add("depth", "1".to_owned());
        }
        let is_s3 = self.options.http_mode == HttpMode::S3;
        let bytes = call.payload.bytes();
        match self.options.http_checksum {
            HttpChecksum::Md5 if !bytes.is_empty() => {
                let digest = fast_md5::digest(bytes);
                match self.options.http_mode {
                    HttpMode::Swift => add("etag", sign::hexadecimal(&digest)),
                    _ => add("content-md5", BASE64.encode(digest)),
                }
            }
            HttpChecksum::Sha256 if !bytes.is_empty() && is_s3 => {
                let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
                add("x-amz-checksum-sha256", BASE64.encode(digest));
            }
            HttpChecksum::Sha256 if call.method == Method::GET && is_s3 && call.query.is_empty() => {
                add("x-amz-checksum-mode", "ENABLED".to_owned());
            }
            _ => {}
        }
        if is_s3 && call.makes_object {
            add("x-amz-storage-class", self.options.http_s3_storage_class.clone());
        }
        let touches_object =
            matches!(call.method, Method::GET | Method::PUT | Method::HEAD) || call.makes_object;
        if let Some(key) = self.options.http_s3_sse_customer_key.as_ref().filter(|_| is_s3 && touches_object)
        {
            let prefix = "x-amz-server-side-encryption-customer";
            add(&format!("{prefix}-algorithm"), self.options.http_s3_sse_customer_algorithm.clone());
            add(&format!("{prefix}-key"), BASE64.encode(key));
            add(&format!("{prefix}-key-md5"), BASE64.encode(fast_md5::digest(key.as_bytes())));
        }
        headers
    }

    fn authorize(
        &self,
        call: &Call,
        path: &str,
        query: &str,
        headers: &mut Vec<(String, String)>,
        is_streamed: bool,
    ) {
        match &self.access {
            Access::Dav(None) => {}
            Access::Dav(Some(authorization)) => {
                headers.push(("authorization".to_owned(), authorization.clone()));
            }
            Access::Swift(token) => headers.push(("x-auth-token".to_owned(), token.clone())),
            Access::S3(signer) => {
                let payload = match self.options.http_s3_payload {
                    S3Payload::Signed if !is_streamed => sign::sha256(call.payload.bytes()),
                    _ => "UNSIGNED-PAYLOAD".to_owned(),
                };
                let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
                let method = call.method.as_str();
                signer.sign(&mut Signed { method, path, query, headers, payload: &payload, time: &time });
            }
        }
    }

    fn trace_request(&self, method: &Method, target: &str, headers: &[(String, String)]) {
        if self.options.http_verbose == 0 {
            return;
        }
        self.tally.trace(|| format!("> {method} {target}"));
        if self.options.http_verbose > 1 {
            for (name, value) in headers {
                let value = if is_secret(name) { "(hidden)" } else { value };
                self.tally.trace(|| format!("> {name}: {value}"));
            }
        }
    }

    /// Receives a complete response.
    async fn take(
        &self,
        call: &Call,
        response: Response<Incoming>,
        sink: Sink,
        server: &str,
    ) -> Result<Answer, Failure> {
        let status = response.status();
        self.tally.count(&format!("status {}", status.as_u16()), 1);
        self.trace_response(&response);
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let mut answer = Answer {
            status: status.as_u16(),
            received: 0,
            length: header("content-length").and_then(|text| text.parse().ok()),
            etag: header("etag").map(str::to_owned),
            text: Vec::new(),
            reason: status.canonical_reason().unwrap_or(""),
        };
        let promised = header("x-amz-checksum-sha256").map(str::to_owned);
        let mut body = response.into_body();
        while let Some(frame) = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
        {
            let frame = frame.map_err(|error| Failure::of_connection(server, &error))?;
            let Ok(bytes) = frame.into_data() else { continue };
            match sink {
                Sink::Buffer(start, length) if status.is_success() => {
                    let at = answer.received as usize;
                    if bytes.len() > length - at {
                        let sentence = format!(
                            "{} {}: the answer is longer than the {length} bytes requested",
                            call.method, call.path
                        );
                        return Err(Failure::new(libc::EIO, sentence));
                    }
                    // SAFETY: the buffer has `length` bytes, belongs to the I/O until it completes, and is
                    // not written to elsewhere.
                    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start.add(at), bytes.len()) };
                }
                _ => answer.text.extend(bytes.iter().take(TEXT_LIMIT - answer.text.len().min(TEXT_LIMIT))),
            }
            answer.received += bytes.len() as u64;
        }
        self.tally.count("bytes received", answer.received);
        self.tally.count("bytes sent", call.payload.bytes().len() as u64);
        if let Sink::Buffer(start, _) = sink
            && answer.is_good()
            && call.range.is_none()
        {
            // SAFETY: as many bytes have been written to the buffer.
            let bytes = unsafe { std::slice::from_raw_parts(start, answer.received as usize) };
            self.compare(call, bytes, &answer, promised.as_deref())?;
        }
        Ok(answer)
    }

    /// Compares the data of a complete object with the server's checksum.
    fn compare(
        &self,
        call: &Call,
        bytes: &[u8],
        answer: &Answer,
        promised: Option<&str>,
    ) -> Result<(), Failure> {
        let etag = answer.etag.as_deref().map(|text| text.trim_matches('"'));
        let is_same = match self.options.http_checksum {
            HttpChecksum::None => return Ok(()),
            HttpChecksum::Md5 => etag
                .filter(|text| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()))
                .map(|text| text.eq_ignore_ascii_case(&sign::hexadecimal(&fast_md5::digest(bytes)))),
            HttpChecksum::Sha256 => {
                promised.map(|text| text == BASE64.encode(ring::digest::digest(&ring::digest::SHA256, bytes)))
            }
        };
        match is_same {
            Some(false) => {
                let sentence = format!("{}: the data does not match the server's checksum", call.path);
                Err(Failure::new(libc::EILSEQ, sentence))
            }
            Some(true) => {
                self.tally.count("checksums compared", 1);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn trace_response(&self, response: &Response<Incoming>) {
        if self.options.http_verbose == 0 {
            return;
        }
        self.tally.trace(|| format!("< {:?} {}", response.version(), response.status()));
        if self.options.http_verbose > 1 {
            for (name, value) in response.headers() {
                self.tally.trace(|| format!("< {name}: {}", String::from_utf8_lossy(value.as_bytes())));
            }
        }
    }

    /// True if a connection can carry several requests concurrently.
    pub(super) fn has_several_connections(&self) -> bool {
        self.options.http_connections != 1
    }
}

/// Waits until nothing refers to the buffer of an I/O any longer.
async fn wait_for(loan: &super::body::Loan) {
    while !loan.is_back() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn is_secret(header: &str) -> bool {
    ["authorization", "x-auth-token", "x-amz-security-token"].contains(&header)
        || header.contains("customer-key")
}

/// Content of the first XML element with this name.
pub(super) fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let after = text.split_once(&format!("<{name}>"))?.1;
    Some(after.split_once(&format!("</{name}>"))?.0)
}
