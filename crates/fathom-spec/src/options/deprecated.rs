//! Options that fio has dropped. Some are errors, others are accepted without effect; none has a value.

use crate::definition::{Category, OptionDef, Status};

/// The options without values.
pub static TABLE: &[OptionDef] = &[
    OptionDef::deprecated(
        "percentage_sequential",
        Status::Removed,
        Category::IoType,
        "Removed; use percentage_random",
    ),
    OptionDef::deprecated(
        "rwmixcycle",
        Status::Removed,
        Category::IoType,
        "Removed; rwmixread and rwmixwrite set the mix",
    ),
    OptionDef::deprecated("flow_watermark", Status::Ignored, Category::Rate, "No longer has any effect"),
    OptionDef::deprecated("verifysort", Status::Ignored, Category::Verification, "No longer has any effect"),
    OptionDef::deprecated(
        "verifysort_nr",
        Status::Ignored,
        Category::Verification,
        "No longer has any effect",
    ),
];
