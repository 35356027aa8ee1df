package dev.fathom.io;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.AsynchronousCloseException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread with an io_uring for single reads and writes. Other threads queue their requests and wake this thread if it waits; it submits all
 * queued requests with one system call, which also waits for completions, and completes futures in the order in which the kernel completes
 * I/Os.
 */
final class RingSingles implements Singles, Runnable {
    private static final int MOST = 4096;
    private static final int REQUEST_BYTES = 40;
    private static final int COMPLETION_BYTES = 16;

    /** Memory to which a broken ring may still write: never freed. */
    private static final List<Operation> BROKEN = new ArrayList<>();

    private final Session session;
    private final Thread thread;
    private final CompletableFuture<Long> handle = new CompletableFuture<>();
    private final CountDownLatch ended = new CountDownLatch(1);
    private final ConcurrentLinkedQueue<Operation> waiting = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean asleep = new AtomicBoolean();
    private volatile boolean stopping;

    /** True once the thread has been woken to stop, so that its ring needs no further wake-up. */
    private volatile boolean told;

    private volatile IOException broken;

    private final Operation[] inFlight;
    private final int[] free;
    private int freeCount;
    private final ByteBuffer requests;
    private final ByteBuffer completions;

    private RingSingles(Session session, int depth) {
        this.session = session;
        int most = Math.min(depth, MOST);
        inFlight = new Operation[most];
        free = new int[most];
        while (freeCount < most) {
            free[freeCount] = freeCount;
            freeCount++;
        }
        requests = ByteBuffer.allocateDirect(most * REQUEST_BYTES).order(ByteOrder.nativeOrder());
        completions = ByteBuffer.allocateDirect(most * COMPLETION_BYTES).order(ByteOrder.nativeOrder());
        thread = new Thread(this, "fathom-io");
        thread.setDaemon(true);
    }

    /** Starts the thread; null if the kernel refuses its ring. */
    static RingSingles start(Session session, int depth) {
        RingSingles singles = new RingSingles(session, depth);
        singles.thread.start();
        return singles.handle.join() < 0 ? null : singles;
    }

    @Override
    public void begin(Operation operation) {
        waiting.add(operation);
        if (asleep.get() && asleep.getAndSet(false)) {
            wake();
        }
    }

    @Override
    public void stop() {
        stopping = true;
        wake();
        told = true;
        // A callback may close the object that invoked it. The thread then ends after the callback.
        boolean interrupted = false;
        while (Thread.currentThread() != thread && ended.getCount() > 0) {
            try {
                ended.await();
            } catch (InterruptedException again) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void wake() {
        if (broken == null) {
            NativeCalls.singlesWake(handle.join());
        } else {
            LockSupport.unpark(thread);
        }
    }

    @Override
    public void run() {
        long made = NativeCalls.singlesNew(session.handle, inFlight.length);
        handle.complete(made);
        if (made < 0) {
            return;
        }
        try {
            while (turn(made)) {
                // Runs until it is stopped and the kernel has finished all requests.
            }
        } catch (Throwable failure) {
            abandon(new IOException("reads and writes without a batch ended: " + failure, failure));
        }
        while (broken != null && !stopping) {
            asleep.set(true);
            failWaiting(broken);
            LockSupport.park(this);
        }
        while (!told) {
            Thread.onSpinWait();
        }
        session.awaitCalls();
        failWaiting(broken == null ? new AsynchronousCloseException() : broken);
        if (broken == null) {
            NativeCalls.singlesFree(made);
        } else {
            session.keep();
        }
        session.finish();
        ended.countDown();
    }

    /** Submits queued requests and processes completions; returns false when the thread is to end. */
    private boolean turn(long made) throws IOException {
        int count = 0;
        do {
            asleep.set(false);
            count = fill(count);
            asleep.set(true);
        } while (freeCount > 0 && !waiting.isEmpty());
        if (stopping) {
            failWaiting(new AsynchronousCloseException());
            if (freeCount == inFlight.length) {
                return false;
            }
        }
        int done = NativeCalls.singlesTurn(made, session.handle, NativeCalls.address(requests), count, NativeCalls.address(completions));
        asleep.set(false);
        if (done < 0) {
            throw new RandomAccessException("the kernel refuses the ring", -done);
        }
        for (int index = 0; index < done; index++) {
            int token = (int) completions.getLong(index * COMPLETION_BYTES);
            Operation operation = inFlight[token];
            inFlight[token] = null;
            free[freeCount++] = token;
            operation.finish(completions.getInt(index * COMPLETION_BYTES + 8));
        }
        return true;
    }

    private int fill(int begun) {
        int count = begun;
        while (freeCount > 0) {
            Operation operation = waiting.poll();
            if (operation == null) {
                break;
            }
            if (!operation.take()) {
                continue;
            }
            int token = free[--freeCount];
            inFlight[token] = operation;
            int at = count++ * REQUEST_BYTES;
            requests.putLong(at, token);
            requests.putLong(at + 8, operation.address);
            requests.putLong(at + 16, operation.offset);
            requests.putInt(at + 24, operation.length);
            requests.putInt(at + 28, operation.kind);
            requests.putInt(at + 32, operation.file);
        }
        return count;
    }

    private void failWaiting(IOException reason) {
        for (Operation operation = waiting.poll(); operation != null; operation = waiting.poll()) {
            if (operation.take()) {
                operation.fail(reason);
            }
        }
    }

    private void abandon(IOException reason) {
        broken = reason;
        for (Operation operation : inFlight) {
            if (operation != null) {
                synchronized (BROKEN) {
                    BROKEN.add(operation);
                }
                operation.abandon(reason);
            }
        }
    }
}
