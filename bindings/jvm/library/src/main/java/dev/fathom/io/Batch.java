package dev.fathom.io;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Reads and writes that are submitted together. The kernel may execute them in any order. A batch is created once by {@link RandomAccess#newBatch} and
 * reused without further allocations. While it is in flight, it can be neither changed nor read.
 *
 * <p>Only one thread may fill a batch; it may then hand the batch over to another thread.
 */
public final class Batch {
    static final int BYTES = 32;
    private static final int LENGTH = 8;
    private static final int POSITION = 12;
    private static final int OPERATION = 16;
    private static final int FILE = 20;
    private static final int BUFFER = 22;
    private static final int RESULT = 24;

    /** Not in flight: being filled, or complete. */
    static final int IDLE = 0;
    /** In flight; no thread waits for it. */
    static final int SUBMITTED = 1;
    /** In flight, and a thread waits for it. */
    static final int AWAITED = 2;

    final RandomAccess owner;
    final ByteBuffer descriptors;
    final long address;
    final AtomicInteger state = new AtomicInteger(IDLE);
    private final int capacity;
    private int count;
    int slot;
    int failed;

    Batch(RandomAccess owner, int capacity) {
        this.owner = owner;
        this.capacity = capacity;
        descriptors = ByteBuffer.allocateDirect((capacity + 1) * BYTES).alignedSlice(BYTES).order(ByteOrder.nativeOrder());
        address = NativeCalls.address(descriptors);
    }

    /**
     * Adds a read from the first file into the first buffer.
     *
     * @param offset first byte in the file
     * @param length bytes to read, at least 1
     * @param position first byte in the buffer
     * @return this batch
     */
    public Batch read(long offset, int length, int position) {
        return add(0, 0, offset, length, 0, position);
    }

    /**
     * Adds a write of the first buffer to the first file.
     *
     * @param offset first byte in the file
     * @param length bytes to write, at least 1
     * @param position first byte in the buffer
     * @return this batch
     */
    public Batch write(long offset, int length, int position) {
        return add(1, 0, offset, length, 0, position);
    }

    /**
     * Adds a read.
     *
     * @param file index of the file, in the order in which the files were passed to {@code open}
     * @param offset first byte in the file
     * @param length bytes to read, at least 1
     * @param buffer index of the buffer
     * @param position first byte in the buffer
     * @return this batch
     */
    public Batch read(int file, long offset, int length, int buffer, int position) {
        return add(0, file, offset, length, buffer, position);
    }

    /**
     * Adds a write.
     *
     * @param file index of the file, in the order in which the files were passed to {@code open}
     * @param offset first byte in the file
     * @param length bytes to write, at least 1
     * @param buffer index of the buffer
     * @param position first byte in the buffer
     * @return this batch
     */
    public Batch write(int file, long offset, int length, int buffer, int position) {
        return add(1, file, offset, length, buffer, position);
    }

    /**
     * Removes all reads and writes.
     *
     * @return this batch
     */
    public Batch clear() {
        requireIdle();
        count = 0;
        return this;
    }

    /**
     * Returns the number of reads and writes in the batch.
     *
     * @return their number
     */
    public int count() {
        return count;
    }

    /**
     * Returns the maximum number of reads and writes in the batch.
     *
     * @return their number
     */
    public int capacity() {
        return capacity;
    }

    /**
     * Returns the result of one read or write. Fewer bytes than requested is not an error: a read that reaches the end of the file is short.
     *
     * @param index its index, counted from 0 in the order of addition
     * @return the number of bytes transferred, or the negated Linux error number
     */
    public int result(int index) {
        requireIdle();
        return descriptors.getInt(Objects.checkIndex(index, count) * BYTES + RESULT);
    }

    /**
     * Returns the file offset of one read or write.
     *
     * @param index its index
     * @return the offset in bytes
     */
    public long offset(int index) {
        return descriptors.getLong(Objects.checkIndex(index, count) * BYTES);
    }

    /**
     * Throws if any read or write of the batch failed or transferred fewer bytes than requested.
     *
     * @return this batch
     * @throws RandomAccessException for the first one that failed
     */
    public Batch check() throws RandomAccessException {
        for (int index = 0; index < count; index++) {
            int result = result(index);
            int length = descriptors.getInt(index * BYTES + LENGTH);
            if (result < 0) {
                throw new RandomAccessException(describe(index), -result);
            }
            if (result < length) {
                throw new RandomAccessException(describe(index) + ": only " + result + " bytes; is the end of the file before that?", 5);
            }
        }
        return this;
    }

    private String describe(int index) {
        int at = index * BYTES;
        int file = descriptors.getShort(at + FILE);
        String operation = descriptors.getInt(at + OPERATION) == 0 ? "read" : "write";
        int alignment = owner.alignment(file);
        return operation + " of " + descriptors.getInt(at + LENGTH) + " bytes at offset " + descriptors.getLong(at) + " of "
                + owner.name(file) + ", position " + descriptors.getInt(at + POSITION) + " of buffer " + descriptors.getShort(at + BUFFER)
                + (alignment > 1 ? " (all in multiples of " + alignment + ")" : "");
    }

    private Batch add(int operation, int file, long offset, int length, int buffer, int position) {
        requireIdle();
        if (count == capacity) {
            throw new IllegalStateException("the batch is full: " + capacity + " reads and writes were asked for when it was made");
        }
        if (file != (short) file || buffer != (short) buffer) {
            throw new IllegalArgumentException("there is no file " + file + " or no buffer " + buffer);
        }
        int at = count * BYTES;
        descriptors.putLong(at, offset);
        descriptors.putInt(at + LENGTH, length);
        descriptors.putInt(at + POSITION, position);
        descriptors.putInt(at + OPERATION, operation);
        descriptors.putShort(at + FILE, (short) file);
        descriptors.putShort(at + BUFFER, (short) buffer);
        descriptors.putInt(at + RESULT, 0);
        count++;
        return this;
    }

    private void requireIdle() {
        if (state.get() != IDLE) {
            throw new IllegalStateException("the batch is in flight: await it first");
        }
    }
}
