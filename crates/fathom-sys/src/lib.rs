//! All raw system calls and pointer arithmetic, except for the engines' own rings. They are small, safe
//! wrappers: each returns an [`Errno`] or plain data, never prints, and knows nothing about jobs. Optional
//! kernel features are probed where they are used.

pub mod affinity;
pub mod block_device;
pub mod clock;
pub mod companion;
pub mod credentials;
pub mod device_mapper;
pub mod directory;
pub mod directory_watch;
pub mod errno;
pub mod extents;
pub mod fifo;
pub mod file;
pub mod file_system;
pub mod flash;
pub mod forbidden;
pub mod futex;
pub mod limits;
pub mod load;
pub mod loop_device;
pub mod memory;
pub mod mount;
pub mod mount_list;
pub mod network;
pub mod numa;
pub mod nvme;
pub mod page_cache;
pub mod persistent_memory;
pub mod pipe;
pub mod priority;
pub mod process;
pub mod scheduling;
pub mod scsi;
pub mod shell;
pub mod signal;
pub mod socket;
mod span;
pub mod streams;
pub mod task;
pub mod terminal;
pub mod usage;
pub mod zoned;

pub use errno::Errno;
