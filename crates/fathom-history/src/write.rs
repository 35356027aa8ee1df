//! Adding and removing runs. Each run is one transaction.

use crate::figures::{DIRECTIONS, LATENCIES};
use crate::fingerprint::hexadecimal;
use crate::record::{Job, Record};
use crate::store::{Store, numbers};
use crate::value::Value;
use crate::{Error, Listed, histogram};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

/// Names looked up with one statement.
const MOST_NAMES: usize = 500;

/// The outcome of adding a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Added {
    /// Number of the run.
    pub id: i64,
    /// False if the history had it already; its tags were set all the same.
    pub is_new: bool,
}

impl Store {
    /// Adds a run, unless the history has it. Tags are set on it in both cases.
    pub fn add(&mut self, record: &Record) -> Result<Added, Error> {
        self.in_transaction(|store| {
            let found = store.query("SELECT id FROM run WHERE digest = $1", &[(&record.digest).into()])?;
            let added = match found.first() {
                Some(row) => Added { id: row.int(0)?, is_new: false },
                None => Added { id: store.add_new(record)?, is_new: true },
            };
            for (name, value) in &record.tags {
                store.execute(
                    "INSERT INTO tag (run_id, name, value) VALUES ($1, $2, $3)
                     ON CONFLICT (run_id, name) DO UPDATE SET value = excluded.value",
                    &[added.id.into(), name.into(), value.into()],
                )?;
            }
            Ok(added)
        })
    }

    /// Whether runs can be added: adds something and takes it back.
    pub fn check(&mut self) -> Result<(), Error> {
        let mut written = false;
        let done = self.in_transaction(|store| {
            // No number of a run is spent on this.
            let values = vec!["".into(), "".into(), "".into(), 0i64.into(), 0i64.into()];
            store.shared("host", "name, kernel, processor, processors, memory_bytes", values)?;
            store.execute("DELETE FROM run WHERE id = -1", &[])?;
            written = true;
            Err(Error::Other { place: store.place().to_owned(), why: String::new() })
        });
        if written { Ok(()) } else { done }
    }

    /// Removes runs, all or none, and returns what they were.
    pub fn remove(&mut self, ids: &[i64]) -> Result<Vec<Listed>, Error> {
        self.in_transaction(|store| {
            let distinct: BTreeSet<i64> = ids.iter().copied().collect();
            let ids: Vec<i64> = distinct.into_iter().collect();
            let removed = store.described(&ids)?;
            if let Some(&id) = ids.iter().find(|id| !removed.iter().any(|run| run.id == **id)) {
                return Err(Error::NoRun { place: store.place().to_owned(), id });
            }
            const OF_RUNS: [&str; 9] = [
                "tag", "finding", "histogram", "percentile", "figure", "job", "run_file_system", "run_device", "run_host",
            ];
            for &id in &ids {
                for table in OF_RUNS {
                    store.execute(&format!("DELETE FROM {table} WHERE run_id = $1"), &[id.into()])?;
                }
                store.execute("DELETE FROM run WHERE id = $1", &[id.into()])?;
            }
            for (table, user) in [("host", "run_host"), ("device", "run_device"), ("workload", "job")] {
                let sql = format!(
                    "DELETE FROM {table} WHERE NOT EXISTS (SELECT 1 FROM {user} WHERE {user}.{table}_id = {table}.id)"
                );
                store.execute(&sql, &[])?;
            }
            Ok(removed)
        })
    }

    fn add_new(&mut self, record: &Record) -> Result<i64, Error> {
        let values = [
            (&record.digest).into(),
            now_ms().into(),
            record.begun_ms.into(),
            record.ended_ms.into(),
            (&record.program).into(),
            (&record.fingerprint).into(),
            (&record.verdict).into(),
            (&record.source).into(),
        ];
        let added = self.query(
            "INSERT INTO run (digest, added_ms, begun_ms, ended_ms, program, fingerprint, verdict, source)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id",
            &values,
        )?;
        let run = first_id(&added)?;
        self.add_surroundings(run, record)?;
        self.look_up(record)?;
        for (position, job) in (0i64..).zip(&record.jobs) {
            self.add_job(run, position, job)?;
        }
        Ok(run)
    }

    fn add_surroundings(&mut self, run: i64, record: &Record) -> Result<(), Error> {
        let mut rows = Vec::new();
        for (position, host) in (0i64..).zip(&record.hosts) {
            let values = vec![
                (&host.name).into(),
                (&host.kernel).into(),
                (&host.processor).into(),
                host.processors.into(),
                host.memory_bytes.into(),
            ];
            let id = self.shared("host", "name, kernel, processor, processors, memory_bytes", values)?;
            rows.push(vec![run.into(), position.into(), id.into(), (&host.label).into()]);
        }
        self.insert("run_host (run_id, position, host_id, label)", &rows)?;
        let mut rows = Vec::new();
        for (position, device) in (0i64..).zip(&record.devices) {
            let values = vec![
                (&device.name).into(),
                (&device.model).into(),
                (&device.firmware).into(),
                (&device.serial).into(),
                device.size_bytes.into(),
                i64::from(device.rotational).into(),
                (&device.scheduler).into(),
                (&device.write_cache).into(),
            ];
            const COLUMNS: &str =
                "name, model, firmware, serial, size_bytes, rotational, scheduler, write_cache";
            let id = self.shared("device", COLUMNS, values)?;
            rows.push(vec![
                run.into(),
                position.into(),
                id.into(),
                (&device.host).into(),
                device.read_ios.into(),
                device.write_ios.into(),
                device.read_bytes.into(),
                device.write_bytes.into(),
                device.busy_percent.into(),
            ]);
        }
        const COUNTED: &str = "run_device (run_id, position, device_id, host, read_ios, write_ios, read_bytes, write_bytes, busy_percent)";
        self.insert(COUNTED, &rows)?;
        let of_system = |(position, system): (i64, &crate::record::FileSystem)| {
            let texts = [&system.directory, &system.kind, &system.source, &system.options, &system.transport];
            [run.into(), position.into()].into_iter().chain(texts.map(Value::from)).collect()
        };
        let rows: Vec<Vec<Value>> = (0i64..).zip(&record.file_systems).map(of_system).collect();
        self.insert(
            "run_file_system (run_id, position, directory, kind, source, options, transport)",
            &rows,
        )?;
        let of_finding = |(position, finding): (i64, &crate::record::Finding)| {
            let texts = [&finding.code, &finding.severity, &finding.job, &finding.direction, &finding.text];
            [run.into(), position.into()].into_iter().chain(texts.map(Value::from)).collect()
        };
        let rows: Vec<Vec<Value>> = (0i64..).zip(&record.findings).map(of_finding).collect();
        self.insert("finding (run_id, position, code, severity, job, direction, text)", &rows)
    }

    fn add_job(&mut self, run: i64, position: i64, job: &Job) -> Result<(), Error> {
        let options = serde_json::to_string(&job.options)
            .map_err(|error| Error::Damaged { what: format!("options cannot be written: {error}") })?;
        let workload = self.shared(
            "workload",
            "fingerprint, options",
            vec![(&job.fingerprint).into(), (&options).into()],
        )?;
        let row = vec![
            run.into(),
            position.into(),
            workload.into(),
            (&job.name).into(),
            job.reporting_group.into(),
            (&job.host).into(),
            place(job.on_host),
            place(job.on_device),
            (&job.devices.join("+")).into(),
            (&job.verdict).into(),
            job.error.into(),
            (&job.error_message).into(),
            (&job.limits).into(),
        ];
        const COLUMNS: &str = "job (run_id, position, workload_id, name, reporting_group, host, on_host, on_device, devices, verdict, error, error_message, limits)";
        self.insert(COLUMNS, &[row])?;
        let mut rows = Vec::new();
        for figure in &job.figures {
            let name =
                self.names.get(&figure.name).copied().ok_or_else(|| Error::Damaged {
                    what: format!("figure {} has no number", figure.name),
                })?;
            let direction = index(&DIRECTIONS, figure.direction);
            rows.push(vec![run.into(), position.into(), direction, name.into(), figure.value.into()]);
        }
        self.insert("figure (run_id, job, direction_id, figure_id, value)", &rows)?;
        let (mut percentiles, mut histograms) = (Vec::new(), Vec::new());
        for latency in &job.latencies {
            let start: Vec<Value> = vec![
                run.into(),
                position.into(),
                index(&DIRECTIONS, latency.direction),
                index(&LATENCIES, latency.latency),
            ];
            let row = |(percent, ns): &(f64, u64)| [&start[..], &[(*percent).into(), (*ns).into()]].concat();
            percentiles.extend(latency.percentiles.iter().map(row));
            if !latency.bins.is_empty() {
                let bins = Value::Bytes(histogram::encode(&latency.bins)?);
                histograms.push([&start[..], &[bins]].concat());
            }
        }
        self.insert("percentile (run_id, job, direction_id, latency_id, percent, value_ns)", &percentiles)?;
        self.insert("histogram (run_id, job, direction_id, latency_id, bins)", &histograms)
    }

    /// Number of a row that many runs share, which is added if there is none.
    fn shared(&mut self, table: &str, columns: &str, values: Vec<Value>) -> Result<i64, Error> {
        let digest = hexadecimal(&Sha256::digest(format!("{values:?}").as_bytes()), 32);
        let find = format!("SELECT id FROM {table} WHERE digest = $1");
        if let Some(row) = self.query(&find, &[(&digest).into()])?.first() {
            return row.int(0);
        }
        let places = numbers(1, values.len() + 1);
        let sql = format!("INSERT INTO {table} (digest, {columns}) VALUES ({places}) RETURNING id");
        let all: Vec<Value> = std::iter::once(Value::from(&digest)).chain(values).collect();
        first_id(&self.query(&sql, &all)?)
    }

    /// Looks up the numbers of the names of all figures, and adds the names that are new.
    fn look_up(&mut self, record: &Record) -> Result<(), Error> {
        let used: BTreeSet<&String> =
            record.jobs.iter().flat_map(|job| &job.figures).map(|figure| &figure.name).collect();
        let unknown: Vec<Value> =
            used.iter().filter(|name| !self.names.contains_key(**name)).map(|name| (*name).into()).collect();
        for part in unknown.chunks(MOST_NAMES) {
            let places = numbers(1, part.len());
            for row in
                self.query(&format!("SELECT name, id FROM figure_name WHERE name IN ({places})"), part)?
            {
                self.names.insert(row.text(0)?, row.int(1)?);
            }
        }
        for name in used {
            if !self.names.contains_key(name) {
                let added =
                    self.query("INSERT INTO figure_name (name) VALUES ($1) RETURNING id", &[name.into()])?;
                self.names.insert(name.clone(), first_id(&added)?);
            }
        }
        Ok(())
    }
}

fn first_id(rows: &[crate::value::Row]) -> Result<i64, Error> {
    let row = rows.first().ok_or_else(|| Error::Damaged { what: "a new row has no number".to_owned() })?;
    row.int(0)
}

/// An index as a position in a table.
fn place(index: Option<usize>) -> Value {
    index.map_or(Value::Null, |index| Value::Int(index as i64))
}

fn index(all: &[&str], word: &str) -> Value {
    let place = all.iter().position(|other| *other == word).unwrap_or(all.len());
    Value::Int(place as i64)
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
