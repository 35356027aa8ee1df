//! `zonemode=zbd` in the run loop: the zone rules place each drawn I/O before it is issued.

use crate::cause::{self, Cause};
use crate::files::open::OpenFiles;
use crate::files::{FileEntry, FileKind};
use crate::message::Message;
use crate::storage::Storage;
use crate::storage::files::disk_at;
use crate::targets::Target;
use crate::unit::Unit;
use crate::worker::feature::{Choice, Feature, Needs};
use crate::worker::{GivenUp, Next, Worker, WorkerContext};
use crate::zones::device::{EmulatedZones, KernelZones, ZonedDevice};
use crate::zones::geometry::Geometry;
use crate::zones::rules::{Decision, ZoneRules};
use crate::zones::table::Wanted;
use fathom_stats::Direction;
use fathom_stats::samples::bump;
use fathom_sys::Errno;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;

/// Longest poll interval while another worker's I/O is in a zone, in ns.
const PAUSE_NS: u64 = 20_000;
/// Shortest poll interval, in ns; the interval grows as the wait lasts.
const SHORTEST_PAUSE_NS: u64 = 1_000;
/// After waiting this long, in ns, the worker checks whether the other worker still exists.
const PATIENCE_NS: u64 = 500_000_000;

/// The zones of a worker, and an I/O that waits for one.
pub(in crate::worker) struct ZonedWork<'a> {
    rules: ZoneRules<'a>,
    /// An I/O that was drawn but whose zone is not ready.
    held: Option<Target>,
    /// Tick from which this I/O has been waiting.
    held_since: u64,
    /// Remaining bytes at the end of the last round over the files.
    left_at_round: Option<i64>,
}

impl Feature for ZonedWork<'_> {
    /// Moves an I/O to where its zone accepts it, and advances the write pointer when it completes. Once a
    /// write is submitted, other workers may get positions after it.
    fn needs(&self) -> Needs {
        Needs {
            choice: Choice::EachIo,
            ends_from_ns: Some(0),
            handing_over: self.rules.hears_of_handing_over(),
            ..Needs::default()
        }
    }
}

impl<'a> ZonedWork<'a> {
    /// The zones of a worker, if it has any.
    pub(in crate::worker) fn of(
        context: &WorkerContext<'a>,
        files: &OpenFiles,
    ) -> Result<Option<Box<ZonedWork<'a>>>, GivenUp> {
        let worker = context.worker_plan();
        let (Some(plan), Some(table)) = (&worker.zones, context.region.zones()) else { return Ok(None) };
        let mut rules = ZoneRules::new(table, plan, context.index as u32);
        for entry in files.entries() {
            let Some(geometry) = &entry.zones else { continue };
            if worker.subjob == 0 {
                geometry.notes.iter().for_each(|note| context.messages.send(&Message::Output(note.clone())));
            }
            let device = match device_of(files.storage(), entry, geometry, worker.changes_data()) {
                Ok(device) => device,
                Err(errno) => {
                    let line = cause::line_of_file("open", entry.name(), errno);
                    return Err(context.fail_in_words(errno, &line));
                }
            };
            let name = entry.name();
            let wanted = Wanted {
                identity: identity(entry),
                name: &name,
                geometry,
                start: entry.start,
                size: entry.size,
            };
            if let Err(reason) = rules.add_file(&wanted, device) {
                let errno = Errno(libc::EINVAL);
                context.messages.send(&Message::Error(reason.to_string()));
                return Err(context.fail(errno, Cause::ZONE_TABLE));
            }
        }
        Ok(Some(Box::new(ZonedWork { rules, held: None, held_since: 0, left_at_round: None })))
    }
}

fn device_of(
    storage: &dyn Storage,
    entry: &FileEntry,
    geometry: &Geometry,
    writes: bool,
) -> Result<Box<dyn ZonedDevice>, Errno> {
    if !geometry.is_device {
        return Ok(Box::new(EmulatedZones));
    }
    if entry.kind == FileKind::Medium {
        let own = storage.own_zones(entry, writes).map_err(|error| Errno(error.errno))?;
        return own.map(|own| own.device).ok_or(Errno(libc::ENODEV));
    }
    Ok(Box::new(KernelZones::open(&entry.path, writes)?))
}

/// Two numbers that identify a file, regardless of the path that leads to it.
fn identity(entry: &FileEntry) -> [u64; 2] {
    if let Some(disk) = disk_at(&entry.path).filter(|_| entry.kind.has_path()) {
        return [1 << 63, disk];
    }
    let found = entry.kind.has_path().then(|| std::fs::metadata(&entry.path));
    match found {
        // A character device is identified by its own device number.
        Some(Ok(found)) if found.rdev() != 0 => [3 << 62, found.rdev()],
        Some(Ok(found)) => [found.dev(), found.ino()],
        // A target that is not a file is identified by its name.
        _ => {
            let mut hasher = DefaultHasher::new();
            entry.path.hash(&mut hasher);
            [u64::MAX, hasher.finish()]
        }
    }
}

/// The target of an I/O; a sync has none.
fn target_of(unit: &Unit) -> Option<Target> {
    let direction = unit.direction()?;
    Some(Target { offset: unit.offset(), length: unit.length(), file: unit.file(), direction })
}

impl Worker<'_> {
    /// Takes the I/O whose zone was not ready.
    pub(in crate::worker) fn take_held_by_zone(&mut self) -> Option<Target> {
        self.features.zones.as_mut().and_then(|zones| zones.held.take())
    }

    /// Moves a drawn I/O to where its zone accepts it.
    pub(in crate::worker) fn place_in_zones(&mut self, next: Next, now: u64) -> Next {
        let Some(mut zones) = self.features.zones.take() else { return next };
        let next = self.place(&mut zones, next, now);
        self.note_resets(&mut zones.rules);
        self.features.zones = Some(zones);
        next
    }

    /// Enters the zone of a verification I/O: its offset is fixed, but the zone must not be reset meanwhile.
    pub(in crate::worker) fn enter_zone(&mut self, next: &Next) {
        if let (Some(zones), Next::Io(target)) = (&mut self.features.zones, next) {
            zones.rules.enter(*target);
        }
    }

    fn place(&mut self, zones: &mut ZonedWork, mut next: Next, now: u64) -> Next {
        loop {
            let Next::Io(target) = next else { return next };
            let (drawn, drawn_bytes) = (target, u64::from(target.length));
            match zones.rules.admit(target) {
                Ok(Decision::Issue { target, behind }) => {
                    zones.held_since = 0;
                    self.budget.put_back(drawn_bytes);
                    self.budget.spend(u64::from(target.length));
                    if target.length < drawn.length {
                        self.targets.shortened(drawn, target.length);
                    }
                    self.targets.moved(target, behind);
                    return Next::Io(target);
                }
                Ok(Decision::Reset(target)) => {
                    zones.held_since = 0;
                    self.targets.moved(target, zones.rules.behind_trim(target));
                    return Next::ZoneReset(target);
                }
                Ok(Decision::Wait) => return self.hold(zones, target, now),
                Ok(Decision::WriteFirst) => {
                    // A write comes first; the read is retried at the same offset.
                    self.budget.put_back(drawn_bytes);
                    self.targets.moved(target, target.offset);
                    next = self.next_in_direction(Direction::Write);
                }
                Ok(Decision::FileDone) => {
                    self.budget.put_back(drawn_bytes);
                    self.targets.finish_file(target.file);
                    next = self.next_in_direction(target.direction);
                }
                Err(errno) => {
                    self.engine_failed("zone management", errno);
                    return Next::End;
                }
            }
        }
    }

    fn hold(&mut self, zones: &mut ZonedWork, target: Target, now: u64) -> Next {
        zones.held = Some(target);
        if zones.held_since == 0 {
            zones.held_since = now;
        } else if self.clock.span_ns(now.saturating_sub(zones.held_since)) > PATIENCE_NS {
            zones.held_since = now;
            if self.another_worker_failed() {
                zones.rules.forget_lost();
            }
        }
        // The wait may be very short, because other workers only have to submit their queued writes. If this
        // worker has I/O in flight, the loop also waits for completions.
        let held = now.saturating_sub(zones.held_since);
        let (shortest, longest) =
            (self.clock.ticks_of_ns(SHORTEST_PAUSE_NS), self.clock.ticks_of_ns(PAUSE_NS));
        Next::Wait(now + held.clamp(shortest, longest))
    }

    fn another_worker_failed(&self) -> bool {
        let region = self.context.region;
        (0..region.workers())
            .any(|index| index != self.context.index && region.worker(index).error().is_some())
    }

    /// Performs a reset in place of a trim.
    pub(in crate::worker) fn reset_zone(&mut self, target: Target) -> i64 {
        match &mut self.features.zones {
            Some(zones) => zones.rules.reset_for_trim(target),
            None => -i64::from(libc::EINVAL),
        }
    }

    /// Called when an I/O has been submitted. For the rest of a partial I/O, that was already reported.
    #[inline(never)]
    pub(in crate::worker) fn note_handed_over(&mut self, unit: &Unit) {
        let Some(target) = target_of(unit).filter(|_| unit.done() == 0) else { return };
        if let Some(zones) = &mut self.features.zones
            && target.direction == Direction::Write
        {
            zones.rules.handed_over(target);
        }
    }

    /// Called when an I/O has completed; updates its zone.
    pub(in crate::worker) fn settle_zone(&mut self, unit: &Unit, moved: bool) {
        let Some(target) = target_of(unit) else { return };
        let Some(mut zones) = self.features.zones.take() else { return };
        let result = zones.rules.settle(target, moved);
        self.note_resets(&mut zones.rules);
        self.features.zones = Some(zones);
        if let Err(errno) = result {
            self.engine_failed("zone management", errno);
        }
    }

    /// Counts zone resets. The data of a zone that was reset can no longer be verified.
    fn note_resets(&mut self, rules: &mut ZoneRules<'_>) {
        bump(&self.samples.zone_resets, rules.take_resets());
        if let (Some((file, offset, length)), Some(verifier)) =
            (rules.take_emptied(), &mut self.features.verifier)
        {
            verifier.emptied(file, offset, length);
        }
    }

    /// The first target of another round in the same pass, if the job repeats rounds and the last round moved
    /// data.
    pub(in crate::worker) fn next_round_of_zones(&mut self, direction: Direction) -> Option<Target> {
        let left = self.budget.left_of_pass();
        let zones = self.features.zones.as_mut()?;
        if left <= 0 || zones.left_at_round == Some(left) || !zones.rules.goes_round() {
            return None;
        }
        zones.left_at_round = Some(left);
        self.targets.restart(true);
        let target = self.targets.next_in_direction(direction)?;
        self.budget.spend(u64::from(target.length));
        Some(target)
    }

    /// Begins a pass, in which zones that were filled in an earlier pass may be rewritten.
    pub(in crate::worker) fn begin_pass_of_zones(&mut self) {
        if let Some(zones) = &mut self.features.zones {
            zones.rules.begin_pass();
        }
    }

    /// Called when the run is over: retracts admitted I/Os that were never issued.
    pub(in crate::worker) fn leave_zones(&mut self) {
        let held = self.features.admission.as_mut().and_then(|admission| admission.take_held());
        if let (Some(zones), Some(target)) = (&mut self.features.zones, held) {
            zones.rules.retract(target);
        }
    }
}
