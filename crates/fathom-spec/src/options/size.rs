//! How much data the job handles.

use crate::definition::{Bounds, options};
use crate::value::{SizeRange, SizeSpec};

options! {
    /// How much data the job handles.
    pub struct SizeOptions at job.size, in Size, table TABLE;

    /// Total bytes handled per clone over all its files; percent of target allowed
    Built Size size: Option<SizeSpec>;

    /// Stop after this much I/O instead of after size; may exceed size
    Built Size io_size: Option<SizeSpec>, { aliases: &["io_limit"] };

    /// Write until the target reports no space
    Built Bool fill_device: bool = "0", { aliases: &["fill_fs"] };

    /// Size of each file; a low-high pair gives random sizes
    Built Size filesize: Option<SizeRange>, { bounds: Bounds::at_least(1.0) };

    /// Start writing at the end of an existing file
    Later Bool file_append: bool = "0";
}
