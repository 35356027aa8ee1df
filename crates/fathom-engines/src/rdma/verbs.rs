//! The parts of libibverbs and librdmacm that the engine uses: functions, and the accessed fields of
//! structures. They are declared from the libraries' public headers, under their BSD licence. Both libraries
//! have kept these interfaces unchanged since 2019 and promise to continue so.

use crate::net::library::{LibraryError, functions};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

/// `struct rdma_event_channel`
#[repr(C)]
pub(super) struct EventChannel {
    pub(super) descriptor: c_int,
}

/// The start of `struct rdma_cm_id`.
#[repr(C)]
pub(super) struct Id {
    pub(super) context: *mut Context,
}

/// `struct rdma_conn_param`
#[repr(C)]
pub(super) struct Parameters {
    pub(super) private_data: *const c_void,
    pub(super) private_data_length: u8,
    pub(super) responder_resources: u8,
    pub(super) initiator_depth: u8,
    pub(super) flow_control: u8,
    pub(super) retry_count: u8,
    pub(super) rnr_retry_count: u8,
    pub(super) shares_receives: u8,
    pub(super) queue_pair: u32,
}

/// The start of `struct rdma_cm_event`, with its member for connection requests.
#[repr(C)]
pub(super) struct Event {
    pub(super) id: *mut Id,
    pub(super) listener: *mut Id,
    pub(super) kind: c_int,
    pub(super) status: c_int,
    pub(super) parameters: Parameters,
}

/// `enum rdma_cm_event_type`
pub(super) mod event {
    use std::ffi::c_int;
    pub(crate) const ADDRESS_RESOLVED: c_int = 0;
    pub(crate) const ADDRESS_ERROR: c_int = 1;
    pub(crate) const ROUTE_RESOLVED: c_int = 2;
    pub(crate) const ROUTE_ERROR: c_int = 3;
    pub(crate) const CONNECT_REQUEST: c_int = 4;
    pub(crate) const CONNECT_RESPONSE: c_int = 5;
    pub(crate) const CONNECT_ERROR: c_int = 6;
    pub(crate) const UNREACHABLE: c_int = 7;
    pub(crate) const REJECTED: c_int = 8;
    pub(crate) const ESTABLISHED: c_int = 9;
    pub(crate) const DISCONNECTED: c_int = 10;
    pub(crate) const DEVICE_REMOVAL: c_int = 11;
}

/// The operations of a context that the driver implements instead of the library.
pub(super) const RELIABLE: c_int = 0x0106;

/// The operations of a context that are implemented by the driver, not the library.
#[repr(C)]
struct Operations {
    before_poll: [*const c_void; 11],
    poll: unsafe extern "C" fn(*mut CompletionQueue, c_int, *mut WorkCompletion) -> c_int,
    request_notice: unsafe extern "C" fn(*mut CompletionQueue, c_int) -> c_int,
    before_send: [*const c_void; 12],
    post_send: unsafe extern "C" fn(*mut QueuePair, *mut SendRequest, *mut *mut SendRequest) -> c_int,
    post_receive:
        unsafe extern "C" fn(*mut QueuePair, *mut ReceiveRequest, *mut *mut ReceiveRequest) -> c_int,
    after_receive: [*const c_void; 5],
}

/// The start of `struct ibv_context`.
#[repr(C)]
pub(super) struct Context {
    device: *mut c_void,
    operations: Operations,
}

/// `struct ibv_pd`
#[repr(C)]
pub(super) struct Domain {
    _private: [u8; 0],
}

/// The start of `struct ibv_mr`.
#[repr(C)]
pub(super) struct Region {
    context: *mut Context,
    domain: *mut Domain,
    address: *mut c_void,
    length: usize,
    handle: u32,
    pub(super) local_key: u32,
    pub(super) remote_key: u32,
}

/// The start of `struct ibv_comp_channel`.
#[repr(C)]
pub(super) struct NoticeChannel {
    context: *mut Context,
    pub(super) descriptor: c_int,
}

/// The start of `struct ibv_cq`.
#[repr(C)]
pub(super) struct CompletionQueue {
    context: *mut Context,
}

/// The start of `struct ibv_qp`.
#[repr(C)]
pub(super) struct QueuePair {
    context: *mut Context,
    pair_context: *mut c_void,
    domain: *mut Domain,
    send_completions: *mut CompletionQueue,
    receive_completions: *mut CompletionQueue,
    shared_receives: *mut c_void,
    handle: u32,
    pub(super) number: u32,
}

/// `struct ibv_qp_cap`
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Capacities {
    pub(super) sends: u32,
    pub(super) receives: u32,
    pub(super) send_pieces: u32,
    pub(super) receive_pieces: u32,
    pub(super) inline: u32,
}

/// `struct ibv_qp_init_attr`
#[repr(C)]
pub(super) struct PairAttributes {
    pub(super) pair_context: *mut c_void,
    pub(super) send_completions: *mut CompletionQueue,
    pub(super) receive_completions: *mut CompletionQueue,
    pub(super) shared_receives: *mut c_void,
    pub(super) capacities: Capacities,
    pub(super) kind: c_int,
    pub(super) all_signaled: c_int,
}

/// `IBV_QPT_RC`
pub(super) const RELIABLE_CONNECTION: c_int = 2;

/// `struct ibv_ah_attr`, which only the library uses.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Way([u8; 32]);

/// `struct ibv_qp_attr`
#[repr(C)]
pub(super) struct PairState {
    pub(super) state: c_int,
    current_state: c_int,
    path_mtu: c_int,
    path_migration: c_int,
    queue_key: u32,
    receive_number: u32,
    send_number: u32,
    destination: u32,
    access: c_uint,
    capacities: Capacities,
    way: Way,
    other_way: Way,
    key_index: u16,
    other_key_index: u16,
    notifies_drained: u8,
    is_draining: u8,
    /// `max_rd_atomic`: number of RDMA reads that this side may have in flight.
    pub(super) reads_begun: u8,
    /// `max_dest_rd_atomic`: number of RDMA reads that the peer may have in flight.
    pub(super) reads_answered: u8,
    pub(super) not_ready_timer: u8,
    port: u8,
    timeout: u8,
    retries: u8,
    pub(super) not_ready_retries: u8,
    other_port: u8,
    other_timeout: u8,
    rate_limit: u32,
}

impl PairState {
    pub(super) fn new(state: c_int) -> PairState {
        // SAFETY: all zero is a valid value of this plain structure.
        let mut attributes: PairState = unsafe { std::mem::zeroed() };
        attributes.state = state;
        attributes
    }
}

/// `enum ibv_qp_state`
pub(super) mod state {
    use std::ffi::c_int;
    pub(crate) const INITIALISED: c_int = 1;
    pub(crate) const READY_TO_RECEIVE: c_int = 2;
    pub(crate) const READY_TO_SEND: c_int = 3;
    pub(crate) const FAILED: c_int = 6;
}

/// `enum ibv_qp_attr_mask`
pub(super) mod attribute {
    use std::ffi::c_int;
    pub(crate) const STATE: c_int = 1;
    pub(crate) const NOT_READY_RETRIES: c_int = 1 << 11;
    pub(crate) const READS_BEGUN: c_int = 1 << 13;
    pub(crate) const NOT_READY_TIMER: c_int = 1 << 15;
    pub(crate) const READS_ANSWERED: c_int = 1 << 17;
}

/// `enum ibv_access_flags`
pub(super) mod access {
    use std::ffi::c_int;
    pub(crate) const LOCAL_WRITE: c_int = 1;
    pub(crate) const REMOTE_WRITE: c_int = 2;
    pub(crate) const REMOTE_READ: c_int = 4;
}

/// `struct ibv_sge`
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Piece {
    pub(super) address: u64,
    pub(super) length: u32,
    pub(super) key: u32,
}

/// `struct ibv_send_wr`, with the member `rdma` of its first union of addresses.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct SendRequest {
    pub(super) number: u64,
    pub(super) next: *mut SendRequest,
    pub(super) pieces: *mut Piece,
    pub(super) piece_count: c_int,
    pub(super) operation: c_int,
    pub(super) flags: c_uint,
    pub(super) immediate: u32,
    pub(super) remote_address: u64,
    pub(super) remote_key: u32,
    pub(super) rest: [u64; 9],
}

impl SendRequest {
    pub(super) fn empty() -> SendRequest {
        // SAFETY: all zero is a valid value of this plain structure.
        unsafe { std::mem::zeroed() }
    }
}

/// `struct ibv_recv_wr`
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ReceiveRequest {
    pub(super) number: u64,
    pub(super) next: *mut ReceiveRequest,
    pub(super) pieces: *mut Piece,
    pub(super) piece_count: c_int,
}

/// `enum ibv_wr_opcode`
pub(super) mod operation {
    use std::ffi::c_int;
    pub(crate) const WRITE: c_int = 0;
    pub(crate) const SEND: c_int = 2;
    pub(crate) const READ: c_int = 4;
}

/// `IBV_SEND_SIGNALED`
pub(super) const SIGNALED: c_uint = 2;

/// `struct ibv_wc`
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct WorkCompletion {
    pub(super) number: u64,
    pub(super) status: c_int,
    pub(super) operation: c_int,
    vendor_error: u32,
    pub(super) length: u32,
    immediate: u32,
    pair: u32,
    source_pair: u32,
    flags: c_uint,
    key_index: u16,
    source: u16,
    level: u8,
    path_bits: u8,
}

/// `IBV_WC_RECV`, which is set in `operation` of all receives.
pub(super) const RECEIVED: c_int = 1 << 7;

/// `enum ibv_wc_status`
pub(super) mod status {
    use std::ffi::c_int;
    pub(crate) const SUCCESS: c_int = 0;
    pub(crate) const LOCAL_LENGTH: c_int = 1;
    pub(crate) const FLUSHED: c_int = 5;
    pub(crate) const REMOTE_INVALID_REQUEST: c_int = 9;
    pub(crate) const REMOTE_ACCESS: c_int = 10;
    pub(crate) const REMOTE_OPERATION: c_int = 11;
    pub(crate) const RETRIES_EXCEEDED: c_int = 12;
    pub(crate) const NOT_READY_RETRIES_EXCEEDED: c_int = 13;
}

/// `struct ibv_device_attr`
#[repr(C)]
pub(super) struct DeviceAttributes {
    firmware: [c_char; 64],
    node: u64,
    system: u64,
    longest_region: u64,
    page_sizes: u64,
    vendor: u32,
    vendor_part: u32,
    hardware: u32,
    pairs: c_int,
    /// `max_qp_wr`: capacity of a queue.
    pub(super) requests: c_int,
    capabilities: c_uint,
    pieces: c_int,
    pieces_of_reads: c_int,
    completion_queues: c_int,
    /// `max_cqe`
    pub(super) completions: c_int,
    regions: c_int,
    domains: c_int,
    /// `max_qp_rd_atom`: number of reads that the device answers concurrently.
    pub(super) reads_answered: c_int,
    other_reads: [c_int; 2],
    /// `max_qp_init_rd_atom`: number of reads that the device may have in flight.
    pub(super) reads_begun: c_int,
    rest: [u32; 18],
}

impl DeviceAttributes {
    pub(super) fn empty() -> DeviceAttributes {
        // SAFETY: all zero is a valid value of this plain structure.
        unsafe { std::mem::zeroed() }
    }
}

functions! {
    /// The librdmacm functions that are used.
    struct Manager of ["librdmacm.so.1"], package "librdmacm1" {
        create_event_channel = b"rdma_create_event_channel\0": fn() -> *mut EventChannel;
        destroy_event_channel = b"rdma_destroy_event_channel\0": fn(*mut EventChannel);
        create_id = b"rdma_create_id\0": fn(*mut EventChannel, *mut *mut Id, *mut c_void, c_int) -> c_int;
        destroy_id = b"rdma_destroy_id\0": fn(*mut Id) -> c_int;
        bind = b"rdma_bind_addr\0": fn(*mut Id, *const libc::sockaddr) -> c_int;
        listen = b"rdma_listen\0": fn(*mut Id, c_int) -> c_int;
        resolve_address = b"rdma_resolve_addr\0": fn(*mut Id, *const libc::sockaddr, *const libc::sockaddr, c_int) -> c_int;
        resolve_route = b"rdma_resolve_route\0": fn(*mut Id, c_int) -> c_int;
        connect = b"rdma_connect\0": fn(*mut Id, *mut Parameters) -> c_int;
        establish = b"rdma_establish\0": fn(*mut Id) -> c_int;
        accept = b"rdma_accept\0": fn(*mut Id, *mut Parameters) -> c_int;
        disconnect = b"rdma_disconnect\0": fn(*mut Id) -> c_int;
        get_event = b"rdma_get_cm_event\0": fn(*mut EventChannel, *mut *mut Event) -> c_int;
        acknowledge_event = b"rdma_ack_cm_event\0": fn(*mut Event) -> c_int;
        initial_attributes = b"rdma_init_qp_attr\0": fn(*mut Id, *mut PairState, *mut c_int) -> c_int;
    }
}

functions! {
    /// The libibverbs functions that are used.
    struct Core of ["libibverbs.so.1"], package "libibverbs1 ibverbs-providers" {
        query_device = b"ibv_query_device\0": fn(*mut Context, *mut DeviceAttributes) -> c_int;
        allocate_domain = b"ibv_alloc_pd\0": fn(*mut Context) -> *mut Domain;
        free_domain = b"ibv_dealloc_pd\0": fn(*mut Domain) -> c_int;
        register = b"ibv_reg_mr\0": fn(*mut Domain, *mut c_void, usize, c_int) -> *mut Region;
        deregister = b"ibv_dereg_mr\0": fn(*mut Region) -> c_int;
        create_notice_channel = b"ibv_create_comp_channel\0": fn(*mut Context) -> *mut NoticeChannel;
        destroy_notice_channel = b"ibv_destroy_comp_channel\0": fn(*mut NoticeChannel) -> c_int;
        create_completions = b"ibv_create_cq\0": fn(*mut Context, c_int, *mut c_void, *mut NoticeChannel, c_int) -> *mut CompletionQueue;
        destroy_completions = b"ibv_destroy_cq\0": fn(*mut CompletionQueue) -> c_int;
        get_notice = b"ibv_get_cq_event\0": fn(*mut NoticeChannel, *mut *mut CompletionQueue, *mut *mut c_void) -> c_int;
        acknowledge_notices = b"ibv_ack_cq_events\0": fn(*mut CompletionQueue, c_uint);
        create_pair = b"ibv_create_qp\0": fn(*mut Domain, *mut PairAttributes) -> *mut QueuePair;
        modify_pair = b"ibv_modify_qp\0": fn(*mut QueuePair, *mut PairState, c_int) -> c_int;
        destroy_pair = b"ibv_destroy_qp\0": fn(*mut QueuePair) -> c_int;
        name_of_status = b"ibv_wc_status_str\0": fn(c_int) -> *const c_char;
    }
}

/// Both libraries.
pub(super) struct Libraries {
    pub(super) manager: Manager,
    pub(super) verbs: Core,
}

impl Libraries {
    /// Loads the libraries. The error names the packages to install.
    pub(super) fn load() -> Result<Arc<Libraries>, LibraryError> {
        Ok(Arc::new(Libraries { manager: Manager::load()?, verbs: Core::load()? }))
    }
}

/// Takes up to as many completions as fit into `room`; a negative result is an error.
///
/// # Safety
///
/// The library created the queue, which has not been destroyed.
#[inline(always)]
pub(super) unsafe fn poll(queue: *mut CompletionQueue, room: &mut [WorkCompletion]) -> c_int {
    // SAFETY: guaranteed by the caller; every queue has a context, and the driver has filled its table.
    unsafe { ((*(*queue).context).operations.poll)(queue, room.len() as c_int, room.as_mut_ptr()) }
}

/// Requests a notification of the next completion; returns an errno.
///
/// # Safety
///
/// As for [`poll`].
pub(super) unsafe fn request_notice(queue: *mut CompletionQueue) -> c_int {
    // SAFETY: guaranteed by the caller; every queue has a context, and the driver has filled its table.
    unsafe { ((*(*queue).context).operations.request_notice)(queue, 0) }
}

/// Posts a chain of requests. Returns an errno, and in `refused` the first request that was not accepted.
///
/// # Safety
///
/// The library created the queue pair, which has not been destroyed. The chain and its pieces are valid during
/// the call, and the memory to which the pieces refer is valid until the requests have completed.
#[inline(always)]
pub(super) unsafe fn post_send(
    pair: *mut QueuePair,
    first: *mut SendRequest,
    refused: &mut *mut SendRequest,
) -> c_int {
    // SAFETY: guaranteed by the caller; every queue pair has a context, and the driver has filled its table.
    unsafe { ((*(*pair).context).operations.post_send)(pair, first, refused) }
}

/// Posts a chain of receives.
///
/// # Safety
///
/// As for [`post_send`].
#[inline(always)]
pub(super) unsafe fn post_receive(
    pair: *mut QueuePair,
    first: *mut ReceiveRequest,
    refused: &mut *mut ReceiveRequest,
) -> c_int {
    // SAFETY: guaranteed by the caller; every queue pair has a context, and the driver has filled its table.
    unsafe { ((*(*pair).context).operations.post_receive)(pair, first, refused) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// The expected numbers come from a C compiler with rdma-core's headers, on 64-bit machines.
    #[test]
    fn structures_are_laid_out_as_the_libraries_have_them() {
        assert_eq!((size_of::<Parameters>(), offset_of!(Parameters, queue_pair)), (24, 16));
        assert_eq!((offset_of!(Event, kind), offset_of!(Event, parameters)), (16, 24));
        assert_eq!(
            (size_of::<PairAttributes>(), offset_of!(PairAttributes, kind), size_of::<PairState>()),
            (64, 52, 144)
        );
        assert_eq!(
            (offset_of!(PairState, reads_begun), offset_of!(PairState, not_ready_retries)),
            (126, 132)
        );
        assert_eq!((size_of::<SendRequest>(), offset_of!(SendRequest, remote_key)), (128, 48));
        assert_eq!((size_of::<ReceiveRequest>(), size_of::<WorkCompletion>()), (32, 48));
        assert_eq!(
            (
                size_of::<DeviceAttributes>(),
                offset_of!(DeviceAttributes, requests),
                offset_of!(DeviceAttributes, completions)
            ),
            (232, 112, 132)
        );
        assert_eq!(
            (offset_of!(DeviceAttributes, reads_answered), offset_of!(DeviceAttributes, reads_begun)),
            (144, 156)
        );
        assert_eq!((size_of::<Operations>(), offset_of!(Context, operations)), (256, 8));
        assert_eq!((offset_of!(Operations, poll), offset_of!(Operations, post_send)), (88, 200));
        assert_eq!((offset_of!(Region, remote_key), offset_of!(QueuePair, number)), (40, 52));
        assert_eq!(offset_of!(NoticeChannel, descriptor), 8);
    }
}
