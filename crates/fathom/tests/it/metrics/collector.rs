//! An OpenTelemetry collector: accepts requests over HTTP and records them.

use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use prost::Message;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Requests received by a collector.
#[derive(Clone, Debug, Default)]
pub(crate) struct Received {
    pub(crate) metrics: Vec<ExportMetricsServiceRequest>,
    pub(crate) traces: Vec<ExportTraceServiceRequest>,
    /// The heads, in lower case.
    pub(crate) heads: Vec<String>,
}

/// A collector in this process.
pub(crate) struct Collector {
    address: SocketAddr,
    received: Arc<Mutex<Received>>,
}

impl Collector {
    /// Responds to this many requests with an error first.
    pub(crate) fn start(errors: usize) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let received = Arc::new(Mutex::new(Received::default()));
        let kept = Arc::clone(&received);
        std::thread::spawn(move || {
            let mut errors = errors;
            for stream in listener.incoming().flatten() {
                serve(stream, &kept, &mut errors);
            }
        });
        Collector { address, received }
    }

    /// Accepts connections and never responds.
    pub(crate) fn silent() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        std::thread::spawn(move || {
            let streams: Vec<TcpStream> = listener.incoming().flatten().collect();
            drop(streams);
        });
        Collector { address, received: Arc::default() }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn received(&self) -> Received {
        self.received.lock().expect("no panic").clone()
    }
}

/// Responds to the requests of one connection in sequence.
fn serve(stream: TcpStream, received: &Mutex<Received>, errors: &mut usize) {
    let mut reader = BufReader::new(stream);
    while let Some((head, body)) = request(&mut reader) {
        let mut received = received.lock().expect("no panic");
        received.heads.push(head.clone());
        let status = match *errors {
            0 => {
                keep(&mut received, &head, &body);
                "200 OK"
            }
            _ => {
                *errors -= 1;
                "503 Service Unavailable"
            }
        };
        drop(received);
        let sent = write!(reader.get_mut(), "HTTP/1.1 {status}\r\nContent-Length: 5\r\n\r\nbusy\n");
        if sent.is_err() {
            return;
        }
    }
}

fn request(reader: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        (reader.read_line(&mut head).ok()? > 0).then_some(())?;
    }
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"))?.trim().parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    if head.contains("content-encoding: gzip") {
        let mut plain = Vec::new();
        GzDecoder::new(&body[..]).read_to_end(&mut plain).ok()?;
        body = plain;
    }
    Some((head, body))
}

fn keep(received: &mut Received, head: &str, body: &[u8]) {
    match head.split(' ').nth(1) {
        Some("/v1/metrics") => {
            received.metrics.push(ExportMetricsServiceRequest::decode(body).expect("metrics"))
        }
        Some("/v1/traces") => received.traces.push(ExportTraceServiceRequest::decode(body).expect("traces")),
        other => panic!("nothing belongs at {other:?}"),
    }
}

/// The text of an attribute.
pub(crate) fn text_of(attributes: &[KeyValue], key: &str) -> Option<String> {
    let value = attributes.iter().find(|attribute| attribute.key == key)?.value.as_ref()?;
    match value.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        Value::DoubleValue(number) => Some(number.to_string()),
        _ => None,
    }
}
