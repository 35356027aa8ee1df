//! The human-readable report: job blocks, group lines, disk lines, in the columns that scripts rely on.

mod arrivals;
mod block_errors;
mod disks;
mod group;
mod hosts;
mod job;
mod latency;
mod layers;
mod slices;
mod steady;

use crate::Format;
use fathom_spec::FormatDeclaration;
use fathom_stats::report::{IdlenessReport, JobReport, RunReport};
use std::io;

/// `--output-format=normal`.
pub(crate) struct Normal;

impl Format for Normal {
    fn declaration(&self) -> &'static FormatDeclaration {
        const { &FormatDeclaration { name: "normal", for_people: true, ..FormatDeclaration::BLANK } }
    }

    fn write(&self, report: &RunReport, out: &mut dyn io::Write) -> io::Result<()> {
        let mut text = String::new();
        if let Some(slices) = &report.slices {
            slices::append(&mut text, slices);
        }
        text.push('\n');
        for entry in report.jobs.iter().filter(|job| !job.is_empty()) {
            job::append(&mut text, entry, report);
        }
        for entry in &report.groups {
            group::append(&mut text, entry);
        }
        disks::append(&mut text, &report.disks);
        if let Some(hosts) = &report.hosts {
            hosts::append(&mut text, hosts, report);
        }
        if let Some(idleness) = &report.idleness {
            append_idleness(&mut text, idleness);
        }
        if let Some(run) = &report.layers {
            layers::append_run(&mut text, run);
        }
        if !report.notes.is_empty() {
            text.push('\n');
        }
        for note in &report.notes {
            text += &format!("note: {note}\n");
        }
        out.write_all(text.as_bytes())
    }
}

/// Formats the block of all clients of a server together.
pub(crate) fn all_clients(total: &JobReport, report: &RunReport) -> String {
    let mut text = String::new();
    job::append_all_clients(&mut text, total, report);
    text
}

fn append_idleness(text: &mut String, idleness: &IdlenessReport) {
    *text += &format!("\nCPU idleness:\n  system: {:3.2}%\n", idleness.system_percent);
    if !idleness.per_cpu_percent.is_empty() {
        let cpus: Vec<String> =
            idleness.per_cpu_percent.iter().map(|share| format!("{share:3.2}%")).collect();
        *text += &format!("  percpu: {}\n", cpus.join(", "));
    }
    *text += &unit_work_line(idleness);
}

/// Formats the duration of one unit of the work that measures idleness.
pub(crate) fn unit_work_line(idleness: &IdlenessReport) -> String {
    format!("  unit work: mean={:3.2}us, stddev={:3.2}\n", idleness.unit_mean_us, idleness.unit_stddev_us)
}
