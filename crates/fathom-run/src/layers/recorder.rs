//! The process that records the layers of a run.

use super::pairing::{Io, Pairing};
use super::places::{Place, Target};
use super::sampling::Sampling;
use super::{LayerRegion, obstacle};
use crate::message::{Message, MessageSender};
use crate::plan::Plan;
use fathom_logs::IoRecord;
use fathom_logs::ring::Consumer;
use fathom_record::{Batch, RecordError, Recorder, Wishes};
use fathom_spec::options::io_type::SyncMode;
use fathom_stats::layers::{LayerSamples, Split};
use fathom_stats::{Direction, PerDirection};
use fathom_sys::clock::monotonic_ns;
use fathom_sys::usage::Usage;
use fathom_trace::Device;
use fathom_trace::side::RecordedDevice;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

/// Time between two looks at the kernel's buffers and the rings.
const PERIOD: Duration = Duration::from_millis(10);
/// Size of the kernel's buffer per processor, in KiB.
const BUFFER_KIB: u64 = 8 << 10;
/// A buffer that held more bytes than this is read again without a pause.
const BUSY_BYTES: u64 = (BUFFER_KIB << 10) / 4;
/// Regions of a sample are between 64 KiB and 1 GiB.
const SMALLEST_REGION: u32 = 7;
const LARGEST_REGION: u32 = 21;
/// Records of a worker that wait for the events of their time.
const MOST_WAITING: usize = 1 << 18;
/// Requests are dropped that long after the last time, ns.
const EXPIRY_NS: u64 = 1_000_000_000;

/// The thread and the files of a worker, by number; `None` until the worker has opened them.
pub(crate) type FilesOf<'a> = dyn Fn(usize) -> Option<(u32, Vec<PathBuf>)> + 'a;

/// A worker whose I/Os are followed.
struct Followed<'a> {
    index: usize,
    consumer: Consumer<'a>,
    samples: &'a PerDirection<LayerSamples>,
    is_direct: bool,
    is_synced: bool,
    /// Its thread, and its files, once it is ready.
    thread: u32,
    targets: Vec<Target>,
    is_known: bool,
    /// Records whose events have not been read yet.
    waiting: VecDeque<IoRecord>,
}

/// The recorder of a run's layers.
pub(crate) struct LayerRecorder<'a> {
    plan: &'a Plan,
    region: &'a LayerRegion,
    messages: &'a MessageSender,
    recorder: Recorder,
    followed: Vec<Followed<'a>>,
    devices: Vec<RecordedDevice>,
    pairing: Pairing,
    /// Monotonic time since which each device is recorded, ns.
    since_ns: BTreeMap<Device, u64>,
    sampling: Sampling,
    expired_ns: u64,
    events: u64,
    gaps: u64,
}

impl<'a> LayerRecorder<'a> {
    /// Begins to record. The calling process must have one thread.
    pub(crate) fn start(
        plan: &'a Plan,
        region: &'a LayerRegion,
        messages: &'a MessageSender,
    ) -> Result<LayerRecorder<'a>, RecordError> {
        let recorder = Recorder::start(&Wishes { devices: Vec::new(), buffer_kib: BUFFER_KIB, names: true })?;
        let followed = plan.workers.iter().enumerate().filter_map(|(index, worker)| {
            Some(Followed {
                index,
                consumer: region.consumer(index)?,
                samples: region.samples(index)?,
                is_direct: worker.files.opening.direct,
                is_synced: worker.files.opening.sync != SyncMode::None,
                thread: 0,
                targets: Vec::new(),
                is_known: false,
                waiting: VecDeque::new(),
            })
        });
        let firsts = plan.workers.iter().filter(|worker| worker.subjob == 0);
        for (worker, why) in firsts.filter_map(|worker| Some((worker, obstacle(worker)?))) {
            let line = format!("fathom: job {}: --layers has no effect: {why}", worker.name);
            messages.send(&Message::Error(line));
        }
        let now = monotonic_ns();
        region.begin();
        Ok(LayerRecorder {
            plan,
            region,
            messages,
            recorder,
            followed: followed.collect(),
            devices: Vec::new(),
            pairing: Pairing::default(),
            since_ns: BTreeMap::new(),
            sampling: Sampling::new(region_of(plan), now),
            expired_ns: now,
            events: 0,
            gaps: 0,
        })
    }

    /// Records until all workers have ended.
    pub(crate) fn run(mut self, files_of: &FilesOf<'_>) -> Result<(), RecordError> {
        let mut batch = Batch::default();
        loop {
            let is_finished = self.region.is_finished();
            if is_finished {
                self.recorder.stop()?;
            }
            self.look_for_files(files_of)?;
            let most = self.recorder.drain(&mut batch)?;
            self.take_events(&mut batch);
            self.take_records();
            self.settle(self.recorder.handed_out_until());
            let now = monotonic_ns();
            if is_finished {
                // After the stop, the first look reads the last events, and the second hands them out.
                self.recorder.drain(&mut batch)?;
                self.take_events(&mut batch);
                self.settle(u64::MAX);
                self.publish();
                return Ok(());
            }
            self.choose_sample()?;
            if now > self.expired_ns + EXPIRY_NS {
                self.pairing.expire(now);
                self.expired_ns = now;
            }
            self.publish();
            if most < BUSY_BYTES {
                std::thread::sleep(PERIOD);
            }
        }
    }

    /// Looks up the files of workers that have become ready, and tells the supervisor that this is done.
    fn look_for_files(&mut self, files_of: &FilesOf<'_>) -> Result<(), RecordError> {
        let request = self.region.asked();
        let mut found = Vec::new();
        for followed in self.followed.iter_mut().filter(|followed| !followed.is_known) {
            let Some((thread, files)) = files_of(followed.index) else { continue };
            self.pairing.worker(thread);
            followed.is_known = true;
            followed.thread = thread;
            followed.targets = files.iter().map(|path| Target::of(path)).collect();
            found.extend(followed.targets.iter().filter_map(Target::disk).cloned());
            say_what_is_missing(self.plan, self.messages, followed, &files);
        }
        let known = self.devices.len();
        for device in found {
            if self.devices.iter().all(|other| other.device != device.device) {
                self.devices.push(device);
            }
        }
        if self.devices.len() > known {
            self.recorder.watch(&self.devices, self.sampling.now())?;
            let now = monotonic_ns();
            self.since_ns.extend(self.devices[known..].iter().map(|device| (device.device, now)));
        }
        self.region.fulfil(request);
        Ok(())
    }

    fn take_events(&mut self, batch: &mut Batch) {
        for (pid, name) in batch.names.drain(..) {
            self.pairing.name(pid, &name);
        }
        for gap in batch.lost.drain(..) {
            self.gaps += 1;
            self.pairing.lose(gap);
        }
        self.events += batch.events.len() as u64;
        batch.events.drain(..).for_each(|event| self.pairing.take(&event));
    }

    fn take_records(&mut self) {
        for followed in &mut self.followed {
            let (waiting, samples) = (&mut followed.waiting, followed.samples);
            followed.consumer.drain(|record| match waiting.len() < MOST_WAITING {
                true => waiting.push_back(*record),
                false => {
                    if let Some(direction) = Direction::ALL.get(usize::from(record.direction)) {
                        samples[*direction].miss(1);
                    }
                }
            });
        }
    }

    /// Counts the I/Os that ended by this time, up to which all events are known.
    fn settle(&mut self, until_ns: u64) {
        for followed in &mut self.followed {
            while let Some(record) = followed.waiting.pop_front_if(|record| record.end_ns <= until_ns) {
                count(followed, &mut self.pairing, &record, &self.sampling, &self.since_ns);
            }
        }
    }

    /// Records a smaller part of the devices where there are more requests than it should cost, and a larger one
    /// where there are few.
    fn choose_sample(&mut self) -> Result<(), RecordError> {
        // The requests are those up to this time, however late this process is.
        let until_ns = self.recorder.handed_out_until();
        let Some(sample) = self.sampling.choose(until_ns, self.pairing.requests()) else { return Ok(()) };
        let before_ns = monotonic_ns();
        self.recorder.watch(&self.devices, sample)?;
        self.sampling.change(sample, before_ns, monotonic_ns());
        Ok(())
    }

    fn publish(&self) {
        let usage = Usage::of_thread();
        let cpu_ns = (usage.user_us + usage.system_us) * 1000;
        let lost = self.recorder.losses();
        self.region.publish(cpu_ns, self.events, lost.events.max(self.gaps), self.sampling.now().shift);
    }
}

/// The size of a sample's regions, as the binary logarithm of sectors: the largest I/O fits, and small files have many.
fn region_of(plan: &Plan) -> u32 {
    let largest = plan.workers.iter().map(|worker| worker.target_plan.longest_length()).max().unwrap_or(0);
    largest
        .div_ceil(512)
        .checked_next_power_of_two()
        .map_or(LARGEST_REGION, u64::ilog2)
        .clamp(SMALLEST_REGION, LARGEST_REGION)
}

/// Counts an I/O.
fn count(
    followed: &mut Followed<'_>,
    pairing: &mut Pairing,
    record: &IoRecord,
    sampling: &Sampling,
    since_ns: &BTreeMap<Device, u64>,
) {
    let Some(&direction) = Direction::ALL.get(usize::from(record.direction)) else { return };
    let samples = &followed.samples[direction];
    let Some(target) = followed.targets.get_mut(usize::from(record.priority)) else { return samples.miss(1) };
    let start_ns = record.end_ns.saturating_sub(record.lat_ns());
    let (device, sectors) = match target.place(record.offset, u64::from(record.length)) {
        Place::At(device, sectors) => (device, sectors),
        // A file has no hole where it was written: its map is older.
        Place::Nowhere if target.disk().is_some() && direction == Direction::Write => return samples.miss(1),
        Place::Nowhere => return samples.record(&Split::above(record.lat_ns()), 1),
        Place::Unknown => return samples.miss(1),
    };
    let Some(sample) = sampling.during(start_ns, record.end_ns) else { return samples.miss(1) };
    if !sectors.iter().all(|range| sample.holds(range)) {
        return;
    }
    let weight = 1 << sample.shift;
    if since_ns.get(&device).is_none_or(|since_ns| start_ns < *since_ns) {
        return samples.miss(weight);
    }
    let io = Io {
        device,
        thread: followed.thread,
        sectors,
        direction,
        start_ns,
        submitted_ns: record.slat_ns.map(|slat| start_ns + slat),
        end_ns: record.end_ns,
        is_direct: followed.is_direct,
        needs_request: followed.is_direct && matches!(target, Target::Device(..)),
        is_synced: followed.is_synced && direction == Direction::Write,
    };
    match pairing.split(&io) {
        Some(split) => {
            if !split.has_request {
                target.doubt();
            }
            samples.record(&split, weight);
        }
        None => samples.miss(weight),
    }
}

/// Says which files of a worker have no layers, and why; once per job and reason.
fn say_what_is_missing(plan: &Plan, messages: &MessageSender, followed: &Followed<'_>, files: &[PathBuf]) {
    let worker = &plan.workers[followed.index];
    if worker.subjob > 0 {
        return;
    }
    let mut said: Vec<&str> = Vec::new();
    for (target, path) in followed.targets.iter().zip(files) {
        let (why, effect) = match target {
            Target::Device(..) | Target::File(..) => continue,
            Target::WithoutDevice(why) => (why, "all of its time counts as above the block layer"),
            Target::Unknown(why) => (why, "its layers are unknown"),
        };
        if said.contains(&why.as_str()) {
            continue;
        }
        said.push(why);
        messages.send(&Message::Error(format!(
            "fathom: job {}: --layers: {} {why}: {effect}",
            worker.name,
            path.display()
        )));
    }
}
