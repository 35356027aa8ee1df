package dev.fathom.io;

/** How long the memory of a direct buffer stays valid. */
enum Lifetime {
    /** As long as the buffer is reachable: the kernel may use it while this library refers to the buffer. */
    REACHABLE,
    /** Until an arena is closed, which any thread may do at any time: the kernel must not use it. */
    ARENA,
    /** Until an arena is closed, and only one thread may touch it. */
    CONFINED
}
