//! A job with its options, and the values of the program's own options.

use std::any::{Any, TypeId};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use fathom_stats::Direction;
use serde::{Deserialize, Serialize};

use crate::definition::Groups;
use crate::diagnostic::Origin;
use crate::engines;
use crate::options::{
    block_size::BlockSizeOptions, buffers::BufferOptions, depth::DepthOptions,
    description::JobDescriptionOptions, engine::EngineOptions, error_handling::ErrorHandlingOptions,
    file::FileOptions, io_type::IoTypeOptions, latency::LatencyOptions, measurement::MeasurementOptions,
    private as profiles, profile::ProfileOptions, rate::RateOptions, replay::ReplayOptions,
    size::SizeOptions, steady_state::SteadyStateOptions, threads::ThreadOptions, time::TimeOptions,
    verification::VerificationOptions,
};
use crate::options::{io_type::RandomGenerator, verification::VerifyMethod};
use crate::raw_option::RawOption;
use crate::value::SizeRange;

/// `--trigger-file`, `--trigger-timeout` and `--trigger`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Trigger {
    /// A file that stops the jobs when it appears.
    pub file: Option<PathBuf>,
    /// Time after which the jobs are stopped.
    pub timeout: Option<Duration>,
    /// Command to run afterwards.
    pub command: Option<String>,
}

impl Trigger {
    /// True if a trigger can end the jobs.
    pub fn fires(&self) -> bool {
        self.file.is_some() || self.timeout.is_some()
    }
}

/// When to show the progress line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Eta {
    /// Always, regardless of what standard output is.
    Always,
    /// Never.
    Never,
    /// If standard output is a terminal and the report is for people.
    Auto,
}

/// Requirement on the result for a successful exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Requirement {
    /// No figure of the result is wrong.
    Sound,
    /// No figure of the result is wrong or doubtful.
    NoDoubts,
}

impl Requirement {
    /// Exit status if the requirement is not met; `git bisect run` treats it as a revision that cannot be
    /// tested.
    pub const UNMET: u8 = 125;

    /// The requirement's word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Requirement::Sound => "sound",
            Requirement::NoDoubts => "no-doubts",
        }
    }
}

/// How much of the CPUs' idleness to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IdleProfile {
    /// The mean of all CPUs.
    System,
    /// The mean and each CPU.
    PerCpu,
}

/// One job with all its options; defaults and inherited values are filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// Name of the job.
    pub name: String,
    /// Base of the names of the job's files: the name of the section, regardless of `name=` in it.
    pub section: String,
    /// Where the job's definition starts.
    pub origin: Origin,
    /// Options written for this job, by canonical name; flags have an empty value, `name` comes first if the
    /// job is from the command line. Options of `[global]` are not repeated.
    pub written: Vec<(String, String)>,
    /// Job name and number of runs.
    pub job_description: JobDescriptionOptions,
    /// I/O direction, pattern and caching.
    pub io_type: IoTypeOptions,
    /// Files and zones.
    pub file: FileOptions,
    /// Amount of I/O.
    pub size: SizeOptions,
    /// Queue depth.
    pub depth: DepthOptions,
    /// Block sizes.
    pub block_size: BlockSizeOptions,
    /// Start and stop times.
    pub time: TimeOptions,
    /// Rates and pauses.
    pub rate: RateOptions,
    /// Processes, CPUs, priorities and job order.
    pub threads: ThreadOptions,
    /// Statistics and logs.
    pub measurement: MeasurementOptions,
    /// Latency limits.
    pub latency: LatencyOptions,
    /// Verification.
    pub verification: VerificationOptions,
    /// Recording and replaying.
    pub replay: ReplayOptions,
    /// I/O buffers.
    pub buffers: BufferOptions,
    /// Errors.
    pub error_handling: ErrorHandlingOptions,
    /// The engine.
    pub engine: EngineOptions,
    /// Steady state.
    pub steady_state: SteadyStateOptions,
    /// Built-in workloads.
    pub profile: ProfileOptions,
    /// Options that only one engine understands.
    pub private: PrivateOptions,
    /// The requested queue depth; `depth.iodepth` is 1 if the engine allows no more.
    pub asked_iodepth: u32,
    /// The direction as given, if it writes or trims although `--readonly` came first.
    #[serde(skip)]
    pub(crate) forbidden: Option<RawOption>,
    given: BTreeSet<String>,
}

impl JobSpec {
    /// A job with default values only.
    pub fn new(name: impl Into<String>, origin: Origin) -> Self {
        let name = name.into();
        JobSpec {
            section: name.clone(),
            name,
            origin,
            written: Vec::new(),
            job_description: JobDescriptionOptions::default(),
            io_type: IoTypeOptions::default(),
            file: FileOptions::default(),
            size: SizeOptions::default(),
            depth: DepthOptions::default(),
            block_size: BlockSizeOptions::default(),
            time: TimeOptions::default(),
            rate: RateOptions::default(),
            threads: ThreadOptions::default(),
            measurement: MeasurementOptions::default(),
            latency: LatencyOptions::default(),
            verification: VerificationOptions::default(),
            replay: ReplayOptions::default(),
            buffers: BufferOptions::default(),
            error_handling: ErrorHandlingOptions::default(),
            engine: EngineOptions::default(),
            steady_state: SteadyStateOptions::default(),
            profile: ProfileOptions::default(),
            private: PrivateOptions::default(),
            asked_iodepth: 1,
            forbidden: None,
            given: BTreeSet::new(),
        }
    }

    /// True if the job only checks data that it would otherwise write (`verify_only`).
    pub fn only_checks(&self) -> bool {
        let options = &self.verification;
        let has_pattern = options.verify_pattern.as_ref().is_some_and(|pattern| !pattern.0.is_empty());
        let verifies = options.verify != VerifyMethod::None || has_pattern;
        verifies && options.verify_only && self.io_type.rw.rw.writes()
    }

    /// True if the option was given for this job or inherited from `[global]`; by canonical name.
    pub fn is_set(&self, option: &str) -> bool {
        self.given.contains(option)
    }

    /// Records that the option was given.
    pub fn mark_set(&mut self, option: &str) {
        self.given.insert(option.to_owned());
    }

    /// The block sizes that a direction may use: those of bssplit, otherwise bsrange, otherwise bs.
    pub fn block_sizes(&self, direction: Direction) -> SizeRange {
        let sizes = &self.block_size;
        let split = sizes.bssplit.as_ref().map(|split| split.0[direction].as_slice()).unwrap_or_default();
        if let (Some(min), Some(max)) =
            (split.iter().map(|share| share.size).min(), split.iter().map(|share| share.size).max())
        {
            return SizeRange { min, max };
        }
        match &sizes.bsrange {
            // A direction whose range was left empty uses `bs`.
            Some(ranges) if ranges[direction].max > 0 => ranges[direction],
            _ => {
                let size = sizes.bs[direction];
                SizeRange { min: size, max: size }
            }
        }
    }

    /// The smallest block that a direction may use.
    pub fn smallest_block(&self, direction: Direction) -> u64 {
        self.block_sizes(direction).min
    }

    /// The largest block that a direction may use.
    pub fn largest_block(&self, direction: Direction) -> u64 {
        self.block_sizes(direction).max
    }

    /// True if the job's random offsets must be exactly fio's sequence, because a generator was named or data
    /// is verified.
    pub fn needs_fio_sequence(&self) -> bool {
        self.is_set("random_generator")
            || self.io_type.random_generator != RandomGenerator::Tausworthe
            || self.verification.verify != VerifyMethod::None
    }
}

/// The groups of a job, or those private to engines and profiles: one list for both halves of [`Groups`].
macro_rules! groups {
    ($Type:ty: $($group:ident)+ $(, then $more:ident)?) => {
        impl Groups for $Type {
            fn group(&self, of: TypeId) -> Option<&dyn Any> {
                let groups: [&dyn Any; _] = [$(&self.$group),+];
                let found = groups.into_iter().find(|group| (**group).type_id() == of);
                found$(.or_else(|| self.$more.group(of)))?
            }

            fn group_mut(&mut self, of: TypeId) -> Option<&mut dyn Any> {
                let groups: [&mut dyn Any; _] = [$(&mut self.$group),+];
                let found = groups.into_iter().find(|group| (**group).type_id() == of);
                found$(.or_else(|| self.$more.group_mut(of)))?
            }
        }
    };
}

groups! {
    JobSpec: job_description io_type file size depth block_size time rate threads measurement latency verification
        replay buffers error_handling engine steady_state profile, then private
}

/// One group for each engine and profile that has its own options.
macro_rules! private_options {
    ($(#[doc = $of:literal] $group:ident: $Options:path,)+) => {
        /// The private options of every engine; those of unused engines keep their defaults.
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
        pub struct PrivateOptions {
            $(#[doc = $of] pub $group: $Options,)+
        }

        groups! { PrivateOptions: $($group)+ }
    };
}

private_options! {
    /// Options of the `act` profile.
    act: profiles::act::ActOptions,
    /// Options of the `cpuio` engine.
    cpuio: engines::cpuio::CpuioOptions,
    /// Options of the `dfs` engine.
    dfs: engines::dfs::DfsOptions,
    /// Options of the `e4defrag` engine.
    e4defrag: engines::e4defrag::E4defragOptions,
    /// Options of the `exec` engine.
    exec: engines::exec::ExecOptions,
    /// Options of the `filestat` and `dirstat` engines.
    filestat: engines::filestat::FilestatOptions,
    /// Options of the `gfapi` and `gfapi_async` engines.
    gfapi: engines::gfapi::GfapiOptions,
    /// Options of the `http` engine.
    http: engines::http::HttpOptions,
    /// Options of the `io_uring` and `io_uring_cmd` engines.
    io_uring: engines::io_uring::IoUringOptions,
    /// Options of the `libaio` engine.
    libaio: engines::libaio::LibaioOptions,
    /// Options of the `libblkio` engine.
    libblkio: engines::libblkio::LibblkioOptions,
    /// Options of the `libcufile` engine.
    libcufile: engines::libcufile::LibcufileOptions,
    /// Options of the `libhdfs` engine.
    libhdfs: engines::libhdfs::LibhdfsOptions,
    /// Options of the `libhipfile` engine.
    libhipfile: engines::libhipfile::LibhipfileOptions,
    /// Options of the `libiscsi` engine.
    libiscsi: engines::libiscsi::LibiscsiOptions,
    /// Options of the `mmap` engine.
    mmap: engines::mmap::MmapOptions,
    /// Options of the `mtd` engine.
    mtd: engines::mtd::MtdOptions,
    /// Options of the `nbd` engine.
    nbd: engines::nbd::NbdOptions,
    /// Options of the `net`, `netsplice` and `net_uring` engines.
    net: engines::net::NetOptions,
    /// Options of the `nfs` engine.
    nfs: engines::nfs::NfsOptions,
    /// Options of engines outside this crate.
    outside: engines::outside::OutsideOptions,
    /// Options of the `pvsync2` engine.
    pvsync2: engines::pvsync2::Pvsync2Options,
    /// Options of the `rados` engine.
    rados: engines::rados::RadosOptions,
    /// Options of the `rbd` engine.
    rbd: engines::rbd::RbdOptions,
    /// Options of the `rdma` engine.
    rdma: engines::rdma::RdmaOptions,
    /// Options of the `sg` engine.
    sg: engines::sg::SgOptions,
    /// Options of the `tiobench` profile.
    tiobench: profiles::tiobench::TiobenchOptions,
    /// Options of the `windowsaio` engine.
    windowsaio: engines::windowsaio::WindowsaioOptions,
    /// Options of the `xnvme` engine.
    xnvme: engines::xnvme::XnvmeOptions,
}
