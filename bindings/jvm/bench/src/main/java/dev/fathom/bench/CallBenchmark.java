package dev.fathom.bench;

import dev.fathom.io.Batch;
import dev.fathom.io.RandomAccess;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** Measures the cost of a call into native code: an operation is an empty batch, which never reaches the kernel. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
public class CallBenchmark {
    private RandomAccess access;
    private Batch nothing;

    /** Opens the file named by the property {@code file}. */
    @Setup(Level.Trial)
    public void open() throws IOException {
        access = RandomAccess.builder().buffer(4096).open(Path.of(System.getProperty("file")));
        nothing = access.newBatch(1);
    }

    /** Closes it. */
    @TearDown(Level.Trial)
    public void close() throws IOException {
        access.close();
    }

    /** One call. */
    @Benchmark
    public int call() throws IOException {
        return access.run(nothing);
    }
}
