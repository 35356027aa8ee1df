//! What a controller and an agent say to each other.
//!
//! An agent begins with one line of text, [`greeting`]; where a controller connects to it, with [`opening`]. Everything after it, in both directions, is frames (see
//! [`crate::frames`]). The controller asks, the agent answers; an agent sends of its own accord only lines for the user, ticks
//! and its end.

use fathom_run::message::Message;
pub use fathom_spec::hosts::Bytes;
use fathom_spec::hosts::{HostPlace, Invocation};
use fathom_stats::live::{LiveDetails, LiveTick};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Grows whenever one side would not understand the other any more.
pub const PROTOCOL: u32 = 3;

/// How an agent's line begins.
pub const GREETING: &str = "fathom-agent";

/// The line that an agent begins with.
pub fn greeting() -> String {
    format!("{GREETING} {PROTOCOL} {}\n", env!("CARGO_PKG_VERSION"))
}

/// How the line of a controller begins that connects to an agent.
pub const OPENING: &str = "fathom-controller";

/// The line that it begins with. It is as long as a header of fio's protocol, so that fio's server answers.
pub fn opening() -> String {
    format!("{OPENING} {PROTOCOL} {:<16}\n", env!("CARGO_PKG_VERSION"))
}

/// From the controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ToAgent {
    /// What to run. Answered by [`FromAgent::Prepared`] or [`FromAgent::Refused`], then by [`FromAgent::Ready`].
    Prepare(Box<Assignment>),
    /// How late is it there? Answered by [`FromAgent::Pong`].
    Ping(u64),
    /// The jobs of this stage begin at this instant of the agent's monotonic clock, ns.
    Go {
        /// Number of the stage, from 0.
        stage: u32,
        /// When.
        at_ns: u64,
    },
    /// All that was counted so far, please. Answered by a frame of [`FrameKind::Snapshot`](crate::frames::FrameKind::Snapshot).
    Snapshot,
    /// Stop, as Ctrl-C does; once more, and nothing is waited for.
    Stop,
    /// The trigger has fired: the jobs end and leave behind what they wrote, and then the command for hosts runs.
    Trigger,
    /// Nothing more will be asked.
    End,
    /// The agent shall stop its runs and end, as SIGTERM has it do. Answered by [`FromAgent::Leaving`].
    Quit,
}

/// What an agent is to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// The command line and the files it names.
    pub invocation: Invocation,
    /// The place of the host.
    pub place: HostPlace,
    /// Time between two ticks; none without.
    pub tick: Option<Duration>,
    /// Ticks come with details.
    pub details: bool,
    /// The lines before a run are wanted, not only what is to be said of the jobs.
    pub opening: bool,
    /// An agent that hears nothing for this long stops its jobs: the controller is gone.
    pub silence: Duration,
}

/// From an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FromAgent {
    /// The first frame.
    Hello(Hello),
    /// How late it is here.
    Pong(Pong),
    /// The jobs are understood and are being set up. Lines that come before a run.
    Prepared {
        /// In order.
        opening: Vec<fathom_spec::Message>,
    },
    /// The jobs cannot be run, or must not. Nothing was run.
    Refused {
        /// Lines for the user.
        lines: Vec<String>,
    },
    /// All jobs of this stage wait for their start.
    Ready {
        /// Its number.
        stage: u32,
    },
    /// A line for the user, or a notice.
    Said(Message),
    /// How the run stands.
    Tick(Box<LiveTick>, Option<Box<LiveDetails>>),
    /// A piece of a log file that the jobs have written.
    Log {
        /// Its name, as the job wrote it.
        name: String,
        /// The next bytes.
        bytes: Bytes,
    },
    /// It ends.
    Leaving,
    /// The run is over; its report comes as a frame of [`FrameKind::Result`](crate::frames::FrameKind::Result) before this.
    Done(Done),
}

/// Who answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// What the host calls itself.
    pub host_name: String,
    /// Version of the program.
    pub version: String,
    /// Name and processor of the system, such as `linux x86_64`.
    pub system: String,
    /// Of an agent that came by itself.
    pub join: Option<Join>,
}

/// Who joins a run.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// The token of the run, from the keys.
    pub token: String,
    /// What to call it.
    pub name: String,
    /// Its number among those of one launcher (Slurm's process, Kubernetes' index), from 0.
    pub rank: Option<u32>,
    /// Groups of hosts that it belongs to.
    pub groups: Vec<String>,
}

/// A token shows in no message.
impl std::fmt::Debug for Join {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Join as {} {:?}", self.name, self.rank)
    }
}

/// The clock of an agent when it answered; ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pong {
    /// What [`ToAgent::Ping`] carried.
    pub sent_ns: u64,
    /// Its monotonic clock when the question was read.
    pub received_ns: u64,
    /// When the answer was written.
    pub answered_ns: u64,
    /// Its wall clock minus its monotonic clock.
    pub wall_ns: i64,
}

/// How the run of an agent ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// Jobs that failed.
    pub failed_jobs: u32,
    /// A defect of fathom has ended some of them.
    #[serde(default)]
    pub is_broken: bool,
    /// Some log could not be written to its end.
    pub lost_logs: bool,
    /// Why no run came about, in words; there is no report then.
    pub not_started: Option<String>,
}
