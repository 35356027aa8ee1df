//! Determines what limited a job, with the figures that show it.

mod above;
mod below;
mod depth;
mod mounts;
mod nothing;
mod own;

pub(crate) use nothing::is_memory_device;

use crate::evidence::Evidence;
use crate::figures;

/// Minimum utilization, in percent, at which a device counts as never idle.
const BUSY: f64 = 90.0;
/// Share of a processor, in percent, from which a clone could not do more work.
const PROCESSOR_FULL: f64 = 85.0;
/// Share of the run time, in percent, from which waiting for busy CPUs is the bottleneck.
const WAITED_FOR_OTHERS: f64 = 40.0;
/// Minimum run time in ms for a verdict.
const LEAST_RUNTIME_MS: u64 = 100;
/// Minimum wait above the device that matters, in ns; shorter waits are normal.
const LEAST_WAIT_NS: f64 = 200_000.0;
/// Share of the mean latency from which recorded layers show the bottleneck.
const MOST_OF_IT: f64 = 0.6;
/// Number of I/Os in flight from which a device that is never idle is fully loaded.
const PLENTY: f64 = 32.0;
/// Share of a device's I/O time, in percent, from which other I/O kept it busy.
const OTHERS_SHARE: f64 = 30.0;
/// Share of the requested depth below which a job did other work most of the time.
const DEPTH_REACHED: f64 = 0.5;

/// The bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bottleneck {
    Failure,
    OfferedLoad,
    RateLimit,
    ThinkTime,
    LatencyTarget,
    Memory,
    Cache,
    PageCacheOfClient,
    ClientCache,
    Network,
    IoLimit,
    Quota,
    OtherIo,
    Syncs,
    Verification,
    MakingData,
    BusyMachine,
    Processor,
    NoStorage,
    Submission,
    OwnSide,
    Device,
    DeviceAtThisDepth,
    QueueDepth,
    AboveTheDevice,
    Storage,
    Server,
    Unknown,
}

/// A verdict and its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BottleneckVerdict {
    pub(super) bottleneck: Bottleneck,
    /// Sentences with the figures on which the verdict is based.
    pub(super) reasons: Vec<String>,
}

impl Bottleneck {
    pub(super) fn headline(self) -> &'static str {
        match self {
            Bottleneck::Failure => "The job failed, so its figures say little.",
            Bottleneck::OfferedLoad => {
                "The storage kept up with the load that was offered: the load set the rate."
            }
            Bottleneck::RateLimit => {
                "The job's own rate limit was the bottleneck: without it, the job would have done more."
            }
            Bottleneck::ThinkTime => "The job's own pauses were the bottleneck, not the storage.",
            Bottleneck::LatencyTarget => {
                "The job's own latency target was the bottleneck: it kept the queue depth down."
            }
            Bottleneck::Cache => "The page cache answered: this is a figure of memory, not of the device.",
            Bottleneck::PageCacheOfClient => {
                "The page cache of this machine answered: this is a figure of memory, not of the network or the server."
            }
            Bottleneck::ClientCache => {
                "A cache of the file system on this machine answered: neither the network nor the server was measured."
            }
            Bottleneck::Network => {
                "The file system was the bottleneck: its client, the network or the server."
            }
            Bottleneck::Memory => "The files are in memory: no storage took part.",
            Bottleneck::IoLimit => "An I/O limit of the control group was the bottleneck, not the device.",
            Bottleneck::Quota => "A CPU limit of the control group was the bottleneck, not the storage.",
            Bottleneck::OtherIo => {
                "Other I/O on the device was the bottleneck: the job was not what kept it busy."
            }
            Bottleneck::Syncs => "Waiting for syncs was the bottleneck.",
            Bottleneck::Verification => {
                "Verification was the bottleneck: its checksums took the time, not the storage."
            }
            Bottleneck::MakingData => "Generating data for the writes was the bottleneck, not the storage.",
            Bottleneck::BusyMachine => {
                "Other work on the machine was the bottleneck: the job waited for a CPU, not for the storage."
            }
            Bottleneck::Processor => "The CPU was the bottleneck, not the device.",
            Bottleneck::NoStorage => {
                "No storage took part: this is the speed of the program itself, and of its connections if it has any."
            }
            Bottleneck::Submission => "Submission was the bottleneck: the call that submits I/O blocks.",
            Bottleneck::OwnSide => {
                "The job itself was the bottleneck: it kept less in flight than its queue depth allows."
            }
            Bottleneck::Device => "The device was the bottleneck.",
            Bottleneck::DeviceAtThisDepth => {
                "The device or the queue depth was the bottleneck: the device was never idle, but may do more at a higher queue depth."
            }
            Bottleneck::QueueDepth => {
                "The queue depth was the bottleneck: each I/O waited for the one before it."
            }
            Bottleneck::AboveTheDevice => {
                "Something between the job and the device was the bottleneck: the file system, the block layer or the host."
            }
            Bottleneck::Storage => {
                "The storage was the bottleneck: the device, or something between the job and the device."
            }
            Bottleneck::Server => {
                "The server was the bottleneck: the server itself, the network, or this machine's side of the connections."
            }
            Bottleneck::Unknown => "The result does not show what the bottleneck was.",
        }
    }
}

type Rule = fn(&Evidence<'_>) -> Option<BottleneckVerdict>;

/// The rules in order. First come those that rule out the storage, then those for the job's own limits, then
/// those for interference. Only if none of these applies can the device or the queue depth be the bottleneck.
const RULES: [Rule; 30] = [
    failure,
    too_short,
    nothing::no_storage,
    own::offered_load,
    own::rate_limit,
    own::think_time,
    own::latency_target,
    own::work_on_data,
    nothing::memory,
    below::syncs,
    nothing::cache,
    mounts::page_cache,
    mounts::client_cache,
    above::io_limit,
    above::quota,
    above::busy_machine,
    above::stolen_machine,
    own::processor,
    own::submission,
    mounts::read_ahead,
    own::own_side,
    above::by_layers,
    above::other_io,
    above::starved_kernel,
    above::held_above,
    depth::queue_depth,
    below::device,
    above::above_the_device,
    mounts::network,
    below::storage,
];

pub(super) fn of(evidence: &Evidence<'_>) -> BottleneckVerdict {
    let mut found = RULES.iter().find_map(|rule| rule(evidence)).unwrap_or_else(|| unknown(evidence));
    found.reasons.extend(mounts::surroundings(evidence, found.bottleneck));
    found
}

fn verdict(bottleneck: Bottleneck, reasons: Vec<String>) -> Option<BottleneckVerdict> {
    Some(BottleneckVerdict { bottleneck, reasons })
}

fn failure(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let error = evidence.job.error;
    (error != 0).then(|| BottleneckVerdict {
        bottleneck: Bottleneck::Failure,
        reasons: vec![format!("error={error}: an I/O or the set-up failed, and the figures end there.")],
    })
}

fn too_short(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let longest = evidence.job.active().iter().map(|(_, direction)| direction.runtime_ms).max()?;
    (longest > 0 && longest < LEAST_RUNTIME_MS).then(|| BottleneckVerdict {
        bottleneck: Bottleneck::Unknown,
        reasons: vec![format!(
            "It ran for {longest} ms, too short to judge; use runtime and time_based for a longer run."
        )],
    })
}

/// The direction that moved the most bytes: its index and figures.
fn main_direction<'a>(evidence: &Evidence<'a>) -> Option<(usize, &'a fathom_results::DirectionResult)> {
    let all = evidence.job.directions().into_iter().enumerate();
    all.filter_map(|(index, direction)| Some((index, direction?)))
        .max_by_key(|(_, direction)| direction.io_bytes)
}

/// What the kernel reports about the busiest device.
fn device_sentence(evidence: &Evidence<'_>) -> Option<(f64, String)> {
    let device = evidence.busiest_device()?;
    let sentence =
        format!("{} was busy for {} of the time (util).", device.name, figures::percent(device.util));
    Some((device.util, sentence))
}

fn unknown(evidence: &Evidence<'_>) -> BottleneckVerdict {
    let mut reasons = Vec::new();
    if evidence.job.active().is_empty() {
        reasons.push(match evidence.job.syncs() {
            0 => "The job did no I/O.".to_owned(),
            syncs => format!("The job did only syncs: {}.", figures::count(syncs as f64)),
        });
    }
    reasons.extend(below::no_device(evidence));
    if let Some(reached) = evidence.depth_reached() {
        reasons.push(format!(
            "The queue depth was {} on average, of {} requested.",
            figures::three_figures(reached),
            evidence.depth_asked()
        ));
    }
    let (user, system) = evidence.processor();
    reasons.push(format!("Each clone used {} of a CPU.", figures::percent(user + system)));
    BottleneckVerdict { bottleneck: Bottleneck::Unknown, reasons }
}

#[cfg(test)]
mod tests;
