//! InfluxDB: points in its line protocol, written over HTTP. Source: InfluxData's "Line protocol reference" and "InfluxDB
//! API" (`/api/v2/write`, `/write`), and the variables of its `influx` command. Other receivers of the protocol
//! (VictoriaMetrics, Telegraf, QuestDB) work the same way.

use crate::Snapshot;
use crate::figures::{Family, Labels, Values, families};
use crate::post::{Letter, PostError, Poster, Trust};
use fathom_stats::LatencyStats;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;
use thiserror::Error;

/// Default address of InfluxDB, without `INFLUX_HOST`.
const USUAL_HOST: &str = "http://localhost:8086";
/// Timeout for a response.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Percentiles of a distribution, with the names of their fields.
const PERCENTILES: [(f64, &str); 4] = [(50.0, "p50"), (90.0, "p90"), (99.0, "p99"), (99.9, "p99_9")];

/// Why points cannot be written to an address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InfluxPlaceError {
    /// Not an HTTP address.
    #[error(
        "expected an address such as {USUAL_HOST}, or a whole one with its path, such as {USUAL_HOST}/write?db=fathom"
    )]
    NoUrl,
    /// The address has no path, so it needs a bucket.
    #[error(
        "the bucket is missing: set INFLUX_BUCKET_NAME (and INFLUX_ORG), or give the whole address, such as \
         {USUAL_HOST}/write?db=fathom"
    )]
    NoBucket,
    /// Command lines are visible to every user of the machine.
    #[error(
        "a password or token does not belong in the address; set INFLUX_TOKEN (for InfluxDB 1, INFLUX_TOKEN=user:password)"
    )]
    Secret,
    /// Points have times in nanoseconds.
    #[error("points are written with precision=ns, but the address asks for another precision")]
    Precision,
}

/// Destination of points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InfluxSettings {
    /// The whole address.
    pub url: String,
    /// Headers of every request; secret.
    pub headers: Vec<(String, String)>,
}

impl InfluxSettings {
    /// Reads the settings from an address (empty for the environment's) and the environment.
    pub fn read(
        url: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<InfluxSettings, InfluxPlaceError> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let url = match url {
            "" => set("INFLUX_HOST").unwrap_or_else(|| USUAL_HOST.to_owned()),
            url => url.to_owned(),
        };
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        let rest = rest.filter(|rest| !rest.is_empty()).ok_or(InfluxPlaceError::NoUrl)?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let query = path.split_once('?').map_or("", |(_, query)| query);
        let names: Vec<&str> = query.split('&').map(|pair| pair.split('=').next().unwrap_or(pair)).collect();
        if host.contains('@') || names.iter().any(|name| matches!(*name, "p" | "token" | "password")) {
            return Err(InfluxPlaceError::Secret);
        }
        let precision = query.split('&').find_map(|pair| pair.strip_prefix("precision="));
        if precision.is_some_and(|word| !matches!(word, "ns" | "n" | "nanosecond" | "auto")) {
            return Err(InfluxPlaceError::Precision);
        }
        let url = match path {
            "" => {
                let encoded = |name: &str| {
                    set(name).map(|value| utf8_percent_encode(&value, NON_ALPHANUMERIC).to_string())
                };
                let bucket = encoded("INFLUX_BUCKET_NAME").ok_or(InfluxPlaceError::NoBucket)?;
                let org = encoded("INFLUX_ORG").map(|org| format!("org={org}&")).unwrap_or_default();
                format!("{}/api/v2/write?{org}bucket={bucket}&precision=ns", url.trim_end_matches('/'))
            }
            _ => url,
        };
        let token = set("INFLUX_TOKEN").map(|token| ("authorization".to_owned(), format!("Token {token}")));
        Ok(InfluxSettings { url, headers: token.into_iter().collect() })
    }
}

/// A client of InfluxDB.
pub struct Influx {
    settings: InfluxSettings,
    poster: Poster,
}

impl Influx {
    /// Does not send anything yet.
    pub fn new(settings: InfluxSettings) -> Result<Influx, PostError> {
        let poster = Poster::new(std::iter::once(settings.url.as_str()), Trust::default())?;
        Ok(Influx { settings, poster })
    }

    /// Sends a point per series.
    pub fn send(&self, snapshot: &Snapshot) -> Result<(), PostError> {
        let letter = Letter {
            receiver: "InfluxDB",
            url: &self.settings.url,
            content_type: "text/plain; charset=utf-8",
            headers: &self.settings.headers,
            timeout: TIMEOUT,
            compressed: false,
        };
        self.poster.post(&letter, lines(snapshot).into_bytes())
    }
}

/// A line per series, that is, per measurement and set of tags.
pub fn lines(snapshot: &Snapshot) -> String {
    let host = snapshot.report.host.as_ref().map(|host| host.name.as_str()).unwrap_or_default();
    let mut points: BTreeMap<(String, String), String> = BTreeMap::new();
    for family in families(snapshot) {
        let (measurement, field) = names(&family);
        let mut add = |labels: &Labels, fields: String| {
            let point = points.entry((measurement.clone(), tags(labels, host))).or_default();
            if !point.is_empty() && !fields.is_empty() {
                point.push(',');
            }
            point.push_str(&fields);
        };
        match &family.values {
            Values::Numbers(_, series) => {
                series.iter().for_each(|(labels, value)| add(labels, number(&field, *value)));
            }
            Values::Latencies(series) => {
                series.iter().for_each(|(labels, stats)| add(labels, latency(&field, stats)));
            }
        }
    }
    let mut text = String::new();
    for ((measurement, tags), fields) in points.iter().filter(|(_, fields)| !fields.is_empty()) {
        let _ = writeln!(text, "{measurement}{tags} {fields} {}", snapshot.taken_ns);
    }
    text
}

/// `fathom.job.io` in bytes is the field `io_bytes` of `fathom_job`.
fn names(family: &Family) -> (String, String) {
    let name = family.metric.name;
    let (measurement, field) = name.rsplit_once('.').unwrap_or(("fathom", name));
    (measurement.replace('.', "_"), format!("{field}{}", family.metric.unit.ending()))
}

/// `,job_name=a,direction=read`; a tag without a value is left out, because the protocol does not allow empty
/// values.
fn tags(labels: &Labels, host: &str) -> String {
    let has_host = labels.iter().any(|(name, _)| *name == "host");
    let own = Some(("host", host.to_owned())).filter(|_| !has_host);
    let mut all: Vec<_> = labels.iter().cloned().chain(own).filter(|(_, value)| !value.is_empty()).collect();
    // Tags are sorted, because InfluxDB then accepts points fastest.
    all.sort();
    all.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = write!(text, ",{name}={}", escaped(value));
        text
    })
}

/// Escapes a value of a tag. The protocol allows neither line ends nor a backslash before a separator.
fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for letter in value.chars() {
        match letter {
            ',' | '=' | ' ' => text.extend(['\\', letter]),
            '\\' => text.push('/'),
            letter if letter.is_control() => text.push('?'),
            letter => text.push(letter),
        }
    }
    text
}

fn number(field: &str, value: f64) -> String {
    if value.is_finite() { format!("{field}={value}") } else { String::new() }
}

fn latency(field: &str, stats: &LatencyStats) -> String {
    let mut text = format!(
        "{field}_count={},{field}_sum={},{field}_max={}",
        stats.count,
        stats.sum_ns as f64 / 1e9,
        stats.max_ns as f64 / 1e9
    );
    let values = stats.percentiles(&PERCENTILES.map(|(percentile, _)| percentile));
    for ((_, word), ns) in PERCENTILES.iter().zip(values) {
        let _ = write!(text, ",{field}_{word}={}", ns as f64 / 1e9);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{Metric, Unit};
    use fathom_stats::report::{JobReport, RunReport};

    fn settings(url: &str, variables: &[(&str, &str)]) -> Result<InfluxSettings, InfluxPlaceError> {
        let variable =
            |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned());
        InfluxSettings::read(url, &variable)
    }

    #[test]
    fn the_environment_completes_an_address() {
        let bucket = ("INFLUX_BUCKET_NAME", "a b");
        let read = settings("", &[bucket, ("INFLUX_ORG", "o"), ("INFLUX_TOKEN", "s")]).expect("a place");
        assert_eq!(read.url, "http://localhost:8086/api/v2/write?org=o&bucket=a%20b&precision=ns");
        assert_eq!(read.headers, [("authorization".to_owned(), "Token s".to_owned())]);
        let read = settings("https://h:1/", &[bucket]).expect("a place");
        assert_eq!(read.url, "https://h:1/api/v2/write?bucket=a%20b&precision=ns");
        let whole = "http://h:8086/write?db=d&precision=ns";
        assert_eq!(settings(whole, &[]).map(|read| read.url), Ok(whole.to_owned()));
        assert_eq!(settings("", &[]), Err(InfluxPlaceError::NoBucket));
        for url in ["h:8086", "ftp://h/x", "http://"] {
            assert_eq!(settings(url, &[bucket]), Err(InfluxPlaceError::NoUrl), "{url}");
        }
        for url in ["http://me:pw@h/write?db=d", "http://h/write?db=d&u=me&p=pw", "http://h/x?token=y"] {
            assert_eq!(settings(url, &[]), Err(InfluxPlaceError::Secret), "{url}");
        }
        assert_eq!(settings("http://h/write?precision=s", &[]), Err(InfluxPlaceError::Precision));
    }

    #[test]
    fn names_of_jobs_cannot_break_a_line() {
        assert_eq!(escaped("a b,c=d"), "a\\ b\\,c\\=d");
        assert_eq!(escaped("a\\\nb\\"), "a/?b/");
        let labels = vec![("job_name", "x y".to_owned()), ("direction", String::new())];
        assert_eq!(tags(&labels, "h"), ",host=h,job_name=x\\ y");
    }

    #[test]
    fn a_measurement_is_all_but_the_last_word() {
        let metric = |name, unit| Family {
            metric: Metric { name, unit, meaning: "" },
            values: Values::Latencies(Vec::new()),
        };
        let both = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(names(&metric("fathom.job.io", Unit::Bytes)), both("fathom_job", "io_bytes"));
        assert_eq!(names(&metric("fathom.verdict", Unit::Things)), both("fathom", "verdict"));
    }

    #[test]
    fn every_line_has_tags_fields_and_the_time() {
        let job = JobReport { name: "a b".to_owned(), ..JobReport::default() };
        let report = RunReport { jobs: vec![job], ..RunReport::default() };
        let snapshot = Snapshot { report, taken_ns: 5, version: "1".to_owned(), ..Snapshot::default() };
        let text = lines(&snapshot);
        assert!(text.contains("fathom,version=1 info=1 5\n"), "{text}");
        assert!(text.lines().all(|line| line.starts_with("fathom") && line.ends_with(" 5")), "{text}");
    }
}
