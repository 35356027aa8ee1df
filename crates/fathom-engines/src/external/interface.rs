//! Rust declarations of `include/fathom_engine.h`. The layout is stable: a change requires a new version.

use std::ffi::{c_char, c_int, c_void};

/// The interface version of this program.
pub(super) const VERSION: u32 = 1;
/// Name of the function that a library exports.
pub(super) const SYMBOL: &str = "fathom_engine";
/// Value that `queue` returns for an I/O that completes later.
pub(super) const PENDING: i64 = i64::MIN;

pub(super) const ASYNCHRONOUS: u32 = 1;
pub(super) const OWN_TARGETS: u32 = 2;
pub(super) const TRIMS: u32 = 4;
pub(super) const DISCARDS_DATA: u32 = 8;
/// All capabilities of this version.
pub(super) const KNOWN: u32 = ASYNCHRONOUS | OWN_TARGETS | TRIMS | DISCARDS_DATA;

#[repr(C)]
pub(super) struct RawOption {
    pub(super) name: *const c_char,
    pub(super) default_text: *const c_char,
    pub(super) help: *const c_char,
    pub(super) kind: u32,
    pub(super) reserved: u32,
}

#[repr(C)]
pub(super) struct RawValue {
    pub(super) number: i64,
    pub(super) text: *const c_char,
}

#[repr(C)]
pub(super) struct RawTarget {
    pub(super) name: *const c_char,
    pub(super) start: u64,
    pub(super) size: u64,
}

#[repr(C)]
pub(super) struct RawSetup {
    pub(super) job: *const c_char,
    pub(super) values: *const RawValue,
    pub(super) targets: *const RawTarget,
    pub(super) target_count: u32,
    pub(super) depth: u32,
    pub(super) clone: u32,
    pub(super) reads: u32,
    pub(super) writes: u32,
    pub(super) reserved: u32,
    pub(super) buffers: *mut u8,
    pub(super) buffer_stride: u64,
    pub(super) buffer_size: u64,
    pub(super) message: *mut c_char,
    pub(super) message_size: u64,
}

#[repr(C)]
pub(super) struct RawIo {
    pub(super) slot: u32,
    pub(super) operation: u32,
    pub(super) target: u32,
    pub(super) length: u32,
    pub(super) offset: u64,
    pub(super) buffer: *mut u8,
    pub(super) descriptor: i32,
    pub(super) reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct RawCompletion {
    pub(super) slot: u32,
    pub(super) reserved: u32,
    pub(super) result: i64,
}

/// The structure exported by a library. Any function may be missing, even those that the header requires, so
/// each one is checked when the library is loaded.
#[repr(C)]
pub(super) struct RawEngine {
    pub(super) version: u32,
    pub(super) capabilities: u32,
    pub(super) help: *const c_char,
    pub(super) options: *const RawOption,
    pub(super) option_count: u64,
    pub(super) size: Option<unsafe extern "C" fn(*const RawSetup, *const c_char) -> i64>,
    pub(super) open: Option<unsafe extern "C" fn(*const RawSetup, *mut *mut c_void) -> c_int>,
    pub(super) queue: Option<Queue>,
    pub(super) commit: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
    pub(super) reap: Option<unsafe extern "C" fn(*mut c_void, u32, u32, i64, *mut RawCompletion) -> c_int>,
    pub(super) sync: Option<unsafe extern "C" fn(*mut c_void, u32, i32) -> c_int>,
    pub(super) explain: Option<unsafe extern "C" fn(*mut c_void, u32) -> *const c_char>,
    pub(super) close: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// `queue`
pub(super) type Queue = unsafe extern "C" fn(*mut c_void, *const RawIo) -> i64;
/// `fathom_engine`
pub(super) type Entry = unsafe extern "C" fn(u32) -> *const RawEngine;
