//! `sprandom`: the requirements of a preconditioning pass, and the options that it excludes.

use super::Review;
use crate::diagnostic::{Diagnostic, Rejected};
use crate::message::Message;
use crate::options::file::ZoneMode;
use crate::options::io_type::RandomGenerator;
use crate::options::verification::VerifyMethod;
use crate::spec::JobSpec;
use crate::value::{Distribution, Rw};
use fathom_stats::Direction;

/// Maximum number of regions. With more regions, the difference between adjacent ones would have no visible
/// effect on a disk.
const REGIONS: u32 = 100_000;

/// Requires random writes of one block size with the LFSR generator, and a valid number of regions.
pub(super) fn check_precondition(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if !job.io_type.sprandom {
        return note_idle_options(job, review);
    }
    if job.io_type.rw.rw != Rw::RandWrite {
        return Err(review.refuse(
            &job.origin,
            "fio: sprandom requires random write, random_generator=lfsr, norandommap=1",
            format!("job {}: give rw=randwrite with sprandom", job.name),
        ));
    }
    set_what_is_needed(job, review)?;
    if let Some(problem) = unfit(job) {
        review
            .messages
            .push(Diagnostic::general(&job.origin, format!("job {}: {problem}", job.name)).message());
        return Err(Rejected);
    }
    let ignored = [("loops", job.job_description.loops > 1), ("time_based", job.time.time_based)];
    for (option, _) in ignored.iter().filter(|(_, is_given)| *is_given) {
        review.note(format!(
            "fathom: job {}: {option} has no effect with sprandom, which ends after one pass",
            job.name
        ));
    }
    Ok(())
}

/// Sets the options that the pass needs, and refuses other values.
fn set_what_is_needed(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let needed = [
        ("random_generator", "lfsr", job.io_type.random_generator == RandomGenerator::Lfsr),
        ("norandommap", "1", job.io_type.norandommap),
    ];
    let wrong: Vec<String> = needed
        .iter()
        .filter(|(option, _, is_so)| !is_so && job.is_set(option))
        .map(|(option, value, _)| format!("{option}={value}"))
        .collect();
    for (option, value, is_so) in needed {
        if !is_so && !job.is_set(option) {
            review.note_as_fio(format!("fio: sprandom sets {option}={value}"));
        }
    }
    if wrong.is_empty() {
        job.io_type.random_generator = RandomGenerator::Lfsr;
        job.io_type.norandommap = true;
        return Ok(());
    }
    wrong
        .iter()
        .for_each(|need| review.messages.push(Message::stderr(format!("fio: sprandom requires {need}"))));
    let problem = format!("job {}: use {}, or leave it out: sprandom sets it", job.name, wrong.join(" and "));
    review.messages.push(Diagnostic::general(&job.origin, problem).message());
    Err(Rejected)
}

/// Names a feature of the job that cannot be combined with a preconditioning pass.
fn unfit(job: &JobSpec) -> Option<String> {
    let options = &job.io_type;
    let sizes = job.block_sizes(Direction::Write);
    let together = [
        (sizes.min != sizes.max, "blocks of one size; leave out bsrange and bssplit"),
        (job.block_size.ba[Direction::Write].is_some_and(|align| align != sizes.min), "no blockalign"),
        (options.random_distribution != Distribution::Random, "random_distribution=random"),
        (options.percentage_random[Direction::Write] < 100, "percentage_random=100"),
        (options.rw.postfix.is_some(), "rw=randwrite without a number after it"),
        (job.file.zonemode != ZoneMode::None, "zonemode=none"),
        (job.verification.verify != VerifyMethod::None, "no verify, since blocks are written more than once"),
    ];
    if let Some((_, needed)) = together.iter().find(|(is_given, _)| *is_given) {
        return Some(format!("sprandom needs {needed}"));
    }
    if !(2..=REGIONS).contains(&options.spr_num_regions) {
        return Some(format!("spr_num_regions={} is not between 2 and {REGIONS}", options.spr_num_regions));
    }
    if !(options.spr_op > 0.0 && options.spr_op < 1.0) {
        return Some(format!(
            "spr_op={} is not between 0 and 1: it is the flash beyond the logical size, as a share of the logical size",
            options.spr_op
        ));
    }
    None
}

fn note_idle_options(job: &JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    for option in ["spr_num_regions", "spr_op", "spr_cs"] {
        if job.is_set(option) {
            review.note(format!("fathom: job {}: {option} has no effect without sprandom=1", job.name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, quiet_job, refusal};
    use super::RandomGenerator;

    const PASS: &str = "--name=a --size=1g --rw=randwrite --random_generator=lfsr --norandommap --sprandom=1";

    #[test]
    fn a_pass_needs_random_writes_of_the_shift_register() {
        let line = "fio: sprandom requires random write, random_generator=lfsr, norandommap=1";
        for words in [
            "--name=a --size=1g --sprandom=1",
            "--name=a --size=1g --sprandom=1 --rw=write",
            "--name=a --size=1g --sprandom=1 --rw=randread --random_generator=lfsr",
            "--name=a --size=1g --sprandom=1 --rw=randrw --random_generator=lfsr --norandommap",
        ] {
            assert_eq!(refusal(words), line, "{words}");
        }
        let sets = ["fio: sprandom sets random_generator=lfsr", "fio: sprandom sets norandommap=1"];
        let requires =
            ["fio: sprandom requires random_generator=lfsr", "fio: sprandom requires norandommap=1"];
        for (given, lines_of_fio) in [
            ("", &sets[..]),
            ("--random_generator=lfsr", &sets[1..]),
            ("--norandommap --ba=4k", &sets[..1]),
            ("--random_generator=tausworthe", &[sets[1], requires[0]]),
            ("--norandommap=0", &[sets[0], requires[1]]),
            ("--norandommap=0 --random_generator=tausworthe64", &requires[..]),
        ] {
            let (job, mut lines) = job(&format!("--name=a --size=1g --sprandom=1 --rw=randwrite {given}"));
            assert_eq!(
                job.is_none(),
                lines.last().is_some_and(|line| line.starts_with("fathom: ")),
                "{given}"
            );
            lines.truncate(lines_of_fio.len());
            assert_eq!(lines, lines_of_fio, "{given}");
            if let Some(options) = job.map(|job| job.io_type) {
                assert!(options.norandommap && options.random_generator == RandomGenerator::Lfsr, "{given}");
            }
        }
        let options = quiet_job(PASS).io_type;
        assert_eq!((options.spr_num_regions, options.spr_op, options.spr_cs), (100, 0.15, 0));
        let options = quiet_job(&format!("{PASS} --spr_num_regions=50 --spr_op=0.28 --spr_cs=64m")).io_type;
        assert_eq!((options.spr_num_regions, options.spr_op, options.spr_cs), (50, 0.28, 64 << 20));
    }

    #[test]
    fn what_a_pass_has_no_room_for_is_refused() {
        for (more, reason) in [
            ("--bsrange=4k-8k", "one size"),
            ("--ba=512", "blockalign"),
            ("--random_distribution=zipf:1.1", "random_distribution"),
            ("--percentage_random=50", "percentage_random"),
            ("--rw=randwrite:8", "without a number"),
            ("--zonemode=strided --zonesize=1m", "zonemode"),
            ("--spr_num_regions=1", "between 2"),
            ("--spr_num_regions=100001", "between 2"),
            ("--spr_op=0", "between 0 and 1"),
            ("--spr_op=1", "between 0 and 1"),
        ] {
            let (job, lines) = job(&format!("{PASS} {more}"));
            assert!(
                job.is_none() && lines.last().is_some_and(|line| line.contains(reason)),
                "{more}: {lines:?}"
            );
        }
    }

    #[test]
    fn what_has_no_effect_is_said() {
        let (_, lines) = job(&format!("{PASS} --loops=2"));
        assert_eq!(lines, ["fathom: job a: loops has no effect with sprandom, which ends after one pass"]);
        let (_, lines) = job("--name=a --size=1m --spr_op=0.3");
        assert_eq!(lines, ["fathom: job a: spr_op has no effect without sprandom=1"]);
    }
}
