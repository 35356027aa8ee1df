package dev.fathom.io;

import java.io.IOException;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/**
 * One file of a {@link RandomAccess}: reads and writes without a batch, from and into any {@link ByteBuffer}, and operations on the file as a
 * whole. Any number of threads may use it.
 *
 * <p>A read fills a buffer from its position to its limit, a write writes these bytes, and on completion the position advances by the number
 * of bytes transferred, as with {@link java.nio.channels.FileChannel}. Until then the buffer must not be used. A {@code MemorySegment} is given as
 * {@code segment.asByteBuffer()}.
 *
 * <p>The kernel accesses the memory of direct buffers itself. Otherwise the bytes are copied: for buffers on the heap,
 * for those of a shared or confined arena, which may be closed meanwhile, and for those that are misaligned for direct
 * I/O. If an arena is closed while a read into it is in flight, the read fails with an {@link IllegalStateException},
 * and no memory is touched. /
public final class OpenFile {
    final Session session;
    final int number;
    private final RandomAccess access;
    private final Executor executor;

    OpenFile(RandomAccess access, Session session, int number, Executor executor) {
        this.access = access;
        this.session = session;
        this.number = number;
        this.executor = executor;
    }

    /**
     * Reads, and waits for completion. A virtual thread releases its carrier while it waits.
     *
     * @param destination filled from its position
     * @param offset first byte in the file
     * @return the number of bytes read; -1 if the file ends at or before the offset
     * @throws ClosedChannelException if the file was already closed
     * @throws java.nio.channels.AsynchronousCloseException if the file is closed during the read
     * @throws IOException if the read fails
     */
    public int read(ByteBuffer destination, long offset) throws IOException {
        return single(Operation.READ, writable(destination), offset);
    }

    /**
     * Writes, and waits for completion. A virtual thread releases its carrier while it waits.
     *
     * @param source written from its position
     * @param offset first byte in the file
     * @return the number of bytes written; fewer than requested if the space ran out
     * @throws ClosedChannelException if the file was already closed
     * @throws java.nio.channels.AsynchronousCloseException if the file is closed during the write
     * @throws IOException if the write fails
     */
    public int write(ByteBuffer source, long offset) throws IOException {
        return single(Operation.WRITE, source, offset);
    }

    /**
     * Starts a read. Futures complete in the order in which the kernel completes the reads and writes, in the executor given to
     * {@link RandomAccessBuilder#executor}. A read that the kernel has accepted cannot be cancelled: {@code cancel} then returns false, and the
     * future completes normally. If the file is closed, accepted reads still complete, and the others fail.
     *
     * @param destination filled from its position; must not be used until the future is complete
     * @param offset first byte in the file
     * @return the number of bytes read; -1 if the file ends at or before the offset; an {@link IOException} if the read fails
     */
    public CompletableFuture<Integer> readAsync(ByteBuffer destination, long offset) {
        return begin(Operation.READ, writable(destination), offset, executor);
    }

    /**
     * Starts a write in the same way as {@link #readAsync} starts a read.
     *
     * @param source written from its position; must not be used until the future is complete
     * @param offset first byte in the file
     * @return the number of bytes written; fewer than requested if the space ran out; an {@link IOException} if the write fails
     */
    public CompletableFuture<Integer> writeAsync(ByteBuffer source, long offset) {
        return begin(Operation.WRITE, source, offset, executor);
    }

    /**
     * Sets the size: a longer file is truncated, and a shorter one grows by a hole that reads as zeros.
     *
     * @param size bytes
     * @throws IOException if the file is closed or not open for writing, is a device, or the size is not possible
     */
    public void truncate(long size) throws IOException {
        requireNotNegative("size", size);
        call("truncation to " + size + " bytes of ", () -> NativeCalls.ringTruncate(session.handle, number, size));
    }

    /**
     * Reserves space so that later writes to this range do not run out of it. The file grows if the range extends beyond its end, and the new
     * part reads as zeros.
     *
     * @param offset first byte
     * @param length bytes, at least 1
     * @throws IOException if the file is closed or not open for writing, if there is not enough space, or if the file system does not support it
     */
    public void allocate(long offset, long length) throws IOException {
        requireNotNegative("offset", offset);
        if (length < 1) {
            throw new IllegalArgumentException("the length is at least 1, not " + length);
        }
        call("allocation of " + length + " bytes at offset " + offset + " of ", () -> NativeCalls.ringAllocate(session.handle, number, offset, length));
    }

    /**
     * Flushes completed writes to stable storage ({@code fdatasync}). Does not wait for writes in flight.
     *
     * @throws IOException if that fails, or the file is closed
     */
    public void sync() throws IOException {
        call("sync of ", () -> NativeCalls.ringSync(session.handle, number));
    }

    /**
     * Returns the size of the file or block device.
     *
     * @return the size in bytes
     * @throws IOException if the file is closed
     */
    public long size() throws IOException {
        return access.size(number);
    }

    /**
     * Returns the required alignment of offsets and lengths.
     *
     * @return bytes; 1 without {@link RandomAccessBuilder#direct}
     */
    public int alignment() {
        return access.alignment(number);
    }

    /**
     * Returns the path by which the file was opened.
     *
     * @return the path, unchanged
     */
    public Path path() {
        return access.path(number);
    }

    /**
     * Returns the path of the file.
     *
     * @return its path
     */
    @Override
    public String toString() {
        return name();
    }

    String name() {
        return access.name(number);
    }

    private int single(int kind, ByteBuffer buffer, long offset) throws IOException {
        if (RandomAccess.isVirtualThread()) {
            return begin(kind, buffer, offset, null).await();
        }
        requireNotNegative("offset", offset);
        session.enter();
        try {
            Operation operation = new Operation(this, kind, buffer, offset, null);
            int answer = operation.length == 0 ? 0
                    : NativeCalls.ringSingle(session.handle, kind, number, operation.address, operation.length, offset);
            return operation.settle(answer);
        } finally {
            session.exit();
            Reference.reachabilityFence(buffer);
            Reference.reachabilityFence(access);
        }
    }

    private Operation begin(int kind, ByteBuffer buffer, long offset, Executor where) {
        requireNotNegative("offset", offset);
        Operation operation = null;
        boolean entered = session.tryEnter();
        try {
            operation = new Operation(this, kind, buffer, offset, where);
            if (!entered) {
                operation.fail(new ClosedChannelException());
            } else if (operation.length == 0) {
                operation.finish(0);
            } else {
                session.singles().begin(operation);
            }
            return operation;
        } catch (ClosedChannelException closed) {
            operation.fail(closed);
            return operation;
        } finally {
            if (entered) {
                session.exit();
            }
            Reference.reachabilityFence(access);
        }
    }

    private interface Call {
        int run();
    }

    private void call(String what, Call call) throws IOException {
        session.enter();
        try {
            int answer = call.run();
            if (answer < 0) {
                throw new RandomAccessException(what + name(), -answer);
            }
        } finally {
            session.exit();
            Reference.reachabilityFence(access);
        }
    }

    private static ByteBuffer writable(ByteBuffer destination) {
        if (Objects.requireNonNull(destination).isReadOnly()) {
            throw new IllegalArgumentException("the buffer is read-only: nothing can be read into it");
        }
        return destination;
    }

    private static void requireNotNegative(String what, long value) {
        if (value < 0) {
            throw new IllegalArgumentException("the " + what + " is at least 0, not " + value);
        }
    }
}
