//! Facts about this machine during the run, for the verdict on its result. They are read only from /proc, /sys
//! and the clocks, which never touches a target. Temperatures of drives are left out, because reading them
//! sends a command to the drive.

use fathom_stats::facts::{ClockFacts, DeviceFacts, MemoryFacts, RunFacts};
use fathom_sys::clock::{Clock, Moment, clock_at, monotonic_ns, wall_minus_monotonic_ns};
use std::fs;
use std::path::Path;

const CLOCK_SOURCES: &str = "/sys/devices/system/clocksource/clocksource0";
const PROCESSORS: &str = "/sys/devices/system/cpu";

/// The facts recorded so far.
pub(super) struct FactWatch {
    clock: Clock,
    first: Look,
    last: Look,
    source: String,
    heat: Option<u64>,
    memory: Memory,
    looks: u64,
    latest_look_ms: u64,
    wall_jump_ms: i64,
}

/// The clocks at one moment.
#[derive(Clone, Copy)]
struct Look {
    moment: Moment,
    wall_minus_monotonic_ns: i64,
    suspended_ns: u64,
}

impl Look {
    fn now(clock: &Clock) -> Look {
        let now = monotonic_ns();
        Look {
            moment: clock.moment(),
            wall_minus_monotonic_ns: wall_minus_monotonic_ns(),
            // The time that the system spent suspended. CLOCK_BOOTTIME advances during suspend, CLOCK_MONOTONIC
            // does not.
            suspended_ns: clock_at(libc::CLOCK_BOOTTIME, now).map_or(0, |boot| boot.saturating_sub(now)),
        }
    }
}

impl FactWatch {
    /// Takes the first reading. `clock` is the clock that times the I/Os.
    pub(super) fn begin(clock: Clock) -> FactWatch {
        let look = Look::now(&clock);
        FactWatch {
            clock,
            first: look,
            last: look,
            source: line(Path::new(CLOCK_SOURCES), "current_clocksource"),
            heat: slowed_by_heat(Path::new(PROCESSORS)),
            memory: Memory::now(),
            looks: 1,
            latest_look_ms: 0,
            wall_jump_ms: 0,
        }
    }

    /// Takes another reading; `late_ns` says how late this call is compared with its schedule.
    pub(super) fn look(&mut self, late_ns: u64) {
        let now = Look::now(&self.clock);
        self.looks += 1;
        self.latest_look_ms = self.latest_look_ms.max(late_ns / 1_000_000);
        self.wall_jump_ms = larger(self.wall_jump_ms, wall_step_ms(&self.last, &now));
        self.last = now;
    }

    /// All facts so far, including those about the devices.
    pub(super) fn report(&self, devices: Vec<DeviceFacts>) -> RunFacts {
        let now = Look::now(&self.clock);
        let source_after = line(Path::new(CLOCK_SOURCES), "current_clocksource");
        let offered = line(Path::new(CLOCK_SOURCES), "available_clocksource");
        let memory = Memory::now();
        RunFacts {
            span_ms: now.moment.ns.saturating_sub(self.first.moment.ns) / 1_000_000,
            looks: self.looks + 1,
            latest_look_ms: self.latest_look_ms,
            clock: ClockFacts {
                lost_source: !self.source.is_empty()
                    && !offered.is_empty()
                    && !offered.split(' ').any(|name| name == self.source),
                source: self.source.clone(),
                source_after,
                drift_ppm: drift_ppm(&self.clock, self.first.moment, now.moment),
                wall_jump_ms: larger(self.wall_jump_ms, wall_step_ms(&self.last, &now)),
                suspended_ms: now.suspended_ns.saturating_sub(self.first.suspended_ns) / 1_000_000,
            },
            slowed_by_heat: self
                .heat
                .zip(slowed_by_heat(Path::new(PROCESSORS)))
                .map(|(before, after)| after.saturating_sub(before)),
            memory: MemoryFacts {
                dirty_before_bytes: self.memory.dirty_bytes,
                dirty_after_bytes: memory.dirty_bytes,
                swapped_pages: memory.swapped_pages.saturating_sub(self.memory.swapped_pages),
            },
            devices,
            stops: Vec::new(),
            holes: Vec::new(),
        }
    }
}

/// How far the I/O clock ran ahead of the system's clock between two moments, in parts per million.
fn drift_ppm(clock: &Clock, from: Moment, to: Moment) -> f64 {
    let span_ns = to.ns.saturating_sub(from.ns);
    let own_ns = clock.span_ns(to.ticks.saturating_sub(from.ticks));
    (own_ns as f64 - span_ns as f64) * 1e6 / span_ns.max(1) as f64
}

fn wall_step_ms(before: &Look, now: &Look) -> i64 {
    (now.wall_minus_monotonic_ns - before.wall_minus_monotonic_ns) / 1_000_000
}

fn larger(one: i64, other: i64) -> i64 {
    if other.unsigned_abs() > one.unsigned_abs() { other } else { one }
}

fn line(directory: &Path, file: &str) -> String {
    fs::read_to_string(directory.join(file)).unwrap_or_default().trim().to_owned()
}

/// Number of times that processors were thermally throttled since boot; `None` if the kernel does not report
/// it. Throttling counts once per core and once per package.
fn slowed_by_heat(processors: &Path) -> Option<u64> {
    let entries = fs::read_dir(processors).ok()?;
    let (mut cores, mut package, mut is_told) = (0, 0, false);
    for entry in entries.flatten() {
        let directory = entry.path().join("thermal_throttle");
        let count = |file: &str| line(&directory, file).parse::<u64>().ok();
        let own = count("core_throttle_count");
        is_told |= own.is_some();
        cores += own.unwrap_or(0);
        package = package.max(count("package_throttle_count").unwrap_or(0));
    }
    is_told.then_some(cores + package)
}

/// Memory figures of the kernel.
struct Memory {
    dirty_bytes: u64,
    swapped_pages: u64,
}

impl Memory {
    fn now() -> Memory {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Memory::of(&text("/proc/meminfo"), &text("/proc/vmstat"))
    }

    /// Parses lines such as `Dirty: 12 kB` (proc_meminfo(5)) and `pswpin 12` (proc_vmstat(5)).
    fn of(meminfo: &str, vmstat: &str) -> Memory {
        let number = |text: &str, key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
        };
        Memory {
            dirty_bytes: (number(meminfo, "Dirty:") + number(meminfo, "Writeback:")) << 10,
            swapped_pages: number(vmstat, "pswpin ") + number(vmstat, "pswpout "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_sys::clock::VirtualTime;
    use std::time::Duration;

    #[test]
    fn the_kernel_tells_of_memory_and_heat() {
        let memory = Memory::of(
            "MemTotal:  9 kB\nDirty:      12 kB\nWriteback:   4 kB\nWritebackTmp: 99 kB\n",
            "pswpin 3\npswpout 4\npswpout_x 9\n",
        );
        assert_eq!((memory.dirty_bytes, memory.swapped_pages), (16 << 10, 7));
        let root = tempfile::tempdir().expect("a directory");
        assert_eq!(slowed_by_heat(root.path()), None);
        for (name, cores, package) in [("cpu0", "2\n", "5\n"), ("cpu1", "1\n", "5\n")] {
            let directory = root.path().join(name).join("thermal_throttle");
            fs::create_dir_all(&directory).expect("can be made");
            fs::write(directory.join("core_throttle_count"), cores).expect("can be written");
            fs::write(directory.join("package_throttle_count"), package).expect("can be written");
        }
        assert_eq!(slowed_by_heat(root.path()), Some(8));
    }

    #[test]
    fn a_run_on_a_calm_machine_has_calm_facts() {
        let clock = Clock::monotonic();
        let mut watch = FactWatch::begin(clock);
        std::thread::sleep(Duration::from_millis(20));
        watch.look(3_000_000);
        let facts = watch.report(Vec::new());
        assert!(facts.span_ms >= 20 && facts.looks == 3 && facts.latest_look_ms == 3, "{facts:?}");
        assert_eq!(facts.clock.suspended_ms, 0, "{facts:?}");
        assert!(!facts.clock.lost_source && facts.clock.drift_ppm.abs() < 1000.0, "{facts:?}");
    }

    #[test]
    fn a_clock_that_runs_fast_is_seen() {
        let time = VirtualTime::starting_at(1_000_000_000);
        let clock = Clock::of_virtual_time(time);
        let from = Moment { ticks: 1_000_000_000, ns: 5_000_000_000 };
        let to = Moment { ticks: 2_030_000_000, ns: 6_000_000_000 };
        assert_eq!(drift_ppm(&clock, from, to).round(), 30_000.0);
        assert_eq!((larger(5, -9), larger(-9, 5), larger(0, 0)), (-9, -9, 0));
    }
}
