//! An engine for fathom in Rust: targets are memory that is freed at the end of its clone. rustc --edition 2024
//! -O --crate-type cdylib -o memory.so examples/external/memory.rs fathom --name=a
//! --ioengine=external:./memory.so --capacity=16m --rw=randwrite --verify=crc32c

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null;

const VERSION: u32 = 1;
const OWN_TARGETS: u32 = 2;
const TRIMS: u32 = 4;
const READ: u32 = 0;
const WRITE: u32 = 1;
const SIZE: u32 = 2;
const EINVAL: i64 = 22;

#[repr(C)]
struct Choice {
    name: *const c_char,
    default_text: *const c_char,
    help: *const c_char,
    kind: u32,
    reserved: u32,
}

#[repr(C)]
struct Value {
    number: i64,
    text: *const c_char,
}

#[repr(C)]
struct Target {
    name: *const c_char,
    start: u64,
    size: u64,
}

#[repr(C)]
struct Setup {
    job: *const c_char,
    values: *const Value,
    targets: *const Target,
    target_count: u32,
    // The remaining functions are not needed here.
}

#[repr(C)]
struct Io {
    slot: u32,
    operation: u32,
    target: u32,
    length: u32,
    offset: u64,
    buffer: *mut u8,
    descriptor: i32,
    reserved: u32,
}

#[repr(C)]
struct Completion {
    slot: u32,
    reserved: u32,
    result: i64,
}

type Reap = unsafe extern "C" fn(*mut c_void, u32, u32, i64, *mut Completion) -> c_int;

#[repr(C)]
struct Engine {
    version: u32,
    capabilities: u32,
    help: *const c_char,
    options: *const Choice,
    option_count: u64,
    size: Option<unsafe extern "C" fn(*const Setup, *const c_char) -> i64>,
    open: Option<unsafe extern "C" fn(*const Setup, *mut *mut c_void) -> c_int>,
    queue: Option<unsafe extern "C" fn(*mut c_void, *const Io) -> i64>,
    commit: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
    reap: Option<Reap>,
    sync: Option<unsafe extern "C" fn(*mut c_void, u32, i32) -> c_int>,
    explain: Option<unsafe extern "C" fn(*mut c_void, u32) -> *const c_char>,
    close: Option<unsafe extern "C" fn(*mut c_void)>,
}

// SAFETY: nothing changes it.
unsafe impl Sync for Engine {}
// SAFETY: nothing changes it.
unsafe impl Sync for Choice {}

static CAPACITY: Choice = Choice {
    name: c"capacity".as_ptr(),
    default_text: c"1m".as_ptr(),
    help: c"Bytes of each target".as_ptr(),
    kind: SIZE,
    reserved: 0,
};

static ENGINE: Engine = Engine {
    version: VERSION,
    capabilities: OWN_TARGETS | TRIMS,
    help: c"keeps data in memory".as_ptr(),
    options: &raw const CAPACITY,
    option_count: 1,
    size: Some(size),
    open: Some(open),
    queue: Some(queue),
    commit: None,
    reap: None,
    sync: None,
    explain: Some(explain),
    close: Some(close),
};

/// State of one clone.
struct Memory {
    targets: Vec<Vec<u8>>,
}

unsafe extern "C" fn size(setup: *const Setup, _: *const c_char) -> i64 {
    // SAFETY: fathom gives one value for the one option.
    unsafe { (*(*setup).values).number }
}

unsafe extern "C" fn open(setup: *const Setup, state: *mut *mut c_void) -> c_int {
    // SAFETY: as above; `state` is valid for a write.
    unsafe {
        let bytes = size(setup, null()) as usize;
        let targets = (0..(*setup).target_count).map(|_| vec![0; bytes]).collect();
        *state = Box::into_raw(Box::new(Memory { targets })).cast();
    }
    0
}

unsafe extern "C" fn queue(state: *mut c_void, io: *const Io) -> i64 {
    // SAFETY: the state was created by `open`, and the buffer belongs to the I/O.
    let (memory, io) = unsafe { (&mut *state.cast::<Memory>(), &*io) };
    let (start, length) = (io.offset as usize, io.length as usize);
    let Some(place) = memory.targets[io.target as usize].get_mut(start..start + length) else { return -EINVAL };
    match io.operation {
        // SAFETY: as above.
        READ => unsafe { io.buffer.copy_from_nonoverlapping(place.as_ptr(), length) },
        // SAFETY: as above.
        WRITE => unsafe { io.buffer.copy_to_nonoverlapping(place.as_mut_ptr(), length) },
        _ => place.fill(0),
    }
    i64::from(io.length)
}

unsafe extern "C" fn explain(_: *mut c_void, _: u32) -> *const c_char {
    c"it is outside of the target's memory; increase capacity=".as_ptr()
}

unsafe extern "C" fn close(state: *mut c_void) {
    // SAFETY: the last use of what `open` has made.
    drop(unsafe { Box::from_raw(state.cast::<Memory>()) });
}

#[unsafe(no_mangle)]
extern "C" fn fathom_engine(version: u32) -> *const Engine {
    if version == VERSION { &ENGINE } else { null() }
}
