//! Options of the `tiobench` profile.

use crate::definition::options;
use crate::value::SizeSpec;

options! {
    /// Options of the `tiobench` profile.
    pub struct TiobenchOptions at job.private.tiobench, in Profile, table TABLE;

    /// Size in MiB
    Later Size size: Option<SizeSpec>;

    /// Block size
    Later Int block: u32 = "4096";

    /// Runs
    Later Int numruns: Option<u32>;

    /// Directory
    Later Text dir: Option<String>;

    /// Number of threads
    Later Int threads: Option<u32>;
}
