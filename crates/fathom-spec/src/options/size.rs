//! How much data the job handles.

use crate::definition::{Bounds, options};
use crate::value::{SizeRange, SizeSpec};

options! {
    /// How much data the job handles.
    pub struct SizeOptions at job.size, in Size, table TABLE;

    /// Bytes that each clone handles, over all its files
    ///
    /// A percentage counts from the size of the target, or from filesize where that is given.
    Built Size size: Option<SizeSpec>;

    /// Bytes of I/O after which the job ends
    ///
    /// May be more than size, which is then gone through again; a percentage counts from size.
    Built Size io_size: Option<SizeSpec>, { aliases: &["io_limit"] };

    /// Write until no space is left
    ///
    /// That is no error. A job with a size writes no more than that; one that reads has its files filled first.
    Built Bool fill_device: bool = "0", { aliases: &["fill_fs"] };

    /// Size of each file
    ///
    /// Two values give each file a size drawn from between them. The offset counts within it, and size limits what is done.
    Built Size filesize: Option<SizeRange>, { bounds: Bounds::at_least(1.0) };

    /// Start writing at the end of an existing file
    Built Bool file_append: bool = "0";
}

impl SizeOptions {
    /// True for a job whose files take all the space there is.
    pub fn fills_space(&self) -> bool {
        self.fill_device
            && self.filesize.is_none()
            && !matches!(self.size, Some(SizeSpec::Bytes(_) | SizeSpec::Zones(_)))
    }
}
