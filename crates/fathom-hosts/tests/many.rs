//! The controller with a thousand agents that only speak the protocol: each one is a thread with a made-up
//! report. The tests cover the sums, missing hosts, and agents that lie.

use fathom_hosts::controller::{self, Audience, Seat, Settings};
use fathom_hosts::frames::{self, Frame, FrameKind, Outgoing, Splitter};
use fathom_hosts::links::Connection;
use fathom_hosts::links::tcp::{PlainPipe, Socket};
use fathom_hosts::protocol::{Done, FromAgent, Hello, Pong, ToAgent, greeting};
use fathom_run::message::Message;
use fathom_run::supervisor::{Observer, Outcome};
use fathom_spec::hosts::HostEntry;
use fathom_stats::Direction;
use fathom_stats::hosts::HostEnd;
use fathom_stats::live::{LiveDetails, LiveTick};
use fathom_stats::report::{JobReport, RunReport, RunSpan};
use fathom_sys::clock::monotonic_ns;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

/// How an agent behaves.
#[derive(Clone, Copy, PartialEq)]
enum Behaviour {
    Honest,
    /// Disconnects after sending a snapshot.
    Dies,
    /// Reports that it is ready, then announces a frame of four billion bytes.
    Lies,
    /// Its report is noise.
    Mumbles,
    /// Has a clock that is a second ahead.
    IsAhead,
}

const AHEAD_NS: u64 = 1_000_000_000;

struct Agent {
    socket: UnixStream,
    splitter: Splitter,
    outgoing: Outgoing,
    behaviour: Behaviour,
    ios: u64,
    begun_ns: u64,
    is_done: bool,
}

impl Agent {
    fn now_ns(&self) -> u64 {
        monotonic_ns() + if self.behaviour == Behaviour::IsAhead { AHEAD_NS } else { 0 }
    }

    fn send<T: serde::Serialize>(&mut self, kind: FrameKind, value: &T) -> Option<()> {
        self.outgoing.append(kind, value).expect("can be written");
        let bytes = std::mem::take(&mut self.outgoing.bytes);
        self.socket.write_all(&bytes).ok()
    }

    /// The next message; `None` once the controller is gone.
    fn next(&mut self) -> Option<ToAgent> {
        loop {
            if let Some(Frame { body, .. }) = self.splitter.next_frame().ok()? {
                return frames::read(&body).ok();
            }
            let mut bytes = [0; 4096];
            let count = self.socket.read(&mut bytes).ok().filter(|&count| count > 0)?;
            self.splitter.add(&bytes[..count]);
        }
    }

    fn report(&self) -> RunReport {
        let mut job = JobReport { name: "a".into(), clones: 1, ..JobReport::default() };
        let reads = &mut job.directions[Direction::Read];
        (reads.total_ios, reads.issued, reads.io_bytes) = (self.ios, self.ios, self.ios * 4096);
        reads.runtime_ms = 1000;
        (0..self.ios).for_each(|io| reads.clat.record(1000 + io));
        let span = RunSpan {
            first_begin_ns: self.begun_ns,
            last_begin_ns: self.begun_ns,
            first_end_ns: Some(self.begun_ns + 1_000_000_000),
            last_end_ns: Some(self.begun_ns + 1_000_000_000),
        };
        RunReport { version: "fio-3.42".into(), jobs: vec![job], span: Some(span), ..RunReport::default() }
    }

    /// Speaks with the controller until either side is done.
    fn serve(mut self) -> Option<()> {
        self.socket.write_all(format!("Welcome\n{}", greeting()).as_bytes()).ok()?;
        let hello = Hello { host_name: "h".into(), version: "0".into(), ..Hello::default() };
        self.send(FrameKind::Word, &FromAgent::Hello(hello))?;
        loop {
            match self.next()? {
                ToAgent::Prepare(_) => {
                    self.send(FrameKind::Word, &FromAgent::Prepared { opening: Vec::new() })?;
                    self.send(FrameKind::Word, &FromAgent::Ready { stage: 0 })?;
                }
                ToAgent::Ping(sent_ns) => {
                    let received_ns = self.now_ns();
                    let pong = Pong { sent_ns, received_ns, answered_ns: self.now_ns(), wall_ns: 0 };
                    self.send(FrameKind::Word, &FromAgent::Pong(pong))?;
                }
                ToAgent::Go { at_ns, .. } => {
                    self.begun_ns = at_ns;
                    if self.behaviour == Behaviour::Lies {
                        self.socket.write_all(&[0xff; 5]).ok()?;
                    }
                }
                // The controller may ask again before it has read the result.
                ToAgent::Snapshot if self.is_done => {}
                ToAgent::Snapshot => {
                    self.is_done = true;
                    let report = self.report();
                    self.send(FrameKind::Snapshot, &report)?;
                    if self.behaviour == Behaviour::Dies {
                        return Some(());
                    }
                    match self.behaviour {
                        Behaviour::Mumbles => self.send(FrameKind::Result, &"no report")?,
                        _ => self.send(FrameKind::Result, &report)?,
                    }
                    self.send(FrameKind::Word, &FromAgent::Done(Done::default()))?;
                }
                // It has one stage.
                ToAgent::SetUp { .. } => return None,
                ToAgent::Stop | ToAgent::Trigger | ToAgent::End | ToAgent::Quit => return Some(()),
            }
        }
    }
}

/// Records lines and ignores all other events.
#[derive(Default)]
struct Lines(Vec<String>);

impl Audience for Lines {}

impl Observer for Lines {
    fn message(&mut self, message: &Message) {
        if let Message::Error(text) = message {
            self.0.push(text.clone());
        }
    }

    fn tick(&mut self, _: &LiveTick, _: Option<&LiveDetails>) {}

    fn interim_report(&mut self, _: &RunReport) {}
}

/// Runs with agents that behave like this; each one reports this number of I/Os.
fn run(behaviours: &[Behaviour], ios: u64) -> (Outcome, Vec<String>) {
    fathom_sys::file::raise_open_file_limit(1 << 16);
    let mut agents = Vec::new();
    let seats = behaviours
        .iter()
        .enumerate()
        .map(|(index, &behaviour)| {
            let (own, other) = UnixStream::pair().expect("sockets");
            let splitter = Splitter::default();
            let agent = Agent {
                socket: other,
                splitter,
                outgoing: Outgoing::default(),
                behaviour,
                ios,
                begun_ns: 0,
                is_done: false,
            };
            let stack = thread::Builder::new().stack_size(256 << 10);
            agents.push(stack.spawn(|| agent.serve()).expect("a thread"));
            let pipe = PlainPipe::new(Socket::unix(own).expect("a socket"), Vec::new());
            Seat {
                entry: HostEntry { name: format!("h{index}"), groups: Vec::new() },
                connection: Ok(Connection::new(Box::new(pipe))),
                hello: None,
                invocation: None,
            }
        })
        .collect();
    let settings = Settings { timeout: Duration::from_secs(60), ..Settings::default() };
    let mut lines = Lines::default();
    let outcome = controller::run(seats, settings, &mut lines).expect("it can begin");
    agents.into_iter().for_each(|agent| drop(agent.join()));
    (outcome, lines.0)
}

#[test]
fn a_thousand_hosts_are_added_up() {
    let (outcome, lines) = run(&[Behaviour::Honest; 1000], 50);
    assert_eq!((outcome.failed_jobs, lines), (0, Vec::new()));
    let reads = &outcome.report.jobs[0].directions[Direction::Read];
    assert_eq!((reads.total_ios, reads.io_bytes, reads.clat.count), (50_000, 50_000 * 4096, 50_000));
    assert_eq!(reads.clat.histogram.count(), 50_000);
    let hosts = outcome.report.hosts.expect("hosts");
    assert_eq!(hosts.hosts.len(), 1000);
    assert!(hosts.hosts.iter().all(|host| host.end == HostEnd::Whole && host.start_skew_ns.is_some()));
}

#[test]
fn liars_and_the_dead_harm_nobody_else() {
    use Behaviour::{Dies, Honest, IsAhead, Lies, Mumbles};
    let (outcome, lines) = run(&[Honest, Dies, Lies, Mumbles, IsAhead, Honest], 10);
    let hosts = outcome.report.hosts.as_ref().expect("hosts");
    let ends: Vec<bool> = hosts.hosts.iter().map(|host| host.end == HostEnd::Whole).collect();
    assert_eq!(ends, [true, false, false, false, true, true], "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("h1 is lost")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("h3 is lost: its result cannot be read")), "{lines:?}");
    assert!(
        lines.iter().any(|line| line.contains("h2 is lost: it announces a frame of 4294967295 bytes")),
        "{lines:?}"
    );
    // Agents that died, or sent garbage at the end, have left a snapshot; the one that lied has left nothing.
    let reads = &outcome.report.jobs[0].directions[Direction::Read];
    assert_eq!(reads.total_ios, 5 * 10);
    let ahead = &hosts.hosts[4];
    let offset = ahead.clock.before.expect("it was measured");
    assert!(offset.offset_ns.abs_diff(AHEAD_NS as i64) <= offset.bound_ns, "{offset:?}");
    let skew = ahead.start_skew_ns.expect("it began");
    assert!(skew.unsigned_abs() <= offset.bound_ns, "on one clock it began at the instant: {skew}");
    assert_eq!(outcome.failed_jobs, 3);
}
