//! `no-effect`: options that have no effect with this engine or this kind of I/O.

use super::{Found, Severity};
use crate::evidence::Evidence;
use crate::evidence::asked::AskedWorkload;
use fathom_stats::Direction;

/// Options that require a queue, which synchronous engines do not have.
const OF_QUEUES: [&str; 5] =
    ["iodepth", "iodepth_batch", "iodepth_batch_complete_min", "iodepth_batch_complete_max", "iodepth_low"];
/// Options that only affect writes, and options that only affect reads.
const OF_WRITES: [&str; 5] =
    ["end_fsync", "fsync", "fdatasync", "refill_buffers", "buffer_compress_percentage"];

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    let is_asked = |option: &&str| {
        let value = evidence.run.option(evidence.job, option).map(str::trim);
        value.is_some_and(|value| !matches!(value, "0"))
            && !(OF_QUEUES.contains(option) && value == Some("1"))
    };
    if !evidence.has_storage() {
        return Vec::new();
    }
    let mut found = Vec::new();
    if evidence.is_synchronous() {
        let names: Vec<&str> = OF_QUEUES.into_iter().filter(is_asked).collect();
        // A request for more than one I/O in flight matters more than other options, because the engine cannot
        // fulfil it.
        let severity = if names.contains(&"iodepth") { Severity::Doubtful } else { Severity::Note };
        found.extend(told(
            &names,
            severity,
            &format!("ioengine={} does one I/O after the other", evidence.asked.engine),
            "use libaio or io_uring, or more clones",
        ));
    }
    if evidence.asked.workload == AskedWorkload::Read && evidence.job.is_idle(Direction::Write) {
        let names: Vec<&str> = OF_WRITES.into_iter().filter(is_asked).collect();
        found.extend(told(&names, Severity::Note, "the job writes nothing", ""));
    }
    let is_sequential = !evidence.asked.is_random && evidence.asked.workload != AskedWorkload::Other;
    if is_sequential
        && evidence.run.option(evidence.job, "percentage_random").is_none_or(|share| share.trim() == "0")
    {
        let names: Vec<&str> = ["random_distribution", "norandommap"].into_iter().filter(is_asked).collect();
        found.extend(told(&names, Severity::Note, "the job is sequential", ""));
    }
    found
}

fn told(names: &[&str], severity: Severity, why: &str, advice: &str) -> Option<Found> {
    let has = if names.len() == 1 { "has" } else { "have" };
    let text = format!("{} {has} no effect: {why}", names.join(", "));
    (!names.is_empty()).then(|| Found::new(severity, text, advice).weighing(names.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    #[test]
    fn options_that_do_nothing_are_told() {
        let of = |options: &str| of_job(find, &run(options, "", ""));
        let deep = r#""ioengine":"psync","iodepth":"32""#;
        is_told(
            &of(deep),
            Severity::Doubtful,
            "iodepth has no effect: ioengine=psync does one I/O after the other",
        );
        assert_eq!(of(&deep.replace("psync", "libaio")), []);
        assert_eq!(of(&deep.replace("32", "1")), []);
        is_told(&of(r#""rw":"randread","end_fsync":"1""#), Severity::Note, "end_fsync has no effect");
        assert_eq!(of(r#""rw":"randwrite","end_fsync":"1""#), []);
        is_told(&of(r#""rw":"read","norandommap":"1""#), Severity::Note, "the job is sequential");
        assert_eq!(of(r#""rw":"randread","norandommap":"1""#), []);
    }
}
