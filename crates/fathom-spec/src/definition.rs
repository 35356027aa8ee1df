//! The definition of an option, which holds all of its properties. Options are declared in `options/` and
//! `engines/`, with the macros of `declare`.

use serde::{Deserialize, Serialize};

use std::any::{Any, TypeId};

use crate::context::{ParseContext, ValueError};

/// Whether an option works in this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The option works.
    Built,
    /// The option is known, but any value other than its default is refused.
    Later,
    /// The option was removed: using it is an error.
    Removed,
    /// The option is accepted but no longer has any effect.
    Ignored,
}

/// The shape of an option's value on the command line and in `--cmdhelp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Free text, or text with its own grammar.
    Text,
    /// Text that may be left out in a job file.
    OptionalText,
    /// One of a list of words; some take arguments after a colon.
    Choice,
    /// A whole number.
    Int,
    /// A number of bytes.
    Size,
    /// 0 or 1.
    Bool,
    /// On if named; a number is accepted only after `=`.
    Flag,
    /// A length of time.
    Time,
    /// One to three ranges of sizes.
    Range,
    /// Floating point numbers, separated by colons.
    FloatList,
    /// An option that no longer has a value.
    Deprecated,
}

impl Kind {
    /// How `--cmdhelp` describes this kind of value.
    pub fn description(self) -> &'static str {
        match self {
            Kind::Text | Kind::OptionalText | Kind::Choice => "string (opt=bla)",
            Kind::Int => "integer value (opt=100)",
            Kind::Size => "string with possible k/m/g postfix (opt=4k)",
            Kind::Bool => "boolean value (opt=1)",
            Kind::Flag => "empty or boolean value ([0|1])",
            Kind::Time => "string with time postfix (opt=10s)",
            Kind::Range => "one to three ranges (opt=1k-4k[,4k-8k[,1k-8k]])",
            Kind::FloatList => "list of floating point values separated by ':' (opt=5.9:7.8)",
            Kind::Deprecated => "(null)",
        }
    }
}

/// The chapter to which an option belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Category {
    /// Job name and number of loops.
    JobDescription,
    /// I/O direction, pattern and caching.
    IoType,
    /// Files and zones.
    File,
    /// Amount of I/O.
    Size,
    /// Queue depth.
    Depth,
    /// Block sizes.
    BlockSize,
    /// Start and stop times.
    Time,
    /// Rates and pauses.
    Rate,
    /// Processes, CPUs, priorities.
    Threads,
    /// Measurements and logs.
    Measurement,
    /// Latency limits.
    Latency,
    /// Verification.
    Verification,
    /// Recording and replaying.
    Replay,
    /// I/O buffers.
    Buffers,
    /// Error handling.
    ErrorHandling,
    /// The I/O engine and its options.
    Engine,
    /// Ending at a steady state.
    SteadyState,
    /// Built-in workloads.
    Profile,
}

impl Category {
    /// All categories, in the order of the tables.
    pub const ALL: [Category; 18] = [
        Category::JobDescription,
        Category::IoType,
        Category::File,
        Category::Size,
        Category::Depth,
        Category::BlockSize,
        Category::Time,
        Category::Rate,
        Category::Threads,
        Category::Measurement,
        Category::Latency,
        Category::Verification,
        Category::Replay,
        Category::Buffers,
        Category::ErrorHandling,
        Category::Engine,
        Category::SteadyState,
        Category::Profile,
    ];

    /// The title used in documentation.
    pub fn title(self) -> &'static str {
        match self {
            Category::JobDescription => "Job description",
            Category::IoType => "I/O type",
            Category::File => "Files",
            Category::Size => "Size",
            Category::Depth => "Queue depth",
            Category::BlockSize => "Block size",
            Category::Time => "Time",
            Category::Rate => "Rate",
            Category::Threads => "Threads, processes and job synchronisation",
            Category::Measurement => "Measurement",
            Category::Latency => "Latency",
            Category::Verification => "Verification",
            Category::Replay => "Replay",
            Category::Buffers => "Buffers and memory",
            Category::ErrorHandling => "Error handling",
            Category::Engine => "Engine",
            Category::SteadyState => "Steady state",
            Category::Profile => "Profiles",
        }
    }
}

/// Unit of a time that is written without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
}

impl TimeUnit {
    pub(crate) fn microseconds(self) -> u64 {
        match self {
            TimeUnit::Seconds => 1_000_000,
            TimeUnit::Milliseconds => 1_000,
            TimeUnit::Microseconds => 1,
        }
    }
}

/// Range of numbers that an option accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Smallest value.
    pub min: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
}

impl Bounds {
    /// No limits.
    pub const NONE: Bounds = Bounds { min: None, max: None };

    /// Only a minimum.
    pub const fn at_least(min: f64) -> Bounds {
        Bounds { min: Some(min), max: None }
    }

    /// Only a maximum.
    pub const fn at_most(max: f64) -> Bounds {
        Bounds { min: None, max: Some(max) }
    }

    /// Both limits.
    pub const fn between(min: f64, max: f64) -> Bounds {
        Bounds { min: Some(min), max: Some(max) }
    }
}

/// A word that an option accepts, and its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The word as written.
    pub name: &'static str,
    /// Its meaning, briefly.
    pub help: &'static str,
}

/// The kind of object outside its job to which an option's value refers. Programs that run jobs from others use
/// this to decide what the jobs may access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// Not declared. Options with text values must declare what they refer to.
    Undeclared,
    /// The value refers to nothing outside: it is a word, a number, or a name that occurs only in jobs and
    /// reports.
    Nothing,
    /// Targets of the job, or logs of its run; the job's plan lists all of them.
    Planned,
    /// A file whose content becomes part of the job, through [`Machine::read_bytes`](crate::Machine::read_bytes).
    Content,
    /// A file on the machine that runs the job.
    File,
    /// A file on that machine that the client of a server reads, such as a certificate.
    ClientFile,
    /// An object on a server or another host.
    Remote,
    /// A command or a program.
    Program,
    /// A setting of the machine.
    Setting,
}

/// A job as its options see it: groups of values. The macro `options!` declares the type of each group.
pub trait Groups {
    /// The group of this type, if the job has one.
    fn group(&self, of: TypeId) -> Option<&dyn Any>;
    /// The same group, for modification.
    fn group_mut(&mut self, of: TypeId) -> Option<&mut dyn Any>;
}

/// The values of a group.
pub(crate) fn group<G: Any>(job: &dyn Groups) -> &G {
    let found = job.group(TypeId::of::<G>()).and_then(|group| group.downcast_ref());
    found.unwrap_or_else(|| panic!("no job has {}", std::any::type_name::<G>()))
}

/// The values of a group, for modification.
pub(crate) fn group_mut<G: Any>(job: &mut dyn Groups) -> &mut G {
    let found = job.group_mut(TypeId::of::<G>()).and_then(|group| group.downcast_mut());
    found.unwrap_or_else(|| panic!("no job has {}", std::any::type_name::<G>()))
}

/// Writes a value into a job.
pub type Setter = fn(&mut dyn Groups, &str, &OptionDef, &mut ParseContext<'_>) -> Result<(), ValueError>;

/// Checks the text of a value against the machine.
pub type Check = fn(&str, &mut ParseContext<'_>) -> Result<(), ValueError>;

/// All properties of one option; created by the `options!` macro.
#[derive(Debug, Clone, Copy)]
pub struct OptionDef {
    /// Canonical name.
    pub name: &'static str,
    /// Aliases of the option.
    pub aliases: &'static [&'static str],
    /// Shape of the value.
    pub kind: Kind,
    /// Default value, as text.
    pub default: Option<&'static str>,
    /// Accepted range of numbers.
    pub bounds: Bounds,
    /// Words that the value may be.
    pub choices: &'static [Choice],
    /// Words that are known, but refused in this version.
    pub later_choices: &'static [&'static str],
    /// Chapter of the documentation.
    pub category: Category,
    /// The option that this one refines, for indentation in listings.
    pub parent: Option<&'static str>,
    /// Engine to which the option belongs; empty for options of every job.
    pub engine: &'static str,
    /// Help text: the documentation of the field. Its first line is the summary.
    pub help: &'static str,
    /// Whether the option works in this version.
    pub status: Status,
    /// Unit of a time without a suffix.
    pub unit: TimeUnit,
    /// True if the option is applied before the other options of its section.
    pub early: bool,
    /// True if the option is left out of the list of all options, as in fio.
    pub unlisted: bool,
    /// True if the option's value must never be shown.
    pub secret: bool,
    /// The kind of object outside the job to which the value refers.
    pub names: Names,
    /// Checks the text before it is stored, for options whose values depend on the machine.
    pub check: Option<Check>,
    /// Writes a value into a job.
    pub set: Setter,
    /// True if the job's value is the default.
    pub is_default: fn(&dyn Groups, &OptionDef) -> bool,
}

fn set_nothing(
    _: &mut dyn Groups,
    _: &str,
    _: &OptionDef,
    _: &mut ParseContext<'_>,
) -> Result<(), ValueError> {
    Ok(())
}

impl OptionDef {
    /// A base that declarations fill in.
    pub const BLANK: OptionDef = OptionDef {
        name: "",
        aliases: &[],
        kind: Kind::Text,
        default: None,
        bounds: Bounds::NONE,
        choices: &[],
        later_choices: &[],
        category: Category::Engine,
        parent: None,
        engine: "",
        help: "",
        status: Status::Later,
        unit: TimeUnit::Seconds,
        early: false,
        unlisted: false,
        secret: false,
        names: Names::Undeclared,
        check: None,
        set: set_nothing,
        is_default: |_, _| true,
    };

    /// Declares an option that fio used to have; it holds no value.
    pub(crate) const fn deprecated(
        name: &'static str,
        status: Status,
        category: Category,
        help: &'static str,
    ) -> OptionDef {
        OptionDef { name, kind: Kind::Deprecated, category, help, status, ..OptionDef::BLANK }
    }

    /// The first line of the help text.
    pub fn summary(&self) -> &'static str {
        self.help.lines().next().unwrap_or("").trim()
    }

    /// The help text without its first line.
    pub fn details(&self) -> String {
        self.help.lines().skip(1).map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// True if this is the name or an alias of the option.
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// True if a value has to follow the name.
    pub fn needs_value(&self) -> bool {
        !matches!(self.kind, Kind::Flag)
    }
}
