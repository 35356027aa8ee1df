//! `other-io`: the devices did more I/O than the jobs, so other programs used them as well.

use super::{Found, Severity};
use crate::evidence::Evidence;

/// Share of the device's I/O time, in percent, above which other I/O disturbed the jobs. Below the second
/// value, it hardly disturbed them.
const DISTURBING: f64 = 30.0;
const WORTH_TELLING: f64 = 5.0;
/// Utilization, in percent, below which a device had time to spare.
const BUSY: f64 = 10.0;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    let Some(others) = evidence.other_io().filter(|others| others.time_share >= WORTH_TELLING) else {
        return Vec::new();
    };
    let busy = evidence.disks().map(|disk| disk.util).fold(0.0, f64::max);
    let severity = match others.time_share >= DISTURBING && busy >= BUSY {
        true => Severity::Doubtful,
        false => Severity::Note,
    };
    let found = Found::new(
        severity,
        format!("the device did {}", others.told()),
        "run it when the device is otherwise unused; iotop or pidstat -d shows who uses it",
    );
    let figures = [
        ("other_read_bytes", others.bytes[0]),
        ("other_write_bytes", others.bytes[1]),
        ("time_percent", others.time_share),
        ("device_busy_percent", busy),
    ];
    vec![found.with(&figures).weighing(others.time_share)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    #[test]
    fn what_others_do_is_told() {
        let of = |ticks: u32, util: u32| {
            let more = format!(
                r#""disk_util":[{{"name":"sda","read_ios":100,"read_sectors":800,"read_ticks":50,"write_ios":18000,
                "write_sectors":144000,"write_ticks":{ticks},"util":{util}}}],"fathom host":{{"devices":[{{"name":"sda"}}]}}"#
            );
            let job = r#""read":{"total_ios":100,"io_bytes":409600}"#;
            of_job(find, &run(r#""direct":"1""#, job, &more))
        };
        is_told(&of(950, 90), Severity::Doubtful, "95.0 % of the time that I/Os spent in the device");
        is_told(&of(950, 2), Severity::Note, "from outside this run");
        is_told(&of(10, 90), Severity::Note, "from outside this run");
        assert_eq!(of(1, 90), []);
    }
}
