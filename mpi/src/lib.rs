//! How the ranks of an MPI job talk to each other. A program that runs a job on them is not part of it.

#![forbid(unsafe_code)]

pub mod communicator;
