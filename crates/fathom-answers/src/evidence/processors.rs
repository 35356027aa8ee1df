//! Time that a job was runnable without a CPU, and what used the CPUs. Only results of fathom contain these
//! figures.

use super::Evidence;
use crate::figures;

/// Percentage of the run time below which waits are negligible.
const WORTH_TELLING: f64 = 5.0;
/// Mean length of a wait, in ns, up to which it is only a wake-up of an idle CPU.
const SHORTEST_NS: f64 = 20_000.0;
/// Minimum share of CPU time, in percent, at which steal time is reported.
const STOLEN: f64 = 5.0;
/// Minimum share, in percent, at which steal time dominates.
const MOSTLY_STOLEN: f64 = 40.0;
/// Share of CPU time, in percent, above which no CPU is considered idle.
const FULL: f64 = 90.0;

/// Time that a job waited for a processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ProcessorWait {
    /// Share of the run time of each clone, percent.
    pub(crate) share: f64,
    /// Mean length of a wait, ns.
    pub(crate) each_ns: f64,
    /// Number of CPUs used by programs other than the jobs of this group.
    pub(crate) others: f64,
    /// Number of CPUs of the machine.
    pub(crate) processors: u32,
    /// Percentage of all CPU time in which CPUs were busy.
    pub(crate) busy: f64,
    /// Percentage of all CPU time that the hypervisor gave to other guests.
    pub(crate) stolen: f64,
}

impl ProcessorWait {
    /// True if the waits are long enough, in total and each, to be more than wake-ups of an idle CPU.
    pub(crate) fn is_worth_telling(&self) -> bool {
        self.share >= WORTH_TELLING && self.each_ns >= SHORTEST_NS
    }

    /// True if other work used a large part of the CPUs, and the job waited for them.
    pub(crate) fn is_others_doing(&self) -> bool {
        self.is_worth_telling() && self.others_are_busy()
    }

    /// True if other work used a large part of the CPUs.
    pub(crate) fn others_are_busy(&self) -> bool {
        self.others >= 0.25 * f64::from(self.processors)
    }

    /// True if neither the job nor kernel threads find an idle CPU, because of other programs.
    pub(crate) fn is_machine_full(&self) -> bool {
        self.busy + self.stolen >= FULL && self.others >= 0.5 * f64::from(self.processors)
    }

    /// True if the hypervisor took part of the CPU time.
    pub(crate) fn is_stolen_from(&self) -> bool {
        self.stolen >= STOLEN
    }

    /// True if the hypervisor took enough time to explain everything else.
    pub(crate) fn is_mostly_stolen(&self) -> bool {
        self.stolen >= MOSTLY_STOLEN
    }

    /// A phrase such as `hypervisor gave 8.1 % of the CPU time to other machines`.
    pub(crate) fn told_of_stolen(&self) -> String {
        format!("hypervisor gave {} of the CPU time to other machines", figures::percent(self.stolen))
    }

    /// A phrase such as
    /// `waited 81.7 % of the time for a CPU, 833 µs each time (processor_wait_ms); other programs kept 1.86 of 2 CPUs busy`.
    pub(crate) fn told(&self) -> String {
        let mut text = format!(
            "waited {} of the time for a CPU, {} each time (processor_wait_ms)",
            figures::percent(self.share.min(100.0)),
            figures::duration(self.each_ns)
        );
        if self.is_others_doing() {
            text.push_str(&format!("; {}", self.told_of_others()));
        }
        text
    }

    /// A phrase such as `other programs kept 1.86 of 2 CPUs busy`.
    pub(crate) fn told_of_others(&self) -> String {
        let most = f64::from(self.processors);
        format!(
            "other programs kept {} of {} CPUs busy",
            figures::three_figures(self.others.min(most)),
            self.processors
        )
    }
}

impl Evidence<'_> {
    /// The job's wait for CPUs; `None` if the result does not contain it.
    pub(crate) fn processor_wait(&self) -> Option<ProcessorWait> {
        let choices = self.choices()?;
        let (wait_ms, time) = (choices.processor_wait_ms?, choices.processors?);
        let processors = self.run.host.as_ref()?.processors;
        if processors == 0 || time.total_ms == 0 {
            return None;
        }
        let elapsed_ms = time.total_ms as f64 / f64::from(processors);
        let clones = self.asked.clones;
        let group = || self.neighbours().filter(|job| job.group_id == self.job.group_id);
        let own_user_ms: f64 = group().map(|job| job.usr_cpu / 100.0 * job.runtime_ms as f64).sum();
        let of_job = group().filter(|job| job.name == self.job.name);
        let switches: u64 = of_job.map(|job| job.context_switches).sum();
        Some(ProcessorWait {
            share: 100.0 * wait_ms as f64 / (elapsed_ms * clones),
            each_ns: wait_ms as f64 * 1e6 / switches.max(1) as f64,
            others: ((time.user_ms as f64 - own_user_ms) / elapsed_ms).max(0.0),
            processors,
            busy: 100.0 * time.busy_ms as f64 / time.total_ms as f64,
            stolen: 100.0 * time.stolen_ms as f64 / time.total_ms as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(processors: &str, wait_ms: u64, switches: u64) -> ProcessorWait {
        let text = format!(
            r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"a","job_runtime":2000,"usr_cpu":10.0,"ctx":{switches},
            "job options":{{"numjobs":"1"}},"read":{{"total_ios":1}}}}],"fathom host":{{"processors":2}},
            "fathom jobs":[{{"jobname":"a","processor_wait_ms":{wait_ms},"processors":{processors}}}]}}"#
        );
        let run = fathom_results::parse(&text, "text").expect("reads");
        Evidence::of(&run, 0).processor_wait().expect("the result tells")
    }

    #[test]
    fn other_work_is_what_the_jobs_did_not_use() {
        let busy = r#"{"user_ms":3720,"busy_ms":3980,"stolen_ms":10,"total_ms":4000}"#;
        let found = wait(busy, 1634, 1962);
        assert_eq!((found.share, found.others.round(), found.processors), (81.7, 2.0, 2));
        assert!(found.is_others_doing() && found.is_machine_full() && !found.is_stolen_from(), "{found:?}");
        assert_eq!(
            found.told(),
            "waited 81.7 % of the time for a CPU, 833 µs each time (processor_wait_ms); other programs kept 1.76 of 2 CPUs busy"
        );
        // Many short waits are only wake-ups of an idle CPU.
        assert!(!wait(busy, 75 * 4, 26_179).is_worth_telling());
        let own = r#"{"user_ms":200,"busy_ms":3980,"stolen_ms":400,"total_ms":4000}"#;
        let found = wait(own, 1634, 1962);
        assert!(
            found.is_worth_telling()
                && !found.is_others_doing()
                && !found.is_machine_full()
                && found.is_stolen_from(),
            "{found:?}"
        );
    }

    #[test]
    fn results_that_do_not_tell() {
        let text = r#"{"fio version":"fio-3.33","jobs":[{"jobname":"a","read":{"total_ios":1}}]}"#;
        let run = fathom_results::parse(text, "text").expect("reads");
        assert_eq!(Evidence::of(&run, 0).processor_wait(), None);
    }
}
