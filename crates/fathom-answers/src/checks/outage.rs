//! `outage`: for a while no I/O completed, though the job did I/O before and after. Means hide such a period,
//! and so do all but the highest percentiles.

use super::{Found, Severity, stalled};
use crate::evidence::Evidence;
use crate::evidence::outages::{Awaited, Outage};
use crate::figures;

/// Share of an outage that another finding must explain for the outage not to be reported.
const EXPLAINED: f64 = 0.5;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    if !evidence.has_storage() {
        return Vec::new();
    }
    let mut outages = evidence.outages();
    outages.retain(|outage| !is_explained_otherwise(evidence, outage));
    let Some(longest) = outages.iter().max_by(|a, b| a.length_ms.total_cmp(&b.length_ms)) else {
        return Vec::new();
    };
    let all_ms: f64 = outages.iter().map(|outage| outage.length_ms).sum();
    let times = match outages.len() {
        1 => String::new(),
        count => format!("; there were {count} such outages, {} in all", duration(all_ms)),
    };
    let why = match longest.awaited {
        Awaited::Ios => "the I/Os that were in flight completed only then",
        Awaited::Sync => "a sync took that long",
        Awaited::Nothing => "none of its I/Os took that long, so the job itself stood still",
    };
    let text = format!(
        "no I/O completed for {}, from {} after the start of the run to {}: {why}{times}",
        duration(longest.length_ms),
        duration(longest.begin_ms),
        duration(longest.begin_ms + longest.length_ms),
    );
    let advice = match longest.awaited {
        Awaited::Nothing => "check what else the machine did at that time, and run it again",
        _ => {
            "check what the storage and the rest of the machine did at that time; the figures average over the outage and the time around it"
        }
    };
    let figures = [
        ("outage_ms", longest.length_ms.round()),
        ("begin_ms", longest.begin_ms.round()),
        ("outages", outages.len() as f64),
        ("all_outages_ms", all_ms.round()),
    ];
    vec![Found::new(Severity::Doubtful, text, advice).with(&figures).weighing(longest.length_ms)]
}

/// True if the machine or the job's process was stopped at that time, which other checks report.
fn is_explained_otherwise(evidence: &Evidence<'_>, outage: &Outage) -> bool {
    let Some(facts) = &evidence.run.facts else { return false };
    let machine_ms = facts.latest_look_ms.max(facts.clock.suspended_ms) as f64;
    let stops = facts.stops.iter().filter(|stop| stop.job == evidence.job.name);
    // The check `stalled` does not report shorter stalls, so these cannot explain an outage.
    let is_told = machine_ms >= stalled::LEAST_MS as f64;
    is_told && machine_ms >= EXPLAINED * outage.length_ms
        || stops
            .into_iter()
            .any(|stop| outage.share_within(stop.begin_ms as f64, stop.length_ms as f64) >= EXPLAINED)
}

fn duration(ms: f64) -> String {
    figures::duration(ms * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    /// A point of 250 ms: number of 1 ms I/Os, number of other I/Os, and the latency of the latter in ms.
    #[derive(Clone, Copy)]
    struct Point(u64, u64, u64);

    const USUAL: Point = Point(250, 0, 0);
    const EMPTY: Point = Point(0, 0, 0);

    fn timeline(points: &[Point]) -> String {
        let point = |(index, &Point(usual, long, ms)): (usize, &Point)| {
            let mut bins = Vec::new();
            bins.extend((usual > 0).then(|| format!(r#""1000000":{usual}"#)));
            bins.extend((long > 0).then(|| format!(r#""{}":{long}"#, ms * 1_000_000)));
            let ios = usual + long;
            format!(
                r#"{{"end_ms":{},"read":{{"io_bytes":{},"total_ios":{ios},"clat_bins":{{{}}}}}}}"#,
                250 * (index + 1),
                4096 * ios,
                bins.join(",")
            )
        };
        let points: Vec<String> = points.iter().enumerate().map(point).collect();
        format!(
            r#""fathom timeline":{{"interval_ms":250,"jobs":[{{"jobname":"a","points":[{}]}}]}}"#,
            points.join(",")
        )
    }

    fn after_job(options: &str, job: &str, points: &[Point], more: &str) -> Vec<(Severity, String)> {
        let more = if more.is_empty() { timeline(points) } else { format!("{},{more}", timeline(points)) };
        of_job(find, &run(options, job, &more))
    }

    fn after(points: &[Point]) -> Vec<(Severity, String)> {
        let longest = points.iter().map(|point| point.2).max().unwrap_or(0) * 1_000_000;
        after_job(
            "",
            &format!(r#""read":{{"total_ios":9,"io_bytes":9,"clat_ns":{{"max":{longest}}}}}"#),
            points,
            "",
        )
    }

    /// Points of which `empty`, beginning at `from`, have no I/O. The waiting I/Os complete in the point after
    /// them.
    fn silent(from: usize, empty: usize, waited: Point) -> Vec<Point> {
        let mut points = vec![USUAL; 20];
        points[from..from + empty].fill(EMPTY);
        points[from + empty] = waited;
        points
    }

    #[test]
    fn a_silent_device_is_told_with_its_time() {
        let told = after(&silent(10, 5, Point(120, 1, 1500)));
        is_told(
            &told,
            Severity::Doubtful,
            "no I/O completed for 1.50 s, from 2.38 s after the start of the run to 3.88 s",
        );
        is_told(&told, Severity::Doubtful, "the I/Os that were in flight completed only then");
        // The outages are at the very start, and twice later.
        let mut points = silent(0, 5, Point(120, 1, 1300));
        is_told(&after(&points), Severity::Doubtful, "no I/O completed for 1.30 s");
        points[12..17].fill(EMPTY);
        points[17] = Point(100, 1, 1300);
        is_told(&after(&points), Severity::Doubtful, "2 such outages, 2.60 s in all");
    }

    #[test]
    fn outages_shorter_than_a_point_show_in_the_latencies() {
        // A timeline of an hour has points of 16 s. Here, all reads but one are normal.
        let mut points = vec![USUAL; 20];
        points[7] = Point(200, 1, 1500);
        is_told(&after(&points), Severity::Doubtful, "no I/O completed for 1.50 s");
        // At depth 8, one slow read is not an outage, but eight are.
        let deep = |long: u64| {
            let mut points = vec![USUAL; 20];
            points[7] = Point(200, long, 1500);
            let job = r#""read":{"total_ios":9,"io_bytes":9,"clat_ns":{"max":1500000000}}"#;
            after_job(r#""ioengine":"libaio","iodepth":"8""#, job, &points, "")
        };
        assert_eq!(deep(1), []);
        is_told(&deep(8), Severity::Doubtful, "no I/O completed for 1.50 s");
    }

    #[test]
    fn what_is_no_outage_is_not_called_one() {
        assert_eq!(after(&[USUAL; 20]), []);
        assert_eq!(after(&silent(10, 1, Point(200, 1, 300))), [], "300 ms");
        // A device that does a few I/Os per second has gaps without completions.
        let slow: Vec<Point> = (0..40).map(|at| if at % 5 == 0 { Point(1, 0, 0) } else { EMPTY }).collect();
        assert_eq!(after(&slow), []);
        // In a long queue, every I/O takes long, which is not an outage.
        let queue = vec![Point(0, 60, 1200); 20];
        let job = r#""read":{"total_ios":9,"io_bytes":9,"clat_ns":{"max":1200000000}}"#;
        assert_eq!(after_job(r#""ioengine":"libaio","iodepth":"32""#, job, &queue, ""), []);
        // The end of a job that ended early is not an outage.
        let mut points = vec![USUAL; 20];
        points[12..].fill(EMPTY);
        assert_eq!(after(&points), []);
        // The job itself pauses its I/O, so the gap is not an outage.
        let job = r#""read":{"total_ios":9,"io_bytes":9}"#;
        let pauses = silent(10, 6, USUAL);
        assert_eq!(after_job(r#""thinktime":"2s","thinktime_blocks":"9999""#, job, &pauses, ""), []);
        assert_eq!(after_job(r#""ioengine":"null""#, job, &pauses, ""), []);
    }

    #[test]
    fn who_was_waited_for_is_told() {
        let job = r#""read":{"total_ios":9,"io_bytes":9}"#;
        let points = silent(10, 6, USUAL);
        is_told(&after_job("", job, &points, ""), Severity::Doubtful, "the job itself stood still");
        let synced =
            r#""read":{"total_ios":9,"io_bytes":9},"sync":{"total_ios":3,"lat_ns":{"max":1600000000,"N":3}}"#;
        is_told(&after_job("", synced, &points, ""), Severity::Doubtful, "a sync took that long");
    }

    #[test]
    fn one_event_is_told_once() {
        let job = r#""read":{"total_ios":9,"io_bytes":9}"#;
        let points = silent(10, 6, USUAL);
        let of = |facts: &str| after_job("", job, &points, &format!(r#""fathom facts":{{{facts}}}"#));
        let stop = |job: &str, begin: u32| {
            format!(r#""stops":[{{"job":"{job}","begin_ms":{begin},"length_ms":1500}}]"#)
        };
        assert_eq!(of(&stop("a", 2500)), []);
        assert_eq!(of(r#""latest_look_ms":1300"#), []);
        assert_eq!(of(r#""latest_look_ms":900"#).len(), 1, "what is not told explains nothing");
        assert_eq!(of(&stop("b", 2500)).len(), 1, "another job was stopped");
        assert_eq!(of(&stop("a", 200)).len(), 1, "it was stopped at another time");
    }
}
