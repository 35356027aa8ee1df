//! The initial state of the standard streams. The runtime opens `/dev/null` for a closed one, which is indistinguishable
//! later, so this is checked before it starts.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static OUTPUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn look() {
    // SAFETY: no memory is passed; a closed descriptor is an error.
    let is_closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } < 0;
    OUTPUT_WAS_CLOSED.store(is_closed, Relaxed);
}

// SAFETY: the loader calls the functions of this section before `main`; this one makes a system call and
// stores a number, and does not need the runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// True if standard output was closed when the program began (`>&-`): writes to it are lost.
pub fn output_was_closed() -> bool {
    // Keeps the function from being removed by the linker.
    let _ = std::hint::black_box(LOOK);
    OUTPUT_WAS_CLOSED.load(Relaxed)
}
