//! The controller's view of one host.

use super::Seat;
use super::clocks::{Probe, set_times};
use crate::frames::{self, Frame, FrameKind, Mistake};
use crate::links::Connection;
use crate::protocol::{Done, FromAgent, Hello, ToAgent};
use fathom_command::printer::harmless;
use fathom_spec::hosts::{HostEntry, Invocation};
use fathom_stats::hosts::{ClockOffset, ClockReport, HostEnd, HostRunReport};
use fathom_stats::live::{LiveDetails, LiveTick};
use fathom_stats::report::RunReport;
use fathom_sys::clock::monotonic_ns;
use std::time::Duration;

/// State of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// The host has not answered yet.
    Connecting,
    /// The host plans and sets up the jobs.
    SettingUp,
    /// The host has finished all stages before this one, and waits for the others.
    Reached(u32),
    /// The jobs of this stage are ready to start on the host.
    Ready(u32),
    /// The host's jobs are running.
    Running,
    /// The host's result has arrived, and its clock is measured once more.
    Finished,
    /// The host is done.
    Over,
}

/// A host.
pub(super) struct Member {
    pub(super) entry: HostEntry,
    pub(super) connection: Option<Connection>,
    pub(super) standing: Standing,
    /// The earliest stage for which the host may report readiness.
    next_stage: u32,
    pub(super) hello: Hello,
    pub(super) end: HostEnd,
    /// The command line for this host, if it differs from that of the other hosts.
    pub(super) invocation: Option<Invocation>,
    pub(super) opening: Option<Vec<fathom_spec::Message>>,
    pub(super) done: Option<Done>,
    pub(super) tick: Option<(LiveTick, Option<LiveDetails>)>,
    /// Monotonic time of the last message from the host, and of the last request to it, ns.
    pub(super) heard_ns: u64,
    pub(super) asked_ns: u64,
    /// Time of the first request since its last message: a host without a request does not count as silent.
    waits_since_ns: Option<u64>,
    /// Set once the host's silence was reported.
    pub(super) is_silence_reported: bool,
    /// Set once the host's end was reported.
    pub(super) is_end_reported: bool,
    pub(super) was_told_to_stop: bool,
    probe: Probe,
    /// Number of clock requests without a reply so far.
    pings: u32,
    clock: ClockReport,
    wall_before_ns: Option<i64>,
    snapshot_is_asked: bool,
    /// The host's last report, undecoded, and the time of its arrival. Most reports are never decoded.
    snapshot: Option<(Vec<u8>, u64)>,
    /// The result of the host's run.
    result: Option<Box<RunReport>>,
    transport: &'static str,
}

/// Messages from a host that concern the whole run.
pub(super) enum Said {
    /// A line, or a notice.
    Message(fathom_run::message::Message),
    /// The host cannot run its jobs.
    Refused(Vec<String>),
    /// A piece of a log.
    Log(String, Vec<u8>),
}

impl Member {
    /// Creates the state of a host that has a connection, or the reason why it has none.
    pub(super) fn new(seat: Seat) -> Member {
        let Seat { entry, connection, hello, invocation } = seat;
        let now = monotonic_ns();
        let mut member = Member {
            entry,
            connection: None,
            standing: Standing::Connecting,
            next_stage: 0,
            hello: hello.unwrap_or_default(),
            end: HostEnd::Whole,
            opening: None,
            done: None,
            tick: None,
            heard_ns: now,
            asked_ns: now,
            waits_since_ns: Some(now),
            is_silence_reported: false,
            is_end_reported: false,
            invocation,
            was_told_to_stop: false,
            probe: Probe::default(),
            pings: 0,
            clock: ClockReport::default(),
            wall_before_ns: None,
            snapshot_is_asked: false,
            snapshot: None,
            result: None,
            transport: "",
        };
        match connection {
            Ok(connection) => {
                member.transport = connection.transport();
                member.connection = Some(connection);
            }
            Err(error) => member.give_up(&error.to_string()),
        }
        member
    }

    /// True once the host's result, or a replacement for it, has arrived.
    pub(super) fn is_over(&self) -> bool {
        self.standing == Standing::Over
    }

    /// True if the host may still run jobs.
    pub(super) fn is_live(&self) -> bool {
        !matches!(self.standing, Standing::Finished | Standing::Over)
    }

    pub(super) fn send(&mut self, word: &ToAgent) {
        self.asked_ns = monotonic_ns();
        self.waits_since_ns.get_or_insert(self.asked_ns);
        if let Some(connection) = &mut self.connection {
            connection.send(word);
        }
    }

    /// The address of this side, as the host sees it.
    pub(super) fn own_address(&self) -> Option<String> {
        self.connection.as_ref().and_then(Connection::own_address)
    }

    /// Time for which a response has been overdue, ns.
    pub(super) fn silent_ns(&self, now_ns: u64) -> u64 {
        self.waits_since_ns.map_or(0, |since| now_ns.saturating_sub(since))
    }

    /// Maximum time for which the host may be silent; it is shorter before the host's first answer.
    pub(super) fn may_be_silent(&self, timeout: Duration) -> Duration {
        let answers_within = self.connection.as_ref().and_then(Connection::answers_within);
        match answers_within {
            Some(limit) if self.standing == Standing::Connecting => limit.min(timeout),
            _ => timeout,
        }
    }

    /// Asks the host to stop. A second call asks it not to wait for anything.
    pub(super) fn stop(&mut self) {
        self.was_told_to_stop = true;
        match self.standing {
            Standing::Connecting => self.give_up("the run was stopped before it answered"),
            _ => self.send(&ToAgent::Stop),
        }
    }

    /// Gives up on the host.
    pub(super) fn give_up(&mut self, reason: &str) {
        if self.is_over() {
            return;
        }
        // The reason is printed inside a line, so control characters that a host or its shell may have sent are
        // removed.
        let reason = harmless(reason);
        let reason = reason.lines().map(str::trim).filter(|line| !line.is_empty());
        let reason = reason.collect::<Vec<_>>().join("; ");
        let has_begun = self.wall_before_ns.is_some();
        if self.standing != Standing::Finished {
            self.end = match has_begun {
                true => HostEnd::Lost { reason, snapshot_ms: None },
                false => HostEnd::NeverBegan { reason },
            };
        }
        self.close();
    }

    fn close(&mut self) {
        self.standing = Standing::Over;
        if let Some(connection) = &mut self.connection {
            connection.close();
        }
    }

    /// Reads the host's messages; `said` collects those that concern the whole run.
    pub(super) fn receive(&mut self, said: &mut Vec<Said>) {
        let Some(connection) = &mut self.connection else { return };
        if connection.advance() {
            self.heard_ns = monotonic_ns();
            // Output before the greeting does not count as an answer.
            if self.standing != Standing::Connecting {
                self.waits_since_ns = None;
            }
            self.is_silence_reported = false;
        }
        while let Some(frame) = self.connection.as_mut().and_then(Connection::next_frame) {
            if let Err(mistake) = self.take(frame, said) {
                self.connection.as_mut().and_then(|connection| connection.refuse(&mistake));
            }
        }
        let ended = self.connection.as_ref().and_then(Connection::end).map(str::to_owned);
        let is_refused = self.connection.as_ref().is_some_and(Connection::is_refused);
        if let Some(reason) = ended {
            self.give_up(&reason);
            // If the stream was corrupted after the result, the result may be corrupted as well.
            if is_refused && self.end == HostEnd::Whole {
                self.end = HostEnd::Lost { reason, snapshot_ms: None };
            }
        }
    }

    fn take(&mut self, frame: Frame, said: &mut Vec<Said>) -> Result<(), Mistake> {
        match frame.kind {
            FrameKind::Snapshot => {
                self.snapshot_is_asked = false;
                self.snapshot = Some((frame.body, monotonic_ns()));
            }
            FrameKind::Result if self.opening.is_none() || self.result.is_some() => {
                return Err(Mistake::OutOfOrder("a result"));
            }
            FrameKind::Result => match frames::read(&frame.body) {
                Ok(report) => self.result = Some(Box::new(report)),
                Err(mistake) => self.give_up(&format!("its result cannot be read: {mistake}")),
            },
            FrameKind::Word => match frames::read::<FromAgent>(&frame.body)? {
                FromAgent::Hello(_) if !self.hello.version.is_empty() => {
                    return Err(Mistake::OutOfOrder("a second greeting"));
                }
                FromAgent::Hello(mut hello) => {
                    // The name is printed within the controller's own lines, so control characters are removed.
                    hello.host_name.retain(|letter| !letter.is_control());
                    self.hello = hello;
                    self.waits_since_ns = None;
                }
                // A reply without a request is not a measurement.
                FromAgent::Pong(_) if self.pings == 0 => {}
                FromAgent::Pong(pong) => {
                    self.pings -= 1;
                    self.probe.take(&pong, monotonic_ns());
                }
                FromAgent::Prepared { .. } | FromAgent::Refused { .. } if !self.is_asked_to_prepare() => {
                    return Err(Mistake::OutOfOrder("a reply about its jobs"));
                }
                FromAgent::Prepared { opening } => self.opening = Some(opening),
                FromAgent::Refused { lines } => {
                    self.send(&ToAgent::End);
                    // Lines in fio's words say where the host stopped, but not why, so the others are
                    // preferred.
                    let ours = lines
                        .iter()
                        .flat_map(|line| line.lines())
                        .find_map(|line| line.strip_prefix("fathom: "));
                    let why = ours.map(|why| format!(": {why}")).unwrap_or_default();
                    self.give_up(&format!("its jobs cannot be run there{why}"));
                    said.push(Said::Refused(lines));
                }
                FromAgent::Reached { stage } if stage > 0 && self.may_have_reached(stage) => {
                    self.standing = Standing::Reached(stage);
                    self.next_stage = stage;
                }
                FromAgent::Reached { .. } => return Err(Mistake::OutOfOrder("that it has reached a stage")),
                FromAgent::Ready { stage } if self.may_be_ready(stage) => {
                    self.standing = Standing::Ready(stage);
                    self.next_stage = stage.saturating_add(1);
                    self.probe = Probe::begin();
                }
                FromAgent::Ready { .. } => return Err(Mistake::OutOfOrder("that it is ready")),
                FromAgent::Said(message) => said.push(Said::Message(message)),
                FromAgent::Tick(tick, details) => self.tick = Some((*tick, details.map(|details| *details))),
                FromAgent::Log { name, bytes } => said.push(Said::Log(name, bytes.0)),
                FromAgent::Done(_) if self.opening.is_none() || self.done.is_some() => {
                    return Err(Mistake::OutOfOrder("that its run is over"));
                }
                FromAgent::Done(done) => self.finish(done),
                FromAgent::Leaving => return Err(Mistake::OutOfOrder("that it ends")),
            },
        }
        Ok(())
    }

    /// True if the host received its jobs and has not replied yet.
    fn is_asked_to_prepare(&self) -> bool {
        self.standing == Standing::SettingUp && self.opening.is_none()
    }

    /// True if the host may report that it has reached this stage: only after the earlier ones, and only once.
    fn may_have_reached(&self, stage: u32) -> bool {
        matches!(self.standing, Standing::SettingUp | Standing::Running) && self.may_be_next(stage)
    }

    /// True if the host may report readiness for this stage: only after its setup, and only once.
    fn may_be_ready(&self, stage: u32) -> bool {
        self.standing == Standing::SettingUp && self.may_be_next(stage)
    }

    fn may_be_next(&self, stage: u32) -> bool {
        self.opening.is_some() && self.result.is_none() && stage >= self.next_stage
    }

    /// Handles the end of the host's run.
    fn finish(&mut self, done: Done) {
        if let Some(reason) = done.not_started.clone() {
            return self.give_up(&reason);
        }
        if self.result.is_none() {
            return self.give_up("it reports the end of its run, but sent no result");
        }
        self.done = Some(done);
        self.standing = Standing::Finished;
        self.probe = Probe::begin();
    }

    /// Sends a clock request if one is due. Silent hosts get requests as well, so that they reply.
    pub(super) fn ask_about_clock(&mut self, is_due: bool) {
        let answers = !matches!(self.standing, Standing::Connecting | Standing::Over);
        let wants =
            self.probe.wants_more() && !matches!(self.standing, Standing::SettingUp | Standing::Running);
        if answers && self.pings == 0 && (wants || is_due) {
            self.pings += 1;
            self.send(&ToAgent::Ping(monotonic_ns()));
        }
    }

    /// Requests a report of the run so far, unless a request is still pending.
    pub(super) fn ask_for_snapshot(&mut self) {
        if self.standing == Standing::Running && !self.snapshot_is_asked {
            self.snapshot_is_asked = true;
            self.send(&ToAgent::Snapshot);
        }
    }

    /// The stage that the host has reached or is ready for.
    pub(super) fn stage(&self) -> Option<u32> {
        match self.standing {
            Standing::Reached(stage) | Standing::Ready(stage) => Some(stage),
            _ => None,
        }
    }

    /// Has the host set up the jobs of a stage that it has reached.
    pub(super) fn set_up(&mut self, stage: u32) {
        self.standing = Standing::SettingUp;
        self.send(&ToAgent::SetUp { stage });
    }

    /// The host's clock offset before the start, once it is known.
    pub(super) fn clock_at_start(&self) -> Option<ClockOffset> {
        self.probe.best().filter(|_| !self.probe.wants_more())
    }

    /// Starts the host's jobs at this time of its own clock.
    pub(super) fn go(&mut self, stage: u32, at_ns: u64) {
        if self.clock.before.is_none() {
            self.clock.before = self.clock_at_start();
            self.wall_before_ns = Some(self.probe.wall_ns);
        }
        self.standing = Standing::Running;
        self.send(&ToAgent::Go { stage, at_ns });
    }

    /// Releases a finished host after its clock has been measured again.
    pub(super) fn let_go(&mut self) {
        if self.standing != Standing::Finished || self.probe.wants_more() {
            return;
        }
        self.clock.after = self.probe.best();
        if let Some(before) = self.wall_before_ns {
            self.clock.wall_clock_jump_ns = self.probe.wall_ns.saturating_sub(before);
        }
        self.send(&ToAgent::End);
        self.close();
    }

    /// The host's report: its result, or the last snapshot.
    pub(super) fn report(&self) -> Option<RunReport> {
        let mut report = match (&self.result, &self.snapshot) {
            (Some(report), _) => (**report).clone(),
            (None, Some((bytes, _))) => frames::read::<RunReport>(bytes).ok()?,
            (None, None) => return None,
        };
        report.hosts = None;
        Some(report)
    }

    /// The host's complete result, with times on the controller's clock, relative to the agreed start.
    pub(super) fn host_result(&self, begun_ns: Option<u64>) -> HostRunReport {
        let mut end = self.end.clone();
        if let (HostEnd::Lost { snapshot_ms, .. }, Some((_, taken_ns)), Some(begun)) =
            (&mut end, &self.snapshot, begun_ns)
        {
            *snapshot_ms = Some(taken_ns.saturating_sub(begun) / 1_000_000);
        }
        let mut host = HostRunReport {
            name: self.entry.name.clone(),
            groups: self.entry.groups.clone(),
            host_name: self.hello.host_name.clone(),
            transport: self.transport.to_owned(),
            end,
            clock: self.clock.clone(),
            report: self.report().map(Box::new),
            ..HostRunReport::default()
        };
        set_times(&mut host, begun_ns);
        host
    }
}
