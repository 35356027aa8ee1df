//! Models of recordings of files.

use super::arrivals::Arrivals;
use super::{Model, OnFiles, simulation, sizes};
use crate::profile::Profile;
use fathom_stats::Direction;
use fathom_trace::events::FileSums;
use fathom_trace::files::Operation;

/// Maximum number of clones of a job outside of streams.
const MOST_THREADS: f64 = 16.0;
/// Maximum number of steps of the rates of all jobs together, which keeps the job file short.
const MOST_STEPS: usize = 512;
/// Mean length below which runs may be of chance, and how much larger their share may be than that of a simulation.
const LONGEST_BY_CHANCE: u64 = 8;
const TOLERANCE: f64 = 1.5;
const LEAST: f64 = 0.005;
/// Coefficients of variation up to the first are even gaps, and up to the second random ones, without the options of fathom.
const EVEN: f64 = 0.5;
const RANDOM: f64 = 1.5;

impl OnFiles {
    /// The most frequent kind of sync, and the calls in progress together while there were any.
    pub(super) fn of(profile: &Profile, sums: &FileSums) -> OnFiles {
        let calls = |operation| sums.calls.get(&operation).copied().unwrap_or(0);
        let sync = match calls(Operation::DataSync) > calls(Operation::Sync) {
            true => "fdatasync",
            false => "fsync",
        };
        let together = profile.depth.as_ref().map_or(1.0, |depth| depth.mean / depth.busy.max(1e-9));
        OnFiles { is_open: false, sync, threads: together.round().clamp(1.0, MOST_THREADS) as u32 }
    }
}

/// The number of requests in sequential runs of a direction, if these are short and as many as random places give: in a small file, some
/// requests follow each other by chance. 0 for streams.
pub(super) fn by_chance(profile: &Profile, direction: Direction) -> u64 {
    let of = |is_sequential| {
        let mut parts = profile.parts.iter().filter(|part| part.direction == direction);
        parts.find(|part| part.is_sequential == is_sequential)
    };
    let found = profile.directions.iter().find(|found| found.direction == direction);
    let (Some(streams), Some(others), Some(found)) = (of(true), of(false), found) else { return 0 };
    let (sequential, all) = (streams.requests(), streams.requests() + others.requests());
    if sequential >= found.streams.sequential_runs.saturating_mul(LONGEST_BY_CHANCE) {
        return 0;
    }
    let classes = sizes::classes(&others.sizes, 1);
    let Some(class) = classes.iter().max_by(|a, b| a.share.total_cmp(&b.share)) else { return 0 };
    let chance = simulation::by_chance(others.popularity.footprint(), &class.sizes, all);
    if sequential as f64 <= all as f64 * (chance * TOLERANCE + LEAST) { sequential } else { 0 }
}

/// Makes arrivals such that the job file is short, and, unless it is an open loop, those that fio knows: even or random.
pub(super) fn fit_arrivals(model: &mut Model, is_open: bool) {
    if is_open {
        let all: usize = model.jobs.iter().map(|job| job.arrivals.steps.len()).sum();
        let per_job = MOST_STEPS / model.jobs.len().max(1);
        if all > MOST_STEPS {
            model.jobs.iter_mut().for_each(|job| job.arrivals.shorten(per_job));
        }
        return;
    }
    let is_uneven = |arrivals: &Arrivals| !arrivals.steps.is_empty() || arrivals.variation > RANDOM;
    if model.jobs.iter().any(|job| is_uneven(&job.arrivals)) {
        model.lacks.push(
            "bursts, and how the rate changes with time; --open-loop models them, with options that fio does not have"
                .to_owned(),
        );
    }
    for job in &mut model.jobs {
        job.arrivals.steps.clear();
        job.arrivals.variation = if job.arrivals.variation < EVEN { 0.0 } else { 1.0 };
    }
}

/// What a recording of files has, and no model of it.
pub(super) fn lacks(sums: &FileSums) -> Vec<String> {
    let calls = |operation| sums.calls.get(&operation).copied().unwrap_or(0);
    let kinds = [
        (calls(Operation::Open), "open", ""),
        (calls(Operation::Allocate), "allocation", ""),
        (calls(Operation::Truncate), "truncation", ""),
        (calls(Operation::Map), "mapping", " to memory, with what is read and written there"),
        (sums.unplaced, "call", " without an offset"),
    ];
    let counted = kinds.iter().filter(|(count, ..)| *count > 0);
    counted.map(|(count, noun, rest)| format!("{}{rest}", fathom_stats::counted(*count, noun))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Characterizer;
    use crate::depth::Depth;
    use crate::model::Scaling;
    use fathom_trace::Device;
    use fathom_trace::blktrace::{Event, code};

    #[test]
    fn syncs_threads_and_what_is_missing_follow_from_the_calls() {
        let calls =
            [(Operation::Sync, 3), (Operation::DataSync, 4), (Operation::Open, 2), (Operation::Read, 9)];
        let sums = FileSums { calls: calls.into_iter().collect(), unplaced: 5, ..FileSums::default() };
        let depth = Depth { mean: 1.5, busy: 0.5, ..Depth::default() };
        let profile = Profile { depth: Some(depth), ..Profile::default() };
        assert_eq!(OnFiles::of(&profile, &sums), OnFiles { is_open: false, sync: "fdatasync", threads: 3 });
        assert_eq!(
            OnFiles::of(&Profile::default(), &FileSums::default()),
            OnFiles { is_open: false, sync: "fsync", threads: 1 }
        );
        assert_eq!(lacks(&sums), ["2 opens", "5 calls without an offset"]);
    }

    #[test]
    fn what_follows_each_other_by_chance_is_no_stream() {
        // Reads of a file at random places, and those of a larger one with a stream of 300 reads.
        let of = |blocks: u64, stream: u64| {
            let mut all = Characterizer::with_parts();
            let mut numbers = fathom_random::Generator::new(3, true);
            for number in 0..20_000u64 {
                let is_stream = number % 64 == 0 && number / 64 < stream;
                let sector = if is_stream { (1 << 30) + number / 64 * 8 } else { numbers.below(blocks) * 8 };
                let event = Event {
                    time_ns: number * 10_000,
                    sector,
                    bytes: 4096,
                    device: Device { major: 0, minor: 1 },
                    ..Event::of_code(code::QUEUE | code::READ)
                };
                all.add(&event, b"");
            }
            let model = Model::of_files(&all.finish(), &FileSums::default(), &Scaling::default(), false);
            let names: Vec<String> = model.jobs.iter().map(|job| job.name.clone()).collect();
            (names, model.rate())
        };
        let (names, rate) = of(1024, 0);
        assert_eq!(names, ["random-reads"]);
        assert!((rate / 100_000.0 - 1.0).abs() < 0.01, "its reads are not lost: {rate}");
        assert!(of(1 << 18, 300).0.contains(&"sequential-reads".to_owned()));
    }

    #[test]
    fn rates_that_change_are_kept_by_open_loops_only_and_the_job_file_is_short() {
        let of = |is_open| {
            let mut all = Characterizer::with_parts();
            let mut time_ns = 0u64;
            for number in 0..40_000u64 {
                time_ns += if (time_ns / 700_000_000).is_multiple_of(2) { 50_000 } else { 800_000 };
                let (code, minor) = if number % 2 == 0 { (code::READ, 1) } else { (code::WRITE, 2) };
                let event = Event {
                    time_ns,
                    sector: number * 7919 % 4099 * 8,
                    bytes: 4096,
                    device: Device { major: 0, minor },
                    ..Event::of_code(code::QUEUE | code)
                };
                all.add(&event, b"");
            }
            Model::of_files(&all.finish(), &FileSums::default(), &Scaling::default(), is_open)
                .job_file(&[], "x/")
        };
        let (open, closed) = (of(true), of(false));
        assert!(open.contains("open_loop=1\n") && open.contains("rate_process=steps:"), "{open}");
        assert!(
            !closed.contains("open_loop") && !closed.contains("steps") && !closed.contains("gamma"),
            "{closed}"
        );
        assert!(closed.contains("# Not modelled: bursts, and how the rate changes with time"), "{closed}");
        assert!(closed.contains("directory=x\n") && closed.contains("filename=random-reads\n"), "{closed}");
        assert!(open.len() < 5000 && closed.len() < 5000, "{} {}", open.len(), closed.len());
    }
}
