//! The output of fio's client: a block per server as it ends, `All clients`, and one JSON document. Scripts
//! parse these outputs, so they match fio's exactly, except for fio's omissions and errors (see
//! docs/compatibility.md). An error of any job counts as an error of all clients together.

use crate::document::{devices, job, layout};
use crate::{Format, normal, terse};
use fathom_results::model::{DiskResult, JobResult};
use fathom_stats::report::{JobReport, RunReport};
use serde::{Serialize, Serializer};
use std::io;

/// A server and its results.
#[derive(Clone, Copy, Debug)]
pub struct Client<'a> {
    /// The host name as the user wrote it, without the port.
    pub host_name: &'a str,
    /// Its port.
    pub port: u32,
    /// Its results.
    pub report: &'a RunReport,
}

/// Formats a server's human-readable results, under its own name if requested.
pub fn normal_piece(own_name: Option<&str>, report: &RunReport) -> String {
    let mut bytes = Vec::new();
    // The result is ignored, because writing to memory cannot fail.
    let _ = normal::Normal.write(report, &mut bytes);
    // The name replaces the empty line before the first job.
    let name = own_name.map_or_else(String::new, |name| format!("<{name}> "));
    format!("{name}{}", String::from_utf8_lossy(&bytes))
}

/// Formats a server's results in terse format.
pub fn terse_piece(report: &RunReport, version: u32) -> String {
    lines_of(report, version)
}

fn lines_of(report: &RunReport, version: u32) -> String {
    let mut bytes = Vec::new();
    let format = terse::DEFAULT.in_version(version);
    // The result is ignored, because writing to memory cannot fail.
    let _ = format.map(|format| format.write(report, &mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the sum of all servers; `None` if there is only a single job.
pub fn total(clients: &[Client<'_>]) -> Option<RunReport> {
    let jobs = || clients.iter().flat_map(|client| &client.report.jobs);
    let first = jobs().next().filter(|_| jobs().count() > 1)?;
    let mut total = JobReport { clones: 0, ..first.clone() };
    jobs().for_each(|job| {
        if !std::ptr::eq(job, first) {
            total.merge(job);
        }
        total.group_id = job.group_id;
    });
    total.clones = jobs().map(|job| job.clones).sum();
    "All clients".clone_into(&mut total.name);
    total.pid = 0;
    total.job_start_ms = 0;
    total.description = None;
    Some(RunReport {
        version: clients[0].report.version.clone(),
        timestamp_ms: clients.iter().map(|client| client.report.timestamp_ms).max().unwrap_or(0),
        jobs: vec![total],
        ..RunReport::default()
    })
}

/// Formats the sum of all servers for people.
pub fn normal_total(clients: &[Client<'_>]) -> Option<String> {
    let report = total(clients)?;
    report.jobs.first().map(|job| normal::all_clients(job, &report))
}

/// Formats the sum of all servers in terse format.
pub fn terse_total(clients: &[Client<'_>], version: u32) -> Option<String> {
    total(clients).map(|report| lines_of(&report, version))
}

/// The JSON document.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "fio version")]
    version: &'a str,
    timestamp: u64,
    time: String,
    #[serde(rename = "global options")]
    global_options: GlobalOptions<'a>,
    client_stats: Vec<JobResult>,
    disk_util: Vec<DiskResult>,
}

/// The global options of the only server, or of each server that has any.
#[derive(Serialize)]
#[serde(untagged)]
enum GlobalOptions<'a> {
    Same(Options<'a>),
    OfEach(Vec<OptionsOfServer<'a>>),
}

/// Options that are written as members of an object.
struct Options<'a>(&'a [(String, String)]);

#[derive(Serialize)]
struct OptionsOfServer<'a> {
    hostname: &'a str,
    port: u32,
    #[serde(flatten)]
    options: Options<'a>,
}

impl Serialize for Options<'_> {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        output.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Returns the JSON document.
pub fn json(clients: &[Client<'_>], timestamp_ms: u64, with_bins: bool) -> io::Result<String> {
    let jobs = |client: &Client<'_>| {
        let result =
            |entry| of_client(job::result_of_client(entry, &client.report.groups, with_bins), client);
        client.report.jobs.iter().map(result).collect::<Vec<_>>()
    };
    let mut client_stats: Vec<JobResult> = clients.iter().flat_map(jobs).collect();
    // The sum is attributed to the last server, as in fio.
    if let (Some(report), Some(last)) = (total(clients), clients.last()) {
        let sum = |entry| of_client(job::result_of_all_clients(entry, &report.groups, with_bins), last);
        client_stats.extend(report.jobs.iter().map(sum));
    }
    let disks = clients.iter().flat_map(|client| {
        let own = devices(&client.report.disks).into_iter();
        own.map(|disk| DiskResult {
            host: client.host_name.to_owned(),
            port: Some(client.port.into()),
            ..disk
        })
    });
    let document = Document {
        version: clients.first().map_or("", |client| client.report.version.as_str()),
        timestamp: timestamp_ms / 1000,
        time: crate::ctime::ctime(timestamp_ms),
        global_options: match clients {
            [] => GlobalOptions::Same(Options(&[])),
            [client] => GlobalOptions::Same(Options(&client.report.global_options)),
            _ => {
                let with_any = clients.iter().filter(|client| !client.report.global_options.is_empty());
                GlobalOptions::OfEach(with_any.map(global_options).collect())
            }
        },
        client_stats,
        disk_util: disks.collect(),
    };
    let text = layout::document(&document)?;
    Ok(format!("\n{}", String::from_utf8_lossy(&text)))
}

fn of_client(job: JobResult, client: &Client<'_>) -> JobResult {
    JobResult { host: client.host_name.to_owned(), port: Some(client.port.into()), ..job }
}

fn global_options<'a>(client: &Client<'a>) -> OptionsOfServer<'a> {
    let options = Options(&client.report.global_options);
    OptionsOfServer { hostname: client.host_name, port: client.port, options }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_stats::Direction;
    use fathom_stats::report::{DirectionReport, JobError};

    fn report(names: &[&str], bytes: u64) -> RunReport {
        let job = |name: &&str| {
            let mut job = JobReport { name: (*name).to_owned(), clones: 1, pid: 7, ..JobReport::default() };
            job.options.push(("rw".into(), "write".into()));
            job.directions[Direction::Write] = DirectionReport {
                io_bytes: bytes,
                issued: 2,
                total_ios: 2,
                runtime_ms: 1000,
                ..DirectionReport::default()
            };
            job.directions[Direction::Write].clat.record(1000);
            job.directions[Direction::Write].clat.record(5000);
            job
        };
        RunReport {
            version: "fio-3.42".into(),
            jobs: names.iter().map(job).collect(),
            ..RunReport::default()
        }
    }

    fn text_of(clients: &[Client<'_>]) -> String {
        json(clients, 0, false).expect("memory takes everything")
    }

    #[test]
    fn all_clients_are_their_sum() {
        let (mut one, mut two) = (report(&["a", "b"], 8192), report(&["a"], 4096));
        two.global_options.push(("bs".into(), "8k".into()));
        one.jobs[1].error = Some(JobError { code: 5, text: "file:x".into() });
        let clients = [
            Client { host_name: "h1", port: 8765, report: &one },
            Client { host_name: "h2", port: 9000, report: &two },
        ];
        let text = normal_total(&clients).expect("more than one job");
        assert!(text.starts_with("All clients: (groupid=0, jobs=3): err= 5 (file:x): pid=0: "), "{text}");
        assert!(text.contains("BW=20.0Ki (20.5k)(20.0KiB/1000msec)"), "{text}");
        assert!(text.contains("|  99th=[") && text.contains(", 100th=["), "{text}");
        assert!(!text.contains("latency   :"), "{text}");
        assert!(normal_total(&clients[1..]).is_none(), "one job is no sum");
        let document: serde_json::Value = serde_json::from_str(&text_of(&clients)).expect("JSON");
        let stats = document["client_stats"].as_array().expect("a list");
        let names: Vec<(&str, &str, u64)> = stats
            .iter()
            .map(|job| {
                let text = |key: &str| job[key].as_str().unwrap_or("");
                (text("jobname"), text("hostname"), job["port"].as_u64().unwrap_or(0))
            })
            .collect();
        assert_eq!(
            names,
            [("a", "h1", 8765), ("b", "h1", 8765), ("a", "h2", 9000), ("All clients", "h2", 9000)]
        );
        assert_eq!(stats[3]["write"]["io_bytes"], 20480);
        assert_eq!(stats[3]["error"], 5);
        assert!(stats[0].get("eta").is_none() && stats[3].get("latency_depth").is_none());
        assert!(stats[0].get("job options").is_some() && stats[3].get("job options").is_none());
        // A server whose file has no global section has no entry.
        let options = document["global options"].as_array().expect("a list");
        assert_eq!(options.len(), 1);
        assert_eq!((&options[0]["hostname"], &options[0]["bs"]), (&"h2".into(), &"8k".into()));
    }

    #[test]
    fn nothing_is_said_in_fios_words() {
        assert!(text_of(&[]).contains("\"client_stats\" : [\n\n  ],\n"));
        assert!(text_of(&[]).contains("\"global options\" : {\n\n  },\n"));
    }
}
