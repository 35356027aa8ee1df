//! `rdma` over soft RoCE: with itself, with fio, and with an unresponsive peer.

use super::device;
use crate::shipped_examples::examples;
use crate::support::program::{Finished, Launch, Running, reference};
use crate::support::{json, scratch};
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Library directories of distributions.
const PLACES: [&str; 3] = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];

/// This machine's libraries, replacing those bundled with a fio, which may lack the driver for soft RoCE.
fn libraries() -> String {
    let place = PLACES.into_iter().find(|place| Path::new(place).join("libibverbs.so.1").exists());
    let place = place.unwrap_or("/usr/lib");
    format!("{place}/libibverbs.so.1:{place}/librdmacm.so.1")
}

/// Time limit of a program in these tests.
const LIMIT: Duration = Duration::from_secs(60);

/// Attempts with a listening fio: it binds to a partly random address.
const ATTEMPTS: u32 = 8;

/// A port unused by other tests of this process, with three others after it.
fn port() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(20_000);
    NEXT.fetch_add(4, Ordering::Relaxed)
}

/// The address of the RDMA device, which needs its user-space driver.
fn address() -> Result<String, String> {
    let drivers = PLACES.iter().filter_map(|place| Path::new(place).join("libibverbs").read_dir().ok());
    let mut names = drivers.flatten().flatten().map(|entry| entry.file_name());
    match names.any(|name| name.to_string_lossy().starts_with("librxe")) {
        true => device("rdma_address"),
        false => {
            Err("the user-space driver for soft RoCE is missing (Debian's package ibverbs-providers)".into())
        }
    }
}

fn fathom(words: &str) -> Launch {
    Launch::fathom(Path::new("/tmp"))
        .timeout(LIMIT)
        .words("--ioengine=rdma --verify_state_save=0")
        .words(words)
}

fn fio(program: &Path, words: &str) -> Launch {
    Launch::of(program, Path::new("/tmp"))
        .variable("LD_PRELOAD", &libraries())
        .timeout(LIMIT)
        .words("--ioengine=rdma --verify_state_save=0")
        .words(words)
}

/// A run of both sides in one program.
fn both(common: &str, reader: &str, writer: &str) -> Result<Finished, String> {
    let (address, port) = (address()?, port());
    Ok(fathom(&format!(
        "--port={port} {common} --name=reader --rw=read {reader} --name=writer --rw=write --hostname={address} {writer}"
    ))
    .run())
}

fn bytes(document: &Value, job: &str) -> [u64; 2] {
    ["read/io_bytes", "write/io_bytes"].map(|path| json::integer(json::job(document, job), path))
}

#[track_caller]
fn wait_until_it_listens(running: &mut Running) {
    running.wait_for_either(|text| text.contains("fio: waiting for connection"));
}

#[test]
fn each_verb_moves_every_block() {
    for (verb, read) in [("send", 1 << 20), ("write", 0), ("read", 0)] {
        for more in ["", "--iodepth=8", "--iodepth=32 --bs=512", "--iodepth=4 --thread", "--bs=1m"] {
            let common = format!("--bs=16k --size=1m {more} --output-format=json");
            let finished = require!(both(&common, "", &format!("--verb={verb}"))).expect_clean();
            let document = json::document(&finished.stdout);
            assert_eq!(bytes(&document, "writer"), [0, 1 << 20], "{verb} {more}");
            assert_eq!(bytes(&document, "reader"), [read, 0], "{verb} {more}");
        }
    }
}

#[test]
fn blocks_that_are_sent_are_verified_as_they_arrive() {
    for more in ["", "--iodepth=8", "--numjobs=2", "--loops=2"] {
        let common = format!("--bs=4k --size=256k --verify=crc32c {more} --output-format=json");
        require!(both(&common, "", "--verb=send")).expect_clean();
    }
    let different = require!(both("--bs=4k --size=64k", "--verify=crc32c", "--verb=send"));
    assert_ne!(different.code(), 0);
    assert!(different.stderr.contains("verify"), "{}", different.stderr);
    let unseen = require!(both("--bs=4k --size=64k", "--verify=crc32c", "--verb=write"));
    assert_ne!(unseen.code(), 0);
    assert!(unseen.stderr.contains("verify= needs blocks that are sent"), "{}", unseen.stderr);
}

#[test]
fn a_clone_has_the_next_port() {
    let common = "--bs=4k --size=64k --numjobs=3 --output-format=json";
    let finished = require!(both(common, "", "--verb=send")).expect_clean();
    let document = json::document(&finished.stdout);
    assert_eq!(json::total(&document, "write/io_bytes"), 3 * (64 << 10));
    assert_eq!(json::total(&document, "read/io_bytes"), 3 * (64 << 10));
}

#[test]
fn both_sides_may_choose_an_address() {
    let address = require!(address());
    for reader in ["--bindname", "--hostname"] {
        let writer = format!("--verb=send --bindname={address}");
        require!(both("--bs=4k --size=16k", &format!("{reader}={address}"), &writer)).expect_clean();
    }
    let wrong = require!(both("--bs=4k --size=16k", "--bindname=203.0.113.7", "--verb=send"));
    assert_ne!(wrong.code(), 0);
    assert!(
        wrong.stderr.contains("203.0.113.7") && wrong.stderr.contains("is not an address"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn whose_verb_counts_is_said() {
    let finished = require!(both("--bs=4k --size=16k", "--verb=recv", "--verb=write"));
    assert_eq!(finished.code(), 0);
    assert!(finished.stderr.contains("its verb= has no effect"), "{}", finished.stderr);
    require!(both("--bs=4k --size=16k", "--verb=recv", "--verb=send")).expect_clean();
    for (words, line) in [
        ("--verb=recv", "the writing job sets verb=send"),
        ("--verb=read --verify=md5", "verify= needs verb=send"),
        ("--verb=send --verify=md5 --verify_only", "sent data is not stored"),
        ("--verb=send --io_submit_mode=offload", "leave it out"),
    ] {
        let refused = require!(both("--bs=4k --size=16k", "", words));
        assert_ne!(refused.code(), 0, "{words}");
        assert!(refused.stderr.contains(line), "{words}: {}", refused.stderr);
    }
}

#[test]
fn sizes_of_blocks_and_sides_may_differ() {
    // Two messages of half a block fill a block together.
    let finished = require!(both("--size=64k --output-format=json", "--bs=8k", "--bs=4k --verb=send"));
    let document = json::document(&finished.expect_clean().stdout);
    assert_eq!(bytes(&document, "reader"), [64 << 10, 0]);
    let larger = require!(both("--size=64k", "--bs=4k", "--bs=8k --verb=write"));
    assert_ne!(larger.code(), 0);
    let line =
        "fio: Server's block size (4096) must be greater than or equal to the client's block size (8192)!";
    assert_eq!(larger.stderr.matches(line).count(), 2, "{}", larger.stderr);
    // A reader that expects more ends with the writer.
    let finished = require!(both("--bs=4k --output-format=json", "--size=1m", "--size=64k --verb=send"));
    let document = json::document(&finished.expect_clean().stdout);
    assert_eq!(bytes(&document, "reader"), [64 << 10, 0]);
    // A writer with more data reports that the peer has disconnected.
    let finished = require!(both("--bs=4k", "--size=64k", "--size=4m --verb=send"));
    assert_ne!(finished.code(), 0);
    assert!(finished.stderr.contains("the peer has disconnected"), "{}", finished.stderr);
}

#[test]
fn mistakes_are_named() {
    let address = require!(address());
    for (words, line) in [
        ("--rw=read", "fio: no port has been specified which is required for the rdma engine"),
        ("--rw=rw --port=1", "fio: rdma connections must be read OR write"),
        ("--rw=randwrite --port=1 --hostname=x", "fio: RDMA network IO can't be random"),
        ("--rw=write --port=1", "give hostname="),
        ("--rw=write --hostname=203.0.113.7 --port=65535 --numjobs=2", "beyond 65535"),
        ("--rw=write --port=1 --hostname=no.such.name.invalid", "no.such.name.invalid"),
        ("--rw=write --port=1 --hostname=203.0.113.7", "no RDMA device leads to 203.0.113.7"),
        ("--rw=trim --port=1", "nothing to trim"),
    ] {
        let finished = fathom(&format!("--name=a --bs=4k --size=16k {words} --runtime=20")).run();
        assert_ne!(finished.code(), 0, "{words}: {}", finished.stdout);
        assert!(finished.stderr.contains(line), "{words}: {}", finished.stderr);
    }
    let nobody =
        fathom(&format!("--name=a --bs=4k --size=16k --rw=write --hostname={address} --port={}", port()))
            .run();
    assert_eq!(nobody.code(), 1);
    assert!(nobody.stderr.contains("nothing listens at"), "{}", nobody.stderr);
}

#[test]
fn a_wait_for_a_connection_can_be_ended() {
    require!(address());
    let mut waiting = fathom(&format!("--name=a --bs=4k --size=16k --rw=read --port={}", port())).start();
    wait_until_it_listens(&mut waiting);
    waiting.signal("INT");
    let finished = waiting.finish();
    assert!(finished.elapsed < Duration::from_secs(60), "{:?}", finished.elapsed);
}

/// The workers of a run.
fn workers(running: &Running) -> Vec<u32> {
    crate::support::processes::descendants(running.pid())
}

/// Waits until a rate-limited writer has slept between its writes for a while.
#[track_caller]
fn wait_until_it_writes(writer: &Running) {
    let is_at_work = |pid: u32| crate::support::processes::sleeps(pid) >= 100;
    crate::support::wait_until("the writer writes", || workers(writer).into_iter().any(is_at_work));
}

#[test]
fn who_is_killed_does_not_hold_the_other_side() {
    let address = require!(address());
    for verb in ["send", "write"] {
        for kill_reader in [true, false] {
            let port = port();
            let common =
                format!("--name=a --bs=4k --port={port} --time_based --runtime=600 --size=1g --iodepth=4");
            let mut reader = fathom(&format!("{common} --rw=read")).start();
            wait_until_it_listens(&mut reader);
            let writer =
                fathom(&format!("{common} --rw=write --verb={verb} --hostname={address} --rate_iops=50"))
                    .start();
            wait_until_it_writes(&writer);
            let (gone, left) = if kill_reader { (reader, writer) } else { (writer, reader) };
            for pid in workers(&gone) {
                crate::support::processes::signal(pid, "KILL");
            }
            let finished = left.finish();
            assert!(finished.elapsed < Duration::from_secs(120), "{verb}, reader killed: {kill_reader}");
            let said = match (kill_reader, verb) {
                (true, _) => "the peer has disconnected",
                (false, "write") => "the peer disconnected without announcing the end",
                _ => "",
            };
            assert_eq!(
                finished.code(),
                i32::from(!said.is_empty()),
                "{verb} {kill_reader}: {}",
                finished.stderr
            );
            assert!(finished.stderr.contains(said), "{verb} {kill_reader}: {}", finished.stderr);
        }
    }
}

#[test]
fn a_silent_side_is_named() {
    let address = require!(address());
    let port = port();
    let common = format!("--name=a --bs=4k --size=1g --port={port} --iodepth=4");
    let mut reader = fathom(&format!("{common} --rw=read --time_based --runtime=12")).start();
    wait_until_it_listens(&mut reader);
    let writer =
        fathom(&format!("{common} --rw=write --verb=send --hostname={address} --rate_iops=50")).start();
    wait_until_it_writes(&writer);
    for pid in workers(&writer) {
        crate::support::processes::signal(pid, "STOP");
    }
    let finished = reader.finish();
    assert!(finished.stderr.contains("the peer did not respond: abandoned read"), "{}", finished.stderr);
    assert_eq!(finished.code(), 0);
}

/// Starts fio as a listener and returns when it accepts connections.
fn listening_fio(program: &Path, words: &str) -> Result<Running, String> {
    for _ in 0..ATTEMPTS {
        let mut running = fio(program, words).start();
        let said = running.wait_for_either(|text| {
            text.contains("fio: waiting for connection")
                || text.contains("Run status")
                || text.contains("\"jobs\"")
        });
        if said.contains("fio: waiting for connection") {
            return Ok(running);
        }
        running.finish();
    }
    Err("the reference fio finds no address to listen at".to_owned())
}

/// Runs a listening fio and a writing fathom, with the words for a port. A listening fio leaves as soon as it has
/// everything. On a busy host that can be before the writer has the completion of its last block, which is an
/// error of the writer; they run again then.
fn to_listening_fio(
    program: &Path,
    words: impl Fn(u32) -> (String, String),
) -> Result<(Finished, Finished), String> {
    let once = || {
        let (reading, writing) = words(port());
        let reader = listening_fio(program, &reading)?;
        let writer = fathom(&writing).run();
        Ok((writer, reader.finish()))
    };
    let has_left = |writer: &Finished| {
        let lines = ["the peer has disconnected", "the peer does not respond any more"];
        lines.iter().any(|line| writer.stderr.contains(line))
    };
    for _ in 1..ATTEMPTS {
        let (writer, reader) = once()?;
        if !has_left(&writer) {
            return Ok((writer, reader));
        }
    }
    once()
}

#[test]
fn fio_is_understood_in_both_roles() {
    let (address, program) = (require!(address()), require!(reference()));
    for (verb, read) in [("send", 64 << 10), ("write", 0), ("read", 0)] {
        for (depth, other) in [(1, 1), (4, 2), (8, 8)] {
            let common = |name: &str| format!("--name={name} --bs=4k --size=64k --output-format=json");
            let port = port();
            let mut reader =
                fathom(&format!("{} --rw=read --iodepth={other} --port={port}", common("reader"))).start();
            wait_until_it_listens(&mut reader);
            let writing = format!("--rw=write --verb={verb} --iodepth={depth} --hostname={address}");
            let writer = fio(&program, &format!("{} {writing} --port={port}", common("writer"))).run();
            let reader = reader.finish().expect_clean();
            assert_eq!(bytes(&json::document(&writer.stdout), "writer"), [0, 64 << 10], "{verb} {depth}");
            assert_eq!(bytes(&json::document(&reader.stdout), "reader"), [read, 0], "{verb} {depth}");

            let (writer, reader) = require!(to_listening_fio(&program, |port| {
                let reading = format!("{} --rw=read --iodepth={other} --port={port}", common("reader"));
                (reading, format!("{} {writing} --port={port}", common("writer")))
            }));
            let writer = writer.expect_clean();

            assert_eq!(bytes(&json::document(&writer.stdout), "writer"), [0, 64 << 10], "{verb} {depth}");
            assert_eq!(bytes(&json::document(&reader.stdout), "reader"), [read, 0], "{verb} {depth}");
        }
    }
}

#[test]
fn what_fio_sends_is_verified() {
    let (address, program) = (require!(address()), require!(reference()));
    let port = port();
    let common = format!("--name=a --bs=4k --size=64k --verify=crc32c --port={port}");
    let mut reader = fathom(&format!("{common} --rw=read --iodepth=4")).start();
    wait_until_it_listens(&mut reader);
    fio(&program, &format!("{common} --rw=write --verb=send --iodepth=4 --do_verify=0 --hostname={address}"))
        .run();
    reader.finish().expect_clean();
}

#[test]
fn the_examples_of_fio_run_once_their_blanks_are_filled_in() {
    let (address, examples) = (require!(address()), require!(examples()));
    let directory = scratch();
    for verb in ["read", "write", "send"] {
        let port = port().to_string();
        for side in ["server", "client"] {
            let name = format!("rdmaio-{side}.fio");
            let text = std::fs::read_to_string(examples.join(&name)).expect("an example is text");
            let filled = text
                .replace("[hostname]", &address)
                .replace("[port]", &port)
                .replace("[read/write/send/recv]", verb)
                .replace("size=100g", "size=8m");
            std::fs::write(directory.path().join(name), filled).expect("written");
        }
        let mut server = Launch::fathom(directory.path()).words("rdmaio-server.fio").start();
        wait_until_it_listens(&mut server);
        Launch::fathom(directory.path()).words("rdmaio-client.fio").run().expect_clean();
        server.finish().expect_clean();
    }
}
