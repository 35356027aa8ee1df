//! Job name, number of runs, units.

use crate::declare::{choices, options};
use crate::definition::Names;

choices! {
    /// Meaning of suffixes such as k.
    pub enum KbBase {
        /// k is 1024, kib is 1000, as always in fio
        Binary = "1024",
        /// k is 1000, kib is 1024
        Decimal = "1000",
    }
}

choices! {
    /// Unit of bandwidth in reports.
    pub enum UnitBase {
        /// As the engine prefers
        Auto = "0",
        /// Bytes
        Bytes = "8",
        /// Bits
        Bits = "1",
    }
}

options! {
    /// Job name, number of runs, units.
    pub struct JobDescriptionOptions in JobDescription, table TABLE;

    /// Description to print in the report
    Built Text description: Option<String>, { names: Names::Nothing };

    /// Job name
    ///
    /// On the command line, this starts a new job; in a job file, it replaces the section name.
    Built Text name: Option<String>, { names: Names::Planned };

    /// Number of times to run the whole job
    Built Int loops: u32 = "1";

    /// Number of clones of the job
    ///
    /// A run has at most 4096 clones in total.
    Built Int numjobs: u32 = "1";

    /// Meaning of suffixes such as k
    ///
    /// With 1024, k is 1024 and kib 1000; with 1000, k is 1000 and kib 1024.
    Built Choice kb_base: KbBase = "1024", { choices: KbBase::CHOICES, early: true };

    /// Unit of bandwidth in reports
    ///
    /// The default depends on the engine.
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
