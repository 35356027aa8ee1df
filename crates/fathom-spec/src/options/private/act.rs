//! Options of the `act` profile.

use std::time::Duration;

use crate::declare::options;
use crate::definition::Names;

options! {
    /// Options of the `act` profile.
    pub struct ActOptions in Profile, table TABLE;

    /// Devices or files, separated by commas (required)
    Built Text device_names as "device-names": Option<String>, { names: Names::Planned };

    /// Multiplier for 2000 reads and 1000 record writes per second and device
    Built Int load: u32 = "1";

    /// Length of the test
    Built Time test_duration as "test-duration": Duration = "24h";

    /// Reader threads per device
    Built Int threads_per_queue as "threads-per-queue": u32 = "8";

    /// Sectors per read and per record
    Built Int read_req_num_512_blocks as "read-req-num-512-blocks": u32 = "3";

    /// Write size, in bytes despite the name
    Built Int large_block_op_kbytes as "large-block-op-kbytes": u32 = "131072";

    /// Prepare the devices instead of testing them
    Built Flag prep: bool;
}
