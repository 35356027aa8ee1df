//! An in-memory source for tests.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::engines::{self, EngineDef};
use crate::formats::FormatDeclaration;
use crate::machine::Machine;
use crate::source::Source;

/// Report formats that exist only in a test.
pub(crate) const FORMATS: &[&FormatDeclaration] = &[
    &FormatDeclaration {
        name: "terse",
        aliases: &["minimal"],
        words_of_fio: &["sheet"],
        ..FormatDeclaration::BLANK
    },
    &FormatDeclaration { name: "json", ..FormatDeclaration::BLANK },
    &FormatDeclaration { name: "lines", stands_alone: Some("it is all lines"), ..FormatDeclaration::BLANK },
    &FormatDeclaration { name: "normal", for_people: true, ..FormatDeclaration::BLANK },
];

/// Files and variables that exist only in a test.
#[derive(Debug)]
pub(crate) struct MemorySource {
    pub(crate) engines: Vec<&'static EngineDef>,
    pub(crate) files: HashMap<PathBuf, String>,
    pub(crate) variables: HashMap<String, String>,
}

impl Default for MemorySource {
    fn default() -> Self {
        MemorySource { engines: engines::ALL.to_vec(), files: HashMap::new(), variables: HashMap::new() }
    }
}

impl MemorySource {
    pub(crate) fn with_file(path: &str, text: &str) -> Self {
        MemorySource {
            files: HashMap::from([(PathBuf::from(path), text.to_owned())]),
            ..MemorySource::default()
        }
    }
}

impl Machine for MemorySource {
    fn read_file(&self, path: &Path) -> io::Result<String> {
        self.files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn read_stdin(&self) -> io::Result<String> {
        self.read_file(Path::new("-"))
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn exists(&self, path: &Path) -> bool {
        self.is_directory(path)
    }

    fn is_directory(&self, path: &Path) -> bool {
        path == Path::new("/tmp") || path == Path::new("/")
    }

    fn online_cpus(&self) -> u32 {
        4
    }

    fn configured_cpus(&self) -> u32 {
        4
    }

    fn page_size(&self) -> u64 {
        4096
    }

    fn memory_mib(&self) -> u64 {
        1024
    }
}

impl Source for MemorySource {
    fn engines(&self) -> &[&'static EngineDef] {
        &self.engines
    }

    fn formats(&self) -> &[&'static FormatDeclaration] {
        FORMATS
    }
}
