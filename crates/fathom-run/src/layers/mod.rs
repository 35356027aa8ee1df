//! `--layers`: where the time of each I/O goes. A separate process records the kernel's block events of the devices
//! below the jobs' files while the workers push a record per I/O into rings. It pairs each I/O with the requests
//! that it caused, by place and time, and counts its time in four layers that add up to its latency.
//!
//! * [`shared`]: the memory that workers, process and supervisor share.
//! * [`places`]: where the bytes of a file are on its device.
//! * [`pairing`]: requests, and the I/Os that they belong to.
//! * [`sampling`]: the part of the devices that is recorded.
//! * [`recorder`]: the process.

pub(crate) mod pairing;
pub(crate) mod places;
pub(crate) mod recorder;
mod sampling;
mod shared;

pub(crate) use shared::LayerRegion;

use crate::plan::WorkerPlan;
use fathom_spec::engines::{self, StorageKind};

/// Why the layers of a worker's I/Os cannot be recorded; `None` if they can.
fn obstacle(plan: &WorkerPlan) -> Option<&'static str> {
    let sends_commands = engines::ALL.iter().any(|def| def.name == plan.engine && def.sends_commands);
    if plan.storage != StorageKind::Files || plan.background.is_some() {
        Some("its engine uses no file or device of this machine")
    } else if plan.metadata.is_some() {
        Some("it moves no data")
    } else if sends_commands {
        Some("its engine sends commands past the block layer")
    } else if !plan.latency.clat.at_all && !plan.latency.lat.at_all {
        Some("it measures no latencies")
    } else {
        None
    }
}
