//! The engines: each is one declaration of its name, what it can do, and the options that only it understands. The rules across
//! options, the plan and the run loop all ask this declaration.

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
    /// Name, as in `ioengine=`.
    pub name: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// Whether it works in this version.
    pub built: bool,
    /// What stands in the way of building it; empty where nothing does.
    pub obstacle: &'static str,
    /// A build leaves it out unless the Cargo feature of its name is switched on.
    pub optional: bool,
    /// Completes each I/O before the next begins: the depth is 1.
    pub synchronous: bool,
    /// Smallest depth at which fio's engine of that name hands an I/O over and fetches its end later: what ends a pass over the
    /// files depends on it. `u32::MAX` for those that never do.
    pub queues_from: u32,
    /// Where its data lies.
    pub storage: StorageKind,
    /// What becomes of the data in its buffers.
    pub data: Data,
    /// What it does to names, if that is all it does.
    pub metadata: Option<Metadata>,
    /// Changes its files whatever the direction of the I/O, and opens them for that.
    pub always_changes: bool,
    /// Can write blocks that are never torn.
    pub atomic_writes: bool,
    /// Can trim several ranges with one command.
    pub many_ranges: bool,
    /// Sends commands to devices past the block layer, which keeps no order among them.
    pub sends_commands: bool,
    /// Has threads that do the I/O, in whatever order they come to it.
    pub hands_to_threads: bool,
    /// Can sync whole file systems.
    pub syncfs: bool,
    /// Can pass data placement hints to a device.
    pub places_data: bool,
    /// Reaches files through mappings, which have the length of their files.
    pub maps_files: bool,
    /// Where it stands in a file is kept with the descriptor.
    pub keeps_position: bool,
    /// Works only on a specific kind of device: SCSI disks, flash memory.
    pub on_media: bool,
    /// Belongs to the thread that set it up.
    pub one_thread: bool,
    /// Its data is sent to a peer or received from one: it is sequential and not stored.
    pub has_peers: bool,
    /// Rates are shown in bits unless a job says otherwise.
    pub shows_bits: bool,
    /// The options that only it understands.
    pub options: &'static [OptionDef],
    /// What it demands of the jobs that use it.
    pub rules: &'static [Rule],
    /// The engine's options that give single I/Os a priority.
    pub priorities: Option<fn(&JobSpec) -> PriorityOptions<'_>>,
}

/// Where an engine stores its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StorageKind {
    /// In files and devices of this machine.
    Files,
    /// With a server, or in its own library: the engine brings the storage.
    Server,
    /// With a server, in a single object that exists before the job and has a fixed size: an export, an image, a logical unit.
    Volume,
    /// Nowhere: there is nothing to prepare.
    None,
}

/// What an engine does with the data in its buffers.
#[derive(Debug, Clone, Copy)]
pub enum Data {
    /// Moves it.
    Moved,
    /// Ends the I/O without looking at it.
    Discarded,
    /// Has none: its jobs are background load for others.
    Absent(fn(&JobSpec) -> BackgroundLoad),
}

/// What a job is that moves no data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundLoad {
    /// The job in one line.
    pub header: String,
    /// It ends when all jobs that do I/O have ended.
    pub follows_io: bool,
}

/// The options by which an engine gives single I/Os a priority (`cmdprio_*`).
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

/// The `cmdprio_*` options of an engine: each that has them has all of them.
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
    /// An asynchronous engine on files that is not built yet.
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

    /// It works in this version.
    pub const fn built(self) -> Self {
        EngineDef { built: true, ..self }
    }

    /// It does not, for want of this.
    pub const fn lacking(self, obstacle: &'static str) -> Self {
        EngineDef { obstacle, ..self }
    }

    /// A build leaves it out unless a feature asks for it.
    pub const fn optional(self) -> Self {
        EngineDef { optional: true, ..self }
    }

    /// Completes each I/O before the next begins.
    pub const fn synchronous(self) -> Self {
        EngineDef { synchronous: true, queues_from: u32::MAX, ..self }
    }

    /// Hands I/Os over from this depth on.
    pub const fn queues_from(self, queues_from: u32) -> Self {
        EngineDef { queues_from, ..self }
    }

    /// There is nothing to prepare.
    pub const fn without_files(self) -> Self {
        EngineDef { storage: StorageKind::None, ..self }
    }

    /// Brings the storage it works on.
    pub const fn on_server(self) -> Self {
        EngineDef { storage: StorageKind::Server, ..self }
    }

    /// Brings the storage it works on, which is one thing of a fixed size: there is nothing to make before the run.
    pub const fn on_volume(self) -> Self {
        EngineDef { storage: StorageKind::Volume, ..self }
    }

    /// Ends I/Os without looking at their data.
    pub const fn discards_data(self) -> Self {
        EngineDef { data: Data::Discarded, ..self }
    }

    /// Does this to names, and nothing to data.
    pub const fn on_names(self, metadata: Metadata) -> Self {
        EngineDef { metadata: Some(metadata), data: Data::Discarded, ..self }
    }

    /// Changes its files whatever the direction of the I/O.
    pub const fn always_changes(self) -> Self {
        EngineDef { always_changes: true, ..self }
    }

    /// Moves no data: its jobs are background load for others.
    pub const fn background(self, load: fn(&JobSpec) -> BackgroundLoad) -> Self {
        EngineDef { data: Data::Absent(load), ..self }
    }

    /// Can write blocks that are never torn.
    pub const fn atomic_writes(self) -> Self {
        EngineDef { atomic_writes: true, ..self }
    }

    /// Can trim several ranges with one command.
    pub const fn many_ranges(self) -> Self {
        EngineDef { many_ranges: true, ..self }
    }

    /// Sends commands to devices past the block layer.
    pub const fn sends_commands(self) -> Self {
        EngineDef { sends_commands: true, ..self }
    }

    /// Has threads that do the I/O.
    pub const fn hands_to_threads(self) -> Self {
        EngineDef { hands_to_threads: true, ..self }
    }

    /// Can sync whole file systems.
    pub const fn syncfs(self) -> Self {
        EngineDef { syncfs: true, ..self }
    }

    /// Can pass data placement hints to a device.
    pub const fn places_data(self) -> Self {
        EngineDef { places_data: true, ..self }
    }

    /// Reaches files through mappings.
    pub const fn maps_files(self) -> Self {
        EngineDef { maps_files: true, ..self }
    }

    /// Where it stands in a file is kept with the descriptor.
    pub const fn keeps_position(self) -> Self {
        EngineDef { keeps_position: true, ..self }
    }

    /// Works only on a specific kind of device.
    pub const fn on_media(self) -> Self {
        EngineDef { on_media: true, ..self }
    }

    /// Belongs to the thread that set it up.
    pub const fn one_thread(self) -> Self {
        EngineDef { one_thread: true, ..self }
    }

    /// Moves data to and from others: there is nothing to prepare.
    pub const fn with_peers(self) -> Self {
        EngineDef { storage: StorageKind::None, has_peers: true, ..self }
    }

    /// Rates are shown in bits unless a job says otherwise.
    pub const fn shows_bits(self) -> Self {
        EngineDef { shows_bits: true, ..self }
    }

    /// Adds the options that only this engine has.
    pub const fn with_options(self, options: &'static [OptionDef]) -> Self {
        EngineDef { options, ..self }
    }

    /// Demands something of the jobs that use it.
    pub const fn with_rules(self, rules: &'static [Rule]) -> Self {
        EngineDef { rules, ..self }
    }

    /// Has options that give single I/Os a priority.
    pub const fn with_priorities(self, priorities: fn(&JobSpec) -> PriorityOptions<'_>) -> Self {
        EngineDef { priorities: Some(priorities), ..self }
    }

    /// True when it works on files and devices of this machine.
    pub const fn has_files(&self) -> bool {
        matches!(self.storage, StorageKind::Files)
    }

    /// True when its data lies with a server.
    pub const fn is_remote(&self) -> bool {
        matches!(self.storage, StorageKind::Server | StorageKind::Volume)
    }

    /// True when its data lies somewhere.
    pub const fn has_storage(&self) -> bool {
        !matches!(self.storage, StorageKind::None)
    }

    /// Its private option with this name or alias.
    pub fn option(&self, name: &str) -> Option<&'static OptionDef> {
        self.options.iter().find(|option| option.is_named(name))
    }

    /// What a job is on an engine without data; `None` on all others.
    pub fn background_load(&self, job: &JobSpec) -> Option<BackgroundLoad> {
        match self.data {
            Data::Absent(load) => Some(load(job)),
            Data::Moved | Data::Discarded => None,
        }
    }

    /// True when its jobs are background load for others.
    pub const fn is_background(&self) -> bool {
        matches!(self.data, Data::Absent(_))
    }

    /// True when data is moved, so that writes need content and reads give some.
    pub const fn moves_data(&self) -> bool {
        matches!(self.data, Data::Moved)
    }
}

/// For jobs that move no bytes: only time ends them, or what they follow.
fn have_no_end(job: &mut JobSpec) {
    job.io_type.rw.rw = Rw::Read;
    // No size is ever reached; it only has to satisfy the rules for sizes.
    job.size.size = Some(SizeSpec::Bytes(1 << 40));
    job.time.time_based = true;
}

/// Refuses to append to what has the size it has; `place` says where offsets count there: "on a device".
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

/// `ioengine=external:PATH`; what a loaded engine can do, it says itself.
pub const EXTERNAL: EngineDef =
    EngineDef::new("external", "an engine of your own, external:PATH of a shared object").built();

/// Why there are no engines for it.
const NO_IME: &str =
    "it needs an Infinite Memory Engine of DDN and its client library, which are sold with the hardware";

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

/// The names as values of `ioengine`.
pub const CHOICES: &[Choice] = &{
    let mut choices = [Choice { name: "", help: "" }; ALL.len()];
    let mut index = 0;
    while index < ALL.len() {
        choices[index] = Choice { name: ALL[index].name, help: ALL[index].summary };
        index += 1;
    }
    choices
};

/// The engine of this crate with this name.
pub fn find(name: &str) -> Option<&'static EngineDef> {
    Engines(ALL).find(name)
}

/// Options as they may be shown: passwords, keys and tokens are hidden.
pub fn without_secrets(options: &[(String, String)]) -> Vec<(String, String)> {
    let private = || ALL.iter().flat_map(|engine| engine.options);
    let is_secret = |name: &str| private().any(|option| option.secret && option.is_named(name));
    let shown = |(name, value): &(String, String)| {
        let value = if is_secret(name) { "(hidden)" } else { value };
        (name.clone(), value.to_owned())
    };
    options.iter().map(shown).collect()
}

/// The engines that jobs may name: those of this crate, and those that the program brings.
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

    /// The private option of an engine with this name or alias.
    pub fn option(self, engine: &str, name: &str) -> Option<&'static OptionDef> {
        self.find(engine)?.option(name)
    }

    /// The engines that understand an option privately; helps to explain an unknown one.
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
