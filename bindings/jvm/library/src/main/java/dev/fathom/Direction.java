package dev.fathom;

/**
 * The reads, writes or trims of a job.
 *
 * @param ios how many were completed
 * @param bytes bytes moved
 * @param bytesPerSecond the bandwidth
 * @param iops I/Os per second
 * @param runtimeMs how long they took, in milliseconds
 * @param submission latencies of submission
 * @param completion latencies from submission to completion
 * @param total both together
 */
public record Direction(
        long ios, long bytes, long bytesPerSecond, double iops, long runtimeMs, Latency submission, Latency completion, Latency total) {
    static Direction of(Json figures) {
        return new Direction(figures.get("total_ios").integer(), figures.get("io_bytes").integer(), figures.get("bw_bytes").integer(),
                figures.get("iops").number(), figures.get("runtime").integer(), Latency.of(figures.get("slat_ns")),
                Latency.of(figures.get("clat_ns")), Latency.of(figures.get("lat_ns")));
    }
}
