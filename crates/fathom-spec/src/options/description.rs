//! What the job is called, how often it runs, how sizes are read.

use crate::definition::{choices, options};

choices! {
    /// What suffixes such as k mean.
    pub enum KbBase {
        /// k is 1024, kib is 1000, as fio always had it
        Binary = "1024",
        /// k is 1000, kib is 1024
        Decimal = "1000",
    }
}

choices! {
    /// Unit of bandwidth in reports.
    pub enum UnitBase {
        /// The engine decides
        Auto = "0",
        /// Bytes
        Bytes = "8",
        /// Bits
        Bits = "1",
    }
}

options! {
    /// What the job is called, how often it runs, how sizes are read.
    pub struct JobDescriptionOptions at job.job_description, in JobDescription, table TABLE;

    /// Free text copied into the report (normal, JSON "desc", terse last field)
    Built Text description: Option<String>;

    /// Job name; on the command line it starts a new job section
    Built Text name: Option<String>;

    /// Run the whole job this many times
    Built Int loops: u32 = "1";

    /// Number of clones of this job
    Built Int numjobs: u32 = "1";

    /// Whether k/M/G suffixes mean powers of 1024 or 1000 (the "i" forms mean the opposite)
    Built Choice kb_base: KbBase = "1024", { choices: KbBase::CHOICES, early: true };

    /// Report bandwidth in bytes (8), bits (1) or decide from the engine (0)
    Built Choice unit_base: Option<UnitBase>, { choices: UnitBase::CHOICES, early: true };
}

impl KbBase {
    /// The number itself.
    pub fn factor(self) -> u32 {
        match self {
            KbBase::Binary => 1024,
            KbBase::Decimal => 1000,
        }
    }
}
