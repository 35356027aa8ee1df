//! The agent's part during a run: passes on messages, answers the controller, and waits for its start signal.

use super::channel::Channel;
use crate::frames::FrameKind;
use crate::protocol::{FromAgent, Pong, ToAgent};
use fathom_run::message::Message;
use fathom_run::supervisor::{Gate, Observer, Request};
use fathom_stats::live::{LiveDetails, LiveTick};
use fathom_stats::report::RunReport;
use fathom_sys::clock::{monotonic_ns, wall_minus_monotonic_ns};
use std::os::fd::RawFd;
use std::time::Duration;

/// Maximum time for which sending a snapshot may block the supervisor.
const SNAPSHOT_WAIT: Duration = Duration::from_millis(20);

/// The controller in its role as an observer of the supervisor.
pub(super) struct Remote<'a> {
    pub(super) channel: &'a mut Channel,
    /// Maximum time that the controller may be silent.
    silence: Duration,
    /// The stage that was last reported as reached, and the last stage that may be set up.
    said_reached: u32,
    set_up: u32,
    /// The stage that was last reported as ready, and the last stage that may begin, with its start time.
    said_ready: Option<u32>,
    released: Option<(u32, u64)>,
    /// Set if the jobs were told to stop because the controller is gone.
    is_alone: bool,
    /// True if the controller asked for the end.
    pub(super) was_stopped: bool,
}

impl<'a> Remote<'a> {
    pub(super) fn new(channel: &'a mut Channel, silence: Duration) -> Remote<'a> {
        Remote {
            channel,
            silence,
            said_reached: 0,
            set_up: 0,
            said_ready: None,
            released: None,
            is_alone: false,
            was_stopped: false,
        }
    }

    /// Stops the jobs because the controller is gone.
    fn lost_controller(&mut self) -> Option<Request> {
        self.channel.close();
        (!std::mem::replace(&mut self.is_alone, true)).then_some(Request::Stop)
    }
}

/// Replies to a clock request.
pub(super) fn pong(channel: &mut Channel, sent_ns: u64) {
    let received_ns = monotonic_ns();
    let wall_ns = wall_minus_monotonic_ns();
    channel.send(&FromAgent::Pong(Pong { sent_ns, received_ns, answered_ns: monotonic_ns(), wall_ns }));
}

impl Observer for Remote<'_> {
    fn message(&mut self, message: &Message) {
        // Figures and stages concern only the local supervisor.
        if !matches!(message, Message::Figures(_) | Message::StageChanged) {
            self.channel.send(&FromAgent::Said(message.clone()));
        }
    }

    fn tick(&mut self, tick: &LiveTick, details: Option<&LiveDetails>) {
        let details = details.map(|details| Box::new(details.clone()));
        self.channel.send(&FromAgent::Tick(Box::new(tick.clone()), details));
    }

    fn advance(&mut self) {
        self.channel.write();
    }

    fn interim_report(&mut self, report: &RunReport) {
        self.channel.send_as(FrameKind::Snapshot, report);
        self.channel.flush(SNAPSHOT_WAIT);
    }

    fn may_set_up(&mut self, stage: u32) -> bool {
        if stage <= self.set_up || self.channel.is_over() {
            return true;
        }
        if self.said_reached < stage {
            self.said_reached = stage;
            self.channel.send(&FromAgent::Reached { stage });
        }
        false
    }

    fn gate(&mut self, stage: u32) -> Gate {
        match self.released {
            Some((released, _)) if stage < released => Gate::Open,
            Some((released, at_ns)) if stage == released => Gate::At(at_ns),
            _ if self.channel.is_over() => Gate::Open,
            _ => {
                if self.said_ready.is_none_or(|said| said < stage) {
                    self.said_ready = Some(stage);
                    self.channel.send(&FromAgent::Ready { stage });
                }
                Gate::Closed
            }
        }
    }

    fn input(&self) -> Option<RawFd> {
        self.channel.descriptor()
    }

    fn take_input(&mut self) -> Option<Request> {
        loop {
            if self.channel.is_over() || self.channel.silence() > self.silence {
                return self.lost_controller();
            }
            match self.channel.next(Duration::ZERO) {
                Ok(None) if self.channel.is_over() => {}
                Ok(None) => return None,
                Ok(Some(ToAgent::Ping(sent_ns))) => pong(self.channel, sent_ns),
                Ok(Some(ToAgent::SetUp { stage })) => self.set_up = self.set_up.max(stage),
                Ok(Some(ToAgent::Go { stage, at_ns })) => self.released = Some((stage, at_ns)),
                Ok(Some(ToAgent::Snapshot)) => return Some(Request::Report),
                Ok(Some(ToAgent::Trigger)) => return Some(Request::Trigger),
                Ok(Some(ToAgent::Stop)) => {
                    self.was_stopped = true;
                    return Some(Request::Stop);
                }
                // A controller that disconnects before the run is over does not want its result.
                Ok(Some(ToAgent::End | ToAgent::Quit)) | Err(_) => return self.lost_controller(),
                Ok(Some(ToAgent::Prepare(_))) => {
                    let text = "fathom: the agent has jobs already; another run needs another agent";
                    self.channel.send(&FromAgent::Said(Message::Error(text.to_owned())));
                }
            }
        }
    }
}
