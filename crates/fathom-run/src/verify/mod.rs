//! Verification: the record of what a worker wrote. The block format and the verdicts are in the crate
//! `fathom-verify`; the worker's part is `worker/sources/verifier/`.

pub mod history;
