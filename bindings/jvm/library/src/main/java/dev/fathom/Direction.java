package dev.fathom;

/**
 * Totals of a job's reads, writes or trims.
 *
 * @param ios number of completed I/Os
 * @param bytes bytes moved
 * @param bytesPerSecond the bandwidth
 * @param iops I/Os per second
 * @param runtimeMs the run time in milliseconds
 * @param submission submission latencies
 * @param completion latencies from submission to completion
 * @param total latencies including submission
 */
public record Direction(
        long ios, long bytes, long bytesPerSecond, double iops, long runtimeMs, Latency submission, Latency completion, Latency total) {
    static Direction of(Json figures) {
        return new Direction(figures.get("total_ios").integer(), figures.get("io_bytes").integer(), figures.get("bw_bytes").integer(),
                figures.get("iops").number(), figures.get("runtime").integer(), Latency.of(figures.get("slat_ns")),
                Latency.of(figures.get("clat_ns")), Latency.of(figures.get("lat_ns")));
    }
}
