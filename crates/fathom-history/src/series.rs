//! One figure over the runs: a series for each job, direction and fingerprint.

use crate::Error;
use crate::figures::DIRECTIONS;
use crate::filter::{self, Condition};
use crate::query::{Listed, word};
use crate::store::Store;
use crate::value::Value;
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
    /// The verdict on the run.
    pub verdict: String,
    /// What the run was on: host, kernel, device, model, firmware, serial, file_system, and the tags as `tag.NAME`.
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

/// A value before it is put into its series.
struct Found {
    run: i64,
    /// Clone, name and fingerprint of the job, and the direction.
    key: (String, usize, i64, String),
    value: f64,
}

impl Store {
    /// The series of a figure in the runs that meet all conditions.
    pub fn series(&mut self, figure: &FigureName, conditions: &[Condition]) -> Result<Vec<Series>, Error> {
        let found = self.values_of(figure, conditions)?;
        let mut values = Vec::new();
        let condition = filter::sql(conditions, &mut values);
        let runs = self.without_jobs(&format!("SELECT run.id FROM run WHERE {condition}"), &values)?;
        let mut series: BTreeMap<(String, usize, i64, String), Vec<Point>> = BTreeMap::new();
        for Found { run, key, value } in found {
            // A run that was added in the meantime is not among them.
            let Some(of_run) = runs.get(&run) else { continue };
            series.entry(key).or_default().push(Point {
                run,
                begun_ms: of_run.begun_ms,
                value,
                verdict: of_run.verdict.clone(),
                attributes: attributes(of_run),
            });
        }
        let made = series.into_iter().map(|((job, clone, direction, fingerprint), mut points)| {
            points.sort_by_key(|point| (point.begun_ms, point.run));
            Series { job, clone, direction: word(&DIRECTIONS, direction), fingerprint, points }
        });
        Ok(made.collect())
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
            "SELECT x.run_id, x.job, x.direction_id, job.name, workload.fingerprint, x.{value}
             FROM {table} AS x
             JOIN job ON job.run_id = x.run_id AND job.position = x.job
             JOIN workload ON workload.id = job.workload_id
             WHERE x.run_id IN (SELECT run.id FROM run WHERE {condition}) AND {which}{}
             ORDER BY x.run_id, x.direction_id, x.job{order}",
            direction.unwrap_or_default()
        );
        let mut found: Vec<Found> = Vec::new();
        // Jobs of the same name in one run and direction are told apart by their order.
        let mut clones: BTreeMap<(String, String), usize> = BTreeMap::new();
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
            let clone = clones.entry((name.clone(), fingerprint.clone())).or_default();
            found.push(Found { run, key: (name, *clone, direction, fingerprint), value: row.real(5)? });
            *clone += 1;
        }
        Ok(found)
    }
}

/// What a run was on, and its tags.
fn attributes(run: &Listed) -> BTreeMap<String, String> {
    let known = [
        ("host", &run.host),
        ("kernel", &run.kernel),
        ("device", &run.device),
        ("model", &run.model),
        ("firmware", &run.firmware),
        ("serial", &run.serial),
        ("file_system", &run.file_system),
    ];
    let known = known.into_iter().filter(|(_, value)| !value.is_empty());
    let known = known.map(|(name, value)| (name.to_owned(), value.clone()));
    let tags = run.tags.iter().map(|(name, value)| (format!("tag.{name}"), value.clone()));
    known.chain(tags).collect()
}
