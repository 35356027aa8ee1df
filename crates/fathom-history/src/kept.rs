//! Makes the record of a result.

use crate::record::{Device, FileSystem, Finding, Host, Record};
use crate::value::clean;
use crate::{fingerprint, jobs};
use fathom_results::RunResult;
use fathom_results::model::{DeviceReport, FileSystemReport, HostReport};
use fathom_stats::verdict::VerdictReport;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Times before this one are not from the wall clock: a job can use another clock.
const EARLIEST_MS: u64 = 1_000_000_000_000;

impl Record {
    /// What is kept of a result. `judge` gives the verdict on it, and on the result of each host.
    pub fn new(
        result: &RunResult,
        judge: impl Fn(&RunResult) -> VerdictReport,
        tags: BTreeMap<String, String>,
    ) -> Record {
        let verdict = judge(result);
        let (hosts, devices) = (hosts(result), devices(result));
        let jobs = jobs::of_result(result, &verdict, &judge, (&hosts, &devices));
        // Runs over other hosts have the same jobs.
        let own = jobs.iter().take(result.jobs.len());
        let ended_ms =
            result.timestamp_ms.or(result.timestamp.map(|seconds| seconds.saturating_mul(1000))).unwrap_or(0);
        let ended_ms = if is_plausible(ended_ms) { ended_ms } else { 0 };
        Record {
            digest: digest(result),
            begun_ms: begun_ms(result, ended_ms),
            ended_ms,
            program: if result.is_of_fathom() { "fathom".to_owned() } else { clean(&result.version) },
            fingerprint: fingerprint::of_run(own.map(|job| (job.name.as_str(), job.fingerprint.as_str()))),
            verdict: verdict.word().to_owned(),
            source: clean(&result.source),
            hosts,
            devices,
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
