//! Standard streams as they were when the program began. The runtime opens `/dev/null` for one that is closed, and nothing tells the
//! two apart later, so this is looked at before it starts.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static OUTPUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn look() {
    // SAFETY: no memory is passed; a closed descriptor is an error.
    let is_closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } < 0;
    OUTPUT_WAS_CLOSED.store(is_closed, Relaxed);
}

// SAFETY: the loader calls the functions of this section before `main`; this one makes a system call and stores a number, and needs
// nothing of the runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// True if there was no standard output when the program began (`>&-`): what is written to it goes nowhere.
pub fn output_was_closed() -> bool {
    // Names what has to be linked.
    let _ = std::hint::black_box(LOOK);
    OUTPUT_WAS_CLOSED.load(Relaxed)
}
