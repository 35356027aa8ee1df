package dev.fathom.bench;

import dev.fathom.io.OpenFile;
import dev.fathom.io.RandomAccess;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import one.jasyncfio.AsyncFile;
import one.jasyncfio.EventExecutor;
import one.jasyncfio.OpenOption;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** One operation is a random 4 KiB read without a batch: either asynchronous, with 64 futures in flight, or blocking. */
@State(Scope.Thread)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Warmup(iterations = 2, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(1)
public class SingleBenchmark {
    private static final int IN_FLIGHT = 64;
    private static final int BLOCK = 4096;

    private final SplittableRandom random = new SplittableRandom(1);
    private final List<CompletableFuture<Integer>> futures = new ArrayList<>();
    private final ByteBuffer[] buffers = new ByteBuffer[IN_FLIGHT];
    private RandomAccess access;
    private OpenFile file;
    private FileChannel channel;
    private EventExecutor events;
    private AsyncFile other;
    private long blocks;

    /** Opens the file with each of the libraries. */
    @Setup(Level.Trial)
    public void open() throws Exception {
        Path path = Path.of(System.getProperty("file"));
        boolean direct = Boolean.parseBoolean(System.getProperty("direct", "true"));
        access = RandomAccess.builder().direct(direct).executor(Runnable::run).open(path);
        file = access.file(0);
        blocks = file.size() / BLOCK;
        channel = direct ? FileChannel.open(path, StandardOpenOption.READ, com.sun.nio.file.ExtendedOpenOption.DIRECT)
                : FileChannel.open(path, StandardOpenOption.READ);
        events = EventExecutor.initDefault();
        other = (direct ? AsyncFile.open(path, events, OpenOption.READ_ONLY, OpenOption.DIRECT) : AsyncFile.open(path, events, OpenOption.READ_ONLY)).get();
        ByteBuffer all = ByteBuffer.allocateDirect((IN_FLIGHT + 1) * BLOCK).alignedSlice(BLOCK);
        for (int i = 0; i < IN_FLIGHT; i++) {
            buffers[i] = all.slice(i * BLOCK, BLOCK);
        }
    }

    /** Closes it. */
    @TearDown(Level.Trial)
    public void close() throws Exception {
        access.close();
        channel.close();
        other.close().get();
        events.close();
    }

    private long place() {
        return random.nextLong(blocks) * BLOCK;
    }

    private int join() {
        int bytes = 0;
        for (CompletableFuture<Integer> future : futures) {
            bytes += future.join();
        }
        futures.clear();
        if (bytes != IN_FLIGHT * BLOCK) {
            throw new IllegalStateException(bytes + " bytes");
        }
        return bytes;
    }

    /** Reads asynchronously with fathom. */
    @Benchmark
    @OperationsPerInvocation(IN_FLIGHT)
    public int fathomFutures() {
        for (ByteBuffer buffer : buffers) {
            futures.add(file.readAsync(buffer.clear(), place()));
        }
        return join();
    }

    /** Reads asynchronously with jasyncfio. */
    @Benchmark
    @OperationsPerInvocation(IN_FLIGHT)
    public int jasyncfioFutures() {
        for (ByteBuffer buffer : buffers) {
            futures.add(other.read(buffer.clear(), place()));
        }
        return join();
    }

    /** Blocking reads with fathom. */
    @Benchmark
    public int fathomWaiting() throws IOException {
        return file.read(buffers[0].clear(), place());
    }

    /** Blocking reads with jasyncfio. */
    @Benchmark
    public int jasyncfioWaiting() {
        return other.read(buffers[0].clear(), place()).join();
    }

    /** Blocking reads with a FileChannel. */
    @Benchmark
    public int fileChannelWaiting() throws IOException {
        return channel.read(buffers[0].clear(), place());
    }
}
