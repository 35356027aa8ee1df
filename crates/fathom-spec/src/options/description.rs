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

    /// Text copied into the report
    Built Text description: Option<String>;

    /// Name of the job
    ///
    /// On the command line it opens a new job; in a job file it replaces the name of the section.
    Built Text name: Option<String>;

    /// Number of times the whole job runs
    Built Int loops: u32 = "1";

    /// Number of clones of the job
    ///
    /// All clones of a run together are at most 4096.
    Built Int numjobs: u32 = "1";

    /// What suffixes such as k mean
    ///
    /// With 1024, k is 1024 and kib 1000; with 1000, k is 1000 and kib 1024.
    Built Choice kb_base: KbBase = "1024", { choices: KbBase::CHOICES, early: true };

    /// Unit of bandwidth in reports
    ///
    /// Without it, the engine decides.
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
