//! OpenTelemetry: the data sent to a collector.

use super::QUIET;
use super::collector::{Collector, text_of};
use crate::support::program::Launch;
use crate::support::{json, scratch};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;

/// The sum of the points of a metric of a job in a direction.
fn sum_of(request: &ExportMetricsServiceRequest, name: &str, (job, direction): (&str, &str)) -> f64 {
    let metrics = request.resource_metrics.iter().flat_map(|of| &of.scope_metrics).flat_map(|of| &of.metrics);
    let is_of = |attributes: &[_]| {
        text_of(attributes, "job_name").as_deref() == Some(job)
            && text_of(attributes, "direction").as_deref() == Some(direction)
    };
    let mut sum = 0.0;
    for metric in metrics.filter(|metric| metric.name == name) {
        let of_metric: f64 = match metric.data.as_ref().expect("data") {
            Data::Sum(of) => of
                .data_points
                .iter()
                .filter(|point| is_of(&point.attributes))
                .map(|point| match point.value {
                    Some(Value::AsDouble(value)) => value,
                    _ => panic!("{point:?}"),
                })
                .sum(),
            Data::Histogram(of) => of
                .data_points
                .iter()
                .filter(|point| is_of(&point.attributes))
                .map(|point| point.count as f64)
                .sum(),
            Data::ExponentialHistogram(of) => of
                .data_points
                .iter()
                .filter(|point| is_of(&point.attributes))
                .map(|point| point.count as f64)
                .sum(),
            other => panic!("{other:?}"),
        };
        sum += of_metric;
    }
    sum
}

#[test]
fn a_collector_gets_the_figures_of_the_report_and_one_trace() {
    fathom_only!();
    let directory = scratch();
    let collector = Collector::start(0);
    let finished = Launch::fathom(directory.path())
        .words("--name=a --ioengine=null --size=4m --rw=randrw --name=b --stonewall --rw=write --filename=/dev/full --size=1m --output-format=json")
        .argument(format!("--otlp=http://{}", collector.address()))
        .variable("OTEL_EXPORTER_OTLP_HEADERS", "x-token=a%20secret")
        .variable("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
        .variable("OTEL_SERVICE_NAME", "disks")
        .variable("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
        .run();
    assert!(!finished.stderr.contains("fathom: metrics"), "{}", finished.stderr);
    let document = json::document(&finished.stdout);
    let received = collector.received();
    let last = received.metrics.last().expect("metrics");
    for direction in ["read", "write"] {
        let ios = json::integer(json::job(&document, "a"), &format!("{direction}/total_ios"));
        assert_eq!(sum_of(last, "fathom.job.ios", ("a", direction)), ios as f64);
        assert_eq!(sum_of(last, "fathom.job.latency", ("a", direction)), ios as f64);
    }
    assert!(received.heads.iter().all(|head| head.contains("x-token: a secret\r\n")), "{:?}", received.heads);
    let resource = last.resource_metrics[0].resource.as_ref().expect("a resource");
    assert_eq!(text_of(&resource.attributes, "service.name").as_deref(), Some("disks"));

    assert_eq!(received.traces.len(), 1);
    let spans: Vec<&Span> =
        received.traces[0].resource_spans[0].scope_spans.iter().flat_map(|of| &of.spans).collect();
    let named = |name: &str| {
        spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no {name}: {spans:?}"))
    };
    let (run, a) = (named("fathom run"), named("job a"));
    assert_eq!(run.trace_id[..2], [0x4b, 0xf9]);
    assert_eq!(run.parent_span_id[7], 0xb7);
    assert_eq!(named("stage 1").parent_span_id, run.span_id);
    assert_eq!(a.parent_span_id, named("stage 1").span_id);
    assert!(
        run.start_time_unix_nano <= a.start_time_unix_nano && a.end_time_unix_nano <= run.end_time_unix_nano
    );
    assert!(text_of(&run.attributes, "fathom.verdict").is_some());
    let status = named("job b").status.as_ref().expect("a status");
    assert_eq!(
        (status.code, status.message.contains("errno 28")),
        (StatusCode::Error as i32, true),
        "{status:?}"
    );
}

#[test]
fn exponential_histograms_and_a_collector_that_was_down() {
    fathom_only!();
    let directory = scratch();
    // The first request fails; the next one includes all of its data.
    let collector = Collector::start(1);
    let finished = Launch::fathom(directory.path())
        .words(QUIET)
        .words("--runtime=3 --output-format=json")
        .argument(format!("--otlp=http://{}/", collector.address()))
        .variable("OTEL_METRIC_EXPORT_INTERVAL", "500")
        .variable("OTEL_TRACES_EXPORTER", "none")
        .variable(
            "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION",
            "base2_exponential_bucket_histogram",
        )
        .run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(finished.stderr.contains("503 Service Unavailable busy"), "{}", finished.stderr);
    let document = json::document(&finished.stdout);
    let received = collector.received();
    assert!(received.metrics.len() >= 2 && received.traces.is_empty(), "{} requests", received.metrics.len());
    let last = received.metrics.last().expect("metrics");
    let ios = json::integer(json::job(&document, "quiet"), "read/total_ios") as f64;
    assert_eq!(sum_of(last, "fathom.job.latency", ("quiet", "read")), ios);
    let sums: Vec<f64> =
        received.metrics.iter().map(|request| sum_of(request, "fathom.job.ios", ("quiet", "read"))).collect();
    assert!(sums.is_sorted(), "{sums:?}");
}
