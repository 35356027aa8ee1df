//! The engine and what several engines share.

use crate::definition::{Bounds, choices, options};
use crate::engines;
use crate::value::{EngineName, ParseContext, PlacementIds, ValueError};
use std::path::Path;

choices! {
    /// Kind of placement directive.
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
    /// How a placement identifier is chosen.
    pub enum PlacementSelect {
        /// At random
        Random = "random",
        /// In turn
        RoundRobin = "roundrobin",
        /// By offset, from a scheme file
        Scheme = "scheme",
    }
}

/// Refuses a file that does not exist, unless only the text counts.
fn check_scheme(text: &str, context: &mut ParseContext<'_>) -> Result<(), ValueError> {
    if context.parse_only || context.source.exists(Path::new(text)) {
        return Ok(());
    }
    context.complain(format!("fio: lstat() error related to {text}"));
    Err(ValueError::new("a file that exists"))
}

options! {
    /// The engine and what several engines share.
    pub struct EngineOptions at job.engine, in Engine, table TABLE;

    /// Engine that does the I/O
    ///
    /// external:PATH names a shared object.
    Built Text ioengine: EngineName = "psync", { choices: engines::CHOICES };

    /// Ranges in each trim command
    Built Int num_range: u32 = "1", { bounds: Bounds::at_most(256.0) };

    /// Write blocks that are never torn
    ///
    /// Implies direct; only for pvsync2, libaio and io_uring.
    Built Bool atomic: bool = "0";

    /// Flexible data placement for writes
    ///
    /// The same as dataplacement=fdp. Only engines that speak to the device itself can do it.
    Built Bool fdp: bool = "0";

    /// Data placement directive kind
    Built Choice dataplacement: DataPlacement = "none", {
        aliases: &["data_placement"],
        choices: DataPlacement::CHOICES,
    };

    /// How a placement id is chosen
    Built Choice plid_select: PlacementSelect = "roundrobin", {
        aliases: &["fdp_pli_select"],
        choices: PlacementSelect::CHOICES,
    };

    /// Comma list (ranges allowed) of placement ids
    Built Text plids: Option<PlacementIds>, { aliases: &["fdp_pli"] };

    /// File of "start,end,id" lines mapping offsets to placement ids
    Built Text dp_scheme: Option<String>, { check: Some(check_scheme) };
}
