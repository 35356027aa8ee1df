//! OpenTelemetry over HTTP: metrics now and then, and one trace when the run is over.

pub mod environment;
mod metrics;
mod post;
mod trace;

use crate::Snapshot;
use environment::{OtlpSettings, Signal};
use metrics::Starts;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use post::Poster;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a collector does not get what is sent.
#[derive(Debug, Error)]
pub enum OtlpError {
    /// A file of certificates or of a key that the system does not give.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A key that cannot be used.
    #[error("{}: {error}; a private key in PEM form is needed", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: ureq::Error,
    },
    /// A file of certificates without any.
    #[error("{}: there is no certificate in it; PEM form is needed", .0.display())]
    NoCertificate(PathBuf),
    /// Numbers of spans are random.
    #[error("the system gives no random numbers for the trace")]
    NoRandom,
    /// What is sent cannot be compressed.
    #[error("the collector at {collector}: {error}")]
    NotCompressed {
        /// Its address.
        collector: String,
        /// What is wrong.
        error: io::Error,
    },
    /// Nobody answers, or not in HTTP.
    #[error("the collector at {collector}: {error}")]
    NoAnswer {
        /// Its address.
        collector: String,
        /// What is wrong.
        error: Box<ureq::Error>,
    },
    /// The collector does not like it; status and first words of its answer.
    #[error("the collector at {collector}: {said}")]
    Refused {
        /// Its address.
        collector: String,
        /// Its own words.
        said: String,
    },
}

/// The way to a collector.
pub struct Otlp {
    settings: OtlpSettings,
    poster: Poster,
    starts: Starts,
}

impl Otlp {
    /// Nothing is sent yet.
    pub fn new(settings: OtlpSettings) -> Result<Otlp, OtlpError> {
        let poster = Poster::new(&settings)?;
        Ok(Otlp { settings, poster, starts: Starts::default() })
    }

    /// Sends the metrics, and the trace of a run that is over.
    pub fn send(&mut self, snapshot: &Snapshot) -> Result<(), OtlpError> {
        let resource = resource(&self.settings);
        if self.settings.is_wanted(Signal::Metrics) {
            let request =
                metrics::request(snapshot, resource.clone(), &mut self.starts, self.settings.exponential);
            self.poster.post(Signal::Metrics, &request)?;
        }
        if snapshot.is_last && self.settings.is_wanted(Signal::Traces) {
            let ids = trace::Ids::new(self.settings.parent.as_deref())?;
            self.poster.post(Signal::Traces, &trace::request(snapshot, resource, &ids))?;
        }
        Ok(())
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
