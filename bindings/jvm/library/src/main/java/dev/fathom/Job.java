package dev.fathom;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The jobs of a run: described by options or by a job file. Jobs are immutable; each method returns a new one.
 *
 * @param arguments the command line after the program's name
 */
public record Job(List<String> arguments) {
    /**
     * Copies the arguments.
     *
     * @param arguments the command line after the program's name
     */
    public Job {
        arguments = List.copyOf(arguments);
    }

    /**
     * Starts the description of a job.
     *
     * @param name its name in the result
     * @return a job without options
     */
    public static Job named(String name) {
        return new Job(List.of()).and(name);
    }

    /**
     * The jobs of a job file.
     *
     * @param file its path
     * @return the jobs
     */
    public static Job file(Path file) {
        // Prevents a name that begins with a dash from being taken for an option.
        return new Job(List.of(file.isAbsolute() ? file.toString() : Path.of(".").resolve(file).toString()));
    }

    /**
     * Adds another job that runs at the same time.
     *
     * @param name its name in the result
     * @return the previous jobs and a new one, to which the following options apply
     */
    public Job and(String name) {
        return with("--name=" + name);
    }

    /**
     * Sets an option of the latest job.
     *
     * @param option its name in job files, such as {@code iodepth}
     * @param value its value in job files, such as {@code 16} or {@code 4k}
     * @return this job with the option
     */
    public Job set(String option, Object value) {
        return with("--" + checked(option) + "=" + value);
    }

    /**
     * Sets an option without a value, such as {@code time_based}.
     *
     * @param option its name
     * @return this job with the option
     */
    public Job set(String option) {
        return with("--" + checked(option));
    }

    private Job with(String argument) {
        List<String> longer = new ArrayList<>(arguments);
        longer.add(argument);
        return new Job(longer);
    }

    private static String checked(String option) {
        if (!option.matches("[A-Za-z][A-Za-z0-9_]*") || option.matches("name|output|output_format|status_interval")) {
            throw new IllegalArgumentException("'" + option + "' is no option of a job");
        }
        return option;
    }
}
