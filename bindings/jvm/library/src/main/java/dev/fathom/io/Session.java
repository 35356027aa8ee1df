package dev.fathom.io;

import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;

/**
 * The native ring, and all memory that the kernel may access on its behalf. It outlives its {@link RandomAccess}: the cleaner holds it
 * until the kernel is done. Calls are counted, so that the ring is freed after the last one has returned.
 */
final class Session implements Runnable {
    private static final int MOST_BATCHES = 64;
    private static final int CLOSED = 1;
    private static final int CALL = 2;

    /** Sessions to whose memory a broken ring may still write: never freed. */
    private static final List<Session> BROKEN = new ArrayList<>();

    final long handle;
    final ByteBuffer[] buffers;
    final Staging staging = new Staging();

    /** Descriptors of batches without a waiter, by slot. */
    final AtomicReferenceArray<ByteBuffer> inFlight = new AtomicReferenceArray<>(MOST_BATCHES);

    /** Descriptors of batches that were abandoned on closing. */
    private final List<ByteBuffer> givenUp = new ArrayList<>();

    /** The executor of single reads and writes; null before the first one. */
    private Singles singles;

    /** True if the kernel still uses memory or files after closing, so they are never freed. */
    private volatile boolean kept;

    /** Twice the number of running calls, plus {@code CLOSED}. */
    private final AtomicInteger calls = new AtomicInteger();

    Session(long handle, ByteBuffer[] buffers) {
        this.handle = handle;
        this.buffers = buffers;
    }

    /** Begins a call. */
    void enter() throws ClosedChannelException {
        if (!tryEnter()) {
            throw new ClosedChannelException();
        }
    }

    /** Registers a call; returns false after closing. */
    boolean tryEnter() {
        int seen;
        do {
            seen = calls.get();
            if ((seen & CLOSED) != 0) {
                return false;
            }
        } while (!calls.compareAndSet(seen, seen + CALL));
        return true;
    }

    /** Ends a call. */
    void exit() {
        calls.getAndAdd(-CALL);
    }

    boolean isOpen() {
        return (calls.get() & CLOSED) == 0;
    }

    void giveUp(ByteBuffer descriptors) {
        synchronized (givenUp) {
            givenUp.add(descriptors);
        }
    }

    /** Returns the executor of single reads and writes, which need no batch. The caller has registered a call. */
    synchronized Singles singles() throws ClosedChannelException {
        if (!isOpen()) {
            throw new ClosedChannelException();
        }
        if (singles == null) {
            boolean uring = NativeCalls.ringTrait(handle, 0) == 1;
            singles = uring ? RingSingles.start(this, NativeCalls.ringTrait(handle, 3)) : null;
            singles = singles == null ? new PoolSingles(this) : singles;
        }
        return singles;
    }

    private synchronized Singles singlesIfAny() {
        return singles;
    }

    /** Closes the ring, once. */
    @Override
    public void run() {
        int before = calls.getAndUpdate(seen -> seen | CLOSED);
        if ((before & CLOSED) != 0) {
            return;
        }
        if (NativeCalls.ringClose(handle) != 0) {
            keep();
        }
        Singles begun = singlesIfAny();
        if (begun == null) {
            finish();
        } else {
            begun.stop();
        }
    }

    /** Records that the kernel keeps memory or files forever, so that they are never freed. */
    void keep() {
        kept = true;
    }

    /** Waits for the end of all running calls; no new ones begin after closing. */
    void awaitCalls() {
        while (calls.get() != CLOSED) {
            LockSupport.parkNanos(50_000);
        }
    }

    /** Frees the ring once the last call has returned. */
    void finish() {
        awaitCalls();
        if (!kept) {
            NativeCalls.ringFree(handle);
        } else {
            synchronized (BROKEN) {
                BROKEN.add(this);
            }
        }
    }
}
