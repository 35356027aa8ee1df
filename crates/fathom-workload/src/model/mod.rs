//! A model of a load: a few jobs that together do what the trace shows, as a job file.
//!
//! * [`Model::of`] makes one job of each [`Part`]: sizes, places ([`place`]), arrivals ([`arrivals`]), syncs ([`syncs`]).
//! * [`job_file`] writes them as text.
//!
//! Parts keep their arrival rates whatever the device does, so a model has open loops. Source of the idea to model a trace by
//! independent parts: Tarasov and others, "Extracting Flexible, Replayable Models from Large Block Traces", FAST 2012.

pub mod arrivals;
mod files;
mod job_file;
pub mod place;
mod places;
mod simulation;
pub mod sizes;
mod syncs;

use crate::parts::Part;
use crate::profile::Profile;
use arrivals::Arrivals;
use fathom_stats::{Direction, PerDirection};
use fathom_trace::events::FileSums;
use place::Place;
use sizes::BlockSizes;

/// Parts with less than this share of the requests, and of the bytes, are left out.
const LEAST_SHARE: f64 = 0.002;
/// Areas begin at multiples of this, bytes.
const ALIGNMENT: u64 = 1 << 20;
/// Fewest and most slots for requests in flight of a job, and the memory of their buffers in bytes.
const SLOTS: (u64, u64) = (16, 1024);
const BUFFERS: u64 = 256 << 20;

/// Changes to a model that keep its shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaling {
    /// Factor of the arrival rates.
    pub rate: f64,
    /// Total bytes of the areas; `None`: as in the trace.
    pub size: Option<u64>,
    /// Clones of each job, which share its rate.
    pub clones: u32,
}

impl Default for Scaling {
    fn default() -> Scaling {
        Scaling { rate: 1.0, size: None, clones: 1 }
    }
}

/// A model of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Its jobs, which run together.
    pub jobs: Vec<Job>,
    /// Bytes of the target from its start that the jobs use.
    pub size: u64,
    /// Length of a run, s.
    pub seconds: f64,
    /// What the trace has and the model lacks, a phrase each.
    pub lacks: Vec<String>,
    /// The model is one of calls to files; `None`: of requests to a device.
    pub on_files: Option<OnFiles>,
}

/// How the jobs of a model use files: each has a separate one, with calls that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnFiles {
    /// Calls follow the rate over time, in an open loop, which other programs than fathom do not know.
    pub is_open: bool,
    /// The option of the most frequent kind of sync.
    pub sync: &'static str,
    /// Number of clones of a job outside of streams: as many as calls were in progress together.
    pub threads: u32,
}

/// One job of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its name in the job file.
    pub name: String,
    /// Its share of the requests.
    pub share: f64,
    /// Its share of the bytes.
    pub share_of_bytes: f64,
    /// Reads, writes or trims.
    pub direction: Direction,
    /// Block sizes.
    pub sizes: BlockSizes,
    /// Where its requests go.
    pub place: Place,
    /// First byte of its area.
    pub offset: u64,
    /// Reads and writes the same blocks as the other jobs of which this is true.
    pub is_shared: bool,
    /// When its requests come; the rate is that of a clone.
    pub arrivals: Arrivals,
    /// A sync after each this many writes.
    pub sync_every: Option<u32>,
    /// Each write is durable once complete.
    pub is_durable: bool,
    /// Maximum number of requests in flight.
    pub slots: u64,
    /// Number of clones.
    pub clones: u32,
}

impl Model {
    /// The model of a profile with parts.
    pub fn of(profile: &Profile, scaling: &Scaling) -> Model {
        Model::made(profile, scaling, None)
    }

    /// The model of a recording of files: jobs of options that fio has as well, unless it is to be an open loop.
    pub fn of_files(profile: &Profile, sums: &FileSums, scaling: &Scaling, is_open: bool) -> Model {
        let on_files = OnFiles { is_open, ..OnFiles::of(profile, sums) };
        let mut model = Model::made(profile, scaling, Some(on_files));
        files::fit_arrivals(&mut model, is_open);
        model.lacks.extend(files::lacks(sums));
        model
    }

    fn made(profile: &Profile, scaling: &Scaling, on_files: Option<OnFiles>) -> Model {
        let unit = if on_files.is_some() { 1 } else { sizes::SECTOR };
        let mut lacks = Vec::new();
        let mut jobs = Vec::new();
        let slots = profile.depth.as_ref().map_or(SLOTS.0, |depth| depth.largest);
        let slots = slots.saturating_mul(2).next_power_of_two().clamp(SLOTS.0, SLOTS.1);
        let by_chance = PerDirection::from_fn(|direction| match on_files {
            Some(_) => files::by_chance(profile, direction),
            None => 0,
        });
        for part in &profile.parts {
            let share = part.requests() as f64 / profile.requests.max(1) as f64;
            let of_bytes = part.sizes.bytes() as f64 / profile.bytes.max(1) as f64;
            // What is sequential by chance is part of the rest.
            let by_chance = by_chance[part.direction];
            if by_chance > 0 && part.is_sequential {
                continue;
            }
            let with_those = (part.requests() + by_chance) as f64 / part.requests().max(1) as f64;
            let (share, of_bytes) = (share * with_those, of_bytes * with_those);
            if share.max(of_bytes) < LEAST_SHARE {
                lacks.push(format!("{} {} requests", part.requests(), name(part)));
                continue;
            }
            for class in sizes::classes(&part.sizes, unit) {
                for (suffix, share_of_class, place) in places::of(part, &class, profile, on_files.is_some()) {
                    let share_of_part = class.share * share_of_class;
                    jobs.push(Job {
                        name: format!("{}{}{suffix}", name(part), class.suffix),
                        share: share * share_of_part,
                        share_of_bytes: of_bytes * class.share_of_bytes * share_of_class,
                        direction: part.direction,
                        slots: slots_of(&class.sizes, slots),
                        sizes: class.sizes.clone(),
                        place,
                        offset: 0,
                        is_shared: false,
                        arrivals: arrivals::of(part, profile.seconds, share_of_part * with_those),
                        sync_every: None,
                        is_durable: part.durable * 2 > part.requests(),
                        clones: 1,
                    });
                }
            }
        }
        syncs::assign(&mut jobs, profile, &mut lacks);
        if profile.devices.len() > 1 {
            let what = if on_files.is_some() { "files" } else { "devices" };
            lacks.push(format!("the division of the load among {} {what}", profile.devices.len()));
        }
        let mut model = Model { jobs, size: 0, seconds: profile.seconds, lacks, on_files };
        model.scale(scaling);
        model.arrange(profile);
        model
    }

    fn scale(&mut self, scaling: &Scaling) {
        let total: u64 = self.jobs.iter().map(|job| job.place.size()).sum();
        let factor = scaling.size.map_or(1.0, |size| size as f64 / total.max(1) as f64);
        for job in &mut self.jobs {
            job.place.scale(factor, job.sizes.largest());
            let threads =
                self.on_files.filter(|_| !job.place.is_sequential()).map_or(1, |files| files.threads);
            job.clones = scaling.clones.max(1) * job.place.streams() * threads;
            job.arrivals.per_second *= scaling.rate / f64::from(job.clones);
        }
    }

    /// Gives each job its area, or a file. Reads and writes outside of streams share the first one if they do in the
    /// trace.
    fn arrange(&mut self, profile: &Profile) {
        let is_shared = profile.space.is_shared();
        for job in &mut self.jobs {
            job.is_shared = is_shared && !job.place.is_sequential() && job.direction != Direction::Trim;
        }
        let room = |job: &Job| job.place.size().next_multiple_of(ALIGNMENT);
        let mut end = self.jobs.iter().filter(|job| job.is_shared).map(room).max().unwrap_or(0);
        for job in self.jobs.iter_mut().filter(|job| !job.is_shared) {
            job.offset = if self.on_files.is_some() { 0 } else { end };
            end += room(job);
        }
        self.size = end;
    }

    /// I/Os per second of all jobs together.
    pub fn rate(&self) -> f64 {
        self.jobs.iter().map(|job| job.arrivals.per_second * f64::from(job.clones)).sum()
    }

    /// True if a run changes data.
    pub fn writes(&self) -> bool {
        self.jobs.iter().any(|job| job.direction != Direction::Read)
    }
}

/// As many slots as wanted, if their buffers are not too large.
fn slots_of(sizes: &BlockSizes, wanted: u64) -> u64 {
    wanted.min(BUFFERS / sizes.largest()).max(SLOTS.0)
}

/// `sequential-reads`.
fn name(part: &Part) -> String {
    let pattern = if part.is_sequential { "sequential" } else { "random" };
    format!("{pattern}-{}s", part.direction.word())
}

/// Whole percents that add up to 100, each as near to its share as that allows.
fn whole_percents(shares: &[f64]) -> Vec<u32> {
    let mut percents: Vec<u32> = shares.iter().map(|share| (share * 100.0).floor() as u32).collect();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    let rest = |place: usize| shares[place] * 100.0 - (shares[place] * 100.0).floor();
    order.sort_by(|&a, &b| rest(b).total_cmp(&rest(a)));
    let missing = 100u32.saturating_sub(percents.iter().sum());
    order
        .into_iter()
        .cycle()
        .take(if shares.is_empty() { 0 } else { missing as usize })
        .for_each(|place| percents[place] += 1);
    percents
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Characterizer;
    use fathom_trace::Device;
    use fathom_trace::blktrace::{Event, code};

    #[test]
    fn areas_that_are_not_shared_do_not_overlap() {
        let mut all = Characterizer::with_parts();
        let device = Device { major: 8, minor: 0 };
        // Reads of some blocks, writes of these and many more, and a stream of reads.
        for number in 0..100_000u64 {
            let (code, sector) = match number % 50 {
                0 => (code::READ, (1 << 30) + number / 50 * 8),
                step if step % 2 == 1 => (code::READ, number * 7919 % 8191 * 8),
                _ => (code::WRITE, number * 104_729 % 16_381 * 8),
            };
            let event = Event {
                time_ns: number * 10_000,
                sector,
                bytes: 4096,
                device,
                ..Event::of_code(code::QUEUE | code)
            };
            all.add(&event, b"");
        }
        let model = Model::of(&all.finish(), &Scaling::default());
        let of = |name: &str| {
            model.jobs.iter().find(|job| job.name == name).unwrap_or_else(|| panic!("{name}: {model:?}"))
        };
        let (reads, writes, stream) = (of("random-reads"), of("random-writes"), of("sequential-reads"));
        assert_eq!((reads.offset, writes.offset), (0, 0), "shared");
        let end = |job: &Job| job.offset + job.place.size();
        assert!(end(reads) < end(writes) && stream.offset >= end(writes), "{model:?}");
        assert!(model.size >= end(stream));
    }
}
