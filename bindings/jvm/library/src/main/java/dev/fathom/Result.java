package dev.fathom;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * The result of a run.
 *
 * @param jobs the jobs, in the order of the job file
 * @param verdict {@code no doubts}, {@code doubtful} or {@code wrong}
 * @param findings reasons to doubt the figures
 * @param messages the program's output on standard error
 * @param json the complete result, which {@code fathom show}, {@code report} and {@code compare} read
 */
public record Result(List<JobResult> jobs, String verdict, List<Finding> findings, List<String> messages, String json) {
    static Result of(String line, List<String> messages) throws IOException {
        Json document = Json.parse(line);
        Json verdict = document.get("fathom verdict");
        return new Result(document.get("jobs").elements().stream().map(JobResult::of).toList(), verdict.get("verdict").text(),
                verdict.get("findings").elements().stream().map(Finding::of).toList(), List.copyOf(messages), line);
    }

    /**
     * Returns a job by its name.
     *
     * @param name the name
     * @return the first job of that name
     * @throws IllegalArgumentException if there is none
     */
    public JobResult job(String name) {
        return jobs.stream().filter(job -> job.name().equals(name)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("the result has no job " + name));
    }

    /**
     * Throws if an error ended any job.
     *
     * @return this result
     * @throws FathomException with the program's message
     */
    public Result check() throws FathomException {
        for (JobResult job : jobs) {
            if (job.error() != 0) {
                throw new FathomException("job " + job.name() + " ended with error " + job.error() + ": " + String.join("\n", messages));
            }
        }
        return this;
    }

    /**
     * Writes the complete result to a file, which {@code fathom show}, {@code report} and {@code compare} read.
     *
     * @param file its path
     * @throws IOException if it cannot be written
     */
    public void save(Path file) throws IOException {
        Files.writeString(file, json + "\n");
    }
}
