package dev.fathom;

import java.util.List;

/**
 * The progress of a run in one interval.
 *
 * @param number 1, 2, 3, ...
 * @param startMs its start in milliseconds since the jobs were started
 * @param endMs its end in milliseconds since the jobs were started
 * @param jobs the jobs, in the order of the job file
 */
public record Progress(long number, long startMs, long endMs, List<Interval> jobs) {
    /**
     * The progress of one job in the interval.
     *
     * @param job its name
     * @param read its reads
     * @param write its writes
     * @param trim its trims
     */
    public record Interval(String job, Figures read, Figures write, Figures trim) {}

    /**
     * Figures for an interval.
     *
     * @param ios completed I/Os
     * @param bytes bytes moved
     * @param bytesPerSecond the bandwidth
     * @param iops I/Os per second
     * @param meanLatencyNs the mean latency in nanoseconds
     */
    public record Figures(long ios, long bytes, long bytesPerSecond, double iops, double meanLatencyNs) {
        static Figures of(Json figures) {
            return new Figures(figures.get("total_ios").integer(), figures.get("io_bytes").integer(), figures.get("bw_bytes").integer(),
                    figures.get("iops").number(), figures.get("lat_ns").get("mean").number());
        }
    }

    static Progress of(Json interval) {
        List<Interval> jobs = interval.get("jobs").elements().stream()
                .map(job -> new Interval(job.get("jobname").text(), Figures.of(job.get("read")), Figures.of(job.get("write")),
                        Figures.of(job.get("trim"))))
                .toList();
        return new Progress(interval.get("number").integer(), interval.get("start_ms").integer(), interval.get("end_ms").integer(), jobs);
    }
}
