//! One line of figures per job, joined by `;`, for scripts that count fields. Four versions are in use. The
//! versions differ in the directions included, in whether the line names the program's version, and in the form
//! of a description and of the devices. The blocks themselves are the same.

use crate::{Format, shares};
use fathom_spec::FormatDeclaration;
use fathom_stats::LatencyStats;
use fathom_stats::report::{
    DirectionReport, DiskReport, JobReport, RunReport, UnifiedReporting, ViewOptions,
};
use std::io;

/// Number of percentile fields of a direction; unused fields are `0%=0`.
const PERCENTILE_FIELDS: usize = 20;
/// Number of buckets of the latency distribution below two microseconds, which share a field.
const NANOSECOND_BUCKETS: usize = 10;

/// The format of `--output-format=terse` and `--minimal`, in one of its versions.
pub(crate) struct Terse {
    /// 2, 3, 4 or 5.
    version: u32,
}

/// The default version.
pub(crate) static DEFAULT: Terse = Terse { version: 3 };

/// Returns the format for `--terse-version`; `None` for a version that does not exist.
fn of_version(version: u32) -> Option<&'static Terse> {
    static VERSIONS: [Terse; 4] =
        [Terse { version: 2 }, Terse { version: 3 }, Terse { version: 4 }, Terse { version: 5 }];
    VERSIONS.iter().find(|terse| terse.version == version)
}

impl Format for Terse {
    fn declaration(&self) -> &'static FormatDeclaration {
        const {
            &FormatDeclaration {
                name: "terse",
                aliases: &["minimal"],
                words_of_fio: &["csv"],
                ..FormatDeclaration::BLANK
            }
        }
    }

    fn in_version(&self, version: u32) -> Option<&'static (dyn Format + Sync)> {
        of_version(version).map(|format| format as &(dyn Format + Sync))
    }

    fn write(&self, report: &RunReport, out: &mut dyn io::Write) -> io::Result<()> {
        for job in &report.jobs {
            out.write_all(self.line(job, report).as_bytes())?;
        }
        Ok(())
    }
}

/// The fields of one line.
#[derive(Default)]
struct Fields(Vec<String>);

impl Fields {
    fn add(&mut self, value: impl ToString) {
        self.0.push(value.to_string());
    }

    fn float(&mut self, value: f64) {
        self.0.push(format!("{value:.6}"));
    }

    fn percent(&mut self, value: f64, decimals: usize) {
        self.0.push(format!("{value:.decimals$}%"));
    }
}

impl Terse {
    fn line(&self, job: &JobReport, report: &RunReport) -> String {
        let mut fields = Fields::default();
        fields.add(self.version);
        if self.version > 2 {
            fields.add(&report.version);
        }
        fields.add(&job.name);
        fields.add(job.group_id);
        fields.add(job.error.as_ref().map_or(0, |error| error.code));
        self.directions(&mut fields, job, report);
        add_processor_and_depths(&mut fields, job);
        add_distribution(&mut fields, job);
        if self.version > 2 {
            add_disks(&mut fields, &report.disks);
        }
        if let Some(errors) = &job.tolerated_errors {
            fields.add(errors.total);
            fields.add(errors.first);
        }
        let mut line = fields.0.join(";");
        if let Some(description) = &job.description {
            // The oldest version puts the description on a separate line.
            let start = if self.version == 2 { "\n;" } else { ";" };
            line += &format!("{start}{description}");
        }
        line + "\n"
    }

    fn directions(&self, fields: &mut Fields, job: &JobReport, report: &RunReport) {
        let (group_rates, mixed_rate) = shares::group_rates(&report.groups, job.group_id);
        // The default version does not include trims.
        let shown = if self.version == 3 { 2 } else { 3 };
        if job.view.unified != UnifiedReporting::Mixed {
            for (direction, rate) in job.directions.values().zip(group_rates.values()).take(shown) {
                self.direction(fields, direction, &job.view, *rate);
            }
        }
        if job.view.unified != UnifiedReporting::Apart {
            self.direction(fields, &job.mixed(), &job.view, mixed_rate);
        }
    }

    fn direction(
        &self,
        fields: &mut Fields,
        direction: &DirectionReport,
        view: &ViewOptions,
        group_rate: u64,
    ) {
        fields.add(direction.io_bytes >> 10);
        fields.add(direction.bytes_per_second() >> 10);
        fields.add(direction.iops() as u64);
        fields.add(direction.runtime_ms);
        add_latency(fields, &direction.slat);
        add_latency(fields, &direction.clat);
        add_percentiles(fields, direction, view);
        add_latency(fields, &direction.lat);
        let bw = &direction.bw;
        fields.add(bw.min);
        fields.add(bw.max);
        fields.percent(shares::of_group_for_terse(bw.mean(), group_rate), 6);
        fields.float(bw.mean());
        fields.float(bw.stddev());
        if self.version == 5 {
            let iops = &direction.iops;
            fields.add(bw.samples);
            fields.add(iops.min);
            fields.add(iops.max);
            fields.float(iops.mean());
            fields.float(iops.stddev());
            fields.add(iops.samples);
        }
    }
}

/// Adds minimum, maximum, mean and deviation in microseconds.
fn add_latency(fields: &mut Fields, stats: &LatencyStats) {
    fields.add(stats.min_ns / 1000);
    fields.add(stats.max_ns / 1000);
    fields.float(stats.mean_ns() / 1000.0);
    fields.float(stats.stddev_ns() / 1000.0);
}

/// Adds percentiles of the completion latency, or of the total latency if only that was requested.
fn add_percentiles(fields: &mut Fields, direction: &DirectionReport, view: &ViewOptions) {
    let stats = if view.clat_percentiles { &direction.clat } else { &direction.lat };
    let shown = view.clat_percentiles || view.lat_percentiles;
    let list: &[f64] = if shown { &view.percentiles } else { &[] };
    let values = stats.histogram.percentiles(list);
    for index in 0..PERCENTILE_FIELDS {
        fields.add(match list.get(index) {
            Some(percentile) => {
                format!("{percentile:.6}%={}", values.get(index).unwrap_or(&0) / 1000)
            }
            None => "0%=0".into(),
        });
    }
}

fn add_processor_and_depths(fields: &mut Fields, job: &JobReport) {
    let (user, system) = shares::processor(job);
    fields.percent(user, 6);
    fields.percent(system, 6);
    fields.add(job.cpu.context_switches);
    fields.add(job.cpu.major_faults);
    fields.add(job.cpu.minor_faults);
    for share in shares::depths(job) {
        fields.percent(share, 1);
    }
}

fn add_distribution(fields: &mut Fields, job: &JobReport) {
    let shares = shares::distribution(job);
    let (nanoseconds, above) = shares.split_at(NANOSECOND_BUCKETS);
    for (index, share) in above.iter().enumerate() {
        let below: f64 = if index == 0 { nanoseconds.iter().sum() } else { 0.0 };
        fields.percent(share + below, 2);
    }
}

fn add_disks(fields: &mut Fields, disks: &[DiskReport]) {
    for disk in disks {
        fields.add(&disk.name);
        for figure in [disk.ios, disk.merges, disk.ticks_ms].concat() {
            fields.add(figure);
        }
        fields.add(disk.in_queue_ms);
        fields.percent(disk.util_percent, 2);
        if !disk.members.is_empty() {
            fields.add("slaves");
            add_disks(fields, &disk.members);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(version: u32, unified: UnifiedReporting) -> usize {
        let mut job = JobReport::default();
        job.view.unified = unified;
        let report = RunReport::default();
        of_version(version).expect("a version").line(&job, &report).split(';').count()
    }

    #[test]
    fn field_counts() {
        let apart = [2, 3, 4, 5].map(|version| fields(version, UnifiedReporting::Apart));
        assert_eq!(apart, [161, 121, 162, 180]);
        assert_eq!([3, 5].map(|version| fields(version, UnifiedReporting::Mixed)), [80, 86]);
        assert_eq!([3, 5].map(|version| fields(version, UnifiedReporting::Both)), [162, 227]);
        assert!(of_version(1).is_none() && of_version(6).is_none());
    }

    #[test]
    fn descriptions() {
        let mut job = JobReport { description: Some("hello".into()), ..Default::default() };
        let line = |version, job: &JobReport| {
            of_version(version).expect("a version").line(job, &RunReport::default())
        };
        assert!(line(2, &job).ends_with("0.00%\n;hello\n"));
        assert!(line(3, &job).ends_with("0.00%;hello\n"));
        job.tolerated_errors = Some(Default::default());
        assert!(line(3, &job).ends_with("0.00%;0;0;hello\n"));
    }

    #[test]
    fn devices() {
        let member = DiskReport { name: "sda".into(), ..Default::default() };
        let disk =
            DiskReport { name: "md0".into(), ios: [1, 2], members: vec![member], ..Default::default() };
        let mut fields = Fields::default();
        add_disks(&mut fields, &[disk]);
        assert_eq!(fields.0.join(";"), "md0;1;2;0;0;0;0;0;0.00%;slaves;sda;0;0;0;0;0;0;0;0.00%");
    }
}
