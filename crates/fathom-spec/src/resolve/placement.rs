//! Data placement hints for the device: `fdp`, `dataplacement` and related options.

use super::Review;
use crate::diagnostic::Rejected;
use crate::options::engine::{DataPlacement, PlacementSelect};
use crate::spec::JobSpec;

/// Requires that the placement options are unambiguous and that the engine supports placement.
pub(super) fn check_placement(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let options = &job.engine;
    if options.fdp && job.is_set("dataplacement") && options.dataplacement != DataPlacement::Fdp {
        return Err(review.refuse(
            &job.origin,
            "fio: fdp=1 is not compatible with dataplacement={streams, none}",
            format!("job {}: leave out fdp, which means dataplacement=fdp", job.name),
        ));
    }
    if options.fdp {
        job.engine.dataplacement = DataPlacement::Fdp;
    }
    let options = &job.engine;
    if options.dataplacement == DataPlacement::None {
        note_idle_options(job, review);
        return Ok(());
    }
    if options.dataplacement == DataPlacement::Streams && options.plids.is_none() {
        return Err(review.refuse(
            &job.origin,
            "fio: stream IDs must be provided for dataplacement=streams",
            format!("job {}: name the streams with plids", job.name),
        ));
    }
    if options.plid_select == PlacementSelect::Scheme && options.dp_scheme.is_none() {
        return Err(review.refuse(
            &job.origin,
            "fio: ruh scheme failed to open scheme file (null)",
            format!(
                "job {}: plid_select=scheme needs dp_scheme, a file of offsets and identifiers",
                job.name
            ),
        ));
    }
    let engine = options.ioengine.name.as_str();
    if review.engine_of(job).is_some_and(|engine| engine.places_data) {
        return Ok(());
    }
    let able: Vec<&str> =
        review.engines.0.iter().filter(|engine| engine.places_data).map(|engine| engine.name).collect();
    Err(review.refuse(
        &job.origin,
        format!("{}: engine ({engine}) lacks fetch ruhs", job.name),
        format!(
            "job {}: dataplacement={} needs ioengine={}, {engine} cannot place data",
            job.name,
            options.dataplacement,
            able.join(" or ")
        ),
    ))
}

fn note_idle_options(job: &JobSpec, review: &mut Review<'_>) {
    for option in ["plid_select", "plids", "dp_scheme"] {
        if job.is_set(option) {
            review.note(format!(
                "fathom: job {}: {option} has no effect without fdp=1 or dataplacement",
                job.name
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, refusal};

    #[test]
    fn placement_means_one_thing() {
        let line = "fio: fdp=1 is not compatible with dataplacement={streams, none}";
        assert_eq!(refusal("--name=a --fdp=1 --dataplacement=streams"), line);
        assert_eq!(refusal("--name=a --fdp=1 --dataplacement=none"), line);
        let line = "fio: stream IDs must be provided for dataplacement=streams";
        assert_eq!(refusal("--name=a --dataplacement=streams"), line);
        let line = "fio: ruh scheme failed to open scheme file (null)";
        assert_eq!(refusal("--name=a --fdp=1 --plid_select=scheme"), line);
    }

    #[test]
    fn placement_needs_an_engine_that_can() {
        for words in ["--fdp=1", "--dataplacement=fdp", "--dataplacement=streams --plids=1,2-4"] {
            for engine in ["psync", "io_uring", "null"] {
                let line = refusal(&format!("--name=a --ioengine={engine} {words}"));
                assert_eq!(line, format!("a: engine ({engine}) lacks fetch ruhs"), "{words}");
            }
        }
    }

    #[test]
    fn what_has_no_effect_is_said() {
        let (job, lines) = job("--name=a --fdp=0 --plids=1 --plid_select=random");
        assert!(job.is_some());
        let note =
            |option: &str| format!("fathom: job a: {option} has no effect without fdp=1 or dataplacement");
        assert_eq!(lines, [note("plid_select"), note("plids")]);
    }
}
