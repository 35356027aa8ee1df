//! The I/O engine and the options that several engines share.

use crate::declare::{choices, options};
use crate::definition::{Bounds, Names};
use crate::engines;
use crate::value::{EngineName, ParseContext, PlacementIds, ValueError};
use std::path::Path;

choices! {
    /// Type of data placement.
    pub enum DataPlacement {
        /// None
        None = "none",
        /// Flexible data placement
        Fdp = "fdp",
        /// Write streams
        Streams = "streams",
    }
}

choices! {
    /// How to choose a placement identifier.
    pub enum PlacementSelect {
        /// At random
        Random = "random",
        /// Round robin
        RoundRobin = "roundrobin",
        /// By offset, from a scheme file
        Scheme = "scheme",
    }
}

/// Refuses a file that does not exist, except with --parse-only.
fn check_scheme(text: &str, context: &mut ParseContext<'_>) -> Result<(), ValueError> {
    if context.parse_only || context.source.exists(Path::new(text)) {
        return Ok(());
    }
    context.complain(format!("fio: lstat() error related to {text}"));
    Err(ValueError::new("a file that exists"))
}

options! {
    /// The I/O engine and the options that several engines share.
    pub struct EngineOptions in Engine, table TABLE;

    /// I/O engine
    ///
    /// external:PATH loads a shared object.
    Built Text ioengine: EngineName = "psync", { names: Names::Nothing, choices: engines::CHOICES };

    /// Number of ranges per trim command
    Built Int num_range: u32 = "1", { bounds: Bounds::at_most(256.0) };

    /// Issue atomic writes, which are never torn
    ///
    /// Implies direct; only for pvsync2, libaio and io_uring.
    Built Bool atomic: bool = "0";

    /// Flexible data placement for writes
    ///
    /// Same as dataplacement=fdp. Only engines that send commands directly to the device support it.
    Built Bool fdp: bool = "0";

    /// Type of data placement
    Built Choice dataplacement: DataPlacement = "none", {
        aliases: &["data_placement"],
        choices: DataPlacement::CHOICES,
    };

    /// How to choose a placement id
    Built Choice plid_select: PlacementSelect = "roundrobin", {
        aliases: &["fdp_pli_select"],
        choices: PlacementSelect::CHOICES,
    };

    /// Placement ids, separated by commas; ranges allowed
    Built Text plids: Option<PlacementIds>, { names: Names::Nothing, aliases: &["fdp_pli"] };

    /// File with "start,end,id" lines that map offsets to placement ids
    Built Text dp_scheme: Option<String>, { names: Names::File, check: Some(check_scheme) };
}
