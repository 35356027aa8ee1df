//! OpenTelemetry over HTTP: metrics at intervals, and one trace at the end of the run.

pub mod environment;
mod metrics;
mod trace;

use crate::Snapshot;
use crate::post::{Letter, PostError, Poster, Trust};
use environment::{OtlpSettings, Signal};
use metrics::Starts;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;
use thiserror::Error;

/// Why a collector does not receive the figures.
#[derive(Debug, Error)]
pub enum OtlpError {
    /// The request failed.
    #[error(transparent)]
    Post(#[from] PostError),
    /// Span IDs need random numbers.
    #[error("the system provides no random numbers for the trace")]
    NoRandom,
}

/// A client of a collector.
pub struct Otlp {
    settings: OtlpSettings,
    poster: Poster,
    starts: Starts,
}

impl Otlp {
    /// Does not send anything yet.
    pub fn new(settings: OtlpSettings) -> Result<Otlp, OtlpError> {
        let urls = settings.routes.iter().map(|route| route.url.as_str());
        let trust = Trust {
            authorities: settings.authorities.as_deref(),
            identity: settings
                .identity
                .as_ref()
                .map(|(certificate, key)| (certificate.as_path(), key.as_path())),
        };
        let poster = Poster::new(urls, trust)?;
        Ok(Otlp { settings, poster, starts: Starts::default() })
    }

    /// Sends the metrics, and the trace of a finished run.
    pub fn send(&mut self, snapshot: &Snapshot) -> Result<(), OtlpError> {
        let resource = resource(&self.settings);
        if self.settings.is_wanted(Signal::Metrics) {
            let request =
                metrics::request(snapshot, resource.clone(), &mut self.starts, self.settings.exponential);
            self.post(Signal::Metrics, &request)?;
        }
        if snapshot.is_last && self.settings.is_wanted(Signal::Traces) {
            let ids = trace::Ids::new(self.settings.parent.as_deref())?;
            self.post(Signal::Traces, &trace::request(snapshot, resource, &ids))?;
        }
        Ok(())
    }
}

impl Otlp {
    /// Sends a request if the signal is enabled.
    fn post(&self, signal: Signal, request: &impl Message) -> Result<(), OtlpError> {
        let Some(route) = self.settings.routes.iter().find(|route| route.signal == signal) else {
            return Ok(());
        };
        let letter = Letter {
            receiver: "the collector",
            url: &route.url,
            content_type: "application/x-protobuf",
            headers: &route.headers,
            timeout: route.timeout,
            compressed: route.compressed,
        };
        Ok(self.poster.post(&letter, request.encode_to_vec())?)
    }
}

fn resource(settings: &OtlpSettings) -> Resource {
    let attributes = settings.resource.iter().map(|(name, value)| text(name, value)).collect();
    Resource { attributes, ..Resource::default() }
}

fn scope(version: &str) -> InstrumentationScope {
    InstrumentationScope {
        name: "fathom".to_owned(),
        version: version.to_owned(),
        ..InstrumentationScope::default()
    }
}

fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, Value::StringValue(value.to_owned()))
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}
