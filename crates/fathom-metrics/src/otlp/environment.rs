//! Settings of OpenTelemetry: the option, and the variables that its specification defines for all exporters.
//!
//! Source: OpenTelemetry's "Environment Variable Specification" and "OTLP Exporter Configuration".

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// Default address of a collector.
const USUAL_URL: &str = "http://localhost:4318";
/// Default timeout for a response.
const USUAL_TIMEOUT_MS: u64 = 10_000;
/// Default export interval. The specification's minute is longer than many runs.
const USUAL_INTERVAL_MS: u64 = 10_000;

/// Why the OpenTelemetry environment variables cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EnvironmentError {
    /// The variable disables the export.
    #[error("OTEL_SDK_DISABLED=true forbids it")]
    Disabled,
    /// A certificate without its key, or vice versa.
    #[error("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and …_CLIENT_KEY must be set together")]
    HalfIdentity,
    /// Delta temporality.
    #[error(
        "{variable}={value} is not supported; the figures are cumulative, and collectors can turn them into differences"
    )]
    Delta {
        /// Its name.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// Another protocol.
    #[error("{variable}={value} is not supported; collectors accept http/protobuf at port 4318")]
    Protocol {
        /// Its name.
        variable: String,
        /// Its value.
        value: String,
    },
    /// Another compression.
    #[error("{variable}={value} is not supported; only gzip and none are")]
    Compression {
        /// Its name.
        variable: String,
        /// Its value.
        value: String,
    },
    /// Not a URL.
    #[error("{0} is not an address of a collector; expected one such as {USUAL_URL}")]
    NoUrl(String),
    /// Not a number of milliseconds.
    #[error("{variable}={value}: expected a number of milliseconds")]
    NoNumber {
        /// Its name.
        variable: String,
        /// Its value.
        value: String,
    },
    /// Not pairs. The value may be secret, so it is not shown.
    #[error("{variable}: expected name=value,name=value")]
    NoPairs {
        /// Its name.
        variable: String,
    },
}

/// A signal of OpenTelemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signal {
    /// Figures over time.
    Metrics,
    /// Events and their times.
    Traces,
}

impl Signal {
    /// Last component of the signal's default URL.
    fn path(self) -> &'static str {
        match self {
            Signal::Metrics => "v1/metrics",
            Signal::Traces => "v1/traces",
        }
    }

    /// The signal's part of the names of its variables.
    fn word(self) -> &'static str {
        match self {
            Signal::Metrics => "METRICS",
            Signal::Traces => "TRACES",
        }
    }
}

/// Export settings of one signal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// The signal.
    pub signal: Signal,
    /// Its URL.
    pub url: String,
    /// Headers of each request.
    pub headers: Vec<(String, String)>,
    /// Timeout of an answer.
    pub timeout: Duration,
    /// Compress with gzip.
    pub compressed: bool,
}

/// Export settings of OpenTelemetry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtlpSettings {
    /// The enabled signals.
    pub routes: Vec<Route>,
    /// Export interval of metrics.
    pub interval: Duration,
    /// Export latencies as exponential histograms.
    pub exponential: bool,
    /// Resource attributes: names and values.
    pub resource: Vec<(String, String)>,
    /// The parent span of the run (`traceparent`).
    pub parent: Option<String>,
    /// Certificates of the trusted authorities; by default those of this machine.
    pub authorities: Option<PathBuf>,
    /// Client certificate and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

impl OtlpSettings {
    /// Reads the settings from an address (empty for the environment's) and the environment, for this version
    /// of fathom.
    pub fn read(
        url: &str,
        version: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<OtlpSettings, EnvironmentError> {
        // An empty variable counts as unset.
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Err(EnvironmentError::Disabled);
        }
        refuse_delta(&variable)?;
        let wanted = [Signal::Metrics, Signal::Traces].into_iter().filter(|signal| {
            let exporter = variable(&format!("OTEL_{}_EXPORTER", signal.word()));
            exporter.is_none_or(|exporter| exporter.trim() != "none")
        });
        let routes: Result<Vec<Route>, EnvironmentError> =
            wanted.map(|signal| route(signal, url, &variable)).collect();
        let of_all = |name: &str| variable(&format!("OTEL_EXPORTER_OTLP_{name}"));
        let identity = match (of_all("CLIENT_CERTIFICATE"), of_all("CLIENT_KEY")) {
            (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
            (None, None) => None,
            _ => return Err(EnvironmentError::HalfIdentity),
        };
        let interval = number("OTEL_METRIC_EXPORT_INTERVAL", &variable)?.unwrap_or(USUAL_INTERVAL_MS).max(1);
        let histograms = variable("OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION");
        Ok(OtlpSettings {
            routes: routes?,
            interval: Duration::from_millis(interval),
            exponential: histograms.is_some_and(|kind| kind.trim() == "base2_exponential_bucket_histogram"),
            resource: resource(version, &variable)?,
            parent: variable("TRACEPARENT"),
            authorities: of_all("CERTIFICATE").map(PathBuf::from),
            identity,
        })
    }

    /// True if the signal is exported.
    pub fn is_wanted(&self, signal: Signal) -> bool {
        self.routes.iter().any(|route| route.signal == signal)
    }
}

fn refuse_delta(variable: &dyn Fn(&str) -> Option<String>) -> Result<(), EnvironmentError> {
    let name = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";
    match variable(name) {
        Some(value) if !value.trim().eq_ignore_ascii_case("cumulative") => {
            Err(EnvironmentError::Delta { variable: name, value })
        }
        _ => Ok(()),
    }
}

fn route(
    signal: Signal,
    url: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Route, EnvironmentError> {
    // The variable of a signal has priority over the general one.
    let own_name = |name: &str| format!("OTEL_EXPORTER_OTLP_{}_{name}", signal.word());
    let own_or_all = |name: &str| {
        let all = format!("OTEL_EXPORTER_OTLP_{name}");
        [own_name(name), all].into_iter().find_map(|name| variable(&name).map(|value| (name, value)))
    };
    if let Some((name, protocol)) =
        own_or_all("PROTOCOL").filter(|(_, value)| value.trim() != "http/protobuf")
    {
        return Err(EnvironmentError::Protocol { variable: name, value: protocol });
    }
    let compressed = match own_or_all("COMPRESSION") {
        Some((_, value)) if value.trim() == "gzip" => true,
        Some((_, value)) if value.trim() == "none" => false,
        None => false,
        Some((name, value)) => return Err(EnvironmentError::Compression { variable: name, value }),
    };
    let timeout = match own_or_all("TIMEOUT") {
        Some((name, _)) => number(&name, variable)?.unwrap_or(USUAL_TIMEOUT_MS),
        None => USUAL_TIMEOUT_MS,
    };
    let mut headers = Vec::new();
    for name in ["OTEL_EXPORTER_OTLP_HEADERS".to_owned(), own_name("HEADERS")] {
        let given = pairs(&name, variable(&name))?;
        headers.retain(|(own, _): &(String, String)| {
            !given.iter().any(|(name, _)| name.eq_ignore_ascii_case(own))
        });
        headers.extend(given);
    }
    let url = match variable(&own_name("ENDPOINT")).filter(|_| url.is_empty()) {
        // The URL of a signal is used without an added path.
        Some(own) => own,
        None => {
            let of_all = variable("OTEL_EXPORTER_OTLP_ENDPOINT");
            let base = if url.is_empty() { of_all.as_deref().unwrap_or(USUAL_URL) } else { url };
            format!("{}/{}", base.trim_end_matches('/'), signal.path())
        }
    };
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err(EnvironmentError::NoUrl(url));
    }
    Ok(Route { signal, url, headers, timeout: Duration::from_millis(timeout.max(1)), compressed })
}

fn number(name: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<u64>, EnvironmentError> {
    let Some(text) = variable(name) else { return Ok(None) };
    match text.trim().parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(EnvironmentError::NoNumber { variable: name.to_owned(), value: text }),
    }
}

/// `a=b,c=d`, percent-encoded.
fn pairs(name: &str, text: Option<String>) -> Result<Vec<(String, String)>, EnvironmentError> {
    let text = text.unwrap_or_default();
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let read = |pair: &str| {
        let (key, value) = pair.split_once('=')?;
        let decode =
            |text: &str| percent_decode_str(text.trim()).decode_utf8().ok().map(|text| text.into_owned());
        Some((decode(key).filter(|key| !key.is_empty())?, decode(value)?))
    };
    pairs
        .map(|pair| read(pair).ok_or_else(|| EnvironmentError::NoPairs { variable: name.to_owned() }))
        .collect()
}

fn resource(
    version: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, EnvironmentError> {
    let mut resource = pairs("OTEL_RESOURCE_ATTRIBUTES", variable("OTEL_RESOURCE_ATTRIBUTES"))?;
    let mut set =
        |name: &str, value: String, replace: bool| match resource.iter_mut().find(|(own, _)| own == name) {
            Some((_, own)) if replace => *own = value,
            Some(_) => {}
            None => resource.push((name.to_owned(), value)),
        };
    match variable("OTEL_SERVICE_NAME") {
        Some(name) => set("service.name", name, true),
        None => set("service.name", "fathom".to_owned(), false),
    }
    set("service.version", version.to_owned(), false);
    set("process.pid", std::process::id().to_string(), false);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    set("host.name", host.trim().to_owned(), false);
    Ok(resource)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str, variables: &[(&str, &str)]) -> Result<OtlpSettings, EnvironmentError> {
        OtlpSettings::read(url, "1", &|name| {
            variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn addresses_come_from_the_option_then_the_signal_then_all() {
        let urls = |url: &str, variables: &[(&str, &str)]| -> Vec<String> {
            let settings = read(url, variables).expect("settings");
            settings.routes.into_iter().map(|route| route.url).collect()
        };
        assert_eq!(urls("", &[]), ["http://localhost:4318/v1/metrics", "http://localhost:4318/v1/traces"]);
        let all = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://c:1/base/");
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t/x");
        assert_eq!(urls("", &[all, own]), ["https://c:1/base/v1/metrics", "http://t/x"]);
        assert_eq!(urls("http://o", &[all, own]), ["http://o/v1/metrics", "http://o/v1/traces"]);
        assert_eq!(urls("", &[("OTEL_TRACES_EXPORTER", "none")]), ["http://localhost:4318/v1/metrics"]);
    }

    #[test]
    fn variables_of_a_signal_come_before_those_of_all() {
        let settings = read(
            "",
            &[
                ("OTEL_EXPORTER_OTLP_HEADERS", "a=1, token=s%20x"),
                ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "A=2"),
                ("OTEL_EXPORTER_OTLP_TIMEOUT", "500"),
                ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "700"),
                ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
                ("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "none"),
                ("OTEL_RESOURCE_ATTRIBUTES", "service.name=x,rack=7"),
            ],
        )
        .expect("settings");
        let [metrics, traces] = &settings.routes[..] else { panic!("{settings:?}") };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(metrics.headers, [pair("token", "s x"), pair("A", "2")]);
        assert_eq!(traces.headers, [pair("a", "1"), pair("token", "s x")]);
        assert_eq!((metrics.timeout.as_millis(), traces.timeout.as_millis()), (500, 700));
        assert_eq!((metrics.compressed, traces.compressed), (true, false));
        assert!(settings.resource.contains(&pair("service.name", "x")));
        assert!(settings.resource.contains(&pair("rack", "7")));
    }

    #[test]
    fn what_is_not_built_or_wrong_is_refused_by_name() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "1s"),
            ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta"),
            ("OTEL_SDK_DISABLED", "true"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "secret"),
        ] {
            let refusal = read("", &[(name, value)]).expect_err(name).to_string();
            assert!(refusal.contains(name), "{refusal}");
            assert!(!refusal.contains("secret"), "{refusal}");
        }
        assert!(read("localhost:4318", &[]).is_err());
        assert!(read("", &[("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/k")]).is_err());
    }
}
