//! Ending a job when it reaches a steady state.

use std::time::Duration;

use crate::declare::options;
use crate::value::{SteadyCriterion, SteadyState};

options! {
    /// Ending a job when it reaches a steady state.
    pub struct SteadyStateOptions in SteadyState, table TABLE;

    /// Steady state criterion and limit, such as bw_slope:0.3% or iops:100
    Built Choice steadystate: SteadyState = "iops_slope:0.01%", {
        aliases: &["ss"],
        choices: SteadyCriterion::CHOICES,
    };

    /// Length of the steady state window; 0 turns it off
    Built Time steadystate_duration: Duration = "0", { aliases: &["ss_dur"], parent: Some("steadystate") };

    /// Time to wait before the window starts
    Built Time steadystate_ramp_time: Duration = "0", {
        aliases: &["ss_ramp"],
        parent: Some("steadystate"),
    };

    /// Sampling interval, at least 1 s
    Built Time steadystate_check_interval: Duration = "1", {
        aliases: &["ss_interval"],
        parent: Some("steadystate"),
    };
}
