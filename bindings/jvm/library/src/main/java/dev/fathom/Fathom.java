package dev.fathom;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** Runs the program {@code fathom}: the one named by the property {@code dev.fathom.program}, otherwise the one on the PATH. */
public final class Fathom {
    private final String program;

    private Fathom(String program) {
        this.program = program;
    }

    /**
     * Uses a different executable.
     *
     * @param program its path
     * @return an instance that runs it
     */
    public static Fathom at(Path program) {
        return new Fathom(Objects.requireNonNull(program).toAbsolutePath().toString());
    }

    private static Fathom usual() {
        return new Fathom(System.getProperty("dev.fathom.program", "fathom"));
    }

    /**
     * Runs jobs to completion with the default program.
     *
     * @param job the jobs
     * @return the result of the run
     * @throws FathomException if the program is missing or ends without a result
     * @throws IOException if its output cannot be read
     * @throws InterruptedException if the thread was interrupted; the jobs are ended
     */
    public static Result run(Job job) throws IOException, InterruptedException {
        return usual().run(job, Duration.ofSeconds(1), progress -> {});
    }

    /**
     * Compares two sets of results with the default program.
     *
     * @param a results before
     * @param b results after
     * @param failIf conditions such as {@code p99 > +5%}
     * @return the differences and the state of the conditions
     * @throws FathomException if they cannot be compared
     * @throws IOException if its output cannot be read
     * @throws InterruptedException if the thread was interrupted
     */
    public static Comparison compare(List<Result> a, List<Result> b, String... failIf) throws IOException, InterruptedException {
        return usual().compareResults(a, b, failIf);
    }

    /**
     * Runs jobs to completion and reports their progress.
     *
     * @param job the jobs
     * @param interval time between two reports, at least a millisecond
     * @param listener called in the calling thread; an exception from it ends the jobs
     * @return the result of the run
     * @throws FathomException if the program is missing or ends without a result
     * @throws IOException if its output cannot be read
     * @throws InterruptedException if the thread was interrupted; the jobs are ended
     */
    public Result run(Job job, Duration interval, Consumer<Progress> listener) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(program, "--output-format=jsonl", "--status-interval=" + Math.max(1, interval.toMillis()) + "ms"));
        command.addAll(job.arguments());
        try (Running running = new Running(command)) {
            List<String> messages = new ArrayList<>();
            String last = null;
            for (String line = running.line(); line != null; line = running.line()) {
                if (!line.startsWith("{")) {
                    messages.add(line);
                    continue;
                }
                Json document = Json.parse(line);
                listener.accept(Progress.of(document.get("interval")));
                if (Boolean.TRUE.equals(document.get("final").value())) {
                    last = line;
                }
            }
            int status = running.status();
            messages.addAll(running.errors());
            if (last == null) {
                throw new FathomException(program + " ended with status " + status + " and without a result: " + String.join("\n", messages));
            }
            return Result.of(last, messages);
        }
    }

    /**
     * Compares two sets of results.
     *
     * @param a results before
     * @param b results after
     * @param failIf conditions such as {@code p99 > +5%}
     * @return the differences and the state of the conditions
     * @throws FathomException if they cannot be compared
     * @throws IOException if its output cannot be read
     * @throws InterruptedException if the thread was interrupted
     */
    public Comparison compareResults(List<Result> a, List<Result> b, String... failIf) throws IOException, InterruptedException {
        Path directory = Files.createTempDirectory("fathom-compare");
        try {
            List<String> command = new ArrayList<>(List.of(program, "compare", "--format=json"));
            for (String condition : failIf) {
                command.addAll(List.of("--fail-if", condition));
            }
            command.addAll(save(directory, "a", a));
            command.add("--");
            command.addAll(save(directory, "b", b));
            try (Running running = new Running(command)) {
                StringBuilder answer = new StringBuilder();
                for (String line = running.line(); line != null; line = running.line()) {
                    answer.append(line).append('\n');
                }
                int status = running.status();
                int conditionMet = 2;
                if (status != 0 && status != conditionMet || answer.isEmpty()) {
                    throw new FathomException("the results cannot be compared: " + String.join("\n", running.errors()));
                }
                return Comparison.of(Json.parse(answer.toString()), status == conditionMet, answer.toString());
            }
        } finally {
            try (Stream<Path> left = Files.list(directory)) {
                for (Path file : left.toList()) {
                    Files.delete(file);
                }
            }
            Files.delete(directory);
        }
    }

    private static List<String> save(Path directory, String side, List<Result> results) throws IOException {
        List<String> files = new ArrayList<>();
        for (Result result : results) {
            Path file = directory.resolve(side + files.size() + ".json");
            result.save(file);
            files.add(file.toString());
        }
        return files;
    }

    /** A running fathom process. Closing this object ends the process as Ctrl-C would, and kills it only if it does not end promptly. */
    private static final class Running implements AutoCloseable {
        private final Process process;
        private final BufferedReader output;
        private final Path errorFile;

        Running(List<String> command) throws IOException {
            errorFile = Files.createTempFile("fathom", ".messages");
            try {
                process = start(new ProcessBuilder(command).redirectError(errorFile.toFile()));
            } catch (IOException error) {
                Files.deleteIfExists(errorFile);
                throw new FathomException("cannot start " + command.get(0) + ": " + error.getMessage()
                        + "; install fathom, or name it with -Ddev.fathom.program=PATH", error);
            }
            process.getOutputStream().close();
            output = process.inputReader(StandardCharsets.UTF_8);
        }

        /**
         * Starts a program that ends with this JVM, even if the JVM is killed. The kernel ties the program to the thread that
         * started it, so a dedicated thread is kept for as long as the program runs: a pool thread, or the carrier of a virtual
         * thread, may end sooner.
         */
        private static Process start(ProcessBuilder builder) throws IOException {
            builder.environment().put("FATHOM_END_WITH_PARENT", Long.toString(ProcessHandle.current().pid()));
            CompletableFuture<Process> started = new CompletableFuture<>();
            Thread parent = new Thread(() -> {
                try {
                    started.complete(builder.start());
                    started.join().waitFor();
                } catch (IOException | RuntimeException | Error error) {
                    started.completeExceptionally(error);
                } catch (InterruptedException error) {
                    throw new AssertionError("this thread is never interrupted", error);
                }
            }, "fathom-program");
            parent.setDaemon(true);
            parent.start();
            try {
                // Interrupts are deferred so that the caller always knows about, and ends, a started process.
                return started.join();
            } catch (CompletionException error) {
                if (error.getCause() instanceof IOException failure) {
                    throw failure;
                }
                throw error;
            }
        }

        /** Returns the next line, or null at the end of the output. */
        String line() throws IOException, InterruptedException {
            while (!output.ready()) {
                // Interrupting a thread does not end its read of a pipe, so the read starts only when data is
                // available.
                if (process.waitFor(5, TimeUnit.MILLISECONDS) && !output.ready()) {
                    return output.readLine();
                }
            }
            return output.readLine();
        }

        int status() throws InterruptedException {
            return process.waitFor();
        }

        List<String> errors() throws IOException {
            return Files.readAllLines(errorFile);
        }

        @Override
        public void close() throws IOException {
            if (process.isAlive()) {
                process.destroy();
                boolean interrupted = Thread.interrupted();
                try {
                    if (!process.waitFor(30, TimeUnit.SECONDS)) {
                        process.destroyForcibly();
                    }
                } catch (InterruptedException again) {
                    process.destroyForcibly();
                    interrupted = true;
                }
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
            output.close();
            Files.deleteIfExists(errorFile);
        }
    }
}
