//! Options of the `tiobench` profile.

use crate::declare::options;
use crate::definition::Names;
use crate::value::SizeSpec;

options! {
    /// Options of the `tiobench` profile.
    pub struct TiobenchOptions in Profile, table TABLE;

    /// Size in MiB
    Built Size size: Option<SizeSpec>;

    /// Block size
    Built Int block: u32 = "4096";

    /// Number of runs
    Built Int numruns: Option<u32>;

    /// Directory
    Built Text dir: Option<String>, { names: Names::Planned };

    /// Number of threads
    Built Int threads: Option<u32>;
}
