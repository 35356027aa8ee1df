//! The sockets of a clone: created and bound during setup, connected or accepted at the start, and closed with
//! a goodbye message.

use super::address::{Role, Settings, failed, failed_set_up};
use super::wire::{self, GOODBYE, HELLO};
use fathom_run::files::FileError;
use fathom_run::storage::Storage;
use fathom_run::storage::nowhere::Nowhere;
use fathom_spec::JobSpec;
use fathom_sys::Errno;
use fathom_sys::network::{self, Address};
use fathom_sys::socket::{Awaited, wait_for_any};
use std::io::{self, Read};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Maximum duration of a wait, after which the loop checks the time; it also limits the delay of a request to
/// end.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_millis(100);
/// Retry interval while the peer's queue is full.
const SHORT_WAIT: Duration = Duration::from_millis(1);
/// Maximum time for which the peer of a bidirectional stream may continue after a goodbye, so that its last
/// data arrives.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Backlog of the listener.
const BACKLOG: i32 = 10;

/// The storage of a job with sockets, which keeps no data. All connections of a job come from one address, so
/// they are opened together.
pub(crate) fn peers(job: &JobSpec) -> Box<dyn Storage> {
    let job = job.clone();
    Box::new(Nowhere::opening(move |plan| Opened::open(Settings::of(&job, plan)?)))
}

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct Link {
    socket: OwnedFd,
    /// Destination address of datagrams.
    pub(crate) peer: Option<Address>,
}

impl Link {
    #[inline(always)]
    pub(crate) fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Announces the end, regardless of whether a receiver exists.
    fn take_leave(&self) {
        // SAFETY: the bytes are a constant.
        let _ = unsafe {
            network::send(self.descriptor(), (GOODBYE.as_ptr(), 8), libc::MSG_DONTWAIT, self.peer.as_ref())
        };
    }

    /// Receives remaining data from the peer of a stream, until the stream ends or until `until`. Closing a
    /// connection with unread bytes would reset it and lose the data that was sent last.
    fn hear_out(&self, until: Instant) -> io::Result<()> {
        let mut stream = TcpStream::from(self.socket.try_clone()?);
        stream.shutdown(Shutdown::Write)?;
        let mut bytes = [0; 4096];
        loop {
            // A timeout of 0 is an error, which thus means that no time is left.
            stream.set_read_timeout(Some(until.saturating_duration_since(Instant::now())))?;
            match stream.read(&mut bytes) {
                Ok(0) => return Ok(()),
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
    }
}

/// The sockets of a clone.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) settings: Settings,
    /// The socket that listens for streams or receives datagrams.
    bound: Option<OwnedFd>,
    /// The socket file that this clone created: path, device and inode.
    made: Option<(PathBuf, (u64, u64))>,
    /// Connections in the order of the files; with datagrams, a single one serves all files.
    pub(crate) links: Vec<Link>,
}

impl Opened {
    fn open(settings: Settings) -> Result<Opened, FileError> {
        let mut opened = Opened { settings, bound: None, made: None, links: Vec::new() };
        if let Role::Listens(address) = opened.settings.role {
            opened.bound = Some(opened.bind(&address)?);
        }
        Ok(opened)
    }

    fn socket(&self) -> Result<OwnedFd, Errno> {
        let kind = if self.settings.datagrams { libc::SOCK_DGRAM } else { libc::SOCK_STREAM };
        network::open(self.settings.family, kind)
    }

    fn failed_set_up(&self, call: &str, errno: Errno) -> FileError {
        failed_set_up(&self.settings.engine, call, errno)
    }

    /// A bound socket.
    fn bind(&mut self, address: &Address) -> Result<OwnedFd, FileError> {
        let socket = self.socket().map_err(|errno| self.failed_set_up("socket", errno))?;
        let descriptor = socket.as_raw_fd();
        let set = |name: i32, call: &str| {
            network::set_option(descriptor, libc::SOL_SOCKET, name, 1)
                .map_err(|errno| self.failed_set_up(call, errno))
        };
        if self.settings.family != libc::AF_UNIX {
            set(libc::SO_REUSEADDR, "setsockopt")?;
        }
        if matches!(self.settings.family, libc::AF_INET | libc::AF_INET6) {
            set(libc::SO_REUSEPORT, "setsockopt")?;
        }
        self.tune(descriptor).map_err(|(call, errno)| self.failed_set_up(call, errno))?;
        if let Some(group) = self.settings.group {
            let interface = self.settings.interface.unwrap_or(std::net::Ipv4Addr::UNSPECIFIED);
            network::join_group(descriptor, group, interface)
                .map_err(|errno| self.failed_set_up("setsockopt IP_ADD_MEMBERSHIP", errno))?;
        }
        if let Some(path) = self.settings.path.clone() {
            self.make_way(&path, address)?;
            network::bind(descriptor, address).map_err(|errno| self.failed_set_up("bind", errno))?;
            self.made = std::fs::symlink_metadata(&path).ok().map(|made| (path, (made.dev(), made.ino())));
        } else {
            network::bind(descriptor, address).map_err(|errno| self.failed_set_up("bind", errno))?;
        }
        if !self.settings.datagrams {
            network::listen(descriptor, BACKLOG).map_err(|errno| self.failed_set_up("listen", errno))?;
        }
        Ok(socket)
    }

    /// Removes a stale socket file, but no other kind of file.
    fn make_way(&self, path: &Path, address: &Address) -> Result<(), FileError> {
        let in_use = |why: &str| {
            let errno = Errno(libc::EADDRINUSE);
            let error = FileError::of_engine("net", "bind", errno);
            let engine = &self.settings.engine;
            error.with_message(format!(
                "fathom: {}: {why}\nfio: io engine {engine} init failed.",
                path.display()
            ))
        };
        let Ok(there) = std::fs::symlink_metadata(path) else { return Ok(()) };
        if !there.file_type().is_socket() {
            return Err(in_use("a file that is not a socket exists already, and stays; give another name"));
        }
        let probe = self.socket().map_err(|errno| self.failed_set_up("socket", errno))?;
        match network::connect(probe.as_raw_fd(), address) {
            Err(Errno(libc::ECONNREFUSED)) => {
                std::fs::remove_file(path).map_err(|error| self.failed_set_up("unlink", Errno::from(error)))
            }
            Err(Errno(libc::ENOENT)) => Ok(()),
            _ => Err(in_use("another program listens there; give another name")),
        }
    }

    /// Sets buffer and segment sizes, which must be done before connecting.
    fn tune(&self, socket: RawFd) -> Result<(), (&'static str, Errno)> {
        let settings = &self.settings;
        if let Some(size) = settings.options.window_size.filter(|size| *size > 0) {
            let size = i32::try_from(size).unwrap_or(i32::MAX);
            for (is_wanted, name, call) in [
                (settings.reads, libc::SO_RCVBUF, "setsockopt rcvbuf window size"),
                (settings.writes, libc::SO_SNDBUF, "setsockopt sndbuf window size"),
            ] {
                if is_wanted {
                    network::set_option(socket, libc::SOL_SOCKET, name, size)
                        .map_err(|errno| (call, errno))?;
                }
            }
        }
        if let Some(size) = settings.options.mss.filter(|size| *size > 0 && settings.over_tcp) {
            let size = i32::try_from(size).unwrap_or(i32::MAX);
            network::set_option(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, size)
                .map_err(|errno| ("setsockopt TCP_MAXSEG", errno))?;
        }
        Ok(())
    }

    /// Applies the settings of a connection.
    fn settle(&self, socket: &OwnedFd) -> Result<(), FileError> {
        let descriptor = socket.as_raw_fd();
        if self.settings.over_tcp && self.settings.options.nodelay {
            network::set_option(descriptor, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)
                .map_err(|errno| failed("setsockopt TCP_NODELAY", errno))?;
        }
        network::limit_waits(descriptor, LONGEST_WAIT).map_err(|errno| failed("setsockopt", errno))
    }

    /// Closes the current connections and opens `count` new ones.
    pub(crate) fn meet(
        &mut self,
        count: usize,
        stopped: &dyn Fn() -> bool,
        say: &dyn Fn(&str),
    ) -> Result<(), FileError> {
        self.leave();
        let count = if self.settings.datagrams { 1 } else { count };
        for _ in 0..count {
            let link = match self.settings.role {
                Role::Calls(address) if self.settings.datagrams => self.greet(address)?,
                Role::Calls(address) => self.call(&address, stopped)?,
                Role::Listens(_) if self.settings.datagrams => self.hear(stopped)?,
                Role::Listens(_) => {
                    say("fio: waiting for connection");
                    self.accept(stopped)?
                }
            };
            // The job was stopped while it waited.
            let Some(link) = link else { return Ok(()) };
            self.links.push(link);
        }
        Ok(())
    }

    fn accept(&self, stopped: &dyn Fn() -> bool) -> Result<Option<Link>, FileError> {
        let Some(bound) = &self.bound else { return Ok(None) };
        loop {
            if !wait(bound.as_raw_fd(), false, stopped).map_err(|errno| failed("poll", errno))? {
                return Ok(None);
            }
            match network::accept(bound.as_raw_fd()) {
                Ok((socket, _)) => {
                    self.settle(&socket)?;
                    return Ok(Some(Link { socket, peer: None }));
                }
                // The peer closed the connection before it was accepted.
                Err(Errno(libc::ECONNABORTED | libc::EINTR | libc::EAGAIN)) => {}
                Err(errno) => return Err(failed("accept", errno)),
            }
        }
    }

    fn call(&self, address: &Address, stopped: &dyn Fn() -> bool) -> Result<Option<Link>, FileError> {
        let socket = self.socket().map_err(|errno| failed("socket", errno))?;
        let descriptor = socket.as_raw_fd();
        self.tune(descriptor).map_err(|(call, errno)| failed(call, errno))?;
        let set_waiting =
            |waits: bool| network::set_waiting(descriptor, waits).map_err(|errno| failed("fcntl", errno));
        set_waiting(false)?;
        let begun = loop {
            match network::connect(descriptor, address) {
                // For a Unix socket, this error means that the backlog is full.
                Err(Errno(libc::EAGAIN)) if self.settings.family == libc::AF_UNIX => {
                    if stopped() {
                        return Ok(None);
                    }
                    std::thread::sleep(SHORT_WAIT);
                }
                result => break result,
            }
        };
        let connected = match begun {
            Err(Errno(libc::EINPROGRESS)) => {
                if !wait(descriptor, true, stopped).map_err(|errno| failed("poll", errno))? {
                    return Ok(None);
                }
                network::pending_error(descriptor)
            }
            result => result,
        };
        connected.map_err(|errno| failed("connect", errno))?;
        set_waiting(true)?;
        self.settle(&socket)?;
        Ok(Some(Link { socket, peer: None }))
    }

    /// Starts a flow of datagrams as the sending side.
    fn greet(&self, address: Address) -> Result<Option<Link>, FileError> {
        let socket = self.socket().map_err(|errno| failed("socket", errno))?;
        let descriptor = socket.as_raw_fd();
        self.tune(descriptor).map_err(|(call, errno)| failed(call, errno))?;
        if self.settings.group.is_some() {
            if let Some(interface) = self.settings.interface {
                network::send_groups_through(descriptor, interface)
                    .map_err(|errno| failed("setsockopt IP_MULTICAST_IF", errno))?;
            }
            let ttl = i32::try_from(self.settings.options.ttl).unwrap_or(i32::MAX);
            network::set_option(descriptor, libc::IPPROTO_IP, libc::IP_MULTICAST_TTL, ttl)
                .map_err(|errno| failed("setsockopt IP_MULTICAST_TTL", errno))?;
        }
        self.settle(&socket)?;
        // SAFETY: the bytes are a constant.
        unsafe { network::send(descriptor, (HELLO.as_ptr(), 8), 0, Some(&address)) }
            .map_err(|errno| failed("sendto udp link open", errno))?;
        Ok(Some(Link { socket, peer: Some(address) }))
    }

    /// Waits for a sender of datagrams.
    fn hear(&self, stopped: &dyn Fn() -> bool) -> Result<Option<Link>, FileError> {
        let Some(bound) = &self.bound else { return Ok(None) };
        let mut peer = network::nobody();
        let mut bytes = [0u8; 8];
        loop {
            if !wait(bound.as_raw_fd(), false, stopped).map_err(|errno| failed("poll", errno))? {
                return Ok(None);
            }
            let room = (bytes.as_mut_ptr(), bytes.len());
            // SAFETY: the bytes are ours.
            match unsafe { network::receive_from(bound.as_raw_fd(), room, libc::MSG_DONTWAIT, &mut peer) } {
                Ok(8) if bytes == HELLO => break,
                // This datagram is left over from the previous loop.
                Ok(8) if bytes == GOODBYE => {}
                Ok(_) => {
                    let line = format!("fio: bad udp open magic {}", wire::shown(bytes));
                    return Err(failed("udp open", Errno(libc::EPROTO)).with_message(line));
                }
                Err(Errno(libc::EAGAIN | libc::EINTR)) => {}
                Err(errno) => return Err(failed("recvfrom udp link open", errno)),
            }
        }
        let socket = bound.try_clone().map_err(|error| failed("dup", Errno::from(error)))?;
        self.settle(&socket)?;
        Ok(Some(Link { socket, peer: Some(peer) }))
    }

    /// Closes the connections.
    pub(crate) fn leave(&mut self) {
        self.links.iter().for_each(Link::take_leave);
        // Only a connection that carries data both ways needs this: a job that only receives has sent no data
        // that could be lost, and a job that only sends has none unread.
        if self.settings.reads && self.settings.writes && !self.settings.datagrams {
            let until = Instant::now() + LAST_WORDS;
            for link in &self.links {
                // The peer may already be gone, so a failure is ignored.
                let _ = link.hear_out(until);
            }
        }
        self.links.clear();
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.leave();
        let Some((path, made)) = &self.made else { return };
        let is_ours = |there: io::Result<std::fs::Metadata>| {
            there.is_ok_and(|there| there.file_type().is_socket() && (there.dev(), there.ino()) == *made)
        };
        if is_ours(std::fs::symlink_metadata(path)) {
            // If the directory's permissions do not allow the removal, the file stays, and the next listener
            // removes it.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Waits until a socket is ready for receiving or sending; false if the job was stopped.
fn wait(socket: RawFd, to_send: bool, stopped: &dyn Fn() -> bool) -> Result<bool, Errno> {
    loop {
        if stopped() {
            return Ok(false);
        }
        match wait_for_any(&[Awaited { socket, to_send }], Some(LONGEST_WAIT)) {
            Ok(true) => return Ok(true),
            Ok(false) | Err(Errno(libc::EINTR)) => {}
            Err(errno) => return Err(errno),
        }
    }
}
