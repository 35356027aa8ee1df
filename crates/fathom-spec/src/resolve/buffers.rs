//! Options for buffer content that exclude or override one another.

use super::Review;
use crate::diagnostic::Rejected;
use crate::options::buffers::DedupeMode;
use crate::spec::JobSpec;

/// Checks the working set, whose pages are each written once and count as unique.
pub(super) fn check_working_set(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let buffers = &job.buffers;
    let Some(percent) = buffers.dedupe_percentage else { return Ok(()) };
    let set = buffers.dedupe_working_set_percentage;
    if buffers.dedupe_mode == DedupeMode::WorkingSet && percent + set > 100 {
        return Err(review.refuse(
            &job.origin,
            format!(
                "fio: impossible to reach expected dedupe percentage {percent} since {set} percentage of size is reserved to dedupe working set (those are unique pages)"
            ),
            format!(
                "job {}: dedupe_percentage and dedupe_working_set_percentage may add up to 100 at most",
                job.name
            ),
        ));
    }
    Ok(())
}

/// Notes options without effect because another option determines the content.
pub(super) fn note_overruled(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let buffers = &job.buffers;
    let compresses = buffers.buffer_compress_percentage.is_some();
    let repeats = buffers.repeated_percentage().is_some();
    let mut idle: Vec<(&str, &str)> = Vec::new();
    if compresses || repeats {
        let ruler = if compresses { "with buffer_compress_percentage" } else { "with dedupe_percentage" };
        let overruled = [
            ("zero_buffers", buffers.zero_buffers),
            ("scramble_buffers", buffers.scramble_buffers),
            // Every write gets new content anyway, so enabling this is redundant, but disabling it has no
            // effect.
            ("refill_buffers", !buffers.refill_buffers),
        ];
        idle.extend(
            overruled.iter().filter(|(name, on)| *on && job.is_set(name)).map(|(name, _)| (*name, ruler)),
        );
    }
    if !compresses && !repeats && buffers.scramble_buffers && job.is_set("scramble_buffers") {
        let fixed = [
            ("with buffer_pattern", buffers.buffer_pattern.is_some()),
            ("with zero_buffers", buffers.zero_buffers),
        ];
        let ruler = fixed.into_iter().find(|(_, is_given)| *is_given);
        idle.extend(ruler.map(|(ruler, _)| ("scramble_buffers", ruler)));
    }
    if repeats && buffers.buffer_pattern.is_some() && buffers.buffer_compress_percentage.unwrap_or(0) == 0 {
        idle.push(("buffer_pattern", "with dedupe_percentage: the content is random"));
    }
    if !repeats {
        let refining = ["dedupe_mode", "dedupe_global", "dedupe_working_set_percentage"];
        idle.extend(
            refining.iter().filter(|name| job.is_set(name)).map(|name| (*name, "without dedupe_percentage")),
        );
    } else if buffers.dedupe_mode != DedupeMode::WorkingSet {
        let of_sets = ["dedupe_global", "dedupe_working_set_percentage"];
        idle.extend(
            of_sets
                .iter()
                .filter(|name| job.is_set(name))
                .map(|name| (*name, "without dedupe_mode=working_set")),
        );
    }
    if !compresses && !repeats && job.is_set("buffer_compress_chunk") {
        idle.push(("buffer_compress_chunk", "without buffer_compress_percentage"));
    }
    for (name, why) in idle {
        review.note(format!("fathom: job {}: {name} has no effect {why}", job.name));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, quiet_job, refusal};

    #[test]
    fn a_working_set_takes_its_share_of_unique_pages() {
        let words = "--name=a --size=1m --dedupe_mode=working_set --dedupe_percentage=";
        assert_eq!(
            refusal(&format!("{words}96")),
            "fio: impossible to reach expected dedupe percentage 96 since 5 percentage of size is reserved to dedupe \
             working set (those are unique pages)"
        );
        quiet_job(&format!("{words}95"));
    }

    #[test]
    fn options_without_effect_are_named() {
        let notes = |words: &str| job(&format!("--name=a --size=1m {words}")).1;
        assert_eq!(
            notes("--buffer_compress_percentage=50 --zero_buffers"),
            ["fathom: job a: zero_buffers has no effect with buffer_compress_percentage"]
        );
        assert_eq!(
            notes("--dedupe_global=1"),
            ["fathom: job a: dedupe_global has no effect without dedupe_percentage"]
        );
        assert_eq!(notes("--dedupe_percentage=5 --buffer_pattern=1 --refill_buffers=0").len(), 2);
        assert_eq!(
            notes("--zero_buffers=1 --scramble_buffers=1"),
            ["fathom: job a: scramble_buffers has no effect with zero_buffers"]
        );
        assert_eq!(
            notes("--scramble_buffers=1 --buffer_pattern=1"),
            ["fathom: job a: scramble_buffers has no effect with buffer_pattern"]
        );
        quiet_job("--name=a --size=1m --scramble_buffers=0 --buffer_pattern=1");
        assert_eq!(notes("--dedupe_percentage=5 --dedupe_working_set_percentage=9").len(), 1);
        quiet_job(
            "--name=a --size=1m --buffer_compress_percentage=50 --buffer_compress_chunk=4k --refill_buffers",
        );
        quiet_job(
            "--name=a --size=1m --dedupe_percentage=50 --buffer_compress_chunk=4k --scramble_buffers=0 --buffer_pattern=1 --buffer_compress_percentage=9",
        );
    }
}
