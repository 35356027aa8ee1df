//! The files of a worker: names, used parts, layout and opening.

use crate::random::Seeds;
use fathom_spec::options::file::{Fallocate, FileType, LockFile};
use fathom_spec::options::io_type::SyncMode;
use fathom_spec::value::{Rw, SizeRange};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The files of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilesPlan {
    /// Their names.
    pub names: NamesPlan,
    /// Type that the files are assumed to have (`filetype`).
    pub kind: FileType,
    /// True if data is accessed through mappings, which are as long as the files.
    pub are_mapped: bool,
    /// The part of each file that the job uses.
    pub part: PartPlan,
    /// How the files are laid out.
    pub layout: LayoutPlan,
    /// How the files are opened.
    pub opening: OpenPlan,
    /// Exclusion of concurrent I/O to a file.
    pub lock: LockFile,
    /// I/O scheduler to set on the devices below the files.
    pub scheduler: Option<String>,
    /// True if regular files are removed and laid out again after each loop.
    pub are_renewed: bool,
    /// True if regular files are removed at the end.
    pub are_removed: bool,
    /// Seeds of random values that stay the same in every run: lengths of files, and their content.
    pub seeds: Seeds,
}

/// Source of the names of files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamesPlan {
    /// Directory of all files.
    pub directory: Option<String>,
    /// The names.
    pub names: Names,
    /// A device to use instead of named files, if it exists on this machine.
    pub device: Option<String>,
    /// A directory whose files are added after the named ones.
    pub opened_directory: Option<String>,
}

/// Names of files, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Names {
    /// A list.
    Listed(Vec<PathBuf>),
    /// Generated names, numbered from 0.
    Numbered {
        /// Text before and after the number.
        texts: Vec<String>,
        /// Number of files.
        count: usize,
        /// Directories over which the files are distributed.
        tree: Option<TreePlan>,
    },
}

/// A tree of directories, numbered from 0, level by level; the first is the root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreePlan {
    /// Name of the first directory.
    pub root: String,
    /// Subdirectories of each directory.
    pub width: usize,
    /// Number of directories.
    pub directories: usize,
    /// Files in each directory.
    pub files: usize,
}

impl TreePlan {
    /// The path of the directory with this number, relative to the job's directory.
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

    /// The directory that contains the file with this number.
    pub fn directory_of(&self, file: usize) -> PathBuf {
        self.directory(file / self.files.max(1))
    }
}

/// The part of each file that a clone uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartPlan {
    /// True to use all free space (`fill_device` without `size`).
    pub fills_space: bool,
    /// Range of random file lengths, bytes.
    pub lengths: Option<SizeRange>,
    /// Alignment in bytes to which an offset in percent is rounded up.
    pub alignment: u64,
    /// Number of clones of the job that follow this one.
    pub later_clones: u32,
    /// The clone's share of the data set; `None` for all of it.
    pub share: Option<Share>,
    /// True if writes start at the current end of regular files.
    pub appends: bool,
    /// I/O pattern of the job, for messages.
    pub pattern: Rw,
}

/// One of several equal shares of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Number of this share, from 0.
    pub number: u32,
    /// Number of shares.
    pub of: u32,
}

/// How files are laid out before they are used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutPlan {
    /// True if files may be created and extended.
    pub creates: bool,
    /// True if the job only lays out files.
    pub is_all: bool,
    /// True if files are created when they are opened, and grow only through writes.
    pub happens_at_open: bool,
    /// True if each worker lays out its own files. Otherwise one process lays out the files of all jobs.
    pub by_worker: bool,
    /// True if files must contain data before the run, not only have a size.
    pub content_needed: bool,
    /// True if files are filled until the device is full.
    pub fills_device: bool,
    /// How space is allocated for the files.
    pub reservation: Fallocate,
    /// True if the data of new files is synced before the run begins.
    pub syncs: bool,
    /// True if targets in use may be overwritten.
    pub overwrites_used: bool,
    /// True if the files are read into the cache before the run.
    pub pre_reads: bool,
}

/// How files are opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenPlan {
    /// True to bypass the page cache.
    pub direct: bool,
    /// Durability that a completed write must have.
    pub sync: SyncMode,
    /// True if cached data is dropped before the run.
    pub invalidates: bool,
    /// Expected lifetime of the data, in the kernel's values (`F_SET_RW_HINT`).
    pub write_hint: Option<u64>,
    /// Advice to the kernel about the access pattern.
    pub advice: Option<Advice>,
}

/// Advice to the kernel about the access pattern (`posix_fadvise`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Advice {
    /// Sequential access.
    Sequential,
    /// Anywhere.
    Random,
    /// Random access.
    NoReuse,
}
