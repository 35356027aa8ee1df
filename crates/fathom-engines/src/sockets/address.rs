//! Socket parameters from the options of a job: address family, which side listens, and the peer's address.
//! Inconsistent options are refused with fio's messages.

use fathom_errors::plain;
use fathom_run::files::FileError;
use fathom_run::plan::WorkerPlan;
use fathom_spec::JobSpec;
use fathom_spec::engines::net::{self, NetOptions, NetProtocol};
use fathom_sys::Errno;
use fathom_sys::network::Address;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

/// Role of a socket.
#[derive(Clone, Debug)]
pub(crate) enum Role {
    /// Listens on this address.
    Listens(Address),
    /// Connects to this address.
    Calls(Address),
}

/// The parameters of a clone's sockets.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The engine's name, for messages.
    pub(crate) engine: String,
    /// `AF_*`
    pub(crate) family: i32,
    /// True for datagrams instead of a stream.
    pub(crate) datagrams: bool,
    /// True over TCP, for which buffer sizes and a local address can be set.
    pub(crate) over_tcp: bool,
    pub(crate) role: Role,
    /// Path of a Unix socket.
    pub(crate) path: Option<PathBuf>,
    /// The multicast group to which datagrams are sent, or from which they are received.
    pub(crate) group: Option<Ipv4Addr>,
    /// Its interface.
    pub(crate) interface: Option<Ipv4Addr>,
    pub(crate) options: NetOptions,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    /// True if a block may be delayed because more blocks follow immediately.
    pub(crate) gathers: bool,
}

/// fio's message about an invalid combination of options.
fn refusal(engine: &str, line: &str) -> FileError {
    FileError {
        errno: libc::EPERM,
        text: Some(String::new()),
        message: Some(format!("{line}\nfio: io engine {engine} init failed.")),
    }
}

/// The error of a call during setup.
pub(crate) fn failed_set_up(engine: &str, call: &str, errno: Errno) -> FileError {
    FileError::of_engine("net", call, errno).with_message(format!("fio: io engine {engine} init failed."))
}

/// The error of a call on a connection.
pub(crate) fn failed(call: &str, errno: Errno) -> FileError {
    FileError::of_engine("net", call, errno)
}

impl Settings {
    /// Parses the options; names are resolved.
    pub(crate) fn of(job: &JobSpec, plan: &WorkerPlan) -> Result<Settings, FileError> {
        let engine = job.engine.ioengine.name.clone();
        let options = job.private.net.clone();
        let (reads, writes) = (plan.reads_data(), plan.writes_data());
        check(job, &options, plan.target_plan.random, reads && writes)
            .map_err(|line| refusal(&engine, line))?;
        let protocol = options.protocol;
        let datagrams = matches!(protocol, NetProtocol::Udp | NetProtocol::UdpV6);
        let family = match protocol {
            NetProtocol::Tcp | NetProtocol::Udp => libc::AF_INET,
            NetProtocol::TcpV6 | NetProtocol::UdpV6 => libc::AF_INET6,
            NetProtocol::Unix => libc::AF_UNIX,
            NetProtocol::Vsock => libc::AF_VSOCK,
        };
        let mut settings = Settings {
            engine,
            family,
            datagrams,
            over_tcp: matches!(protocol, NetProtocol::Tcp | NetProtocol::TcpV6),
            role: Role::Calls(Address::vsock(0, 0)),
            path: net::socket_path(job),
            group: None,
            interface: None,
            // Datagrams are never delayed, because that would merge several into one.
            gathers: !datagrams && gathers(&options, plan),
            options,
            reads,
            writes,
        };
        settings.role = match (&settings.path, family) {
            (Some(path), _) => {
                let address = Address::unix(path).map_err(|errno| {
                    failed_set_up(&settings.engine, &format!("socket({})", path.display()), errno)
                })?;
                if reads { Role::Listens(address) } else { Role::Calls(address) }
            }
            (None, libc::AF_VSOCK) => settings.vsock_role(plan.subjob)?,
            _ => settings.internet_role(plan.subjob)?,
        };
        Ok(settings)
    }

    /// The port of a clone.
    fn port(&self, subjob: u32) -> u32 {
        self.options.port.unwrap_or(0).saturating_add(subjob)
    }

    fn vsock_role(&self, subjob: u32) -> Result<Role, FileError> {
        let port = self.port(subjob);
        if self.options.listen {
            if self.options.hostname.is_some() {
                return Err(self.refuse_hostname());
            }
            return Ok(Role::Listens(Address::vsock(libc::VMADDR_CID_ANY, port)));
        }
        let name = self.options.hostname.as_deref().ok_or_else(|| self.refuse_no_host())?;
        let cid = name.parse().map_err(|_| {
            let line = format!(
                "fathom: hostname={name}: a context identifier is a number: 1 is this machine, 2 its host"
            );
            refusal(&self.engine, &line)
        })?;
        Ok(Role::Calls(Address::vsock(cid, port)))
    }

    fn internet_role(&mut self, subjob: u32) -> Result<Role, FileError> {
        let port = self.port(subjob);
        let Ok(port) = u16::try_from(port) else {
            let line = format!("fathom: port={port}, with the number of the clone added, is beyond 65535");
            return Err(refusal(&self.engine, &line));
        };
        let is_v6 = self.family == libc::AF_INET6;
        let hostname = self.options.hostname.clone();
        self.interface = match &self.options.interface {
            Some(text) => Some(
                text.parse().map_err(|_| refusal(&self.engine, "fio: interface not valid interface IP"))?,
            ),
            None => None,
        };
        let group = hostname.as_deref().and_then(|name| name.parse().ok()).filter(Ipv4Addr::is_multicast);
        self.group = group.filter(|_| self.datagrams && !is_v6);
        let listens = if self.datagrams { self.reads } else { self.options.listen };
        if listens {
            let place = match (self.group, &hostname) {
                (Some(group), _) => SocketAddr::from((group, port)),
                (None, Some(_)) => return Err(self.refuse_hostname()),
                (None, None) if is_v6 => SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
                (None, None) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
            };
            return Ok(Role::Listens(Address::internet(place)));
        }
        let name = hostname.ok_or_else(|| self.refuse_no_host())?;
        let not_found =
            |why: &str| failed_set_up(&self.engine, &format!("getaddrinfo: {why}"), Errno(libc::EINVAL));
        let found = (name.as_str(), port).to_socket_addrs().map_err(|error| {
            let text = plain(&error);
            not_found(text.rsplit(": ").next().unwrap_or(&text))
        })?;
        let place = found
            .into_iter()
            .find(|place| place.is_ipv6() == is_v6)
            .ok_or_else(|| not_found("Address family for hostname not supported"))?;
        Ok(Role::Calls(Address::internet(place)))
    }

    fn refuse_hostname(&self) -> FileError {
        refusal(&self.engine, "fio: hostname not valid for non-multicast inbound network IO")
    }

    fn refuse_no_host(&self) -> FileError {
        let errno = Errno(libc::EINVAL);
        let forgotten = if self.reads { "\nfio: did you forget to set 'listen'?" } else { "" };
        FileError::of_engine("net", "no hostname= set", errno).with_message(format!(
            "fio: connect with no host to connect to.{forgotten}\nfio: io engine {} init failed.",
            self.engine
        ))
    }
}

/// True if blocks that follow immediately may share packets. Blocks that are timed, answered or explicitly sent
/// alone must not be delayed.
fn gathers(options: &NetOptions, plan: &WorkerPlan) -> bool {
    let is_paced = plan.pace.is_some() || plan.arrivals.is_some() || plan.flow.is_some();
    !options.nodelay && !options.pingpong && !is_paced && plan.replay.is_none()
}

fn check(
    job: &JobSpec,
    options: &NetOptions,
    is_random: bool,
    both_directions: bool,
) -> Result<(), &'static str> {
    let is_unix = options.protocol == NetProtocol::Unix;
    let is_datagram = matches!(options.protocol, NetProtocol::Udp | NetProtocol::UdpV6);
    if is_random {
        return Err("fio: network IO can't be random");
    }
    if is_unix && options.port.is_some() {
        return Err("fio: network IO port not valid with unix socket");
    }
    if !is_unix && options.port.is_none() {
        return Err(match options.protocol {
            NetProtocol::Vsock => "fio: network IO requires port for vsock",
            _ => "fio: network IO requires port for tcp or udp",
        });
    }
    if options.listen && (is_unix || is_datagram) {
        return Err("fio: listen only valid for TCP proto IO");
    }
    if both_directions && (is_unix || is_datagram) {
        return Err("fio: datagram network connections must be read OR write");
    }
    if is_unix && net::socket_path(job).is_none() {
        return Err("fio: UNIX sockets need host/filename");
    }
    Ok(())
}
