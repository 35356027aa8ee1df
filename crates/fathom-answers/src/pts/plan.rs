//! The plan of a test: target, load, parts and their points. The plan is the first line of a results file; the
//! steps are derived from it and from the measurements.

use super::definition::{Definition, Part, usable};
use super::{iops, latency, saturation, throughput};
use crate::figures;
use fathom_command::Failure;
use fathom_stats::host::HostReport;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Format version of results files.
pub(crate) const FORM: u32 = 1;
/// Time for which a point is measured in each round.
const POINT: Duration = Duration::from_secs(60);
/// Minimum duration of a point in a scaled test.
const LEAST_POINT: Duration = Duration::from_millis(10);
/// Block size of the workload-independent preconditioning.
pub(super) const PRECONDITION_BLOCK: u64 = 128 << 10;
/// Outstanding I/Os during preconditioning.
pub(super) const PRECONDITION_DEPTH: u32 = 32;

/// The tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PtsTest {
    Iops,
    Throughput,
    Latency,
    Saturation,
}

/// Names of the tests.
pub(super) const TESTS: [(&str, PtsTest); 4] = [
    ("iops", PtsTest::Iops),
    ("throughput", PtsTest::Throughput),
    ("latency", PtsTest::Latency),
    ("saturation", PtsTest::Saturation),
];

impl PtsTest {
    pub(crate) fn definition(self) -> &'static Definition {
        match self {
            PtsTest::Iops => &iops::TEST,
            PtsTest::Throughput => &throughput::TEST,
            PtsTest::Latency => &latency::TEST,
            PtsTest::Saturation => &saturation::TEST,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        TESTS.iter().find(|(_, test)| *test == self).map_or("", |(word, _)| word)
    }
}

/// Kind of target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TargetKind {
    /// A block device.
    Device,
    /// An existing file.
    File,
    /// A file that is created for the test and removed after it.
    Made,
}

/// The device or file of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TestTarget {
    /// Path of the target with symbolic links resolved.
    pub(crate) path: PathBuf,
    pub(crate) kind: TargetKind,
    /// User capacity.
    pub(crate) bytes: u64,
    /// Logical sector size in bytes, which is the smallest possible block.
    pub(crate) sector: u64,
    /// Its model.
    #[serde(default)]
    pub(crate) model: String,
    #[serde(default)]
    pub(crate) serial: String,
    #[serde(default)]
    pub(crate) firmware: String,
    /// The backing file of a loop device.
    #[serde(default)]
    pub(crate) behind: String,
    /// The kernel's word for the write cache: `write back` or `write through`; empty if the kernel does not
    /// report it.
    #[serde(default)]
    pub(crate) write_cache: String,
    /// Inode of the file that was created, so that no other file is mistaken for it.
    #[serde(default)]
    pub(crate) inode: u64,
}

impl TestTarget {
    pub(crate) fn is_device(&self) -> bool {
        self.kind == TargetKind::Device
    }

    /// `/dev/nvme0n1 (Acme 980, 932 GiB)`.
    pub(crate) fn told(&self) -> String {
        let mut about: Vec<String> = Vec::new();
        if !self.is_device() {
            about.push("a file".to_owned());
        }
        if !self.behind.is_empty() {
            about.push(format!("a loop device on {}", self.behind));
        }
        about.extend([&self.model].into_iter().filter(|text| !text.is_empty()).cloned());
        about.push(figures::size(self.bytes));
        format!("{} ({})", self.path.display(), about.join(", "))
    }
}

/// The first line of a results file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PtsPlan {
    /// [`FORM`]; its key identifies results files.
    #[serde(rename = "fathom pts")]
    pub(crate) form: u32,
    /// Version of the program that began the test.
    pub(crate) version: String,
    pub(crate) test: PtsTest,
    /// Time at which the test began, in seconds since the epoch.
    pub(crate) began: u64,
    pub(crate) target: TestTarget,
    pub(crate) engine: String,
    /// True if the page cache is bypassed.
    pub(crate) direct: bool,
    pub(crate) threads: u32,
    /// Number of outstanding I/Os per thread.
    pub(crate) depth: u32,
    /// Maximum number of rounds of a part that does not reach steady state.
    pub(crate) most_rounds: usize,
    /// Scale factor for all durations and amounts; normally 1.
    pub(crate) scale: f64,
    /// False with `--no-purge`.
    pub(crate) purges: bool,
    /// Seed of the offsets.
    pub(crate) seed: u64,
    /// Description of the machine and its storage.
    #[serde(default)]
    pub(crate) host: HostReport,
}

impl PtsPlan {
    pub(crate) fn parts(&self) -> Vec<Part> {
        (self.test.definition().parts)(self.target.sector)
    }

    /// Block sizes of the specification that the device does not support.
    pub(crate) fn left_out(&self) -> Vec<u64> {
        let blocks = self.test.definition().blocks;
        let usable = usable(blocks, self.target.sector);
        blocks.iter().copied().filter(|block| !usable.contains(block)).collect()
    }

    /// Time for which a point is measured in each round.
    pub(crate) fn point_time(&self) -> Duration {
        POINT.mul_f64(self.scale).max(LEAST_POINT)
    }

    /// Number of bytes in one preconditioning pass.
    pub(crate) fn pass_bytes(&self) -> u64 {
        self.scaled(self.target.bytes)
    }

    /// Number of bytes after which a part that ends by amount is over.
    pub(crate) fn fill_bytes(&self, fills: u32) -> u64 {
        self.scaled(self.target.bytes.saturating_mul(u64::from(fills)))
    }

    fn scaled(&self, bytes: u64) -> u64 {
        if self.scale >= 1.0 {
            return bytes;
        }
        let blocks = ((bytes as f64 * self.scale) as u64).div_ceil(PRECONDITION_BLOCK).max(1);
        (blocks * PRECONDITION_BLOCK).min(bytes)
    }

    /// Differences between the command lines of this plan and of an earlier one. Properties that were
    /// determined at run time (the engine, the machine) may differ.
    pub(super) fn differences(&self, begun: &PtsPlan) -> Vec<String> {
        let mut found = Vec::new();
        let mut compare = |what: &str, own: String, theirs: String| {
            if own != theirs {
                found.push(format!("{what}: {theirs} there, {own} now"));
            }
        };
        compare("test", self.test.word().to_owned(), begun.test.word().to_owned());
        let (own, theirs) = (&self.target, &begun.target);
        compare("target", own.path.display().to_string(), theirs.path.display().to_string());
        compare("serial number", own.serial.clone(), theirs.serial.clone());
        compare("its backing file", own.behind.clone(), theirs.behind.clone());
        compare("bytes", own.bytes.to_string(), theirs.bytes.to_string());
        compare("--threads", self.threads.to_string(), begun.threads.to_string());
        compare("--depth", self.depth.to_string(), begun.depth.to_string());
        compare("--rounds", self.most_rounds.to_string(), begun.most_rounds.to_string());
        compare("--scale", self.scale.to_string(), begun.scale.to_string());
        let purge = |plan: &PtsPlan| if plan.purges { "a purge" } else { "--no-purge" }.to_owned();
        compare("purge", purge(self), purge(begun));
        found
    }

    /// What is wrong with a plan that was read from a file; `None` if this program could have written the plan.
    pub(super) fn mistake(&self) -> Option<&'static str> {
        if !(self.scale > 0.0 && self.scale <= 1.0) {
            return Some("its scale is not a share up to 1");
        }
        let parts = self.parts();
        if parts.is_empty() || parts.iter().any(|part| part.points.is_empty()) {
            return Some("its sectors are larger than its blocks");
        }
        (self.threads == 0 || self.depth == 0 || self.most_rounds == 0)
            .then_some("it has no threads, no depth or no rounds")
    }

    /// Refuses block sizes and loads that this target does not support.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let parts = self.parts();
        if parts.is_empty() || parts.iter().any(|part| part.points.is_empty()) {
            return Err(Failure::new(format!(
                "{}: its sectors have {}, more than the blocks of this test",
                self.target.path.display(),
                figures::size(self.target.sector)
            )));
        }
        let shares = self.target.bytes >> 20;
        if u64::from(self.threads) > shares {
            return Err(Failure::new(format!(
                "--threads: {} has room for {shares} at most",
                self.target.told()
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::definition::Point;
    use super::*;

    /// A plan for an imaginary disk.
    pub(in crate::pts) fn plan(test: PtsTest) -> PtsPlan {
        let (threads, depth) = test.definition().usual_load;
        let target = TestTarget {
            path: "/dev/none".into(),
            kind: TargetKind::Device,
            bytes: 64 << 20,
            sector: 512,
            model: "Acme 9".into(),
            serial: "S1".into(),
            firmware: String::new(),
            behind: String::new(),
            write_cache: "write back".into(),
            inode: 0,
        };
        PtsPlan {
            form: FORM,
            version: "0".into(),
            test,
            began: 0,
            target,
            engine: "io_uring".into(),
            direct: true,
            threads,
            depth,
            most_rounds: 25,
            scale: 1.0,
            purges: true,
            seed: 1,
            host: HostReport::default(),
        }
    }

    #[test]
    fn the_matrix_is_that_of_the_specification() {
        let count =
            |test: PtsTest| plan(test).parts().iter().map(|part| part.points.len()).collect::<Vec<_>>();
        assert_eq!((count(PtsTest::Iops), count(PtsTest::Throughput)), (vec![56], vec![2, 2]));
        assert_eq!((count(PtsTest::Latency), count(PtsTest::Saturation)), (vec![9], vec![1]));
        for test in [PtsTest::Iops, PtsTest::Latency, PtsTest::Saturation] {
            let part = plan(test).parts().remove(0);
            assert_eq!(part.points[part.tracked], Point::random(4096, 0), "{test:?}");
        }
        for part in plan(PtsTest::Throughput).parts() {
            assert_eq!((part.points[part.tracked].read_percent, part.tracked, part.passes), (0, 1, 2));
        }
    }

    #[test]
    fn sizes_below_a_sector_are_left_out() {
        let mut large = plan(PtsTest::Iops);
        large.target.sector = 4096;
        assert_eq!((large.parts()[0].points.len(), large.left_out()), (49, vec![512]));
        large.target.sector = 8192;
        let part = large.parts().remove(0);
        assert_eq!((part.points[part.tracked].block_bytes, large.left_out()), (8192, vec![4096, 512]));
        assert!(large.check().is_ok());
        large.test = PtsTest::Saturation;
        assert!(large.check().is_err_and(|failure| failure.to_string().contains("8 KiB")));
    }

    #[test]
    fn scales_shorten_times_and_amounts() {
        let mut short = plan(PtsTest::Saturation);
        assert_eq!(
            (short.point_time(), short.pass_bytes(), short.fill_bytes(4)),
            (POINT, 64 << 20, 256 << 20)
        );
        short.scale = 0.01;
        assert_eq!((short.point_time().as_millis(), short.pass_bytes()), (600, 6 * PRECONDITION_BLOCK));
        short.scale = 1e-9;
        assert_eq!((short.point_time(), short.pass_bytes()), (LEAST_POINT, PRECONDITION_BLOCK));
    }
}
