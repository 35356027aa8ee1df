//! Which files a worker has, which part of each it works on, and how they are made and opened.

use crate::random::Seeds;
use fathom_spec::options::file::{Fallocate, FileType, LockFile};
use fathom_spec::options::io_type::SyncMode;
use fathom_spec::value::{Rw, SizeRange};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The files of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilesPlan {
    /// What they are called.
    pub names: NamesPlan,
    /// What they are taken for, whatever they are.
    pub kind: FileType,
    /// Data is reached through mappings, which have the length of their files.
    pub are_mapped: bool,
    /// Which part of each is worked on.
    pub part: PartPlan,
    /// How they are made.
    pub layout: LayoutPlan,
    /// How they are opened.
    pub opening: OpenPlan,
    /// Who may do I/O to a file at the same time.
    pub lock: LockFile,
    /// Scheduler that the devices below them are switched to.
    pub scheduler: Option<String>,
    /// Regular files are removed and made anew after each loop.
    pub are_renewed: bool,
    /// Regular files are removed at the end.
    pub are_removed: bool,
    /// Seeds of what is the same in every run: the lengths that are drawn for files, and what they are filled with.
    pub seeds: Seeds,
}

/// Where the names of files come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamesPlan {
    /// The directory that all files lie below.
    pub directory: Option<String>,
    /// The names themselves.
    pub names: Names,
    /// The one name in place of them if a device here is called that.
    pub device: Option<String>,
    /// A directory whose files come after those named.
    pub opened_directory: Option<String>,
}

/// Names of files, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Names {
    /// These.
    Listed(Vec<PathBuf>),
    /// So many, numbered from 0.
    Numbered {
        /// The texts around the places where the number stands.
        texts: Vec<String>,
        /// How many files.
        count: usize,
        /// The directories that they are spread over.
        tree: Option<TreePlan>,
    },
}

/// A tree of directories. They are numbered from 0, level by level; the first is the one above all others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreePlan {
    /// Name of the first directory.
    pub root: String,
    /// Directories in each directory.
    pub width: usize,
    /// All directories.
    pub directories: usize,
    /// Files in each of them.
    pub files: usize,
}

impl TreePlan {
    /// The directory of this number, below that of the job.
    pub fn directory(&self, number: usize) -> PathBuf {
        let mut steps = Vec::new();
        let mut at = number;
        while at > 0 {
            steps.push(at);
            at = (at - 1) / self.width.max(1);
        }
        let mut path = PathBuf::from(&self.root);
        path.extend(steps.iter().rev().map(|step| format!("d{step}")));
        path
    }

    /// The directory of the file of this number.
    pub fn directory_of(&self, file: usize) -> PathBuf {
        self.directory(file / self.files.max(1))
    }
}

/// Which part of each file is worked on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartPlan {
    /// All the space that there is (`fill_device` without `size`).
    pub fills_space: bool,
    /// Lengths between which that of each file is drawn, bytes.
    pub lengths: Option<SizeRange>,
    /// What a share of a file is rounded up to when I/O begins there, bytes.
    pub alignment: u64,
    /// Clones of the job that begin after the first one.
    pub later_clones: u32,
    /// The share of all of it that is worked on; all of it without one.
    pub share: Option<Share>,
    /// Regular files are gone on with where they end.
    pub appends: bool,
    /// Word for the pattern of the I/O, for messages.
    pub pattern: Rw,
}

/// One of several equal shares of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Its number, from 0.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

/// How files are made before they are used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutPlan {
    /// Files may be created and become longer.
    pub creates: bool,
    /// There is nothing to do but make them.
    pub is_all: bool,
    /// They become longer only as they are written.
    pub happens_at_open: bool,
    /// Each worker makes its own files, rather than one process those of all jobs.
    pub by_worker: bool,
    /// Files must hold data before the run, not merely have a size.
    pub content_needed: bool,
    /// They are filled until the space runs out.
    pub fills_device: bool,
    /// How space is taken for them.
    pub reservation: Fallocate,
    /// Their data is on the device before the run begins.
    pub syncs: bool,
    /// What somebody uses may be overwritten.
    pub overwrites_used: bool,
    /// They are read into the cache before the run.
    pub pre_reads: bool,
}

/// How files are opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenPlan {
    /// Data goes past the page cache.
    pub direct: bool,
    /// What is durable when a write has ended.
    pub sync: SyncMode,
    /// The page cache forgets the file first.
    pub invalidates: bool,
    /// How long data will live, as the kernel counts it (`F_SET_RW_HINT`).
    pub write_hint: Option<u64>,
    /// What the kernel is told of the order of the I/O.
    pub advice: Option<Advice>,
}

/// What the kernel is told of the order of I/O (`posix_fadvise`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Advice {
    /// One block after the other.
    Sequential,
    /// Anywhere.
    Random,
    /// Each block once.
    NoReuse,
}
