//! A Ceph cluster, through librados, which is loaded when a job needs it.

use crate::net::library::functions;
use crate::net::refusal::Refusal;
use std::ffi::{CString, c_char, c_int, c_long, c_void};

/// `rados_t`.
type Handle = *mut c_void;
/// `rados_ioctx_t`.
pub(super) type Pool = *mut c_void;
/// `rados_completion_t`, and `rbd_completion_t`.
pub(super) type Completion = *mut c_void;
/// `rados_callback_t`, and `rbd_callback_t`.
pub(super) type Callback = unsafe extern "C" fn(Completion, *mut c_void);
/// `rados_write_op_t`.
pub(super) type Changes = *mut c_void;

functions! {
    /// The librados functions that are used.
    struct Functions of ["librados.so.2"], package "librados2" {
        create = b"rados_create": fn(*mut Handle, *const c_char) -> c_int;
        create_named = b"rados_create2": fn(*mut Handle, *const c_char, *const c_char, u64) -> c_int;
        read_file = b"rados_conf_read_file": fn(Handle, *const c_char) -> c_int;
        set = b"rados_conf_set": fn(Handle, *const c_char, *const c_char) -> c_int;
        connect = b"rados_connect": fn(Handle) -> c_int;
        shutdown = b"rados_shutdown": fn(Handle);
        open_pool = b"rados_ioctx_create": fn(Handle, *const c_char, *mut Pool) -> c_int;
        set_namespace = b"rados_ioctx_set_namespace": fn(Pool, *const c_char);
        close_pool = b"rados_ioctx_destroy": fn(Pool);
        stat = b"rados_stat": fn(Pool, *const c_char, *mut u64, *mut c_long) -> c_int;
        write = b"rados_write": fn(Pool, *const c_char, *const c_char, usize, u64) -> c_int;
        truncate = b"rados_trunc": fn(Pool, *const c_char, u64) -> c_int;
        remove = b"rados_remove": fn(Pool, *const c_char) -> c_int;
        new_completion = b"rados_aio_create_completion2": fn(*mut c_void, Callback, *mut Completion) -> c_int;
        result = b"rados_aio_get_return_value": fn(Completion) -> c_int;
        release = b"rados_aio_release": fn(Completion);
        read_async = b"rados_aio_read": fn(Pool, *const c_char, Completion, *mut c_char, usize, u64) -> c_int;
        write_async = b"rados_aio_write": fn(Pool, *const c_char, Completion, *const c_char, usize, u64) -> c_int;
        flush_async = b"rados_aio_flush_async": fn(Pool, Completion) -> c_int;
        new_changes = b"rados_create_write_op": fn() -> Changes;
        release_changes = b"rados_release_write_op": fn(Changes);
        add_zeroes = b"rados_write_op_zero": fn(Changes, u64, u64);
        add_creation = b"rados_write_op_create": fn(Changes, c_int, *const c_char);
        change = b"rados_write_op_operate": fn(Changes, Pool, *const c_char, *mut c_long, c_int) -> c_int;
        change_async = b"rados_aio_write_op_operate": fn(Changes, Pool, Completion, *const c_char, *mut c_long, c_int) -> c_int;
    }
}

/// A cluster and one of its pools, as the job names them.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub(super) cluster: Option<String>,
    pub(super) client: Option<String>,
    pub(super) conf: Option<String>,
    pub(super) pool: Option<String>,
    pub(super) namespace: Option<String>,
    /// Settings that take effect in addition to the configuration file.
    pub(super) settings: Vec<(&'static str, &'static str)>,
}

/// Default settings: an unreachable monitor must not block the job for five minutes, and the library's log
/// messages are redundant, because its results report errors.
const SETTINGS: &[(&str, &str)] =
    &[("client_mount_timeout", "30"), ("log_to_stderr", "false"), ("err_to_stderr", "false")];

/// A connection to a pool of a cluster.
pub(super) struct Cluster {
    pub(super) functions: Functions,
    handle: Handle,
    pub(super) pool: Pool,
}

pub(super) fn text(what: &str, value: &str) -> Result<CString, Refusal> {
    CString::new(value).map_err(|_| Refusal::new(libc::EINVAL, format!("{what}: it contains a zero byte")))
}

impl Cluster {
    /// Connects.
    pub(super) fn open(place: &Place) -> Result<Cluster, Refusal> {
        let functions = Functions::load().map_err(Refusal::of_library)?;
        let Some(pool) = &place.pool else {
            return Err(Refusal::new(libc::EINVAL, "pool= does not name a pool of the cluster"));
        };
        let mut cluster = Cluster { functions, handle: std::ptr::null_mut(), pool: std::ptr::null_mut() };
        cluster.name_user(place)?;
        cluster.configure(place)?;
        // SAFETY: the handle is configured and not connected.
        let result = unsafe { (cluster.functions.connect)(cluster.handle) };
        let advice = "; do the monitors run, and is the keyring that of this user (clientname=)?";
        Refusal::unless_done(result, "no connection to the cluster", advice)?;
        let name = text("pool", pool)?;
        // SAFETY: the handle is connected, the name ends with a zero byte, and the pool's handle is written before it is read.
        let result =
            unsafe { (cluster.functions.open_pool)(cluster.handle, name.as_ptr(), &mut cluster.pool) };
        let advice = "; is there such a pool, and may this user see it?";
        Refusal::unless_done(result, &format!("pool={pool}"), advice)?;
        if let Some(namespace) = &place.namespace {
            let namespace = text("namespace", namespace)?;
            // SAFETY: as above.
            unsafe { (cluster.functions.set_namespace)(cluster.pool, namespace.as_ptr()) };
        }
        Ok(cluster)
    }

    fn name_user(&mut self, place: &Place) -> Result<(), Refusal> {
        let client = place.client.as_deref().unwrap_or("admin");
        let short = text("clientname", client.strip_prefix("client.").unwrap_or(client))?;
        let result = match &place.cluster {
            // SAFETY: the handle is written before it is read, and the text ends with a zero byte.
            None => unsafe { (self.functions.create)(&mut self.handle, short.as_ptr()) },
            Some(cluster) => {
                let whole = if client.contains('.') { client.to_owned() } else { format!("client.{client}") };
                let (cluster, whole) = (text("clustername", cluster)?, text("clientname", &whole)?);
                // SAFETY: as above.
                unsafe {
                    (self.functions.create_named)(&mut self.handle, cluster.as_ptr(), whole.as_ptr(), 0)
                }
            }
        };
        Refusal::unless_done(result, &format!("clientname={client}"), "")
    }

    fn configure(&mut self, place: &Place) -> Result<(), Refusal> {
        let file = place.conf.as_deref().map(|path| text("conf", path)).transpose()?;
        let path = file.as_ref().map_or(std::ptr::null(), |file| file.as_ptr());
        // SAFETY: the handle exists; without a path the library searches CEPH_CONF and its default paths.
        let result = unsafe { (self.functions.read_file)(self.handle, path) };
        let from_environment =
            || std::env::var("CEPH_CONF").unwrap_or_else(|_| "/etc/ceph/ceph.conf".to_owned());
        let named = place.conf.clone().unwrap_or_else(from_environment);
        Refusal::unless_done(result, &named, "; conf= names the cluster's configuration, as CEPH_CONF does")?;
        for (key, value) in place.settings.iter().chain(SETTINGS) {
            let (key, value) = (text("setting", key)?, text("setting", value)?);
            // SAFETY: as above. A setting that this release does not know has no effect.
            unsafe { (self.functions.set)(self.handle, key.as_ptr(), value.as_ptr()) };
        }
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // SAFETY: nothing is in flight, and these handles are not used elsewhere.
        unsafe {
            if !self.pool.is_null() {
                (self.functions.close_pool)(self.pool);
            }
            if !self.handle.is_null() {
                (self.functions.shutdown)(self.handle);
            }
        }
    }
}
