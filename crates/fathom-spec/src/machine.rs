//! The interface to the outside world: files, environment variables and a few facts about the machine.

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
    /// This machine does not allow running foreign code; the text says how to allow it.
    #[error("{0}")]
    Forbidden(&'static str),
    /// The engine loader refuses this file.
    #[error(transparent)]
    Refused(Box<dyn Error + Send + Sync>),
}

/// Access to the machine while jobs are parsed: files, environment variables, processors and memory. Parsing reaches the system only
/// through this trait.
pub trait Machine {
    /// Reads the text of a file: a job file, or an included file.
    fn read_file(&self, path: &Path) -> io::Result<String>;
    /// Reads all bytes of a file that becomes part of a job, such as a pattern.
    fn read_bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.read_file(path).map(String::into_bytes)
    }
    /// Reads all of standard input, for a job file named `-`.
    fn read_stdin(&self) -> io::Result<String>;
    /// The value of an environment variable, for `${NAME}` in job files.
    fn variable(&self, name: &str) -> Option<String>;
    /// The position of the host for which jobs are parsed, in a run over several hosts.
    fn host(&self) -> Option<&HostPlace> {
        None
    }
    /// True if the path is an existing directory.
    fn is_directory(&self, path: &Path) -> bool;
    /// True if the path exists.
    fn exists(&self, path: &Path) -> bool;
    /// Number of online CPUs (`$ncpus`).
    fn online_cpus(&self) -> u32;
    /// Number of CPUs that the kernel is configured for, the limit of CPU lists.
    fn configured_cpus(&self) -> u32;
    /// Bytes of a memory page (`$pagesize`).
    fn page_size(&self) -> u64;
    /// Size of the machine's memory in MiB (`$mb_memory`).
    fn memory_mib(&self) -> u64;
    /// Loads an engine from a shared object, which runs its code, and returns the name under which jobs find it.
    fn load_engine(&self, _path: &Path) -> Result<&'static str, EngineNotLoaded> {
        Err(EngineNotLoaded::NotHere)
    }
}

/// For an `impl Machine`: forwards the methods about the machine to this field. The remaining methods concern
/// the input: files, standard input, variables.
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

/// Like `ask_machine`, without the methods about paths.
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
