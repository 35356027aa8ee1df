//! Connection parameters from the options of a job: which side listens, its address, and the operation.
//! Inconsistent options are refused with fio's messages.

use super::wire::Verb;
use fathom_errors::plain;
use fathom_run::files::FileError;
use fathom_run::plan::WorkerPlan;
use fathom_spec::JobSpec;
use fathom_spec::engines::rdma::{RdmaOptions, RdmaVerb};
use fathom_sys::Errno;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};

/// The role of a job in the connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Role {
    /// Listens on this address and follows the peer.
    Listens(SocketAddr),
    /// Connects to an address, from a given address or any, and determines the operation.
    Calls { to: SocketAddr, from: Option<SocketAddr>, verb: Verb },
}

/// The parameters of a clone's connection.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) job: String,
    pub(super) role: Role,
    /// `verb=` of a listening job, if set.
    pub(super) expected: Option<RdmaVerb>,
    /// True if blocks are verified as they arrive.
    pub(super) verifies: bool,
}

/// An invalid combination of options.
fn refusal(line: &str) -> FileError {
    FileError {
        errno: libc::EPERM,
        text: Some(String::new()),
        message: Some(format!("{line}\nfio: io engine rdma init failed.")),
    }
}

impl Settings {
    /// Parses the options and resolves names.
    pub(super) fn of(job: &JobSpec, plan: &WorkerPlan) -> Result<Settings, FileError> {
        let options = &job.private.rdma;
        let (reads, writes) = (plan.reads_data(), plan.writes_data());
        if reads && writes {
            return Err(refusal("fio: rdma connections must be read OR write"));
        }
        if plan.target_plan.random {
            return Err(refusal("fio: RDMA network IO can't be random"));
        }
        let port = options.port.ok_or_else(|| {
            refusal("fio: no port has been specified which is required for the rdma engine")
        })?;
        let sum = port.saturating_add(plan.subjob);
        let port = u16::try_from(sum).map_err(|_| {
            refusal(&format!("fathom: port={sum}, with the number of the clone added, is beyond 65535"))
        })?;
        Ok(Settings {
            job: job.name.clone(),
            role: role(options, port, writes)?,
            expected: (reads && (job.is_set("verb") || job.is_set("proto"))).then_some(options.verb),
            verifies: reads && plan.verify.is_some(),
        })
    }
}

fn role(options: &RdmaOptions, port: u16, writes: bool) -> Result<Role, FileError> {
    let bound = options.bindname.as_deref();
    if !writes {
        let own = match bound.or(options.hostname.as_deref()) {
            Some(name) => look_up(name, port)?,
            None => SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
        };
        return Ok(Role::Listens(own));
    }
    let name = options
        .hostname
        .as_deref()
        .ok_or_else(|| refusal("fathom: a job that writes connects to the one that reads: give hostname="))?;
    let verb = match options.verb {
        RdmaVerb::Read => Verb::Read,
        RdmaVerb::Send | RdmaVerb::Receive => Verb::Send,
        RdmaVerb::Write => Verb::Write,
    };
    let from = bound.map(|name| look_up(name, 0)).transpose()?;
    Ok(Role::Calls { to: look_up(name, port)?, from, verb })
}

/// The first address of a name, preferring IPv4.
fn look_up(name: &str, port: u16) -> Result<SocketAddr, FileError> {
    if let Ok(address) = name.parse::<IpAddr>() {
        return Ok(SocketAddr::from((address, port)));
    }
    let not_found = |why: &str| {
        FileError::of_engine("rdma", "gethostbyname", Errno(libc::EHOSTUNREACH))
            .with_message(format!("fathom: {name}: {why}\nfio: io engine rdma init failed."))
    };
    let found: Vec<SocketAddr> = (name, port)
        .to_socket_addrs()
        .map_err(|error| {
            let text = plain(&error);
            not_found(text.rsplit(": ").next().unwrap_or(&text))
        })?
        .collect();
    let chosen = found.iter().find(|address| address.is_ipv4()).or(found.first());
    chosen.copied().ok_or_else(|| not_found("it has no address"))
}
