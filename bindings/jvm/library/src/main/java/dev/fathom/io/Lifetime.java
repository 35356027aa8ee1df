package dev.fathom.io;

/** The lifetime of a direct buffer's memory. */
enum Lifetime {
    /** Valid as long as the buffer is reachable: the kernel may use it while this library refers to the buffer. */
    REACHABLE,
    /** Valid until an arena is closed, which any thread may do at any time: the kernel must not use the memory. */
    ARENA,
    /** Valid until an arena is closed, and accessible to one thread only. */
    CONFINED
}
