package dev.fathom.io;

/** Executes single reads and writes, which are not part of a batch. */
interface Singles {
    /** Begins one. The caller has entered the session. */
    void begin(Operation operation);

    /** Ends what waits, lets the kernel finish what it has, and then finishes the session, which is closed already. */
    void stop();
}
