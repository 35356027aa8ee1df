//! The `mtd` engine and its options.

use crate::declare::options;
use crate::diagnostic::Rejected;
use crate::engines::{EngineDef, Review, refuse_appending};
use crate::spec::JobSpec;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "mtd";

/// `ioengine=mtd`
pub const DEFINITION: EngineDef = EngineDef::new(ENGINE, "flash memory character devices; trims erase")
    .built()
    .synchronous()
    .on_media()
    .with_options(TABLE)
    .with_rules(&[check]);

options! {
    /// Options of the `mtd` engine.
    pub struct MtdOptions in Engine, table TABLE;

    /// Skip I/O to bad erase blocks
    Built Bool skip_bad: bool = "0", { engine: ENGINE };
}

/// Refuses to append to flash memory, which has a fixed size.
fn check(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    refuse_appending(job, review, "on a device")
}

#[cfg(test)]
mod tests {
    use crate::resolve::testing::refusal;

    #[test]
    fn nothing_is_appended_to_a_device() {
        let line = "fio: can't append/extent with IO engine mtd";
        assert_eq!(refusal("--name=a --ioengine=mtd --filename=/dev/mtd0 --file_append=1 --size=1m"), line);
    }
}
