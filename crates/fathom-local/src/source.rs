//! The information that the parser needs from this machine and this program, including jobs given as text.

use fathom_spec::{EngineNotLoaded, Machine, Source, SystemSource};
use fathom_sys::memory::page_size;
use std::io;
use std::path::Path;

/// This machine, with the formats and engines of this program.
pub fn machine() -> SystemSource {
    SystemSource::new(page_size() as u64).with_formats(fathom_report::declarations()).with_loading(|path| {
        fathom_engines::load(path).map_err(|error| EngineNotLoaded::Refused(error.into()))
    })
}

/// This machine, with a given text as standard input.
pub struct TextSource<'a> {
    system: SystemSource,
    job_file: &'a str,
}

impl<'a> TextSource<'a> {
    /// This machine, with the argument `-` standing for the text of this job file.
    pub fn new(job_file: &'a str) -> TextSource<'a> {
        TextSource { system: machine(), job_file }
    }
}

impl Machine for TextSource<'_> {
    fn read_file(&self, path: &Path) -> io::Result<String> {
        self.system.read_file(path)
    }

    fn read_bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.system.read_bytes(path)
    }

    fn read_stdin(&self) -> io::Result<String> {
        Ok(self.job_file.to_owned())
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.system.variable(name)
    }

    fn load_engine(&self, path: &Path) -> Result<&'static str, EngineNotLoaded> {
        self.system.load_engine(path)
    }

    fathom_spec::ask_machine!(system);
}

impl Source for TextSource<'_> {
    fathom_spec::ask_source!(system);
}
