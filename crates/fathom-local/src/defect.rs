//! The line that reports a bug in fathom.

use fathom_run::invariant::Broken;
use std::panic::PanicHookInfo;

/// One line that asks for a bug report, for a panic hook; users see it instead of a backtrace.
pub fn line(details: &PanicHookInfo<'_>) -> String {
    let place =
        details.location().map_or(String::new(), |place| format!(" at {}:{}", place.file(), place.line()));
    let broken = details.payload().downcast_ref::<Broken>().map(Broken::to_string);
    let text = broken.as_deref().or_else(|| details.payload_as_str()).unwrap_or("no details");
    format!("fathom: internal error{place} ({text}); please report it with the command that caused it")
}
