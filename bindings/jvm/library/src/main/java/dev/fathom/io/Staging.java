package dev.fathom.io;

import java.nio.ByteBuffer;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** Page-aligned memory for I/O on buffers that the kernel must not access directly. A few blocks of each size are kept for reuse. */
final class Staging {
    private static final int PAGE = 4096;
    private static final int LARGEST_KEPT = 1 << 20;
    private static final int BYTES_KEPT = 4 << 20;

    /** Free blocks by size: powers of two, starting with one page. */
    private final Shelf[] shelves = new Shelf[Integer.numberOfTrailingZeros(LARGEST_KEPT / PAGE) + 1];

    private static final class Shelf {
        final ConcurrentLinkedQueue<ByteBuffer> free = new ConcurrentLinkedQueue<>();
        final AtomicInteger count = new AtomicInteger();
    }

    Staging() {
        for (int size = 0; size < shelves.length; size++) {
            shelves[size] = new Shelf();
        }
    }

    /** Returns memory of at least this many bytes with undefined content. */
    ByteBuffer take(int length) {
        if (length > LARGEST_KEPT) {
            return allocate(length);
        }
        int number = number(length);
        Shelf shelf = shelves[number];
        ByteBuffer kept = shelf.free.poll();
        if (kept == null) {
            return allocate(PAGE << number);
        }
        shelf.count.decrementAndGet();
        return kept;
    }

    /** Returns unused memory to the pool. */
    void give(ByteBuffer memory) {
        int bytes = memory.capacity();
        if (bytes > LARGEST_KEPT) {
            return;
        }
        Shelf shelf = shelves[number(bytes)];
        if (shelf.count.getAndIncrement() < BYTES_KEPT / bytes) {
            shelf.free.add(memory);
        } else {
            shelf.count.decrementAndGet();
        }
    }

    static ByteBuffer allocate(int bytes) {
        return ByteBuffer.allocateDirect(Math.addExact(bytes, 2 * PAGE)).alignedSlice(PAGE).slice(0, bytes);
    }

    private static int number(int length) {
        int pages = (length + PAGE - 1) / PAGE;
        return pages <= 1 ? 0 : Integer.SIZE - Integer.numberOfLeadingZeros(pages - 1);
    }
}
