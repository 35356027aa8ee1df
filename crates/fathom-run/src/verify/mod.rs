//! Verification: the memory of what a worker wrote.
//!
//! How blocks look and are judged is the business of the crate `fathom-verify`; the worker's part is `worker/sources/verifier/`.

pub mod history;
