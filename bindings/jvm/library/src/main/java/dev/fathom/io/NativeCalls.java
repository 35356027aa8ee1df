package dev.fathom.io;

import java.nio.ByteBuffer;

/**
 * The native functions, over JNI. Java 22 and newer load the class of the same name that uses {@code java.lang.foreign}. Negative
 * return values are negated Linux error numbers. Handles and addresses are not checked here: {@link
 * Session} guards them.
 */
final class NativeCalls {
    static {
        NativeLibrary.load(path -> System.load(path.toString()));
    }

    private static final boolean MAY_HAVE_ARENAS =
            Runtime.version().feature() > 17 || ModuleLayer.boot().findModule("jdk.incubator.foreign").isPresent();

    private NativeCalls() {}

    /** Returns the calling mechanism. This is a method because the compiler would inline a constant into its users. */
    static String binding() {
        return "JNI";
    }

    /** Returns the address of a direct buffer's first byte. */
    static native long address(ByteBuffer buffer);

    /**
     * Returns the lifetime of a direct buffer's memory. Arenas are a preview in Java 18 to 21, and an incubating module in 17: there, any buffer
     * that may belong to an arena counts as an arena buffer. Throws if the memory has been freed.
     */
    static Lifetime lifetime(ByteBuffer buffer) {
        return MAY_HAVE_ARENAS ? Lifetime.ARENA : Lifetime.REACHABLE;
    }

    /** Creates an empty set of targets. */
    static native long targetsNew();

    /** Opens a file; returns its index. */
    static native int targetsOpen(long handle, long path, int flags);

    /** Adds a buffer; returns its index. */
    static native int targetsAddBuffer(long handle, long address, long length);

    /** Frees targets that were never passed to a ring. */
    static native void targetsFree(long handle);

    /** Creates a ring, which takes ownership of the targets. */
    static native long ringNew(long handle, int depth, int engine);

    /** Returns a property: 0: 1 for io_uring; 1: error that prevented io_uring; 2: error that prevented the registration of buffers; 3: depth. */
    static native int ringTrait(long handle, int which);

    /** Returns the required alignment of a file's I/O in bytes. */
    static native int ringAlignment(long handle, int file);

    /** Returns a file's size in bytes. */
    static native long ringSize(long handle, int file);

    /** Flushes completed writes to stable storage. */
    static native int ringSync(long handle, int file);

    /** Submits a batch; returns its slot. */
    static native int ringSubmit(long handle, long descriptors, int count);

    /** Waits for a batch; returns the number of failed I/Os. */
    static native int ringAwait(long handle, int slot);

    /** Submits a batch and waits for it. */
    static native int ringRun(long handle, long descriptors, int count);

    /** Executes one read or write in the calling thread; returns the number of bytes. */
    static native int ringSingle(long handle, int operation, int file, long address, int length, long offset);

    /** Sets a file's size. */
    static native int ringTruncate(long handle, int file, long size);

    /** Reserves space for a range of a file. */
    static native int ringAllocate(long handle, int file, long offset, long length);

    /** Creates a ring of the calling thread for single reads and writes. */
    static native long singlesNew(long handle, int depth);

    /** Submits requests and waits; returns the number of completions. */
    static native int singlesTurn(long singles, long handle, long requests, int count, long completions);

    /** Ends the wait of the thread in {@link #singlesTurn}. */
    static native void singlesWake(long singles);

    /** Frees a ring for single reads and writes. */
    static native void singlesFree(long singles);

    /** Rejects new batches and waits for the kernel; returns the number of I/Os that the kernel keeps. */
    static native int ringClose(long handle);

    /** Frees a closed ring. */
    static native void ringFree(long handle);
}
