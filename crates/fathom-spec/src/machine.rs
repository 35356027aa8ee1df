//! What the job language asks of the world outside: files, environment variables and a
//! few facts about the machine.

use crate::hosts::HostPlace;
use std::error::Error;
use std::io;
use std::path::Path;

/// Why an engine is not loaded.
#[derive(Debug, thiserror::Error)]
pub enum EngineNotLoaded {
    /// Engines cannot be loaded on this machine.
    #[error("engines are not loaded here")]
    NotHere,
    /// This machine may not run programs; the text says how to allow that.
    #[error("{0}")]
    Forbidden(&'static str),
    /// What loads engines refuses this one.
    #[error(transparent)]
    Refused(Box<dyn Error + Send + Sync>),
}

/// The only door through which the values of options reach outside the text they were given.
pub trait Machine {
    /// The whole text of a file: a job file, an included file.
    fn read_file(&self, path: &Path) -> io::Result<String>;
    /// All bytes of a file that becomes a part of a job: a pattern.
    fn read_bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.read_file(path).map(String::into_bytes)
    }
    /// The whole of standard input, for a job file named `-`.
    fn read_stdin(&self) -> io::Result<String>;
    /// The value of an environment variable, for `${NAME}` in job files.
    fn variable(&self, name: &str) -> Option<String>;
    /// The place of the host that the jobs are read for, in a run over several.
    fn host(&self) -> Option<&HostPlace> {
        None
    }
    /// Whether the path is an existing directory.
    fn is_directory(&self, path: &Path) -> bool;
    /// Whether there is anything of that name.
    fn exists(&self, path: &Path) -> bool;
    /// CPUs that are online (`$ncpus`).
    fn online_cpus(&self) -> u32;
    /// CPUs that the kernel is set up for, the bound of CPU lists.
    fn configured_cpus(&self) -> u32;
    /// Bytes of a memory page (`$pagesize`).
    fn page_size(&self) -> u64;
    /// Memory of the machine in MiB (`$mb_memory`).
    fn memory_mib(&self) -> u64;
    /// Loads an engine from a shared object, which runs what is in it, and says by what name jobs find it.
    fn load_engine(&self, _path: &Path) -> Result<&'static str, EngineNotLoaded> {
        Err(EngineNotLoaded::NotHere)
    }
}

/// In an `impl Machine`: what concerns the machine is asked of the one in this field. What is left is what was written: files,
/// standard input, variables.
#[macro_export]
macro_rules! ask_machine {
    ($field:ident) => {
        fn is_directory(&self, path: &std::path::Path) -> bool {
            self.$field.is_directory(path)
        }

        fn exists(&self, path: &std::path::Path) -> bool {
            self.$field.exists(path)
        }

        $crate::ask_about_machine!($field);
    };
}

/// The same without what concerns paths.
#[macro_export]
macro_rules! ask_about_machine {
    ($field:ident) => {
        fn online_cpus(&self) -> u32 {
            self.$field.online_cpus()
        }

        fn configured_cpus(&self) -> u32 {
            self.$field.configured_cpus()
        }

        fn page_size(&self) -> u64 {
            self.$field.page_size()
        }

        fn memory_mib(&self) -> u64 {
            self.$field.memory_mib()
        }
    };
}
