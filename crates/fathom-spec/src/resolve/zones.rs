//! Amounts counted in zones.

use super::Review;
use crate::assign::Rejected;
use crate::diagnostic::Diagnostic;
use crate::options::file::ZoneMode;
use crate::outcome::Message;
use crate::spec::JobSpec;
use crate::value::SizeSpec;

/// Zones are counted only where there are zones.
pub(super) fn check_zones(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if job.file.zonemode == ZoneMode::Zbd {
        return Ok(());
    }
    let amounts = [
        ("size", job.size.size),
        ("io_size", job.size.io_size),
        ("offset", Some(job.io_type.offset)),
        ("offset_increment", Some(job.io_type.offset_increment)),
    ];
    let Some((option, _)) = amounts.iter().find(|(_, amount)| matches!(amount, Some(SizeSpec::Zones(_))))
    else {
        return Ok(());
    };
    if *option == "size" {
        review.messages.push(Message::stderr(format!("{}: you need to specify size=", job.name)));
    }
    let problem = format!("job {}: {option} counts zones, which needs zonemode=zbd", job.name);
    review.messages.push(Diagnostic::general(&job.origin, problem).message());
    Err(Rejected)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{quiet_job, refusal};

    #[test]
    fn zones_need_a_zoned_job() {
        assert_eq!(refusal("--name=a --size=4z"), "a: you need to specify size=");
        for option in ["io_size", "offset", "offset_increment"] {
            let line = refusal(&format!("--name=a --{option}=1z"));
            assert!(line.ends_with(&format!("{option} counts zones, which needs zonemode=zbd")), "{line}");
        }
        quiet_job("--name=a --size=1m --offset=4k");
    }
}
