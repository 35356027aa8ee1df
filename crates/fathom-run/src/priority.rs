//! I/O priorities: the one of a whole job, and those that a share of its I/Os gets (`cmdprio_*`).

use fathom_spec::JobSpec;
use fathom_spec::value::{PerDir, PriorityShares};
use serde::{Deserialize, Serialize};

/// A priority as the kernel packs it (`IOPRIO_PRIO_VALUE` of linux/ioprio.h): class in bits 13 to 15, hint in 3 to 12, level
/// in 0 to 2. 0 stands for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Priority(pub u16);

impl Priority {
    fn new(class: u32, level: u32, hint: u32) -> Priority {
        Priority((class << 13 | (hint & 0x3ff) << 3 | (level & 7)) as u16)
    }

    /// 0 none, 1 real time, 2 best effort, 3 idle.
    pub fn class(self) -> u32 {
        u32::from(self.0 >> 13)
    }

    /// 0 goes first.
    pub fn level(self) -> u32 {
        u32::from(self.0 & 7)
    }

    /// Hint to the device.
    pub fn hint(self) -> u32 {
        u32::from(self.0 >> 3 & 0x3ff)
    }

    /// The priority of a job's clones; none leaves the one they inherit.
    pub fn of_job(job: &JobSpec) -> Priority {
        // No class means best effort, as it does to the kernel, which refuses a level without a class.
        const BEST_EFFORT: u32 = 2;
        let options = &job.threads;
        if options.prio.is_none() && options.prioclass.is_none() && options.priohint.is_none() {
            return Priority::default();
        }
        let class = options.prioclass.filter(|&class| class != 0).unwrap_or(BEST_EFFORT);
        Priority::new(class, options.prio.unwrap_or(0), options.priohint.unwrap_or(0))
    }
}

/// Reads and writes.
pub(crate) const DIRECTIONS_WITH_PRIORITY: usize = 2;

/// Which I/Os of a job have a priority of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandPriorities {
    /// All priorities that occur; the first is the job's.
    pub values: Vec<Priority>,
    /// Shares of reads, then of writes.
    shares: [Vec<Share>; DIRECTIONS_WITH_PRIORITY],
}

/// So many percent of the I/Os of a size have this priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Share {
    /// `None` for all sizes.
    size: Option<u64>,
    percent: u32,
    /// Index in `values`.
    value: usize,
}

/// The options of an engine that has them.
struct Options<'a> {
    percentage: &'a PerDir<u32>,
    class: &'a PerDir<u32>,
    level: &'a PerDir<u32>,
    hint: &'a PerDir<u32>,
    split: &'a PriorityShares,
}

impl CommandPriorities {
    /// Those of a job, if its engine has such options and they say something.
    pub(crate) fn of(job: &JobSpec) -> Option<CommandPriorities> {
        let (libaio, io_uring) = (&job.private.libaio, &job.private.io_uring);
        let options = match job.engine.ioengine.name.as_str() {
            "libaio" => Options {
                percentage: &libaio.cmdprio_percentage,
                class: &libaio.cmdprio_class,
                level: &libaio.cmdprio,
                hint: &libaio.cmdprio_hint,
                split: &libaio.cmdprio_bssplit,
            },
            "io_uring" => Options {
                percentage: &io_uring.cmdprio_percentage,
                class: &io_uring.cmdprio_class,
                level: &io_uring.cmdprio,
                hint: &io_uring.cmdprio_hint,
                split: &io_uring.cmdprio_bssplit,
            },
            _ => return None,
        };
        let mut priorities =
            CommandPriorities { values: vec![Priority::of_job(job)], shares: Default::default() };
        for direction in 0..DIRECTIONS_WITH_PRIORITY {
            priorities.add(direction, &options);
        }
        priorities.shares.iter().any(|shares| !shares.is_empty()).then_some(priorities)
    }

    fn add(&mut self, direction: usize, options: &Options<'_>) {
        let hint = options.hint.0[direction];
        let usual = Priority::new(options.class.0[direction], options.level.0[direction], hint);
        let percent = options.percentage.0[direction];
        if percent > 0 {
            let value = self.index_of(usual);
            self.shares[direction].push(Share { size: None, percent, value });
        }
        for share in &options.split.0.0[direction] {
            let priority = share
                .priority
                .map_or(usual, |own| Priority::new(own.class, own.level, own.hint.unwrap_or(hint)));
            let value = self.index_of(priority);
            self.shares[direction].push(Share { size: Some(share.size), percent: share.percent, value });
        }
    }

    fn index_of(&mut self, priority: Priority) -> usize {
        if let Some(index) = self.values.iter().position(|value| *value == priority) {
            return index;
        }
        self.values.push(priority);
        self.values.len() - 1
    }

    /// Index in [`values`](CommandPriorities::values) of the priority of an I/O. `draw` is a random number from 1 to 100.
    pub(crate) fn choose(&self, direction: usize, length: u64, draw: u32) -> usize {
        let mut sum = 0;
        for share in self.shares.get(direction).into_iter().flatten() {
            if share.size.is_none_or(|size| size == length) {
                sum += share.percent;
                if draw <= sum {
                    return share.value;
                }
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::{Outcome, SystemSource, parse};

    fn of(words: &str) -> Option<CommandPriorities> {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let Outcome::Run(spec) = parse("fathom", &words, &SystemSource::new(4096)) else {
            panic!("{words:?}")
        };
        CommandPriorities::of(&spec.jobs[0])
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
