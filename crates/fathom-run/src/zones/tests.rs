//! Tests the rules with a device that enforces them: writes only at the write pointer, never more open zones
//! than allowed, no reset or finish with a write in flight, reads of written data only.

use super::device::{EmulatedZones, ZonedDevice};
use super::error::ZoneError;
use super::geometry::Geometry;
use super::rules::{Decision, ZoneRules};
use super::table::{Wanted, ZoneTable};
use crate::plan::model::zones::{WriteOrder, ZonePlan};
use crate::targets::Target;
use fathom_spec::value::SizeSpec;
use fathom_stats::{Direction, PerDirection};
use fathom_sys::Errno;
use fathom_sys::zoned::{Condition, ZoneReport};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

const BLOCK: u64 = 4096;

#[derive(Clone, Default)]
struct ModelZone {
    written: u64,
    ended: u64,
    /// Number of bytes with data; a zone that was finished without being written has none.
    data: u64,
    /// Writes in flight.
    writing: Vec<(u64, u64)>,
    in_flight: u32,
}

/// A zoned device in memory.
struct Model {
    zone_size: u64,
    capacity: u64,
    limit: usize,
    zones: Vec<ModelZone>,
    resets: u64,
}

impl Model {
    fn new(zones: usize, zone_blocks: u64, capacity_blocks: u64, limit: usize) -> Rc<RefCell<Model>> {
        Rc::new(RefCell::new(Model {
            zone_size: zone_blocks * BLOCK,
            capacity: capacity_blocks * BLOCK,
            limit,
            zones: vec![ModelZone::default(); zones],
            resets: 0,
        }))
    }

    fn zone(&mut self, offset: u64) -> &mut ModelZone {
        let size = self.zone_size;
        &mut self.zones[(offset / size) as usize]
    }

    fn begin(&mut self, target: Target) {
        let (within, capacity) = (target.offset % self.zone_size, self.capacity);
        let length = u64::from(target.length);
        let zone = self.zone(target.offset);
        zone.in_flight += 1;
        match target.direction {
            Direction::Write => {
                assert_eq!(within, zone.written, "a write off the write pointer");
                zone.written += length;
                zone.data += length;
                zone.writing.push((within, within + length));
                assert!(zone.written <= capacity, "a write beyond the capacity");
            }
            Direction::Read => {
                let meets = |&(start, end): &(u64, u64)| within < end && start < within + length;
                assert!(within + length <= zone.data, "a read above the write pointer");
                assert!(!zone.writing.iter().any(meets), "a read under a write");
            }
            Direction::Trim => assert_eq!(zone.in_flight, 1, "a reset under other I/O"),
        }
        assert!(self.limit == 0 || self.open_zones() <= self.limit, "too many open zones");
    }

    fn end(&mut self, target: Target) {
        let within = target.offset % self.zone_size;
        let zone = self.zone(target.offset);
        zone.in_flight -= 1;
        if target.direction == Direction::Write {
            zone.ended += u64::from(target.length);
            zone.writing.retain(|&(start, _)| start != within);
        }
    }

    /// A zone is open from its first write until it is full and its last write has completed.
    fn open_zones(&self) -> usize {
        let is_open = |zone: &&ModelZone| {
            zone.written > 0 && (zone.written < self.capacity || zone.ended < zone.written)
        };
        self.zones.iter().filter(is_open).count()
    }
}

struct ModelDevice(Rc<RefCell<Model>>);

impl ZonedDevice for ModelDevice {
    fn report(&mut self, offset: u64) -> Result<Option<Vec<ZoneReport>>, Errno> {
        let model = self.0.borrow();
        let first = (offset / model.zone_size) as usize;
        let zones = model.zones.iter().enumerate().skip(first).take(3);
        let report = |(number, zone): (usize, &ModelZone)| ZoneReport {
            start: number as u64 * model.zone_size,
            length: model.zone_size,
            capacity: model.capacity,
            written: zone.written,
            condition: match zone.written {
                0 => Condition::Empty,
                written if written < model.capacity => Condition::Active,
                _ => Condition::Full,
            },
        };
        Ok(Some(zones.map(report).collect()))
    }

    fn reset(&mut self, start: u64, length: u64) -> Result<(), Errno> {
        let mut model = self.0.borrow_mut();
        assert_eq!((start % model.zone_size, length), (0, model.zone_size));
        let zone = model.zone(start);
        // The trim's own I/O counts as in flight.
        assert_eq!(zone.written, zone.ended, "a reset under a write");
        let counts = zone.written > 0;
        (zone.written, zone.ended, zone.data) = (0, 0, 0);
        model.resets += u64::from(counts);
        Ok(())
    }

    fn finish(&mut self, start: u64, _length: u64) -> Result<(), Errno> {
        let mut model = self.0.borrow_mut();
        let capacity = model.capacity;
        let zone = model.zone(start);
        assert_eq!(zone.written, zone.ended, "a finish under a write");
        (zone.written, zone.ended) = (capacity, capacity);
        Ok(())
    }
}

fn zone_plan(random: bool, directions: [bool; 3]) -> ZonePlan {
    ZonePlan {
        zone_size: 0,
        capacity: 0,
        skip: SizeSpec::Bytes(0),
        reads_beyond: false,
        max_open: 0,
        job_max_open: 0,
        ignores_limits: false,
        reset_threshold: None,
        reset_frequency: None,
        recovers: false,
        writes_remainder: false,
        write_order: WriteOrder::HandingOver,
        random,
        mixed: directions[0] && directions[1],
        writes: directions[1],
        keeps_data: false,
        shortest: PerDirection::all(BLOCK),
        longest: PerDirection::all(BLOCK),
    }
}

fn geometry(model: &Rc<RefCell<Model>>) -> Geometry {
    let model = model.borrow();
    Geometry {
        zone_size: model.zone_size,
        capacity: model.capacity,
        is_device: true,
        limit: model.limit as u32,
        notes: Vec::new(),
    }
}

/// Rules of one worker that uses the whole device.
fn rules<'a>(
    table: &'a ZoneTable,
    plan: &'a ZonePlan,
    model: &Rc<RefCell<Model>>,
    worker: u32,
) -> Result<ZoneRules<'a>, ZoneError> {
    let geometry = geometry(model);
    let size = geometry.zone_size * model.borrow().zones.len() as u64;
    let mut rules = ZoneRules::new(table, plan, worker);
    let wanted = Wanted { identity: [1, 1], name: "f", geometry: &geometry, start: 0, size };
    rules.add_file(&wanted, Box::new(ModelDevice(model.clone())))?;
    Ok(rules)
}

fn write(block: u64, blocks: u64) -> Target {
    Target { offset: block * BLOCK, length: (blocks * BLOCK) as u32, file: 0, direction: Direction::Write }
}

/// Issues a target, completes it, and returns its block.
fn go(rules: &mut ZoneRules<'_>, target: Target) -> Option<u64> {
    match rules.admit(target).expect("no error") {
        Decision::Issue { target, .. } => {
            rules.handed_over(target);
            rules.settle(target, true).expect("no error");
            Some(target.offset / BLOCK)
        }
        _ => None,
    }
}

#[test]
fn a_failed_write_takes_the_pointer_back_when_asked() {
    for recovers in [true, false] {
        let table = ZoneTable::new(1).expect("mapped");
        let plan = ZonePlan { zone_size: 16 * BLOCK, recovers, ..zone_plan(false, [false, true, false]) };
        let geometry = Geometry {
            zone_size: 16 * BLOCK,
            capacity: 16 * BLOCK,
            is_device: false,
            limit: 0,
            notes: Vec::new(),
        };
        let mut rules = ZoneRules::new(&table, &plan, 0);
        let wanted = Wanted { identity: [1, 1], name: "f", geometry: &geometry, start: 0, size: 64 * BLOCK };
        rules.add_file(&wanted, Box::new(EmulatedZones)).expect("attached");
        assert_eq!(go(&mut rules, write(0, 1)), Some(0));
        let Ok(Decision::Issue { target, .. }) = rules.admit(write(1, 1)) else { panic!("held") };
        rules.handed_over(target);
        rules.settle(target, false).expect("no error");
        assert_eq!(go(&mut rules, write(2, 1)), Some(if recovers { 1 } else { 2 }));
    }
}

#[test]
fn partly_written_zones_of_a_device_count_as_open() {
    let table = ZoneTable::new(1).expect("mapped");
    let model = Model::new(4, 16, 12, 2);
    for zone in [0, 1] {
        let zone = &mut model.borrow_mut().zones[zone];
        (zone.written, zone.ended) = (BLOCK, BLOCK);
    }
    let plan = zone_plan(true, [false, true, false]);
    let mut own = rules(&table, &plan, &model, 0).expect("attached");
    // The limit does not allow the third zone to be opened.
    assert_eq!(go(&mut own, write(40, 1)), Some(17));
    model.borrow_mut().zones[2].written = BLOCK;
    let table = ZoneTable::new(1).expect("mapped");
    let refusal = rules(&table, &plan, &model, 0).err().expect("one zone too many").to_string();
    assert!(refusal.contains("more zones are partly written than the 2"), "{refusal}");
    let ignoring = ZonePlan { ignores_limits: true, ..plan.clone() };
    let table = ZoneTable::new(1).expect("mapped");
    rules(&table, &ignoring, &model, 0).expect("the limit is ignored");
    let wanting = ZonePlan { max_open: 3, ..plan };
    let table = ZoneTable::new(1).expect("mapped");
    let refusal = rules(&table, &wanting, &model, 0).err().expect("more than the device allows").to_string();
    assert!(refusal.contains("ignore_zone_limits=1"), "{refusal}");
}

#[test]
fn a_reset_says_whose_data_is_gone() {
    let table = ZoneTable::new(1).expect("mapped");
    let model = Model::new(2, 4, 4, 0);
    let plan = zone_plan(true, [false, true, false]);
    let mut rules = rules(&table, &plan, &model, 0).expect("attached");
    for _ in 0..4 {
        go(&mut rules, write(4, 1));
        model.borrow_mut().zones[1].written += BLOCK;
        model.borrow_mut().zones[1].ended += BLOCK;
        assert_eq!(rules.take_emptied(), None);
    }
    assert_eq!(go(&mut rules, write(5, 1)), Some(4));
    assert_eq!((rules.take_emptied(), rules.take_resets()), (Some((0, 4 * BLOCK, 4 * BLOCK)), 1));
}

#[test]
fn jobs_on_a_file_agree_on_its_zones() {
    let table = ZoneTable::new(2).expect("mapped");
    let model = Model::new(4, 16, 16, 0);
    let plan = ZonePlan { max_open: 2, ..zone_plan(true, [false, true, false]) };
    let _first = rules(&table, &plan, &model, 0).expect("attached");
    let _second = rules(&table, &plan, &model, 1).expect("attached to the same");
    let other = ZonePlan { max_open: 3, ..plan.clone() };
    assert_eq!(rules(&table, &other, &model, 2).err(), Some(ZoneError::OtherLimit { name: "f".to_owned() }));
    let lonely = ZonePlan { max_open: 0, job_max_open: 1, ..plan };
    let table = ZoneTable::new(1).expect("mapped");
    assert_eq!(rules(&table, &lonely, &model, 0).err(), Some(ZoneError::NoLimit));
}

/// A device that reports arbitrary zones; every query returns the same ones.
struct OddDevice(Vec<ZoneReport>);

impl ZonedDevice for OddDevice {
    fn report(&mut self, _: u64) -> Result<Option<Vec<ZoneReport>>, Errno> {
        Ok(Some(self.0.clone()))
    }

    fn reset(&mut self, _: u64, _: u64) -> Result<(), Errno> {
        Ok(())
    }

    fn finish(&mut self, _: u64, _: u64) -> Result<(), Errno> {
        Ok(())
    }
}

/// Attaches a job with zones of 16 blocks to a device that reports these zones.
fn attached(reports: Vec<ZoneReport>) -> Result<(), ZoneError> {
    let table = ZoneTable::new(1).expect("mapped");
    let plan = zone_plan(true, [false, true, false]);
    let zone_size = 16 * BLOCK;
    let geometry = Geometry { zone_size, capacity: zone_size, is_device: true, limit: 0, notes: Vec::new() };
    let wanted = Wanted { identity: [1, 1], name: "f", geometry: &geometry, start: 0, size: 4 * zone_size };
    ZoneRules::new(&table, &plan, 0).add_file(&wanted, Box::new(OddDevice(reports)))?;
    let locked = table.lock(0);
    assert!(locked.zones.iter().all(|zone| zone.write_pointer.max(zone.own_capacity) <= zone_size));
    Ok(())
}

#[test]
fn reports_that_cannot_be_are_refused() {
    let zone = |start, length, written| ZoneReport {
        start: start * BLOCK,
        length: length * BLOCK,
        capacity: length * BLOCK,
        written: written * BLOCK,
        condition: Condition::Active,
    };
    for (reports, wanted) in [
        (vec![zone(0, 16, 1)], "the device repeats the zones from byte 65536 on"),
        (vec![zone(0, 0, 0)], "the device repeats the zones from byte 0 on"),
        (vec![zone(3, 16, 1)], "the zone at byte 12288 is not one of zones of 65536 bytes"),
        (vec![zone(0, 17, 1)], "the zone at byte 0 is not one of zones of 65536 bytes"),
        (vec![zone(0, 16, 17)], "the zone at byte 0 is not one of zones of 65536 bytes"),
    ] {
        let refusal = attached(reports).expect_err(wanted).to_string();
        assert_eq!(refusal, format!("f: report zones failed: {wanted}"));
    }
}

proptest! {
    #[test]
    fn no_report_is_too_odd(
        numbers in proptest::collection::vec((any::<[u64; 4]>(), 0_u32..48, 0..6_usize), 0..5)
    ) {
        let conditions = [
            Condition::Conventional,
            Condition::Empty,
            Condition::Active,
            Condition::Full,
            Condition::ReadOnly,
            Condition::Offline,
        ];
        let report = |([start, length, capacity, written], shift, condition): ([u64; 4], u32, usize)| ZoneReport {
            start: start >> shift << 16,
            length: length >> shift,
            capacity: capacity >> shift,
            written: written >> shift,
            condition: conditions[condition],
        };
        let _ = attached(numbers.into_iter().map(report).collect());
    }
}

/// Parameters of the property below.
#[derive(Clone, Debug)]
struct Shape {
    zones: usize,
    zone_blocks: u64,
    capacity_blocks: u64,
    limit: u32,
    job_limit: u32,
    workers: usize,
    depth: usize,
    /// Longest write in blocks; shorter writes occur as well.
    longest: u64,
    shortest: u64,
    random: bool,
    trims: bool,
    remainder: bool,
    threshold: Option<f64>,
}

fn shapes() -> impl Strategy<Value = Shape> {
    let sizes = (2usize..7, 4u64..12, 0u64..4, 0u32..4, 0u32..3);
    let flow = (1usize..4, 1usize..6, 1u64..5, 1u64..3);
    let kinds = (any::<bool>(), any::<bool>(), any::<bool>(), proptest::option::of(0.2f64..0.9));
    (sizes, flow, kinds).prop_map(|(sizes, flow, kinds)| {
        let (zones, zone_blocks, unused, limit, job_limit) = sizes;
        let (workers, depth, longest, shortest) = flow;
        let (random, trims, remainder, threshold) = kinds;
        let capacity_blocks = zone_blocks - unused.min(zone_blocks - 3);
        let longest = longest.max(shortest).min(capacity_blocks);
        let job_limit = if limit == 0 { 0 } else { job_limit };
        let shortest = shortest.min(longest);
        Shape {
            zones,
            zone_blocks,
            capacity_blocks,
            limit,
            job_limit,
            workers,
            depth,
            longest,
            shortest,
            random,
            trims,
            remainder,
            threshold,
        }
    })
}

/// A worker of the simulation.
struct Simulated<'a> {
    rules: ZoneRules<'a>,
    position: u64,
    /// I/Os that were admitted but not submitted, in order.
    placed: VecDeque<Target>,
    in_flight: Vec<Target>,
    held: Option<Target>,
    resets: u64,
}

fn simulate(shape: &Shape, choices: &[u32]) {
    let table = ZoneTable::new(1).expect("mapped");
    let limit = if shape.limit > 0 { shape.limit as usize } else { 0 };
    let model = Model::new(shape.zones, shape.zone_blocks, shape.capacity_blocks, limit);
    let (shortest, longest) = (shape.shortest * BLOCK, shape.longest * BLOCK);
    let zone_size = shape.zone_blocks * BLOCK;
    let plan = ZonePlan {
        max_open: shape.limit,
        job_max_open: shape.job_limit,
        writes_remainder: shape.remainder,
        reset_threshold: shape.threshold,
        reset_frequency: shape.threshold.map(|_| 0.5),
        shortest: PerDirection::new([shortest, shortest, zone_size]),
        longest: PerDirection::new([longest, longest, zone_size]),
        ..zone_plan(shape.random, [true, true, false])
    };
    // Some jobs have smaller blocks than others and leave remainders that other jobs cannot fill.
    let small = ZonePlan { shortest: PerDirection::new([BLOCK, BLOCK, zone_size]), ..plan.clone() };
    let plans = [&plan, &small];
    let mut workers: Vec<Simulated> = (0..shape.workers)
        .map(|worker| Simulated {
            rules: rules(&table, plans[worker % 2], &model, worker as u32).expect("attached"),
            position: 0,
            placed: VecDeque::new(),
            in_flight: Vec::new(),
            held: None,
            resets: 0,
        })
        .collect();
    let size = zone_size * shape.zones as u64;
    let mut writes = 0;
    for &choice in choices {
        let worker = choice as usize % workers.len();
        let choice = u64::from(choice) / workers.len() as u64;
        let simulated = &mut workers[worker];
        if !simulated.placed.is_empty() && choice % 5 < 2 {
            hand_over(simulated, &model);
            continue;
        }
        if simulated.in_flight.len() + simulated.placed.len() >= shape.depth
            || (choice.is_multiple_of(3) && simulated.is_busy())
        {
            end_one(simulated, &model, choice as usize / 3);
            continue;
        }
        let target = simulated
            .held
            .take()
            .unwrap_or_else(|| drawn(shape, size, choice / 3, simulated.position, worker % 2 == 1));
        match simulated.rules.admit(target).expect("no error") {
            Decision::Issue { target, behind } => {
                writes += u32::from(target.direction == Direction::Write);
                simulated.position = behind % size;
                simulated.placed.push_back(target);
            }
            Decision::Reset(target) => {
                model.borrow_mut().begin(target);
                assert_eq!(simulated.rules.reset_for_trim(target), i64::from(target.length));
                simulated.in_flight.push(target);
            }
            Decision::Wait => {
                simulated.held = Some(target);
                let busy = workers.iter().position(Simulated::is_busy);
                let busy = busy.expect("nothing in flight, yet something is waited for");
                end_one(&mut workers[busy], &model, 0);
            }
            Decision::WriteFirst | Decision::FileDone => simulated.position = 0,
        }
    }
    while let Some(busy) = workers.iter().position(Simulated::is_busy) {
        end_one(&mut workers[busy], &model, 0);
    }
    let counted: u64 = workers.iter_mut().map(|worker| worker.resets + worker.rules.take_resets()).sum();
    assert_eq!(counted, model.borrow().resets);
    assert!(choices.len() < 200 || writes > 20, "{writes} writes in all");
    let locked = table.lock(0);
    for (number, zone) in model.borrow().zones.iter().enumerate() {
        assert_eq!(locked.zones[number].write_pointer, zone.written, "zone {number}");
        assert_eq!(locked.zones[number].readable, zone.data, "all that was written can be read");
    }
}

fn drawn(shape: &Shape, size: u64, choice: u64, position: u64, is_small: bool) -> Target {
    let shortest = if is_small { 1 } else { shape.shortest };
    let zone_size = shape.zone_blocks * BLOCK;
    let (choice, kind) = (choice / 8, choice % 8);
    let random = choice * BLOCK % size;
    let offset = if shape.random { random } else { position };
    match kind {
        0 if shape.trims => {
            let offset = random / zone_size * zone_size;
            Target { offset, length: zone_size as u32, file: 0, direction: Direction::Trim }
        }
        0..=2 => Target { direction: Direction::Read, ..write(offset / BLOCK, shortest) },
        _ => write(offset / BLOCK, shortest + choice % (shape.longest - shortest + 1)),
    }
}

impl Simulated<'_> {
    fn is_busy(&self) -> bool {
        !self.in_flight.is_empty() || !self.placed.is_empty()
    }
}

/// Submits the first admitted write.
fn hand_over(worker: &mut Simulated<'_>, model: &Rc<RefCell<Model>>) {
    let target = worker.placed.pop_front().expect("something is placed");
    model.borrow_mut().begin(target);
    if target.direction == Direction::Write {
        worker.rules.handed_over(target);
    }
    worker.in_flight.push(target);
}

/// Completes an I/O. If none was submitted, one is submitted first.
fn end_one(worker: &mut Simulated<'_>, model: &Rc<RefCell<Model>>, which: usize) {
    while worker.in_flight.is_empty() {
        hand_over(worker, model);
    }
    let target = worker.in_flight.swap_remove(which % worker.in_flight.len());
    model.borrow_mut().end(target);
    worker.rules.settle(target, true).expect("no error");
    worker.resets += worker.rules.take_resets();
}

proptest! {
    #[test]
    fn every_rule_of_a_zoned_device_is_kept(
        shape in shapes(),
        choices in proptest::collection::vec(any::<u32>(), 1..400),
    ) {
        simulate(&shape, &choices);
    }
}
