//! A run of fathom whose hosts are the ranks of an MPI job: `mpirun -n 512 fathom-mpi job.fio`.
//!
//! Every rank reads the same command line and files, which rank 0 has read for all, plans them for its machine and runs them
//! under its own supervisor. [`rounds`] has all ranks start together; while jobs run, no rank uses MPI. What the ranks
//! have counted is added up on its way to rank 0, which prints one report ([`run`]). If a rank dies, MPI ends all; what
//! [`snapshots`] had of them until then can still be printed ([`remains`]).

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
