//! A run of fathom whose hosts are the ranks of an MPI job: `mpirun -n 512 fathom-mpi job.fio`.
//!
//! Every rank receives the command line and files from rank 0, plans the jobs for its machine and runs them
//! under its own supervisor. [`rounds`] makes all ranks start together; while jobs run, no rank uses MPI. The
//! results of the ranks are summed on their way to rank 0, which prints one report ([`run`]). If a rank dies,
//! MPI ends all ranks; their last [`snapshots`] can still be printed ([`remains`]).

#![forbid(unsafe_code)]

pub mod communicator;
mod observer;
mod opening;
mod options;
mod orders;
pub mod remains;
mod results;
pub mod rounds;
pub mod run;
pub mod snapshots;

pub use options::{Own, own_options};
