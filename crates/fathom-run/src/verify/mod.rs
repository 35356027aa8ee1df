//! Verification: the record of what a worker wrote. The format and the judgement of blocks are in the crate `fathom-verify`;
//! the worker's part is `worker/sources/verifier/`.

pub mod history;
