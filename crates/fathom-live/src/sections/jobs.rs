//! A row per job; the clones of a job are summed.

use super::table::{Column, Columns};
use super::{first_row, rows};
use crate::look::Look;
use crate::state::{State, count, latency, printable};
use fathom_stats::layers::Made;
use fathom_stats::live::{LiveJob, RunState};
use fathom_stats::{Direction, PerDirection};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// The columns after the name, from left to right.
static COLUMNS: [Column<LiveJob>; 14] = [
    Column { title: "state", width: 10, rank: 0, text: |job, _| word(leading(job)).to_owned() },
    Column { title: "clones", width: 8, rank: 5, text: |job, _| clones(job) },
    Column { title: "rate", width: 10, rank: 1, text: |job, state| state.rate(total(&job.bytes_per_second)) },
    Column {
        title: "read",
        width: 10,
        rank: 9,
        text: |job, state| state.rate(job.bytes_per_second[Direction::Read]),
    },
    Column {
        title: "write",
        width: 10,
        rank: 10,
        text: |job, state| state.rate(job.bytes_per_second[Direction::Write]),
    },
    Column { title: "IOPS", width: 7, rank: 3, text: |job, _| count(total(&job.iops)) },
    Column { title: "reads/s", width: 9, rank: 11, text: |job, _| count(job.iops[Direction::Read]) },
    Column { title: "writes/s", width: 9, rank: 12, text: |job, _| count(job.iops[Direction::Write]) },
    Column { title: "p50", width: 9, rank: 8, text: |job, _| latency(job.latency.map(|all| all.p50_ns)) },
    Column { title: "p99", width: 9, rank: 2, text: |job, _| latency(job.latency.map(|all| all.p99_ns)) },
    Column { title: "p99.9", width: 9, rank: 7, text: |job, _| latency(job.latency.map(|all| all.p99_9_ns)) },
    Column {
        title: "in flight",
        width: 11,
        rank: 6,
        text: |job, _| format!("{}/{}{}", count(job.in_flight), count(job.asked_depth), waiting(job)),
    },
    Column { title: "errors", width: 7, rank: 4, text: |job, _| count(job.errors) },
    Column { title: "most time in", width: 17, rank: 3, text: |job, _| largest_layer(job) },
];
/// The last column is for runs with layers.
const WITHOUT_LAYERS: usize = COLUMNS.len() - 1;

pub(crate) fn draw(buffer: &mut Buffer, area: Rect, state: &State, scroll: usize, look: Look) {
    let jobs = &state.details.jobs;
    let has_layers = jobs.iter().any(|job| job.layers.is_some());
    let columns = if has_layers { &COLUMNS[..] } else { &COLUMNS[..WITHOUT_LAYERS] };
    let columns = Columns::of(columns, area.width, jobs.iter().map(|job| job.name.as_str()));
    let (titles, area) = first_row(area);
    let shown = usize::from(area.height).min(jobs.len());
    let first = first_shown(scroll, shown, jobs.len());
    let title = match jobs.len() > shown {
        true => format!("job {}-{}/{}", first + 1, first + shown, jobs.len()),
        false => "job".to_owned(),
    };
    columns.draw_titles(buffer, titles, &title, look);
    for (row, job) in rows(area).zip(jobs.iter().skip(first)) {
        let alarm = if job.errors > 0 { look.alarm() } else { Style::new() };
        let mark = if job.errors > 0 { "!" } else { "" };
        let name = format!("{mark}{}", printable(&job.name));
        columns.draw_row(buffer, row, (&name, alarm), look, |column| {
            let style = if column.title == "errors" { alarm } else { Style::new() };
            ((column.text)(job, state), style)
        });
    }
}

/// Returns the first visible job, chosen so that the last page is full.
pub(crate) fn first_shown(scroll: usize, shown: usize, count: usize) -> usize {
    scroll.min(count.saturating_sub(shown))
}

fn total(figures: &PerDirection<u64>) -> u64 {
    figures.values().sum()
}

/// Returns the state displayed for all clones: the most frequent state of the running clones, or of all clones
/// if none is running.
fn leading(job: &LiveJob) -> RunState {
    let under_way: Vec<RunState> = job.states.iter().copied().filter(|state| state.is_under_way()).collect();
    let candidates = if under_way.is_empty() { &job.states } else { &under_way };
    let votes = |state: &RunState| candidates.iter().filter(|other| *other == state).count();
    // Of equally frequent states, the first in the order of clones is shown, so that the word does not flicker.
    let most = candidates.iter().map(votes).max().unwrap_or(0);
    candidates.iter().copied().find(|state| votes(state) == most).unwrap_or_default()
}

/// Formats the number of running clones, and of all clones.
fn clones(job: &LiveJob) -> String {
    let under_way = job.states.iter().filter(|state| state.is_under_way()).count();
    format!("{under_way}/{}", job.states.len())
}

/// Formats the layer in which the I/Os of the last interval spent most of their time, and its share.
fn largest_layer(job: &LiveJob) -> String {
    let Some(layers) = job.layers else { return String::new() };
    let made = Made { total_ns: layers.iter().sum(), layers_ns: layers };
    match made.total_ns {
        0 => "-".to_owned(),
        _ => {
            let (layer, share) = made.largest();
            format!("{} {:.0}%", layer.word(), 100.0 * share)
        }
    }
}

/// Formats the number of I/Os of an open loop that are due but have to wait for a free slot.
fn waiting(job: &LiveJob) -> String {
    job.waiting
        .filter(|&waiting| waiting > 0)
        .map_or_else(String::new, |waiting| format!("+{}", count(waiting)))
}

/// Returns a state as one word; for I/O, this is the value of `rw=`.
fn word(state: RunState) -> &'static str {
    match state {
        RunState::NotStarted => "waiting",
        RunState::Created => "created",
        RunState::Initialising => "set-up",
        RunState::PreReading => "pre-read",
        RunState::Ramping => "ramp",
        RunState::Reading { sequential: true } => "read",
        RunState::Reading { sequential: false } => "randread",
        RunState::Writing { sequential: true } => "write",
        RunState::Writing { sequential: false } => "randwrite",
        RunState::Mixed { sequential: true } => "rw",
        RunState::Mixed { sequential: false } => "randrw",
        RunState::Trimming { sequential: true } => "trim",
        RunState::Trimming { sequential: false } => "randtrim",
        RunState::Verifying => "verify",
        RunState::FinalSync => "fsync",
        RunState::Finishing => "finishing",
        RunState::Exited | RunState::Reaped => "done",
        RunState::Failed => "failed",
        RunState::Killed => "killed",
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::fitting;
    use super::*;

    #[test]
    fn columns_go_by_rank() {
        let titles = |width| {
            let columns = fitting(&COLUMNS[..WITHOUT_LAYERS], width, 12);
            columns.iter().map(|column| column.title).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(titles(20), "state");
        assert_eq!(titles(40), "state rate p99");
        assert_eq!(titles(80), "state clones rate IOPS p99 in flight errors");
        assert_eq!(fitting(&COLUMNS, 200, 12).len(), COLUMNS.len());
    }

    #[test]
    fn the_largest_layer_is_named_with_its_share() {
        let job = |layers| LiveJob { layers, ..LiveJob::default() };
        assert_eq!(largest_layer(&job(Some([5, 10, 80, 5]))), "device 80%");
        assert_eq!(largest_layer(&job(Some([0; 4]))), "-");
        assert_eq!(largest_layer(&job(None)), "");
    }

    #[test]
    fn a_job_has_the_state_of_most_of_its_clones() {
        let reading = RunState::Reading { sequential: false };
        let job = |states: &[RunState]| LiveJob { states: states.to_vec(), ..LiveJob::default() };
        let mixed = job(&[RunState::Reaped, RunState::Reaped, RunState::Ramping, reading, reading]);
        assert_eq!((leading(&mixed), clones(&mixed)), (reading, "3/5".to_owned()));
        let over = job(&[RunState::Reaped, RunState::Killed, RunState::Reaped]);
        assert_eq!((word(leading(&over)), clones(&over)), ("done", "0/3".to_owned()));
    }

    #[test]
    fn scrolling_ends_at_the_last_job() {
        assert_eq!(first_shown(0, 3, 10), 0);
        assert_eq!(first_shown(99, 3, 10), 7);
        assert_eq!(first_shown(5, 3, 2), 0);
    }
}
