//! The progress of `quick` on a terminal: one line that is drawn over itself.

use super::grid::TESTS;
use crate::columns;
use crate::figures;
use crate::runner::Watch;
use fathom_stats::live::{LiveTick, RunState};
use std::io::Write;
use std::time::{Duration, Instant};

/// Columns of the bar itself.
const BAR: usize = 24;

/// Draws the line, where there is a terminal, and keeps what workers say.
pub(super) struct Progress<'a> {
    out: &'a mut dyn Write,
    on_terminal: bool,
    started: Instant,
    /// How long all is going to take.
    expected: Duration,
    /// What is done when no test runs.
    step: &'static str,
    drawn: usize,
    /// Lines of workers and of the supervisor.
    pub(super) messages: Vec<String>,
}

impl<'a> Progress<'a> {
    pub(super) fn new(out: &'a mut dyn Write, on_terminal: bool, expected: Duration) -> Progress<'a> {
        let (started, messages) = (Instant::now(), Vec::new());
        Progress { out, on_terminal, started, expected, step: "", drawn: 0, messages }
    }

    /// Another step begins.
    pub(super) fn begin(&mut self, step: &'static str) {
        self.step = step;
        self.draw(step, "");
    }

    /// Clears the line.
    pub(super) fn end(&mut self) {
        if self.drawn > 0 {
            // A terminal that cannot be written to is no reason to lose the result.
            let _ = write!(self.out, "\r{}\r", " ".repeat(self.drawn)).and_then(|()| self.out.flush());
            self.drawn = 0;
        }
    }

    fn draw(&mut self, step: &str, rate: &str) {
        if !self.on_terminal {
            return;
        }
        let share = (self.started.elapsed().as_secs_f64() / self.expected.as_secs_f64().max(0.1)).min(0.99);
        let line = line(share, step, rate);
        let length = columns::width(&line);
        let rest = self.drawn.saturating_sub(length);
        let _ = write!(self.out, "\r{line}{}", " ".repeat(rest)).and_then(|()| self.out.flush());
        self.drawn = length;
    }
}

/// `[#####-------]  42 %  random 4 KiB read, depth 32  84.0 MB/s  20.5k IOPS`
fn line(share: f64, step: &str, rate: &str) -> String {
    let done = (share * BAR as f64) as usize;
    let bar = "#".repeat(done) + &"-".repeat(BAR - done);
    let text = format!("[{bar}] {:3.0} %  {step}  {rate}", share * 100.0);
    // A line that wraps could not be drawn over.
    text.trim_end().chars().take(79).collect()
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
        // The step of a single job is known; the others are the tests in their order.
        let step = match (tick.states.len(), under_way) {
            (count, Some(index)) if count == TESTS.len() => {
                let test = TESTS[index];
                format!("{} {}, depth {}", test.pattern(), test.direction_name(), test.depth)
            }
            _ => self.step.to_owned(),
        };
        let bytes: u64 = tick.bytes_per_second.iter().sum();
        let ios: u64 = tick.iops.iter().sum();
        let rate = format!("{}  {} IOPS", figures::bandwidth(bytes as f64), figures::count(ios as f64));
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
        assert_eq!(line(0.5, "filling", "1 MB/s"), "[############------------]  50 %  filling  1 MB/s");
        assert_eq!(line(1.0, &"x".repeat(200), "").chars().count(), 79);
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
