//! Priorities of individual I/Os (`cmdprio_*`), and latencies by priority.

use crate::plan::model::priority::{CommandPriorities, DIRECTIONS_WITH_PRIORITY};
use crate::random::{SeedUse, Seeds, Taus88};
use crate::targets::Target;
use crate::unit::Unit;
use crate::worker::WorkerContext;
use crate::worker::feature::{Feature, Needs};
use fathom_stats::Direction;
use fathom_stats::samples::LatencySamples;

/// Chooses priorities and counts I/Os by priority.
pub(in crate::worker) struct CommandPriority<'a> {
    priorities: &'a CommandPriorities,
    /// Latencies for each priority: reads, then writes.
    samples: &'a [LatencySamples],
    generator: Taus88,
    /// True to record total latency instead of completion latency.
    total: bool,
}

impl Feature for CommandPriority<'_> {
    /// Assigns a priority before each I/O, and records the latency at its completion.
    fn needs(&self) -> Needs {
        Needs { preparation: true, ends_from_ns: Some(0), ..Needs::default() }
    }
}

impl<'a> CommandPriority<'a> {
    /// Created for workers whose plan sets priorities of individual I/Os.
    pub(in crate::worker) fn of(context: &WorkerContext<'a>, seeds: &Seeds) -> Option<CommandPriority<'a>> {
        Some(CommandPriority {
            priorities: context.worker_plan().command_priorities.as_ref()?,
            samples: context.region.priorities(context.index),
            generator: seeds.generator(SeedUse::Priority),
            total: context.worker_plan().latency.lat.bins,
        })
    }

    /// Assigns a priority to a prepared unit; returns the kernel's value, 0 for none.
    pub(in crate::worker) fn choose(&mut self, target: Target, unit: &Unit) -> u16 {
        let draw = self.generator.percent();
        let index = self.priorities.choose(target.direction as usize, u64::from(target.length), draw);
        unit.set_priority(index as u32);
        // The job's own priority is that of its process, so such an I/O needs none.
        if index == 0 { 0 } else { self.priorities.values[index].0 }
    }

    /// Counts a completed I/O.
    pub(in crate::worker) fn record(&self, unit: &Unit, direction: Direction, clat: u64, lat: u64) {
        let direction = direction.index();
        if direction < DIRECTIONS_WITH_PRIORITY {
            let place = unit.priority() as usize * DIRECTIONS_WITH_PRIORITY + direction;
            if let Some(samples) = self.samples.get(place) {
                samples.record(if self.total { lat } else { clat }, true);
            }
        }
    }

    /// The kernel's value of the priority of a unit.
    pub(in crate::worker) fn value_of(&self, unit: &Unit) -> u16 {
        self.priorities.values.get(unit.priority() as usize).map_or(0, |priority| priority.0)
    }

    /// Clears the counters.
    pub(in crate::worker) fn reset(&self) {
        self.samples.iter().for_each(LatencySamples::reset);
    }
}
