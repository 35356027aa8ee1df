//! Ending a job when its figures have settled.

use std::time::Duration;

use crate::definition::options;
use crate::value::{SteadyCriterion, SteadyState};

options! {
    /// Ending a job when its figures have settled.
    pub struct SteadyStateOptions at job.steady_state, in SteadyState, table TABLE;

    /// Criterion and limit, e.g. bw_slope:0.3% or iops:100
    Built Choice steadystate: SteadyState = "iops_slope:0.01%", {
        aliases: &["ss"],
        choices: SteadyCriterion::CHOICES,
    };

    /// Window length; 0 is off
    Built Time steadystate_duration: Duration = "0", { aliases: &["ss_dur"], parent: Some("steadystate") };

    /// Time before the window starts
    Built Time steadystate_ramp_time: Duration = "0", {
        aliases: &["ss_ramp"],
        parent: Some("steadystate"),
    };

    /// Sampling step, at least 1 s
    Built Time steadystate_check_interval: Duration = "1", {
        aliases: &["ss_interval"],
        parent: Some("steadystate"),
    };
}
