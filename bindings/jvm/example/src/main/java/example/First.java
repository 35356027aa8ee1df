package example;

import dev.fathom.Fathom;
import dev.fathom.Job;
import dev.fathom.JobResult;
import dev.fathom.Result;
import dev.fathom.io.Batch;
import dev.fathom.io.RandomAccess;
import java.nio.file.Path;

/** Benchmarks a file with fathom and reads 1,024 blocks from it. */
public class First {
    public static void main(String[] arguments) throws Exception {
        Job job = Job.named("first").set("filename", "first.data").set("size", "64m").set("rw", "randread").set("bs", "4k")
                .set("ioengine", "io_uring").set("iodepth", 64).set("direct", 1).set("runtime", 2).set("time_based");
        Result result = Fathom.run(job).check();
        JobResult first = result.job("first");
        System.out.printf("fathom: %.0f IOPS, p99 %d ns, %s%n", first.read().iops(), first.read().completion().percentilesNs().get(99.0),
                result.verdict());

        try (RandomAccess file = RandomAccess.builder().buffer(1024 * 4096).open(Path.of("first.data"))) {
            Batch batch = file.newBatch(1024);
            for (int i = 0; i < 1024; i++) {
                batch.read(i * 4096L * 16, 4096, i * 4096); // offset, length, position in the buffer
            }
            file.run(batch);
            batch.check();
            System.out.println("1,024 blocks read with " + file.engine() + ", " + file.engineReason());
        }
    }
}
