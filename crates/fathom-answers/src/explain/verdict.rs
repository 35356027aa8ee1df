//! What held a job back, with the figures that say so.

use super::limits;
use crate::evidence::{Evidence, whole_latency_ns};
use crate::figures;

/// From this utilisation on, percent, a device always had something to do.
const BUSY: f64 = 90.0;
/// From this share of a processor on, percent, a clone could not do more.
const PROCESSOR_FULL: f64 = 85.0;
/// A run below this, ms, says nothing about what held it back.
const LEAST_RUNTIME_MS: u64 = 100;
/// Below this share of the depth asked for, a job did something else most of the time.
const DEPTH_REACHED: f64 = 0.5;

/// What was the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bottleneck {
    Failure,
    RateLimit,
    ThinkTime,
    Cache,
    Syncs,
    Processor,
    Submission,
    OwnSide,
    Device,
    QueueDepth,
    AboveTheDevice,
    Storage,
    Unknown,
}

/// A verdict and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) bottleneck: Bottleneck,
    /// Sentences that name the figures.
    pub(super) reasons: Vec<String>,
}

impl Bottleneck {
    pub(super) fn headline(self) -> &'static str {
        match self {
            Bottleneck::Failure => "The job failed, so its figures say little.",
            Bottleneck::RateLimit => {
                "A rate limit of the job was the bottleneck: the storage could have done more."
            }
            Bottleneck::ThinkTime => "The job's own pauses were the bottleneck, not the storage.",
            Bottleneck::Cache => "The page cache answered: this is a figure of memory, not of the device.",
            Bottleneck::Syncs => "Waiting for syncs was the bottleneck.",
            Bottleneck::Processor => "The processor was the bottleneck, not the device.",
            Bottleneck::Submission => "Handing I/O to the kernel was the bottleneck: submission blocks.",
            Bottleneck::OwnSide => {
                "The job's own side was the bottleneck: it had less in flight than it was allowed."
            }
            Bottleneck::Device => "The device was the bottleneck.",
            Bottleneck::QueueDepth => {
                "The queue depth was the bottleneck: with more in flight the device could do more."
            }
            Bottleneck::AboveTheDevice => {
                "Something between the job and the device was the bottleneck: the file system, the block layer or the host."
            }
            Bottleneck::Storage => {
                "The storage was the bottleneck: the device, or something between the job and the device."
            }
            Bottleneck::Unknown => "The result does not tell what the bottleneck was.",
        }
    }
}

type Rule = fn(&Evidence<'_>) -> Option<Verdict>;

/// The rules, the surest first.
const RULES: [Rule; 13] = [
    failure,
    too_short,
    rate_limit,
    think_time,
    cache,
    syncs,
    processor,
    submission,
    own_side,
    queue_depth,
    device,
    above_the_device,
    storage,
];

pub(super) fn of(evidence: &Evidence<'_>) -> Verdict {
    RULES.iter().find_map(|rule| rule(evidence)).unwrap_or_else(|| unknown(evidence))
}

fn verdict(bottleneck: Bottleneck, reasons: Vec<String>) -> Option<Verdict> {
    Some(Verdict { bottleneck, reasons })
}

fn failure(evidence: &Evidence<'_>) -> Option<Verdict> {
    let error = evidence.job.error;
    (error != 0).then(|| Verdict {
        bottleneck: Bottleneck::Failure,
        reasons: vec![format!(
            "error={error}: an I/O or the set-up failed, and what was counted ends there."
        )],
    })
}

fn too_short(evidence: &Evidence<'_>) -> Option<Verdict> {
    let longest = evidence.job.active().iter().map(|(_, direction)| direction.runtime_ms).max()?;
    (longest > 0 && longest < LEAST_RUNTIME_MS).then(|| Verdict {
        bottleneck: Bottleneck::Unknown,
        reasons: vec![format!(
            "It ran for {longest} ms: too short a time to judge; runtime and time_based make it longer."
        )],
    })
}

fn rate_limit(evidence: &Evidence<'_>) -> Option<Verdict> {
    let met = limits::rates(evidence).into_iter().find(|limit| limit.was_met())?;
    let shown = |value: f64| match met.option {
        "rate" => figures::bandwidth(value),
        _ => format!("{} IOPS", figures::count(value)),
    };
    let reason =
        format!("{} allows {}, and {} were reached.", met.option, shown(met.allowed), shown(met.reached));
    verdict(Bottleneck::RateLimit, vec![reason])
}

fn think_time(evidence: &Evidence<'_>) -> Option<Verdict> {
    let written = evidence.run.option(evidence.job, "thinktime")?;
    let pause_us = limits::pause_us(written).filter(|&us| us > 0.0)?;
    let every = evidence.number("thinktime_blocks").unwrap_or(1.0).max(1.0);
    let ios: u64 = evidence.job.active().iter().map(|(_, direction)| direction.total_ios).sum();
    let paused_ms = ios as f64 / every * pause_us / 1000.0;
    let share = 100.0 * paused_ms / (evidence.job.runtime_ms.max(1) as f64);
    (share >= 50.0).then(|| Verdict {
        bottleneck: Bottleneck::ThinkTime,
        reasons: vec![format!(
            "thinktime={written} pauses after every {every} of {ios} I/Os: about {} of the run time.",
            figures::percent(share.min(100.0))
        )],
    })
}

fn cache(evidence: &Evidence<'_>) -> Option<Verdict> {
    if evidence.is_direct() {
        return None;
    }
    for (direction, name) in ["reads", "writes"].into_iter().enumerate() {
        if evidence.job.directions()[direction].is_none() {
            continue;
        }
        let share = evidence.device_share(direction);
        if let Some(share) = share.filter(|share| share.ratio() < 0.5) {
            return verdict(
                Bottleneck::Cache,
                vec![format!(
                    "The job did not ask for direct I/O, and its {name} moved {}, the device only {}. direct=1 measures the \
                     device; for writes, end_fsync=1 counts the time until the data is there.",
                    figures::size(share.job_bytes),
                    figures::size(share.device_bytes)
                )],
            );
        }
    }
    let idle = !evidence.shares_counters() && evidence.run.disk_util.iter().all(|disk| disk.util < 20.0);
    (idle && !evidence.run.disk_util.is_empty()).then(|| Verdict {
        bottleneck: Bottleneck::Cache,
        reasons: vec![
            "The job did not ask for direct I/O, and no device was busy for more than 20 % of the time."
                .to_owned(),
        ],
    })
}

fn syncs(evidence: &Evidence<'_>) -> Option<Verdict> {
    let sync = &evidence.job.sync;
    let waited_ms = sync.total_ios as f64 * sync.latency.mean_ns / 1e6;
    let share = 100.0 * waited_ms / (evidence.job.runtime_ms.max(1) as f64);
    (share >= 50.0).then(|| Verdict {
        bottleneck: Bottleneck::Syncs,
        reasons: vec![format!(
            "{} syncs took {} each on average: {} of the run time.",
            figures::count(sync.total_ios as f64),
            figures::duration(sync.latency.mean_ns),
            figures::percent(share.min(100.0))
        )],
    })
}

fn processor(evidence: &Evidence<'_>) -> Option<Verdict> {
    let (user, system) = evidence.processor();
    if user + system < PROCESSOR_FULL {
        return None;
    }
    let mut reasons = vec![format!(
        "Each clone used {} of a processor (usr={}, sys={}).",
        figures::percent(user + system),
        figures::percent(user),
        figures::percent(system)
    )];
    reasons.push(match system > user {
        true => "Most of it was the kernel's work for each I/O: a larger block size, io_uring, or more clones on other \
                 processors bring more."
            .to_owned(),
        false => "Most of it was the tester's own: making or checking data (verify, refill_buffers, compression) costs \
                  processor time; more clones spread it."
            .to_owned(),
    });
    verdict(Bottleneck::Processor, reasons)
}

/// The direction that moved most, its place and its figures.
fn main_direction<'a>(evidence: &Evidence<'a>) -> Option<(usize, &'a fathom_results::DirectionResult)> {
    let all = evidence.job.directions().into_iter().enumerate();
    all.filter_map(|(index, direction)| Some((index, direction?)))
        .max_by_key(|(_, direction)| direction.io_bytes)
}

fn submission(evidence: &Evidence<'_>) -> Option<Verdict> {
    let (_, direction) = main_direction(evidence)?;
    let (slat, clat) = (direction.slat.mean_ns, direction.clat.mean_ns);
    if evidence.is_synchronous() || slat <= clat || slat < 1000.0 {
        return None;
    }
    let mut reasons = vec![format!(
        "Submitting took {} on average, completing {} (slat and clat): the call that should only hand the I/O over waits.",
        figures::duration(slat),
        figures::duration(clat)
    )];
    if !evidence.is_direct() {
        reasons.push(format!("{} works on the side only with direct=1.", evidence.engine()));
    }
    verdict(Bottleneck::Submission, reasons)
}

/// Nobody else holds a job back that has few I/Os in flight: it was busy with itself, or others had the processor.
fn own_side(evidence: &Evidence<'_>) -> Option<Verdict> {
    let reached = evidence.depth_reached()?;
    let asked = evidence.depth_asked();
    if reached >= DEPTH_REACHED * asked {
        return None;
    }
    let (user, system) = evidence.processor();
    verdict(
        Bottleneck::OwnSide,
        vec![
            format!(
                "{} were in flight on average of {asked} asked for: between its I/Os the job did something else.",
                figures::three_figures(reached)
            ),
            format!(
                "It used {} of a processor per clone (usr={}, sys={}); making data, checking it, a busy machine, or files that are \
                 opened and closed take such time.",
                figures::percent(user + system),
                figures::percent(user),
                figures::percent(system)
            ),
        ],
    )
}

/// What the kernel says of the busiest device.
fn device_sentence(evidence: &Evidence<'_>) -> Option<(f64, String)> {
    let device = evidence.busiest_device()?;
    let sentence =
        format!("{} was busy for {} of the time (util).", device.name, figures::percent(device.util));
    Some((device.util, sentence))
}

fn queue_depth(evidence: &Evidence<'_>) -> Option<Verdict> {
    let (_, direction) = main_direction(evidence)?;
    let reached = evidence.depth_reached()?;
    let asked = evidence.depth_asked();
    if asked > 2.0 || reached > 2.5 {
        return None;
    }
    let mut reasons = vec![format!(
        "{} in flight on average of {} asked for: each I/O begins when one before it has ended, so {} IOPS are no more than one \
         over the latency of {}.",
        figures::three_figures(reached),
        asked,
        figures::count(direction.iops),
        figures::duration(whole_latency_ns(direction))
    )];
    if let Some((util, sentence)) = device_sentence(evidence) {
        reasons.push(match util >= BUSY {
            true => format!(
                "{sentence} That says that there was always something to do, not that it could do no more: devices work on \
                 many I/Os at once."
            ),
            false => sentence,
        });
    }
    reasons.push(match evidence.is_synchronous() {
        true => format!("{} waits for each I/O; an asynchronous engine with iodepth, or more numjobs, puts more in flight.", evidence.engine()),
        false => "A larger iodepth or more numjobs shows what the device can do; for the latency of a single I/O this is the right test.".to_owned(),
    });
    verdict(Bottleneck::QueueDepth, reasons)
}

fn device(evidence: &Evidence<'_>) -> Option<Verdict> {
    let (util, sentence) = device_sentence(evidence)?;
    let (index, direction) = main_direction(evidence)?;
    let latency = whole_latency_ns(direction);
    let device_ns = evidence.device_ns(index.min(1));
    let share = device_ns.map(|ns| ns / latency.max(1.0));
    // Most of an I/O's time in the device weighs as much as a device that was never idle.
    let is_busy = util >= BUSY && share.is_none_or(|share| share >= 0.5);
    let has_most_of_the_time = util >= BUSY / 2.0 && share.is_some_and(|share| share >= 0.6);
    if !is_busy && !has_most_of_the_time {
        return None;
    }
    let mut reasons = vec![sentence];
    if let Some(ns) = device_ns {
        reasons.push(format!(
            "An I/O spent {} in the device and its queue (ticks over ios), of the {} that the job saw.",
            figures::duration(ns),
            figures::duration(latency)
        ));
    }
    if let Some(reached) = evidence.depth_reached() {
        reasons.push(format!(
            "{} were in flight on average of {} asked for: there was no lack of work.",
            figures::three_figures(reached),
            evidence.depth_asked()
        ));
    }
    let (user, system) = evidence.processor();
    reasons.push(format!("The processor had time left: {} used per clone.", figures::percent(user + system)));
    verdict(Bottleneck::Device, reasons)
}

fn above_the_device(evidence: &Evidence<'_>) -> Option<Verdict> {
    let (util, sentence) = device_sentence(evidence)?;
    let (index, direction) = main_direction(evidence)?;
    let latency = whole_latency_ns(direction);
    let mut reasons = vec![sentence];
    let device_ns = evidence.device_ns(index.min(1));
    if let Some(ns) = device_ns.filter(|ns| *ns < 0.5 * latency) {
        reasons.push(format!(
            "An I/O spent {} in the device and its queue, but {} on the whole: it waited above the device (locks and journal of a \
             file system, a full request queue, a hypervisor, or the scheduler of processes).",
            figures::duration(ns),
            figures::duration(latency)
        ));
    } else if util >= BUSY {
        return None;
    }
    if let Some(reached) = evidence.depth_reached() {
        let asked = evidence.depth_asked();
        reasons.push(format!(
            "{} were in flight on average of {asked} asked for.",
            figures::three_figures(reached)
        ));
        if reached < 0.75 * asked {
            reasons.push("The depth asked for was not reached: the job could not hand over I/O fast enough, or ended early.".to_owned());
        }
    }
    let (user, system) = evidence.processor();
    reasons.push(format!("The processor had time left: {} used per clone.", figures::percent(user + system)));
    verdict(Bottleneck::AboveTheDevice, reasons)
}

/// Why the kernel's counters of devices do not help.
fn no_device(evidence: &Evidence<'_>) -> Option<String> {
    if evidence.shares_counters() {
        return Some(
            "The kernel's counters of devices (disk_util) cover all jobs, and these did not run at the same time: run a job alone to \
             tell the device from what lies above it."
                .to_owned(),
        );
    }
    let none = "There are no counters of a block device in it (disk_util), so the device cannot be told from what lies above it.";
    evidence.run.disk_util.is_empty().then(|| none.to_owned())
}

/// Neither the job nor the processor held it back, and no device is known.
fn storage(evidence: &Evidence<'_>) -> Option<Verdict> {
    let reached = evidence.depth_reached()?;
    let asked = evidence.depth_asked();
    let (user, system) = evidence.processor();
    let is_real = !fathom_spec::engines::find(evidence.engine()).is_some_and(|engine| engine.without_files);
    if reached < 0.75 * asked || user + system > PROCESSOR_FULL - 20.0 || !is_real || !evidence.is_direct() {
        return None;
    }
    let mut reasons = vec![
        format!(
            "{} were in flight on average of {asked} asked for: there was no lack of work.",
            figures::three_figures(reached)
        ),
        format!("The processor had time left: {} used per clone.", figures::percent(user + system)),
    ];
    reasons.extend(no_device(evidence));
    verdict(Bottleneck::Storage, reasons)
}

fn unknown(evidence: &Evidence<'_>) -> Verdict {
    let mut reasons = Vec::new();
    if evidence.job.active().is_empty() {
        reasons.push(match evidence.job.sync.total_ios {
            0 => "The job did no I/O.".to_owned(),
            syncs => format!("The job did nothing but {} syncs.", figures::count(syncs as f64)),
        });
    }
    reasons.extend(no_device(evidence));
    if let Some(reached) = evidence.depth_reached() {
        reasons.push(format!(
            "{} were in flight on average of {} asked for.",
            figures::three_figures(reached),
            evidence.depth_asked()
        ));
    }
    let (user, system) = evidence.processor();
    reasons.push(format!("Each clone used {} of a processor.", figures::percent(user + system)));
    Verdict { bottleneck: Bottleneck::Unknown, reasons }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(options: &str, figures: &str, disk: &str) -> Verdict {
        let text = format!(
            r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"a","job options":{{{options}}},"job_runtime":10000,{figures}}}],
                "disk_util":[{disk}]}}"#
        );
        let run = fathom_results::parse(&text, "text").expect("reads");
        of(&Evidence::of(&run, 0))
    }

    const DEEP: &str = r#""ioengine":"libaio","iodepth":"32","direct":"1""#;
    const READS: &str = r#""read":{"total_ios":100000,"io_bytes":409600000,"iops":10000,"runtime":10000,"bw_bytes":40960000,
        "slat_ns":{"mean":2000},"clat_ns":{"mean":3000000},"lat_ns":{"mean":3002000}}"#;
    const BUSY_DISK: &str =
        r#"{"name":"sda","read_ios":100000,"read_sectors":800000,"read_ticks":290000,"util":99.1}"#;

    #[track_caller]
    fn check(found: &Verdict, wanted: Bottleneck, figure: &str) {
        assert_eq!(found.bottleneck, wanted, "{found:?}");
        assert!(found.reasons.iter().any(|reason| reason.contains(figure)), "{figure} is not in {found:?}");
    }

    #[test]
    fn each_cause_is_found_by_its_figures() {
        check(
            &judge(DEEP, &format!("\"usr_cpu\":5,\"sys_cpu\":20,{READS}"), BUSY_DISK),
            Bottleneck::Device,
            "99.1 %",
        );
        check(
            &judge(DEEP, &format!("\"usr_cpu\":15,\"sys_cpu\":84,{READS}"), BUSY_DISK),
            Bottleneck::Processor,
            "sys=84.0 %",
        );
        let limited = format!("{DEEP},\"rate_iops\":\"10k\"");
        // 10k is 10240, and 10000 are 98 % of that.
        check(&judge(&limited, READS, BUSY_DISK), Bottleneck::RateLimit, "rate_iops allows");
        let idle = BUSY_DISK.replace("290000", "20000").replace("99.1", "45");
        check(&judge(DEEP, READS, &idle), Bottleneck::AboveTheDevice, "200 µs");
        let one = READS.replace("3000000", "99000").replace("3002000", "100000");
        check(&judge(r#""direct":"1""#, &one, BUSY_DISK), Bottleneck::QueueDepth, "psync waits");
        let half = judge(r#""direct":"1""#, &one, &BUSY_DISK.replace("99.1", "55"));
        check(&half, Bottleneck::QueueDepth, "55.0 %");
        assert!(!half.reasons.iter().any(|reason| reason.contains("always something")), "{half:?}");
        let cached = BUSY_DISK.replace("800000", "8000");
        check(&judge(r#""ioengine":"libaio","iodepth":"32""#, READS, &cached), Bottleneck::Cache, "3.91 MiB");
        let blocks = READS.replace("\"slat_ns\":{\"mean\":2000}", "\"slat_ns\":{\"mean\":4000000}");
        check(&judge(DEEP, &blocks, BUSY_DISK), Bottleneck::Submission, "4.00 ms");
        let synced = format!(r#"{READS},"sync":{{"total_ios":1000,"lat_ns":{{"mean":8000000}}}}"#);
        check(&judge(DEEP, &synced, BUSY_DISK), Bottleneck::Syncs, "80.0 %");
        let pauses = format!("{DEEP},\"thinktime\":\"80\"");
        check(&judge(&pauses, READS, BUSY_DISK), Bottleneck::ThinkTime, "80.0 %");
        let pauses = format!("{DEEP},\"thinktime\":\"10ms\",\"thinktime_blocks\":\"125\"");
        check(&judge(&pauses, READS, BUSY_DISK), Bottleneck::ThinkTime, "thinktime=10ms");
        let idle_job = READS.replace("3000000", "300000").replace("3002000", "302000");
        check(&judge(DEEP, &idle_job, BUSY_DISK), Bottleneck::OwnSide, "3.02 were in flight");
        let short = READS.replace("\"runtime\":10000", "\"runtime\":9");
        check(&judge(DEEP, &short, BUSY_DISK), Bottleneck::Unknown, "9 ms");
        check(&judge(DEEP, &format!("\"error\":5,{READS}"), BUSY_DISK), Bottleneck::Failure, "error=5");
        check(&judge(DEEP, READS, ""), Bottleneck::Storage, "disk_util");
        check(&judge(r#""ioengine":"libaio","iodepth":"48""#, READS, ""), Bottleneck::Unknown, "disk_util");
    }
}
