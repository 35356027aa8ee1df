package dev.fathom;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests with the real program. */
class FathomTest {
    @TempDir
    Path directory;

    private Fathom fathom;

    @BeforeEach
    void find() {
        String program = System.getenv("FATHOM_TEST_PROGRAM");
        Assumptions.assumeTrue(program != null && Files.isExecutable(Path.of(program)), "FATHOM_TEST_PROGRAM names no built fathom");
        fathom = Fathom.at(Path.of(program));
    }

    private Job job() {
        return Job.named("first").set("filename", directory.resolve("data")).set("size", "1m").set("rw", "randrw").set("bs", "4k");
    }

    @Test
    void aResultIsTyped() throws Exception {
        Result result = fathom.run(job(), Duration.ofSeconds(1), progress -> {}).check();
        JobResult job = result.job("first");
        assertEquals(256, job.read().ios() + job.write().ios());
        assertEquals(1 << 20, job.read().bytes() + job.write().bytes());
        assertEquals(job.read().ios(), job.read().completion().count());
        assertTrue(job.read().completion().minNs() > 0 && job.read().completion().minNs() <= job.read().completion().maxNs());
        assertTrue(job.read().completion().percentilesNs().containsKey(99.0));
        assertEquals(0, job.trim().ios());
        assertFalse(result.verdict().isEmpty());
        assertTrue(result.findings().stream().anyMatch(finding -> finding.code().equals("short")), result.findings().toString());
        assertEquals(1 << 20, Files.size(directory.resolve("data")));
    }

    @Test
    void progressAddsUp() throws Exception {
        List<Progress> seen = new ArrayList<>();
        Job job = Job.named("null").set("ioengine", "null").set("size", "1m").set("rw", "read").set("runtime", 1).set("time_based");
        Result result = fathom.run(job, Duration.ofMillis(200), seen::add);
        assertTrue(seen.size() > 1, "intervals: " + seen.size());
        long sum = seen.stream().mapToLong(progress -> progress.jobs().get(0).read().ios()).sum();
        assertEquals(result.job("null").read().ios(), sum);
        assertEquals(1, seen.get(0).number());
    }

    @Test
    void aJobFileRuns() throws Exception {
        Path file = directory.resolve("jobs.fio");
        Files.writeString(file, "[a]\nioengine=null\nsize=4k\n[b]\nioengine=null\nsize=8k\n");
        Result result = fathom.run(Job.file(file), Duration.ofSeconds(1), progress -> {});
        assertEquals(List.of("a", "b"), result.jobs().stream().map(JobResult::name).toList());
        assertEquals(8192, result.job("b").read().bytes());
    }

    @Test
    void whatTheProgramRefusesIsSaidInItsWords() {
        FathomException failure = assertThrows(FathomException.class,
                () -> fathom.run(Job.named("x").set("rw", "bogus"), Duration.ofSeconds(1), progress -> {}));
        assertTrue(failure.getMessage().contains("option rw=bogus"), failure.getMessage());
        assertThrows(FathomException.class, () -> Fathom.at(directory.resolve("none")).run(job(), Duration.ofSeconds(1), progress -> {}));
        assertThrows(IllegalArgumentException.class, () -> job().set("output", "x"));
        assertThrows(IllegalArgumentException.class, () -> job().set("bs=4k --output", "x"));
    }

    @Test
    void anErrorOfAJobIsSaid() throws Exception {
        Path target = directory.resolve("a-directory");
        Files.createDirectory(target);
        Job job = Job.named("x").set("filename", target).set("size", "1m").set("rw", "write");
        Throwable failure = assertThrows(FathomException.class, () -> fathom.run(job, Duration.ofSeconds(1), progress -> {}).check());
        assertTrue(failure.getMessage().contains("a-directory"), failure.getMessage());
    }

    @Test
    void anInterruptEndsTheJobs() throws Exception {
        Job job = Job.named("long").set("ioengine", "null").set("size", "1m").set("runtime", 600).set("time_based").set("filename", "jvm-test");
        Thread own = Thread.currentThread();
        assertThrows(InterruptedException.class, () -> fathom.run(job, Duration.ofMillis(100), progress -> own.interrupt()));
        assertFalse(ProcessHandle.current().children().anyMatch(child -> child.info().command().orElse("").contains("fathom")));
    }

    /** A JVM that runs a long job and prints the process ID of the program. */
    static final class LongRun {
        public static void main(String[] arguments) throws Exception {
            Job job = Job.named("long").set("ioengine", "null").set("size", "1m").set("runtime", 600).set("time_based").set("filename", "jvm-test");
            Fathom.at(Path.of(arguments[0])).run(job, Duration.ofMillis(100), progress -> {
                ProcessHandle.current().children().forEach(child -> System.out.print(child.pid() + " "));
                System.out.println();
            });
        }
    }

    @Test
    void theJobsEndWithAKilledJvm() throws Exception {
        Process other = new ProcessBuilder(ProcessHandle.current().info().command().orElseThrow(), "-cp", System.getProperty("java.class.path"),
                LongRun.class.getName(), System.getenv("FATHOM_TEST_PROGRAM")).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        String[] ids = other.inputReader().readLine().trim().split(" ");
        assertEquals(1, ids.length);
        ProcessHandle program = ProcessHandle.of(Long.parseLong(ids[0])).orElseThrow();
        other.destroyForcibly();
        program.onExit().get(60, TimeUnit.SECONDS);
    }

    @Test
    void resultsAreCompared() throws Exception {
        Job job = Job.named("null").set("ioengine", "null").set("size", "1m").set("rw", "read");
        Result result = fathom.run(job, Duration.ofSeconds(1), progress -> {});
        Comparison same = fathom.compareResults(List.of(result), List.of(result), "read.p50 > 1000s");
        assertFalse(same.failed());
        Comparison.Row bandwidth = same.rows().stream().filter(row -> row.figure().equals("bandwidth")).findFirst().orElseThrow();
        assertEquals(0, bandwidth.changePercent().orElseThrow());
        assertEquals(result.job("null").read().bytesPerSecond(), bandwidth.a().orElseThrow(), 1);
        assertTrue(fathom.compareResults(List.of(result), List.of(result), "read.p50 < 1000s").failed());
        assertThrows(FathomException.class, () -> fathom.compareResults(List.of(result), List.of(result), "nonsense"));
    }
}
