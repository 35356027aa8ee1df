//! Connections between two sides, and the tests that work on all of them.

use super::{assert_all_arrived, free_port, run, version_6};
use std::path::Path;

/// A connection between two sides: the options of the listener and of the initiator.
pub(crate) struct Way {
    pub(super) name: &'static str,
    pub(super) waits: String,
    pub(super) begins: String,
    /// The listener is the reader.
    pub(super) reader_waits: bool,
}

impl Way {
    /// Between virtual machines, over the loopback of one, where no other process uses ports.
    pub(crate) fn of_virtual_machines(port: u16) -> Way {
        Way {
            name: "vsock",
            waits: format!("--protocol=vsock --listen --port={port}"),
            begins: format!("--protocol=vsock --hostname=1 --port={port}"),
            reader_waits: false,
        }
    }

    pub(crate) fn where_readers_wait(self) -> Way {
        Way { reader_waits: true, ..self }
    }

    pub(super) fn has_datagrams(&self) -> bool {
        self.name.starts_with("udp")
    }

    /// fio writes to a peer that has already gone, and a socket of this machine reports it immediately.
    pub(super) fn fio_fails_at_its_end(&self) -> bool {
        matches!(self.name, "unix" | "vsock")
    }

    /// The possible roles of each side, with that of the other.
    pub(super) fn roles(&self) -> &'static [(&'static str, &'static str)] {
        let both = &[("read", "write"), ("write", "read")];
        if self.reader_waits { &both[..1] } else { both }
    }

    /// Two jobs of a run transfer every block, whichever side listens.
    #[track_caller]
    pub(crate) fn check_both_sides(&self, engine: &str) {
        let Way { name, waits, begins, .. } = self;
        // The data is small enough for the buffer of any datagram socket, so it is not lost if the reader is
        // scheduled late.
        let (size, bytes) = if self.has_datagrams() { ("32k", 32 << 10) } else { ("2m --bs=64k", 2 << 20) };
        for (first, second) in self.roles() {
            let document = run(&format!(
                "--ioengine={engine} --size={size} --verify=crc32c --name=one --rw={first} {waits} --name=two --rw={second} {begins}"
            ));
            assert_all_arrived(&format!("{engine} {name} {first}"), &document, bytes);
        }
    }

    /// Each block is sent back.
    #[track_caller]
    pub(crate) fn check_answers(&self, engine: &str) {
        let Way { name, waits, begins, .. } = self;
        let document = run(&format!(
            "--ioengine={engine} --size=1m --pingpong --name=one --rw=read {waits} --name=two --rw=write {begins}"
        ));
        assert_all_arrived(&format!("{engine} {name}"), &document, 1 << 20);
    }
}

/// Every connection available on any machine; `folder` is for a socket.
pub(super) fn ways(folder: &Path) -> Vec<Way> {
    let port = free_port();
    let path = folder.join("socket").display().to_string();
    let mut ways = vec![
        Way {
            name: "tcp",
            waits: format!("--listen --port={port}"),
            begins: format!("--hostname=127.0.0.1 --port={port}"),
            reader_waits: false,
        },
        Way {
            name: "udp",
            waits: format!("--protocol=udp --port={port}"),
            begins: format!("--protocol=udp --hostname=localhost --port={port}"),
            reader_waits: true,
        },
        Way {
            name: "unix",
            waits: format!("--protocol=unix --hostname={path}"),
            begins: format!("--protocol=unix --hostname={path}"),
            reader_waits: true,
        },
    ];
    if version_6().is_ok() {
        ways.push(Way {
            name: "tcpv6",
            waits: format!("--protocol=tcpv6 --listen --port={port}"),
            begins: format!("--protocol=tcpv6 --hostname=::1 --port={port}"),
            reader_waits: false,
        });
        ways.push(Way {
            name: "udpv6",
            waits: format!("--protocol=udpv6 --port={port}"),
            begins: format!("--protocol=udpv6 --hostname=::1 --port={port}"),
            reader_waits: true,
        });
    }
    ways
}
