//! What is kept of a run, made of its result.

use crate::fingerprint;
use fathom_results::model::{DeviceReport, FileSystemReport, HostReport};
use fathom_results::{JobResult, RunResult};
use fathom_stats::verdict::VerdictReport;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

pub use crate::figures::{Figure, Latency};

/// Times before this one are not from the wall clock: a job can use another clock.
const EARLIEST_MS: u64 = 1_000_000_000_000;

/// One run, as stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Record {
    /// Digest of the result; a result is stored once.
    pub digest: String,
    /// Start of the run in ms since the epoch; 0 if unknown.
    pub begun_ms: u64,
    /// End of the run in ms since the epoch; 0 if unknown.
    pub ended_ms: u64,
    /// `fathom`, or the version of fio.
    pub program: String,
    /// Runs with the same fingerprint are comparable.
    pub fingerprint: String,
    /// `wrong`, `doubtful` or `no doubts`.
    pub verdict: String,
    /// The file from which the result was read.
    pub source: String,
    /// The machines.
    pub hosts: Vec<Host>,
    /// Block devices under the files of the jobs.
    pub devices: Vec<Device>,
    /// File systems of the files of the jobs.
    pub file_systems: Vec<FileSystem>,
    /// The jobs, in the order of the result.
    pub jobs: Vec<Job>,
    /// Findings of the verdict.
    pub findings: Vec<Finding>,
    /// Tags of the user.
    pub tags: BTreeMap<String, String>,
}

/// A machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Host {
    /// The name on the command line, in a run over several hosts; otherwise empty.
    pub label: String,
    /// Host name.
    pub name: String,
    /// Kernel and its release.
    pub kernel: String,
    /// Model of the processor.
    pub processor: String,
    /// Number of processors.
    pub processors: u64,
    /// Size of the memory.
    pub memory_bytes: u64,
}

/// A block device, and its counters during the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Device {
    /// Kernel name.
    pub name: String,
    /// The host that has it, in a run over several hosts; otherwise empty.
    pub host: String,
    /// Model; empty if unknown, as the next four.
    pub model: String,
    /// Firmware revision.
    pub firmware: String,
    /// Serial number.
    pub serial: String,
    /// I/O scheduler.
    pub scheduler: String,
    /// `write back` or `write through`.
    pub write_cache: String,
    /// Size; 0 if unknown.
    pub size_bytes: u64,
    /// True for a spinning disk.
    pub rotational: bool,
    /// Reads that the kernel counted.
    pub read_ios: u64,
    /// Writes.
    pub write_ios: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Share of the time in which it was busy.
    pub busy_percent: f64,
}

/// A file system.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FileSystem {
    /// Mount point.
    pub directory: String,
    /// Type.
    pub kind: String,
    /// Source of the mount.
    pub source: String,
    /// Mount options.
    pub options: String,
    /// Protocol to its server, if it has one.
    pub transport: String,
}

/// A job.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// Reporting group.
    pub reporting_group: u64,
    /// The server that ran it, if a client asked several; otherwise empty.
    pub host: String,
    /// Options in effect, without secrets.
    pub options: Vec<(String, String)>,
    /// Jobs with the same fingerprint are comparable.
    pub fingerprint: String,
    /// errno of the error that ended it; 0 if none did.
    pub error: i64,
    /// What failed and why.
    pub error_message: String,
    /// Limits of its control groups, as JSON; empty without any.
    pub limits: String,
    /// Figures of each direction, and of the job as a whole.
    pub figures: Vec<Figure>,
    /// Percentiles and histograms.
    pub latencies: Vec<Latency>,
}

/// A finding of the verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Finding {
    /// Code of the check.
    pub code: String,
    /// `wrong`, `doubtful` or `note`.
    pub severity: String,
    /// The job; empty for all.
    pub job: String,
    /// The direction; empty for all.
    pub direction: String,
    /// The finding as a sentence.
    pub text: String,
}

impl Record {
    /// What is kept of a result, with the verdict on it.
    pub fn new(result: &RunResult, verdict: &VerdictReport, tags: BTreeMap<String, String>) -> Record {
        let jobs: Vec<Job> = result.jobs.iter().map(|job| job_of(result, job)).collect();
        let ended_ms =
            result.timestamp_ms.or(result.timestamp.map(|seconds| seconds.saturating_mul(1000))).unwrap_or(0);
        let ended_ms = if is_plausible(ended_ms) { ended_ms } else { 0 };
        Record {
            digest: digest(result),
            begun_ms: begun_ms(result, ended_ms),
            ended_ms,
            program: if result.is_of_fathom() { "fathom".to_owned() } else { clean(&result.version) },
            fingerprint: fingerprint::of_run(
                jobs.iter().map(|job| (job.name.as_str(), job.fingerprint.as_str())),
            ),
            verdict: verdict.word().to_owned(),
            source: clean(&result.source),
            hosts: hosts(result),
            devices: devices(result),
            file_systems: file_systems(result),
            jobs,
            findings: verdict.findings.iter().map(finding).collect(),
            tags: tags.into_iter().map(|(name, value)| (clean(&name), clean(&value))).collect(),
        }
    }
}

/// True for a time that a database and its calendar can hold.
fn is_plausible(ms: u64) -> bool {
    ms < 100 * EARLIEST_MS
}

/// Text without NUL, which PostgreSQL does not store.
fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Digest of everything that the result says, whatever the layout of its JSON.
fn digest(result: &RunResult) -> String {
    // A document of our own types is always serialisable; if it were not, its debug form is as unique.
    let text = serde_json::to_string(result).unwrap_or_else(|_| format!("{result:?}"));
    fingerprint::hexadecimal(&Sha256::digest(text.as_bytes()), 64)
}

/// Start of the first job by the wall clock, otherwise the end minus the longest run time.
fn begun_ms(result: &RunResult, ended_ms: u64) -> u64 {
    let is_wall_clock = |ms: &u64| *ms >= EARLIEST_MS && (ended_ms == 0 || *ms <= ended_ms);
    let starts = result.jobs.iter().filter_map(|job| job.start_ms).filter(is_wall_clock);
    let longest = || {
        let directions = result.jobs.iter().flat_map(|job| job.active());
        directions.map(|(_, figures)| figures.runtime_ms).max().unwrap_or(0)
    };
    starts.filter(|ms| is_plausible(*ms)).min().unwrap_or_else(|| ended_ms.saturating_sub(longest()))
}

fn job_of(result: &RunResult, job: &JobResult) -> Job {
    let mut options = result.options(job);
    options.retain(|(name, _)| !fingerprint::is_secret(name));
    let options: Vec<(String, String)> =
        options.into_iter().map(|(name, value)| (clean(&name), clean(&value))).collect();
    let choices = result.choices.iter().find(|choices| choices.name == job.name);
    let limits = choices.map(|choices| &choices.limits).filter(|limits| !limits.is_empty());
    let (figures, latencies) = crate::figures::of_job(job);
    Job {
        name: clean(&job.name),
        reporting_group: job.group_id,
        host: clean(&job.host),
        fingerprint: fingerprint::of_job(&options),
        options,
        error: job.error,
        error_message: clean(job.error_message.as_deref().unwrap_or_default()),
        limits: limits.and_then(|limits| serde_json::to_string(limits).ok()).unwrap_or_default(),
        figures,
        latencies,
    }
}

/// The host of the result, or each host of a run over several.
fn hosts(result: &RunResult) -> Vec<Host> {
    if let Some(hosts) = &result.hosts {
        return hosts
            .hosts
            .iter()
            .map(|host| {
                let own = host.result.host.as_ref().map(|report| host_of(report, &host.name));
                own.unwrap_or_else(|| Host {
                    label: clean(&host.name),
                    name: clean(if host.host_name.is_empty() { &host.name } else { &host.host_name }),
                    ..Host::default()
                })
            })
            .collect();
    }
    match &result.host {
        Some(report) => vec![host_of(report, "")],
        None => {
            let named = |name: String| Host { label: clean(&name), name: clean(&name), ..Host::default() };
            result.servers().into_iter().map(named).collect()
        }
    }
}

fn host_of(report: &HostReport, label: &str) -> Host {
    Host {
        label: clean(label),
        name: clean(&report.name),
        kernel: clean(&report.kernel),
        processor: clean(&report.processor),
        processors: u64::from(report.processors),
        memory_bytes: report.memory_bytes,
    }
}

/// The reports of machines in the result: its own, or those of its hosts.
fn reports(result: &RunResult) -> Vec<(&str, &HostReport)> {
    let of_hosts = result.hosts.iter().flat_map(|hosts| &hosts.hosts);
    let several: Vec<(&str, &HostReport)> =
        of_hosts.filter_map(|host| Some((host.name.as_str(), host.result.host.as_ref()?))).collect();
    match several.is_empty() {
        true => result.host.iter().map(|report| ("", report)).collect(),
        false => several,
    }
}

fn devices(result: &RunResult) -> Vec<Device> {
    let known: Vec<(&str, &DeviceReport)> = reports(result)
        .into_iter()
        .flat_map(|(host, report)| report.devices.iter().map(move |device| (host, device)))
        .collect();
    if known.is_empty() {
        return result.disk_util.iter().map(|disk| counted(&disk.host, &disk.name, None, result)).collect();
    }
    known.into_iter().map(|(host, device)| counted(host, &device.name, Some(device), result)).collect()
}

/// A device with its counters, which the result lists by name.
fn counted(host: &str, name: &str, report: Option<&DeviceReport>, result: &RunResult) -> Device {
    let of_host = result.hosts.iter().flat_map(|hosts| &hosts.hosts).find(|entry| entry.name == host);
    let disks = of_host.map_or(&result.disk_util, |entry| &entry.result.disk_util);
    let disk = disks.iter().find(|disk| disk.name == name);
    let count = |take: fn(&fathom_results::model::DiskResult) -> u64| disk.map_or(0, take);
    let unknown = DeviceReport::default();
    let report = report.unwrap_or(&unknown);
    Device {
        name: clean(name),
        host: clean(host),
        model: clean(&report.model),
        firmware: clean(&report.firmware),
        serial: clean(&report.serial),
        scheduler: clean(&report.scheduler),
        write_cache: clean(&report.write_cache),
        size_bytes: report.size_bytes,
        rotational: report.rotational,
        read_ios: count(|disk| disk.read_ios),
        write_ios: count(|disk| disk.write_ios),
        read_bytes: count(|disk| disk.read_sectors.saturating_mul(512)),
        write_bytes: count(|disk| disk.write_sectors.saturating_mul(512)),
        busy_percent: disk.map_or(0.0, |disk| disk.util),
    }
}

fn file_systems(result: &RunResult) -> Vec<FileSystem> {
    let all = reports(result).into_iter().flat_map(|(_, report)| &report.file_systems);
    all.map(|system: &FileSystemReport| FileSystem {
        directory: clean(&system.directory),
        kind: clean(&system.kind),
        source: clean(&system.source),
        options: clean(&system.options),
        transport: clean(system.transport.as_deref().unwrap_or_default()),
    })
    .collect()
}

fn finding(finding: &fathom_stats::verdict::Finding) -> Finding {
    Finding {
        code: clean(&finding.code),
        severity: finding.severity.word().to_owned(),
        job: clean(finding.job.as_deref().unwrap_or_default()),
        direction: finding.direction.clone().unwrap_or_default(),
        text: clean(&finding.text),
    }
}
