package dev.fathom.io;

/** Who does the reads and writes that come without a batch. */
interface Singles {
    /** Begins one. The caller has entered the session. */
    void begin(Operation operation);

    /** Ends what waits, lets the kernel finish what it has, and then finishes the session, which is closed already. */
    void stop();
}
