//! `rdma`: blocks to and from the memory of another machine, through librdmacm and libibverbs, which are loaded
//! when a job needs them.
//!
//! `verbs.rs` declares the libraries' functions, `settings.rs` reads the options, `connection.rs` establishes
//! the connection and its queues, and `wire.rs` defines the messages besides the data. The connecting job
//! determines the operation. With `send`, each block is a message that the other side receives; with `write`
//! and `read`, the other side's device acts alone, and its job only waits for the end.

mod connection;
mod settings;
mod verbs;
mod wire;

use connection::{Connection, LONGEST_WAIT, MESSAGE_RECEIVED, MESSAGE_SENT, Waited};
use fathom_run::engine::{Completions, Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::files::FileError;
use fathom_run::plan::WorkerPlan;
use fathom_run::storage::Storage;
use fathom_run::storage::nowhere::Nowhere;
use fathom_run::unit::Operation;
use fathom_spec::JobSpec;
use fathom_spec::engines::rdma::RdmaVerb;
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::Errno;
use settings::{Role, Settings};
use std::any::Any;
use std::collections::VecDeque;
use std::ptr::null_mut;
use std::time::{Duration, Instant};
use verbs::{Piece, ReceiveRequest, SendRequest, WorkCompletion, access, event, operation, status};
use wire::{Buffer, Greeting, Verb};

/// Time that a sender waits before its first block, as fio does: a listening fio does not announce when it is
/// ready to receive.
const READINESS: Duration = Duration::from_millis(500);
/// Maximum time for which the peer is notified of the end.
const FAREWELL: Duration = Duration::from_secs(5);
/// Maximum number of completions per poll.
const BATCH: usize = 64;
/// Busy-polling jobs check the connection after this many empty polls.
const LOOKS: u32 = 64;

/// Prepares this side of the connection: its parameters, and the address on which it listens or from which it
/// connects. All files share one connection.
fn open(job: &JobSpec, plan: &WorkerPlan) -> Result<(Settings, Connection), FileError> {
    let settings = Settings::of(job, plan)?;
    let mut connection = Connection::open()?;
    if let Role::Listens(own) = settings.role {
        connection.listen(own)?;
    }
    Ok((settings, connection))
}

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Blocks can be transferred.
    Open,
    /// The peer has announced the end, or disconnected.
    AtEnd,
    /// Transfers are over; holds the result of all further blocks.
    Ended(i64),
}

/// The buffers of the job.
struct Arena {
    first: *mut u8,
    stride: usize,
    buffer_length: usize,
    count: usize,
}

impl Arena {
    fn length(&self) -> usize {
        self.stride * self.count.saturating_sub(1) + self.buffer_length
    }

    /// True if the whole range is inside the buffers.
    fn holds(&self, bytes: *mut u8, length: u32) -> bool {
        let (first, place) = (self.first as usize, bytes as usize);
        place >= first && place + length as usize <= first + self.length()
    }
}

/// The engine.
pub(crate) struct Rdma {
    connection: Connection,
    settings: Settings,
    arena: Arena,
    /// The operation, once the peer has announced it.
    verb: Option<Verb>,
    /// Memory that the peer makes available.
    theirs: Vec<Buffer>,
    /// For each slot, the send or receive request of a block, and its piece of memory.
    sends: Box<[SendRequest]>,
    receives: Box<[ReceiveRequest]>,
    pieces: Box<[Piece]>,
    /// Slots that have not been submitted, oldest first.
    queued: VecDeque<u32>,
    /// Completions that have not been listed.
    ended: VecDeque<(u32, i64)>,
    /// Space for a batch of completions. It is kept, because each I/O polls several times.
    found: Box<[WorkCompletion]>,
    /// Blocks whose completion waits until the peer no longer accesses this side's memory.
    waiting: Vec<u32>,
    in_flight: usize,
    standing: Standing,
    why: Option<String>,
    /// Greetings that were sent or received, with their lengths.
    messages: Vec<(u64, u32)>,
    /// True if the peer has disconnected.
    is_left: bool,
    looks: u32,
}

impl EngineType for Rdma {
    const DEFINITION: &'static EngineDef = &engines::rdma::DEFINITION;

    fn storage(job: &JobSpec) -> Box<dyn Storage> {
        let job = job.clone();
        Box::new(Nowhere::opening(move |plan| open(&job, plan)))
    }

    fn new(setup: &Setup<'_>) -> Result<Rdma, SetupError> {
        let storage: &dyn Any = setup.storage;
        let opened = storage.downcast_ref::<Nowhere<(Settings, Connection)>>().and_then(Nowhere::take);
        let (settings, connection) =
            opened.ok_or_else(|| SetupError::new(Errno(libc::EBADF), "rdma_create_id"))?;
        let count = setup.depth as usize;
        let empty = ReceiveRequest { number: 0, next: null_mut(), pieces: null_mut(), piece_count: 1 };
        let (first, stride, buffer_length) =
            (setup.buffers.first(), setup.buffers.stride(), setup.buffers.length());
        Ok(Rdma {
            connection,
            settings,
            arena: Arena { first, stride, buffer_length, count },
            verb: None,
            theirs: Vec::new(),
            sends: vec![SendRequest::empty(); count].into(),
            receives: vec![empty; count].into(),
            pieces: vec![Piece::default(); count].into(),
            queued: VecDeque::with_capacity(count),
            ended: VecDeque::with_capacity(count),
            found: vec![WorkCompletion::default(); BATCH].into(),
            waiting: Vec::with_capacity(count),
            in_flight: 0,
            standing: Standing::Open,
            why: None,
            messages: Vec::new(),
            is_left: false,
            looks: 0,
        })
    }
}

impl Engine for Rdma {
    fn waits_for_peers(&self) -> bool {
        true
    }

    /// Connects in the first loop of a job only: all loops share one connection, because blocks of the next
    /// loop may be in flight together with the last ones of this loop.
    fn meet(&mut self, stopped: &dyn Fn() -> bool, say: &dyn Fn(&str)) -> Result<(), FileError> {
        if self.verb.is_some() {
            return Ok(());
        }
        if let Role::Listens(_) = self.settings.role {
            say("fio: waiting for connection");
        }
        let is_there = self.connection.connect(&self.settings.role, self.arena.count, stopped)?;
        if is_there { self.greet(stopped) } else { Ok(()) }
    }

    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        let calls = matches!(self.settings.role, Role::Calls { .. });
        match io.operation() {
            Operation::Write if calls => {}
            Operation::Read if !calls => {}
            // A replayed log may contain any operation.
            Operation::Read | Operation::Write | Operation::Trim => {
                return Queued::Done(-i64::from(libc::EOPNOTSUPP));
            }
            _ => return Queued::Done(0),
        }
        if let Some(result) = self.result() {
            return Queued::Done(result);
        }
        if !self.arena.holds(io.buffer(), io.length()) {
            return Queued::Done(-i64::from(libc::EFAULT));
        }
        let key = self.connection.keys().0;
        self.pieces[slot as usize] = Piece { address: io.buffer() as u64, length: io.length(), key };
        self.queued.push_back(slot);
        Queued::Pending
    }

    fn commit(&mut self) -> Result<u32, Errno> {
        let count = self.queued.len() as u32;
        if let Some(result) = self.result() {
            self.ended.extend(self.queued.drain(..).map(|slot| (slot, result)));
            return Ok(count);
        }
        match self.settings.role {
            Role::Calls { verb, .. } => self.hand_over_sends(verb),
            Role::Listens(_) if self.verb.is_some_and(Verb::is_one_sided) => {
                self.waiting.extend(self.queued.drain(..));
                Ok(count)
            }
            Role::Listens(_) => self.hand_over_receives(),
        }
    }

    fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        self.collect(min, LONGEST_WAIT, out)
    }

    fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        self.collect(1, span.min(LONGEST_WAIT), out)
    }

    fn is_at_end(&self) -> bool {
        self.standing == Standing::AtEnd
    }

    fn cancel(&mut self) {
        self.end(Standing::Ended(-i64::from(libc::ECANCELED)), None);
    }

    fn protocol_status(&mut self, _slot: u32) -> Option<String> {
        self.why.clone()
    }

    fn remarks(&mut self) -> Vec<String> {
        let (Some(expected), Some(verb)) = (self.settings.expected, self.verb) else { return Vec::new() };
        let fits = match expected {
            RdmaVerb::Write => verb == Verb::Write,
            RdmaVerb::Read => verb == Verb::Read,
            RdmaVerb::Send | RdmaVerb::Receive => verb == Verb::Send,
        };
        self.settings.expected = None;
        let line = format!(
            "fathom: job {}: its verb= has no effect: the writing side determines it, and does verb={}",
            self.settings.job,
            verb.word()
        );
        if fits { Vec::new() } else { vec![line] }
    }
}

impl Rdma {
    /// The result of all blocks after transfers have ended; `None` before.
    #[inline(always)]
    fn result(&self) -> Option<i64> {
        match self.standing {
            Standing::Open => None,
            Standing::AtEnd => Some(0),
            Standing::Ended(result) => Some(result),
        }
    }

    /// Exchanges greetings with the peer.
    fn greet(&mut self, stopped: &dyn Fn() -> bool) -> Result<(), FileError> {
        let (calls, verb) = match self.settings.role {
            Role::Calls { verb, .. } => (true, Some(verb)),
            Role::Listens(_) => (false, None),
        };
        if let Some(verb) = verb {
            self.say(verb, true)?;
            if self.await_message(MESSAGE_SENT, stopped)?.is_none() {
                return Ok(());
            }
        }
        let Some(length) = self.await_message(MESSAGE_RECEIVED, stopped)? else { return Ok(()) };
        let greeting = self
            .connection
            .message(length)
            .ok_or_else(|| failed(libc::EPROTO, "the peer does not speak fio's protocol"))?;
        let verb = match verb {
            Some(verb) => verb,
            None => {
                let verb = greeting.verb.ok_or_else(|| {
                    failed(libc::EPROTO, "the peer does not announce an operation: is it a job that writes?")
                })?;
                if verb.is_one_sided() {
                    // This receive is for the peer's announcement of the end.
                    self.connection.receive_message()?;
                }
                self.say(verb, false)?;
                if self.await_message(MESSAGE_SENT, stopped)?.is_none() {
                    return Ok(());
                }
                verb
            }
        };
        let own = self.arena.buffer_length as u32;
        let other = greeting.largest_block;
        let (listening, calling) = if calls { (other, own) } else { (own, other) };
        if listening < calling {
            let line = format!(
                "fio: Server's block size ({listening}) must be greater than or equal to the client's block size ({calling})!"
            );
            return Err(FileError::of_engine("rdma", "bs", Errno(libc::EINVAL)).with_message(line));
        }
        if calls && verb.is_one_sided() {
            let fits = |buffer: &Buffer| buffer.length >= own;
            if greeting.buffers.is_empty() || !greeting.buffers.iter().all(fits) {
                return Err(failed(libc::EPROTO, "the peer has no memory for blocks of this size"));
            }
        }
        if self.settings.verifies && verb.is_one_sided() {
            let line = format!(
                "verify= needs blocks that are sent, but the peer does verb={}: give it verb=send",
                verb.word()
            );
            return Err(failed(libc::EINVAL, &line));
        }
        if calls && verb == Verb::Send && greeting.verb.is_none() {
            let until = Instant::now() + READINESS;
            while Instant::now() < until && !stopped() {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        self.theirs = greeting.buffers;
        self.verb = Some(verb);
        // The end of a very short job may have been announced already.
        if self.messages.iter().any(|(number, _)| *number == MESSAGE_RECEIVED) {
            self.standing = Standing::AtEnd;
        }
        Ok(())
    }

    /// Registers the buffers with the device, and sends this side's greeting.
    fn say(&mut self, verb: Verb, calls: bool) -> Result<(), FileError> {
        let rights = match verb {
            // Some networks (iWARP) write the data of reads to memory that the peer must be allowed to access.
            Verb::Read if calls => access::LOCAL_WRITE | access::REMOTE_WRITE,
            Verb::Write | Verb::Send if calls => access::LOCAL_WRITE,
            Verb::Read => access::LOCAL_WRITE | access::REMOTE_READ,
            Verb::Write => access::LOCAL_WRITE | access::REMOTE_WRITE,
            Verb::Send => access::LOCAL_WRITE,
        };
        let (first, length) = (self.arena.first, self.arena.length());
        // SAFETY: the buffers outlive the engine, and those of blocks in flight are not used elsewhere. The
        // peer may only write to buffers that this job reads into.
        unsafe { self.connection.register(first, length, rights)? };
        let key = self.connection.keys().1;
        let buffer = |index: usize| Buffer {
            address: first as u64 + (index * self.arena.stride) as u64,
            key,
            length: self.arena.buffer_length as u32,
        };
        let greeting = Greeting {
            verb: Some(verb),
            largest_block: self.arena.buffer_length as u32,
            buffers: (0..self.arena.count).map(buffer).collect(),
        };
        self.connection.write_message(&greeting);
        self.connection.send_message()
    }

    /// Waits until a greeting has been sent or received; returns its length, `None` if the job was stopped.
    fn await_message(&mut self, wanted: u64, stopped: &dyn Fn() -> bool) -> Result<Option<u32>, FileError> {
        loop {
            if let Some(place) = self.messages.iter().position(|(number, _)| *number == wanted) {
                return Ok(Some(self.messages.swap_remove(place).1));
            }
            let mut found = [WorkCompletion::default(); 2];
            let count = self.connection.poll(&mut found).map_err(|errno| failed(errno.0, ""))?;
            for end in &found[..count] {
                if end.status != status::SUCCESS {
                    let why = self.connection.name_of(end.status);
                    return Err(failed(
                        libc::ECONNRESET,
                        &format!("the greetings could not be exchanged: {why}"),
                    ));
                }
                self.messages.push((end.number, end.length));
            }
            if count > 0 {
                continue;
            }
            if self.is_left {
                return Err(failed(libc::ECONNRESET, "the peer disconnected before any transfer"));
            }
            if stopped() {
                return Ok(None);
            }
            // One more poll finds completions of messages that the peer sent before.
            match self.connection.next_event()? {
                Some(seen) => self.is_left = seen.kind == event::DISCONNECTED,
                None => self.wait_in_greeting()?,
            }
        }
    }

    fn wait_in_greeting(&mut self) -> Result<(), FileError> {
        self.connection.arm().map_err(|errno| failed(errno.0, ""))?;
        // Completions from before the notification was armed are found by the next poll.
        match self.connection.wait(Duration::from_millis(5)) {
            Ok(_) | Err(Errno(libc::EINTR)) => Ok(()),
            Err(errno) => Err(failed(errno.0, "")),
        }
    }

    /// Submits blocks that are sent, written to the peer's memory, or read from it.
    fn hand_over_sends(&mut self, verb: Verb) -> Result<u32, Errno> {
        let operation = match verb {
            Verb::Write => operation::WRITE,
            Verb::Read => operation::READ,
            Verb::Send => operation::SEND,
        };
        let mut next = null_mut();
        for &slot in self.queued.iter().rev() {
            let index = slot as usize;
            let (remote_address, remote_key) = match verb {
                Verb::Send => (0, 0),
                _ => {
                    let theirs = &self.theirs[index % self.theirs.len()];
                    (theirs.address, theirs.key)
                }
            };
            self.sends[index] = SendRequest {
                number: u64::from(slot),
                next,
                pieces: &mut self.pieces[index],
                piece_count: 1,
                operation,
                flags: verbs::SIGNALED,
                remote_address,
                remote_key,
                ..SendRequest::empty()
            };
            next = &mut self.sends[index];
        }
        let mut refused: *mut SendRequest = null_mut();
        // SAFETY: requests and pieces belong to the slots, and buffers stay valid until the connection is
        // gone. The loop does not change them before the block has completed.
        let result = unsafe { self.connection.post_send(next, &mut refused) };
        // SAFETY: the refused request is one of the chain.
        let refused = unsafe { refused.as_ref() }.map(|request| request.number);
        self.handed_over(result, refused)
    }

    /// Posts receives for blocks of the peer.
    fn hand_over_receives(&mut self) -> Result<u32, Errno> {
        let mut next = null_mut();
        for &slot in self.queued.iter().rev() {
            let index = slot as usize;
            let pieces = &mut self.pieces[index];
            self.receives[index] = ReceiveRequest { number: u64::from(slot), next, pieces, piece_count: 1 };
            next = &mut self.receives[index];
        }
        let mut refused: *mut ReceiveRequest = null_mut();
        // SAFETY: as for sends.
        let result = unsafe { self.connection.post_receive(next, &mut refused) };
        // SAFETY: the refused request is one of the chain.
        let refused = unsafe { refused.as_ref() }.map(|request| request.number);
        self.handed_over(result, refused)
    }

    /// Number of queued blocks that the device has accepted.
    fn handed_over(&mut self, result: i32, refused: Option<u64>) -> Result<u32, Errno> {
        let count = match (result, refused) {
            (0, _) => self.queued.len(),
            (_, Some(number)) => self.queued.iter().position(|slot| u64::from(*slot) == number).unwrap_or(0),
            (_, None) => 0,
        };
        self.queued.drain(..count);
        self.in_flight += count;
        if count > 0 || result == 0 {
            return Ok(count as u32);
        }
        match result.abs() {
            // The queue has room again after a completion.
            libc::ENOMEM => Ok(0),
            errno => Err(Errno(errno)),
        }
    }

    fn collect(&mut self, min: u32, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        loop {
            self.take_ends()?;
            self.list(out);
            if min == 0 || out.len() >= min as usize || out.room() == 0 {
                self.look_now_and_then(out);
                return Ok(());
            }
            if self.in_flight == 0 && self.waiting.is_empty() {
                return Ok(());
            }
            self.connection.arm()?;
            if self.take_ends()? > 0 || !self.ended.is_empty() {
                continue;
            }
            match self.connection.wait(span) {
                Ok(Waited::Notice) => {}
                Ok(Waited::Event) => self.look_at_connection(),
                // Returns to the loop, which then checks the time.
                Ok(Waited::Nothing) | Err(Errno(libc::EINTR)) => return Ok(()),
                Err(errno) => return Err(errno),
            }
        }
    }

    fn list(&mut self, out: &mut Completions) {
        while out.room() > 0
            && let Some((slot, result)) = self.ended.pop_front()
        {
            out.push(slot, result);
        }
    }

    /// Checks the connection at intervals: a job that never waits would not notice that the peer has
    /// disconnected.
    fn look_now_and_then(&mut self, out: &Completions) {
        self.looks = if out.is_empty() { self.looks + 1 } else { 0 };
        if self.looks >= LOOKS {
            self.looks = 0;
            self.look_at_connection();
        }
    }

    /// Handles completions; returns their number.
    fn take_ends(&mut self) -> Result<usize, Errno> {
        let mut sum = 0;
        loop {
            let count = self.connection.poll(&mut self.found)?;
            for index in 0..count {
                let end = self.found[index];
                self.settle(&end);
            }
            sum += count;
            if count < BATCH {
                return Ok(sum);
            }
        }
    }

    #[inline(always)]
    fn settle(&mut self, end: &WorkCompletion) {
        if end.status != status::SUCCESS {
            self.broken(end.status);
        }
        if end.number >= MESSAGE_RECEIVED {
            if end.number == MESSAGE_RECEIVED && end.status == status::SUCCESS {
                self.end(Standing::AtEnd, None);
            }
            return;
        }
        let slot = end.number as u32;
        let Some(piece) = self.pieces.get(slot as usize) else {
            return self.end(
                Standing::Ended(-i64::from(libc::EIO)),
                Some(format!("the library lists request {}, which is not in flight", end.number)),
            );
        };
        let length = i64::from(piece.length);
        self.in_flight -= 1;
        let result = match self.result() {
            Some(result) if end.status != status::SUCCESS => result,
            _ if end.operation & verbs::RECEIVED != 0 => i64::from(end.length),
            _ => length,
        };
        self.ended.push_back((slot, result));
    }

    /// Handles a failed request, which breaks the connection.
    #[cold]
    fn broken(&mut self, status: i32) {
        if self.standing != Standing::Open {
            return;
        }
        let (errno, why) = match status {
            status::LOCAL_LENGTH | status::REMOTE_INVALID_REQUEST => (
                libc::EMSGSIZE,
                "the data sent is longer than the block that receives it: give both sides the same bs"
                    .to_owned(),
            ),
            status::REMOTE_ACCESS => {
                (libc::EACCES, "the peer does not allow access to the memory it has named".to_owned())
            }
            status::REMOTE_OPERATION => {
                (libc::ECONNRESET, "the peer disconnected, or failed, in the middle of a block".to_owned())
            }
            status::RETRIES_EXCEEDED => (libc::ETIMEDOUT, "the peer does not respond any more".to_owned()),
            status::NOT_READY_RETRIES_EXCEEDED => {
                (libc::ETIMEDOUT, "the peer was not ready to receive".to_owned())
            }
            status::FLUSHED => (libc::ECONNRESET, "the connection has failed".to_owned()),
            other => (libc::EIO, format!("the device reports: {}", self.connection.name_of(other))),
        };
        self.end(Standing::Ended(-i64::from(errno)), Some(why));
    }

    /// Ends all transfers. Blocks in flight complete with the result of the new standing.
    #[cold]
    fn end(&mut self, standing: Standing, why: Option<String>) {
        if self.standing != Standing::Open {
            return;
        }
        self.standing = standing;
        self.why = why;
        let result = self.result().unwrap_or(0);
        self.ended.extend(self.waiting.drain(..).map(|slot| (slot, result)));
        if self.in_flight > 0 {
            self.connection.fail_pair();
        }
    }

    /// Checks whether the peer has disconnected.
    #[cold]
    fn look_at_connection(&mut self) {
        while let Ok(Some(seen)) = self.connection.next_event() {
            if !matches!(seen.kind, event::DISCONNECTED | event::DEVICE_REMOVAL) {
                continue;
            }
            self.is_left = true;
            // Blocks that arrived before the disconnection still count.
            let _ = self.take_ends();
            let calls = matches!(self.settings.role, Role::Calls { .. });
            let gone = Standing::Ended(-i64::from(libc::ECONNRESET));
            match self.verb {
                _ if seen.kind == event::DEVICE_REMOVAL => {
                    let standing = Standing::Ended(-i64::from(libc::ENODEV));
                    self.end(standing, Some("the RDMA device is gone".to_owned()));
                }
                _ if calls => {
                    let why =
                        "the peer has disconnected: give both sides the same size, or look at its messages";
                    self.end(gone, Some(why.to_owned()));
                }
                Some(Verb::Send) => self.end(Standing::AtEnd, None),
                _ => {
                    let why = "the peer disconnected without announcing the end: it has crashed";
                    self.end(gone, Some(why.to_owned()));
                }
            }
        }
    }

    /// Announces the end to the peer, which cannot see accesses to its memory.
    fn take_leave(&mut self) {
        let (calls, Some(verb)) = (matches!(self.settings.role, Role::Calls { .. }), self.verb) else {
            return;
        };
        if !calls {
            return self.let_go();
        }
        let is_due = verb.is_one_sided() && self.standing == Standing::Open;
        if !is_due || self.connection.send_message().is_err() {
            return;
        }
        let until = Instant::now() + FAREWELL;
        let mut found = [WorkCompletion::default(); 1];
        while Instant::now() < until {
            match self.connection.poll(&mut found) {
                Ok(0) => {}
                Ok(_) if found[0].number == MESSAGE_SENT => return,
                Ok(_) => continue,
                Err(_) => return,
            }
            if self.wait_in_greeting().is_err() {
                return;
            }
        }
    }

    /// Waits for the connecting side to disconnect. If the listener left first, it would reset a peer that has
    /// not yet seen the completion of its last block, which can take seconds on a busy host.
    fn let_go(&mut self) {
        if self.is_left || matches!(self.standing, Standing::Ended(_)) {
            return;
        }
        let until = Instant::now() + FAREWELL;
        while Instant::now() < until {
            match self.connection.next_event() {
                Ok(Some(seen)) if seen.kind == event::DISCONNECTED => return,
                Ok(Some(_)) => {}
                Ok(None) if self.connection.wait(Duration::from_millis(5)).is_ok() => {}
                _ => return,
            }
        }
    }
}

impl Drop for Rdma {
    fn drop(&mut self) {
        self.take_leave();
    }
}

fn failed(errno: i32, sentence: &str) -> FileError {
    FileError::of_engine("rdma", "rdma_connect", Errno(errno))
        .with_message(format!("fathom: rdma: {sentence}"))
}
