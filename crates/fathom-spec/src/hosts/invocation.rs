//! A command line with the files that it names. It is recorded where it was typed, so that another machine can
//! parse it as if it had been typed there.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Bytes, HostPlace};
use crate::machine::{EngineNotLoaded, Machine};
use crate::source::Source;

/// All input that parsing read in the environment of the command.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Invocation {
    /// Name under which the program was called.
    pub program_name: String,
    /// The command line without the program's name.
    pub words: Vec<String>,
    /// Job files and included files, by the name under which they were requested.
    pub files: BTreeMap<PathBuf, String>,
    /// Files that became part of a job, by the name under which they were requested.
    #[serde(default)]
    pub contents: BTreeMap<PathBuf, Bytes>,
    /// Standard input, if a job file was read from it.
    pub stdin: Option<String>,
    /// Job files that the host has to read itself.
    pub remote_files: Vec<PathBuf>,
    /// Environment variables that job files used; `None` for a variable that was not set.
    pub variables: BTreeMap<String, Option<String>>,
}

/// The machine on which a command for hosts was typed. All input that parsing reads there is recorded. Facts
/// that only the hosts know are assumed instead, such as whether their files exist or how many processors they
/// have.
pub struct Recording<'a> {
    source: &'a dyn Source,
    /// The position of one of the hosts, for the variables.
    place: HostPlace,
    recorded: RefCell<Invocation>,
}

/// A number of processors that no machine exceeds.
const MANY_CPUS: u32 = 1 << 16;

impl<'a> Recording<'a> {
    /// Creates a recording without content.
    pub fn new(source: &'a dyn Source, place: HostPlace, program_name: &str, words: &[String]) -> Self {
        let recorded = Invocation {
            program_name: program_name.to_owned(),
            words: words.to_vec(),
            ..Invocation::default()
        };
        Recording { source, place, recorded: RefCell::new(recorded) }
    }

    /// The recording of all input that was read.
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

/// A host that parses an [`Invocation`]: recorded data comes from the invocation, facts about the machine from
/// this host.
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
        // A file that was not found where the command was typed must not be found here either.
        self.invocation.files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn read_bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.invocation.contents.get(path) {
            Some(Bytes(bytes)) => Ok(bytes.clone()),
            // Files that are named by a job file of this host are on this host as well.
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
        // The other machine has none of these files, and another value of the variable.
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
