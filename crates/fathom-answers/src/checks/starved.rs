//! `starved`: reads or writes of a job stopped, or fell far below their share, while the others continued.

use super::{Found, MANY, Severity};
use crate::evidence::Evidence;
use crate::evidence::asked::AskedWorkload;
use crate::figures;
use fathom_results::model::TimelineJobResult;
use fathom_stats::Direction;

/// Tolerated deviation of a mix, in percentage points.
const OFF: f64 = 10.0;
/// Minimum deviation in I/Os; a smaller one may be chance.
const LEAST_IOS: u64 = 1000;
/// Minimum share of points, and minimum number of points, without the expected I/O for a standstill.
const STILL: f64 = 0.2;
const LEAST_POINTS: usize = 4;
const EXPECTED_IOS: f64 = 20.0;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    if !evidence.has_storage() || evidence.asked.verification.is_some() {
        return Vec::new();
    }
    let still = evidence.timeline().into_iter().flat_map(of_timeline);
    of_mix(evidence).into_iter().chain(still).collect()
}

/// Finds a mix of reads and writes that differs from the requested one.
fn of_mix(evidence: &Evidence<'_>) -> Option<Found> {
    let is_mix = evidence.asked.workload == AskedWorkload::Mixed;
    let names = ["rate", "rate_iops", "rate_min", "bssplit", "read_iolog", "flow"];
    // With separate rates, block sizes that do not fit the mix, or a log, the mix follows from these instead.
    let has_own = names.iter().any(|name| evidence.run.option(evidence.job, name).is_some());
    let (reads, writes) = (evidence.job.total_ios(Direction::Read), evidence.job.total_ios(Direction::Write));
    if !is_mix || has_own || reads + writes < LEAST_IOS {
        return None;
    }
    let asked = evidence.asked.read_share;
    let done = 100.0 * reads as f64 / (reads + writes) as f64;
    ((done - asked).abs() > OFF).then(|| {
        let starved = usize::from(done > asked);
        let found = Found::new(
            Severity::Doubtful,
            format!(
                "{} of the I/Os were reads, where the mix asks for {}: {} were starved",
                figures::percent(done),
                figures::percent(asked),
                MANY[starved]
            ),
            "compare with runs of reads and of writes alone",
        );
        found
            .in_direction(starved)
            .with(&[("asked_read_percent", asked), ("read_percent", done)])
            .weighing((done - asked).abs())
    })
}

/// Finds a direction that had no I/O for a while in the middle of its time, while the other continued.
fn of_timeline(timeline: &TimelineJobResult) -> Vec<Found> {
    let ios = |direction: usize| -> Vec<u64> {
        timeline.points.iter().map(|point| point.directions()[direction].total_ios).collect()
    };
    let both = [ios(0), ios(1)];
    let [reads, writes] = both.each_ref().map(|ios| ios.iter().sum::<u64>());
    if reads == 0 || writes == 0 {
        return Vec::new();
    }
    let of_direction = |direction: usize| {
        let (own, other) = (&both[direction], &both[1 - direction]);
        // If directions take turns, that is a property of the job, not of the storage.
        let first = own.iter().position(|&ios| ios > 0)?;
        let last = own.iter().rposition(|&ios| ios > 0)?;
        let inner = first..=last;
        let still = inner.clone().filter(|&at| own[at] == 0 && other[at] > 0).count();
        let points = last - first + 1;
        let expected = own.iter().sum::<u64>() as f64 / points as f64;
        let is_still = still >= LEAST_POINTS && still as f64 >= STILL * points as f64;
        (is_still && expected >= EXPECTED_IOS).then(|| {
            let found = Found::new(
                Severity::Doubtful,
                format!(
                    "{} stopped for {} of the time while {} continued",
                    MANY[direction],
                    figures::percent(100.0 * still as f64 / points as f64),
                    MANY[1 - direction]
                ),
                "compare with runs of reads and of writes alone",
            );
            found
                .in_direction(direction)
                .with(&[("still_percent", 100.0 * still as f64 / points as f64)])
                .weighing(still as f64)
        })
    };
    [0, 1].into_iter().filter_map(of_direction).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    #[test]
    fn mixes_that_are_not_kept_are_told() {
        let of = |options: &str, reads: u32| {
            let job = format!(
                r#""read":{{"total_ios":{reads},"io_bytes":9}},"write":{{"total_ios":{},"io_bytes":9}}"#,
                10_000 - reads
            );
            of_job(find, &run(&format!(r#""rw":"randrw"{options}"#), &job, ""))
        };
        is_told(
            &of("", 9_000),
            Severity::Doubtful,
            "90.0 % of the I/Os were reads, where the mix asks for 50.0 %: writes",
        );
        is_told(&of(r#","rwmixread":"70""#, 5_000), Severity::Doubtful, "reads were starved");
        assert_eq!((of("", 5_200), of(r#","rwmixwrite":"20""#, 8_000)), (Vec::new(), Vec::new()));
        assert_eq!(of(r#","rate_iops":"900,100""#, 9_000), []);
    }

    #[test]
    fn standstills_of_a_direction_are_told() {
        let of = |reads: &dyn Fn(usize) -> u32| {
            let points: Vec<String> = (0..20)
                .map(|at| {
                    let reads = match reads(at) {
                        0 => String::new(),
                        ios => format!(r#","read":{{"total_ios":{ios}}}"#),
                    };
                    format!(r#"{{"end_ms":{},"write":{{"total_ios":100}}{reads}}}"#, 250 * (at + 1))
                })
                .collect();
            let timeline = format!(
                r#""fathom timeline":{{"interval_ms":250,"jobs":[{{"jobname":"a","points":[{}]}}]}}"#,
                points.join(",")
            );
            of_job(find, &run("", "", &timeline))
        };
        is_told(&of(&|at| if at % 2 == 0 { 100 } else { 0 }), Severity::Doubtful, "reads stopped for ");
        assert_eq!(of(&|_| 100), []);
        assert_eq!(of(&|at| if at == 5 { 0 } else { 100 }), []);
        // The reads ended early, which is not starvation.
        assert_eq!(of(&|at| if at < 8 { 100 } else { 0 }), []);
        assert_eq!(of(&|at| u32::from(at % 5 == 0)), [], "a few I/Os may leave gaps");
    }
}
