//! Listing runs and reading one.

use crate::figures::{DIRECTIONS, LATENCIES};
use crate::filter::{self, Condition};
use crate::record::{Device, Figure, FileSystem, Finding, Host, Job, Latency, Record};
use crate::store::{Store, numbers};
use crate::value::{Row, Value};
use crate::{Error, histogram};
use serde::Serialize;
use std::collections::BTreeMap;

/// Runs described with one statement.
const MOST_RUNS: usize = 500;

/// A run in a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Listed {
    /// Its number.
    pub id: i64,
    /// Start in ms since the epoch; 0 if unknown.
    pub begun_ms: u64,
    /// `fathom`, or the version of fio.
    pub program: String,
    /// The verdict.
    pub verdict: String,
    /// Runs with the same fingerprint are comparable.
    pub fingerprint: String,
    /// Name of the first host; empty if unknown, as the next eight.
    pub host: String,
    /// Its kernel.
    pub kernel: String,
    /// Kernel name of the first device.
    pub device: String,
    /// Its model.
    pub model: String,
    /// Its firmware.
    pub firmware: String,
    /// Its serial number.
    pub serial: String,
    /// Type of the first file system.
    pub file_system: String,
    /// The file that was added.
    pub source: String,
    /// Names of the jobs, each once.
    pub jobs: Vec<String>,
    /// Tags of the user.
    pub tags: BTreeMap<String, String>,
}

/// A part of the list of runs, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Page {
    /// Runs that meet the conditions, on all pages.
    pub total: u64,
    /// Those of this page.
    pub runs: Vec<Listed>,
}

/// A run with all that is stored of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoredRun {
    /// Its number.
    pub id: i64,
    /// When it was added, ms since the epoch.
    pub added_ms: u64,
    /// The run.
    #[serde(flatten)]
    pub record: Record,
}

impl Store {
    /// Runs that meet all conditions, the newest first: at most `limit` of them after the first `skip`.
    pub fn list(&mut self, conditions: &[Condition], limit: u64, skip: u64) -> Result<Page, Error> {
        let mut values = Vec::new();
        let condition = filter::sql(conditions, &mut values);
        let count = self.query(&format!("SELECT count(*) FROM run WHERE {condition}"), &values)?;
        let total = count.first().map(|row| row.count(0)).transpose()?.unwrap_or(0);
        values.extend([limit.into(), skip.into()]);
        let sql = format!(
            "SELECT id FROM run WHERE {condition} ORDER BY begun_ms DESC, id DESC LIMIT ${} OFFSET ${}",
            values.len() - 1,
            values.len()
        );
        let ids: Vec<i64> =
            self.query(&sql, &values)?.iter().map(|row| row.int(0)).collect::<Result<_, _>>()?;
        Ok(Page { total, runs: self.described(&ids)? })
    }

    /// Numbers of the runs that meet all conditions, the oldest first.
    pub fn ids(&mut self, conditions: &[Condition]) -> Result<Vec<i64>, Error> {
        let mut values = Vec::new();
        let condition = filter::sql(conditions, &mut values);
        let sql = format!("SELECT id FROM run WHERE {condition} ORDER BY begun_ms, id");
        self.query(&sql, &values)?.iter().map(|row| row.int(0)).collect()
    }

    /// Descriptions of runs, in this order. Runs that do not exist are left out.
    pub fn described(&mut self, ids: &[i64]) -> Result<Vec<Listed>, Error> {
        let mut found: BTreeMap<i64, Listed> = BTreeMap::new();
        for part in ids.chunks(MOST_RUNS) {
            let values: Vec<Value> = part.iter().map(|&id| id.into()).collect();
            let places = numbers(1, part.len());
            found.extend(self.without_jobs(&places, &values)?);
            let jobs = self.query(
                &format!("SELECT run_id, name FROM job WHERE run_id IN ({places}) ORDER BY run_id, position"),
                &values,
            )?;
            for row in &jobs {
                let (id, name) = (row.int(0)?, row.text(1)?);
                if let Some(run) = found.get_mut(&id).filter(|run| !run.jobs.contains(&name)) {
                    run.jobs.push(name);
                }
            }
        }
        Ok(ids.iter().filter_map(|id| found.get(id).cloned()).collect())
    }

    /// Findings of these runs, by their numbers. Runs without any are left out.
    pub fn findings(&mut self, ids: &[i64]) -> Result<BTreeMap<i64, Vec<Finding>>, Error> {
        let mut found: BTreeMap<i64, Vec<Finding>> = BTreeMap::new();
        for part in ids.chunks(MOST_RUNS) {
            let values: Vec<Value> = part.iter().map(|&id| id.into()).collect();
            let rows = self.query(
                &format!(
                    "SELECT code, severity, job, direction, text, run_id FROM finding WHERE run_id IN ({}) ORDER BY run_id, position",
                    numbers(1, part.len())
                ),
                &values,
            )?;
            for row in &rows {
                found.entry(row.int(5)?).or_default().push(finding(row)?);
            }
        }
        Ok(found)
    }

    /// Descriptions of the runs whose numbers are in `set`, as parameters with these values, but for the names of their
    /// jobs.
    fn without_jobs(&mut self, set: &str, values: &[Value]) -> Result<BTreeMap<i64, Listed>, Error> {
        let rows = self.query(
            &format!(
                "SELECT run_id, begun_ms, program, verdict, fingerprint, host, kernel, device, model, firmware,
                        serial, file_system, source FROM runs WHERE run_id IN ({set})"
            ),
            values,
        )?;
        let mut found = BTreeMap::new();
        for row in &rows {
            found.insert(row.int(0)?, listed(row)?);
        }
        let tags =
            self.query(&format!("SELECT run_id, name, value FROM tag WHERE run_id IN ({set})"), values)?;
        for row in &tags {
            if let Some(run) = found.get_mut(&row.int(0)?) {
                run.tags.insert(row.text(1)?, row.text(2)?);
            }
        }
        Ok(found)
    }

    /// Everything that is stored of a run.
    pub fn run(&mut self, id: i64) -> Result<StoredRun, Error> {
        let of_run = [Value::Int(id)];
        let rows = self.query(
            "SELECT added_ms, digest, begun_ms, ended_ms, program, fingerprint, verdict, source FROM run WHERE id = $1",
            &of_run,
        )?;
        let row = rows.first().ok_or_else(|| Error::NoRun { place: self.place().to_owned(), id })?;
        let mut record = Record {
            digest: row.text(1)?,
            begun_ms: row.count(2)?,
            ended_ms: row.count(3)?,
            program: row.text(4)?,
            fingerprint: row.text(5)?,
            verdict: row.text(6)?,
            source: row.text(7)?,
            ..Record::default()
        };
        let added_ms = row.count(0)?;
        let mut read = |sql: &str| self.query(sql, &of_run);
        let hosts = read(
            "SELECT label, name, kernel, processor, processors, memory_bytes FROM hosts WHERE run_id = $1 ORDER BY host",
        )?;
        record.hosts = hosts.iter().map(host).collect::<Result<_, _>>()?;
        let devices = read(
            "SELECT name, host, model, firmware, serial, scheduler, write_cache, size_bytes, rotational, read_ios, write_ios, read_bytes, write_bytes, busy_percent FROM devices WHERE run_id = $1 ORDER BY device",
        )?;
        record.devices = devices.iter().map(device).collect::<Result<_, _>>()?;
        let systems = read(
            "SELECT directory, kind, source, options, transport FROM run_file_system WHERE run_id = $1 ORDER BY position",
        )?;
        record.file_systems = systems.iter().map(file_system).collect::<Result<_, _>>()?;
        let findings = read(
            "SELECT code, severity, job, direction, text FROM finding WHERE run_id = $1 ORDER BY position",
        )?;
        record.findings = findings.iter().map(finding).collect::<Result<_, _>>()?;
        for row in read("SELECT name, value FROM tag WHERE run_id = $1")? {
            record.tags.insert(row.text(0)?, row.text(1)?);
        }
        record.jobs = self.jobs_of(id)?;
        Ok(StoredRun { id, added_ms, record })
    }

    fn jobs_of(&mut self, id: i64) -> Result<Vec<Job>, Error> {
        let of_run = [Value::Int(id)];
        let mut read = |sql: &str| self.query(sql, &of_run);
        let rows = read(
            "SELECT name, reporting_group, host, fingerprint, options, error, error_message, limits, on_host, on_device, devices, verdict
             FROM job JOIN workload ON workload.id = workload_id WHERE run_id = $1 ORDER BY position",
        )?;
        let mut jobs: Vec<Job> = rows.iter().map(job).collect::<Result<_, _>>()?;
        let figures = read(
            "SELECT job, direction_id, name, value FROM figure JOIN figure_name ON figure_name.id = figure_id WHERE run_id = $1 ORDER BY job, direction_id, figure_id",
        )?;
        for row in &figures {
            let figure =
                Figure { direction: word(&DIRECTIONS, row.int(1)?), name: row.text(2)?, value: row.real(3)? };
            if let Some(job) = jobs.get_mut(row.count(0)? as usize) {
                job.figures.push(figure);
            }
        }
        let percentiles = read(
            "SELECT job, direction_id, latency_id, percent, value_ns FROM percentile WHERE run_id = $1 ORDER BY job, direction_id, latency_id, percent",
        )?;
        for row in &percentiles {
            if let Some(latency) = latency(&mut jobs, row)? {
                latency.percentiles.push((row.real(3)?, row.count(4)?));
            }
        }
        let histograms = read("SELECT job, direction_id, latency_id, bins FROM histogram WHERE run_id = $1")?;
        for row in &histograms {
            if let Some(latency) = latency(&mut jobs, row)? {
                latency.bins = histogram::decode(row.bytes(3)?)?;
            }
        }
        Ok(jobs)
    }
}

/// The latency that a row belongs to: its first three columns are the job, the direction and the kind.
fn latency<'j>(jobs: &'j mut [Job], row: &Row) -> Result<Option<&'j mut Latency>, Error> {
    let (job, direction, kind) = (row.count(0)? as usize, row.int(1)?, row.int(2)?);
    let Some(job) = jobs.get_mut(job) else { return Ok(None) };
    let (direction, kind) = (word(&DIRECTIONS, direction), word(&LATENCIES, kind));
    let is_it = |latency: &Latency| latency.direction == direction && latency.latency == kind;
    let place = job.latencies.iter().position(is_it).unwrap_or_else(|| {
        job.latencies.push(Latency { direction, latency: kind, ..Latency::default() });
        job.latencies.len() - 1
    });
    Ok(job.latencies.get_mut(place))
}

/// The word with this number.
pub(crate) fn word(all: &[&'static str], number: i64) -> &'static str {
    usize::try_from(number).ok().and_then(|number| all.get(number)).copied().unwrap_or("unknown")
}

fn listed(row: &Row) -> Result<Listed, Error> {
    Ok(Listed {
        id: row.int(0)?,
        begun_ms: row.count(1)?,
        program: row.text(2)?,
        verdict: row.text(3)?,
        fingerprint: row.text(4)?,
        host: row.text(5)?,
        kernel: row.text(6)?,
        device: row.text(7)?,
        model: row.text(8)?,
        firmware: row.text(9)?,
        serial: row.text(10)?,
        file_system: row.text(11)?,
        source: row.text(12)?,
        ..Listed::default()
    })
}

fn host(row: &Row) -> Result<Host, Error> {
    Ok(Host {
        label: row.text(0)?,
        name: row.text(1)?,
        kernel: row.text(2)?,
        processor: row.text(3)?,
        processors: row.count(4)?,
        memory_bytes: row.count(5)?,
    })
}

fn device(row: &Row) -> Result<Device, Error> {
    Ok(Device {
        name: row.text(0)?,
        host: row.text(1)?,
        model: row.text(2)?,
        firmware: row.text(3)?,
        serial: row.text(4)?,
        scheduler: row.text(5)?,
        write_cache: row.text(6)?,
        size_bytes: row.count(7)?,
        rotational: row.int(8)? != 0,
        read_ios: row.count(9)?,
        write_ios: row.count(10)?,
        read_bytes: row.count(11)?,
        write_bytes: row.count(12)?,
        busy_percent: row.real(13)?,
    })
}

fn file_system(row: &Row) -> Result<FileSystem, Error> {
    Ok(FileSystem {
        directory: row.text(0)?,
        kind: row.text(1)?,
        source: row.text(2)?,
        options: row.text(3)?,
        transport: row.text(4)?,
    })
}

fn finding(row: &Row) -> Result<Finding, Error> {
    Ok(Finding {
        code: row.text(0)?,
        severity: row.text(1)?,
        job: row.text(2)?,
        direction: row.text(3)?,
        text: row.text(4)?,
    })
}

fn job(row: &Row) -> Result<Job, Error> {
    let options = serde_json::from_str(&row.text(4)?)
        .map_err(|error| Error::Damaged { what: format!("the options of a job are not JSON: {error}") })?;
    Ok(Job {
        name: row.text(0)?,
        reporting_group: row.count(1)?,
        host: row.text(2)?,
        fingerprint: row.text(3)?,
        options,
        error: row.int(5)?,
        error_message: row.text(6)?,
        limits: row.text(7)?,
        on_host: row.index(8)?,
        on_device: row.index(9)?,
        devices: row.text(10)?.split('+').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        verdict: row.text(11)?,
        ..Job::default()
    })
}
