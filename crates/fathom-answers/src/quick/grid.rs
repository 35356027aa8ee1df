//! The tests of `quick` and their job file.

use crate::job_text::{Section, text};
use std::time::Duration;

/// One test: a workload, a direction and a queue depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GridTest {
    /// Name of the test's job.
    pub(super) name: &'static str,
    /// 0: reads, 1: writes.
    pub(super) direction: usize,
    pub(super) is_random: bool,
    pub(super) block_size: &'static str,
    pub(super) depth: u32,
}

/// The tests in the order in which they run: reads precede writes, so that pending writes do not disturb a
/// read.
pub(super) const TESTS: [GridTest; 8] = [
    test("read-seq-1m-d8", 0, false, 8),
    test("read-seq-1m-d1", 0, false, 1),
    test("read-rand-4k-d32", 0, true, 32),
    test("read-rand-4k-d1", 0, true, 1),
    test("write-seq-1m-d8", 1, false, 8),
    test("write-seq-1m-d1", 1, false, 1),
    test("write-rand-4k-d32", 1, true, 32),
    test("write-rand-4k-d1", 1, true, 1),
];

const fn test(name: &'static str, direction: usize, is_random: bool, depth: u32) -> GridTest {
    let block_size = if is_random { "4k" } else { "1m" };
    GridTest { name, direction, is_random, block_size, depth }
}

/// Settings of the tests.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    /// The file.
    pub(super) file: String,
    /// Number of bytes of the file that the tests use.
    pub(super) size: u64,
    pub(super) engine: &'static str,
    pub(super) direct: bool,
    /// Duration of each test.
    pub(super) time: Duration,
    /// Number of times that all tests are run.
    pub(super) repeats: u32,
}

impl Setting {
    fn global(&self) -> Section {
        let options = [
            ("filename", self.file.clone()),
            ("size", self.size.to_string()),
            ("ioengine", self.engine.to_owned()),
            ("direct", u32::from(self.direct).to_string()),
        ];
        section("global", &options)
    }
}

/// A job that fills the file for at most `limit`, so that reads find data in it.
pub(super) fn fill_job(setting: &Setting, limit: Duration) -> String {
    let mut options = vec![
        ("rw", "write".to_owned()),
        ("bs", "1m".to_owned()),
        ("iodepth", "8".to_owned()),
        ("end_fsync", "1".to_owned()),
    ];
    if !limit.is_zero() {
        options.push(("runtime", format!("{}ms", limit.as_millis())));
    }
    text(&[setting.global(), section("fill", &options)])
}

/// The jobs of all tests, in order.
pub(super) fn test_jobs(setting: &Setting) -> String {
    let mut global = setting.global();
    global.options.push(("time_based".to_owned(), "1".to_owned()));
    global.options.push(("runtime".to_owned(), format!("{}ms", setting.time.as_millis())));
    let jobs = TESTS.iter().map(|test| {
        let workload = ["read", "write"][test.direction];
        section(
            test.name,
            &[
                ("stonewall", "1".to_owned()),
                ("rw", if test.is_random { format!("rand{workload}") } else { workload.to_owned() }),
                ("bs", test.block_size.to_owned()),
                ("iodepth", test.depth.to_string()),
            ],
        )
    });
    text(&std::iter::once(global).chain(jobs).collect::<Vec<Section>>())
}

/// The tests as a stand-alone job file, in which the file has a name and is filled first.
pub(super) fn whole_job(setting: &Setting) -> String {
    let fill = fill_job(setting, Duration::ZERO);
    let fill = fill.split_once("\n\n").map_or("", |(_, fill)| fill);
    // Options that must not apply to the job that fills the file cannot be global.
    let tests = test_jobs(setting);
    let (global, tests) = tests.split_once("\n\n").unwrap_or((&tests, ""));
    let timed = |line: &&str| line.starts_with("time_based") || line.starts_with("runtime");
    let shared: Vec<&str> = global.lines().filter(|line| !timed(line)).collect();
    let times: Vec<&str> = global.lines().filter(timed).collect();
    let tests = tests.replace("stonewall=1\n", &format!("stonewall=1\n{}\n", times.join("\n")));
    format!("{}\n\n{fill}\n{tests}", shared.join("\n"))
}

fn section(name: &str, options: &[(&str, String)]) -> Section {
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    Section { name: name.to_owned(), options: options.collect() }
}

impl GridTest {
    /// The pattern in short form: `seq 1 MiB` or `rand 4 KiB`.
    pub(super) fn pattern(&self) -> &'static str {
        if self.is_random { "random 4 KiB" } else { "sequential 1 MiB" }
    }

    pub(super) fn direction_name(&self) -> &'static str {
        ["read", "write"][self.direction]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_job_file_is_whole() {
        let setting = Setting {
            file: "data".into(),
            size: 1 << 20,
            engine: "libaio",
            direct: true,
            time: Duration::from_secs(5),
            repeats: 1,
        };
        let text = whole_job(&setting);
        assert!(
            text.starts_with(
                "[global]\nfilename=data\nsize=1048576\nioengine=libaio\ndirect=1\n\n[fill]\nrw=write\n"
            ),
            "{text}"
        );
        assert_eq!(text.matches("stonewall=1\ntime_based=1\nruntime=5000ms\n").count(), TESTS.len());
        assert!(text.contains("[write-rand-4k-d32]\nstonewall=1\ntime_based=1\nruntime=5000ms\nrw=randwrite\nbs=4k\niodepth=32\n"));
    }
}
