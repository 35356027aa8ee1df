//! A real Prometheus, which scrapes a run's page, and a real node_exporter, which reads its file.

use super::{QUIET, get, value};
use crate::support::program::Launch;
use crate::support::servers::Server;
use crate::support::{json, scratch};
use serde_json::Value;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The result of a query, once there is one.
#[track_caller]
fn ask(prometheus: &str, query: &str, condition: impl Fn(f64) -> bool) -> f64 {
    let escaped: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let start = Instant::now();
    loop {
        let (status, text) = get(prometheus, &format!("/api/v1/query?query={escaped}")).expect("an answer");
        assert_eq!(status, 200, "{query}: {text}");
        // The body is chunked.
        let document = text.find('{').zip(text.rfind('}')).map(|(from, to)| &text[from..=to]);
        let document: Value =
            serde_json::from_str(document.unwrap_or("")).unwrap_or_else(|error| panic!("{error}: {text}"));
        let found = document["data"]["result"][0]["value"][1].as_str().and_then(|text| text.parse().ok());
        if let Some(value) = found.filter(|&value| condition(value)) {
            return value;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{query}: {text}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn prometheus_reads_runs() {
    fathom_only!();
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let target = port.to_string();
    let server = require!(Server::start_large("prometheus", &[("TARGETS", &target), ("INSTALL", "1")]));
    let (prometheus, directory) = (server.value("PROMETHEUS"), scratch());
    let text = format!("{}/run.prom", server.value("TEXT"));
    let running = Launch::fathom(directory.path())
        .words(QUIET)
        .words("--runtime=120 --output-format=json")
        .argument(format!("--metrics={target}"))
        .argument(format!("--metrics={text}"))
        .start();
    // 500 I/Os per second are requested in each direction.
    let query = "rate(fathom_job_ios_total{job_name=\"quiet\",direction=\"read\"}[10s])";
    let rate = ask(prometheus, query, |rate| rate > 400.0);
    assert!(rate < 600.0, "{rate} a second");
    let query = "histogram_quantile(0.5, sum by (le) (rate(fathom_job_latency_seconds_bucket{latency=\"completion\"}[10s])))";
    let median = ask(prometheus, query, |median| median > 0.0);
    assert!(median < 0.001, "the engine does nothing, and takes {median} s for it");
    // The text file is exported by node_exporter.
    ask(prometheus, "fathom_run_finished{instance=~\".*\"} == 0", |_| true);
    ask(prometheus, "node_textfile_scrape_error", |error| error == 0.0);
    running.signal("INT");
    let finished = running.finish();
    let ios = json::integer(json::job(&json::document(&finished.stdout), "quiet"), "read/total_ios") as f64;
    let (_, page) = get(server.value("NODE"), "/metrics").expect("an answer");
    assert_eq!(value(&page, "fathom_job_ios_total{direction=\"read\",job_name=\"quiet\"}"), ios);
    check_with_promtool(&text);
}

/// The verdict comes last, and is scraped several times: a single sample is stale once the endpoint is gone.
#[test]
fn prometheus_sees_the_verdict() {
    fathom_only!();
    for interval in ["1s", "2s", "5s", "15s"] {
        require!(sees_the_verdict(interval));
    }
}

/// One Prometheus that scrapes at this interval, and one run that waits for it.
fn sees_the_verdict(interval: &str) -> Result<Server, String> {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let target = port.to_string();
    let settings = [("TARGETS", target.as_str()), ("INSTALL", "1"), ("INTERVAL", interval)];
    let server = Server::start_large("prometheus", &settings)?;
    let (prometheus, directory) = (server.value("PROMETHEUS"), scratch());
    let finished = Launch::fathom(directory.path())
        .words("--name=a --ioengine=null --size=1m --rw=read --metrics-linger=120s")
        .argument(format!("--metrics={target}"))
        .timeout(Duration::from_secs(300))
        .run();
    assert_eq!(finished.code(), 0, "{interval}: {}", finished.stderr);
    assert!(
        ask(prometheus, "count_over_time(fathom_verdict[10m])", |count| count >= 2.0) <= 3.0,
        "{interval}"
    );
    ask(prometheus, "max(last_over_time(fathom_verdict[10m]))", |verdict| (0.0..=2.0).contains(&verdict));
    Ok(server)
}

/// Checks that Prometheus' own tool reports no error.
#[track_caller]
fn check_with_promtool(file: &str) {
    let input = std::fs::File::open(file).expect("the file");
    let told = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::from(input))
        .output()
        .expect("promtool");
    let told = (told.status.success(), String::from_utf8_lossy(&told.stderr).into_owned());
    assert_eq!(told, (true, String::new()));
}
