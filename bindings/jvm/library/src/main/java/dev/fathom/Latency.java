package dev.fathom;

import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Latencies of I/Os.
 *
 * @param count number of I/Os
 * @param minNs the shortest, in nanoseconds
 * @param maxNs the longest, in nanoseconds
 * @param meanNs their mean, in nanoseconds
 * @param deviationNs their standard deviation, in nanoseconds
 * @param percentilesNs map from percent to nanoseconds; empty if the run has none
 */
public record Latency(long count, long minNs, long maxNs, double meanNs, double deviationNs, SortedMap<Double, Long> percentilesNs) {
    static Latency of(Json latency) {
        SortedMap<Double, Long> percentiles = new TreeMap<>();
        latency.get("percentile").members().forEach((percent, value) -> percentiles.put(Double.valueOf(percent), value.integer()));
        return new Latency(latency.get("N").integer(), latency.get("min").integer(), latency.get("max").integer(),
                latency.get("mean").number(), latency.get("stddev").number(), Collections.unmodifiableSortedMap(percentiles));
    }
}
