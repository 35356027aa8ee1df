//! Single I/Os with a priority of their own (`cmdprio_*`), and their latencies by priority.

use crate::plan::model::priority::{CommandPriorities, DIRECTIONS_WITH_PRIORITY};
use crate::random::{SeedUse, Seeds, Taus88};
use crate::targets::Target;
use crate::unit::Unit;
use crate::worker::WorkerContext;
use crate::worker::feature::{Feature, Needs};
use fathom_stats::Direction;
use fathom_stats::samples::LatencySamples;

/// Chooses and counts.
pub(in crate::worker) struct CommandPriority<'a> {
    priorities: &'a CommandPriorities,
    /// Per priority: reads, then writes.
    samples: &'a [LatencySamples],
    generator: Taus88,
    /// Total latency counts rather than completion latency.
    total: bool,
}

impl Feature for CommandPriority<'_> {
    /// Gives an I/O its priority, and counts its latency there.
    fn needs(&self) -> Needs {
        Needs { preparation: true, ends_from_ns: Some(0), ..Needs::default() }
    }
}

impl<'a> CommandPriority<'a> {
    /// For a worker whose plan has priorities for single I/Os.
    pub(in crate::worker) fn of(context: &WorkerContext<'a>, seeds: &Seeds) -> Option<CommandPriority<'a>> {
        Some(CommandPriority {
            priorities: context.worker_plan().command_priorities.as_ref()?,
            samples: context.region.priorities(context.index),
            generator: seeds.generator(SeedUse::Priority),
            total: context.worker_plan().latency.lat.bins,
        })
    }

    /// Gives a unit that has been aimed its priority; what the kernel is told, 0 for nothing.
    pub(in crate::worker) fn choose(&mut self, target: Target, unit: &Unit) -> u16 {
        let draw = self.generator.percent();
        let index = self.priorities.choose(target.direction as usize, u64::from(target.length), draw);
        unit.set_priority(index as u32);
        // The job's own priority belongs to the process.
        if index == 0 { 0 } else { self.priorities.values[index].0 }
    }

    /// Counts an I/O that has ended.
    pub(in crate::worker) fn record(&self, unit: &Unit, direction: Direction, clat: u64, lat: u64) {
        let direction = direction.index();
        if direction < DIRECTIONS_WITH_PRIORITY {
            let place = unit.priority() as usize * DIRECTIONS_WITH_PRIORITY + direction;
            if let Some(samples) = self.samples.get(place) {
                samples.record(if self.total { lat } else { clat }, true);
            }
        }
    }

    /// The kernel's value of a unit's priority.
    pub(in crate::worker) fn value_of(&self, unit: &Unit) -> u16 {
        self.priorities.values.get(unit.priority() as usize).map_or(0, |priority| priority.0)
    }

    /// Forgets what was counted.
    pub(in crate::worker) fn reset(&self) {
        self.samples.iter().for_each(LatencySamples::reset);
    }
}
