//! The hosts of a multi-host run: a row for each host, followed by how evenly they ran.

use crate::scale::{Scale, duration};
use fathom_stats::Direction;
use fathom_stats::counted;
use fathom_stats::hosts::{
    HostEnd, HostFigures, HostFiles, HostRow, HostRunReport, HostsReport, rows, start_skew,
};
use fathom_stats::report::RunReport;

/// Number of hosts without remarks that get a row.
const MOST_PLAIN_ROWS: usize = 20;

/// Maximum number of hosts without remarks that get a row.
const MOST_LINES_ON_FILES: usize = 8;

/// Appends the section on hosts.
pub(super) fn append(text: &mut String, report: &HostsReport, run: &RunReport) {
    let rows = rows(&report.hosts);
    let scale = run.groups.first().map_or(Scale::new(1024, 8, 4), |group| {
        Scale::new(group.kb_base, group.unit_base, group.significant_figures)
    });
    *text += &format!("\nHosts ({}):\n", report.hosts.len());
    append_table(text, &report.hosts, &rows, &scale);
    if let Some(skew) = start_skew(&report.hosts) {
        *text +=
            &format!("  start skew: median={}, max={}", duration(skew.median_ns), duration(skew.largest_ns));
        if let Some(bound) = skew.clock_bound_ns {
            *text += &format!("; clock bound: max={}", duration(bound));
        }
        text.push('\n');
    }
    append_overlap(text, report, &scale);
    append_files(text, &report.files);
}

/// Appends one line on the files of each job; only the first lines if jobs share files or there are many.
fn append_files(text: &mut String, files: &[HostFiles]) {
    let is_new = |(index, own): &(usize, &HostFiles)| {
        let said = &files[..*index];
        !said.iter().any(|other| other.name == own.name && other.ownership == own.ownership)
    };
    let told: Vec<&HostFiles> = files.iter().enumerate().filter(is_new).map(|(_, files)| files).collect();
    for files in told.iter().take(MOST_LINES_ON_FILES) {
        *text += &format!("  Files of {files}\n");
    }
    if told.len() > MOST_LINES_ON_FILES {
        *text += &format!(
            "  and those of {}, all of them in the JSON\n",
            counted(told.len() - MOST_LINES_ON_FILES, "more job")
        );
    }
}

/// A line of the table: its cells, followed by the remark.
struct Line {
    cells: Vec<String>,
    remark: String,
}

fn append_table(text: &mut String, hosts: &[HostRunReport], rows: &[HostRow], scale: &Scale) {
    let did_any = |direction: &Direction| rows.iter().any(|row| row.directions[*direction].total_ios > 0);
    let directions: Vec<Direction> = Direction::ALL.into_iter().filter(did_any).collect();
    let mut lines = vec![heading(&directions)];
    let mut left_out = 0;
    for (index, (host, row)) in hosts.iter().zip(rows).enumerate() {
        let remark = remark(host, row);
        if index >= MOST_PLAIN_ROWS && remark.is_empty() {
            left_out += 1;
            continue;
        }
        let mut cells = vec![host.name.clone(), state(host, row)];
        for &direction in &directions {
            cells.extend(figures(&row.directions[direction], scale));
        }
        cells.push(host.start_skew_ns.map_or_else(blank, signed));
        cells.push(host.last_done_ms.map_or_else(blank, |ms| format!("{:.1}s", ms as f64 / 1e3)));
        lines.push(Line { cells, remark });
    }
    append_lines(text, &lines);
    if left_out > 0 {
        *text += &format!("  and {left_out} more, all of them in the JSON\n");
    }
}

fn heading(directions: &[Direction]) -> Line {
    let mut cells = vec!["name".to_owned(), "state".to_owned()];
    for direction in directions {
        cells.push(format!("{} IOPS", direction.word()));
        cells.extend(["BW", "p50", "p99", "max"].map(str::to_owned));
    }
    cells.extend(["skew", "done"].map(str::to_owned));
    Line { cells, remark: String::new() }
}

/// Appends the lines, with names and states left-aligned and numbers right-aligned.
fn append_lines(text: &mut String, lines: &[Line]) {
    let columns = lines.first().map_or(0, |line| line.cells.len());
    let width =
        |column: usize| lines.iter().map(|line| line.cells[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for line in lines {
        for (column, (cell, width)) in line.cells.iter().zip(&widths).enumerate() {
            *text += &match column {
                0 | 1 => format!("  {cell:<width$}"),
                _ => format!("  {cell:>width$}"),
            };
        }
        if !line.remark.is_empty() {
            *text += &format!("  <- {}", line.remark);
        }
        text.push('\n');
    }
}

fn state(host: &HostRunReport, row: &HostRow) -> String {
    match (&host.end, row.errors) {
        (HostEnd::NeverBegan { .. }, _) => "never began".to_owned(),
        (HostEnd::Lost { .. }, _) => "lost".to_owned(),
        (HostEnd::Whole, 0) => "ok".to_owned(),
        (HostEnd::Whole, 1) => "1 error".to_owned(),
        (HostEnd::Whole, errors) => format!("{errors} errors"),
    }
}

/// Returns the remark on a host; empty if there is none.
fn remark(host: &HostRunReport, row: &HostRow) -> String {
    match &host.end {
        HostEnd::NeverBegan { reason } => reason.clone(),
        HostEnd::Lost { reason, snapshot_ms: Some(ms) } => {
            format!("{reason} (figures of its first {:.1} s)", *ms as f64 / 1e3)
        }
        HostEnd::Lost { reason, .. } => reason.clone(),
        HostEnd::Whole => row.straggling.iter().map(ToString::to_string).collect::<Vec<String>>().join(", "),
    }
}

fn figures(figures: &HostFigures, scale: &Scale) -> [String; 5] {
    if figures.total_ios == 0 {
        return [(); 5].map(|()| blank());
    }
    let time = |ns: Option<u64>| ns.map_or_else(blank, duration);
    [
        scale.count(figures.iops.round() as u64),
        scale.rate(figures.bytes_per_second.round() as u64),
        time(figures.percentiles.map(|percentiles| percentiles.p50_ns)),
        time(figures.percentiles.map(|percentiles| percentiles.p99_ns)),
        time(figures.max_ns),
    ]
}

fn blank() -> String {
    "-".to_owned()
}

fn signed(ns: i64) -> String {
    let sign = if ns < 0 { '-' } else { '+' };
    format!("{sign}{}", duration(ns.unsigned_abs()))
}

fn append_overlap(text: &mut String, report: &HostsReport, scale: &Scale) {
    let Some(overlap) = &report.overlap else {
        if report.hosts.iter().filter(|host| host.start_skew_ns.is_some()).count() > 1 {
            *text += "  There was no time in which all hosts were running.\n";
        }
        return;
    };
    let seconds = |ms: u64| ms as f64 / 1e3;
    *text += &format!(
        "  All hosts were running from {:.3} s to {:.3} s",
        seconds(overlap.begin_ms),
        seconds(overlap.end_ms)
    );
    let with_figures = overlap.directions.iter().filter(|(_, figures)| figures.iops > 0.0);
    let figures: Vec<String> = with_figures
        .map(|(direction, figures)| {
            format!(
                "{} IOPS={}, BW={}",
                direction.word(),
                scale.count(figures.iops.round() as u64),
                scale.rate(figures.bytes_per_second.round() as u64)
            )
        })
        .collect();
    match figures.is_empty() {
        true => text.push('\n'),
        false => *text += &format!(": {}\n", figures.join("; ")),
    }
}
