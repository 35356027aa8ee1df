//! Targets that are not files: an engine provides the storage for its jobs, and all rules for files apply there.

use fathom_run::message::Message;
use fathom_stats::Direction;
use fathom_sys::clock::Clock;
use fathom_testing::objects::{DEFINITION, Objects, Server, with_server};
use fathom_testing::run::{Simulated, run_on};
use std::sync::atomic::Ordering::Relaxed;

/// Runs a job on a server with these objects; afterwards the server is in the state left by the job.
fn run(objects: &[(&str, usize)], words: &str) -> (Simulated, Server) {
    run_on_server(Server::holding(objects), words)
}

fn run_on_server(server: Server, words: &str) -> (Simulated, Server) {
    with_server(|place| *place = server);
    let frame = "--create_serialize=0 --bs=4k";
    let run = run_on::<Objects>(&format!("{frame} {words}"), &DEFINITION, Clock::monotonic());
    (run, with_server(|server| server.clone()))
}

fn bytes(run: &Simulated, direction: Direction) -> u64 {
    run.samples().directions[direction].bytes.load(Relaxed)
}

#[test]
fn objects_that_are_read_are_made_first() {
    let (run, server) = run(&[], "--filename=a:b --size=64k --rw=read");
    assert_eq!(run.errors(), [""; 0]);
    assert_eq!(server.log, ["make a", "make b", "open a", "open b", "close a", "close b"]);
    assert_eq!(bytes(&run, Direction::Read), 64 << 10);
    let lengths: Vec<usize> = server.objects.values().map(Vec::len).collect();
    assert_eq!(lengths, [32 << 10; 2]);
    assert!(server.objects["a"] != server.objects["b"], "they have different content");
    let announced = |message: &Message| matches!(message, Message::LayingOut { files: 2, bytes: 65536, .. });
    assert!(run.messages.iter().any(announced));
}

#[test]
fn sizes_are_those_of_the_server() {
    let (run, server) = run(&[("a", 40 << 10)], "--filename=a --rw=read");
    assert_eq!(bytes(&run, Direction::Read), 40 << 10);
    assert_eq!(server.log, ["open a", "close a"]);

    let (run, server) = self::run(&[("a", 40 << 10)], "--filename=a --rw=read --size=50% --offset=8k");
    assert_eq!(bytes(&run, Direction::Read), 20 << 10);
    assert_eq!(server.log, ["open a", "close a"]);

    // Existing content is kept, and missing content is appended.
    let (run, server) = self::run(&[("a", 8 << 10)], "--filename=a --rw=read --size=16k");
    assert_eq!(bytes(&run, Direction::Read), 16 << 10);
    assert_eq!(server.objects["a"][..8 << 10], vec![7; 8 << 10]);
    assert_eq!(server.objects["a"].len(), 16 << 10);
}

#[test]
fn nothing_is_made_that_must_not_be() {
    let (run, server) = run(&[], "--filename=a --size=16k --rw=read --allow_file_create=0");
    assert_eq!(run.errors()[0], "fio: file creation disallowed by allow_file_create=0");
    assert!(server.objects.is_empty() && server.log.is_empty(), "{server:?}");

    let (run, server) = self::run(&[], "--readonly --filename=a --size=16k --rw=read");
    assert_eq!(run.errors()[0], "fio: refusing extend of file due to read-only");
    assert!(server.objects.is_empty() && server.log.is_empty(), "{server:?}");
}

#[test]
fn data_is_verified() {
    let (run, server) = run(&[], "--filename=a:b --size=64k --rw=randwrite --verify=crc32c");
    assert_eq!(run.errors(), [""; 0]);
    assert_eq!(bytes(&run, Direction::Read), 64 << 10);
    assert_eq!(server.objects.len(), 2);
}

#[test]
fn objects_are_synced_at_the_end_and_removed() {
    let (run, server) = run(&[], "--filename=a:b --size=32k --rw=write --end_fsync=1 --unlink=1");
    assert_eq!(run.errors(), [""; 0]);
    let log: Vec<&str> = server.log.iter().map(String::as_str).collect();
    assert_eq!(log[log.len() - 6..], ["sync a", "sync b", "close a", "close b", "remove a", "remove b"]);
    assert!(server.objects.is_empty());
}

#[test]
fn objects_are_made_anew_for_each_loop() {
    let (run, server) = run(&[], "--filename=a --size=16k --rw=write --loops=2 --unlink_each_loop=1");
    assert_eq!(run.errors(), [""; 0]);
    assert_eq!(server.log.iter().filter(|line| *line == "remove a").count(), 1, "{:?}", server.log);
    assert_eq!(bytes(&run, Direction::Write), 32 << 10);
}

#[test]
fn few_are_open_at_a_time() {
    let (run, server) = run(&[], "--filename=a:b:c --size=48k --rw=write --openfiles=1 --fsync_on_close=1");
    assert_eq!(run.errors(), [""; 0]);
    assert_eq!(bytes(&run, Direction::Write), 48 << 10);
    let (mut open, mut most) = (0_i32, 0);
    for line in &server.log[server.log.len() - 8..] {
        open += i32::from(line.starts_with("open")) - i32::from(line.starts_with("close"));
        most = most.max(open);
    }
    assert!(most <= 1, "{:?}", server.log);
    assert!(server.log.iter().any(|line| line == "sync b"), "{:?}", server.log);
}

#[test]
fn errors_come_with_what_the_protocol_said() {
    let server = Server { failing: Some("a".to_owned()), ..Server::holding(&[("a", 4096)]) };
    let (run, _) = run_on_server(server, "--filename=a --rw=read");
    assert_eq!(
        run.errors()[0],
        "fio: io_u error on file a: Input/output error (status 503): read offset=0, buflen=4096"
    );
    assert_eq!(run.block().error().map(|(errno, _)| errno), Some(libc::EIO));
}

#[test]
fn an_engine_from_outside_has_options_of_its_own() {
    let (run, server) = run(&[], "--filename=a:b --size=32k --rw=write --bucket=logs/");
    assert_eq!(run.errors(), [""; 0]);
    assert_eq!(server.objects.keys().collect::<Vec<_>>(), ["logs/a", "logs/b"]);
}
