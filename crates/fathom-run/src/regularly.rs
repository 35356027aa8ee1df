//! Periodic tasks.

use std::time::Duration;

/// A task that is due at regular intervals, or never.
#[derive(Clone, Debug)]
pub struct Regularly {
    every_ns: Option<u64>,
    /// Monotonic time of the last due moment, ns.
    last_ns: u64,
}

impl Regularly {
    /// A task due once per interval, the first time after one interval.
    pub fn new(every: Option<Duration>, now_ns: u64) -> Regularly {
        Regularly { every_ns: every.map(|every| every.as_nanos() as u64), last_ns: now_ns }
    }

    /// A task due once per interval, the first time immediately.
    pub fn at_once(every: Option<Duration>, now_ns: u64) -> Regularly {
        let regularly = Regularly::new(every, now_ns);
        Regularly { last_ns: now_ns.saturating_sub(regularly.every_ns.unwrap_or(0)), ..regularly }
    }

    /// True if the task is due; its next interval then begins.
    pub fn is_due(&mut self, now_ns: u64) -> bool {
        let is_due = self.left(now_ns).is_some_and(|left| left.is_zero());
        if is_due {
            self.last_ns = now_ns;
        }
        is_due
    }

    /// Time until the task is due.
    pub fn left(&self, now_ns: u64) -> Option<Duration> {
        let next = self.last_ns.saturating_add(self.every_ns?);
        Some(Duration::from_nanos(next.saturating_sub(now_ns)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_due_once_each_time() {
        let mut regularly = Regularly::new(Some(Duration::from_nanos(10)), 100);
        assert!(!regularly.is_due(109));
        assert_eq!(regularly.left(109), Some(Duration::from_nanos(1)));
        assert!(regularly.is_due(112));
        assert!(!regularly.is_due(112), "asking again immediately does not spin");
        assert_eq!(regularly.left(112), Some(Duration::from_nanos(10)));
    }

    #[test]
    fn one_that_is_late_is_not_made_up_for() {
        let mut regularly = Regularly::at_once(Some(Duration::from_nanos(100)), 1000);
        assert!(regularly.is_due(1000), "the first one is due immediately");
        assert_eq!(regularly.left(1040), Some(Duration::from_nanos(60)));
        assert!(!regularly.is_due(1099));
        assert!(regularly.is_due(1350));
        assert_eq!(regularly.left(1350), Some(Duration::from_nanos(100)));
    }

    #[test]
    fn it_may_never_be_due() {
        let mut never = Regularly::new(None, 0);
        assert!(!never.is_due(u64::MAX));
        assert_eq!(never.left(u64::MAX), None);
    }
}
