//! The entry points of JNI: the exported functions under the names that the virtual machine expects.

// JNI prescribes the names.
#![allow(non_snake_case, missing_docs)]

use crate::exports;
use jni_sys::{JNIEnv, jclass, jint, jlong, jobject};

/// The address of a direct buffer's memory; 0 if there is none.
///
/// # Safety
/// Called by the virtual machine.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_dev_fathom_io_NativeCalls_address(
    env: *mut JNIEnv,
    _: jclass,
    buffer: jobject,
) -> jlong {
    // SAFETY: the virtual machine passes a valid environment, whose function table has contained this function
    // since version 1.4.
    unsafe { ((**env).v1_4.GetDirectBufferAddress)(env, buffer) as jlong }
}

/// Defines one entry point that forwards its arguments.
macro_rules! entry_points {
    ($($name:ident => $target:ident($($argument:ident: $type:ty),*) $(-> $answer:ty)?;)*) => {
        $(
            /// # Safety
            /// As for the function of the same name in `exports`.
            #[unsafe(no_mangle)]
            pub unsafe extern "system" fn $name(_: *mut JNIEnv, _: jclass, $($argument: $type),*) $(-> $answer)? {
                #[allow(unused_unsafe)]
                // SAFETY: the caller answers for the arguments.
                unsafe { exports::$target($($argument),*) }
            }
        )*
    };
}

entry_points! {
    Java_dev_fathom_io_NativeCalls_targetsNew => fathom_targets_new() -> jlong;
    Java_dev_fathom_io_NativeCalls_targetsOpen => fathom_targets_open(handle: jlong, path: jlong, flags: jint) -> jint;
    Java_dev_fathom_io_NativeCalls_targetsAddBuffer => fathom_targets_add_buffer(handle: jlong, address: jlong, length: jlong) -> jint;
    Java_dev_fathom_io_NativeCalls_targetsFree => fathom_targets_free(handle: jlong);
    Java_dev_fathom_io_NativeCalls_ringNew => fathom_ring_new(handle: jlong, depth: jint, engine: jint) -> jlong;
    Java_dev_fathom_io_NativeCalls_ringTrait => fathom_ring_trait(handle: jlong, which: jint) -> jint;
    Java_dev_fathom_io_NativeCalls_ringAlignment => fathom_ring_alignment(handle: jlong, file: jint) -> jint;
    Java_dev_fathom_io_NativeCalls_ringSize => fathom_ring_size(handle: jlong, file: jint) -> jlong;
    Java_dev_fathom_io_NativeCalls_ringSync => fathom_ring_sync(handle: jlong, file: jint) -> jint;
    Java_dev_fathom_io_NativeCalls_ringSubmit => fathom_ring_submit(handle: jlong, descriptors: jlong, count: jint) -> jint;
    Java_dev_fathom_io_NativeCalls_ringAwait => fathom_ring_await(handle: jlong, slot: jint) -> jint;
    Java_dev_fathom_io_NativeCalls_ringRun => fathom_ring_run(handle: jlong, descriptors: jlong, count: jint) -> jint;
    Java_dev_fathom_io_NativeCalls_ringClose => fathom_ring_close(handle: jlong) -> jint;
    Java_dev_fathom_io_NativeCalls_ringSingle => fathom_ring_single(handle: jlong, operation: jint, file: jint, address: jlong, length: jint, offset: jlong) -> jint;
    Java_dev_fathom_io_NativeCalls_ringTruncate => fathom_ring_truncate(handle: jlong, file: jint, size: jlong) -> jint;
    Java_dev_fathom_io_NativeCalls_ringAllocate => fathom_ring_allocate(handle: jlong, file: jint, offset: jlong, length: jlong) -> jint;
    Java_dev_fathom_io_NativeCalls_singlesNew => fathom_singles_new(handle: jlong, depth: jint) -> jlong;
    Java_dev_fathom_io_NativeCalls_singlesTurn => fathom_singles_turn(singles: jlong, handle: jlong, requests: jlong, count: jint, completions: jlong) -> jint;
    Java_dev_fathom_io_NativeCalls_singlesWake => fathom_singles_wake(singles: jlong);
    Java_dev_fathom_io_NativeCalls_singlesFree => fathom_singles_free(singles: jlong);
    Java_dev_fathom_io_NativeCalls_ringFree => fathom_ring_free(handle: jlong);
}
