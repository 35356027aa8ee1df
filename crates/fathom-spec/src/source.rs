//! The source of jobs: a machine, plus the engines and report formats that the program provides.

use std::io;
use std::path::Path;

use crate::engines::{self, EngineDef};
use crate::formats::FormatDeclaration;
use crate::machine::{EngineNotLoaded, Machine};

/// The machine, and what the program provides. Tests use one in memory; the program uses [`SystemSource`].
pub trait Source: Machine {
    /// The engines that jobs may name. A loaded engine is named `external:PATH`.
    fn engines(&self) -> &[&'static EngineDef] {
        engines::ALL
    }
    /// The available report formats. A program that prints no report needs none.
    fn formats(&self) -> &[&'static FormatDeclaration] {
        &[]
    }
}

/// For an `impl Source`: forwards all methods to the source in this field.
#[macro_export]
macro_rules! ask_source {
    ($field:ident) => {
        fn engines(&self) -> &[&'static $crate::engines::EngineDef] {
            self.$field.engines()
        }

        fn formats(&self) -> &[&'static $crate::FormatDeclaration] {
            self.$field.formats()
        }
    };
}

/// The machine that runs the program.
#[derive(Debug, Clone)]
pub struct SystemSource {
    page_size: u64,
    engines: Vec<&'static EngineDef>,
    loads: Option<LoadEngine>,
    formats: Vec<&'static FormatDeclaration>,
}

/// Loads an engine: [`Machine::load_engine`].
pub type LoadEngine = fn(&Path) -> Result<&'static EngineDef, EngineNotLoaded>;

impl SystemSource {
    /// A source for this machine. The caller supplies the page size, because this crate has no access to the
    /// system call.
    pub fn new(page_size: u64) -> Self {
        SystemSource { page_size, engines: engines::ALL.to_vec(), loads: None, formats: Vec::new() }
    }

    /// Adds external engines to those of this crate. Of two engines with the same name, the first is used.
    pub fn with_engines(mut self, engines: &[&'static EngineDef]) -> Self {
        self.engines.extend_from_slice(engines);
        self
    }

    /// Adds the function that loads engines.
    pub fn with_loading(self, loads: LoadEngine) -> Self {
        SystemSource { loads: Some(loads), ..self }
    }

    /// Adds the available report formats.
    pub fn with_formats(self, formats: Vec<&'static FormatDeclaration>) -> Self {
        SystemSource { formats, ..self }
    }
}

impl Machine for SystemSource {
    fn read_file(&self, path: &Path) -> io::Result<String> {
        std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn read_bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn read_stdin(&self) -> io::Result<String> {
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut io::stdin().lock(), &mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
    }

    fn is_directory(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn online_cpus(&self) -> u32 {
        count_cpus("/sys/devices/system/cpu/online")
    }

    fn configured_cpus(&self) -> u32 {
        count_cpus("/sys/devices/system/cpu/possible")
    }

    fn page_size(&self) -> u64 {
        self.page_size
    }

    fn memory_mib(&self) -> u64 {
        std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_memory_kib(&text)).unwrap_or(0)
            / 1024
    }

    fn load_engine(&self, path: &Path) -> Result<&'static str, EngineNotLoaded> {
        let engine = match self.loads {
            Some(load) => load(path)?,
            None => engines::loaded::find(&format!("external:{}", path.display()))
                .ok_or(EngineNotLoaded::NotHere)?,
        };
        Ok(engine.name)
    }
}

impl Source for SystemSource {
    fn engines(&self) -> &[&'static EngineDef] {
        &self.engines
    }

    fn formats(&self) -> &[&'static FormatDeclaration] {
        &self.formats
    }
}

fn count_cpus(path: &str) -> u32 {
    let listed = std::fs::read_to_string(path).ok().map_or(0, |text| cpus_in_list(&text));
    if listed > 0 {
        return listed;
    }
    // Without sysfs, the number of processors that the scheduler allows is the best estimate.
    std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX))
}

/// Number of CPUs in a kernel list such as `0-3,8`; 0 if it cannot be parsed.
fn cpus_in_list(text: &str) -> u32 {
    let mut count = 0u32;
    for part in text.trim().split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        match (low.trim().parse::<u32>(), high.trim().parse::<u32>()) {
            (Ok(low), Ok(high)) if high >= low => {
                count = count.saturating_add((high - low).saturating_add(1))
            }
            _ => return 0,
        }
    }
    count
}

fn total_memory_kib(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.starts_with("MemTotal:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_cpu_lists_are_counted() {
        assert_eq!(cpus_in_list("0-3,8\n"), 5);
        assert_eq!(cpus_in_list("0"), 1);
        assert_eq!(cpus_in_list(""), 0);
        assert_eq!(cpus_in_list("3-1"), 0);
    }

    #[test]
    fn total_memory_is_found() {
        assert_eq!(total_memory_kib("MemFree: 1 kB\nMemTotal:       2048 kB\n"), Some(2048));
        assert_eq!(total_memory_kib("nothing"), None);
    }

    #[test]
    fn this_machine_answers() {
        let source = SystemSource::new(4096);
        assert!(source.online_cpus() >= 1);
        assert!(source.configured_cpus() >= 1);
        assert_eq!(source.page_size(), 4096);
        assert!(source.is_directory(Path::new("/")));
    }
}
