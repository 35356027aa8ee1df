//! Control group limits of a job as read from the kernel, and the amount by which they throttled it.

use serde::{Deserialize, Serialize};

/// The limits in effect while a job ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupLimits {
    /// CPU limits, innermost group first.
    pub processors: Vec<ProcessorLimit>,
    /// I/O limits, innermost group first.
    pub io: Vec<IoLimit>,
}

/// A CPU limit, which is a processor time per period.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessorLimit {
    /// The group with the limit.
    pub group: String,
    /// Quota of the whole group per period, in µs.
    pub quota_us: u64,
    /// Length of a period in µs.
    pub period_us: u64,
    /// Number of periods in which the group ran during the job.
    pub periods: u64,
    /// Number of periods in which it was throttled.
    pub throttled: u64,
    /// Throttled time in µs, summed over the processors.
    pub throttled_us: u64,
}

/// A group's limits on a device, in bytes and I/Os per second.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "IoLimitRow", into = "IoLimitRow")]
pub struct IoLimit {
    /// The group with the limit.
    pub group: String,
    /// Kernel name of the device.
    pub device: String,
    /// Maximum bytes read and bytes written per second, reads and writes per second; `None` for no limit.
    pub limits: [Option<u64>; 4],
    /// Usage by the group and its descendants while the job ran: bytes read and written, reads and writes.
    pub used: [u64; 4],
}

/// An [`IoLimit`] with named numbers, as stored in documents.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct IoLimitRow {
    group: String,
    device: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    read_bytes_per_second: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write_bytes_per_second: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read_ios_per_second: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write_ios_per_second: Option<u64>,
    read_bytes: u64,
    write_bytes: u64,
    read_ios: u64,
    write_ios: u64,
}

impl From<IoLimit> for IoLimitRow {
    fn from(limit: IoLimit) -> IoLimitRow {
        let [read_bytes_per_second, write_bytes_per_second, read_ios_per_second, write_ios_per_second] =
            limit.limits;
        let [read_bytes, write_bytes, read_ios, write_ios] = limit.used;
        IoLimitRow {
            group: limit.group,
            device: limit.device,
            read_bytes_per_second,
            write_bytes_per_second,
            read_ios_per_second,
            write_ios_per_second,
            read_bytes,
            write_bytes,
            read_ios,
            write_ios,
        }
    }
}

impl From<IoLimitRow> for IoLimit {
    fn from(row: IoLimitRow) -> IoLimit {
        IoLimit {
            group: row.group,
            device: row.device,
            limits: [
                row.read_bytes_per_second,
                row.write_bytes_per_second,
                row.read_ios_per_second,
                row.write_ios_per_second,
            ],
            used: [row.read_bytes, row.write_bytes, row.read_ios, row.write_ios],
        }
    }
}

impl IoLimit {
    /// Returns limit per second and usage for bytes read, bytes written, reads, and writes.
    pub fn parts(&self) -> [(Option<u64>, u64); 4] {
        std::array::from_fn(|part| (self.limits[part], self.used[part]))
    }
}

impl GroupLimits {
    /// No limits.
    pub fn is_empty(&self) -> bool {
        self.processors.is_empty() && self.io.is_empty()
    }

    /// Returns the same limits with the usage since an earlier snapshot.
    pub fn since(mut self, earlier: &GroupLimits) -> GroupLimits {
        for limit in &mut self.processors {
            let Some(before) = earlier.processors.iter().find(|before| before.group == limit.group) else {
                continue;
            };
            limit.periods = limit.periods.saturating_sub(before.periods);
            limit.throttled = limit.throttled.saturating_sub(before.throttled);
            limit.throttled_us = limit.throttled_us.saturating_sub(before.throttled_us);
        }
        for limit in &mut self.io {
            let is_same = |before: &&IoLimit| before.group == limit.group && before.device == limit.device;
            let Some(before) = earlier.io.iter().find(is_same) else { continue };
            for (used, before) in limit.used.iter_mut().zip(before.used) {
                *used = used.saturating_sub(before);
            }
        }
        self
    }

    /// Formats one limit per line, numbers first, in the form in which a worker passes them to the supervisor.
    /// Lines beyond this many bytes are dropped.
    pub fn to_lines(&self, most: usize) -> String {
        let processors = self.processors.iter().map(|limit| {
            let ProcessorLimit { group, quota_us, period_us, periods, throttled, throttled_us } = limit;
            format!("p {quota_us} {period_us} {periods} {throttled} {throttled_us} {group}\n")
        });
        let io = self.io.iter().map(|limit| {
            let limits =
                limit.limits.map(|limit| limit.map_or("-".to_owned(), |limit| limit.to_string())).join(" ");
            let used = limit.used.map(|used| used.to_string()).join(" ");
            format!("i {} {limits} {used} {}\n", limit.device, limit.group)
        });
        processors.chain(io).fold(String::new(), |mut text, line| {
            if text.len() + line.len() <= most {
                text.push_str(&line);
            }
            text
        })
    }

    /// Parses the output of [`to_lines`](Self::to_lines). Other lines are skipped.
    pub fn from_lines(text: &str) -> GroupLimits {
        let mut found = GroupLimits::default();
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("p", rest)) => found.processors.extend(processor_of(rest)),
                Some(("i", rest)) => found.io.extend(io_of(rest)),
                _ => {}
            }
        }
        found
    }
}

fn processor_of(line: &str) -> Option<ProcessorLimit> {
    let mut words = line.splitn(6, ' ');
    let mut number = || words.next()?.parse().ok();
    let (quota_us, period_us, periods) = (number()?, number()?, number()?);
    let (throttled, throttled_us) = (number()?, number()?);
    Some(ProcessorLimit {
        quota_us,
        period_us,
        periods,
        throttled,
        throttled_us,
        group: words.next()?.to_owned(),
    })
}

fn io_of(line: &str) -> Option<IoLimit> {
    let mut words = line.splitn(10, ' ');
    let device = words.next()?.to_owned();
    let mut found = IoLimit { device, ..IoLimit::default() };
    for limit in &mut found.limits {
        *limit = words.next()?.parse().ok();
    }
    for used in &mut found.used {
        *used = words.next()?.parse().ok()?;
    }
    found.group = words.next()?.to_owned();
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn processor()(numbers in any::<[u64; 5]>(), group in "/[a-z /]{0,20}") -> ProcessorLimit {
            let [quota_us, period_us, periods, throttled, throttled_us] = numbers;
            ProcessorLimit { group, quota_us, period_us, periods, throttled, throttled_us }
        }
    }

    prop_compose! {
        fn io()(limits in any::<[Option<u64>; 4]>(), used in any::<[u64; 4]>(), group in "/[a-z /]{0,20}", device in "[a-z0-9:]{1,8}") -> IoLimit {
            IoLimit { group, device, limits, used }
        }
    }

    prop_compose! {
        /// Generates limits of groups, each with one CPU limit and one I/O limit per device.
        fn limits()(
            mut processors in prop::collection::vec(processor(), 0..3),
            mut io in prop::collection::vec(io(), 0..3),
        ) -> GroupLimits {
            processors.dedup_by(|one, other| one.group == other.group);
            io.dedup_by(|one, other| (&one.group, &one.device) == (&other.group, &other.device));
            GroupLimits { processors, io }
        }
    }

    proptest! {
        #[test]
        fn lines_say_it_all(limits in limits()) {
            let text = limits.to_lines(usize::MAX);
            prop_assert_eq!(&GroupLimits::from_lines(&text), &limits);
            // If the space is too small, only whole lines are kept.
            let part = limits.to_lines(text.len() / 2);
            prop_assert!(part.len() <= text.len() / 2 && part.lines().all(|line| text.lines().any(|own| own == line)));
            prop_assert_eq!(limits.clone().since(&limits).processors.iter().map(|limit| limit.throttled).sum::<u64>(), 0);
        }
    }
}
