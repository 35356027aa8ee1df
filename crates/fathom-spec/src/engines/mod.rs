//! The engines: each one is declared with its name, its capabilities, and its private options. The rules across
//! options, the plan and the run loop all use this declaration.

pub mod commands;
pub mod cpuio;
pub mod dfs;
pub mod e4defrag;
pub mod exec;
pub mod filestat;
pub mod gfapi;
pub mod http;
pub mod io_uring;
pub mod io_uring_cmd;
pub mod libaio;
pub mod libblkio;
pub mod libcufile;
pub mod libhdfs;
pub mod libhipfile;
pub mod libiscsi;
pub mod libzbc;
pub mod loaded;
pub mod metadata;
pub mod mmap;
pub mod mtd;
pub mod nbd;
pub mod net;
pub mod nfs;
pub mod outside;
pub mod persistent;
pub mod plain;
pub mod pvsync2;
pub mod rados;
pub mod rbd;
pub mod rdma;
mod review;
pub mod sg;
pub mod windowsaio;
pub mod xnvme;

use crate::definition::{Choice, OptionDef};
use crate::diagnostic::Rejected;
use crate::engines::metadata::Metadata;
use crate::spec::JobSpec;
use crate::value::{PriorityShares, Rw, SizeSpec};
use fathom_stats::PerDirection;
use serde::{Deserialize, Serialize};

pub use review::{Review, Rule};

/// One I/O engine.
#[derive(Debug, Clone, Copy)]
pub struct EngineDef {
    /// Name of the engine, as in `ioengine=`.
    pub name: &'static str,
    /// Its description.
    pub summary: &'static str,
    /// True if the engine works in this version.
    pub built: bool,
    /// Why the engine is not built; empty if it is.
    pub obstacle: &'static str,
    /// True if a build includes the engine only with the Cargo feature of the same name.
    pub optional: bool,
    /// True if each I/O completes before the next begins, so that the queue depth is 1.
    pub synchronous: bool,
    /// Smallest depth at which fio's engine of this name submits an I/O and collects its completion later,
    /// which affects where a pass over the files ends. `u32::MAX` for engines that never do.
    pub queues_from: u32,
    /// Where the engine keeps data.
    pub storage: StorageKind,
    /// How the engine treats the data in its buffers.
    pub data: Data,
    /// The engine's metadata operation, if it does nothing else.
    pub metadata: Option<Metadata>,
    /// True if the engine changes its files regardless of the direction of I/O, and opens them for writing.
    pub always_changes: bool,
    /// True if the engine can write blocks that are never torn.
    pub atomic_writes: bool,
    /// True if the engine can trim several ranges with one command.
    pub many_ranges: bool,
    /// True if the engine sends commands directly to devices, bypassing the block layer, so that their order is
    /// not kept.
    pub sends_commands: bool,
    /// True if the engine has threads that perform I/O in any order.
    pub hands_to_threads: bool,
    /// True if the engine can sync whole file systems.
    pub syncfs: bool,
    /// True if the engine can pass data placement hints to a device.
    pub places_data: bool,
    /// True if the engine accesses files through mappings, which are as long as the files.
    pub maps_files: bool,
    /// True if the engine uses the file position of the descriptor.
    pub keeps_position: bool,
    /// True if the engine works only on a specific kind of device, such as SCSI disks or flash memory.
    pub on_media: bool,
    /// True if the engine can be used only by the thread that set it up.
    pub one_thread: bool,
    /// True if the data is sent to a peer or received from one, so that it is sequential and not stored.
    pub has_peers: bool,
    /// True if rates are shown in bits, unless a job says otherwise.
    pub shows_bits: bool,
    /// The engine's private options.
    pub options: &'static [OptionDef],
    /// The engine's requirements for jobs.
    pub rules: &'static [Rule],
    /// The engine's options that set priorities of individual I/Os.
    pub priorities: Option<fn(&JobSpec) -> PriorityOptions<'_>>,
}

/// Where an engine stores its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StorageKind {
    /// In files and devices of this machine.
    Files,
    /// On a server, or in a library of the engine, which provides the storage itself.
    Server,
    /// On a server, in a single object of fixed size that exists before the job, such as an export, an image or
    /// a logical unit.
    Volume,
    /// Nowhere, so that nothing has to be prepared.
    None,
}

/// How an engine treats the data in its buffers.
#[derive(Debug, Clone, Copy)]
pub enum Data {
    /// Moves it.
    Moved,
    /// Completes the I/O without accessing the data.
    Discarded,
    /// The engine has no data: its jobs are background load for others.
    Absent(fn(&JobSpec) -> BackgroundLoad),
}

/// Describes a job that moves no data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundLoad {
    /// The job in one line.
    pub header: String,
    /// True if the job ends when all jobs that do I/O have ended.
    pub follows_io: bool,
}

/// The options with which an engine sets priorities of individual I/Os (`cmdprio_*`).
#[derive(Debug, Clone, Copy)]
pub struct PriorityOptions<'a> {
    /// Share of the I/Os, in percent.
    pub percentage: &'a PerDirection<u32>,
    /// Their class.
    pub class: &'a PerDirection<u32>,
    /// Their level.
    pub level: &'a PerDirection<u32>,
    /// Their hint.
    pub hint: &'a PerDirection<u32>,
    /// Shares by block size.
    pub split: &'a PriorityShares,
}

/// The `cmdprio_*` options of an engine: an engine has either all of them or none.
macro_rules! priorities {
    ($engine:ident) => {
        |job| {
            let options = &job.private.$engine;
            $crate::engines::PriorityOptions {
                percentage: &options.cmdprio_percentage,
                class: &options.cmdprio_class,
                level: &options.cmdprio,
                hint: &options.cmdprio_hint,
                split: &options.cmdprio_bssplit,
            }
        }
    };
}
pub(crate) use priorities;

impl EngineDef {
    /// Declares an asynchronous engine on files that is not built yet.
    pub const fn new(name: &'static str, summary: &'static str) -> Self {
        EngineDef {
            name,
            summary,
            built: false,
            obstacle: "",
            optional: false,
            synchronous: false,
            queues_from: 1,
            storage: StorageKind::Files,
            data: Data::Moved,
            metadata: None,
            always_changes: false,
            atomic_writes: false,
            many_ranges: false,
            sends_commands: false,
            hands_to_threads: false,
            syncfs: false,
            places_data: false,
            maps_files: false,
            keeps_position: false,
            on_media: false,
            one_thread: false,
            has_peers: false,
            shows_bits: false,
            options: &[],
            rules: &[],
            priorities: None,
        }
    }

    /// Marks the engine as working in this version.
    pub const fn built(self) -> Self {
        EngineDef { built: true, ..self }
    }

    /// Marks the engine as not built, for this reason.
    pub const fn lacking(self, obstacle: &'static str) -> Self {
        EngineDef { obstacle, ..self }
    }

    /// Declares that a build includes the engine only with its feature.
    pub const fn optional(self) -> Self {
        EngineDef { optional: true, ..self }
    }

    /// Declares that each I/O completes before the next begins.
    pub const fn synchronous(self) -> Self {
        EngineDef { synchronous: true, queues_from: u32::MAX, ..self }
    }

    /// Declares that I/Os are submitted asynchronously from this depth on.
    pub const fn queues_from(self, queues_from: u32) -> Self {
        EngineDef { queues_from, ..self }
    }

    /// Declares that the engine has no storage to prepare.
    pub const fn without_files(self) -> Self {
        EngineDef { storage: StorageKind::None, ..self }
    }

    /// Declares that the engine provides its own storage.
    pub const fn on_server(self) -> Self {
        EngineDef { storage: StorageKind::Server, ..self }
    }

    /// Declares that the engine provides its own storage, a single object of fixed size that exists before the
    /// run.
    pub const fn on_volume(self) -> Self {
        EngineDef { storage: StorageKind::Volume, ..self }
    }

    /// Declares that I/Os complete without accessing their data.
    pub const fn discards_data(self) -> Self {
        EngineDef { data: Data::Discarded, ..self }
    }

    /// Declares that the engine performs this operation on names and never accesses data.
    pub const fn on_names(self, metadata: Metadata) -> Self {
        EngineDef { metadata: Some(metadata), data: Data::Discarded, ..self }
    }

    /// Declares that the engine changes its files regardless of the direction of I/O.
    pub const fn always_changes(self) -> Self {
        EngineDef { always_changes: true, ..self }
    }

    /// Declares that the engine moves no data: its jobs are background load for others.
    pub const fn background(self, load: fn(&JobSpec) -> BackgroundLoad) -> Self {
        EngineDef { data: Data::Absent(load), ..self }
    }

    /// Declares that the engine can write blocks that are never torn.
    pub const fn atomic_writes(self) -> Self {
        EngineDef { atomic_writes: true, ..self }
    }

    /// Declares that the engine can trim several ranges with one command.
    pub const fn many_ranges(self) -> Self {
        EngineDef { many_ranges: true, ..self }
    }

    /// Declares that the engine sends commands directly to devices, bypassing the block layer.
    pub const fn sends_commands(self) -> Self {
        EngineDef { sends_commands: true, ..self }
    }

    /// Declares that the engine has threads that perform the I/O.
    pub const fn hands_to_threads(self) -> Self {
        EngineDef { hands_to_threads: true, ..self }
    }

    /// Declares that the engine can sync whole file systems.
    pub const fn syncfs(self) -> Self {
        EngineDef { syncfs: true, ..self }
    }

    /// Declares that the engine can pass data placement hints to a device.
    pub const fn places_data(self) -> Self {
        EngineDef { places_data: true, ..self }
    }

    /// Declares that the engine accesses files through mappings.
    pub const fn maps_files(self) -> Self {
        EngineDef { maps_files: true, ..self }
    }

    /// Declares that the engine uses the file position of the descriptor.
    pub const fn keeps_position(self) -> Self {
        EngineDef { keeps_position: true, ..self }
    }

    /// Declares that the engine works only on a specific kind of device.
    pub const fn on_media(self) -> Self {
        EngineDef { on_media: true, ..self }
    }

    /// Declares that the engine can be used only by the thread that set it up.
    pub const fn one_thread(self) -> Self {
        EngineDef { one_thread: true, ..self }
    }

    /// Declares that the engine exchanges data with a peer and has no storage to prepare.
    pub const fn with_peers(self) -> Self {
        EngineDef { storage: StorageKind::None, has_peers: true, ..self }
    }

    /// Declares that rates are shown in bits, unless a job says otherwise.
    pub const fn shows_bits(self) -> Self {
        EngineDef { shows_bits: true, ..self }
    }

    /// Adds the engine's private options.
    pub const fn with_options(self, options: &'static [OptionDef]) -> Self {
        EngineDef { options, ..self }
    }

    /// Adds requirements for jobs that use the engine.
    pub const fn with_rules(self, rules: &'static [Rule]) -> Self {
        EngineDef { rules, ..self }
    }

    /// Declares the options that set priorities of individual I/Os.
    pub const fn with_priorities(self, priorities: fn(&JobSpec) -> PriorityOptions<'_>) -> Self {
        EngineDef { priorities: Some(priorities), ..self }
    }

    /// True if the engine works on files and devices of this machine.
    pub const fn has_files(&self) -> bool {
        matches!(self.storage, StorageKind::Files)
    }

    /// True if the engine's data is on a server.
    pub const fn is_remote(&self) -> bool {
        matches!(self.storage, StorageKind::Server | StorageKind::Volume)
    }

    /// True if the engine stores data anywhere.
    pub const fn has_storage(&self) -> bool {
        !matches!(self.storage, StorageKind::None)
    }

    /// The engine's private option with this name or alias.
    pub fn option(&self, name: &str) -> Option<&'static OptionDef> {
        self.options.iter().find(|option| option.is_named(name))
    }

    /// Describes a job of an engine without data; `None` for all other engines.
    pub fn background_load(&self, job: &JobSpec) -> Option<BackgroundLoad> {
        match self.data {
            Data::Absent(load) => Some(load(job)),
            Data::Moved | Data::Discarded => None,
        }
    }

    /// True if the engine's jobs are background load for others.
    pub const fn is_background(&self) -> bool {
        matches!(self.data, Data::Absent(_))
    }

    /// True if the engine moves data, so that writes need content and reads return data.
    pub const fn moves_data(&self) -> bool {
        matches!(self.data, Data::Moved)
    }
}

/// Makes a job that moves no bytes endless: it ends only by time, or with the jobs that it follows.
fn have_no_end(job: &mut JobSpec) {
    job.io_type.rw.rw = Rw::Read;
    // This size is never reached; it only satisfies the rules for sizes.
    job.size.size = Some(SizeSpec::Bytes(1 << 40));
    job.time.time_based = true;
}

/// Refuses to append to targets of fixed size; `place` is the kind of target, such as "on a device".
fn refuse_appending(job: &JobSpec, review: &mut Review<'_>, place: &str) -> Result<(), Rejected> {
    if !job.size.file_append {
        return Ok(());
    }
    Err(review.refuse(
        &job.origin,
        format!("fio: can't append/extent with IO engine {}", job.engine.ioengine.name),
        format!("job {}: file_append=1 needs files; offset= says where {place} to write", job.name),
    ))
}

/// `ioengine=external:PATH`; a loaded engine declares its own capabilities.
pub const EXTERNAL: EngineDef =
    EngineDef::new("external", "an engine of your own, external:PATH of a shared object").built();

/// Why these engines are not built.
const NO_IME: &str =
    "it needs DDN's Infinite Memory Engine and its client library, which are sold with the hardware";

/// Every engine that job files may name.
pub const ALL: &[&EngineDef] = &[
    &plain::SYNC,
    &plain::PSYNC,
    &plain::VSYNC,
    &plain::PVSYNC,
    &pvsync2::DEFINITION,
    &mmap::DEFINITION,
    &libaio::DEFINITION,
    &io_uring::DEFINITION,
    &plain::POSIXAIO,
    &plain::NULL,
    &io_uring_cmd::DEFINITION,
    &plain::SPLICE,
    &sg::DEFINITION,
    &net::DEFINITION,
    &net::SPLICED,
    &net::QUEUED,
    &cpuio::DEFINITION,
    &exec::DEFINITION,
    &plain::PAGE_FAULT,
    &plain::FALLOC,
    &plain::FTRUNCATE,
    &e4defrag::DEFINITION,
    &mtd::DEFINITION,
    &metadata::FILECREATE,
    &metadata::FILESTAT,
    &metadata::FILEDELETE,
    &metadata::DIRCREATE,
    &metadata::DIRSTAT,
    &metadata::DIRDELETE,
    &persistent::LIBPMEM,
    &persistent::DEV_DAX,
    &rbd::DEFINITION,
    &rados::DEFINITION,
    &gfapi::DEFINITION,
    &gfapi::ASYNCHRONOUS,
    &libhdfs::DEFINITION,
    &http::DEFINITION,
    &nbd::DEFINITION,
    &nfs::DEFINITION,
    &dfs::DEFINITION,
    &libiscsi::DEFINITION,
    &libblkio::DEFINITION,
    &xnvme::DEFINITION,
    &EngineDef::new("ime_psync", "Infinite Memory Engine").synchronous().lacking(NO_IME),
    &EngineDef::new("ime_psyncv", "Infinite Memory Engine, vectored").synchronous().lacking(NO_IME),
    &EngineDef::new("ime_aio", "Infinite Memory Engine, asynchronous").lacking(NO_IME),
    &libcufile::DEFINITION,
    &libhipfile::DEFINITION,
    &libzbc::DEFINITION,
    &rdma::DEFINITION,
    &EngineDef::new("solarisaio", "Solaris native asynchronous I/O"),
    &windowsaio::DEFINITION,
    &EXTERNAL,
];

/// The engine names, as values of `ioengine`.
pub const CHOICES: &[Choice] = &{
    let mut choices = [Choice { name: "", help: "" }; ALL.len()];
    let mut index = 0;
    while index < ALL.len() {
        choices[index] = Choice { name: ALL[index].name, help: ALL[index].summary };
        index += 1;
    }
    choices
};

/// This crate's engine with this name.
pub fn find(name: &str) -> Option<&'static EngineDef> {
    Engines(ALL).find(name)
}

/// The options in a form that may be shown, with passwords, keys and tokens hidden.
pub fn without_secrets(options: &[(String, String)]) -> Vec<(String, String)> {
    let private = || ALL.iter().flat_map(|engine| engine.options);
    let is_secret = |name: &str| private().any(|option| option.secret && option.is_named(name));
    let shown = |(name, value): &(String, String)| {
        let value = if is_secret(name) { "(hidden)" } else { value };
        (name.clone(), value.to_owned())
    };
    options.iter().map(shown).collect()
}

/// The engines that jobs may name: those of this crate, and those that the program provides.
#[derive(Debug, Clone, Copy)]
pub struct Engines<'a>(pub &'a [&'static EngineDef]);

impl Engines<'_> {
    /// The engine with this name.
    pub fn find(self, name: &str) -> Option<&'static EngineDef> {
        self.0.iter().copied().find(|engine| engine.name == name).or_else(|| loaded::find(name))
    }

    /// The engine of a job.
    pub fn of_job(self, job: &JobSpec) -> Option<&'static EngineDef> {
        self.find(&job.engine.ioengine.name)
    }

    /// The private option of any engine with this name or alias.
    pub fn option(self, engine: &str, name: &str) -> Option<&'static OptionDef> {
        self.find(engine)?.option(name)
    }

    /// The engines that have this private option; used to explain an unknown option.
    pub(crate) fn with_option(self, name: &str) -> Vec<&'static str> {
        let understands = |engine: &&EngineDef| engine.option(name).is_some();
        self.0.iter().copied().filter(understands).map(|engine| engine.name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for (index, engine) in ALL.iter().enumerate() {
            assert!(ALL[..index].iter().all(|other| other.name != engine.name), "{}", engine.name);
        }
    }

    #[test]
    fn private_options_name_an_engine_that_exists() {
        for engine in ALL {
            for option in engine.options {
                assert!(find(option.engine).is_some(), "{}", option.name);
            }
        }
    }

    #[test]
    fn options_are_found_by_engine() {
        let engines = Engines(ALL);
        assert_eq!(engines.option("io_uring", "hipri").map(|option| option.engine), Some("io_uring"));
        assert!(engines.option("psync", "hipri").is_none());
        assert_eq!(engines.with_option("userspace_reap"), ["libaio"]);
    }

    #[test]
    fn the_built_engines_are_these() {
        let built: Vec<&str> = ALL.iter().filter(|engine| engine.built).map(|engine| engine.name).collect();
        assert_eq!(
            built,
            [
                "sync",
                "psync",
                "vsync",
                "pvsync",
                "pvsync2",
                "mmap",
                "libaio",
                "io_uring",
                "posixaio",
                "null",
                "io_uring_cmd",
                "splice",
                "sg",
                "net",
                "netsplice",
                "net_uring",
                "cpuio",
                "exec",
                "page_fault",
                "falloc",
                "ftruncate",
                "e4defrag",
                "mtd",
                "filecreate",
                "filestat",
                "filedelete",
                "dircreate",
                "dirstat",
                "dirdelete",
                "libpmem",
                "dev-dax",
                "rbd",
                "rados",
                "gfapi",
                "gfapi_async",
                "libhdfs",
                "http",
                "nbd",
                "nfs",
                "libiscsi",
                "libzbc",
                "rdma",
                "external"
            ]
        );
    }
}
