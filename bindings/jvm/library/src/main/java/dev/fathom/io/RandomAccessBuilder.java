package dev.fathom.io;

import java.io.IOException;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** Settings of a {@link RandomAccess}. The property {@code dev.fathom.engine} changes what {@link Engine#AUTOMATIC} means. */
public final class RandomAccessBuilder {
    private static final int WRITABLE = 1;
    private static final int DIRECT = 2;
    private static final int CREATE = 4;

    private final List<Wanted> buffers = new ArrayList<>();
    private boolean writable;
    private boolean direct;
    private boolean create;
    private int depth = 1024;
    private Engine engine = Engine.AUTOMATIC;
    private Executor executor = new CompletableFuture<>().defaultExecutor();

    /** A buffer: either a size, or memory supplied by the caller. */
    private record Wanted(int bytes, ByteBuffer own) {
        ByteBuffer memory() {
            return own == null ? Staging.allocate(bytes) : own;
        }
    }

    RandomAccessBuilder() {}

    /**
     * Opens the files for writing as well. Block devices are then opened exclusively, so that opening one in use fails.
     *
     * @param writable false unless set
     * @return these settings
     */
    public RandomAccessBuilder writable(boolean writable) {
        this.writable = writable;
        return this;
    }

    /**
     * Bypasses the page cache ({@code O_DIRECT}). Offsets, lengths and positions are then multiples of
     * {@link RandomAccess#alignment}.
     *
     * @param direct false unless set
     * @return these settings
     */
    public RandomAccessBuilder direct(boolean direct) {
        this.direct = direct;
        return this;
    }

    /**
     * Creates missing files; requires {@link #writable}.
     *
     * @param create false unless set
     * @return these settings
     */
    public RandomAccessBuilder create(boolean create) {
        this.create = create;
        return this;
    }

    /**
     * Sets the maximum number of reads and writes in flight. The kernel rounds up to a power of two.
     *
     * @param depth from 1 to 32,768; 1,024 unless set
     * @return these settings
     */
    public RandomAccessBuilder depth(int depth) {
        if (depth < 1 || depth > 32768) {
            throw new IllegalArgumentException("the depth is from 1 to 32768, not " + depth);
        }
        this.depth = depth;
        return this;
    }

    /**
     * Adds a buffer for batches, which need at least one.
     *
     * @param bytes its size, from 1 to 1 GiB
     * @return these settings
     */
    public RandomAccessBuilder buffer(int bytes) {
        if (bytes < 1 || bytes > 1 << 30) {
            throw new IllegalArgumentException("a buffer has from 1 to 1073741824 bytes, not " + bytes);
        }
        buffers.add(new Wanted(bytes, null));
        return this;
    }

    /**
     * Adds the caller's own memory as a buffer for batches: the memory between the position and the limit of a direct buffer. The buffer must not
     * belong to an arena that can be closed, because the kernel uses it for as long as the
     * files are open. For direct I/O the memory must be aligned.
     *
     * @param own a direct buffer, such as {@code segment.asByteBuffer()} of {@code Arena.global()} or {@code Arena.ofAuto()}
     * @return these settings
     */
    public RandomAccessBuilder buffer(ByteBuffer own) {
        if (!own.isDirect() || own.isReadOnly() || !own.hasRemaining()) {
            throw new IllegalArgumentException("a buffer for batches must be direct, writable, and have bytes remaining");
        }
        if (NativeCalls.lifetime(own) != Lifetime.REACHABLE) {
            throw new IllegalArgumentException("the buffer may be of an arena that can be closed while the kernel uses it: take Arena.global(), Arena.ofAuto() or "
                    + "ByteBuffer.allocateDirect (on Java 18 to 21, a buffer of this library's own)");
        }
        buffers.add(new Wanted(own.remaining(), own.slice()));
        return this;
    }

    /**
     * Sets the executor that completes futures and therefore runs the stages that depend on them. {@code Runnable::run} completes them in the thread that waits for the kernel,
     * which is fastest; dependent stages must not block there, because no other I/O completes meanwhile. A future that the executor rejects fails with the exception
     * of the executor.
     *
     * @param executor that of {@link CompletableFuture#defaultExecutor} unless set
     * @return these settings
     */
    public RandomAccessBuilder executor(Executor executor) {
        this.executor = Objects.requireNonNull(executor);
        return this;
    }

    /**
     * Selects the engine.
     *
     * @param engine {@link Engine#AUTOMATIC} unless set
     * @return these settings
     */
    public RandomAccessBuilder engine(Engine engine) {
        this.engine = engine;
        return this;
    }

    /**
     * Opens files.
     *
     * @param files regular files or block devices; batches name them by number, from 0
     * @return an object for I/O on these files
     * @throws IOException with the reason, if a file cannot be opened
     */
    public RandomAccess open(Path... files) throws IOException {
        if (files.length == 0) {
            throw new IllegalArgumentException("at least one file is needed");
        }
        Engine wish = wish();
        ByteBuffer[] memory = new ByteBuffer[buffers.size()];
        for (int number = 0; number < memory.length; number++) {
            memory[number] = buffers.get(number).memory();
        }
        long targets = NativeCalls.targetsNew();
        try {
            for (Path file : files) {
                openFile(targets, file);
            }
            for (ByteBuffer buffer : memory) {
                int added = NativeCalls.targetsAddBuffer(targets, NativeCalls.address(buffer), buffer.capacity());
                if (added < 0) {
                    throw new RandomAccessException("adding a buffer of " + buffer.capacity() + " bytes", -added);
                }
            }
        } catch (Throwable failure) {
            NativeCalls.targetsFree(targets);
            throw failure;
        }
        long handle = NativeCalls.ringNew(targets, depth, wish.ordinal());
        if (handle < 0) {
            throw new RandomAccessException("setting up io_uring (Engine.AUTOMATIC does without)", (int) -handle);
        }
        return new RandomAccess(new Session(handle, memory), List.of(files), wish, executor);
    }

    private void openFile(long targets, Path file) throws RandomAccessException {
        byte[] name = file.toString().getBytes(pathCharset());
        ByteBuffer path = ByteBuffer.allocateDirect(name.length + 1).put(name).put((byte) 0);
        int flags = (writable ? WRITABLE : 0) | (direct ? DIRECT : 0) | (create ? CREATE : 0);
        int opened = NativeCalls.targetsOpen(targets, NativeCalls.address(path), flags);
        Reference.reachabilityFence(path);
        if (opened < 0) {
            throw new RandomAccessException("opening " + file + hint(-opened), -opened);
        }
    }

    private String hint(int errno) {
        int invalid = 22;
        return errno == invalid
                ? " (only regular files and block devices" + (direct ? ", and file systems that know O_DIRECT; direct(false) does without)" : ")")
                : "";
    }

    private Engine wish() {
        String named = System.getProperty("dev.fathom.engine");
        if (engine != Engine.AUTOMATIC || named == null) {
            return engine;
        }
        try {
            return Engine.valueOf(named.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException unknown) {
            throw new IllegalArgumentException("-Ddev.fathom.engine is automatic, io_uring or preadv, not " + named);
        }
    }

    private static java.nio.charset.Charset pathCharset() {
        String name = System.getProperty("sun.jnu.encoding");
        return name == null ? StandardCharsets.UTF_8 : java.nio.charset.Charset.forName(name);
    }
}
