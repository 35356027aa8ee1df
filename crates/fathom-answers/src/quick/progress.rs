//! Progress of `quick` on a terminal: one line that is redrawn in place.

use super::grid::TESTS;
use crate::columns;
use crate::figures;
use crate::runner::Watch;
use fathom_command::printer::Screen;
use fathom_stats::live::{LiveTick, RunState};
use std::time::{Duration, Instant};

/// Maximum length of the bar in columns.
const BAR: usize = 24;
/// Minimum length of the bar in columns; a shorter one is useless.
const LEAST_BAR: usize = 8;

/// Draws the line, if there is a terminal, and collects messages.
pub(super) struct Progress<'a> {
    out: &'a mut dyn Screen,
    on_terminal: bool,
    started: Instant,
    /// Expected duration of all steps.
    expected: Duration,
    /// The current step while no test runs.
    step: &'static str,
    /// The current one of several runs, such as `2 of 3: `.
    round: String,
    /// The test that was running at the last tick, and for how many ticks.
    test: Option<(usize, u32)>,
    drawn: usize,
    /// Messages from workers and from the supervisor.
    pub(super) messages: Vec<String>,
}

impl<'a> Progress<'a> {
    pub(super) fn new(out: &'a mut dyn Screen, on_terminal: bool, expected: Duration) -> Progress<'a> {
        let (started, messages) = (Instant::now(), Vec::new());
        Progress {
            out,
            on_terminal,
            started,
            expected,
            step: "",
            round: String::new(),
            test: None,
            drawn: 0,
            messages,
        }
    }

    /// Starts another step.
    pub(super) fn begin(&mut self, step: &'static str) {
        self.step = step;
        self.draw(step, "");
    }

    /// Starts another run of all tests; runs are counted from 1.
    pub(super) fn begin_run(&mut self, number: u32, of: u32) {
        self.round = if of > 1 { format!("{number} of {of}: ") } else { String::new() };
        self.test = None;
    }

    /// Clears the line.
    pub(super) fn end(&mut self) {
        if self.drawn > 0 {
            // Errors are ignored, because the result must not be lost to a terminal that cannot be written.
            let blanks = " ".repeat(std::mem::take(&mut self.drawn));
            let _ = self.over(&blanks).and_then(|()| self.out.line_start()).and_then(|()| self.out.flush());
        }
    }

    fn draw(&mut self, step: &str, rate: &str) {
        if !self.on_terminal {
            return;
        }
        let share = (self.started.elapsed().as_secs_f64() / self.expected.as_secs_f64().max(0.1)).min(0.99);
        // The width is queried every time, because the terminal may have been resized.
        let line = line(share, step, rate, columns::of_messages());
        let length = columns::width(&line);
        let _ = self.over(&columns::left(&line, self.drawn)).and_then(|()| self.out.flush());
        self.drawn = length;
    }

    fn over(&mut self, text: &str) -> std::io::Result<()> {
        self.out.line_start()?;
        self.out.write_all(text.as_bytes())
    }
}

/// The line, such as `[#####-------]  42 %  random 4 KiB read, depth 32  84.0 MB/s  20.5k IOPS`. Parts that do
/// not fit are left out, because a line that wraps could not be redrawn in place.
fn line(share: f64, step: &str, rate: &str, columns: usize) -> String {
    let room = columns.saturating_sub(1);
    let mut text = format!("{:3.0} %  {step}", share * 100.0);
    if !rate.is_empty() && columns::width(&text) + 2 + columns::width(rate) <= room {
        text = format!("{text}  {rate}");
    }
    let bar = room.saturating_sub(columns::width(&text) + 3).min(BAR);
    if bar >= LEAST_BAR {
        let done = ((share * bar as f64) as usize).min(bar);
        text = format!("[{}{}] {text}", "#".repeat(done), "-".repeat(bar - done));
    }
    columns::cut(&text, room)
}

impl Watch for Progress<'_> {
    fn interval(&self) -> Option<Duration> {
        self.on_terminal.then_some(Duration::from_millis(250))
    }

    fn tick(&mut self, tick: &LiveTick) {
        let is_under_way = |state: &RunState| {
            !matches!(state, RunState::NotStarted | RunState::Reaped | RunState::Failed | RunState::Killed)
        };
        let under_way = tick.states.iter().position(is_under_way);
        let is_of_tests = tick.states.len() == TESTS.len();
        if is_of_tests && let Some(index) = under_way {
            let ticks = self.test.filter(|(own, _)| *own == index).map_or(0, |(_, ticks)| ticks);
            self.test = Some((index, ticks.saturating_add(1)));
        }
        // A single job is a step with its own name; several jobs are the tests in order. Between two tests, the
        // earlier one is shown.
        let (step, is_settled) = match self.test.filter(|_| is_of_tests) {
            Some((index, ticks)) => {
                let test = TESTS[index];
                let (pattern, direction) = (test.pattern(), test.direction_name());
                let step = format!("{}{pattern} {direction}, depth {}", self.round, test.depth);
                (step, under_way.is_some() && ticks > 1)
            }
            None => (self.step.to_owned(), !is_of_tests),
        };
        let bytes: u64 = tick.bytes_per_second.values().sum();
        let ios: u64 = tick.iops.values().sum();
        // The first rate of a test is not shown, because it partly belongs to the previous test.
        let rate = match is_settled {
            true => format!("{}  {} IOPS", figures::bandwidth(bytes as f64), figures::count(ios as f64)),
            false => String::new(),
        };
        self.draw(&step, &rate);
    }

    fn message(&mut self, text: &str) {
        self.messages.push(text.trim().to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_fits_any_terminal() {
        assert_eq!(line(0.5, "filling", "1 MB/s", 80), "[############------------]  50 %  filling  1 MB/s");
        let (step, rate) = ("sequential 1 MiB write, depth 8", "1230 MB/s  1.23k IOPS");
        assert_eq!(line(0.5, step, rate, 60), "[#########---------]  50 %  sequential 1 MiB write, depth 8");
        for columns in 2..200 {
            for step in [step, &"x".repeat(200), "読み書き"] {
                let line = line(1.0, step, rate, columns);
                assert!(columns::width(&line) < columns, "{columns}: {line}");
            }
        }
    }

    #[test]
    fn a_rate_belongs_to_the_test_next_to_it() {
        let mut bytes = Vec::new();
        let mut progress = Progress::new(&mut bytes, true, Duration::from_secs(1));
        let tick = |under_way: Option<usize>| {
            let mut tick = LiveTick { states: vec![RunState::Reaped; TESTS.len()], ..LiveTick::default() };
            tick.iops[fathom_stats::Direction::Read] = 777;
            if let Some(index) = under_way {
                tick.states[index] = RunState::Reading { sequential: true };
            }
            tick
        };
        for under_way in [Some(0), Some(0), None, Some(1)] {
            progress.tick(&tick(under_way));
        }
        let text = String::from_utf8(bytes).expect("text");
        let lines: Vec<bool> =
            text.split('\r').filter(|line| !line.is_empty()).map(|line| line.contains("777 IOPS")).collect();
        assert_eq!(lines, [false, true, false, false], "{text:?}");
        assert!(text.contains(TESTS[1].pattern()), "{text:?}");
    }

    #[test]
    fn the_line_is_cleared() {
        let mut bytes = Vec::new();
        let mut progress = Progress::new(&mut bytes, true, Duration::from_secs(1));
        progress.begin("filling the file");
        progress.end();
        let text = String::from_utf8(bytes).expect("text");
        assert!(text.contains("filling the file") && text.ends_with(" \r"), "{text:?}");
    }
}
