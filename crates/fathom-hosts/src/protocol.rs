//! Messages between a controller and an agent. An agent begins with one line of text, [`greeting`]; a
//! controller that connects to an agent begins with [`opening`]. All further data in both directions consists
//! of frames (see [`crate::frames`]). The controller sends requests and the agent replies; without a request,
//! an agent sends only lines for the user, ticks and its end.

use fathom_run::message::Message;
pub use fathom_spec::hosts::Bytes;
use fathom_spec::hosts::{HostPlace, Invocation};
use fathom_stats::live::{LiveDetails, LiveTick};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Protocol version, incremented with every incompatible change.
pub const PROTOCOL: u32 = 5;

/// First word of an agent's line.
pub const GREETING: &str = "fathom-agent";

/// First line of an agent.
pub fn greeting() -> String {
    format!("{GREETING} {PROTOCOL} {}\n", env!("CARGO_PKG_VERSION"))
}

/// First word of the line that a connecting controller sends.
pub const OPENING: &str = "fathom-controller";

/// First line of a connecting controller. It has the length of a header of fio's protocol, so that fio's server
/// answers it.
pub fn opening() -> String {
    format!("{OPENING} {PROTOCOL} {:<16}\n", env!("CARGO_PKG_VERSION"))
}

/// Messages from the controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ToAgent {
    /// The jobs to run. Answered by [`FromAgent::Prepared`] or [`FromAgent::Refused`], then by
    /// [`FromAgent::Ready`].
    Prepare(Box<Assignment>),
    /// Read your clock. Answered by [`FromAgent::Pong`].
    Ping(u64),
    /// Set up the jobs of this stage, which [`FromAgent::Reached`] named: all hosts have finished the earlier ones.
    /// Answered by [`FromAgent::Ready`].
    SetUp {
        /// Number of the stage, from 1.
        stage: u32,
    },
    /// Start the jobs of this stage at this instant of your monotonic clock, ns.
    Go {
        /// Number of the stage, from 0.
        stage: u32,
        /// The instant.
        at_ns: u64,
    },
    /// Send all counts so far. Answered by a frame of
    /// [`FrameKind::Snapshot`](crate::frames::FrameKind::Snapshot).
    Snapshot,
    /// Stop, as Ctrl-C does. After a second `Stop`, do not wait for anything.
    Stop,
    /// The trigger has fired: end the jobs, save their verification states, then run the hosts' command.
    Trigger,
    /// No more requests follow.
    End,
    /// Stop all runs and end, as on SIGTERM. Answered by [`FromAgent::Leaving`].
    Quit,
}

/// The jobs for an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// The command line, and the files that it names.
    pub invocation: Invocation,
    /// The host's position among the hosts.
    pub place: HostPlace,
    /// Time between two ticks; `None` for no ticks.
    pub tick: Option<Duration>,
    /// True if ticks include details.
    pub details: bool,
    /// True to send the lines that precede a run, in addition to messages about jobs.
    pub opening: bool,
    /// If the agent receives nothing for this long, it assumes that the controller is gone and stops its jobs.
    pub silence: Duration,
}

/// Messages from an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FromAgent {
    /// The first frame.
    Hello(Hello),
    /// The agent's clock.
    Pong(Pong),
    /// The jobs were parsed and are being set up.
    Prepared {
        /// Lines that precede a run, in order.
        opening: Vec<fathom_spec::Message>,
    },
    /// The jobs cannot be run or are not allowed. Nothing was run.
    Refused {
        /// Lines for the user.
        lines: Vec<String>,
    },
    /// All earlier stages are over on this host. The jobs of this one are set up once [`ToAgent::SetUp`] arrives,
    /// because they may use what other hosts still write.
    Reached {
        /// Number of the stage, from 1.
        stage: u32,
    },
    /// All jobs of this stage are ready to start.
    Ready {
        /// Number of the stage.
        stage: u32,
    },
    /// A line for the user, or a notice.
    Said(Message),
    /// Progress of the run.
    Tick(Box<LiveTick>, Option<Box<LiveDetails>>),
    /// A piece of a log file that the jobs wrote.
    Log {
        /// Name of the log, as in the job.
        name: String,
        /// The next bytes of the file.
        bytes: Bytes,
    },
    /// The agent ends.
    Leaving,
    /// The run is over. A frame of [`FrameKind::Result`](crate::frames::FrameKind::Result) with the report
    /// precedes this message.
    Done(Done),
}

/// Introduction of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The host's own name for itself.
    pub host_name: String,
    /// Version of the program.
    pub version: String,
    /// Name and processor of the system, such as `linux x86_64`.
    pub system: String,
    /// Set if the agent joins the controller.
    pub join: Option<Join>,
}

/// Identity of an agent that joins.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// Token of the run, from the keys.
    pub token: String,
    /// Name to display.
    pub name: String,
    /// Rank of the agent under its launcher (Slurm's process, Kubernetes' index), from 0.
    pub rank: Option<u32>,
    /// Host groups to which the agent belongs.
    pub groups: Vec<String>,
}

/// Omits the token, which must never appear in a message.
impl std::fmt::Debug for Join {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Join as {} {:?}", self.name, self.rank)
    }
}

/// The clocks of an agent when it replied, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pong {
    /// The time that [`ToAgent::Ping`] carried.
    pub sent_ns: u64,
    /// The agent's monotonic clock when the request was read.
    pub received_ns: u64,
    /// The agent's monotonic clock when the reply was written.
    pub answered_ns: u64,
    /// The agent's wall clock minus its monotonic clock.
    pub wall_ns: i64,
}

/// How the run of an agent ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// Number of jobs that failed.
    pub failed_jobs: u32,
    /// True if a defect in fathom ended some jobs.
    #[serde(default)]
    pub is_broken: bool,
    /// True if a log is incomplete.
    pub lost_logs: bool,
    /// Why the run did not start; there is no report then.
    pub not_started: Option<String>,
}
