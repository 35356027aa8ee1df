//! The engines `net`, `netsplice` and `net_uring` on loopback: with each other, with fio, and with peers that
//! send arbitrary data.

mod mistakes;
pub(crate) mod ways;
pub(crate) mod with_fio;

use crate::support::program::{Finished, Launch, Running};
use crate::support::trace::Trace;
use crate::support::{json, scratch, wait_until};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::Mutex;
use ways::ways;

/// Kind of the first datagram of a sender.
const HELLO: &[u8] = b"link\x00\x00\x00\x98";

/// Last bytes sent by either side.
fn goodbye() -> Vec<u8> {
    [0x6c69_6e6b_u32.to_ne_bytes(), 137_u32.to_ne_bytes()].concat()
}

/// Ports already given to tests of this process: tests sharing a port would not notice.
static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// An unused port, followed by another unused one.
pub(crate) fn free_port() -> u16 {
    let mut given = GIVEN.lock().expect("no test panics here");
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let is_free = port < u16::MAX && TcpListener::bind(("127.0.0.1", port + 1)).is_ok();
        if is_free && !given.contains(&port) && !given.contains(&(port + 1)) {
            given.extend([port, port + 1]);
            return port;
        }
    }
}

fn launch(words: &str) -> Launch {
    Launch::fathom(Path::new("/tmp")).words("--ioengine=net --bs=4k --verify_state_save=0").words(words)
}

/// A successful run; returns its result.
#[track_caller]
fn run(words: &str) -> Value {
    json::document(&launch(words).words("--output-format=json").run().expect_clean().stdout)
}

/// Waits for a listening fathom or fio.
#[track_caller]
fn wait_until_it_listens(running: &mut Running) {
    running.wait_for_either(|text| text.contains("fio: waiting for connection"));
}

/// Waits until a datagram port is bound.
fn wait_until_bound(port: u16, table: &str) {
    let wanted = format!(":{port:04X} ");
    wait_until("a port is bound", || {
        let bound = std::fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
        bound.lines().any(|line| {
            line.split_whitespace().nth(1).is_some_and(|own| format!("{own} ").ends_with(&wanted))
        })
    });
}

/// The IPv6 loopback, unless this machine has none.
fn version_6() -> Result<(), String> {
    match TcpListener::bind("[::1]:0") {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("no IPv6 on loopback: {error}")),
    }
}

/// Both sides of a run, which must agree on the amount transferred.
#[track_caller]
fn assert_all_arrived(name: &str, document: &Value, bytes: u64) {
    assert_eq!(json::total(document, "write/io_bytes"), bytes, "{name}");
    assert_eq!(json::total(document, "read/io_bytes"), bytes, "{name}");
}

#[test]
fn two_jobs_of_a_run_are_both_sides() {
    let folder = scratch();
    for engine in ["net", "netsplice"] {
        for way in ways(folder.path()) {
            way.check_both_sides(engine);
        }
    }
    assert!(!folder.path().join("socket").exists(), "the socket is gone with its job");
}

#[test]
fn a_stream_is_the_blocks_and_a_goodbye() {
    for engine in ["net", "netsplice", "net_uring --iodepth=4"] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let running = launch(&format!(
            "--ioengine={engine} --name=a --rw=write --size=64k --hostname=127.0.0.1 --port={port} --buffer_pattern=0xfa7403 --thread"
        ))
        .start();
        let (mut peer, _) = listener.accept().expect("a connection");
        let mut bytes = Vec::new();
        peer.read_to_end(&mut bytes).expect("its end");
        running.finish().expect_clean();
        let pattern = [0xfa, 0x74, 0x03];
        assert_eq!(bytes.len(), (64 << 10) + 8, "{engine}");
        for block in bytes[..64 << 10].chunks(4096) {
            assert!(block.iter().zip(pattern.iter().cycle()).all(|(one, other)| one == other), "{engine}");
        }
        assert_eq!(bytes[64 << 10..], goodbye(), "{engine}");
    }
}

#[test]
fn datagrams_begin_with_a_word_and_end_with_one() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = socket.local_addr().expect("an address").port();
    let running = launch(&format!(
        "--name=a --protocol=udp --rw=write --size=8k --hostname=127.0.0.1 --port={port} --buffer_pattern=0x5a"
    ))
    .start();
    let mut bytes = [0; 8192];
    let mut lengths = Vec::new();
    for expected in [HELLO, &[0x5a; 4096], &[0x5a; 4096], &goodbye()] {
        let count = socket.recv(&mut bytes).expect("a datagram");
        lengths.push(count);
        assert_eq!(&bytes[..count], expected);
    }
    running.finish().expect_clean();
}

/// A peer that connects to a listening fathom.
fn peer_of(words: &str) -> (Running, TcpStream) {
    let port = free_port();
    let mut running = launch(&format!("--name=a --listen --port={port} {words}")).start();
    wait_until_it_listens(&mut running);
    let peer = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    (running, peer)
}

#[test]
fn less_than_was_wanted_is_no_error_after_a_goodbye() {
    for engine in ["net", "netsplice", "net_uring --iodepth=8"] {
        let (running, mut peer) =
            peer_of(&format!("--ioengine={engine} --rw=read --size=64k --output-format=json"));
        peer.write_all(&[&[7; 6144][..], &goodbye()].concat()).expect("sent");
        drop(peer);
        let finished = running.finish().expect_clean();
        let document = json::document(&finished.stdout);
        assert_eq!(json::total(&document, "read/io_bytes"), 6144, "{engine}");
        assert_eq!(json::total(&document, "read/total_ios"), 1, "{engine}");
    }
}

#[test]
fn a_peer_that_goes_without_a_word_is_an_error() {
    for engine in ["net", "netsplice", "net_uring --iodepth=8"] {
        let (running, mut peer) = peer_of(&format!("--ioengine={engine} --rw=read --size=64k"));
        peer.write_all(&[7; 6144]).expect("sent");
        drop(peer);
        let Finished { stderr, stdout, status, .. } = running.finish();
        assert_eq!(status.code(), Some(1), "{engine}");
        assert!(stderr.contains("the peer closed the connection without a goodbye"), "{engine}: {stderr}");
        assert!(stdout.contains("err=104/file:io_u.c"), "{engine}: {stdout}");
    }
}

#[test]
fn whoever_has_enough_ends_the_sender_with_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let running =
        launch(&format!("--name=a --rw=write --size=1g --hostname=127.0.0.1 --port={port}")).start();
    let (mut peer, _) = listener.accept().expect("a connection");
    peer.read_exact(&mut [0; 8192]).expect("two blocks");
    // With bytes unread, this is a reset.
    drop(peer);
    let Finished { stderr, status, .. } = running.finish();
    assert_eq!(status.code(), Some(1));
    assert!(stderr.contains("Broken pipe") || stderr.contains("Connection reset by peer"), "{stderr}");
}

#[test]
fn a_silent_peer_is_named_when_the_time_is_over() {
    for engine in ["net", "netsplice", "net_uring --iodepth=8"] {
        let (running, mut peer) = peer_of(&format!("--ioengine={engine} --rw=read --size=64k --runtime=1"));
        peer.write_all(&[7; 4096]).expect("sent");
        let Finished { stderr, stdout, status, .. } = running.finish();
        assert_eq!(status.code(), Some(0), "{engine}: {stdout}{stderr}");
        assert!(
            stderr.contains("the peer did not respond: abandoned read a.0.0 offset=4096"),
            "{engine}: {stderr}"
        );
        assert!(stdout.contains("total=1,0,0,0"), "{engine}: {stdout}");
    }
    // A peer that does not read.
    let (running, peer) = peer_of("--rw=write --size=1g --runtime=1");
    let Finished { stderr, status, .. } = running.finish();
    drop(peer);
    assert_eq!(status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("the peer did not respond: abandoned write a.0.0"), "{stderr}");
}

#[test]
fn a_wait_for_a_connection_can_be_ended() {
    for words in ["--thread", "--numjobs=2", "--ioengine=netsplice", "--ioengine=net_uring"] {
        let port = free_port();
        let mut running =
            launch(&format!("--name=a --rw=read --size=64k --listen --port={port} {words}")).start();
        wait_until_it_listens(&mut running);
        running.signal("INT");
        let Finished { stdout, .. } = running.finish();
        assert!(stdout.contains("terminating on signal 2"), "{words}: {stdout}");
    }
    let running =
        launch(&format!("--name=a --rw=read --size=64k --protocol=udp --port={}", free_port())).start();
    running.wait_for_sleeps(1);
    running.signal("TERM");
    running.finish();
}

#[test]
fn clones_have_ports_of_their_own_and_files_connections() {
    let port = free_port();
    let both = |more: &str| {
        format!(
            "--size=64k --verify=crc32c {more} --name=one --rw=read --listen --port={port} --name=two --rw=write \
             --hostname=127.0.0.1 --port={port}"
        )
    };
    assert_all_arrived("clones", &run(&both("--numjobs=2")), 128 << 10);
    assert_all_arrived("threads", &run(&both("--numjobs=2 --thread")), 128 << 10);
    assert_all_arrived("files", &run(&both("--nrfiles=4")), 64 << 10);
    assert_all_arrived("loops", &run(&both("--loops=3")), 192 << 10);
    assert_all_arrived("queued", &run(&both("--ioengine=net_uring --iodepth=8 --nrfiles=4")), 64 << 10);
    assert_all_arrived("queued loops", &run(&both("--ioengine=net_uring --iodepth=8 --loops=3")), 192 << 10);
}

#[test]
fn blocks_are_answered() {
    let folder = scratch();
    for engine in ["net", "netsplice"] {
        for way in ways(folder.path()) {
            way.check_answers(engine);
        }
    }
    // The reply is the block itself.
    let (running, mut peer) = peer_of("--rw=read --size=4k --pingpong");
    peer.write_all(&[9; 4096]).expect("sent");
    let mut answer = vec![0; 4096];
    peer.read_exact(&mut answer).expect("an answer");
    assert_eq!(answer, [9; 4096]);
    running.finish().expect_clean();
}

#[test]
fn a_block_that_was_changed_on_the_way_is_found() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let sender =
        launch(&format!("--name=a --rw=write --size=16k --hostname=127.0.0.1 --port={port} --verify=crc32c"))
            .start();
    let (mut peer, _) = listener.accept().expect("a connection");
    let mut bytes = Vec::new();
    peer.read_to_end(&mut bytes).expect("its end");
    sender.finish().expect_clean();
    for engine in ["net", "netsplice", "net_uring --iodepth=4"] {
        for is_changed in [false, true] {
            let (running, mut peer) =
                peer_of(&format!("--ioengine={engine} --rw=read --size=16k --verify=crc32c"));
            bytes[9000] ^= u8::from(is_changed);
            // The write fails if the job finds the mismatch early and ends.
            let _ = peer.write_all(&bytes);
            let Finished { stderr, status, .. } = running.finish();
            bytes[9000] ^= u8::from(is_changed);
            assert_eq!(status.code(), Some(i32::from(is_changed)), "{engine}: {stderr}");
            assert_eq!(stderr.contains("crc32c: verify failed"), is_changed, "{engine}: {stderr}");
        }
    }
}

#[test]
fn both_directions_go_over_one_stream() {
    let (running, mut peer) =
        peer_of("--ioengine=net_uring --iodepth=16 --rw=rw --size=64k --output-format=json");
    let mut other = peer.try_clone().expect("a copy");
    // The job ends with unread bytes from this side, and must still deliver everything that it sent.
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        other.read_to_end(&mut bytes).map(|_| bytes.len())
    });
    peer.write_all(&[1; 64 << 10]).expect("sent");
    let finished = running.finish().expect_clean();
    let document = json::document(&finished.stdout);
    let written = json::total(&document, "write/io_bytes");
    assert_eq!(written + json::total(&document, "read/io_bytes"), 64 << 10);
    assert_eq!(reader.join().expect("no panic").expect("no reset") as u64, written + 8);
}

#[test]
fn datagrams_of_other_lengths_are_told() {
    let port = free_port();
    let running = launch(&format!("--name=a --protocol=udp --rw=read --size=16k --port={port}")).start();
    wait_until_bound(port, "udp");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.connect((Ipv4Addr::LOCALHOST, port)).expect("an address");
    for datagram in [HELLO, &[1; 6000], &[1; 1000], &[1; 3096], &goodbye()] {
        socket.send(datagram).expect("sent");
    }
    let Finished { stdout, stderr, status, .. } = running.finish();
    assert_eq!(status.code(), Some(0));
    assert!(stderr.contains("1 datagrams were longer than the blocks of this job: 1904 bytes"), "{stderr}");
    assert!(stdout.contains("io=8192B"), "{stdout}");

    let running = launch(&format!("--name=a --protocol=udp --rw=read --size=16k --port={port}")).start();
    wait_until_bound(port, "udp");
    socket.send(b"whatever").expect("sent");
    let Finished { stderr, status, .. } = running.finish();
    assert_eq!(status.code(), Some(1));
    assert!(stderr.contains("fio: bad udp open magic 77686174/65766572"), "{stderr}");
}

#[test]
fn groups_of_receivers() {
    let port = free_port();
    let group =
        format!("--protocol=udp --hostname=224.7.11.13 --interface=127.0.0.1 --port={port} --size=16k");
    let document = run(&format!("{group} --name=one --rw=read --name=two --rw=write --ttl=3"));
    assert_all_arrived("group", &document, 16 << 10);
    let trace = require!(Trace::of(
        Path::new("/tmp"),
        "setsockopt",
        &format!("--name=a --ioengine=net --bs=4k --rw=write --ttl=3 {group}")
    ));
    let calls = trace.calls.join("\n");
    assert!(calls.contains("IP_MULTICAST_TTL, [3]") && calls.contains("IP_MULTICAST_IF"), "{calls}");
}

#[test]
fn options_of_sockets_reach_them() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let reader = std::thread::spawn(move || {
        let (mut peer, _) = listener.accept().expect("a connection");
        let _ = peer.read_to_end(&mut Vec::new());
    });
    let trace = require!(Trace::of(
        Path::new("/tmp"),
        "setsockopt,sendto",
        &format!(
            "--name=a --ioengine=net --rw=write --size=8k --bs=4k --hostname=127.0.0.1 --port={port} --nodelay=1 \
             --window_size=100000 --mss=1000"
        )
    ));
    reader.join().expect("no panic");
    let calls = trace.calls.join("\n");
    for expected in ["TCP_NODELAY, [1]", "SO_SNDBUF, [100000]", "TCP_MAXSEG, [1000]"] {
        assert!(calls.contains(expected), "{expected}: {calls}");
    }
    assert!(!calls.contains("SO_RCVBUF") && !calls.contains("MSG_MORE"), "{calls}");
}

#[test]
fn a_killed_peer_does_not_hang_the_other_side() {
    let port = free_port();
    let mut reader =
        launch(&format!("--name=a --rw=read --size=1g --listen --port={port} --rate_iops=100")).start();
    wait_until_it_listens(&mut reader);
    let sender =
        launch(&format!("--name=b --rw=write --size=1g --hostname=127.0.0.1 --port={port} --rate_iops=100"))
            .start();
    sender.wait_for_sleeps(5);
    // Its workers die with it.
    drop(sender);
    let Finished { stderr, status, .. } = reader.finish();
    assert_eq!(status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("without a goodbye") || stderr.contains("reset by peer"), "{stderr}");
}

#[test]
fn rates_are_in_bits_as_those_of_fio() {
    let port = free_port();
    let shown = |more: &str| {
        let words = format!(
            "--size=1m --name=one --rw=read --listen --port={port} {more} --name=two --rw=write --hostname=127.0.0.1 --port={port} {more}"
        );
        launch(&words).run().expect_clean().stdout
    };
    assert!(shown("").contains("bit/s"));
    assert!(!shown("--unit_base=8").contains("bit/s"));
    assert!(!shown("--ioengine=netsplice").contains("bit/s"));
}

#[test]
fn an_address_is_one_of_the_family() {
    // The names have addresses of both kinds; the protocol determines the choice.
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let running =
        launch(&format!("--name=a --rw=write --size=4k --hostname=localhost --port={port}")).start();
    let (mut peer, _) = listener.accept().expect("a connection");
    let mut bytes = Vec::new();
    peer.read_to_end(&mut bytes).expect("its end");
    running.finish().expect_clean();
    assert_eq!(bytes.len(), 4096 + 8);
}
