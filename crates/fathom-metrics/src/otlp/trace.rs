//! One trace per run: a span for the run contains spans of its stages, which contain spans of its jobs.

use super::{OtlpError, attribute, scope, text};
use crate::Snapshot;
use fathom_stats::moment::WallSpan;
use fathom_stats::report::{JobReport, RunReport};
use fathom_stats::verdict::VerdictReport;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use ring::rand::{SecureRandom, SystemRandom};
use std::collections::BTreeMap;

/// IDs of the trace and of the run's span.
pub(super) struct Ids {
    trace: Vec<u8>,
    parent: Vec<u8>,
    /// First of the span IDs, which are consecutive.
    first: u64,
}

impl Ids {
    /// The IDs of a new trace, or of the one in the environment (`TRACEPARENT`, W3C trace context).
    pub(super) fn new(parent: Option<&str>) -> Result<Ids, OtlpError> {
        let mut random = [0; 24];
        SystemRandom::new().fill(&mut random).map_err(|_| OtlpError::NoRandom)?;
        let (trace, first) = random.split_at(16);
        let first = u64::from_le_bytes(first.try_into().unwrap_or_default());
        Ok(match parent.and_then(read_parent) {
            Some((trace, parent)) => Ids { trace, parent, first },
            None => Ids { trace: trace.to_vec(), parent: Vec::new(), first },
        })
    }

    fn span(&self, number: u64) -> Vec<u8> {
        // An ID must not be all zeros.
        self.first.wrapping_add(number).max(1).to_be_bytes().to_vec()
    }
}

/// Parses `00-TRACE-SPAN-FLAGS` in hexadecimal digits.
fn read_parent(text: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut parts = text.trim().split('-');
    let (version, trace, span) = (parts.next()?, parts.next()?, parts.next()?);
    parts.next()?;
    let bytes = |digits: &str, length: usize| -> Option<Vec<u8>> {
        let right = digits.len() == 2 * length && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let bytes: Option<Vec<u8>> =
            (0..length).map(|at| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()).collect();
        bytes.filter(|bytes| right && bytes.iter().any(|&byte| byte != 0))
    };
    (version.len() == 2 && version != "ff").then_some(())?;
    Some((bytes(trace, 16)?, bytes(span, 8)?))
}

pub(super) fn request(snapshot: &Snapshot, resource: Resource, ids: &Ids) -> ExportTraceServiceRequest {
    let scope_spans = ScopeSpans {
        scope: Some(scope(&snapshot.version)),
        spans: spans(snapshot, ids),
        ..ScopeSpans::default()
    };
    let resource_spans = ResourceSpans {
        resource: Some(resource),
        scope_spans: vec![scope_spans],
        ..ResourceSpans::default()
    };
    ExportTraceServiceRequest { resource_spans: vec![resource_spans] }
}

fn spans(snapshot: &Snapshot, ids: &Ids) -> Vec<Span> {
    let whole = WallSpan { begin_ns: snapshot.started_ns, end_ns: snapshot.taken_ns };
    let mut run = span(ids, 0, ids.parent.clone(), "fathom run", whole);
    run.attributes = snapshot.report.verdict.iter().flat_map(of_verdict).collect();
    let mut spans = vec![run];
    match &snapshot.report.hosts {
        None => add_jobs(&snapshot.report, None, ids, &mut spans),
        Some(hosts) => {
            for host in &hosts.hosts {
                if let Some(report) = &host.report {
                    add_jobs(report, Some(&host.name), ids, &mut spans);
                }
            }
        }
    }
    spans
}

fn of_verdict(verdict: &VerdictReport) -> Vec<KeyValue> {
    let codes: Vec<&str> = verdict.findings.iter().map(|finding| &*finding.code).collect();
    vec![text("fathom.verdict", verdict.word()), text("fathom.findings", &codes.join(" "))]
}

/// Adds the jobs of a machine, below its stages if it has several.
fn add_jobs(report: &RunReport, host: Option<&str>, ids: &Ids, spans: &mut Vec<Span>) {
    let run = ids.span(0);
    let mut ran_in = BTreeMap::<u32, WallSpan>::new();
    for (stage, ran) in report.jobs.iter().filter_map(|job| Some((job.stage, job.ran?))) {
        ran_in.entry(stage).or_insert(ran).merge(&ran);
    }
    let mut stages = BTreeMap::new();
    if ran_in.len() > 1 {
        for (stage, ran) in ran_in {
            let name = format!("stage {}", stage + 1);
            let mut of_stage = span(ids, spans.len() as u64, run.clone(), &name, ran);
            of_stage.attributes.extend(host.map(|name| text("host", name)));
            stages.insert(stage, of_stage.span_id.clone());
            spans.push(of_stage);
        }
    }
    for job in &report.jobs {
        let Some(ran) = job.ran else { continue };
        let parent = stages.get(&job.stage).unwrap_or(&run).clone();
        let mut job_span = span(ids, spans.len() as u64, parent, &format!("job {}", job.name), ran);
        job_span.attributes = of_job(job);
        job_span.attributes.extend(host.map(|name| text("host", name)));
        if let Some(error) = &job.error {
            let (code, message) = (StatusCode::Error as i32, format!("errno {}: {}", error.code, error.text));
            job_span.status = Some(Status { code, message });
        }
        spans.push(job_span);
    }
}

fn of_job(job: &JobReport) -> Vec<KeyValue> {
    let mut attributes = vec![text("job_name", &job.name), number("fathom.clones", u64::from(job.clones))];
    for (direction, report) in job.directions.iter().filter(|(_, report)| !report.is_empty()) {
        let named = |what: &str| format!("fathom.{}.{what}", direction.word());
        attributes.push(number(&named("ios"), report.total_ios));
        attributes.push(number(&named("bytes"), report.io_bytes));
        attributes.push(attribute(&named("iops"), Value::DoubleValue(report.iops())));
        attributes.push(number(&named("bytes_per_second"), report.bytes_per_second()));
        if let [middle, high] = report.clat.percentiles(&[50.0, 99.0])[..] {
            attributes
                .push(attribute(&named("latency_p50_seconds"), Value::DoubleValue(middle as f64 / 1e9)));
            attributes.push(attribute(&named("latency_p99_seconds"), Value::DoubleValue(high as f64 / 1e9)));
        }
    }
    attributes
}

fn number(key: &str, value: u64) -> KeyValue {
    attribute(key, Value::IntValue(i64::try_from(value).unwrap_or(i64::MAX)))
}

fn span(ids: &Ids, number: u64, parent_span_id: Vec<u8>, name: &str, ran: WallSpan) -> Span {
    Span {
        trace_id: ids.trace.clone(),
        span_id: ids.span(number),
        parent_span_id,
        name: name.to_owned(),
        kind: SpanKind::Internal as i32,
        start_time_unix_nano: ran.begin_ns,
        end_time_unix_nano: ran.end_ns.max(ran.begin_ns),
        ..Span::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_read_or_ignored() {
        let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        let read = read_parent(&format!("00-{trace}-{span}-01")).expect("a parent");
        assert_eq!((read.0[0], read.0.len(), read.1[7], read.1.len()), (0x4b, 16, 0xb7, 8));
        let zeros = "0".repeat(32);
        for wrong in [
            String::new(),
            "00".to_owned(),
            format!("00-{trace}-{span}"),
            format!("ff-{trace}-{span}-01"),
            format!("00-{zeros}-{span}-01"),
            format!("00-{trace}é-{span}-01"),
            format!("00-{}-{span}-01", trace.replace('4', "+")),
        ] {
            assert_eq!(read_parent(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn jobs_are_in_their_stages_and_stages_in_the_run() {
        let job = |name: &str, stage, begin_ns, end_ns| JobReport {
            name: name.into(),
            stage,
            ran: Some(WallSpan { begin_ns, end_ns }),
            ..JobReport::default()
        };
        let report = RunReport {
            jobs: vec![job("a", 0, 10, 20), job("b", 0, 11, 25), job("c", 1, 30, 40)],
            ..RunReport::default()
        };
        let snapshot = Snapshot { report, started_ns: 1, taken_ns: 50, ..Snapshot::default() };
        let ids = Ids::new(None).expect("random numbers");
        let spans = spans(&snapshot, &ids);
        let told = |span: &Span| {
            let parent = spans.iter().find(|other| other.span_id == span.parent_span_id);
            let parent = parent.map_or("", |parent| &*parent.name);
            format!("{} {}-{} in {parent}", span.name, span.start_time_unix_nano, span.end_time_unix_nano)
        };
        let told: Vec<String> = spans.iter().map(told).collect();
        let expected = [
            "fathom run 1-50 in ",
            "stage 1 10-25 in fathom run",
            "stage 2 30-40 in fathom run",
            "job a 10-20 in stage 1",
            "job b 11-25 in stage 1",
            "job c 30-40 in stage 2",
        ];
        assert_eq!(told, expected);
    }
}
