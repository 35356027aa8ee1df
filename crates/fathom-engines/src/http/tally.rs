//! Counters and timings of requests and connections, in addition to those of the I/Os.

use fathom_stats::engine_figures::EngineFigures;
use std::cell::RefCell;
use std::time::Duration;

/// Figures and messages of one client.
#[derive(Default)]
pub(super) struct Tally {
    figures: RefCell<EngineFigures>,
    trace: RefCell<Vec<String>>,
}

/// Maximum number of lines that `http_verbose` prints.
const TRACE_LIMIT: usize = 1000;

impl Tally {
    pub(super) fn count(&self, what: &str, number: u64) {
        self.figures.borrow_mut().count(what, number);
    }

    pub(super) fn record(&self, what: &str, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.figures.borrow_mut().record(what, ns);
    }

    pub(super) fn figures(&self) -> EngineFigures {
        self.figures.borrow().clone()
    }

    pub(super) fn trace(&self, line: impl FnOnce() -> String) {
        let mut trace = self.trace.borrow_mut();
        match trace.len() {
            0..TRACE_LIMIT => trace.push(line()),
            TRACE_LIMIT => trace.push("http_verbose: further lines are left out".to_owned()),
            _ => {}
        }
    }

    pub(super) fn take_trace(&self) -> Vec<String> {
        let kept = self.trace.borrow().len() > TRACE_LIMIT;
        let lines = std::mem::take(&mut *self.trace.borrow_mut());
        if kept {
            // The limit applies to the whole run, so printed lines keep counting.
            self.trace.borrow_mut().extend(std::iter::repeat_n(String::new(), TRACE_LIMIT + 1));
        }
        lines.into_iter().filter(|line| !line.is_empty()).collect()
    }
}
