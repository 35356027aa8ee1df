//! The ways between two sides, and what works on all of them.

use super::{assert_all_arrived, free_port, run, version_6};
use std::path::Path;

/// A way between two sides: options of the one that waits, and of the one that begins.
pub(crate) struct Way {
    pub(super) name: &'static str,
    pub(super) waits: String,
    pub(super) begins: String,
    /// The side that waits is the one that reads.
    pub(super) reader_waits: bool,
}

impl Way {
    /// Between virtual machines, over the loopback of one, where nothing else has a port.
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

    /// fio writes to a side that is gone already, and a socket of this machine reports it immediately.
    pub(super) fn fio_fails_at_its_end(&self) -> bool {
        matches!(self.name, "unix" | "vsock")
    }

    /// What each side may do, with what the other does then.
    pub(super) fn roles(&self) -> &'static [(&'static str, &'static str)] {
        let both = &[("read", "write"), ("write", "read")];
        if self.reader_waits { &both[..1] } else { both }
    }

    /// Two jobs of a run move every block, whichever side waits.
    #[track_caller]
    pub(crate) fn check_both_sides(&self, engine: &str) {
        let Way { name, waits, begins, .. } = self;
        // So little fits the buffer of any datagram socket, however the processes are scheduled.
        let (size, bytes) = if self.has_datagrams() { ("32k", 32 << 10) } else { ("2m --bs=64k", 2 << 20) };
        for (first, second) in self.roles() {
            let document = run(&format!(
                "--ioengine={engine} --size={size} --verify=crc32c --name=one --rw={first} {waits} --name=two --rw={second} {begins}"
            ));
            assert_all_arrived(&format!("{engine} {name} {first}"), &document, bytes);
        }
    }

    /// Each block comes back.
    #[track_caller]
    pub(crate) fn check_answers(&self, engine: &str) {
        let Way { name, waits, begins, .. } = self;
        let document = run(&format!(
            "--ioengine={engine} --size=1m --pingpong --name=one --rw=read {waits} --name=two --rw=write {begins}"
        ));
        assert_all_arrived(&format!("{engine} {name}"), &document, 1 << 20);
    }
}

/// Every way there is on any machine; `folder` is for a socket.
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
