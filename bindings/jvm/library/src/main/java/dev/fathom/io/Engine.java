package dev.fathom.io;

/** The way in which I/O is executed. */
public enum Engine {
    /**
     * io_uring if the kernel allows it, otherwise {@link #PREADV}. {@link RandomAccess#engine()} returns the choice. Writes that io_uring would
     * pass to a worker thread are executed by the waiting thread.
     */
    AUTOMATIC,
    /** io_uring for all I/O; opening fails where io_uring is forbidden. */
    IO_URING,
    /** {@code preadv} and {@code pwritev}, one I/O after another in the waiting thread. */
    PREADV
}
