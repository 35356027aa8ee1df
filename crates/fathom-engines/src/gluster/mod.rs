//! Gluster volumes, through libgfapi: `volume.rs` connects and holds the files, `storage.rs` creates and
//! removes them. `gfapi.rs` does one I/O at a time, `gfapi_async.rs` many concurrently.

pub(crate) mod gfapi;
pub(crate) mod gfapi_async;
mod storage;
mod volume;
