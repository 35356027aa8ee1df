//! The jobs of the steps, as text of job files, because all I/O goes through the run loop.

use super::definition::Point;
use super::plan::{PRECONDITION_BLOCK, PRECONDITION_DEPTH, PtsPlan, TestTarget};
use crate::job_text::{Section, text};
use crate::running::as_option;

/// The name of each job file's only job.
const NAME: &str = "pts";

fn job(plan: &PtsPlan, options: &[(&str, String)]) -> String {
    let own = [
        ("filename", as_option(&plan.target.path)),
        ("ioengine", plan.engine.clone()),
        ("direct", u32::from(plan.direct).to_string()),
    ];
    let options = own.iter().chain(options).map(|(name, value)| ((*name).to_owned(), value.clone()));
    text(&[Section { name: NAME.to_owned(), options: options.collect() }])
}

/// A job that reads one block, to find out which settings work on the target.
pub(super) fn probe(target: &TestTarget, engine: &str, direct: bool, block: u64) -> String {
    let options = [
        ("filename", as_option(&target.path)),
        ("ioengine", engine.to_owned()),
        ("direct", u32::from(direct).to_string()),
        ("rw", "read".to_owned()),
        ("bs", block.to_string()),
        ("size", block.to_string()),
    ];
    let options = options.map(|(name, value)| (name.to_owned(), value));
    text(&[Section { name: NAME.to_owned(), options: options.into() }])
}

/// A job that writes the capacity once.
pub(super) fn precondition(plan: &PtsPlan, seed: u64) -> String {
    job(
        plan,
        &[
            ("rw", "write".to_owned()),
            ("bs", PRECONDITION_BLOCK.to_string()),
            ("size", plan.pass_bytes().to_string()),
            ("iodepth", PRECONDITION_DEPTH.to_string()),
            ("randseed", seed.to_string()),
        ],
    )
}

/// A job that measures a point for its duration. Offsets and data differ in each round.
pub(super) fn point(plan: &PtsPlan, point: &Point, seed: u64) -> String {
    let rw = match (point.is_random, point.read_percent) {
        (true, 100) => "randread",
        (true, 0) => "randwrite",
        (true, _) => "randrw",
        (false, 100) => "read",
        (false, 0) => "write",
        (false, _) => "rw",
    };
    let mut options = vec![("rw", rw.to_owned()), ("bs", point.block_bytes.to_string())];
    if !matches!(point.read_percent, 0 | 100) {
        options.push(("rwmixread", point.read_percent.to_string()));
    }
    if point.is_random {
        options.push(("size", plan.target.bytes.to_string()));
        options.push(("norandommap", "1".to_owned()));
    } else {
        // The streams are adjacent and do not overlap; each consists of whole blocks of any size.
        let share = (plan.target.bytes / u64::from(plan.threads)) >> 20 << 20;
        options.push(("size", share.to_string()));
        options.push(("offset_increment", share.to_string()));
    }
    options.extend([
        ("time_based", "1".to_owned()),
        ("runtime", format!("{}ms", plan.point_time().as_millis())),
        ("numjobs", plan.threads.to_string()),
        ("iodepth", plan.depth.to_string()),
        ("randseed", seed.to_string()),
        ("group_reporting", "1".to_owned()),
        // Percentiles are those of the total latency, which includes submission.
        ("clat_percentiles", "0".to_owned()),
        ("lat_percentiles", "1".to_owned()),
    ]);
    job(plan, &options)
}

#[cfg(test)]
mod tests {
    use super::super::plan::{PtsTest, tests::plan};
    use super::*;

    #[test]
    fn points_are_jobs() {
        let plan = plan(PtsTest::Iops);
        let text = point(&plan, &Point::random(4096, 65), 7);
        for line in [
            "filename=/dev/none",
            "rw=randrw",
            "rwmixread=65",
            "bs=4096",
            "size=67108864",
            "runtime=60000ms",
            "numjobs=4",
            "iodepth=32",
            "randseed=7",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        let text = point(&plan, &Point::sequential(1 << 20, 0), 7);
        for line in ["rw=write", "size=16777216", "offset_increment=16777216"] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        assert!(precondition(&plan, 3).contains("rw=write\nbs=131072\nsize=67108864\niodepth=32\n"));
    }
}
