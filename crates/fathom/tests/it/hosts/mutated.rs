//! The messages of a real agent, recorded, modified, and sent to a real controller: a run with a modified
//! stream ends with an error, unless the modification does not affect the run.

use crate::support::program::{Finished, Launch};
use crate::support::scratch;
use fathom_hosts::frames::{self, Frame, FrameKind, Outgoing, Splitter};
use fathom_hosts::protocol::{Done, FromAgent, Hello, Pong, ToAgent, greeting, opening};
use fathom_run::message::Message;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

const JOB: &str = "--name=a --ioengine=null --size=1m --rw=read --output-format=json --host-timeout=3";

/// Bytes before the body of a frame.
const HEADER: usize = 13;

/// A frame, with the bytes received for it.
#[derive(Clone)]
struct Piece {
    frame: Frame,
    bytes: Vec<u8>,
}

impl Piece {
    fn word(&self) -> Option<FromAgent> {
        (self.frame.kind == FrameKind::Word).then(|| frames::read(&self.frame.body).expect("a word"))
    }

    fn is(&self, word: fn(&FromAgent) -> bool) -> bool {
        self.word().is_some_and(|own| word(&own))
    }
}

/// All frames in order, without clock replies, which depend on their timing.
fn recorded(directory: &Path) -> Vec<Piece> {
    let mut agent = Launch::fathom(directory).words("agent --listen=127.0.0.1:0").start();
    let (text, _) = agent.wait_for_output(|text| text.contains('\n'));
    let address = text.trim().rsplit(' ').next().expect("an address").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let own = listener.local_addr().expect("an address");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heard);
    let between = std::thread::spawn(move || {
        let (controller, _) = listener.accept().expect("a controller");
        let agent = TcpStream::connect(address).expect("it listens");
        let (mut from, mut to) =
            (controller.try_clone().expect("a socket"), agent.try_clone().expect("a socket"));
        let there = std::thread::spawn(move || std::io::copy(&mut from, &mut to));
        let (mut from, mut to) = (agent, controller);
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            kept.lock().expect("not poisoned").extend_from_slice(&bytes[..count]);
            if to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        drop(there.join());
    });
    let finished = Launch::fathom(directory).argument(format!("--hosts={own}")).words(JOB).run();
    finished.expect_clean();
    between.join().expect("no mistake");
    agent.signal("TERM");
    agent.finish();
    let heard = heard.lock().expect("not poisoned");
    let mut rest = heard.strip_prefix(greeting().as_bytes()).expect("it greets").to_vec();
    let (mut splitter, mut pieces) = (Splitter::default(), Vec::new());
    splitter.add(&rest);
    while let Some(frame) = splitter.next_frame().expect("frames") {
        let later = rest.split_off(HEADER + frame.body.len());
        pieces.push(Piece { frame, bytes: std::mem::replace(&mut rest, later) });
    }
    pieces.retain(|piece| {
        !piece.is(|word| matches!(word, FromAgent::Pong(_) | FromAgent::Tick(..)))
            && piece.frame.kind != FrameKind::Snapshot
    });
    pieces
}

/// The messages of a scripted agent, and their times.
#[derive(Clone, Default)]
struct Script {
    greeting: Vec<u8>,
    /// After connecting, after receiving its jobs, and after the start.
    first: Vec<Sent>,
    prepared: Vec<Sent>,
    started: Vec<Sent>,
}

/// A message.
#[derive(Clone)]
enum Sent {
    /// A frame with its correct number and checksum.
    Frame(FrameKind, Vec<u8>),
    /// A frame whose bytes are modified after encoding.
    Changed(FrameKind, Vec<u8>, Change),
    /// A frame that is numbered but dropped.
    Lost(FrameKind, Vec<u8>),
    /// A frame that is sent twice.
    Twice(FrameKind, Vec<u8>),
    /// Nothing more.
    End,
}

/// Appends a frame with this body: its fields are those of a recorded value.
fn append(outgoing: &mut Outgoing, kind: FrameKind, body: &[u8]) {
    match kind {
        FrameKind::Word => outgoing.append(kind, &frames::read::<FromAgent>(body).expect("a word")),
        _ => outgoing.append(kind, &frames::read::<fathom_stats::report::RunReport>(body).expect("a report")),
    }
    .expect("can be written");
}

impl Script {
    /// The recorded messages.
    fn of(pieces: &[Piece]) -> Script {
        let mut script = Script { greeting: greeting().into_bytes(), ..Script::default() };
        for piece in pieces {
            let sent = Sent::Frame(piece.frame.kind, piece.frame.body.clone());
            match piece.word() {
                Some(FromAgent::Hello(_)) => script.first.push(sent),
                Some(FromAgent::Prepared { .. } | FromAgent::Ready { .. }) => script.prepared.push(sent),
                _ => script.started.push(sent),
            }
        }
        script
    }

    /// Serves one controller.
    fn serve(&self, mut socket: TcpStream) {
        let mut opening = vec![0; opening().len()];
        socket.read_exact(&mut opening).expect("the line of a controller");
        let mut outgoing = Outgoing::after(self.greeting.clone());
        if !send(&mut socket, &mut outgoing, &self.first) {
            return;
        }
        let mut splitter = Splitter::default();
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = socket.read(&mut bytes) {
            splitter.add(&bytes[..count]);
            while let Ok(Some(frame)) = splitter.next_frame() {
                let now = fathom_sys::clock::monotonic_ns();
                let goes_on = match frames::read::<ToAgent>(&frame.body).expect("a word") {
                    ToAgent::Prepare(_) => send(&mut socket, &mut outgoing, &self.prepared),
                    ToAgent::Go { .. } => send(&mut socket, &mut outgoing, &self.started),
                    ToAgent::Ping(sent_ns) => {
                        let pong = Pong { sent_ns, received_ns: now, answered_ns: now, wall_ns: 0 };
                        outgoing.append(FrameKind::Word, &FromAgent::Pong(pong)).expect("can be written");
                        send(&mut socket, &mut outgoing, &[])
                    }
                    _ => true,
                };
                if !goes_on {
                    return;
                }
            }
        }
    }
}

/// Sends these frames; false at the end.
fn send(socket: &mut TcpStream, outgoing: &mut Outgoing, list: &[Sent]) -> bool {
    let mut goes_on = true;
    for sent in list {
        let start = outgoing.bytes.len();
        match sent {
            Sent::Frame(kind, body) => append(outgoing, *kind, body),
            Sent::Changed(kind, body, change) => {
                append(outgoing, *kind, body);
                let mut frame = outgoing.bytes.split_off(start);
                change(&mut frame);
                outgoing.bytes.extend(frame);
            }
            Sent::Lost(kind, body) => {
                append(outgoing, *kind, body);
                outgoing.bytes.truncate(start);
            }
            Sent::Twice(kind, body) => {
                append(outgoing, *kind, body);
                outgoing.bytes.extend_from_within(start..);
            }
            Sent::End => goes_on = false,
        }
        if !goes_on {
            break;
        }
    }
    let bytes = std::mem::take(&mut outgoing.bytes);
    socket.write_all(&bytes).is_ok() && goes_on
}

/// A run of a real controller with such an agent.
fn run(directory: &Path, script: &Script) -> Finished {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let own = listener.local_addr().expect("an address");
    let script = script.clone();
    let agent = std::thread::spawn(move || script.serve(listener.accept().expect("a controller").0));
    let finished = Launch::fathom(directory).argument(format!("--hosts={own}")).words(JOB).run();
    agent.join().expect("no mistake");
    finished
}

/// Changes the bytes of a frame.
type Change = fn(&mut Vec<u8>);

/// Modifications: each part of its header, and its body.
const CHANGES: &[(&str, Change)] = &[
    ("a bit of the length", |frame| frame[0] ^= 1),
    ("a high bit of the length", |frame| frame[3] ^= 0x80),
    ("the kind", |frame| frame[4] ^= 1),
    ("the checksum of the header", |frame| frame[6] ^= 0x10),
    ("the checksum of the body", |frame| frame[10] ^= 0x10),
    ("the first byte of the body", |frame| frame[HEADER] ^= 1),
    ("a bit in the middle", |frame| {
        let middle = HEADER + (frame.len() - HEADER) / 2;
        frame[middle] ^= 4;
    }),
    ("the last byte", |frame| {
        let last = frame.len() - 1;
        frame[last] ^= 0x40;
    }),
    ("a byte more", |frame| frame.push(0)),
    ("a byte less", |frame| frame.truncate(frame.len() - 1)),
];

/// The same script with one message modified.
fn changed(script: &Script, at: usize, change: impl Fn(FrameKind, Vec<u8>) -> Vec<Sent>) -> Script {
    let mut script = script.clone();
    let lists = [&mut script.first, &mut script.prepared, &mut script.started];
    let mut number = 0;
    for list in lists {
        let before = std::mem::take(list);
        for sent in before {
            match sent {
                Sent::Frame(kind, body) if number == at => list.extend(change(kind, body)),
                other => list.push(other),
            }
            number += 1;
        }
    }
    script
}

fn word(word: &FromAgent) -> Sent {
    let mut body = Vec::new();
    frames::write(&mut body, word).expect("can be written");
    Sent::Frame(FrameKind::Word, body)
}

/// All modifications in transit.
fn on_the_way(script: &Script) -> Vec<(String, Script)> {
    let count = script.first.len() + script.prepared.len() + script.started.len();
    let mut all = Vec::new();
    for at in 0..count {
        for (what, change) in CHANGES {
            all.push((
                format!("{what} of frame {at}"),
                changed(script, at, |kind, body| vec![Sent::Changed(kind, body, *change)]),
            ));
        }
        all.push((
            format!("frame {at} is missing"),
            changed(script, at, |kind, body| vec![Sent::Lost(kind, body)]),
        ));
        all.push((
            format!("frame {at} comes twice"),
            changed(script, at, |kind, body| vec![Sent::Twice(kind, body)]),
        ));
        all.push((
            format!("the end after frame {at}"),
            changed(script, at, |kind, body| vec![Sent::Frame(kind, body), Sent::End]),
        ));
    }
    // After the last frame, the stream is complete.
    all.pop();
    all
}

/// Messages of a lying agent, with valid checksums.
fn lies(script: &Script) -> Vec<(String, Script)> {
    let result = script
        .started
        .iter()
        .find(|sent| matches!(sent, Sent::Frame(FrameKind::Result, _)))
        .expect("it ends")
        .clone();
    let done = |done: Done| word(&FromAgent::Done(done));
    let with = |what: &str, change: &dyn Fn(&mut Script)| {
        let mut script = script.clone();
        change(&mut script);
        (what.to_owned(), script)
    };
    vec![
        with("done without a result", &|script| script.started = vec![done(Done::default())]),
        with("done before the start", &|script| script.prepared.push(done(Done::default()))),
        with("done before its jobs", &|script| script.first.push(done(Done::default()))),
        with("a result before its jobs", &|script| script.first.push(result.clone())),
        with("two results", &|script| script.started.insert(0, result.clone())),
        with("done twice", &|script| script.started.push(done(Done::default()))),
        with("failed jobs", &|script| {
            script.started = vec![result.clone(), done(Done { failed_jobs: 1, ..Done::default() })]
        }),
        with("lost logs", &|script| {
            script.started = vec![result.clone(), done(Done { lost_logs: true, ..Done::default() })]
        }),
        with("no start", &|script| {
            script.started =
                vec![done(Done { not_started: Some("why\u{1b}[2J not".to_owned()), ..Done::default() })];
        }),
        with("ready before its jobs", &|script| script.first.push(word(&FromAgent::Ready { stage: 0 }))),
        with("ready once more", &|script| script.started.insert(0, word(&FromAgent::Ready { stage: 0 }))),
        with("refused after all", &|script| {
            script.started.insert(0, word(&FromAgent::Refused { lines: Vec::new() }))
        }),
        with("prepared twice", &|script| {
            script.prepared.push(word(&FromAgent::Prepared { opening: Vec::new() }))
        }),
        with("greeted twice", &|script| {
            script.first.push(word(&FromAgent::Hello(Hello { version: "1".to_owned(), ..Hello::default() })));
        }),
        with("no greeting", &|script| script.first.clear()),
        with("a log of no job", &|script| {
            let log = FromAgent::Log { name: "/tmp/l_bw.1.log".to_owned(), bytes: frames_bytes(b"1") };
            script.started.insert(0, word(&log));
        }),
        with("another protocol", &|script| script.greeting = b"fathom-agent 1 0.1.0\n".to_vec()),
        with("nothing that is an agent", &|script| script.greeting = b"SSH-2.0-x\n".to_vec()),
    ]
}

fn frames_bytes(bytes: &[u8]) -> fathom_hosts::protocol::Bytes {
    fathom_hosts::protocol::Bytes(bytes.to_vec())
}

/// Modifications that do not affect the run.
fn harmless(script: &Script) -> Vec<(String, Script)> {
    let said = |message| word(&FromAgent::Said(message));
    let pong = word(&FromAgent::Pong(Pong { sent_ns: 1, received_ns: 2, answered_ns: 3, wall_ns: 4 }));
    let mut lines = script.clone();
    lines.started.insert(0, said(Message::Output("a\u{1b}]0;title\u{7}\nfathom: all is well".to_owned())));
    let mut times = script.clone();
    times.started.insert(0, pong);
    let mut noise = script.clone();
    noise.greeting = [b"Last login: \x1b[31mtoday\n".to_vec(), script.greeting.clone()].concat();
    vec![
        ("a line".to_owned(), lines),
        ("a time that was not asked for".to_owned(), times),
        ("what a login shell prints".to_owned(), noise),
    ]
}

/// Runs several at a time; returns those that ended unexpectedly.
fn all(directory: &Path, scripts: &[(String, Script)], is_good: bool) -> Vec<String> {
    let next = Mutex::new(scripts.iter());
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                loop {
                    let Some((what, script)) = next.lock().expect("not poisoned").next() else { return };
                    let finished = run(directory, script);
                    let texts = format!("{}{}", finished.stdout, finished.stderr);
                    let steers = texts.contains(|letter: char| letter.is_control() && letter != '\n');
                    if (finished.code() == 0) != is_good || finished.code() > 2 || steers {
                        let line = format!("{what}: exit {}: {}", finished.code(), finished.stderr);
                        wrong.lock().expect("not poisoned").push(line);
                    }
                }
            });
        }
    });
    wrong.into_inner().expect("not poisoned")
}

#[test]
fn a_changed_stream_is_no_result() {
    fathom_only!();
    let directory = scratch();
    let pieces = recorded(directory.path());
    assert!(pieces.iter().any(|piece| piece.frame.kind == FrameKind::Result), "a run was recorded");
    assert!(pieces.iter().all(|piece| piece.bytes.len() == HEADER + piece.frame.body.len()));
    let script = Script::of(&pieces);
    assert_eq!(all(directory.path(), &[("as it was".to_owned(), script.clone())], true), [""; 0]);
    let on_the_way = on_the_way(&script);
    assert!(on_the_way.len() > 40, "{}", on_the_way.len());
    assert_eq!(all(directory.path(), &on_the_way, false), [""; 0]);
    assert_eq!(all(directory.path(), &lies(&script), false), [""; 0]);
    assert_eq!(all(directory.path(), &harmless(&script), true), [""; 0]);
}

/// A host's text is distinguishable from the controller's own, line by line.
#[test]
fn no_line_of_an_agent_looks_like_one_of_the_controller() {
    fathom_only!();
    let directory = scratch();
    let pieces = recorded(directory.path());
    let mut script = Script::of(&pieces);
    let text = "one\nfathom: two\u{1b}[31m".to_owned();
    script.started.insert(0, word(&FromAgent::Said(Message::Error(text))));
    let finished = run(directory.path(), &script);
    let own: Vec<&str> =
        finished.stderr.lines().filter(|line| line.contains("one") || line.contains("two")).collect();
    assert_eq!(own.len(), 2, "{}", finished.stderr);
    assert!(own.iter().all(|line| line.starts_with('<')), "{own:?}");
}
