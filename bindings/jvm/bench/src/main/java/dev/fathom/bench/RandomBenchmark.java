package dev.fathom.bench;

import dev.fathom.io.Batch;
import dev.fathom.io.Engine;
import dev.fathom.io.RandomAccess;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** One operation is a batch of random reads or writes. The property {@code file} names the file, which must already contain data. */
@State(Scope.Thread)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Warmup(iterations = 2, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(1)
public class RandomBenchmark {
    /** Number of reads or writes per batch. */
    @Param("1024")
    public int batchSize;

    /** Bytes per read or write. */
    @Param("4096")
    public int bufferSize;

    private final SplittableRandom random = new SplittableRandom(1);
    private RandomAccess access;
    private Batch batch;
    private FileChannel channel;
    private ByteBuffer[] buffers;
    private long blocks;

    /** Opens the file both with RandomAccess and with FileChannel. */
    @Setup(Level.Trial)
    public void open() throws IOException {
        Path file = Path.of(System.getProperty("file"));
        boolean direct = Boolean.parseBoolean(System.getProperty("direct", "true"));
        access = RandomAccess.builder().writable(true).direct(direct).depth(batchSize).engine(Engine.AUTOMATIC)
                .buffer(Math.multiplyExact(batchSize, bufferSize)).open(file);
        batch = access.newBatch(batchSize);
        blocks = access.size(0) / bufferSize;
        channel = direct
                ? FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE, com.sun.nio.file.ExtendedOpenOption.DIRECT)
                : FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
        buffers = new ByteBuffer[batchSize];
        ByteBuffer all = ByteBuffer.allocateDirect(batchSize * bufferSize + 4096).alignedSlice(4096);
        for (int i = 0; i < batchSize; i++) {
            buffers[i] = all.slice(i * bufferSize, bufferSize);
        }
    }

    /** Closes it. */
    @TearDown(Level.Trial)
    public void close() throws IOException {
        access.close();
        channel.close();
    }

    /** Reads with fathom. */
    @Benchmark
    public int fathomRead() throws IOException {
        batch.clear();
        for (int i = 0; i < batchSize; i++) {
            batch.read(random.nextLong(blocks) * bufferSize, bufferSize, i * bufferSize);
        }
        return run();
    }

    /** Writes with fathom. */
    @Benchmark
    public int fathomWrite() throws IOException {
        batch.clear();
        for (int i = 0; i < batchSize; i++) {
            batch.write(random.nextLong(blocks) * bufferSize, bufferSize, i * bufferSize);
        }
        return run();
    }

    private int run() throws IOException {
        if (access.run(batch) != 0) {
            batch.check();
        }
        return batch.result(batchSize - 1);
    }

    /** Reads with positional reads on a FileChannel. */
    @Benchmark
    public int fileChannelRead() throws IOException {
        int bytes = 0;
        for (int i = 0; i < batchSize; i++) {
            bytes += channel.read(buffers[i].clear(), random.nextLong(blocks) * bufferSize);
        }
        return bytes;
    }

    /** Writes with positional writes on a FileChannel. */
    @Benchmark
    public int fileChannelWrite() throws IOException {
        int bytes = 0;
        for (int i = 0; i < batchSize; i++) {
            bytes += channel.write(buffers[i].clear(), random.nextLong(blocks) * bufferSize);
        }
        return bytes;
    }
}
