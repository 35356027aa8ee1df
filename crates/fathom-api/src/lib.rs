//! Storage tests from a Rust program: the jobs, the run loop and the figures of [fathom], which runs every job file of fio.
//!
//! A test has four steps: [`Jobs`] parses a job file, a [`Plan`] shows the files that the jobs would use and
//! change, a [`Runner`] runs them, and the [`Outcome`] contains the result, in the same model that [`read`]
//! creates from the JSON of fathom and fio.
//!
//! ```
//! let runner = fathom::Runner::begin(); // first in main(): see below
//!
//! # let directory = std::env::temp_dir().join(format!("fathom-api-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory)?;
//! # let file = directory.join("first.data");
//! # let job = format!("[first]\nfilename={}\nrw=randread\nbs=4k\nsize=4m\nnumber_ios=500\n", file.display());
//! let jobs = fathom::Jobs::parse(&job)?;
//! let plan = jobs.plan()?;
//! for target in plan.targets() {
//!     println!("{}: {}", target.job, target.path.display());
//! }
//! let outcome = runner.run(&plan)?;
//! for job in &outcome.result.jobs {
//!     if let Some(read) = &job.read {
//!         println!("{}: {:.0} IOPS, mean {:.0} ns", job.name, read.iops, read.clat.mean_ns);
//!     }
//! }
//! # assert_eq!(outcome.result.jobs[0].total_ios(fathom::Direction::Read), 500);
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it asks of the program that uses it
//!
//! * **[`Runner::begin`] comes first in `main`.** A run forks its workers, which a process with threads cannot
//!   do safely. Therefore each run is a separate process: this program is started again, and becomes the run in
//!   `begin`, which then never returns. Any code before that call in `main` is executed in the run's process
//!   too.
//! * **It runs on Linux** and needs `/proc`.
//! * **Jobs are trusted.** They write to the files and devices that they name, run commands (`exec_prerun`) and
//!   load engines (`ioengine=external`). Before a run, [`Plan::targets`] lists the files and devices that it
//!   changes, with their other users. The run itself refuses a target that is in use.
//! * **A run ends with the program that started it**, even if the program is killed, and when its [`Running`]
//!   is dropped. It receives signals for the program's process group: Ctrl-C in a terminal reaches both, and
//!   the run ends early with the figures measured until then.
//! * **Calls block.** In asynchronous code, call them on a thread that may block. A run continues at full speed
//!   if its events are not read.
//!
//! The library prints nothing, except one line on standard error after a bug in fathom itself. The names of
//! jobs' options, the meaning of figures and the verdict are documented with fathom.
//!
//! [fathom]: https://repository.invalid/fathom

#![forbid(unsafe_code)]

mod child;
mod error;
mod jobs;
mod plan;
mod runner;
mod running;
mod wire;

/// The model of results. Times are in ns where the name says so, rates are per second, shares in percent.
pub mod result {
    pub use fathom_results::model::*;
    pub use fathom_results::{FilesResult, HostFigures, HostResult, HostsResult, ReadError, RunResult};
}

pub use error::{Error, JobsError, RunError};
pub use fathom_results::{ReadError, RunResult, read};
pub use fathom_run::plan::PlanError;
pub use fathom_spec::mistakes::Mistake;
pub use fathom_stats::Direction;
pub use jobs::Jobs;
pub use plan::{Plan, Target};
pub use runner::Runner;
pub use running::{Event, Outcome, Running, Stopper};
pub use wire::{Progress, Rates};
