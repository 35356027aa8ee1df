//! A row per job; what the clones of a job do is added up.

use super::{first_row, put, put_right, rows, width_of};
use crate::look::Look;
use crate::state::{State, count, latency, printable};
use fathom_stats::live::{LiveJob, RunState};
use fathom_stats::{Direction, PerDirection};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// The name has at least this many columns, and at most so many before other columns are left out for it.
const SHORTEST_NAME: u16 = 8;
const LONGEST_NAME: u16 = 24;
/// Columns of short names where there is room for everything.
const NAME_ON_WIDE: u16 = 20;

/// A column of figures.
struct Column {
    title: &'static str,
    width: u16,
    /// The smaller, the longer it stays on a narrow terminal.
    rank: u8,
    text: fn(&LiveJob, &State) -> String,
}

/// From left to right, after the name.
const COLUMNS: [Column; 13] = [
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
        text: |job, _| format!("{}/{}", count(job.in_flight), count(job.asked_depth)),
    },
    Column { title: "errors", width: 7, rank: 4, text: |job, _| count(job.errors) },
];

/// Rank up to which columns are dearer than a whole name.
const DEAR: u8 = 4;

pub(crate) fn draw(buffer: &mut Buffer, area: Rect, state: &State, scroll: usize, look: Look) {
    let jobs = &state.details.jobs;
    let longest = jobs.iter().map(|job| width_of(&job.name)).max().unwrap_or(0).saturating_add(2);
    let columns = columns(area.width, longest);
    let taken: u16 = columns.iter().map(|column| column.width).sum();
    // What nobody needs stays free at the right.
    let name_width = area.width.saturating_sub(taken).min(longest.max(NAME_ON_WIDE));
    let (titles, area) = first_row(area);
    let shown = usize::from(area.height).min(jobs.len());
    let first = first_shown(scroll, shown, jobs.len());
    let title = match jobs.len() > shown {
        true => format!("job {}-{}/{}", first + 1, first + shown, jobs.len()),
        false => "job".to_owned(),
    };
    buffer.set_style(titles, look.heading());
    put(buffer, Rect { width: name_width, ..titles }, &title, look.heading(), look);
    draw_cells(buffer, titles, name_width, &columns, look, |column| {
        (column.title.to_owned(), look.heading())
    });
    for (row, job) in rows(area).zip(jobs.iter().skip(first)) {
        let alarm = if job.errors > 0 { look.alarm() } else { Style::new() };
        let mark = if job.errors > 0 { "!" } else { "" };
        let name_area = Rect { width: name_width.saturating_sub(1), ..row };
        put(buffer, name_area, &format!("{mark}{}", printable(&job.name)), alarm, look);
        draw_cells(buffer, row, name_width, &columns, look, |column| {
            let style = if column.title == "errors" { alarm } else { Style::new() };
            ((column.text)(job, state), style)
        });
    }
}

/// The first job on the screen, so that the last is not above its lower end.
pub(crate) fn first_shown(scroll: usize, shown: usize, count: usize) -> usize {
    scroll.min(count.saturating_sub(shown))
}

fn draw_cells(
    buffer: &mut Buffer,
    row: Rect,
    name_width: u16,
    columns: &[&Column],
    look: Look,
    cell: impl Fn(&Column) -> (String, Style),
) {
    let mut x = row.x + name_width;
    for column in columns {
        let (text, style) = cell(column);
        let area = Rect { x, width: column.width.saturating_sub(1), ..row };
        // Words begin where the word above begins, figures end where those above end.
        if column.rank == 0 {
            put(buffer, area, &text, style, look);
        } else {
            put_right(buffer, area, &text, style, look);
        }
        x += column.width;
    }
}

/// The columns that find room, from left to right.
fn columns(width: u16, longest_name: u16) -> Vec<&'static Column> {
    let mut by_rank: Vec<&Column> = COLUMNS.iter().collect();
    by_rank.sort_by_key(|column| column.rank);
    let mut left = width;
    let mut limit = u8::MAX;
    for column in by_rank {
        let name = match column.rank {
            0..=DEAR => SHORTEST_NAME,
            _ => longest_name.clamp(SHORTEST_NAME, LONGEST_NAME),
        };
        if limit == u8::MAX && left >= name + column.width {
            left -= column.width;
        } else {
            limit = limit.min(column.rank);
        }
    }
    COLUMNS.iter().filter(|column| column.rank < limit).collect()
}

fn total(figures: &PerDirection<u64>) -> u64 {
    figures.values().sum()
}

/// True for clones that are neither still to come nor over.
fn is_under_way(state: RunState) -> bool {
    !matches!(
        state,
        RunState::NotStarted | RunState::Exited | RunState::Reaped | RunState::Failed | RunState::Killed
    )
}

/// The state shown for all clones: the most frequent one of the running clones, else of all.
fn leading(job: &LiveJob) -> RunState {
    let under_way: Vec<RunState> = job.states.iter().copied().filter(|&state| is_under_way(state)).collect();
    let candidates = if under_way.is_empty() { &job.states } else { &under_way };
    let votes = |state: &RunState| candidates.iter().filter(|other| *other == state).count();
    // Of several the first in the order of clones, so that the word does not jump.
    let most = candidates.iter().map(votes).max().unwrap_or(0);
    candidates.iter().copied().find(|state| votes(state) == most).unwrap_or_default()
}

/// Clones under way, of all.
fn clones(job: &LiveJob) -> String {
    let under_way = job.states.iter().filter(|&&state| is_under_way(state)).count();
    format!("{under_way}/{}", job.states.len())
}

/// A state in a word; for I/O, the value of `rw=`.
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
    use super::*;

    #[test]
    fn columns_go_by_rank() {
        let titles =
            |width| columns(width, 12).iter().map(|column| column.title).collect::<Vec<_>>().join(" ");
        assert_eq!(titles(20), "state");
        assert_eq!(titles(40), "state rate p99");
        assert_eq!(titles(80), "state clones rate IOPS p99 in flight errors");
        assert_eq!(columns(200, 12).len(), COLUMNS.len());
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
