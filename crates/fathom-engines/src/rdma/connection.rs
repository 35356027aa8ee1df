//! One connection, which the connection manager establishes. Its queue pair, however, is set up here, because
//! of the retry count for a peer that is not ready: fio as the peer requests no retries, so the connection
//! would be lost. With its own queue pair, this side retries indefinitely.

use super::settings::Role;
use super::verbs::{self, *};
use super::wire::{Greeting, LENGTH};
use fathom_run::files::FileError;
use fathom_sys::Errno;
use fathom_sys::network::{self, Address};
use fathom_sys::socket::{Awaited, wait_for_any};
use std::ffi::{CStr, c_int, c_void};
use std::net::SocketAddr;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::time::Duration;

/// Maximum duration of a wait, after which the loop checks the time; it also limits the delay of a request to
/// end.
pub(super) const LONGEST_WAIT: Duration = Duration::from_millis(100);
/// Timeout of the kernel's address and route resolution.
const RESOLVING_MS: c_int = 2000;
/// Backlog of the listener.
const BACKLOG: c_int = 8;
/// Number of retries without an acknowledgement; this is the maximum.
const RETRIES: u8 = 7;
/// Retry count that stands for infinity, for a peer that is not ready.
const FOR_EVER: u8 = 7;
/// Delay before a retry of this kind, as the code for 0.64 ms.
const NOT_READY_TIMER: u8 = 12;
/// Number of requests besides those of blocks: the two greetings.
const MORE_REQUESTS: usize = 2;

/// Identifiers of the requests for greetings; those of blocks are their slots.
pub(super) const MESSAGE_SENT: u64 = u64::MAX;
/// See [`MESSAGE_SENT`].
pub(super) const MESSAGE_RECEIVED: u64 = u64::MAX - 1;

/// Memory of both greetings, which the device can access.
#[repr(C)]
struct Messages {
    own: [u8; LENGTH],
    other: [u8; LENGTH],
}

/// A copy of a connection manager's event.
pub(super) struct Seen {
    pub(super) kind: c_int,
    status: c_int,
    id: *mut Id,
    responder_resources: u8,
    initiator_depth: u8,
}

/// Result of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// Timeout.
    Nothing,
    /// A completion has been signalled.
    Notice,
    /// The connection manager has an event.
    Event,
}

/// A connection that may be incomplete; missing parts are null pointers.
pub(super) struct Connection {
    libraries: Arc<Libraries>,
    channel: *mut EventChannel,
    listener: *mut Id,
    id: *mut Id,
    domain: *mut Domain,
    notices: *mut NoticeChannel,
    completions: *mut CompletionQueue,
    pair: *mut QueuePair,
    messages: Box<Messages>,
    message_region: *mut Region,
    arena: *mut Region,
    /// Limits of RDMA reads in flight: those that this side starts, and those that it answers.
    reads: (u8, u8),
    /// True if the next completion triggers a notification.
    is_armed: bool,
    is_connected: bool,
}

/// A failed call, with an explanation.
fn failed(call: &str, errno: Errno, sentence: &str) -> FileError {
    let error = FileError::of_engine("rdma", call, errno);
    if sentence.is_empty() { error } else { error.with_message(format!("fathom: rdma: {sentence}")) }
}

fn done(result: c_int, call: &str, sentence: &str) -> Result<(), FileError> {
    if result == 0 { Ok(()) } else { Err(failed(call, Errno::last(), sentence)) }
}

/// Checks the result of a libibverbs call that returns the errno.
fn done_directly(result: c_int, call: &str) -> Result<(), FileError> {
    if result == 0 { Ok(()) } else { Err(failed(call, Errno(result.abs()), "")) }
}

fn made<T>(pointer: *mut T, call: &str, sentence: &str) -> Result<*mut T, FileError> {
    if pointer.is_null() { Err(failed(call, Errno::last(), sentence)) } else { Ok(pointer) }
}

const MEMORY_ADVICE: &str =
    "memory accessed by the device is pinned: raise the limit of locked memory (ulimit -l), or lower iodepth";

impl Connection {
    /// Loads the libraries, and opens the event channel.
    pub(super) fn open() -> Result<Connection, FileError> {
        let libraries = Libraries::load().map_err(|error| {
            failed("dlopen", Errno(libc::ENOENT), &format!("{error}\nfio: io engine rdma init failed."))
        })?;
        // SAFETY: the function has no arguments.
        let channel = unsafe { (libraries.manager.create_event_channel)() };
        let channel = made(
            channel,
            "rdma_create_event_channel",
            "no RDMA device can be used: is there one, and are the modules rdma_ucm and ib_uverbs loaded?",
        )?;
        let connection = Connection {
            libraries,
            channel,
            listener: null_mut(),
            id: null_mut(),
            domain: null_mut(),
            notices: null_mut(),
            completions: null_mut(),
            pair: null_mut(),
            messages: Box::new(Messages { own: [0; LENGTH], other: [0; LENGTH] }),
            message_region: null_mut(),
            arena: null_mut(),
            reads: (0, 0),
            is_armed: false,
            is_connected: false,
        };
        // SAFETY: the channel was just created.
        let descriptor = unsafe { (*channel).descriptor };
        network::set_waiting(descriptor, false).map_err(|errno| failed("fcntl", errno, ""))?;
        Ok(connection)
    }

    fn new_id(&self) -> Result<*mut Id, FileError> {
        let mut id = null_mut();
        // SAFETY: the channel is ours; the call writes one pointer.
        let result =
            unsafe { (self.libraries.manager.create_id)(self.channel, &mut id, null_mut(), RELIABLE) };
        done(result, "rdma_create_id", "").map(|()| id)
    }

    fn bind(&self, id: *mut Id, address: SocketAddr) -> Result<(), FileError> {
        let own = Address::internet(address);
        // SAFETY: the identifier is ours, and the address lives through the call.
        let result = unsafe { (self.libraries.manager.bind)(id, own.pointer()) };
        done(
            result,
            "rdma_bind_addr",
            &format!("{address} is not an address of an RDMA device, or it is in use"),
        )
    }

    /// Starts listening.
    pub(super) fn listen(&mut self, address: SocketAddr) -> Result<(), FileError> {
        self.listener = self.new_id()?;
        self.bind(self.listener, address)?;
        // SAFETY: the identifier is ours.
        let result = unsafe { (self.libraries.manager.listen)(self.listener, BACKLOG) };
        done(result, "rdma_listen", &format!("another program listens at {address}"))
    }

    /// The next event of the connection manager, if one is pending.
    pub(super) fn next_event(&mut self) -> Result<Option<Seen>, FileError> {
        let mut event: *mut Event = null_mut();
        // SAFETY: the channel is ours; the call writes one pointer.
        if unsafe { (self.libraries.manager.get_event)(self.channel, &mut event) } != 0 {
            return match Errno::last() {
                Errno(libc::EAGAIN | libc::EINTR) => Ok(None),
                errno => Err(failed("rdma_get_cm_event", errno, "")),
            };
        }
        // SAFETY: the event is valid until it is acknowledged; the parameters are inside it, whatever its kind.
        let seen = unsafe {
            let Event { id, kind, status, ref parameters, .. } = *event;
            let (responder_resources, initiator_depth) =
                (parameters.responder_resources, parameters.initiator_depth);
            (self.libraries.manager.acknowledge_event)(event);
            Seen { kind, status, id, responder_resources, initiator_depth }
        };
        Ok(Some(seen))
    }

    /// Waits until an event or a completion may have arrived.
    pub(super) fn wait(&mut self, span: Duration) -> Result<Waited, Errno> {
        // SAFETY: the channel is ours.
        let events = Awaited { socket: unsafe { (*self.channel).descriptor }, to_send: false };
        let is_ready = match self.notices.is_null() {
            true => wait_for_any(&[events], Some(span))?,
            false => {
                // SAFETY: the channel is ours.
                let notices = Awaited { socket: unsafe { (*self.notices).descriptor }, to_send: false };
                wait_for_any(&[events, notices], Some(span))?
            }
        };
        Ok(match is_ready {
            false => Waited::Nothing,
            true if self.take_notice() => Waited::Notice,
            true => Waited::Event,
        })
    }

    fn take_notice(&mut self) -> bool {
        if self.notices.is_null() {
            return false;
        }
        let (mut queue, mut context) = (null_mut(), null_mut());
        // SAFETY: the channel is ours; the call writes two pointers. Each notification taken is acknowledged.
        unsafe {
            if (self.libraries.verbs.get_notice)(self.notices, &mut queue, &mut context) != 0 {
                return false;
            }
            (self.libraries.verbs.acknowledge_notices)(queue, 1);
        }
        self.is_armed = false;
        true
    }

    /// Makes the next completion end a [`wait`](Connection::wait). Completions that arrived before must still
    /// be polled for.
    pub(super) fn arm(&mut self) -> Result<(), Errno> {
        if self.is_armed {
            return Ok(());
        }
        // SAFETY: the queue is ours.
        match unsafe { verbs::request_notice(self.completions) } {
            0 => {
                self.is_armed = true;
                Ok(())
            }
            errno => Err(Errno(errno.abs())),
        }
    }

    /// Takes completions.
    #[inline(always)]
    pub(super) fn poll(&mut self, room: &mut [WorkCompletion]) -> Result<usize, Errno> {
        // SAFETY: the queue is ours, as soon as there is a connection.
        let count = unsafe { verbs::poll(self.completions, room) };
        usize::try_from(count).ok().filter(|count| *count <= room.len()).ok_or(Errno(libc::EIO))
    }

    /// Waits for an event of this kind; `None` if the job was stopped.
    fn await_event(
        &mut self,
        kind: c_int,
        (call, place): (&str, SocketAddr),
        stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Seen>, FileError> {
        loop {
            if let Some(seen) = self.next_event()? {
                if seen.kind == kind {
                    return Ok(Some(seen));
                }
                return Err(unexpected(&seen, call, place));
            }
            if stopped() {
                return Ok(None);
            }
            match self.wait(LONGEST_WAIT) {
                Ok(_) | Err(Errno(libc::EINTR)) => {}
                Err(errno) => return Err(failed("poll", errno, "")),
            }
        }
    }

    /// Establishes the connection, for up to `depth` blocks in flight; false if the job was stopped.
    pub(super) fn connect(
        &mut self,
        role: &Role,
        depth: usize,
        stopped: &dyn Fn() -> bool,
    ) -> Result<bool, FileError> {
        let is_there = match role {
            Role::Calls { to, from, .. } => self.call(*to, *from, depth, stopped)?,
            Role::Listens(own) => self.accept(*own, depth, stopped)?,
        };
        self.is_connected = is_there;
        Ok(is_there)
    }

    fn call(
        &mut self,
        to: SocketAddr,
        from: Option<SocketAddr>,
        depth: usize,
        stopped: &dyn Fn() -> bool,
    ) -> Result<bool, FileError> {
        self.id = self.new_id()?;
        if let Some(from) = from {
            self.bind(self.id, from)?;
        }
        let other = Address::internet(to);
        let no_way = format!("no RDMA device leads to {}", to.ip());
        // SAFETY: the identifier is ours, and the address lives through the call.
        let result = unsafe {
            (self.libraries.manager.resolve_address)(self.id, null(), other.pointer(), RESOLVING_MS)
        };
        done(result, "rdma_resolve_addr", &no_way)?;
        let place = ("rdma_resolve_addr", to);
        if self.await_event(event::ADDRESS_RESOLVED, place, stopped)?.is_none() {
            return Ok(false);
        }
        // SAFETY: the identifier is ours.
        let result = unsafe { (self.libraries.manager.resolve_route)(self.id, RESOLVING_MS) };
        done(result, "rdma_resolve_route", &no_way)?;
        if self.await_event(event::ROUTE_RESOLVED, ("rdma_resolve_route", to), stopped)?.is_none() {
            return Ok(false);
        }
        self.prepare(depth)?;
        self.receive_message()?;
        let mut parameters = self.parameters(self.reads);
        // SAFETY: the identifier is ours, and the parameters live through the call.
        let result = unsafe { (self.libraries.manager.connect)(self.id, &mut parameters) };
        done(result, "rdma_connect", "")?;
        if self.await_event(event::CONNECT_RESPONSE, ("rdma_connect", to), stopped)?.is_none() {
            return Ok(false);
        }
        self.make_ready(None)?;
        // SAFETY: the identifier is ours.
        let result = unsafe { (self.libraries.manager.establish)(self.id) };
        done(result, "rdma_establish", "")?;
        Ok(true)
    }

    fn accept(
        &mut self,
        own: SocketAddr,
        depth: usize,
        stopped: &dyn Fn() -> bool,
    ) -> Result<bool, FileError> {
        let place = ("rdma_listen", own);
        let Some(seen) = self.await_event(event::CONNECT_REQUEST, place, stopped)? else {
            return Ok(false);
        };
        self.id = seen.id;
        // The listener is closed, so that later peers are refused instead of being kept waiting.
        self.stop_listening();
        self.prepare(depth)?;
        self.receive_message()?;
        let (begun, answered) = self.reads;
        let agreed = (begun.min(seen.responder_resources), answered.min(seen.initiator_depth));
        self.make_ready(Some(agreed))?;
        let mut parameters = self.parameters(agreed);
        // SAFETY: the identifier is ours, and the parameters live through the call.
        let result = unsafe { (self.libraries.manager.accept)(self.id, &mut parameters) };
        done(result, "rdma_accept", "")?;
        Ok(self.await_event(event::ESTABLISHED, ("rdma_accept", own), stopped)?.is_some())
    }

    fn stop_listening(&mut self) {
        if !self.listener.is_null() {
            // SAFETY: the identifier is ours, all its events are acknowledged, and it is not used afterwards.
            unsafe { (self.libraries.manager.destroy_id)(self.listener) };
            self.listener = null_mut();
        }
    }

    fn parameters(&self, (begun, answered): (u8, u8)) -> Parameters {
        Parameters {
            private_data: null(),
            private_data_length: 0,
            responder_resources: answered,
            initiator_depth: begun,
            flow_control: 0,
            retry_count: RETRIES,
            rnr_retry_count: FOR_EVER,
            shares_receives: 0,
            // SAFETY: `prepare` created the queue pair.
            queue_pair: unsafe { (*self.pair).number },
        }
    }

    /// Creates the queue pair, its completion queue, and the memory of the greetings, on the device that the
    /// identifier is bound to.
    fn prepare(&mut self, depth: usize) -> Result<(), FileError> {
        let verbs = &self.libraries.verbs;
        // SAFETY: the identifier is ours, and bound to a device since its address was resolved.
        let context = unsafe { (*self.id).context };
        let mut device = DeviceAttributes::empty();
        // SAFETY: the context is the library's; the call fills the attributes.
        done_directly(unsafe { (verbs.query_device)(context, &mut device) }, "ibv_query_device")?;
        let requests = depth + MORE_REQUESTS;
        let most = device.requests.min(device.completions / 2).max(0) as usize;
        if requests > most {
            let sentence = format!(
                "the device supports {most} requests at a time: iodepth={} is possible",
                most.saturating_sub(MORE_REQUESTS)
            );
            return Err(failed("ibv_create_qp", Errno(libc::EINVAL), &sentence));
        }
        let at_most = |count: c_int| u8::try_from(count.max(0)).unwrap_or(u8::MAX);
        self.reads = (at_most(device.reads_begun), at_most(device.reads_answered));
        // SAFETY: each object is created from earlier ones, which live until `Drop`.
        unsafe {
            self.domain = made((verbs.allocate_domain)(context), "ibv_alloc_pd", "")?;
            self.notices = made((verbs.create_notice_channel)(context), "ibv_create_comp_channel", "")?;
            let descriptor = (*self.notices).descriptor;
            network::set_waiting(descriptor, false).map_err(|errno| failed("fcntl", errno, ""))?;
            let count = (2 * requests) as c_int;
            let queue = (verbs.create_completions)(context, count, null_mut(), self.notices, 0);
            self.completions = made(queue, "ibv_create_cq", "")?;
            let capacity = requests as u32;
            let mut attributes = PairAttributes {
                pair_context: null_mut(),
                send_completions: self.completions,
                receive_completions: self.completions,
                shared_receives: null_mut(),
                capacities: Capacities {
                    sends: capacity,
                    receives: capacity,
                    send_pieces: 1,
                    receive_pieces: 1,
                    inline: 0,
                },
                kind: RELIABLE_CONNECTION,
                all_signaled: 0,
            };
            let pair = (verbs.create_pair)(self.domain, &mut attributes);
            self.pair = made(pair, "ibv_create_qp", "the device refuses this many requests: lower iodepth")?;
            let memory: *mut c_void = std::ptr::from_mut(&mut *self.messages).cast();
            let region = (verbs.register)(self.domain, memory, size_of::<Messages>(), access::LOCAL_WRITE);
            self.message_region = made(region, "ibv_reg_mr", MEMORY_ADVICE)?;
        }
        self.change_to(state::INITIALISED, |_| 0)
    }

    /// Makes both queues usable. A connecting side has already negotiated the number of reads; a listening one
    /// announces its own.
    fn make_ready(&mut self, agreed: Option<(u8, u8)>) -> Result<(), FileError> {
        self.change_to(state::READY_TO_RECEIVE, |attributes| {
            attributes.not_ready_timer = NOT_READY_TIMER;
            if let Some((_, answered)) = agreed {
                attributes.reads_answered = answered;
            }
            attribute::NOT_READY_TIMER | attribute::READS_ANSWERED
        })?;
        let own = self.reads.0;
        self.change_to(state::READY_TO_SEND, |attributes| {
            attributes.not_ready_retries = FOR_EVER;
            attributes.reads_begun = agreed.map_or(attributes.reads_begun.min(own), |(begun, _)| begun);
            attribute::NOT_READY_RETRIES | attribute::READS_BEGUN
        })
    }

    /// Changes the state of the queue pair. The manager provides the attributes of each state; `adjust`
    /// overrides some of them and returns a mask of these.
    fn change_to(
        &mut self,
        state: c_int,
        adjust: impl FnOnce(&mut PairState) -> c_int,
    ) -> Result<(), FileError> {
        let mut attributes = PairState::new(state);
        let mut mask = 0;
        // SAFETY: identifier and queue pair are ours; the first call fills attributes and mask, the second
        // reads them.
        unsafe {
            let result = (self.libraries.manager.initial_attributes)(self.id, &mut attributes, &mut mask);
            done(result, "rdma_init_qp_attr", "")?;
            mask |= adjust(&mut attributes);
            done_directly(
                (self.libraries.verbs.modify_pair)(self.pair, &mut attributes, mask),
                "ibv_modify_qp",
            )
        }
    }

    /// Fails the queue pair, which ends all requests in flight.
    pub(super) fn fail_pair(&mut self) {
        if self.pair.is_null() {
            return;
        }
        let mut attributes = PairState::new(state::FAILED);
        // SAFETY: the queue pair is ours, and the attributes live through the call. If it fails, the queue
        // pair has failed before.
        unsafe { (self.libraries.verbs.modify_pair)(self.pair, &mut attributes, attribute::STATE) };
    }

    /// Registers memory with the device, which the peer may access as far as `rights` allow.
    ///
    /// # Safety
    ///
    /// The memory is valid until the connection is gone, and no references exist to memory that the device
    /// writes.
    pub(super) unsafe fn register(
        &mut self,
        memory: *mut u8,
        length: usize,
        rights: c_int,
    ) -> Result<(), FileError> {
        // SAFETY: the domain is ours, and the caller guarantees the memory.
        let region = unsafe { (self.libraries.verbs.register)(self.domain, memory.cast(), length, rights) };
        self.arena = made(region, "ibv_reg_mr", MEMORY_ADVICE)?;
        Ok(())
    }

    /// Local and remote key of the registered memory.
    pub(super) fn keys(&self) -> (u32, u32) {
        // SAFETY: the region is ours, if it exists.
        unsafe { self.arena.as_ref() }.map_or((0, 0), |region| (region.local_key, region.remote_key))
    }

    /// Posts a receive for the next greeting.
    pub(super) fn receive_message(&mut self) -> Result<(), FileError> {
        // SAFETY: the region is ours.
        let key = unsafe { (*self.message_region).local_key };
        let address = self.messages.other.as_mut_ptr() as u64;
        let mut piece = Piece { address, length: LENGTH as u32, key };
        let mut request =
            ReceiveRequest { number: MESSAGE_RECEIVED, next: null_mut(), pieces: &mut piece, piece_count: 1 };
        // SAFETY: the request lives through the call; the memory belongs to the connection, and is read after
        // completion.
        let result = unsafe { verbs::post_receive(self.pair, &mut request, &mut null_mut()) };
        done_directly(result, "ibv_post_recv")
    }

    /// Stores this side's greeting.
    pub(super) fn write_message(&mut self, greeting: &Greeting) {
        greeting.write(&mut self.messages.own);
    }

    /// Sends this side's greeting, for the first or the second time.
    pub(super) fn send_message(&mut self) -> Result<(), FileError> {
        // SAFETY: the region is ours.
        let key = unsafe { (*self.message_region).local_key };
        let address = self.messages.own.as_mut_ptr() as u64;
        let mut piece = Piece { address, length: LENGTH as u32, key };
        let mut request = SendRequest {
            number: MESSAGE_SENT,
            pieces: &mut piece,
            piece_count: 1,
            operation: operation::SEND,
            flags: SIGNALED,
            ..SendRequest::empty()
        };
        // SAFETY: the request lives through the call; the memory belongs to the connection, and is not
        // changed before the request has completed.
        done_directly(unsafe { self.post_send(&mut request, &mut null_mut()) }, "ibv_post_send")
    }

    /// The peer's greeting, if a message of this length is one.
    pub(super) fn message(&self, length: u32) -> Option<Greeting> {
        Greeting::read(self.messages.other.get(..length as usize)?)
    }

    /// Posts a chain of requests.
    ///
    /// # Safety
    ///
    /// The chain and its pieces are valid during the call, and the memory to which they refer is valid until
    /// the requests have completed.
    #[inline(always)]
    pub(super) unsafe fn post_send(
        &mut self,
        first: *mut SendRequest,
        refused: &mut *mut SendRequest,
    ) -> c_int {
        // SAFETY: the queue pair is ours, as soon as there is a connection; the caller guarantees the rest.
        unsafe { verbs::post_send(self.pair, first, refused) }
    }

    /// Posts a chain of receives.
    ///
    /// # Safety
    ///
    /// As for [`post_send`](Connection::post_send).
    #[inline(always)]
    pub(super) unsafe fn post_receive(
        &mut self,
        first: *mut ReceiveRequest,
        refused: &mut *mut ReceiveRequest,
    ) -> c_int {
        // SAFETY: the queue pair is ours, as soon as there is a connection; the caller guarantees the rest.
        unsafe { verbs::post_receive(self.pair, first, refused) }
    }

    /// The library's description of a completion status.
    pub(super) fn name_of(&self, status: c_int) -> String {
        // SAFETY: the library returns a constant, also for unknown numbers.
        let name = unsafe { (self.libraries.verbs.name_of_status)(status) };
        if name.is_null() {
            return format!("status {status}");
        }
        // SAFETY: a string of the library that ends with a zero.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }
}

/// The error for an unexpected event.
fn unexpected(seen: &Seen, call: &str, place: SocketAddr) -> FileError {
    let status = Errno(seen.status.abs());
    let (errno, sentence) = match seen.kind {
        event::ADDRESS_ERROR | event::ROUTE_ERROR => {
            (status, format!("no RDMA device leads to {}", place.ip()))
        }
        event::REJECTED => (
            Errno(libc::ECONNREFUSED),
            format!(
                "nothing listens at {place}: start the job that reads first, with one clone for each that writes"
            ),
        ),
        event::UNREACHABLE => (Errno(libc::ETIMEDOUT), format!("{place} does not answer")),
        event::CONNECT_ERROR => {
            (status, format!("the connection to {place} failed while it was established"))
        }
        event::DISCONNECTED => {
            (Errno(libc::ECONNRESET), "the peer disconnected while the connection was established".to_owned())
        }
        event::DEVICE_REMOVAL => (Errno(libc::ENODEV), "the RDMA device is gone".to_owned()),
        kind => (
            Errno(libc::EPROTO),
            format!("an event of kind {kind} arrived while the connection was established"),
        ),
    };
    failed(call, if errno.0 == 0 { Errno(libc::EIO) } else { errno }, &sentence)
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.stop_listening();
        let (manager, verbs) = (&self.libraries.manager, &self.libraries.verbs);
        // SAFETY: everything is ours, all events are acknowledged, and objects are destroyed after what uses
        // them. Once the queue pair is gone, the device no longer accesses our memory.
        unsafe {
            if self.is_connected {
                (manager.disconnect)(self.id);
            }
            if !self.pair.is_null() {
                (verbs.destroy_pair)(self.pair);
            }
            for region in [self.arena, self.message_region] {
                if !region.is_null() {
                    (verbs.deregister)(region);
                }
            }
            if !self.completions.is_null() {
                (verbs.destroy_completions)(self.completions);
            }
            if !self.notices.is_null() {
                (verbs.destroy_notice_channel)(self.notices);
            }
            if !self.domain.is_null() {
                (verbs.free_domain)(self.domain);
            }
            if !self.id.is_null() {
                (manager.destroy_id)(self.id);
            }
            (manager.destroy_event_channel)(self.channel);
        }
    }
}
