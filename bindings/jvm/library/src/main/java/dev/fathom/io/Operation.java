package dev.fathom.io;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A read or write without a batch, and the future of its result. It keeps the memory that the kernel uses alive until the kernel is
 * finished, regardless of the future.
 */
final class Operation extends CompletableFuture<Integer> implements Runnable {
    static final int READ = 0;
    static final int WRITE = 1;

    private static final int WAITING = 0;
    private static final int TAKEN = 1;
    private static final int CANCELLED = 2;

    final int kind;
    final int file;
    final long offset;
    final int length;

    /** Address of the first byte that the kernel accesses. */
    final long address;

    /** The executor that completes the future; null if the waiting thread processes the result. */
    private final Executor executor;

    private final AtomicInteger state = new AtomicInteger(WAITING);
    private final ByteBuffer buffer;
    private final int position;
    private final Staging memory;

    /** The memory that the kernel uses in place of the buffer, or null. */
    private ByteBuffer staging;

    /** The file of the operation. The reference keeps it open until the operation completes. */
    private OpenFile owner;

    private int moved;
    private Throwable failure;

    Operation(OpenFile owner, int kind, ByteBuffer buffer, long offset, Executor executor) {
        this.owner = owner;
        this.kind = kind;
        this.buffer = buffer;
        this.offset = offset;
        this.executor = executor;
        file = owner.number;
        position = buffer.position();
        length = buffer.remaining();
        memory = owner.session.staging;
        Lifetime lifetime = buffer.isDirect() ? NativeCalls.lifetime(buffer) : Lifetime.ARENA;
        if (lifetime == Lifetime.CONFINED && kind == READ && executor != null) {
            throw new IllegalArgumentException("the buffer's arena is confined to one thread, and another one completes the read: use Arena.ofShared(), "
                    + "or read without a future");
        }
        long own = buffer.isDirect() ? NativeCalls.address(buffer) + position : 0;
        if (buffer.isDirect() && lifetime == Lifetime.REACHABLE && own % owner.alignment() == 0) {
            address = own;
            return;
        }
        staging = memory.take(length);
        address = NativeCalls.address(staging);
        if (kind == WRITE) {
            staging.put(0, buffer, position, length);
        }
    }

    /** Starts the operation; false if it has already been cancelled. */
    boolean take() {
        return state.compareAndSet(WAITING, TAKEN);
    }

    /** Cancels an I/O that has not been submitted to the kernel yet. A submitted one cannot be cancelled: returns false, and it completes normally. */
    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        if (state.compareAndSet(WAITING, CANCELLED)) {
            letGo();
            return super.cancel(mayInterruptIfRunning);
        }
        return isCancelled();
    }

    /** Processes the kernel's result, after which the kernel no longer uses the memory. */
    void finish(int answer) {
        if (executor == null) {
            complete(answer);
            return;
        }
        try {
            moved = settle(answer);
        } catch (IOException | RuntimeException failed) {
            failure = failed;
        }
        handOver();
    }

    /** Ends an operation that the kernel has not accepted. */
    void fail(Throwable reason) {
        letGo();
        failure = reason;
        if (executor == null) {
            run();
        } else {
            handOver();
        }
    }

    /** Ends the operation without a result, and keeps its memory: the kernel may use it forever. */
    void abandon(Throwable reason) {
        failure = reason;
        run();
    }

    /** Fills the buffer and advances its position; returns the number of bytes, or -1 for a read at the end of the file. */
    int settle(int answer) throws IOException {
        try {
            if (answer < 0) {
                throw new RandomAccessException(describe(), -answer);
            }
            if (staging != null && kind == READ) {
                buffer.put(position, staging, 0, answer);
            }
            buffer.position(position + answer);
            return answer == 0 && length > 0 && kind == READ ? -1 : answer;
        } finally {
            letGo();
        }
    }

    /** Waits, and processes the result in this thread. */
    int await() throws IOException {
        int answer;
        try {
            answer = join();
        } catch (CompletionException failed) {
            if (failed.getCause() instanceof IOException cause) {
                throw cause;
            }
            throw failed;
        }
        return settle(answer);
    }

    /** Completes the future in the executor's thread. */
    @Override
    public void run() {
        if (failure == null) {
            complete(moved);
        } else {
            completeExceptionally(failure);
        }
    }

    private void handOver() {
        try {
            executor.execute(this);
        } catch (Throwable refused) {
            // The future must always be completed; the data has been transferred regardless.
            completeExceptionally(refused);
        }
    }

    private void letGo() {
        owner = null;
        if (staging != null) {
            memory.give(staging);
            staging = null;
        }
    }

    private String describe() {
        int alignment = owner.alignment();
        return (kind == READ ? "read" : "write") + " of " + length + " bytes at offset " + offset + " of " + owner.name()
                + (alignment > 1 ? " (both in multiples of " + alignment + ")" : "");
    }
}
