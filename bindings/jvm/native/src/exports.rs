//! The functions by their C names, for `java.lang.foreign` and for the entry points of JNI.
//!
//! Targets are collected first (`fathom_targets_*`) and then passed to a ring (`fathom_ring_new`), which takes
//! ownership.

use crate::descriptor::Table;
use crate::ring::{EngineWish, Ring};
use crate::singles::{Completion, Request, Singles};
use crate::targets::{Place, Targets};
use std::ffi::{CStr, c_char};

/// # Safety
/// `handle` came from `fathom_ring_new` and is not freed while the call lasts.
unsafe fn ring<'a>(handle: i64) -> &'a Ring {
    // SAFETY: the caller guarantees a valid handle.
    unsafe { &*(handle as *const Ring) }
}

/// # Safety
/// `handle` came from `fathom_targets_new`, was not taken over or freed, and no other thread uses it.
unsafe fn targets<'a>(handle: i64) -> &'a mut Targets {
    // SAFETY: the caller guarantees a valid handle.
    unsafe { &mut *(handle as *mut Targets) }
}

/// An empty set of targets.
#[unsafe(no_mangle)]
pub extern "C" fn fathom_targets_new() -> i64 {
    Box::into_raw(Box::<Targets>::default()) as i64
}

/// Opens a file and returns its number.
///
/// # Safety
/// `handle` is a live set of targets of this thread alone; `path` is the address of bytes that end in a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathom_targets_open(handle: i64, path: i64, flags: i32) -> i32 {
    // SAFETY: the caller answers for the path.
    let path = unsafe { CStr::from_ptr(path as *const c_char) };
    // SAFETY: the caller guarantees a valid handle.
    number(unsafe { targets(handle) }.open(path, flags))
}

/// Adds a buffer and returns its number.
///
/// # Safety
/// `handle` is a live set of targets of this thread alone; the memory stays valid until the ring is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathom_targets_add_buffer(handle: i64, address: i64, length: i64) -> i32 {
    // SAFETY: the caller answers for handle and memory.
    number(unsafe { targets(handle).add_buffer(address as usize, length as usize) })
}

/// Frees targets that were never passed to a ring.
///
/// # Safety
/// `handle` is a live set of targets, and nothing uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathom_targets_free(handle: i64) {
    // SAFETY: the caller guarantees a valid handle.
    drop(unsafe { Box::from_raw(handle as *mut Targets) });
}

/// Creates a ring, which takes ownership of the targets even on failure. `engine` is 0 for the best available,
/// 1 for io_uring, 2 for `preadv`.
///
/// # Safety
/// `handle` is a live set of targets, and nothing uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathom_ring_new(handle: i64, depth: i32, engine: i32) -> i64 {
    // SAFETY: the caller guarantees a valid handle.
    let targets = unsafe { Box::from_raw(handle as *mut Targets) };
    let wish = match engine {
        0 => EngineWish::Automatic,
        1 => EngineWish::Uring,
        _ => EngineWish::Vectors,
    };
    match Ring::new(*targets, depth.max(1) as u32, wish) {
        Ok(ring) => Box::into_raw(Box::new(ring)) as i64,
        Err(error) => i64::from(-error),
    }
}

/// Returns a property of a ring: 0: 1 if it is an io_uring; 1: the error that prevented io_uring; 2: the error
/// that prevented the registration of buffers; 3: its depth.
///
/// # Safety
/// `handle` is a live ring.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathom_ring_trait(handle: i64, which: i32) -> i32 {
    // SAFETY: the caller guarantees a valid handle.
    let ring = unsafe { ring(handle) };
    match which {
        0 => i32::from(ring.is_uring()),
        1 => ring.refused(),
        2 => ring.buffers_refused(),
        3 => ring.depth() as i32,
        _ => -libc::EINVAL,
    }
}

/// Returns the required alignment of offsets and lengths in a file.
///
/// # Safety
/// `handle` is a live ring.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathom_ring_alignment(handle: i64, file: i32) -> i32 {
    // SAFETY: the caller guarantees a valid handle.
    let alignment = unsafe { ring(handle) }.targets().alignment(file as usize);
    alignment.map_or(-libc::EINVAL, |alignment| alignment as i32)
}

/// Returns a file's size in bytes.
///
/// # Safety
/// `handle` is a live ring.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathom_ring_size(handle: i64, file: i32) -> i64 {
    // SAFETY: the caller guarantees a valid handle.
    unsafe { ring(handle) }.targets().size(file as usize).unwrap_or_else(|error| i64::from(-error))
}

/// Flushes completed writes of a file to stable storage.
///
/// # Safety
/// `handle` is a live ring.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathom_ring_sync(handle: i64, file: i32) -> i32 {
    // SAFETY: the caller guarantees a valid handle.
    number(unsafe { ring(handle) }.targets().sync(file as usize).map(|()| 0))
}

/// Submits a batch and returns its slot.
///
/// # Safety
/// `handle` is a live ring; `descriptors` points to `count` descriptors, which stay valid until the batch is
/// awaited or the ring is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathom_ring_submit(handle: i64, descriptors: i64, count: i32) -> i32 {
    // SAFETY: the caller answers for the descriptors.
    let table = unsafe { Table::new(descriptors as usize, count.max(0) as u32) };
    // SAFETY: the caller guarantees a valid handle.
    number(unsafe { ring(handle) }.submit(table, true))
}

/// Waits for a batch; returns the number of failed I/Os.
///
/// # Safety
/// `handle` is a live ring.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathom_ring_await(handle: i64, slot: i32) -> i32 {
    // SAFETY: the caller guarantees a valid handle.
    number(unsafe { ring(handle) }.wait(slot as usize).map(|failed| failed as usize))
}

/// Submits a batch and waits for it with as few system calls as possible; returns the number of failed I/Os.
///
/// # Safety
/// As for `fathom_ring_submit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathom_ring_run(handle: i64, descriptors: i64, count: i32) -> i32 {
    // SAFETY: the caller answers for the descriptors.
    let table = unsafe { Table::new(descriptors as usize, count.max(0) as u32) };
    // SAFETY: the caller guarantees a valid handle.
    let ring = unsafe { ring(handle) };
    number(ring.submit(table, false).and_then(|slot| ring.wait(slot)).map(|failed| failed as usize))
}

/// Rejects new batches and waits for the kernel; returns the number of I/Os that the kernel never completes.
///
/// # Safety
/// `handle` is a live ring.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathom_ring_close(handle: i64) -> i32 {
    // SAFETY: the caller guarantees a valid handle.
    unsafe { ring(handle) }.close() as i32
}

/// Frees a closed ring.
///
/// # Safety
/// `handle` is a live ring, no call on it is running, and none follows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathom_ring_free(handle: i64) {
    // SAFETY: the caller guarantees a valid handle.
    drop(unsafe { Box::from_raw(handle as *mut Ring) });
}

/// Executes one read or write in the calling thread; returns the number of bytes, or a negative error number.
///
/// # Safety
/// `handle` is a live ring; `length` bytes at `address` stay valid while the call lasts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathom_ring_single(
    handle: i64,
    operation: i32,
    file: i32,
    address: i64,
    length: i32,
    offset: i64,
) -> i32 {
    // SAFETY: the caller guarantees a valid handle.
    unsafe { ring(handle) }.single(Place { operation, file, offset }, address as usize, length)
}

/// Sets a file's size.
///
/// # Safety
/// `handle` is a live ring.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathom_ring_truncate(handle: i64, file: i32, size: i64) -> i32 {
    // SAFETY: the caller guarantees a valid handle.
    number(unsafe { ring(handle) }.targets().truncate(file as usize, size).map(|()| 0))
}

/// Reserves space for a range of a file.
///
/// # Safety
/// `handle` is a live ring.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathom_ring_allocate(handle: i64, file: i32, offset: i64, length: i64) -> i32 {
    // SAFETY: the caller guarantees a valid handle.
    number(unsafe { ring(handle) }.targets().allocate(file as usize, offset, length).map(|()| 0))
}

/// Sets up a ring of the calling thread for single reads and writes of a ring's files.
///
/// # Safety
/// `handle` is a live ring.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathom_singles_new(handle: i64, depth: i32) -> i64 {
    // SAFETY: the caller guarantees a valid handle.
    match Singles::new(unsafe { ring(handle) }.targets(), depth.max(1) as u32) {
        Ok(singles) => Box::into_raw(Box::new(singles)) as i64,
        Err(error) => i64::from(-error),
    }
}

/// Submits requests and waits; returns the number of completions written.
///
/// # Safety
/// `singles` came from `fathom_singles_new` of `handle`, which is live, in this thread; the rest is as for `Singles::turn`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathom_singles_turn(
    singles: i64,
    handle: i64,
    requests: i64,
    count: i32,
    completions: i64,
) -> i32 {
    // SAFETY: the caller answers for both handles and the memory.
    let done = unsafe {
        let targets = ring(handle).targets();
        let requests = requests as *const Request;
        (*(singles as *const Singles)).turn(
            targets,
            requests,
            count.max(0) as u32,
            completions as *mut Completion,
        )
    };
    number(done.map(|done| done as usize))
}

/// Ends the wait of a thread in `fathom_singles_turn`.
///
/// # Safety
/// `singles` came from `fathom_singles_new` and is not freed while the call lasts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathom_singles_wake(singles: i64) {
    // SAFETY: the caller guarantees a valid handle.
    unsafe { &*(singles as *const Singles) }.wake();
}

/// Frees an object created by `fathom_singles_new`.
///
/// # Safety
/// `singles` came from `fathom_singles_new` in this thread, nothing is in flight, no call on it is running, and none follows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathom_singles_free(singles: i64) {
    // SAFETY: the caller guarantees a valid handle.
    drop(unsafe { Box::from_raw(singles as *mut Singles) });
}

fn number(answer: Result<usize, i32>) -> i32 {
    match answer {
        Ok(number) => number as i32,
        Err(error) => -error,
    }
}
