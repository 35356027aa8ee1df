//! A rank while its jobs run: waits for the others before each stage, prints messages, and writes snapshots.

use crate::results::RankResult;
use crate::rounds::{Rounds, Stand};
use crate::snapshots::{EVERY_NS, Snapshots};
use fathom_hosts::controller::clocks::{here, set_times};
use fathom_hosts::controller::of_host;
use fathom_local::output::Output;
use fathom_report::header::layout_line;
use fathom_run::message::Message;
use fathom_run::supervisor::{Gate, Observer, Request};
use fathom_stats::hosts::HostRunReport;
use fathom_stats::live::{LiveDetails, LiveTick};
use fathom_stats::report::RunReport;
use fathom_sys::clock::monotonic_ns;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

/// A rank, as its supervisor's observer.
pub(crate) struct Rank<'a> {
    pub(crate) rounds: Rounds<'a>,
    pub(crate) output: &'a mut Output,
    /// Its host data from before the run.
    pub(crate) host: HostRunReport,
    pub(crate) is_first: bool,
    /// True to report files that are laid out.
    pub(crate) for_people: bool,
    pub(crate) snapshots: Option<Snapshots>,
    snapshot_ns: u64,
    /// The supervisor has polled a closed gate, and polls again immediately: the pause is made here.
    is_waiting: bool,
    /// Always readable.
    awake: std::io::PipeReader,
    // Keeps the pipe readable.
    _waker: std::io::PipeWriter,
}

impl<'a> Rank<'a> {
    /// The state before the run. Fails if no pipe can be created.
    pub(crate) fn new(
        rounds: Rounds<'a>,
        output: &'a mut Output,
        host: HostRunReport,
        is_first: bool,
    ) -> std::io::Result<Rank<'a>> {
        use std::io::Write;
        let (awake, mut waker) = std::io::pipe()?;
        waker.write_all(&[0])?;
        Ok(Rank {
            rounds,
            output,
            host,
            is_first,
            for_people: false,
            snapshots: None,
            snapshot_ns: 0,
            is_waiting: false,
            awake,
            _waker: waker,
        })
    }

    /// Its host data with this report, by rank 0's clock.
    pub(crate) fn host_with(&self, report: Option<RunReport>) -> HostRunReport {
        let mut host = HostRunReport { clock: self.rounds.clock().clone(), ..self.host.clone() };
        host.report = report.map(Box::new);
        set_times(&mut host, self.rounds.begun_ns());
        host
    }

    /// Writes a snapshot if requested; returns false if not.
    pub(crate) fn keep(&mut self, result: RankResult, is_whole: bool) -> bool {
        let offset = self.rounds.clock().before.unwrap_or_default();
        let now_ns = here(monotonic_ns(), offset);
        let taken_ms = self.rounds.begun_ns().map(|begun_ns| now_ns.saturating_sub(begun_ns) / 1_000_000);
        let Some(snapshots) = &mut self.snapshots else { return false };
        if let Some(line) = snapshots.write(result, is_whole, taken_ms) {
            self.output.error_line(&format!("<{}> {line}", self.host.name));
        }
        true
    }
}

impl Observer for Rank<'_> {
    /// Rank 0's messages appear as in any run. The others print all of theirs on standard error.
    fn message(&mut self, message: &Message) {
        if let Message::LayingOut { job, files, bytes } = message {
            // All ranks do this concurrently, so one reports it for all.
            if self.is_first && self.for_people {
                self.output.line(&layout_line(job, *files, *bytes));
            }
            return;
        }
        let is_of_all = matches!(message, Message::Failure(text) if text.contains("terminating on signal"));
        let named = match (is_of_all, self.is_first) {
            (true, true) => Some(message.clone()),
            (true, false) => None,
            (false, _) => of_host(&self.host.name, message.clone()),
        };
        match named {
            Some(Message::Output(text)) if self.is_first => self.output.line(&text),
            Some(Message::Failure(text)) if self.is_first => self.output.failure_line(&text),
            Some(Message::Output(text) | Message::Error(text) | Message::Failure(text)) => {
                self.output.error_line(&text);
            }
            _ => {}
        }
    }

    fn tick(&mut self, _: &LiveTick, _: Option<&LiveDetails>) {}

    fn advance(&mut self) {
        self.output.advance(Duration::ZERO);
    }

    fn interim_report(&mut self, report: &RunReport) {
        let host = self.host_with(Some(report.clone()));
        if !self.keep(RankResult { host, ..RankResult::default() }, false) && self.is_first {
            self.output.error_line(
                "fathom-mpi: there is no report before the end, because ranks do not communicate while jobs run; \
                 --snapshots=DIR saves their results so far",
            );
        }
    }

    fn gate(&mut self, stage: u32) -> Gate {
        loop {
            match self.rounds.started() {
                Some(start) if stage < start.stage => return Gate::Open,
                Some(start) if stage == start.stage => return Gate::At(start.at_ns),
                _ if self.rounds.advance(Stand::Ready(stage)) => {}
                _ => {
                    self.rounds.pause();
                    self.is_waiting = true;
                    return Gate::Closed;
                }
            }
        }
    }

    fn input(&self) -> Option<RawFd> {
        self.is_waiting.then(|| self.awake.as_raw_fd())
    }

    fn take_input(&mut self) -> Option<Request> {
        // Until the next poll.
        self.is_waiting = false;
        let now_ns = monotonic_ns();
        let begun_ns = self.rounds.started()?.at_ns;
        let since_ns = self.snapshot_ns.max(begun_ns);
        if self.snapshots.is_none() || now_ns < since_ns.saturating_add(EVERY_NS) {
            return None;
        }
        self.snapshot_ns = now_ns;
        Some(Request::Report)
    }
}
