//! Verification: the history of a worker's writes. The block format and the verdicts are in the crate
//! `fathom-verify`; the worker's part is `worker/sources/verifier/`.

pub mod history;
