//! `nbd`: a network block device, through fathom's own client of the NBD protocol (doc/proto.md of the NBD
//! project). One call sends all requests of a batch, and one call receives all available replies. Calls block
//! only when the loop waits. `uri.rs` parses the URI, `handshake.rs` negotiates, `connection.rs` moves data.

mod connection;
mod error;
mod handshake;
mod storage;
#[cfg(test)]
mod tests;
mod uri;
mod wire;

use crate::net::socket::Address;
use connection::{Broken, Connection, HANDSHAKE_LIMIT, InFlight, Listener, slot_of};
use fathom_run::engine::{Completions, Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::storage::{Handle, Storage, SyncKind};
use fathom_run::unit::Operation;
use fathom_spec::JobSpec;
use fathom_spec::engines::nbd::WriteMode;
use fathom_spec::engines::{self, EngineDef};
use fathom_spec::options::io_type::SyncMode;
use fathom_sys::Errno;
use fathom_sys::socket::{self, Awaited, Wait};
use std::any::Any;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use storage::Volume;
use uri::ExportUri;
pub(crate) use uri::files as files_of;
use wire::{Command, Request, flag, transmission};

/// Maximum number of bytes of requests that are held back for batching.
const HELD_BACK: usize = 128 << 10;
/// Interval between two attempts to reconnect.
const RETRY_PAUSE: Duration = Duration::from_millis(50);
/// Timeout of each attempt to reconnect.
const RETRY_LIMIT: Duration = Duration::from_secs(5);

/// Maximum time for which servers may send replies after the end of the job.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A connection, or what remains of one.
struct Link {
    connection: Option<Connection>,
    lost: Option<Lost>,
}

/// A connection that is to be restored.
struct Lost {
    since: Instant,
    next_try: Instant,
    why: String,
}

/// The engine.
pub(crate) struct Nbd {
    job: String,
    target: ExportUri,
    links: Vec<Link>,
    /// I/Os in flight, indexed by slot; the last one is for a sync outside of the loop.
    units: Box<[InFlight]>,
    sync_result: Option<i64>,
    /// Completions that needed no reply from the server.
    ended: VecDeque<(u32, i64)>,
    /// For each slot, the cookie and the server's error text.
    explained: Vec<Option<(u64, String)>>,
    awaited: Vec<Awaited>,
    write: Command,
    write_flags: u16,
    smallest: u32,
    flags: u16,
    next_link: usize,
    requests: u32,
    queued: u32,
    /// Number of unsent bytes from which requests are sent without further batching.
    held_back: usize,
    reconnect: Duration,
    remarks: Vec<String>,
}

impl EngineType for Nbd {
    const DEFINITION: &'static EngineDef = &engines::nbd::DEFINITION;

    fn storage(job: &JobSpec) -> Box<dyn Storage> {
        Box::new(Volume::new(job.private.nbd.uri.as_deref()))
    }

    fn new(setup: &Setup<'_>) -> Result<Nbd, SetupError> {
        let options = &setup.job.private.nbd;
        let target = ExportUri::parse(options.uri.as_deref().unwrap_or(""))
            .map_err(|error| refused(Errno(libc::EINVAL), error.to_string()))?;
        let storage: &dyn Any = setup.storage;
        let held = storage.downcast_ref::<Volume>().and_then(Volume::take_connection);
        let first = match held {
            Some(connection) => connection,
            None => connect(&target)?,
        };
        let export = first.export;
        let shares_export = options.connections > 1 || setup.shares_descriptors;
        check(setup, &first, shares_export)?;
        let mut links = vec![Link { connection: Some(first), lost: None }];
        for _ in 1..options.connections.max(1) {
            links.push(Link { connection: Some(connect(&target)?), lost: None });
        }
        let (depth, count) = (setup.depth as usize, links.len());
        let is_local = matches!(target.address, Address::Unix(_));
        let durable = setup.job.io_type.sync != SyncMode::None;
        Ok(Nbd {
            job: setup.job.name.clone(),
            target,
            links,
            units: vec![InFlight::NONE; depth + 1].into(),
            sync_result: None,
            ended: VecDeque::with_capacity(depth),
            explained: vec![None; depth + 1],
            awaited: Vec::with_capacity(count),
            write: match options.write_mode {
                WriteMode::Write => Command::Write,
                WriteMode::Zeroes => Command::WriteZeroes,
            },
            write_flags: if durable { flag::FUA } else { 0 },
            smallest: export.block_sizes.map_or(1, |(smallest, _)| smallest.max(1)),
            flags: export.flags,
            next_link: 0,
            requests: 0,
            queued: 0,
            // On a local socket, requests are not held back: a call is cheap, and the server can begin
            // immediately.
            held_back: if is_local { 0 } else { HELD_BACK },
            reconnect: options.reconnect,
            remarks: first_remarks(setup),
        })
    }
}

impl Engine for Nbd {
    #[inline]
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        let (command, flags, length) = match io.operation() {
            Operation::Read => (Command::Read, 0, io.length()),
            Operation::Write => (self.write, self.write_flags, io.length()),
            Operation::Trim if self.flags & transmission::TRIM != 0 => (Command::Trim, 0, io.length()),
            Operation::Sync | Operation::DataSync | Operation::RangeSync
                if self.flags & transmission::FLUSH != 0 =>
            {
                (Command::Flush, 0, 0)
            }
            _ => return self.refuse(slot, "the export has no such command"),
        };
        let offset = if command == Command::Flush { 0 } else { io.offset() };
        if self.smallest > 1 && (offset | u64::from(length)) % u64::from(self.smallest) != 0 {
            return self.refuse(slot, "the export takes whole blocks only, see its block size");
        }
        let Some(link) = self.choose_link() else {
            self.explain(slot, "the connection is lost");
            return Queued::Done(-i64::from(libc::ESHUTDOWN));
        };
        self.requests = self.requests.wrapping_add(1);
        let cookie = u64::from(self.requests) << 32 | u64::from(slot);
        let unit =
            InFlight::new(Request { flags, command, cookie, offset, length }, io.buffer(), link as u32);
        self.units[slot as usize] = unit;
        // If the connection is being restored, the request is sent later, together with all others.
        if let Some(connection) = &mut self.links[link].connection {
            connection.add(&unit);
        }
        self.queued += 1;
        Queued::Pending
    }

    /// Over TCP, requests are sent when the loop next polls for completions, which it does before any wait. The
    /// requests that replace simultaneous completions are then sent in one call, and in one segment. If many
    /// bytes are pending, they are sent immediately, long before the socket could fill up.
    #[inline]
    fn commit(&mut self) -> Result<u32, Errno> {
        for index in 0..self.links.len() {
            let is_due = |connection: &Connection| connection.unsent() >= self.held_back;
            if self.links[index].connection.as_ref().is_some_and(is_due) {
                self.send(index);
            }
        }
        Ok(std::mem::take(&mut self.queued))
    }

    #[inline]
    fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        self.collect(min, if min == 0 { Some(Duration::ZERO) } else { None }, out)
    }

    fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        self.collect(1, Some(span), out)
    }

    fn sync_now(&mut self, handle: Handle, _: SyncKind) -> Option<Result<(), Errno>> {
        let slot = self.units.len() as u32 - 1;
        let io = Io::sync(0, handle);
        let mut others = Completions::default();
        let result = match self.queue(slot, &io) {
            Queued::Done(result) => result,
            Queued::Pending => {
                self.queued -= 1;
                self.send(self.units[slot as usize].connection as usize);
                loop {
                    if let Some(result) = self.sync_result.take() {
                        break result;
                    }
                    others.begin(1);
                    match self.collect(1, None, &mut others) {
                        Ok(()) | Err(Errno(libc::EINTR)) => {}
                        Err(errno) => break -i64::from(errno.0),
                    }
                    // Completions of other I/Os are kept until the loop asks for them.
                    self.ended.extend(others.list().iter().map(|end| (end.slot, end.result)));
                }
            }
        };
        Some(if result < 0 { Err(Errno(-result as i32)) } else { Ok(()) })
    }

    fn wrote_zeroes(&self, _slot: u32) -> bool {
        self.write == Command::WriteZeroes
    }

    fn protocol_status(&mut self, slot: u32) -> Option<String> {
        let cookie = self.units[slot as usize].request.cookie;
        self.explained[slot as usize].take().filter(|(about, _)| *about == cookie).map(|(_, text)| text)
    }

    fn remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    fn features(&self) -> Vec<&'static str> {
        let mut features = Vec::new();
        let connections = || self.links.iter().filter_map(|link| link.connection.as_ref());
        if connections().any(|connection| connection.is_encrypted()) {
            features.push("TLS");
        }
        if connections().any(|connection| connection.export.structured) {
            features.push("structured replies");
        }
        if self.links.len() > 1 {
            features.push("several connections");
        }
        features
    }
}

impl Nbd {
    /// Refuses an I/O that the export does not support.
    #[cold]
    fn refuse(&mut self, slot: u32, why: &str) -> Queued {
        self.units[slot as usize] = InFlight::NONE;
        self.explain(slot, why);
        Queued::Done(-i64::from(libc::EOPNOTSUPP))
    }

    /// The next connection, round-robin; `None` if all are permanently lost.
    #[inline]
    fn choose_link(&mut self) -> Option<usize> {
        let count = self.links.len();
        for _ in 0..count {
            let link = self.next_link;
            self.next_link = if link + 1 == count { 0 } else { link + 1 };
            if self.links[link].connection.is_some() || self.links[link].lost.is_some() {
                return Some(link);
            }
        }
        None
    }

    #[inline]
    fn send(&mut self, link: usize) {
        if let Some(connection) = &mut self.links[link].connection
            && let Err(broken) = connection.send(Wait::Never)
        {
            self.lose(link, &broken);
        }
    }

    /// Lists completions until `min` are listed, `out` is full, nothing is in flight, or the timeout expires.
    fn collect(&mut self, min: u32, span: Option<Duration>, out: &mut Completions) -> Result<(), Errno> {
        let until = span.filter(|span| !span.is_zero()).map(|span| Instant::now() + span);
        for index in 0..self.links.len() {
            self.send(index);
        }
        loop {
            self.list_ended(out);
            if min > 0 && out.len() as u32 >= min || out.room() == 0 {
                return Ok(());
            }
            let received = self.receive(span.is_none(), out);
            self.list_ended(out);
            let is_idle = || self.units.iter().all(InFlight::is_free);
            if out.len() as u32 >= min || out.room() == 0 || self.sync_result.is_some() {
                return Ok(());
            }
            match received {
                Received::Something => continue,
                Received::Signal => return Err(Errno(libc::EINTR)),
                Received::Nothing => {}
            }
            let left = match until {
                None if span.is_some() => return Ok(()),
                None => None,
                Some(until) => Some(until.saturating_duration_since(Instant::now())),
            };
            if left.is_some_and(|left| left.is_zero()) || is_idle() {
                return Ok(());
            }
            self.wait(left)?;
        }
    }

    fn list_ended(&mut self, out: &mut Completions) {
        while out.room() > 0
            && let Some((slot, result)) = self.ended.pop_front()
        {
            out.push(slot, result);
        }
    }

    /// Receives from the servers. Blocks only if there is a single connection that has no data to send.
    #[inline]
    fn receive(&mut self, may_wait: bool, out: &mut Completions) -> Received {
        let is_only = self.links.len() == 1;
        let mut found = Received::Nothing;
        for index in 0..self.links.len() {
            let Some(connection) = &mut self.links[index].connection else { continue };
            if connection.in_flight == 0 {
                continue;
            }
            let may_wait = may_wait && is_only;
            if may_wait
                && connection.is_alone()
                && let Err(broken) = connection.send(Wait::Allowed)
            {
                self.lose(index, &broken);
                continue;
            }
            let waits = may_wait && connection.may_wait();
            let mut listener = Ends {
                link: index as u32,
                units: &mut self.units,
                explained: &mut self.explained,
                sync_result: &mut self.sync_result,
                outlasts_servers: !self.reconnect.is_zero(),
                out,
            };
            let wait = if waits { Wait::Allowed } else { Wait::Never };
            match connection.receive(&mut listener, wait).and_then(|()| connection.send(Wait::Never)) {
                Ok(()) => found = Received::Something,
                Err(Broken::Socket(Errno(libc::EAGAIN))) => {}
                Err(Broken::Socket(Errno(libc::EINTR))) => return Received::Signal,
                Err(broken) => self.lose(index, &broken),
            }
        }
        found
    }

    /// Waits until a connection is ready.
    fn wait(&mut self, left: Option<Duration>) -> Result<(), Errno> {
        let mut span = left;
        for index in 0..self.links.len() {
            if let Some(next_try) = self.try_again(index) {
                span = Some(span.map_or(next_try, |span| span.min(next_try)));
            }
            self.send(index);
        }
        if !self.ended.is_empty() {
            return Ok(());
        }
        self.awaited.clear();
        let connections = self.links.iter().filter_map(|link| link.connection.as_ref());
        self.awaited.extend(connections.map(Connection::awaited));
        socket::wait_for_any(&self.awaited, span).map(|_| ())
    }

    /// Handles the loss of a connection: its I/Os fail, or wait for a new connection.
    #[cold]
    fn lose(&mut self, link: usize, broken: &Broken) {
        self.links[link].connection = None;
        if self.reconnect.is_zero() {
            return self.give_up(link, &format!("{}: {broken}", self.target));
        }
        let now = Instant::now();
        self.links[link].lost = Some(Lost { since: now, next_try: now, why: broken.to_string() });
    }

    /// Ends all I/Os of a connection.
    fn give_up(&mut self, link: usize, why: &str) {
        self.links[link].lost = None;
        for slot in 0..self.units.len() {
            let unit = &mut self.units[slot];
            if unit.is_free() || unit.connection != link as u32 {
                continue;
            }
            unit.free();
            self.explain(slot as u32, why);
            let result = -i64::from(libc::ESHUTDOWN);
            if slot + 1 == self.units.len() {
                self.sync_result = Some(result);
            } else {
                self.ended.push_back((slot as u32, result));
            }
        }
    }

    /// Tries to restore a lost connection if an attempt is due; returns the time until the next attempt.
    fn try_again(&mut self, link: usize) -> Option<Duration> {
        let lost = self.links[link].lost.as_mut()?;
        let now = Instant::now();
        if lost.next_try > now {
            return Some(lost.next_try - now);
        }
        let gone = now - lost.since;
        let limit = RETRY_LIMIT.min(self.reconnect.saturating_sub(gone)).max(RETRY_PAUSE);
        let again = Connection::open(&self.target, limit);
        let why = match again {
            Ok(connection) => match self.is_same_export(&connection) {
                true => {
                    self.take_up(link, connection);
                    return None;
                }
                false => "the export is another one now".to_owned(),
            },
            Err(error) => error.to_string(),
        };
        let lost = self.links[link].lost.as_mut()?;
        if lost.since.elapsed() >= self.reconnect {
            let text = format!("{}: {}; not back after {:?}: {why}", self.target, lost.why, self.reconnect);
            self.give_up(link, &text);
            return None;
        }
        lost.next_try = Instant::now() + RETRY_PAUSE;
        Some(RETRY_PAUSE)
    }

    fn is_same_export(&self, connection: &Connection) -> bool {
        let size = self
            .units
            .iter()
            .filter(|unit| !unit.is_free())
            .map(|unit| unit.request.offset + u64::from(unit.request.length));
        connection.export.flags == self.flags && size.max().unwrap_or(0) <= connection.export.size
    }

    /// Continues after a connection was restored: all requests that were in flight are sent again, in the same
    /// order.
    fn take_up(&mut self, link: usize, mut connection: Connection) {
        let mut again: Vec<&mut InFlight> =
            self.units.iter_mut().filter(|unit| !unit.is_free() && unit.connection == link as u32).collect();
        again.sort_by_key(|unit| unit.request.cookie);
        for unit in &mut again {
            unit.begin_anew();
            connection.add(unit);
        }
        let count = again.len();
        if let Some(lost) = self.links[link].lost.take() {
            self.remarks.push(format!(
                "fathom: job {}: {}: the connection was lost ({}) and back after {:.3} s; I/Os sent again: {count}",
                self.job,
                self.target,
                lost.why,
                lost.since.elapsed().as_secs_f64()
            ));
        }
        self.links[link].connection = Some(connection);
        self.send(link);
    }

    fn explain(&mut self, slot: u32, text: &str) {
        let cookie = self.units[slot as usize].request.cookie;
        self.explained[slot as usize] = Some((cookie, text.to_owned()));
    }
}

impl Drop for Nbd {
    fn drop(&mut self) {
        let links = self.links.iter_mut();
        let mut connections: Vec<&mut Connection> =
            links.filter_map(|link| link.connection.as_mut()).collect();
        connections.iter_mut().for_each(|connection| connection.take_leave());
        let until = Instant::now() + LAST_WORDS;
        connections.iter_mut().for_each(|connection| connection.hear_out(until));
    }
}

/// Result of receiving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Received {
    /// Bytes were received. There may be more, possibly only inside the TLS layer, which does not make the
    /// socket ready.
    Something,
    /// Nothing was received on any connection.
    Nothing,
    /// A signal arrived.
    Signal,
}

/// The list that receives the completions of one reap.
struct Ends<'a> {
    link: u32,
    units: &'a mut [InFlight],
    explained: &'a mut [Option<(u64, String)>],
    sync_result: &'a mut Option<i64>,
    outlasts_servers: bool,
    out: &'a mut Completions,
}

impl Listener for Ends<'_> {
    #[inline]
    fn find(&mut self, cookie: u64) -> Option<&mut InFlight> {
        let unit = self.units.get_mut(slot_of(cookie) as usize)?;
        (unit.request.cookie == cookie && unit.connection == self.link).then_some(unit)
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.out.room() > 0
    }

    fn outlasts_servers(&self) -> bool {
        self.outlasts_servers
    }

    #[inline]
    fn ended(&mut self, cookie: u64, result: i64) {
        let slot = slot_of(cookie);
        self.units[slot as usize].free();
        if slot as usize + 1 == self.units.len() {
            *self.sync_result = Some(result);
        } else {
            self.out.push(slot, result);
        }
    }

    fn explained(&mut self, cookie: u64, text: &str) {
        let text = text.trim().replace(char::is_control, " ");
        self.explained[slot_of(cookie) as usize] = Some((cookie, text)).filter(|(_, text)| !text.is_empty());
    }
}

fn refused(errno: Errno, sentence: String) -> SetupError {
    SetupError::new(errno, "nbd_connect").with_advice(sentence)
}

fn connect(target: &ExportUri) -> Result<Connection, SetupError> {
    Connection::open(target, HANDSHAKE_LIMIT)
        .map_err(|error| refused(error.errno(), format!("{target}: {error}")))
}

/// Refuses a job whose requirements the export does not meet.
fn check(setup: &Setup<'_>, connection: &Connection, shares_export: bool) -> Result<(), SetupError> {
    let export = connection.export;
    let options = &setup.job.private.nbd;
    if setup.writes && export.is_read_only() {
        return Err(refused(Errno(libc::EROFS), "the export is read-only".to_owned()));
    }
    if setup.writes && shares_export && !export.can(transmission::MULTI_CONN) {
        return Err(refused(
            Errno(libc::EOPNOTSUPP),
            "the server does not promise that a flush on one connection covers writes on others (multi-conn), so a job that \
             writes has one connection there: leave out connections= and io_submit_mode=offload, or use numjobs="
                .to_owned(),
        ));
    }
    if setup.job.io_type.sync != SyncMode::None && setup.writes && !export.can(transmission::FUA) {
        return Err(refused(
            Errno(libc::EOPNOTSUPP),
            "the export cannot make single writes durable (FUA), which sync= wants; use fsync=1".to_owned(),
        ));
    }
    if options.write_mode == WriteMode::Zeroes && setup.writes && !export.can(transmission::WRITE_ZEROES) {
        return Err(refused(Errno(libc::EOPNOTSUPP), "the export has no command to write zeroes".to_owned()));
    }
    match export.block_sizes {
        Some((_, largest)) if setup.buffers.length() as u64 > u64::from(largest) => Err(refused(
            Errno(libc::EINVAL),
            format!("the export accepts at most {largest} bytes per request; use a smaller bs="),
        )),
        _ => Ok(()),
    }
}

/// Messages for the user when the job starts.
fn first_remarks(setup: &Setup<'_>) -> Vec<String> {
    let mut remarks = vec!["fio: connected to NBD server".to_owned()];
    let job = &setup.job.name;
    if setup.job.file.filename.is_some() {
        remarks.push(format!("fathom: job {job}: filename= names nothing here: the export is in uri="));
    }
    if setup.files.len() > 1 {
        remarks.push(format!(
            "fathom: job {job}: its {} files are one export, so their I/Os meet in the same places",
            setup.files.len()
        ));
    }
    remarks
}
