//! Fast path to the next target, for the plans that most jobs have.

use super::FileState;
use super::ahead::{Ahead, DRAWN, Extent};
use super::direction::Following;
use super::distribution::{Sampler, Zones};
use super::length::Lengths;
use super::offset::{Draws, RandomOffsets};
use super::permutation::Permutation;
use super::shift_register::ShiftRegister;
use super::uniform::{Grain, Uniform};
use crate::invariant::holds;
use crate::plan::model::targets::{DirectionPlan, TargetPlan};
use crate::random::{DrawnAhead, part_below};
use fathom_stats::{Direction, PerDirection};

/// Maximum number of files for the fast path, because targets drawn ahead take memory for each file.
const MOST_FILES: usize = 1 << 14;

/// The fast path, if the plan allows it.
#[derive(Clone)]
pub(super) enum Short {
    None,
    /// One file and one direction: targets are drawn ahead.
    Only(Order),
    /// One file.
    One(Box<Simple>),
    /// Several files or directions, with one fast path for each file.
    Several(Box<[Simple]>),
}

impl Short {
    /// Builds the fast path for files with these orders.
    pub(super) fn of(plan: &TargetPlan, mut orders: Vec<Order>, files: usize) -> Short {
        let simple = orders.len();
        holds!(simple == 0 || simple == files, Block, "{simple} of {files} files have a simple order");
        match (simple, plan.directions.only()) {
            (0, _) => Short::None,
            (1, Some(_)) => orders.pop().map_or(Short::None, Short::Only),
            (1, None) => orders.pop().map_or(Short::None, |order| Short::One(Box::new(Simple::new(order)))),
            _ => Short::Several(orders.into_iter().map(Simple::new).collect()),
        }
    }
}

/// Fast path of one file, for jobs with several files or directions.
#[derive(Clone)]
pub(super) struct Simple {
    ahead: Ahead,
    order: Order,
}

/// The orders that most jobs use: sequential or random.
#[derive(Clone)]
pub(super) enum Order {
    /// Blocks of one length.
    Blocks { start: u64, length: u32, source: Source },
    /// The next position by direction, and the last position at which an I/O of this length still fits; both
    /// are relative to the start. With `wraps`, I/O continues at the start. The I/Os of a single direction can
    /// be computed ahead.
    Sequential {
        start: u64,
        positions: PerDirection<u64>,
        length: u32,
        last: u64,
        wraps: bool,
        is_foreseen: bool,
    },
    /// Blocks and lengths drawn at random; requires a single direction, or knowledge of the directions of the
    /// next I/Os.
    Uniform { start: u64, uniform: Box<Uniform>, only: Option<Direction> },
}

/// Source of random blocks of one length.
#[derive(Clone)]
pub(super) enum Source {
    /// A permutation. With `begins_anew`, it starts over after the last block without ending the pass.
    Permuted { permutation: Permutation, begins_anew: bool },
    /// The shift register, restricted to whole blocks.
    Registered { register: ShiftRegister, blocks: u64 },
    /// The sampler, restricted to whole blocks.
    Skewed { sampler: Box<Sampler>, blocks: u64 },
    /// Any block, possibly repeatedly.
    Drawn { numbers: Box<DrawnAhead>, blocks: u64 },
    /// Random blocks of zones.
    Zoned { zones: Zones, draws: Box<ZoneDraws> },
}

/// The generators of zones and of positions within a zone.
#[derive(Clone)]
pub(super) struct ZoneDraws {
    zone: DrawnAhead,
    place: DrawnAhead,
}

impl Simple {
    /// The fast path of a file with this order.
    pub(super) fn new(order: Order) -> Simple {
        Simple { ahead: Ahead::default(), order }
    }

    /// The next I/O of a direction, drawn together with the following I/Os if that is cheaper.
    #[inline(always)]
    pub(super) fn next(&mut self, direction: Direction, following: Following) -> Option<Extent> {
        // This is not a closure, because a closure would not be inlined.
        match self.ahead.next() {
            None => self.order.next(&mut self.ahead, direction, following),
            extent => extent,
        }
    }

    /// The next I/O of a direction, when the direction may differ from the expected ones, so that nothing may
    /// be drawn ahead for other directions.
    #[inline(always)]
    pub(super) fn next_alone(&mut self, direction: Direction) -> Option<Extent> {
        let expected = self.order.expected(&self.ahead);
        holds!(expected == 0, Direction, "{direction:?} is next, with {expected} I/Os drawn of others");
        self.next(direction, Following::NONE)
    }

    /// Starts another pass; `again` repeats the order.
    pub(super) fn restart(&mut self, again: bool) {
        self.order.restart(&mut self.ahead, again);
    }

    /// Like [`Order::generator_state`].
    pub(super) fn generator_state(&self) -> Option<(Vec<u64>, bool)> {
        self.order.generator_state(&self.ahead)
    }
}

impl Order {
    /// The simple orders of all files of a job; empty if any file has another order. Moves the generators of
    /// random offsets out of the files' states.
    pub(super) fn of_files(
        plan: &TargetPlan,
        files: &mut [FileState],
        lengths: &PerDirection<Lengths>,
        draws: &Draws,
    ) -> Vec<Order> {
        let partly = plan.postfix.is_some() || plan.random_percent.values().any(|&percent| percent < 100);
        if partly
            || plan.stride.is_some()
            || plan.follows_zones
            || plan.directions == DirectionPlan::TrimThenWrite
            || files.len() > MOST_FILES
            || files.iter().any(|file| file.size < plan.smallest_length())
        {
            return Vec::new();
        }
        // Draws that all files share depend on the order in which files are used.
        let shares_draws = |file: &FileState| file.random.as_ref().is_some_and(RandomOffsets::shares_draws);
        if files.len() > 1 && plan.random && files.iter().any(shares_draws) {
            return Vec::new();
        }
        let one = |file: &mut FileState| {
            let is_uniform = plan.random && file.random.as_ref().is_some_and(RandomOffsets::is_uniform);
            match is_uniform {
                true => uniform(plan, file, lengths, draws),
                false => blocks_of_one_length(plan, file, draws, plan.one_length()?),
            }
        };
        // All files have the same kind of order, so the first one decides.
        files.iter_mut().map_while(one).collect()
    }

    /// The next I/O of a direction after all I/Os drawn ahead are used up. Draws more ahead if possible.
    #[inline(always)]
    pub(super) fn next(
        &mut self,
        ahead: &mut Ahead,
        direction: Direction,
        following: Following,
    ) -> Option<Extent> {
        match self {
            Order::Uniform { start, uniform, only: None } if following.count == 0 => {
                uniform.next_from(*start, direction)
            }
            Order::Sequential { start, positions, length, last, wraps, is_foreseen: false } => {
                let position = wrapped(positions[direction], *last, *wraps)?;
                positions[direction] = position + u64::from(*length);
                Some(Extent { offset: *start + position, length: *length })
            }
            Order::Blocks { .. } | Order::Sequential { .. } | Order::Uniform { .. } => {
                self.draw_ahead(ahead, direction, following);
                ahead.next()
            }
        }
    }

    #[inline(never)]
    fn draw_ahead(&mut self, ahead: &mut Ahead, direction: Direction, following: Following) {
        ahead.used = 0;
        match self {
            Order::Blocks { start, length, source } => {
                ahead.start = *start;
                ahead.set_length(*length);
                ahead.count = source.fill(&mut ahead.blocks);
            }
            Order::Sequential { start, positions, length, last, wraps, .. } => {
                (ahead.start, ahead.count) = (*start, 0);
                ahead.set_length(*length);
                let Some(position) = wrapped(positions[direction], *last, *wraps) else { return };
                let step = u64::from(*length);
                let (first, left) = (position / step, (*last - position) / step + 1);
                ahead.count = left.min(DRAWN as u64) as usize;
                for (block, number) in ahead.blocks.iter_mut().zip(first..) {
                    *block = number;
                }
                positions[direction] = position + ahead.count as u64 * step;
            }
            Order::Uniform { start, uniform, only } => {
                ahead.start = *start;
                match only {
                    Some(direction) => uniform.fill(ahead, *direction),
                    None => uniform.fill_mix(ahead, direction, following),
                }
                // An I/O that ends the pass, begins another round or may not fit is drawn alone.
                if ahead.count == 0
                    && let Some(extent) = uniform.next_from(*start, direction)
                {
                    ahead.set_one(extent);
                }
            }
        }
    }

    /// Number of I/Os returned so far, if lengths vary.
    pub(super) fn given(&self, ahead: &Ahead) -> u64 {
        match self {
            Order::Uniform { uniform, .. } => uniform.given() - ahead.unused() as u64,
            _ => 0,
        }
    }

    /// State of the generator of random offsets, and whether it uses 64-bit words; `None` for generators that
    /// fio does not have.
    pub(super) fn generator_state(&self, ahead: &Ahead) -> Option<(Vec<u64>, bool)> {
        match self {
            Order::Uniform { uniform, .. } => Some(uniform.generator_state(ahead.unused())),
            Order::Blocks { source: Source::Drawn { numbers, .. }, .. } => {
                Some(numbers.state_without(ahead.unused()))
            }
            _ => None,
        }
    }

    /// Number of I/Os drawn ahead for the directions of a mix and not yet returned.
    fn expected(&self, ahead: &Ahead) -> usize {
        match self {
            Order::Uniform { only: None, .. } => ahead.unused(),
            _ => 0,
        }
    }

    /// Starts another pass; `again` repeats the order of the previous one.
    pub(super) fn restart(&mut self, ahead: &mut Ahead, again: bool) {
        match self {
            Order::Blocks { source, .. } => {
                if source.restart(again) {
                    ahead.clear();
                }
            }
            Order::Sequential { positions, .. } => {
                *positions = PerDirection::default();
                ahead.clear();
            }
            Order::Uniform { uniform, only, .. } => {
                uniform.put_back(ahead, *only);
                ahead.clear();
                uniform.restart(again);
            }
        }
    }
}

/// Position of a sequential I/O. Beyond the last position that fits, this is the first one if the order wraps.
#[inline(always)]
fn wrapped(position: u64, last: u64, wraps: bool) -> Option<u64> {
    match position > last {
        false => Some(position),
        true => wraps.then_some(0),
    }
}

/// Orders of blocks and lengths that are drawn together.
fn uniform(
    plan: &TargetPlan,
    file: &mut FileState,
    lengths: &PerDirection<Lengths>,
    draws: &Draws,
) -> Option<Order> {
    if plan.length_by_pattern {
        return None;
    }
    let map = file.random.take().and_then(RandomOffsets::into_map);
    if map.is_none()
        && let Some(length) = plan.one_length()
    {
        let numbers = Box::new(DrawnAhead::new(draws.offsets().clone()));
        let source = Source::Drawn { numbers, blocks: file.size / length };
        return Some(Order::Blocks { start: file.start, length: length as u32, source });
    }
    let grains = PerDirection::from_fn(|direction| {
        Grain::new(file.size, file.blocks[direction], plan.alignment[direction], &plan.lengths[direction])
    });
    let uniform = Uniform::new(
        file.size,
        grains,
        map,
        lengths.clone(),
        draws.offsets().clone(),
        plan.begins_files_anew,
    );
    Some(Order::Uniform { start: file.start, uniform: Box::new(uniform), only: plan.directions.only() })
}

/// Orders of blocks whose length equals their alignment.
fn blocks_of_one_length(
    plan: &TargetPlan,
    file: &mut FileState,
    draws: &Draws,
    length: u64,
) -> Option<Order> {
    if !plan.random {
        return Some(Order::Sequential {
            start: file.start,
            positions: PerDirection::default(),
            length: length as u32,
            last: file.size - length,
            wraps: plan.wraps && file.size.is_multiple_of(length),
            is_foreseen: plan.directions.only().is_some(),
        });
    }
    let blocks = file.size / length;
    let source = match file.random.take()? {
        RandomOffsets::Permutation(permutation) => {
            Source::Permuted { permutation, begins_anew: plan.begins_files_anew }
        }
        RandomOffsets::ShiftRegister(register) => Source::Registered { register, blocks },
        RandomOffsets::Skewed(mut sampler) => {
            sampler.make_table();
            Source::Skewed { sampler, blocks }
        }
        RandomOffsets::Zoned { zones } if plan.directions.only().is_some() => {
            let zones = zones.into_array()[plan.used_directions()[0].index()].clone();
            let [zone, place] =
                [draws.zones(), draws.offsets()].map(|generator| DrawnAhead::new(generator.clone()));
            Source::Zoned { zones, draws: Box::new(ZoneDraws { zone, place }) }
        }
        other => {
            file.random = Some(other);
            return None;
        }
    };
    Some(Order::Blocks { start: file.start, length: length as u32, source })
}

impl Source {
    /// Draws blocks into `drawn`; at the end of a pass, fewer than it has room for, or none.
    #[inline(never)]
    fn fill(&mut self, drawn: &mut [u64; DRAWN]) -> usize {
        match self {
            Source::Permuted { permutation, begins_anew } => match permutation.fill(drawn) {
                0 if *begins_anew => {
                    permutation.restart(false);
                    permutation.fill(drawn)
                }
                count => count,
            },
            Source::Registered { register, blocks } => {
                let visited = std::iter::from_fn(|| register.next()).filter(|block| block < blocks);
                drawn.iter_mut().zip(visited).map(|(place, block)| *place = block).count()
            }
            Source::Skewed { sampler, blocks } => {
                drawn.fill_with(|| sampler.next_below(*blocks));
                drawn.len()
            }
            Source::Drawn { numbers, blocks } => {
                for (place, number) in drawn.iter_mut().zip(numbers.next_of::<DRAWN>()) {
                    *place = part_below(number, *blocks);
                }
                drawn.len()
            }
            Source::Zoned { zones, draws } => {
                let numbers = draws.zone.next_of::<DRAWN>().into_iter().zip(draws.place.next_of::<DRAWN>());
                let given = numbers.map_while(|(zone, place)| {
                    zones.next(1 + part_below(zone, 100) as u32, |end| part_below(place, end))
                });
                drawn.iter_mut().zip(given).map(|(place, block)| *place = block).count()
            }
        }
    }

    /// Starts another pass; `again` repeats the order. Returns false if blocks drawn ahead remain valid.
    fn restart(&mut self, again: bool) -> bool {
        match self {
            Source::Permuted { permutation, .. } => permutation.restart(again),
            Source::Registered { register, .. } => register.rewind(),
            // Endless orders continue unless they are repeated.
            Source::Skewed { .. } | Source::Zoned { .. } | Source::Drawn { .. } if !again => return false,
            Source::Drawn { numbers, .. } => numbers.rewind(),
            Source::Zoned { draws, .. } => {
                draws.zone.rewind();
                draws.place.rewind();
            }
            Source::Skewed { sampler, .. } => sampler.rewind(),
        }
        true
    }
}
