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

/// The way to a collector.
pub struct Otlp {
    settings: OtlpSettings,
    poster: Poster,
    starts: Starts,
}

impl Otlp {
    /// Nothing is sent yet. The error says what is wrong with the settings.
    pub fn new(settings: OtlpSettings) -> Result<Otlp, String> {
        let poster = Poster::new(&settings)?;
        Ok(Otlp { settings, poster, starts: Starts::default() })
    }

    /// Sends the metrics, and the trace of a run that is over.
    pub fn send(&mut self, snapshot: &Snapshot) -> Result<(), String> {
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
