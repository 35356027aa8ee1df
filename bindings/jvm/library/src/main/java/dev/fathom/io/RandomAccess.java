package dev.fathom.io;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Random reads and writes on files and block devices: in batches, or one at a time through {@link #file}.
 *
 * <p>It may be used by any number of threads, each with its own batches; at most 64 batches are in flight at a time. It is
 * fastest with one thread per {@code RandomAccess}. Interrupting a thread does not end its wait, because the kernel still uses its
 * buffers. {@link #close()} may be called at any time: interrupted waits throw {@link AsynchronousCloseException}, and {@code close}
 * returns when the kernel has finished everything submitted.
 */
public final class RandomAccess implements AutoCloseable {
    private static final Cleaner CLEANER = Cleaner.create();
    private static final MethodHandle IS_VIRTUAL = isVirtual();

    private final Session session;
    private final Cleaner.Cleanable cleanable;
    private final List<Path> files;
    private final OpenFile[] openFiles;
    private final int[] alignments;
    private final Engine engine;
    private final String engineReason;
    private final int depth;
    private final String buffersReason;
    private final ThreadPoolExecutor completions;
    private final Executor executor;

    RandomAccess(Session session, List<Path> files, Engine wish, Executor executor) {
        this.session = session;
        this.files = files;
        this.executor = executor;
        openFiles = new OpenFile[files.size()];
        for (int file = 0; file < openFiles.length; file++) {
            openFiles[file] = new OpenFile(this, session, file, executor);
        }
        alignments = new int[files.size()];
        for (int file = 0; file < alignments.length; file++) {
            alignments[file] = NativeCalls.ringAlignment(session.handle, file);
        }
        boolean uring = NativeCalls.ringTrait(session.handle, 0) == 1;
        int refused = NativeCalls.ringTrait(session.handle, 1);
        int buffersRefused = NativeCalls.ringTrait(session.handle, 2);
        engine = uring ? Engine.IO_URING : Engine.PREADV;
        engineReason = refused == 0
                ? (wish == Engine.AUTOMATIC ? "the best there is" : "asked for")
                : "io_uring is not available: " + RandomAccessException.text(refused);
        buffersReason = buffersRefused == 0 ? "" : "buffers are not registered: " + RandomAccessException.text(buffersRefused);
        depth = NativeCalls.ringTrait(session.handle, 3);
        completions = new ThreadPoolExecutor(1, 1, 5, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
            Thread thread = new Thread(task, "fathom-completions");
            thread.setDaemon(true);
            return thread;
        });
        completions.allowCoreThreadTimeOut(true);
        cleanable = CLEANER.register(this, session);
    }

    /**
     * Creates a builder.
     *
     * @return settings with their defaults
     */
    public static RandomAccessBuilder builder() {
        return new RandomAccessBuilder();
    }

    /**
     * Creates an empty batch.
     *
     * @param capacity maximum number of reads and writes, from 1 to 1,048,576
     * @return a batch for this object only
     */
    public Batch newBatch(int capacity) {
        if (capacity < 1 || capacity > 1 << 20) {
            throw new IllegalArgumentException("a batch has from 1 to 1048576 reads and writes, not " + capacity);
        }
        return new Batch(this, capacity);
    }

    /**
     * Returns a file for reads and writes without a batch.
     *
     * @param number of the file, in the order that they were named when opening
     * @return the file; it is closed with this object
     */
    public OpenFile file(int number) {
        return openFiles[Objects.checkIndex(number, openFiles.length)];
    }

    /**
     * The memory that batches read into and write from: page-aligned, and registered with the kernel where possible.
     *
     * @param number from 0
     * @return the buffer; its index 0 is position 0 of a read or write. It stays readable after this object is closed
     */
    public ByteBuffer buffer(int number) {
        return session.buffers[Objects.checkIndex(number, session.buffers.length)];
    }

    /**
     * Submits a batch and waits for it. A virtual thread releases its carrier while it waits.
     *
     * @param batch a batch of this object, not in flight
     * @return the number of failed reads and writes; {@link Batch#check} throws for them
     * @throws AsynchronousCloseException if this object was closed during the wait
     * @throws IOException if it is closed, or the kernel rejects the batch
     */
    public int run(Batch batch) throws IOException {
        if (isVirtualThread()) {
            submit(batch);
            return join(later(batch, Runnable::run)).failed;
        }
        take(batch, Batch.IDLE);
        int answer;
        try {
            session.enter();
        } catch (ClosedChannelException closed) {
            batch.state.set(Batch.IDLE);
            throw closed;
        }
        try {
            answer = NativeCalls.ringRun(session.handle, batch.address, batch.count());
            if (answer == -RandomAccessException.ESHUTDOWN) {
                session.giveUp(batch.descriptors);
            }
        } finally {
            session.exit();
            Reference.reachabilityFence(batch);
            Reference.reachabilityFence(this);
        }
        return finish(batch, answer);
    }

    /**
     * Submits a batch and returns immediately. With {@link Engine#PREADV} the I/O is executed by {@link #await}.
     *
     * @param batch a batch of this object, not in flight
     * @throws IOException if this object is closed, or 64 batches are in flight
     */
    public void submit(Batch batch) throws IOException {
        take(batch, Batch.IDLE);
        int slot = -1;
        try {
            session.enter();
            try {
                slot = NativeCalls.ringSubmit(session.handle, batch.address, batch.count());
                if (slot >= 0) {
                    session.inFlight.set(slot, batch.descriptors);
                }
            } finally {
                session.exit();
            }
        } finally {
            batch.slot = slot;
            batch.state.set(slot >= 0 ? Batch.SUBMITTED : Batch.IDLE);
            Reference.reachabilityFence(this);
        }
        if (slot < 0) {
            throw refused("the batch was not submitted", -slot);
        }
    }

    /**
     * Waits for a batch. A virtual thread releases its carrier while it waits.
     *
     * @param batch a submitted batch for which no other thread waits
     * @return the number of failed reads and writes
     * @throws AsynchronousCloseException if this object was closed during the wait
     * @throws IOException if it is closed, or the kernel rejects the batch
     */
    public int await(Batch batch) throws IOException {
        if (isVirtualThread()) {
            return join(later(batch, Runnable::run)).failed;
        }
        take(batch, Batch.SUBMITTED);
        return awaitTaken(batch);
    }

    /**
     * Submits a batch and completes a future when all its I/Os are complete, in the executor given to {@link RandomAccessBuilder#executor}. The executor receives batches in the order of their
     * submission.
     *
     * @param batch a batch of this object, not in flight
     * @return the batch when it is complete, or the exception that {@link #await} would have thrown
     * @throws IOException if it cannot be submitted
     */
    public CompletableFuture<Batch> runAsync(Batch batch) throws IOException {
        submit(batch);
        return later(batch, executor);
    }

    /**
     * Flushes completed writes to all files to stable storage ({@code fdatasync}). Does not wait for writes in flight.
     *
     * @throws IOException if that fails, or this object is closed
     */
    public void sync() throws IOException {
        session.enter();
        try {
            for (int file = 0; file < alignments.length; file++) {
                int answer = NativeCalls.ringSync(session.handle, file);
                if (answer < 0) {
                    throw new RandomAccessException("sync of " + name(file), -answer);
                }
            }
        } finally {
            session.exit();
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Returns the size of a file or a block device.
     *
     * @param file its number, from 0
     * @return bytes
     * @throws IOException if this object is closed, or there is no such file
     */
    public long size(int file) throws IOException {
        Objects.checkIndex(file, alignments.length);
        session.enter();
        try {
            long size = NativeCalls.ringSize(session.handle, file);
            if (size < 0) {
                throw new RandomAccessException("size of " + name(file), (int) -size);
            }
            return size;
        } finally {
            session.exit();
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Returns the required alignment of offsets and lengths in a file.
     *
     * @param file its number, from 0
     * @return bytes; 1 without {@link RandomAccessBuilder#direct}
     */
    public int alignment(int file) {
        return file >= 0 && file < alignments.length ? alignments[file] : 1;
    }

    /**
     * Returns the engine in use.
     *
     * @return {@link Engine#IO_URING} or {@link Engine#PREADV}
     */
    public Engine engine() {
        return engine;
    }

    /**
     * Returns why this engine was chosen.
     *
     * @return a sentence, such as that io_uring is forbidden
     */
    public String engineReason() {
        return engineReason;
    }

    /**
     * Returns the reason why the buffers are not registered with the kernel. Unregistered buffers only make I/O slower.
     *
     * @return a sentence; empty if the buffers are registered, or without io_uring
     */
    public String buffersReason() {
        return buffersReason;
    }

    /**
     * Returns the maximum number of reads and writes in flight. Larger batches are submitted in portions.
     *
     * @return their number; 1 without io_uring
     */
    public int depth() {
        return depth;
    }

    /**
     * Returns whether this object is open.
     *
     * @return false after {@link #close}
     */
    public boolean isOpen() {
        return session.isOpen();
    }

    /** Closes all files once the kernel has finished everything submitted. A second call does nothing. */
    @Override
    public void close() {
        cleanable.clean();
    }

    Path path(int file) {
        return files.get(file);
    }

    String name(int file) {
        return file >= 0 && file < files.size() ? files.get(file).toString() : "file " + file + ", which there is not";
    }

    private static void handOver(Executor where, CompletableFuture<Batch> future, Batch batch, Throwable failure) {
        try {
            where.execute(() -> {
                if (failure == null) {
                    future.complete(batch);
                } else {
                    future.completeExceptionally(failure);
                }
            });
        } catch (Throwable refused) {
            // The future must always be completed.
            future.completeExceptionally(refused);
        }
    }

    private CompletableFuture<Batch> later(Batch batch, Executor where) {
        take(batch, Batch.SUBMITTED);
        CompletableFuture<Batch> future = new CompletableFuture<>();
        completions.execute(() -> {
            Throwable failure = null;
            try {
                awaitTaken(batch);
            } catch (Throwable failed) {
                failure = failed;
            }
            handOver(where, future, batch, failure);
        });
        return future;
    }

    private int awaitTaken(Batch batch) throws IOException {
        if (!session.tryEnter()) {
            throw new AsynchronousCloseException();
        }
        int answer;
        try {
            answer = NativeCalls.ringAwait(session.handle, batch.slot);
            // An interrupted batch keeps its memory: the kernel may still use it.
            if (answer >= 0) {
                session.inFlight.compareAndSet(batch.slot, batch.descriptors, null);
            }
        } finally {
            session.exit();
            Reference.reachabilityFence(this);
        }
        return finish(batch, answer);
    }

    private int finish(Batch batch, int answer) throws IOException {
        if (answer == -RandomAccessException.ESHUTDOWN) {
            // The batch stays in flight forever, so its results are invalid.
            throw new AsynchronousCloseException();
        }
        if (answer < 0) {
            batch.state.set(Batch.IDLE);
            throw refused("the batch was not done", -answer);
        }
        batch.failed = answer;
        batch.state.set(Batch.IDLE);
        return answer;
    }

    private static RandomAccessException refused(String what, int errno) {
        return new RandomAccessException(errno == RandomAccessException.EBUSY ? "64 batches are in flight: await one first" : what, errno);
    }

    /** Claims a batch for this thread until the thread sets a different state. */
    private void take(Batch batch, int from) {
        if (batch.owner != this) {
            throw new IllegalArgumentException("the batch belongs to another RandomAccess");
        }
        if (!batch.state.compareAndSet(from, Batch.AWAITED)) {
            throw new IllegalStateException(from == Batch.IDLE ? "the batch is in flight" : "the batch is not in flight, or another thread awaits it");
        }
    }

    private static Batch join(CompletableFuture<Batch> future) throws IOException {
        try {
            return future.join();
        } catch (CompletionException failure) {
            if (failure.getCause() instanceof IOException cause) {
                throw cause;
            }
            throw new UncheckedIOException(new IOException(failure.getCause()));
        }
    }

    static boolean isVirtualThread() {
        try {
            return IS_VIRTUAL != null && (boolean) IS_VIRTUAL.invokeExact(Thread.currentThread());
        } catch (Throwable thrown) {
            throw new AssertionError("Thread.isVirtual cannot throw", thrown);
        }
    }

    private static MethodHandle isVirtual() {
        try {
            return MethodHandles.lookup().findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
        } catch (ReflectiveOperationException absent) {
            // Virtual threads exist since Java 21.
            return null;
        }
    }
}
