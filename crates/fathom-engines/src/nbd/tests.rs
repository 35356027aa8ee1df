//! Tests servers with unusual replies: fragmented, reordered, truncated, altered, or nonsense.

use super::connection::{Broken, Connection, InFlight, Listener, slot_of};
use super::error::HandshakeError;
use super::handshake::{self, Export};
use super::uri::ExportUri;
use super::wire::{Command, REQUEST_LENGTH, Request};
use crate::net::socket::Socket;
use crate::net::transport::Transport;
use fathom_sys::Errno;
use fathom_sys::socket::Wait;
use proptest::collection::vec;
use proptest::prelude::*;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Number of bytes of a read, and of the guard areas around its buffer.
const LENGTH: usize = 64;
const CANARY: u8 = 0xc3;
const READS: usize = 4;

/// A connection under test.
struct Bench {
    connection: Connection,
    server: UnixStream,
    units: Vec<InFlight>,
    /// A buffer for each read, with guard areas before and after it.
    buffers: Vec<Vec<u8>>,
    ends: Vec<(u64, i64)>,
    texts: Vec<String>,
}

struct Hearer<'a>(&'a mut Vec<InFlight>, &'a mut Vec<(u64, i64)>, &'a mut Vec<String>);

impl Listener for Hearer<'_> {
    fn find(&mut self, cookie: u64) -> Option<&mut InFlight> {
        let unit = self.0.get_mut(slot_of(cookie) as usize)?;
        (unit.request.cookie == cookie && !unit.is_free()).then_some(unit)
    }

    fn has_room(&self) -> bool {
        true
    }

    fn outlasts_servers(&self) -> bool {
        false
    }

    fn ended(&mut self, cookie: u64, result: i64) {
        self.0[slot_of(cookie) as usize].free();
        self.1.push((cookie, result));
    }

    fn explained(&mut self, _: u64, text: &str) {
        self.2.push(text.to_owned());
    }
}

/// The cookie of the read in a slot.
fn cookie(slot: usize) -> u64 {
    (7 + slot as u64) << 32 | slot as u64
}

impl Bench {
    /// A connection with reads in flight, of [`LENGTH`] bytes each, at offsets 0, 1000, 2000, …
    fn new(structured: bool) -> Bench {
        let (client, server) = UnixStream::pair().expect("sockets");
        let export = Export { size: 1 << 20, flags: 0, structured, block_sizes: None };
        let mut connection = Connection::over(Transport::plain(Socket::Unix(client)), export);
        let mut buffers = vec![vec![CANARY; 3 * LENGTH]; READS];
        let units: Vec<InFlight> = (0..READS)
            .map(|slot| {
                let offset = 1000 * slot as u64;
                let request = Request {
                    flags: 0,
                    command: Command::Read,
                    cookie: cookie(slot),
                    offset,
                    length: LENGTH as u32,
                };
                let unit = InFlight::new(request, buffers[slot][LENGTH..].as_mut_ptr(), 0);
                connection.add(&unit);
                unit
            })
            .collect();
        connection.send(Wait::Never).expect("the requests go out");
        let mut bench = Bench { connection, server, units, buffers, ends: Vec::new(), texts: Vec::new() };
        bench.server.read_exact(&mut [0; READS * REQUEST_LENGTH]).expect("the requests come in");
        bench
    }

    /// Lets the server send these bytes and disconnect; returns why the connection failed.
    fn hear(&mut self, bytes: &[u8]) -> Broken {
        self.server.write_all(bytes).expect("the socket takes it");
        self.server.shutdown(std::net::Shutdown::Write).expect("the socket closes");
        loop {
            let mut hearer = Hearer(&mut self.units, &mut self.ends, &mut self.texts);
            match self.connection.receive(&mut hearer, Wait::Never) {
                Ok(()) => {}
                Err(Broken::Socket(Errno(libc::EAGAIN))) => {
                    panic!("the end of a connection is no reason to wait")
                }
                Err(broken) => return broken,
            }
        }
    }

    fn data(&self, slot: usize) -> &[u8] {
        &self.buffers[slot][LENGTH..2 * LENGTH]
    }

    fn check_canaries(&self) {
        for buffer in &self.buffers {
            let around = buffer[..LENGTH].iter().chain(&buffer[2 * LENGTH..]);
            assert!(around.into_iter().all(|byte| *byte == CANARY), "memory next to a buffer was written to");
        }
    }
}

fn simple(slot: usize, error: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = 0x6744_6698_u32.to_be_bytes().to_vec();
    bytes.extend(error.to_be_bytes());
    bytes.extend(cookie(slot).to_be_bytes());
    bytes.extend(data);
    bytes
}

fn part(slot: usize, is_last: bool, kind: u16, content: &[u8]) -> Vec<u8> {
    let mut bytes = 0x668e_33ef_u32.to_be_bytes().to_vec();
    bytes.extend(u16::from(is_last).to_be_bytes());
    bytes.extend(kind.to_be_bytes());
    bytes.extend(cookie(slot).to_be_bytes());
    bytes.extend((content.len() as u32).to_be_bytes());
    bytes.extend(content);
    bytes
}

fn data_at(offset: u64, data: &[u8]) -> Vec<u8> {
    [offset.to_be_bytes().as_slice(), data].concat()
}

fn hole_at(offset: u64, length: u32) -> Vec<u8> {
    [offset.to_be_bytes().as_slice(), &length.to_be_bytes()].concat()
}

fn error(number: u32, text: &str) -> Vec<u8> {
    [&number.to_be_bytes()[..], &(text.len() as u16).to_be_bytes(), text.as_bytes()].concat()
}

/// Valid replies to all reads, fragmented and out of order.
fn good_parts() -> Vec<u8> {
    [
        part(1, false, 1, &data_at(1032, &[2; 32])),
        part(0, true, 1, &data_at(0, &[1; LENGTH])),
        part(1, false, 2, &hole_at(1000, 32)),
        part(3, true, 0x8001, &error(5, "the disk is on fire")),
        part(1, true, 0, &[]),
        part(2, true, 2, &hole_at(2000, LENGTH as u32)),
    ]
    .concat()
}

/// Valid replies to all reads, without fragmentation.
fn good_replies() -> Vec<u8> {
    [simple(2, 0, &[3; LENGTH]), simple(0, 0, &[1; LENGTH]), simple(3, 28, &[]), simple(1, 0, &[2; LENGTH])]
        .concat()
}

#[test]
fn parts_come_together() {
    let mut bench = Bench::new(true);
    assert_eq!(bench.hear(&good_parts()), Broken::Closed);
    let length = LENGTH as i64;
    assert_eq!(bench.ends, [(cookie(0), length), (cookie(3), -5), (cookie(1), length), (cookie(2), length)]);
    assert_eq!(bench.texts, ["the disk is on fire"]);
    assert_eq!(bench.data(0), [1; LENGTH]);
    assert_eq!((&bench.data(1)[..32], &bench.data(1)[32..]), (&[0; 32][..], &[2; 32][..]));
    assert_eq!(bench.data(2), [0; LENGTH]);
    bench.check_canaries();
}

#[test]
fn simple_replies_come_in_any_order() {
    let mut bench = Bench::new(false);
    assert_eq!(bench.hear(&good_replies()), Broken::Closed);
    let length = LENGTH as i64;
    assert_eq!(bench.ends, [(cookie(2), length), (cookie(0), length), (cookie(3), -28), (cookie(1), length)]);
    assert_eq!(bench.data(2), [3; LENGTH]);
    bench.check_canaries();
}

#[test]
fn what_a_server_must_not_say_ends_the_connection() {
    for (what, bytes) in [
        ("a reply to nothing", simple(99, 0, &[])),
        ("data before the buffer", part(1, true, 1, &data_at(999, &[9; 8]))),
        ("data beyond the buffer", part(1, true, 1, &data_at(1060, &[9; 8]))),
        ("a hole beyond the buffer", part(1, true, 2, &hole_at(1000, 65))),
        ("far away", part(1, true, 1, &data_at(u64::MAX, &[9; 8]))),
        ("so far that the end wraps around", part(0, true, 1, &data_at(u64::MAX, &[9; 8]))),
        ("a hole whose end wraps around", part(0, true, 2, &hole_at(u64::MAX - 3, 8))),
        (
            "more than was asked for",
            [part(1, false, 1, &data_at(1000, &[9; 64])), part(1, true, 1, &data_at(1000, &[9; 1]))].concat(),
        ),
        ("an unknown part", part(1, true, 77, &[0; 4])),
        ("a long error", part(1, true, 0x8001, &vec![0; 1 << 16])),
        ("a simple reply to a read", simple(1, 0, &[9; LENGTH])),
        ("no reply at all", vec![7; 16]),
        ("a second reply", [simple(1, 5, &[]), simple(1, 5, &[])].concat()),
    ] {
        let mut bench = Bench::new(true);
        let broken = bench.hear(&bytes);
        assert!(matches!(broken, Broken::Violation(_)), "{what}: {broken}");
        bench.check_canaries();
    }
    // A reply with fewer bytes than requested is an error of that read only.
    let mut bench = Bench::new(true);
    assert_eq!(bench.hear(&part(1, true, 1, &data_at(1000, &[9; 8]))), Broken::Closed);
    assert_eq!(bench.ends, [(cookie(1), -i64::from(libc::EPROTO))]);
}

/// The URI used by tests of the handshake.
fn target() -> ExportUri {
    ExportUri::parse("nbd://localhost/disk").expect("a target")
}

/// Performs a handshake with a server that sends these bytes and disconnects.
fn shake_hands(bytes: &[u8]) -> Result<Export, HandshakeError> {
    let (client, mut server) = UnixStream::pair().expect("sockets");
    server.write_all(bytes).expect("the socket takes it");
    server.shutdown(std::net::Shutdown::Write).expect("the socket closes");
    let socket = Socket::Unix(client);
    socket.limit_waits(Some(Duration::from_secs(20))).expect("a limit");
    handshake::negotiate(&mut Transport::plain(socket), &target())
}

fn reply(option: u32, kind: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = 0x0003_e889_0455_65a9_u64.to_be_bytes().to_vec();
    bytes.extend(option.to_be_bytes());
    bytes.extend(kind.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    bytes
}

fn good_handshake() -> Vec<u8> {
    let export = [&0_u16.to_be_bytes()[..], &4096_u64.to_be_bytes(), &0x101_u16.to_be_bytes()].concat();
    let sizes =
        [&3_u16.to_be_bytes()[..], &512_u32.to_be_bytes(), &4096_u32.to_be_bytes(), &65536_u32.to_be_bytes()]
            .concat();
    [
        b"NBDMAGICIHAVEOPT".to_vec(),
        3_u16.to_be_bytes().to_vec(),
        reply(8, 1, &[]),
        reply(7, 3, &sizes),
        reply(7, 3, &export),
        reply(7, 1, &[]),
    ]
    .concat()
}

#[test]
fn handshakes_of_all_ages() {
    let found = shake_hands(&good_handshake());
    assert_eq!(
        found.expect("an export"),
        Export { size: 4096, flags: 0x101, structured: true, block_sizes: Some((512, 65536)) }
    );

    // The server supports neither GO nor structured replies.
    let older = [
        b"NBDMAGICIHAVEOPT".to_vec(),
        3_u16.to_be_bytes().to_vec(),
        reply(8, (1 << 31) + 1, &[]),
        reply(7, (1 << 31) + 1, &[]),
        4096_u64.to_be_bytes().to_vec(),
        1_u16.to_be_bytes().to_vec(),
    ];
    let found = shake_hands(&older.concat());
    let wanted = Export { size: 4096, flags: 1, structured: false, block_sizes: None };
    assert_eq!(found.expect("an export"), wanted);
    let oldest = [b"NBDMAGIC".to_vec(), 0x0000_4202_8186_1253_u64.to_be_bytes().to_vec()].concat();
    assert!(shake_hands(&oldest).is_err_and(|error| matches!(error, HandshakeError::TooOldForNames)));
    assert!(
        shake_hands(b"HTTP/1.1 400 Bad Request\r\n")
            .is_err_and(|error| matches!(error, HandshakeError::NotNbd))
    );
}

/// Changes, truncates and repeats bytes.
fn mutated(good: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let length = good.len();
    (vec((0..length, any::<u8>()), 0..4), 0..=length, vec(any::<u8>(), 0..40)).prop_map(
        move |(changes, end, tail)| {
            let mut bytes = good.clone();
            changes.into_iter().for_each(|(at, byte)| bytes[at] = byte);
            bytes.truncate(end);
            bytes.extend(tail);
            bytes
        },
    )
}

proptest! {
    #[test]
    fn no_reply_does_harm(structured: bool, bytes in prop_oneof![mutated(good_parts()), mutated(good_replies())]) {
        let mut bench = Bench::new(structured);
        bench.hear(&bytes);
        bench.check_canaries();
        let mut slots: Vec<u32> = bench.ends.iter().map(|(cookie, _)| slot_of(*cookie)).collect();
        slots.sort_unstable();
        slots.dedup();
        prop_assert_eq!(slots.len(), bench.ends.len(), "nothing ends twice");
        prop_assert_eq!(bench.connection.in_flight as usize, READS - bench.ends.len());
    }

    #[test]
    fn no_handshake_does_harm(bytes in mutated(good_handshake())) {
        let _ = shake_hands(&bytes);
    }
}
