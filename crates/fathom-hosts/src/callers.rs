//! Identifies the peer of a connection by its first bytes. A fathom controller starts with a line of text,
//! because fio's client and server use the same ports.
//!
//! fio's protocol, as observed on the wire: each message begins with a header of 24 bytes, which holds a
//! version (2 bytes), a kind (2), flags (4), a tag (8), the length of the payload (4), and a CRC-16 each of the
//! header and the payload. Numbers are little-endian.

use crate::links::tcp::Socket;
use crate::protocol::OPENING;
use fathom_sys::socket::{Awaited, wait_for_any};
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

/// Time to wait for the first bytes. Controllers with an earlier protocol send nothing, because they wait for
/// the agent.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time that fio's client has to read its answer.
const LAST_PATIENCE: Duration = Duration::from_secs(20);
/// Maximum size of an opening line in bytes.
const MOST_OPENING: usize = 200;
/// Length of a message header in bytes.
const HEADER: usize = 24;
/// Kinds of messages.
const TEXT: u16 = 5;
const PROBE: u16 = 10;

/// The message of a controller that finds fio's server instead of an agent.
pub(crate) const FIO_SERVER: &str =
    "it is fio's server and not an agent of fathom: run fathom agent there, or call fio --client for it";

/// Peer of a new connection.
pub(crate) enum Caller {
    /// A controller, or a silent peer, with the bytes received after its opening line.
    Controller(Vec<u8>),
    /// fio's client, which has already been answered.
    FioClient,
}

/// Identifies the peer, and answers fio's client.
pub(crate) fn hear(socket: &mut Socket) -> Caller {
    let deadline = Instant::now() + PATIENCE;
    let mut first = Vec::new();
    loop {
        if let Some(version) = version_of_client(&first) {
            answer(socket, version);
            drain(socket, LAST_PATIENCE);
            return Caller::FioClient;
        }
        if first.starts_with(OPENING.as_bytes())
            && let Some(end) = first.iter().position(|&byte| byte == b'\n')
        {
            return Caller::Controller(first.split_off(end + 1));
        }
        // Fewer bytes than this are still ambiguous.
        let length = first.len().min(OPENING.len());
        let may_open = first[..length] == OPENING.as_bytes()[..length] && first.len() < MOST_OPENING;
        let may_probe = first.len() < HEADER && kind(&first).is_none_or(|kind| kind == PROBE);
        if !(may_open || may_probe) || !receive(socket, &mut first, deadline) {
            return Caller::Controller(first);
        }
    }
}

/// Reads more bytes. Returns false at the end of the stream or after the deadline.
fn receive(socket: &mut Socket, bytes: &mut Vec<u8>, deadline: Instant) -> bool {
    let mut some = [0; 4096];
    loop {
        match socket.read(&mut some) {
            Ok(count @ 1..) => {
                bytes.extend_from_slice(&some[..count]);
                return true;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let left = deadline.saturating_duration_since(Instant::now());
                let awaited = [Awaited { socket: socket.descriptor(), to_send: false }];
                if left.is_zero() || wait_for_any(&awaited, Some(left)).is_err() {
                    return false;
                }
            }
            Ok(0) | Err(_) => return false,
        }
    }
}

/// The kind of message that these bytes begin.
fn kind(bytes: &[u8]) -> Option<u16> {
    bytes.get(2..4).map(|kind| u16::from_le_bytes([kind[0], kind[1]]))
}

/// The version of fio's protocol, if these first bytes come from its client.
pub(crate) fn version_of_client(first: &[u8]) -> Option<u16> {
    let is_probe = first.len() >= HEADER && kind(first) == Some(PROBE) && first[4..8] == [0; 4];
    let has_sum = || crc16(&first[..20]).to_le_bytes() == first[20..22];
    (is_probe && has_sum()).then(|| u16::from_le_bytes([first[0], first[1]]))
}

/// True if these first bytes are from fio's server, which answers an unknown message with a text.
pub(crate) fn is_server(first: &[u8]) -> bool {
    first.len() >= HEADER && kind(first) == Some(TEXT) && first[4..8] == [0; 4]
}

/// Tells fio's client what it is connected to; the client prints the line. The caller must then read until the
/// client closes the connection: closing it with unread bytes would reset it before the client has read the
/// line.
pub(crate) fn answer(socket: &mut Socket, version: u16) {
    let line = format!(
        "fathom: this is fathom {}, which does not speak fio's protocol; call fathom --client or fathom --hosts in place of fio --client\n",
        env!("CARGO_PKG_VERSION")
    );
    // A failure is ignored, because a client that has gone does not need the answer.
    let _ = socket.write_all(&text_message(version, &line));
    socket.end_output();
}

/// Discards incoming bytes for this long, before a connection is closed. Closing it with unread bytes would
/// reset it, and the peer might see the reset before the last message.
pub(crate) fn drain(socket: &mut Socket, patience: Duration) {
    let deadline = Instant::now() + patience;
    let mut rest = Vec::new();
    while receive(socket, &mut rest, deadline) {
        rest.clear();
    }
}

/// A text message in the form that fio's server sends.
fn text_message(version: u16, text: &str) -> Vec<u8> {
    // The fields are the log level of a visible line, its length, and its time.
    let mut rest = 3_u32.to_le_bytes().to_vec();
    rest.extend((text.len() as u32).to_le_bytes());
    rest.extend([0; 16]);
    rest.extend(text.as_bytes());
    let mut message = version.to_le_bytes().to_vec();
    message.extend(TEXT.to_le_bytes());
    message.extend([0; 12]);
    message.extend((rest.len() as u32).to_le_bytes());
    let sums = [crc16(&message), crc16(&rest)];
    message.extend(sums.iter().flat_map(|sum| sum.to_le_bytes()));
    message.extend(rest);
    message
}

/// CRC-16/ARC.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(sum ^ u16::from(*byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xa001 } else { sum >> 1 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    /// Bytes that fio 3.41 has sent: the header of a client's probe, and a server's answer to an unknown
    /// message.
    const PROBE_OF_FIO: [u8; 24] = [
        0x71, 0, 0x0a, 0, 0, 0, 0, 0, 0x40, 0x8a, 0x6f, 0x75, 0x55, 0x55, 0, 0, 0x88, 0, 0, 0, 0x5e, 0xaf,
        0x9a, 0xec,
    ];
    const TEXT_OF_FIO: &[u8] = b"q\0\x05\0\0\0\0\0\0\0\0\0\0\0\0\0N\0\0\0q\x0fzy\x03\0\0\x006\0\0\0R\xb5\tk\0\0\0\0\x98C\r\0\0\0\0\0\
        fio: server bad crc on command (got 2e30, wanted 2fe)\n";

    #[test]
    fn fio_is_known_by_its_first_bytes() {
        assert_eq!(crc16(b"123456789"), 0xbb3d);
        assert_eq!(version_of_client(&PROBE_OF_FIO), Some(0x71));
        assert!(
            is_server(TEXT_OF_FIO) && !is_server(&PROBE_OF_FIO) && version_of_client(TEXT_OF_FIO).is_none()
        );
        let own = crate::protocol::greeting();
        assert!(!is_server(format!("{own}{own}").as_bytes()));
        let text = text_message(0x71, "fio: server bad crc on command (got 2e30, wanted 2fe)\n");
        // The test ignores the time in the message.
        assert_eq!(
            (&text[..22], &text[24..32], &text[48..]),
            (&TEXT_OF_FIO[..22], &TEXT_OF_FIO[24..32], &TEXT_OF_FIO[48..])
        );
    }

    #[test]
    fn callers_are_told_apart() {
        let heard = |bytes: &[u8]| {
            let (own, mut theirs) = UnixStream::pair().expect("sockets");
            let mut own = Socket::unix(own).expect("a socket");
            theirs.write_all(bytes).expect("sent");
            theirs.shutdown(std::net::Shutdown::Write).expect("an end");
            let caller = hear(&mut own);
            drop(own);
            let mut told = Vec::new();
            let _ = theirs.read_to_end(&mut told);
            match caller {
                Caller::Controller(rest) => String::from_utf8(rest).expect("text"),
                Caller::FioClient => String::from_utf8_lossy(&told).into_owned(),
            }
        };
        let opening = crate::protocol::opening();
        assert_eq!(heard(format!("{opening}frames").as_bytes()), "frames");
        for other in ["", "fathom-", "GET / HTTP/1.1\r\n\r\n", "fathom-controller without an end"] {
            assert_eq!(heard(other.as_bytes()), other);
        }
        assert!(heard(&PROBE_OF_FIO).contains("does not speak fio's protocol"), "{}", heard(&PROBE_OF_FIO));
    }
}
