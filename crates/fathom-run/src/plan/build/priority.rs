//! Builds priorities from options (`prio`, `prioclass`, `priohint`, `cmdprio_*`).

use crate::plan::model::priority::{CommandPriorities, Priority, PriorityShare};
use fathom_spec::JobSpec;
use fathom_spec::engines::{EngineDef, PriorityOptions};
use fathom_stats::Direction;

/// The priority of a job's clones; without these options, clones inherit the caller's priority.
pub(super) fn job_priority(job: &JobSpec) -> Priority {
    // The default class, because the kernel refuses a level without a class.
    const BEST_EFFORT: u32 = 2;
    let options = &job.threads;
    if options.prio.is_none() && options.prioclass.is_none() && options.priohint.is_none() {
        return Priority::default();
    }
    let class = options.prioclass.filter(|&class| class != 0).unwrap_or(BEST_EFFORT);
    Priority::new(class, options.prio.unwrap_or(0), options.priohint.unwrap_or(0))
}

/// Priorities of individual I/Os, if the engine supports them and the job sets any.
pub(super) fn command_priorities(job: &JobSpec, engine: &EngineDef) -> Option<CommandPriorities> {
    let options = engine.priorities?(job);
    let mut priorities = CommandPriorities { values: vec![job_priority(job)], shares: Default::default() };
    for direction in [Direction::Read, Direction::Write] {
        add(&mut priorities, direction, &options);
    }
    priorities.shares.iter().any(|shares| !shares.is_empty()).then_some(priorities)
}

fn add(priorities: &mut CommandPriorities, direction: Direction, options: &PriorityOptions<'_>) {
    let hint = options.hint[direction];
    let usual = Priority::new(options.class[direction], options.level[direction], hint);
    let percent = options.percentage[direction];
    if percent > 0 {
        let value = index_of(priorities, usual);
        priorities.shares[direction.index()].push(PriorityShare { size: None, percent, value });
    }
    for share in &options.split.0[direction] {
        let priority =
            share.priority.map_or(usual, |own| Priority::new(own.class, own.level, own.hint.unwrap_or(hint)));
        let value = index_of(priorities, priority);
        priorities.shares[direction.index()].push(PriorityShare {
            size: Some(share.size),
            percent: share.percent,
            value,
        });
    }
}

fn index_of(priorities: &mut CommandPriorities, priority: Priority) -> usize {
    if let Some(index) = priorities.values.iter().position(|value| *value == priority) {
        return index;
    }
    priorities.values.push(priority);
    priorities.values.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::{Outcome, SystemSource, engines, parse};

    fn of(words: &str) -> Option<CommandPriorities> {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let Outcome::Run(spec) = parse("fathom", &words, &SystemSource::new(4096)) else {
            panic!("{words:?}")
        };
        command_priorities(&spec.jobs[0], engines::find(&spec.jobs[0].engine.ioengine.name)?)
    }

    #[test]
    fn priorities_are_packed_as_the_kernel_packs_them() {
        let priority = Priority::new(1, 2, 3);
        assert_eq!(priority.0, 0x201a);
        assert_eq!((priority.class(), priority.level(), priority.hint()), (1, 2, 3));
    }

    #[test]
    fn shares_by_percentage_and_by_size() {
        assert_eq!(of("--name=a --ioengine=libaio --size=1m"), None);
        let all =
            of("--name=a --ioengine=io_uring --size=1m --cmdprio_percentage=30,0 --cmdprio=4").expect("some");
        assert_eq!(all.values, [Priority(0), Priority(0x2004)]);
        let chosen = |draw| all.choose(0, 4096, draw);
        assert_eq!((chosen(1), chosen(30), chosen(31), all.choose(1, 4096, 1)), (1, 1, 0, 0));
        let split =
            of("--name=a --ioengine=libaio --size=1m --cmdprio_bssplit=4k/20/2/3:8k/60/1/1:8k/10 --prio=7")
                .expect("some");
        assert_eq!(split.values, [Priority(0x4007), Priority(0x4003), Priority(0x2001), Priority(0x2000)]);
        let chosen = |size, draw| split.choose(1, size, draw);
        assert_eq!((chosen(4096, 20), chosen(4096, 21), chosen(16384, 1)), (1, 0, 0));
        assert_eq!((chosen(8192, 60), chosen(8192, 61), chosen(8192, 70), chosen(8192, 71)), (2, 3, 3, 0));
    }
}
