//! Limits of the control groups during the run, and whether the job reached them. Only results of fathom
//! contain them.

use super::Evidence;
use crate::figures;
use fathom_results::model::{IoLimit, ProcessorLimit};

/// Percentage of a group's periods with throttling below which the throttling is negligible.
const THROTTLED_PERIODS: f64 = 25.0;
/// Share of a limit from which the limit counts as reached. It is below 1, because kernels allow short bursts,
/// so whole runs end up on either side of the limit.
const MET: f64 = 0.85;
/// Keys of I/O limits in version 2 of control groups.
const KEYS: [&str; 4] = ["rbps", "wbps", "riops", "wiops"];

/// A CPU limit that throttled the job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Throttled<'a> {
    limit: &'a ProcessorLimit,
}

/// An I/O limit that was reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IoLimited<'a> {
    limit: &'a IoLimit,
    key: &'static str,
    allowed: f64,
    reached: f64,
}

impl Throttled<'_> {
    /// Percentage of periods in which the group was throttled.
    pub(crate) fn share(&self) -> f64 {
        100.0 * self.limit.throttled as f64 / self.limit.periods.max(1) as f64
    }

    /// A phrase such as
    /// `the control group /a may use 0.200 of a CPU (cpu.max 20000 100000) and was held back in 32 of 32 periods, 2.51 s in all`.
    pub(crate) fn told(&self) -> String {
        let limit = self.limit;
        let allowed = limit.quota_us as f64 / limit.period_us.max(1) as f64;
        let what = if allowed <= 1.0 { "of a CPU" } else { "CPUs" };
        format!(
            "the control group {} may use {} {what} (cpu.max {} {}) and was throttled in {} of {} periods, {} in total (cpu.stat)",
            limit.group,
            figures::three_figures(allowed),
            limit.quota_us,
            limit.period_us,
            limit.throttled,
            limit.periods,
            figures::duration(limit.throttled_us as f64 * 1000.0)
        )
    }
}

impl IoLimited<'_> {
    /// The limit per second, and the rate that was reached.
    pub(crate) fn figures(&self) -> (f64, f64) {
        (self.allowed, self.reached)
    }

    /// A phrase such as
    /// `the control group /a allows 500 reads per second of sda (io.max riops=500), and 503 were done`.
    pub(crate) fn told(&self) -> String {
        let shown = |value: f64| match self.key.ends_with("bps") {
            true => figures::bandwidth(value),
            false => figures::count(value.round()),
        };
        let what = match self.key {
            "rbps" => "to be read",
            "wbps" => "to be written",
            "riops" => "reads per second",
            _ => "writes per second",
        };
        format!(
            "the control group {} allows {} {what} of {} (io.max {}={}), and {} were reached",
            self.limit.group,
            shown(self.allowed),
            self.limit.device,
            self.key,
            self.allowed,
            shown(self.reached)
        )
    }
}

impl<'a> Evidence<'a> {
    /// The CPU limit that throttled the job most.
    pub(crate) fn throttled(&self) -> Option<Throttled<'a>> {
        self.throttled_at_all()
            .filter(|worst| worst.limit.throttled >= 2 && worst.share() >= THROTTLED_PERIODS)
    }

    /// The CPU limit that throttled the job most, if it did so at least once.
    pub(crate) fn throttled_at_all(&self) -> Option<Throttled<'a>> {
        let limits = self.choices()?.limits.processors.iter().map(|limit| Throttled { limit });
        limits.max_by_key(|throttled| throttled.limit.throttled_us).filter(|worst| worst.limit.throttled > 0)
    }

    /// The I/O limit with the highest ratio of usage to limit, among those that were reached.
    pub(crate) fn io_limited(&self) -> Option<IoLimited<'a>> {
        let seconds = self.elapsed_seconds()?;
        let limits = self.choices()?.limits.io.iter().filter(|limit| self.lies_on(&limit.device));
        let parts = limits.flat_map(|limit| {
            limit.parts().into_iter().zip(KEYS).enumerate().filter_map(
                move |(place, ((allowed, used), key))| {
                    Some((limit, place, allowed? as f64, used as f64 / seconds, key))
                },
            )
        });
        let met = parts.map(|(limit, place, allowed, used, key)| {
            let reached = used.max(self.own_rate(place));
            IoLimited { limit, key, allowed, reached }
        });
        met.filter(|found| found.allowed > 0.0 && found.reached >= MET * found.allowed)
            .max_by(|a, b| (a.reached / a.allowed).total_cmp(&(b.reached / b.allowed)))
    }

    /// Duration of the job between the two readings of its groups' counters, in seconds.
    fn elapsed_seconds(&self) -> Option<f64> {
        let time = self.choices()?.processors?;
        let processors = self.run.host.as_ref()?.processors.max(1);
        let elapsed_ms = time.total_ms as f64 / f64::from(processors);
        (elapsed_ms > 0.0).then_some(elapsed_ms / 1000.0)
    }

    /// Rates of the job: bytes read, bytes written, reads, writes. Only I/O that reaches a device unchanged
    /// counts.
    fn own_rate(&self, place: usize) -> f64 {
        let direction = self.job.directions()[place % 2].filter(|_| self.is_direct());
        direction.map_or(0.0, |direction| if place < 2 { direction.bytes_per_second } else { direction.iops })
    }

    /// True if the job's files are on this device. Without a list of devices, they may be on any.
    fn lies_on(&self, device: &str) -> bool {
        let is_it = |disk: &fathom_results::model::DiskResult| {
            disk.name == device || disk.below.iter().any(|below| below == device)
        };
        self.disks().next().is_none() || self.disks().any(is_it)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(limits: &str, iops: u32) -> fathom_results::RunResult {
        let text = format!(
            r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"a","job options":{{"direct":"1"}},
            "read":{{"total_ios":9,"io_bytes":9,"iops":{iops},"bw_bytes":4096}}}}],"disk_util":[{{"name":"sda"}}],
            "fathom host":{{"processors":2}},"fathom jobs":[{{"jobname":"a",
            "processors":{{"user_ms":0,"busy_ms":0,"stolen_ms":0,"total_ms":4000}},"limits":{{{limits}}}}}]}}"#
        );
        fathom_results::parse(&text, "text").expect("reads")
    }

    #[test]
    fn quotas_are_told_by_what_they_held_back() {
        let of = |throttled: u32| {
            let quota = format!(
                r#""processors":[{{"group":"/a","quota_us":20000,"period_us":100000,"periods":32,"throttled":{throttled},"throttled_us":2510000}}]"#
            );
            let run = run(&quota, 9);
            Evidence::of(&run, 0).throttled().map(|found| found.told())
        };
        assert_eq!(
            of(32).as_deref(),
            Some(
                "the control group /a may use 0.200 of a CPU (cpu.max 20000 100000) and was throttled in 32 of 32 periods, 2.51 s \
                 in total (cpu.stat)"
            )
        );
        assert_eq!(of(3), None);
    }

    #[test]
    fn limits_of_io_are_met_or_not() {
        let of = |iops: u32, used: u32, device: &str| {
            let limit = format!(
                r#""io":[{{"group":"/a","device":"{device}","read_ios_per_second":500,"read_ios":{used}}}]"#
            );
            let run = run(&limit, iops);
            Evidence::of(&run, 0).io_limited().map(|found| found.told())
        };
        let told = "the control group /a allows 500 reads per second of sda (io.max riops=500), and 503 were reached";
        assert_eq!(of(503, 0, "sda").as_deref(), Some(told));
        // Other members of the group used the rest of the limit.
        assert_eq!(of(50, 1006, "sda").as_deref(), Some(told));
        assert_eq!((of(300, 600, "sda"), of(503, 0, "sdb")), (None, None));
    }
}
