//! Amount of I/O and file sizes.

use crate::declare::options;
use crate::definition::Bounds;
use crate::value::{SizeRange, SizeSpec};

options! {
    /// Amount of I/O and file sizes.
    pub struct SizeOptions in Size, table TABLE;

    /// Amount of data that each clone covers, over all its files
    ///
    /// A percentage is relative to the size of the target, or to filesize if given.
    Built Size size: Option<SizeSpec>;

    /// Amount of I/O after which the job ends
    ///
    /// If larger than size, the job covers the region again. A percentage is relative to size.
    Built Size io_size: Option<SizeSpec>, { aliases: &["io_limit"] };

    /// Write until the device or file system is full
    ///
    /// Running out of space is not an error. size still limits a job. The files of a reading job are filled first.
    Built Bool fill_device: bool = "0", { aliases: &["fill_fs"] };

    /// Size of each file
    ///
    /// With two values, each file gets a random size between them. offset counts within the file, and size limits the I/O.
    Built Size filesize: Option<SizeRange>, { bounds: Bounds::at_least(1.0) };

    /// Append to existing files
    Built Bool file_append: bool = "0";
}

impl SizeOptions {
    /// True if the files of the job fill all available space.
    pub fn fills_space(&self) -> bool {
        self.fill_device
            && self.filesize.is_none()
            && !matches!(self.size, Some(SizeSpec::Bytes(_) | SizeSpec::Zones(_)))
    }
}
