//! Periods in which worker processes were stopped by signals. The results include these periods, although no
//! I/O was done in them.

use fathom_stats::facts::{MOST_STOPS, StopFacts};
use fathom_sys::process::Stop;

/// All recorded stops.
#[derive(Default)]
pub(super) struct StopWatch {
    /// Monotonic time at which the run's jobs started, ns.
    origin_ns: u64,
    open: Vec<Stopped>,
    over: Vec<StopFacts>,
}

/// A process that is stopped.
struct Stopped {
    pid: u32,
    /// The jobs whose clones run in this process.
    jobs: Vec<String>,
    since_ns: u64,
}

impl StopWatch {
    /// Called when the jobs start.
    pub(super) fn begin(&mut self, now_ns: u64) {
        self.origin_ns = now_ns;
    }

    /// Called when a process of these jobs is stopped or continued.
    pub(super) fn note(&mut self, pid: u32, jobs: Vec<String>, stop: Stop, now_ns: u64) {
        self.end(pid, now_ns);
        if stop == Stop::Stopped {
            self.open.push(Stopped { pid, jobs, since_ns: now_ns });
        }
    }

    /// Called when a process is continued or has ended.
    pub(super) fn end(&mut self, pid: u32, now_ns: u64) {
        let Some(place) = self.open.iter().position(|stopped| stopped.pid == pid) else { return };
        let stopped = self.open.swap_remove(place);
        let facts = self.facts(&stopped, now_ns);
        self.over.extend(facts);
        self.over.truncate(MOST_STOPS);
    }

    /// Returns all stops so far.
    pub(super) fn report(&self, now_ns: u64) -> Vec<StopFacts> {
        let open = self.open.iter().flat_map(|stopped| self.facts(stopped, now_ns));
        self.over.iter().cloned().chain(open).take(MOST_STOPS).collect()
    }

    fn facts(&self, stopped: &Stopped, now_ns: u64) -> Vec<StopFacts> {
        let of_job = |job: &String| StopFacts {
            job: job.clone(),
            begin_ms: stopped.since_ns.saturating_sub(self.origin_ns) / 1_000_000,
            length_ms: now_ns.saturating_sub(stopped.since_ns) / 1_000_000,
        };
        stopped.jobs.iter().map(of_job).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_have_their_times() {
        const MS: u64 = 1_000_000;
        let job = |name: &str| vec![name.to_owned()];
        let mut watch = StopWatch::default();
        watch.begin(1000 * MS);
        watch.note(7, job("a"), Stop::Stopped, 1500 * MS);
        // A debugger may stop a process that is already stopped, so a second stop must not restart the period.
        watch.note(7, job("a"), Stop::Stopped, 1600 * MS);
        watch.note(8, job("b"), Stop::Continued, 1650 * MS);
        watch.note(7, job("a"), Stop::Continued, 2700 * MS);
        watch.note(8, job("b"), Stop::Stopped, 3000 * MS);
        let times: Vec<(String, u64, u64)> = watch
            .report(3500 * MS)
            .into_iter()
            .map(|stop| (stop.job, stop.begin_ms, stop.length_ms))
            .collect();
        let expected = [("a", 500, 100), ("a", 600, 1100), ("b", 2000, 500)];
        assert_eq!(times, expected.map(|(job, begin, length)| (job.to_owned(), begin, length)));
        watch.end(8, 3600 * MS);
        assert_eq!(watch.report(9000 * MS).last().map(|stop| stop.length_ms), Some(600));
        // Threads of several jobs may share a process, so one stop belongs to several jobs.
        watch.note(9, vec!["c".to_owned(), "d".to_owned()], Stop::Stopped, 9000 * MS);
        let last: Vec<String> = watch.report(9100 * MS).into_iter().skip(3).map(|stop| stop.job).collect();
        assert_eq!(last, ["c", "d"]);
    }
}
