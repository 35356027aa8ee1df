//! The files of a worker: their names, used parts, layout and opening.

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
    /// Their assumed type (`filetype`).
    pub kind: FileType,
    /// Data is accessed through mappings, which are as long as their files.
    pub are_mapped: bool,
    /// The used part of each.
    pub part: PartPlan,
    /// How they are laid out.
    pub layout: LayoutPlan,
    /// How they are opened.
    pub opening: OpenPlan,
    /// Exclusion of concurrent I/O to a file.
    pub lock: LockFile,
    /// I/O scheduler to set on the devices below them.
    pub scheduler: Option<String>,
    /// Regular files are removed and laid out again after each loop.
    pub are_renewed: bool,
    /// Regular files are removed at the end.
    pub are_removed: bool,
    /// Seeds of values that are equal in every run: random lengths of files, and their content.
    pub seeds: Seeds,
}

/// Source of the names of files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamesPlan {
    /// Directory of all files.
    pub directory: Option<String>,
    /// The names.
    pub names: Names,
    /// A name to use instead of them if it is a device on this machine.
    pub device: Option<String>,
    /// A directory whose files follow the named ones.
    pub opened_directory: Option<String>,
}

/// Names of files, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Names {
    /// A list.
    Listed(Vec<PathBuf>),
    /// Generated names, numbered from 0.
    Numbered {
        /// The texts around the number.
        texts: Vec<String>,
        /// Number of files.
        count: usize,
        /// The directories over which they are distributed.
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
    /// Files in each of them.
    pub files: usize,
}

impl TreePlan {
    /// The directory of this number, below the job's directory.
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

/// The used part of each file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartPlan {
    /// All free space (`fill_device` without `size`).
    pub fills_space: bool,
    /// Range of random file lengths, bytes.
    pub lengths: Option<SizeRange>,
    /// Alignment for rounding up a share of a file at which I/O begins, bytes.
    pub alignment: u64,
    /// Number of further clones of the job.
    pub later_clones: u32,
    /// The used share of the whole; everything without one.
    pub share: Option<Share>,
    /// Writes continue at the present end of regular files.
    pub appends: bool,
    /// I/O pattern, for messages.
    pub pattern: Rw,
}

/// One of several equal shares of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Its number, from 0.
    pub number: u32,
    /// Number of shares.
    pub of: u32,
}

/// How files are laid out before they are used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutPlan {
    /// Files may be created and extended.
    pub creates: bool,
    /// Laying out is the whole job.
    pub is_all: bool,
    /// They only grow when they are written.
    pub happens_at_open: bool,
    /// Each worker lays out its own files, instead of one process those of all jobs.
    pub by_worker: bool,
    /// Files must hold data before the run, not only have a size.
    pub content_needed: bool,
    /// Fill them until the space runs out.
    pub fills_device: bool,
    /// How space is allocated for them.
    pub reservation: Fallocate,
    /// Sync their data before the run begins.
    pub syncs: bool,
    /// Targets in use may be overwritten.
    pub overwrites_used: bool,
    /// Read them into the cache before the run.
    pub pre_reads: bool,
}

/// How files are opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenPlan {
    /// Bypass the page cache.
    pub direct: bool,
    /// Durability of a completed write.
    pub sync: SyncMode,
    /// Drop cached data first.
    pub invalidates: bool,
    /// Expected lifetime of the data, in the kernel's values (`F_SET_RW_HINT`).
    pub write_hint: Option<u64>,
    /// Advice to the kernel about the order of I/O.
    pub advice: Option<Advice>,
}

/// Advice to the kernel about the order of I/O (`posix_fadvise`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Advice {
    /// One block after the other.
    Sequential,
    /// Anywhere.
    Random,
    /// Each block once.
    NoReuse,
}
