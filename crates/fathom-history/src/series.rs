//! One figure over the runs: a series for each job, direction and fingerprint.

use crate::Error;
use crate::figures::DIRECTIONS;
use crate::filter::{self, Condition};
use crate::query::word;
use crate::store::Store;
use crate::value::{Row, Value};
use serde::Serialize;
use std::collections::BTreeMap;

/// A figure of a job, as people name it, and the name under which it is stored.
const SHORT_NAMES: [(&str, &str); 5] = [
    ("bw", "bytes_per_second"),
    ("lat", "latency_mean_ns"),
    ("mean", "latency_mean_ns"),
    ("max", "latency_max_ns"),
    ("cpu", "cpu_ns_per_io"),
];

/// Which figure.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureName {
    /// The direction; `None` for all that have the figure.
    direction: Option<usize>,
    what: What,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    /// A figure by its stored name.
    Named(String),
    /// A percentile of the completion latency, or of the total latency if only that was measured.
    Percentile(f64),
}

/// What a figure measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// A time in ns.
    Time,
    /// Bytes per second.
    Bandwidth,
    /// A share in percent.
    Share,
    /// A count, or a rate of I/Os.
    Number,
}

/// The values of a figure in comparable runs, the oldest first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Name of the job.
    pub job: String,
    /// Its place among the jobs of the same name in a run, from 0.
    pub clone: usize,
    /// The direction, or `job` for figures of the whole job.
    pub direction: &'static str,
    /// Fingerprint of the job.
    pub fingerprint: String,
    /// The values.
    pub points: Vec<Point>,
}

/// The value in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Number of the run.
    pub run: i64,
    /// Start of the run, ms since the epoch; 0 if unknown.
    pub begun_ms: u64,
    /// The value, in the unit that its name gives.
    pub value: f64,
    /// The verdict on the run, or on the part of it that is of the job's host.
    pub verdict: String,
    /// What the job was on: host (of several together, their number as hosts), kernel, device, model, firmware, serial, file_system, and the tags as `tag.NAME`.
    /// Empty ones are left out.
    pub attributes: BTreeMap<String, String>,
}

impl FigureName {
    /// Parses `p99`, `read.iops`, `bw`, or the stored name of a figure, such as `clat_stddev_ns`.
    pub fn parse(text: &str) -> Result<FigureName, Error> {
        let lower = text.trim().to_ascii_lowercase();
        let split = lower.split_once('.').and_then(|(word, rest)| {
            Some((DIRECTIONS.iter().position(|direction| *direction == word)?, rest))
        });
        let (direction, name) = match split {
            Some((direction, rest)) => (Some(direction), rest),
            None => (None, lower.as_str()),
        };
        let percent = name.strip_prefix('p').and_then(|number| number.parse::<f64>().ok());
        let what = match percent {
            Some(percent) if percent > 0.0 && percent < 100.0 => What::Percentile(percent),
            _ if name.is_empty()
                || !name.chars().all(|letter| letter.is_ascii_graphic() || letter == ' ') =>
            {
                return Err(Error::Condition {
                    text: text.to_owned(),
                    why: "expected a figure such as iops, bw, lat, p99 or read.p99.9".to_owned(),
                });
            }
            _ => {
                let short = SHORT_NAMES.iter().find(|(short, _)| *short == name);
                What::Named(short.map_or(name, |(_, stored)| stored).to_owned())
            }
        };
        Ok(FigureName { direction, what })
    }

    /// What the figure measures.
    pub fn measure(&self) -> Measure {
        match &self.what {
            What::Percentile(_) => Measure::Time,
            What::Named(name) if name.ends_with("_ns") || name.ends_with("_ns_per_io") => Measure::Time,
            What::Named(name) if name.ends_with("bytes_per_second") => Measure::Bandwidth,
            What::Named(name) if name.ends_with("percent") => Measure::Share,
            What::Named(_) => Measure::Number,
        }
    }

    /// True for rates, of which more is better.
    pub fn more_is_better(&self) -> bool {
        matches!(&self.what, What::Named(name) if name.ends_with("iops") || name.ends_with("bytes_per_second"))
    }
}

/// Properties of the job that a value is of, by the names of conditions, in the order of the statement's columns.
const OF_JOB: [(&str, &str); 6] = [
    ("host", "host.name"),
    ("kernel", "host.kernel"),
    ("device", "job.devices"),
    ("model", "device.model"),
    ("firmware", "device.firmware"),
    ("serial", "device.serial"),
];

/// Names of properties, and their values.
type Attributes = BTreeMap<String, String>;

/// A value before it is put into its series.
struct Found {
    run: i64,
    /// Clone, name and fingerprint of the job, and the direction.
    key: (String, usize, i64, String),
    value: f64,
    verdict: String,
    /// What the job was on.
    attributes: Attributes,
}

impl Store {
    /// The series of a figure in the runs that meet all conditions.
    pub fn series(&mut self, figure: &FigureName, conditions: &[Condition]) -> Result<Vec<Series>, Error> {
        let found = self.values_of(figure, conditions)?;
        let runs = self.runs_of(conditions)?;
        let mut series: BTreeMap<(String, usize, i64, String), Vec<Point>> = BTreeMap::new();
        for Found { run, key, value, verdict, mut attributes } in found {
            // A run that was added in the meantime is not among them.
            let Some((begun_ms, shared)) = runs.get(&run) else { continue };
            if !conditions.iter().all(|condition| condition.allows(&attributes)) {
                continue;
            }
            attributes.extend(shared.iter().map(|(name, value)| (name.clone(), value.clone())));
            let point = Point { run, begun_ms: *begun_ms, value, verdict, attributes };
            series.entry(key).or_default().push(point);
        }
        let made = series.into_iter().map(|((job, clone, direction, fingerprint), mut points)| {
            points.sort_by_key(|point| (point.begun_ms, point.run));
            Series { job, clone, direction: word(&DIRECTIONS, direction), fingerprint, points }
        });
        Ok(made.collect())
    }

    /// The runs that meet all conditions: their start, and the attributes that all jobs of a run share.
    fn runs_of(&mut self, conditions: &[Condition]) -> Result<BTreeMap<i64, (u64, Attributes)>, Error> {
        let mut values = Vec::new();
        let condition = filter::sql(conditions, &mut values);
        let rows = self.query(
            &format!(
                "SELECT run.id, run.begun_ms, run_file_system.kind FROM run
                 LEFT JOIN run_file_system ON run_file_system.run_id = run.id AND run_file_system.position = 0
                 WHERE {condition}"
            ),
            &values,
        )?;
        let mut found = BTreeMap::new();
        for row in &rows {
            let kind = Some(row.text(2)?).filter(|kind| !kind.is_empty());
            let shared: Attributes = kind.map(|kind| ("file_system".to_owned(), kind)).into_iter().collect();
            found.insert(row.int(0)?, (row.count(1)?, shared));
        }
        let sql = format!(
            "SELECT run_id, name, value FROM tag WHERE run_id IN (SELECT run.id FROM run WHERE {condition})"
        );
        for row in self.query(&sql, &values)? {
            if let Some((_, shared)) = found.get_mut(&row.int(0)?) {
                shared.insert(format!("tag.{}", row.text(1)?), row.text(2)?);
            }
        }
        Ok(found)
    }

    fn values_of(&mut self, figure: &FigureName, conditions: &[Condition]) -> Result<Vec<Found>, Error> {
        let mut values = Vec::new();
        let condition = filter::sql(conditions, &mut values);
        let (table, value, order) = match &figure.what {
            What::Named(name) => {
                values.push(name.into());
                ("figure", "value", "")
            }
            What::Percentile(percent) => {
                values.push((*percent).into());
                // clat is before lat; the first that is there counts.
                ("percentile", "value_ns", ", x.latency_id")
            }
        };
        let which = match &figure.what {
            What::Named(_) => {
                format!("x.figure_id = (SELECT id FROM figure_name WHERE name = ${})", values.len())
            }
            What::Percentile(_) => format!("x.percent = ${} AND x.latency_id IN (1, 2)", values.len()),
        };
        let direction = figure.direction.map(|direction| {
            values.push(Value::Int(direction as i64));
            format!(" AND x.direction_id = ${}", values.len())
        });
        let sql = format!(
            "SELECT x.run_id, x.job, x.direction_id, job.name, workload.fingerprint, x.{value}, job.verdict,
                    CASE WHEN job.on_host IS NULL THEN (SELECT count(*) FROM run_host AS of_run WHERE of_run.run_id = job.run_id) ELSE 1 END,
                    {of_job}
             FROM {table} AS x
             JOIN job ON job.run_id = x.run_id AND job.position = x.job
             JOIN workload ON workload.id = job.workload_id
             LEFT JOIN run_host ON run_host.run_id = job.run_id AND run_host.position = job.on_host
             LEFT JOIN host ON host.id = run_host.host_id
             LEFT JOIN run_device ON run_device.run_id = job.run_id AND run_device.position = job.on_device
             LEFT JOIN device ON device.id = run_device.device_id
             WHERE x.run_id IN (SELECT run.id FROM run WHERE {condition}) AND {which}{direction}
             ORDER BY x.run_id, x.direction_id, x.job{order}",
            of_job = OF_JOB.map(|(_, column)| column).join(", "),
            direction = direction.unwrap_or_default()
        );
        let mut found: Vec<Found> = Vec::new();
        // Jobs of the same name in one run and direction, on the same host and device, are told apart by their order.
        let mut clones: BTreeMap<[String; 4], usize> = BTreeMap::new();
        let mut last = None;
        for row in self.query(&sql, &values)? {
            let (run, job, direction) = (row.int(0)?, row.int(1)?, row.int(2)?);
            if last == Some((run, direction, job)) {
                continue;
            }
            if last.is_none_or(|(before, way, _)| (before, way) != (run, direction)) {
                clones.clear();
            }
            last = Some((run, direction, job));
            let (name, fingerprint) = (row.text(3)?, row.text(4)?);
            let attributes = attributes(&row)?;
            let of = |name: &str| attributes.get(name).cloned().unwrap_or_default();
            let clone =
                clones.entry([name.clone(), fingerprint.clone(), of("host"), of("device")]).or_default();
            found.push(Found {
                run,
                key: (name, *clone, direction, fingerprint),
                value: row.real(5)?,
                verdict: row.text(6)?,
                attributes,
            });
            *clone += 1;
        }
        Ok(found)
    }
}

/// What the job of a row was on. All hosts together have their number, as `hosts`.
fn attributes(row: &Row) -> Result<Attributes, Error> {
    let mut all = Attributes::new();
    for (column, (name, _)) in (8..).zip(OF_JOB) {
        let value = row.text(column)?;
        if !value.is_empty() {
            all.insert(name.to_owned(), value);
        }
    }
    let hosts = row.count(7)?;
    if hosts > 1 {
        all.insert("hosts".to_owned(), hosts.to_string());
    }
    Ok(all)
}
