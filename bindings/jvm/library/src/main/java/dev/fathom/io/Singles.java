package dev.fathom.io;

/** Executes single reads and writes, which are not part of a batch. */
interface Singles {
    /** Starts an operation. The caller has entered the session. */
    void begin(Operation operation);

    /** Ends queued operations, lets the kernel finish the submitted ones, and then finishes the session, which is already closed. */
    void stop();
}
