package dev.fathom.io;

/** How I/O is done. */
public enum Engine {
    /**
     * io_uring if the kernel allows it, otherwise {@link #PREADV}. {@link RandomAccess#engine()} says which one it became. Writes that io_uring
     * would give to a worker thread are done by the thread that waits.
     */
    AUTOMATIC,
    /** io_uring for all of it; opening fails where it is forbidden. */
    IO_URING,
    /** {@code preadv} and {@code pwritev}, one I/O after another in the thread that waits. */
    PREADV
}
