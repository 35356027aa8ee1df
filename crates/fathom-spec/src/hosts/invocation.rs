//! A command line and the files it names, recorded where it was typed, to be parsed elsewhere as if it had been
//! typed there.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Bytes, HostPlace};
use crate::machine::{EngineNotLoaded, Machine};
use crate::source::Source;

/// Everything that parsing read from the environment of the command.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Invocation {
    /// Name under which the program was called.
    pub program_name: String,
    /// The command line without the program's name.
    pub words: Vec<String>,
    /// Job files and included files, by the name that was requested.
    pub files: BTreeMap<PathBuf, String>,
    /// Files that became part of a job, by the name that was requested.
    #[serde(default)]
    pub contents: BTreeMap<PathBuf, Bytes>,
    /// Standard input, if a job file was read from it.
    pub stdin: Option<String>,
    /// Job files to be read on the host.
    pub remote_files: Vec<PathBuf>,
    /// Environment variables that job files used; `None` for unset ones.
    pub variables: BTreeMap<String, Option<String>>,
}

/// The machine on which a command for hosts was typed. Everything that parsing reads there is recorded. It is
/// not asked for what only the hosts can know, such as whether their files exist or how many processors they
/// have.
pub struct Recording<'a> {
    source: &'a dyn Source,
    /// The position of one of the hosts, for the variables.
    place: HostPlace,
    recorded: RefCell<Invocation>,
}

/// More processors than any machine has.
const MANY_CPUS: u32 = 1 << 16;

impl<'a> Recording<'a> {
    /// Starts without records.
    pub fn new(source: &'a dyn Source, place: HostPlace, program_name: &str, words: &[String]) -> Self {
        let recorded = Invocation {
            program_name: program_name.to_owned(),
            words: words.to_vec(),
            ..Invocation::default()
        };
        Recording { source, place, recorded: RefCell::new(recorded) }
    }

    /// Everything that was read.
    pub fn finish(self) -> Invocation {
        self.recorded.into_inner()
    }
}

impl Machine for Recording<'_> {
    fn read_file(&self, path: &Path) -> io::Result<String> {
        let text = self.source.read_file(path)?;
        self.recorded.borrow_mut().files.insert(path.to_owned(), text.clone());
        Ok(text)
    }

    fn read_bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        let bytes = self.source.read_bytes(path)?;
        self.recorded.borrow_mut().contents.insert(path.to_owned(), Bytes(bytes.clone()));
        Ok(bytes)
    }

    fn read_stdin(&self) -> io::Result<String> {
        let text = self.source.read_stdin()?;
        self.recorded.borrow_mut().stdin = Some(text.clone());
        Ok(text)
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.place.variable(name).or_else(|| {
            let value = self.source.variable(name);
            self.recorded.borrow_mut().variables.insert(name.to_owned(), value.clone());
            value
        })
    }

    fn host(&self) -> Option<&HostPlace> {
        Some(&self.place)
    }

    fn is_directory(&self, _: &Path) -> bool {
        true
    }

    fn exists(&self, _: &Path) -> bool {
        true
    }

    fn online_cpus(&self) -> u32 {
        self.source.online_cpus()
    }

    fn configured_cpus(&self) -> u32 {
        MANY_CPUS
    }

    fn page_size(&self) -> u64 {
        self.source.page_size()
    }

    fn memory_mib(&self) -> u64 {
        self.source.memory_mib()
    }

    fn load_engine(&self, path: &Path) -> Result<&'static str, EngineNotLoaded> {
        self.source.load_engine(path)
    }
}

impl Source for Recording<'_> {
    crate::ask_source!(source);
}

/// A host that parses an [`Invocation`]: recorded data comes from there, facts about the machine from here.
pub struct InvocationSource<'a> {
    /// The recorded data.
    pub invocation: &'a Invocation,
    /// The position of this host.
    pub place: &'a HostPlace,
    /// This machine.
    pub machine: &'a dyn Source,
}

impl Machine for InvocationSource<'_> {
    fn read_file(&self, path: &Path) -> io::Result<String> {
        if self.invocation.remote_files.iter().any(|remote| remote == path) {
            return self.machine.read_file(path);
        }
        // A name that was not found there must not be found here.
        self.invocation.files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn read_bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.invocation.contents.get(path) {
            Some(Bytes(bytes)) => Ok(bytes.clone()),
            // Files named by a job file of this host are on this host.
            None if !self.invocation.remote_files.is_empty() => self.machine.read_bytes(path),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn read_stdin(&self) -> io::Result<String> {
        self.invocation.stdin.clone().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.place.variable(name).or_else(|| match self.invocation.variables.get(name) {
            Some(value) => value.clone(),
            None => self.machine.variable(name),
        })
    }

    fn host(&self) -> Option<&HostPlace> {
        Some(self.place)
    }

    fn load_engine(&self, path: &Path) -> Result<&'static str, EngineNotLoaded> {
        self.machine.load_engine(path)
    }

    crate::ask_machine!(machine);
}

impl Source for InvocationSource<'_> {
    crate::ask_source!(machine);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::MemorySource;
    use crate::{Outcome, RunSpec, parse};

    fn run(words: &[String], source: &dyn Source) -> RunSpec {
        match parse("fathom", words, source) {
            Outcome::Run(spec) => *spec,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_read_here_is_read_there() {
        let job = "[global]\nsize=${SIZE}\ninclude b.fio\n[a]\nfilename=${HOST}.${HOST_INDEX}\n";
        let mut here = MemorySource::with_file("a.fio", job);
        here.files.insert("b.fio".into(), "ioengine=null\n".to_owned());
        here.variables.insert("SIZE".to_owned(), "8k".to_owned());
        let place = |index| HostPlace { index, hosts: vec!["x".into(), "y".into()], ..HostPlace::default() };
        let words = vec!["a.fio".to_owned()];
        let recording = Recording::new(&here, place(0), "fathom", &words);
        let first = run(&words, &recording);
        let invocation = recording.finish();
        // The other machine has none of these files, and a different value of the variable.
        let mut there = MemorySource::default();
        there.variables.insert("SIZE".to_owned(), "1m".to_owned());
        let source = InvocationSource { invocation: &invocation, place: &place(1), machine: &there };
        let second = run(&invocation.words, &source);
        let size = |spec: &RunSpec| format!("{:?}", spec.jobs[0].size.size);
        assert_eq!(size(&first), size(&second));
        let name = |spec: &RunSpec| format!("{:?}", spec.jobs[0].file.filename);
        assert!(name(&first).contains("x.0") && name(&second).contains("y.1"), "{}", name(&second));
    }
}
