package dev.fathom.io;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicReference;

/** The native functions, over {@code java.lang.foreign}; see the class of the same name for older versions of Java. */
final class NativeCalls {
    private static final SymbolLookup LIBRARY = library();
    private static final MethodHandle TARGETS_NEW = handle("fathom_targets_new", JAVA_LONG);
    private static final MethodHandle TARGETS_OPEN = handle("fathom_targets_open", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle TARGETS_ADD_BUFFER = handle("fathom_targets_add_buffer", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle TARGETS_FREE = handle("fathom_targets_free", null, JAVA_LONG);
    private static final MethodHandle RING_NEW = handle("fathom_ring_new", JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT);
    private static final MethodHandle RING_TRAIT = handle("fathom_ring_trait", JAVA_INT, JAVA_LONG, JAVA_INT);
    private static final MethodHandle RING_ALIGNMENT = handle("fathom_ring_alignment", JAVA_INT, JAVA_LONG, JAVA_INT);
    private static final MethodHandle RING_SIZE = handle("fathom_ring_size", JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle RING_SYNC = handle("fathom_ring_sync", JAVA_INT, JAVA_LONG, JAVA_INT);
    private static final MethodHandle RING_SUBMIT = handle("fathom_ring_submit", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle RING_AWAIT = handle("fathom_ring_await", JAVA_INT, JAVA_LONG, JAVA_INT);
    private static final MethodHandle RING_RUN = handle("fathom_ring_run", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle RING_SINGLE =
            handle("fathom_ring_single", JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG);
    private static final MethodHandle RING_TRUNCATE = handle("fathom_ring_truncate", JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG);
    private static final MethodHandle RING_ALLOCATE = handle("fathom_ring_allocate", JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle SINGLES_NEW = handle("fathom_singles_new", JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle SINGLES_TURN = handle("fathom_singles_turn", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG);
    private static final MethodHandle SINGLES_WAKE = handle("fathom_singles_wake", null, JAVA_LONG);
    private static final MethodHandle SINGLES_FREE = handle("fathom_singles_free", null, JAVA_LONG);
    private static final MethodHandle RING_CLOSE = handle("fathom_ring_close", JAVA_INT, JAVA_LONG);
    private static final MethodHandle RING_FREE = handle("fathom_ring_free", null, JAVA_LONG);

    /** Scopes that end with the last reference to them. Their classes are not public, so they are distinguished by examples. */
    private static final Class<?> GLOBAL = Arena.global().scope().getClass();
    private static final Class<?> AUTOMATIC = Arena.ofAuto().scope().getClass();
    private static final boolean TOLD_APART = toldApart();

    /** A thread that owns no confined arena. */
    private static final Thread ANOTHER = new Thread();

    private NativeCalls() {}

    /** Returns the calling mechanism. This is a method because the compiler would inline a constant into its users. */
    static String binding() {
        return "java.lang.foreign";
    }

    private static SymbolLookup library() {
        AtomicReference<SymbolLookup> found = new AtomicReference<>();
        NativeLibrary.load(path -> found.set(SymbolLookup.libraryLookup(path, Arena.global())));
        return found.get();
    }

    private static MethodHandle handle(String name, MemoryLayout answer, MemoryLayout... arguments) {
        MemorySegment function = LIBRARY.find(name)
                .orElseThrow(() -> new UnsatisfiedLinkError("the native library has no " + name + ": it is of another version"));
        FunctionDescriptor type = answer == null ? FunctionDescriptor.ofVoid(arguments) : FunctionDescriptor.of(answer, arguments);
        return Linker.nativeLinker().downcallHandle(function, type);
    }

    private static AssertionError unexpected(Throwable thrown) {
        return new AssertionError("a native function cannot throw", thrown);
    }

    /** Returns the address of a direct buffer's first byte. */
    static long address(ByteBuffer buffer) {
        return MemorySegment.ofBuffer(buffer.duplicate().clear()).address();
    }

    /** Returns the lifetime of a direct buffer's memory. Throws if the memory has been freed. */
    static Lifetime lifetime(ByteBuffer buffer) {
        MemorySegment segment = MemorySegment.ofBuffer(buffer);
        if (!segment.scope().isAlive()) {
            throw new IllegalStateException("the arena of the buffer is closed");
        }
        if (TOLD_APART && endsWithItsReferences(segment.scope())) {
            return Lifetime.REACHABLE;
        }
        return segment.isAccessibleBy(ANOTHER) ? Lifetime.ARENA : Lifetime.CONFINED;
    }

    private static boolean endsWithItsReferences(MemorySegment.Scope scope) {
        return GLOBAL.isInstance(scope) || scope.getClass() == AUTOMATIC;
    }

    private static boolean toldApart() {
        try (Arena shared = Arena.ofShared(); Arena confined = Arena.ofConfined()) {
            return !endsWithItsReferences(shared.scope()) && !endsWithItsReferences(confined.scope());
        }
    }

    /** Creates an empty set of targets. */
    static long targetsNew() {
        try {
            return (long) TARGETS_NEW.invokeExact();
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }

    /** Opens a file; returns its index. */
    static int targetsOpen(long handle, long path, int flags) {
        try {
            return (int) TARGETS_OPEN.invokeExact(handle, path, flags);
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }

    /** Adds a buffer; returns its index. */
    static int targetsAddBuffer(long handle, long address, long length) {
        try {
            return (int) TARGETS_ADD_BUFFER.invokeExact(handle, address, length);
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }

    /** Frees targets that were never passed to a ring. */
    static void targetsFree(long handle) {
        try {
            TARGETS_FREE.invokeExact(handle);
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }

    /** Creates a ring, which takes ownership of the targets. */
    static long ringNew(long handle, int depth, int engine) {
        try {
            return (long) RING_NEW.invokeExact(handle, depth, engine);
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }

    /** Returns a property: 0: 1 for io_uring; 1: error that prevented io_uring; 2: error that prevented the registration of buffers; 3: depth. */
    static int ringTrait(long handle, int which) {
        try {
            return (int) RING_TRAIT.invokeExact(handle, which);
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }

    /** Returns the required alignment of a file's I/O in bytes. */
    static int ringAlignment(long handle, int file) {
        try {
            return (int) RING_ALIGNMENT.invokeExact(handle, file);
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }

    /** Returns a file's size in bytes. */
    static long ringSize(long handle, int file) {
        try {
            return (long) RING_SIZE.invokeExact(handle, file);
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }

    /** Flushes completed writes to stable storage. */
    static int ringSync(long handle, int file) {
        try {
            return (int) RING_SYNC.invokeExact(handle, file);
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }

    /** Submits a batch; returns its slot. */
    static int ringSubmit(long handle, long descriptors, int count) {
        try {
            return (int) RING_SUBMIT.invokeExact(handle, descriptors, count);
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }

    /** Waits for a batch; returns the number of failed I/Os. */
    static int ringAwait(long handle, int slot) {
        try {
            return (int) RING_AWAIT.invokeExact(handle, slot);
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }

    /** Submits a batch and waits for it. */
    static int ringRun(long handle, long descriptors, int count) {
        try {
            return (int) RING_RUN.invokeExact(handle, descriptors, count);
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }

    /** Executes one read or write in the calling thread; returns the number of bytes. */
    static int ringSingle(long handle, int operation, int file, long address, int length, long offset) {
        try {
            return (int) RING_SINGLE.invokeExact(handle, operation, file, address, length, offset);
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }

    /** Sets a file's size. */
    static int ringTruncate(long handle, int file, long size) {
        try {
            return (int) RING_TRUNCATE.invokeExact(handle, file, size);
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }

    /** Reserves space for a range of a file. */
    static int ringAllocate(long handle, int file, long offset, long length) {
        try {
            return (int) RING_ALLOCATE.invokeExact(handle, file, offset, length);
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }

    /** Creates a ring of the calling thread for single reads and writes. */
    static long singlesNew(long handle, int depth) {
        try {
            return (long) SINGLES_NEW.invokeExact(handle, depth);
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }

    /** Submits requests and waits; returns the number of completions. */
    static int singlesTurn(long singles, long handle, long requests, int count, long completions) {
        try {
            return (int) SINGLES_TURN.invokeExact(singles, handle, requests, count, completions);
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }

    /** Ends the wait of the thread in {@link #singlesTurn}. */
    static void singlesWake(long singles) {
        try {
            SINGLES_WAKE.invokeExact(singles);
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }

    /** Frees a ring for single reads and writes. */
    static void singlesFree(long singles) {
        try {
            SINGLES_FREE.invokeExact(singles);
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }

    /** Rejects new batches and waits for the kernel; returns the number of I/Os that the kernel keeps. */
    static int ringClose(long handle) {
        try {
            return (int) RING_CLOSE.invokeExact(handle);
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }

    /** Frees a closed ring. */
    static void ringFree(long handle) {
        try {
            RING_FREE.invokeExact(handle);
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }
}
