package dev.fathom.io;

import java.nio.ByteBuffer;

/**
 * The native functions, over JNI. Java 22 and newer take the class of the same name that calls them over {@code java.lang.foreign}.
 * Numbers below zero are Linux's error numbers, negated. Handles and addresses are trusted: {@link Session} guards them.
 */
final class NativeCalls {
    static {
        NativeLibrary.load(path -> System.load(path.toString()));
    }

    private static final boolean MAY_HAVE_ARENAS =
            Runtime.version().feature() > 17 || ModuleLayer.boot().findModule("jdk.incubator.foreign").isPresent();

    private NativeCalls() {}

    /** How natives are called. A method, because a constant would be copied into whatever is compiled against it. */
    static String binding() {
        return "JNI";
    }

    /** The address of a direct buffer's first byte. */
    static native long address(ByteBuffer buffer);

    /**
     * How long a direct buffer's memory stays valid. Java 18 to 21 have arenas as a preview, and 17 as an incubating module: there, buffers that
     * may be of one count as such. Throws if it is not valid any more.
     */
    static Lifetime lifetime(ByteBuffer buffer) {
        return MAY_HAVE_ARENAS ? Lifetime.ARENA : Lifetime.REACHABLE;
    }

    /** An empty set of targets. */
    static native long targetsNew();

    /** Opens a file; its number. */
    static native int targetsOpen(long handle, long path, int flags);

    /** Adds a buffer; its number. */
    static native int targetsAddBuffer(long handle, long address, long length);

    /** Frees targets that never became a ring. */
    static native void targetsFree(long handle);

    /** Makes a ring of targets, which it takes over. */
    static native long ringNew(long handle, int depth, int engine);

    /** 0: is it io_uring; 1: why not; 2: why buffers are not registered; 3: depth. */
    static native int ringTrait(long handle, int which);

    /** Alignment of a file's I/O in bytes. */
    static native int ringAlignment(long handle, int file);

    /** A file's size in bytes. */
    static native long ringSize(long handle, int file);

    /** Makes writes last. */
    static native int ringSync(long handle, int file);

    /** Begins a batch; its slot. */
    static native int ringSubmit(long handle, long descriptors, int count);

    /** Waits for a batch; how many I/Os failed. */
    static native int ringAwait(long handle, int slot);

    /** Begins a batch and waits for it. */
    static native int ringRun(long handle, long descriptors, int count);

    /** One read or write by the calling thread; bytes. */
    static native int ringSingle(long handle, int operation, int file, long address, int length, long offset);

    /** Sets a file's size. */
    static native int ringTruncate(long handle, int file, long size);

    /** Reserves space for a part of a file. */
    static native int ringAllocate(long handle, int file, long offset, long length);

    /** A ring of the calling thread for single reads and writes. */
    static native long singlesNew(long handle, int depth);

    /** Submits requests and waits; how many are complete. */
    static native int singlesTurn(long singles, long handle, long requests, int count, long completions);

    /** Ends the wait of the thread in {@link #singlesTurn}. */
    static native void singlesWake(long singles);

    /** Frees a ring for single reads and writes. */
    static native void singlesFree(long singles);

    /** Refuses new batches and waits for the kernel; I/Os it keeps. */
    static native int ringClose(long handle);

    /** Frees a ring that was closed. */
    static native void ringFree(long handle);
}
