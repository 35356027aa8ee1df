//! `mem`: the memory of I/O buffers.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{OptionValue, ParseContext, ValueError, parse_choice};
use crate::declare::choices;
use crate::definition::OptionDef;

choices! {
    /// Kind of memory used for buffers.
    pub enum MemoryKind {
        /// Memory of the process
        Malloc = "malloc",
        /// System V shared memory
        Shm = "shm",
        /// System V shared memory in huge pages
        ShmHuge = "shmhuge",
        /// A private mapping, anonymous or of a file
        Mmap = "mmap",
        /// A shared mapping, anonymous or of a file
        MmapShared = "mmapshared",
        /// A mapping in huge pages
        MmapHuge = "mmaphuge",
        /// Memory of a GPU
        CudaMalloc = "cudamalloc",
    }
}

/// Kind of memory and, for mappings, the mapped file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Kind of memory.
    pub kind: MemoryKind,
    /// The mapped file; `None` for anonymous memory.
    pub file: Option<PathBuf>,
}

impl fmt::Display for Memory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(formatter, "{}:{}", self.kind, file.display()),
            None => write!(formatter, "{}", self.kind),
        }
    }
}

impl OptionValue for Memory {
    fn unset() -> Self {
        Memory { kind: MemoryKind::Malloc, file: None }
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let kind: MemoryKind = parse_choice(text, definition, context)?;
        let file = text.split_once(':').map(|(_, file)| file).filter(|file| !file.is_empty());
        let mapped = matches!(kind, MemoryKind::Mmap | MemoryKind::MmapShared | MemoryKind::MmapHuge);
        if file.is_some() && !mapped {
            return Err(ValueError::new("a file only with mmap, mmapshared or mmaphuge"));
        }
        *self = Memory { kind, file: file.map(PathBuf::from) };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::parse;
    use super::*;

    #[test]
    fn mappings_may_name_a_file() {
        let mapped = Memory { kind: MemoryKind::Mmap, file: Some(PathBuf::from("/tmp/x")) };
        assert_eq!(parse("mmap:/tmp/x"), Ok(mapped.clone()));
        assert_eq!(parse(&mapped.to_string()), Ok(mapped));
        assert_eq!(parse("malloc"), Ok(Memory { kind: MemoryKind::Malloc, file: None }));
        assert!(parse::<Memory>("malloc:/tmp/x").is_err());
        assert!(parse::<Memory>("foo").is_err());
    }
}
