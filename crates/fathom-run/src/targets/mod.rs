//! Determines the next block: direction, file, offset and length of each I/O.
//!
//! A [`TargetPlan`] describes the sequence; [`Targets`] returns one [`Target`] after the other. There are two
//! sources of random offsets. Where the exact sequence matters, the plan names a generator, and the sequence is
//! fio's for the same seed, with a map of covered blocks. Everywhere else the source is a keyed permutation,
//! which needs no memory and is as fast at the end of a pass as at its start.

mod ahead;
pub mod block_map;
mod corrections;
pub mod direction;
pub mod distribution;
pub mod file_choice;
pub mod length;
mod offset;
pub mod permutation;
pub mod precondition;
pub mod shift_register;
mod simple;
pub mod stride;
mod trim_write;
mod uniform;

use crate::invariant::holds;
use crate::plan::model::distribution::DistributionRule;
use crate::plan::model::targets::{DirectionPlan, GeneratorKind, TargetPlan};
use crate::random::{Generator, SeedUse, Seeds, Taus88};
use ahead::{Ahead, Extent};
use direction::{Directions, Following, Mix};
use fathom_stats::{Direction, PerDirection};
use file_choice::FileChoice;
use length::Lengths;
use offset::{BlockCounts, Draws, RandomOffsets};
use precondition::{NoSchedule, Schedule};
use serde::{Deserialize, Serialize};
use simple::{Order, Short};
use stride::Stride;
use thiserror::Error;

/// Target of an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// First byte in the file.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// Index of the file.
    pub file: u32,
    /// Whether to read, write or trim.
    pub direction: Direction,
}

/// The part of one file that a worker uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetRegion {
    /// The file name as given, which seeds the file's own generators.
    pub name: String,
    /// First byte.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// Bytes of the whole file.
    pub file_size: u64,
}

/// The error for a region in which no sequence of offsets is possible.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{name}: {reason}")]
pub struct UnfitRegion {
    /// The file or device.
    pub name: String,
    /// The reason.
    pub reason: NoSchedule,
}

impl TargetPlan {
    /// Number of bytes that one pass over a region of this size moves.
    pub fn pass_bytes(&self, size: u64) -> u64 {
        match &self.distribution {
            DistributionRule::Precondition(rule) => {
                let block_bytes = self.smallest_length();
                rule.writes(size / block_bytes).saturating_mul(block_bytes)
            }
            _ => size,
        }
    }

    /// Fails if the plan is impossible in these regions.
    pub fn check(&self, regions: &[TargetRegion]) -> Result<(), UnfitRegion> {
        let DistributionRule::Precondition(rule) = &self.distribution else { return Ok(()) };
        let block_bytes = self.smallest_length();
        for region in regions {
            Schedule::new(rule, region.size / block_bytes, block_bytes)
                .map_err(|reason| UnfitRegion { name: region.name.clone(), reason })?;
        }
        Ok(())
    }

    /// True if sequential I/O with holes stays in its zone, regardless of how it reaches the zone's end.
    fn stays_in_zones(&self) -> bool {
        self.stride.is_some() || self.follows_zones
    }

    /// Names of files with more blocks than 32-bit random numbers can address, if such numbers were requested
    /// or would be the default.
    pub fn beyond_32_bits<'a>(&'a self, regions: &'a [TargetRegion]) -> impl Iterator<Item = &'a str> {
        let draws = matches!(
            self.distribution,
            DistributionRule::Uniform | DistributionRule::Zoned(_) | DistributionRule::ZonedAbsolute(_)
        );
        let has_32_bits =
            !matches!(self.generator, GeneratorKind::ShiftRegister | GeneratorKind::Tausworthe64);
        let is_drawn = self.random && draws && has_32_bits && !self.is_permuted();
        let most = move |region: &&TargetRegion| {
            is_drawn && BlockCounts::of(self, region.size).fewest > u64::from(u32::MAX)
        };
        regions.iter().filter(most).map(|region| region.name.as_str())
    }

    /// Number of blocks of a region from which random offsets of a direction are drawn.
    pub(crate) fn blocks_of(&self, direction: Direction, size: u64) -> u64 {
        let (alignment, smallest) = (self.alignment[direction], self.lengths[direction].min());
        size.saturating_sub(smallest.saturating_sub(alignment)) / alignment
    }

    /// True if random offsets come from a permutation.
    pub fn is_permuted(&self) -> bool {
        self.random
            && self.generator == GeneratorKind::Free
            && self.distribution == DistributionRule::Uniform
            && self.each_block_once
            && self.has_one_length()
    }

    /// Source of the random offsets, as a word; `None` for sequential plans.
    pub fn random_offsets(&self) -> Option<&'static str> {
        if !self.random {
            return None;
        }
        Some(match (&self.distribution, self.generator) {
            (DistributionRule::Zipf { .. }, _) => "zipf",
            (DistributionRule::Pareto { .. }, _) => "pareto",
            (DistributionRule::Normal { .. }, _) => "normal",
            (DistributionRule::Zoned(_) | DistributionRule::ZonedAbsolute(_), _) => "zoned",
            (DistributionRule::Sequence { .. }, _) => "sequence",
            (DistributionRule::Precondition(_), _) => "sprandom",
            (DistributionRule::Uniform, GeneratorKind::ShiftRegister) => "lfsr",
            (DistributionRule::Uniform, GeneratorKind::Tausworthe64) => "tausworthe64",
            (DistributionRule::Uniform, _) if self.is_permuted() => "permutation",
            (DistributionRule::Uniform, _) => "tausworthe",
        })
    }
}

#[derive(Clone)]
struct FileState {
    start: u64,
    size: u64,
    /// Bytes of the whole file.
    file_size: u64,
    /// Number of aligned blocks from which random offsets are drawn, by direction.
    blocks: PerDirection<u64>,
    /// Position of sequential I/O, by direction, relative to `start`.
    positions: PerDirection<u64>,
    /// Values of `positions` at the beginning of a pass.
    first_position: u64,
    random: Option<RandomOffsets>,
    /// Number of bytes beyond `size` that a sequential I/O may cover if it starts before the end.
    overhang: u64,
    /// Set if `start` and `size` describe one zone of many.
    stride: Option<Stride>,
    /// The trim whose block must be written next.
    trimmed: Option<Target>,
    done: bool,
}

/// Initial state of generators that cannot be rewound, for a pass that repeats the first one.
#[derive(Clone)]
struct Beginning {
    pattern_generators: PerDirection<Taus88>,
    draws: Draws,
}

/// The sequence of targets of one worker.
#[derive(Clone)]
pub struct Targets {
    /// Targets drawn ahead in the only file and direction.
    ahead: Ahead,
    /// That direction.
    direction: Direction,
    short: Short,
    plan: TargetPlan,
    directions: Directions,
    files: Vec<FileState>,
    choice: FileChoice,
    lengths: PerDirection<Lengths>,
    pattern_generators: PerDirection<Taus88>,
    draws: Draws,
    /// State that cannot be rewound, as it was before the first target.
    beginning: Box<Beginning>,
    /// Number of I/Os that still follow the last random draw.
    follow_ups: u64,
    last: Option<Target>,
    /// Number of targets returned so far, unless they are counted elsewhere.
    given: PerDirection<u64>,
    /// True once a drawn direction had no targets left. A loop that waits for completions asks again, which
    /// must not cause another draw, because the number of its calls depends on timing.
    pass_is_over: bool,
}

impl Targets {
    /// Creates the sequence of targets in these regions, of which there is at least one.
    pub fn new(plan: TargetPlan, regions: &[TargetRegion], seeds: Seeds) -> Targets {
        let mut files: Vec<FileState> =
            regions.iter().map(|region| FileState::new(&plan, region, &seeds)).collect();
        let lengths = lengths(&plan, &seeds);
        let draws = Draws::new(&plan, &seeds, plan.beyond_32_bits(regions).next().is_some());
        let orders = Order::of_files(&plan, &mut files, &lengths, &draws);
        let short = Short::of(&plan, orders, regions.len());
        let beginning = Beginning {
            pattern_generators: PerDirection::from_fn(|_| seeds.generator(SeedUse::SequentialOrRandom)),
            draws,
        };
        let Beginning { pattern_generators, draws } = beginning.clone();
        let mut targets = Targets {
            ahead: Ahead::default(),
            direction: plan.used_directions()[0],
            short,
            directions: directions(&plan, &seeds),
            choice: FileChoice::new(plan.files, regions.len(), seeds.get(SeedUse::File)),
            files,
            lengths,
            pattern_generators,
            draws,
            beginning: Box::new(beginning),
            follow_ups: 0,
            last: None,
            given: PerDirection::default(),
            pass_is_over: false,
            plan,
        };
        // A file with no targets left in the drawn direction takes its draw back, so directions must be drawn
        // individually.
        if regions.len() > 1 {
            targets.draw_directions_one_by_one();
        }
        targets
    }

    /// Draws directions only when they are needed, so that they can be replaced.
    pub fn draw_directions_one_by_one(&mut self) {
        if let Directions::Mix(mix) = &mut self.directions {
            mix.draw_one_by_one();
        }
    }

    /// The next target, or `None` when all files have been covered.
    #[inline(always)]
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Option<Target> {
        if let Some(extent) = self.ahead.next() {
            return Some(target_in(0, self.direction, extent));
        }
        match (&mut self.short, &mut self.directions) {
            (Short::One(simple), Directions::Mix(mix)) if !self.pass_is_over => {
                let direction = mix.next();
                match simple.next(direction, mix.following()) {
                    Some(extent) => Some(target_in(0, direction, extent)),
                    None => {
                        self.end_pass(direction);
                        None
                    }
                }
            }
            _ => self.next_drawn(),
        }
    }

    #[inline(never)]
    fn next_drawn(&mut self) -> Option<Target> {
        if self.pass_is_over {
            return None;
        }
        let direction = self.draw_direction();
        self.next_or_end(direction)
    }

    /// The next target of the direction just drawn; if it has none left, the pass is over.
    #[inline(always)]
    pub fn next_or_end(&mut self, direction: Direction) -> Option<Target> {
        let target = self.next_in_direction(direction);
        if target.is_none() {
            self.end_pass(direction);
        }
        target
    }

    #[cold]
    fn end_pass(&mut self, direction: Direction) {
        self.pass_is_over = true;
        if let Directions::Mix(mix) = &mut self.directions {
            mix.drawn_unused(direction);
        }
    }

    /// Number of targets so far, by direction. With one direction and one length they are not counted: the
    /// number follows from the bytes moved.
    pub fn given(&self) -> PerDirection<u64> {
        match (&self.short, &self.directions) {
            (Short::One(_), Directions::Mix(mix)) => mix.given(),
            (Short::Only(order), _) => {
                let mut given = PerDirection::default();
                given[self.direction] = order.given(&self.ahead);
                given
            }
            _ => self.given,
        }
    }

    /// True if nothing is left to draw in this pass.
    pub fn pass_is_over(&self) -> bool {
        self.pass_is_over
    }

    /// Draws only the direction of the next target; pass it to
    /// [`next_in_direction`](Targets::next_in_direction) when it is due.
    #[inline(always)]
    pub fn draw_direction(&mut self) -> Direction {
        match &mut self.directions {
            Directions::Only(direction) => *direction,
            Directions::Mix(mix) => mix.next(),
            Directions::TrimThenWrite { .. } => self.choose_trim_or_write(),
        }
    }

    /// In a mix, replaces the direction just drawn with another one, because the rate limit delays it.
    pub fn replace_direction(&mut self, direction: Direction) {
        if let Directions::Mix(mix) = &mut self.directions {
            mix.replace_last(direction);
        }
    }

    /// The next target of a direction that has been drawn.
    #[inline(always)]
    pub fn next_in_direction(&mut self, direction: Direction) -> Option<Target> {
        let target = match &mut self.short {
            Short::Only(order) => {
                let extent = self.ahead.next();
                let extent = extent.or_else(|| order.next(&mut self.ahead, direction, Following::NONE))?;
                return Some(target_in(0, direction, extent));
            }
            Short::One(simple) => return Some(target_in(0, direction, simple.next_alone(direction)?)),
            Short::Several(_) => self.next_of_several_files(direction),
            Short::None => self.next_general(direction),
        };
        self.given[target?.direction] += 1;
        target
    }

    #[inline(never)]
    fn next_general(&mut self, direction: Direction) -> Option<Target> {
        let target = match self.directions {
            Directions::TrimThenWrite { .. } => self.next_trim_or_write(),
            _ => self.next_in(direction),
        };
        if target.is_some() {
            self.last = target;
        }
        target
    }

    #[inline(always)]
    fn next_in(&mut self, direction: Direction) -> Option<Target> {
        if self.files.len() != 1 {
            return self.next_of_several_files(direction);
        }
        if self.files[0].done {
            return None;
        }
        let target = self.next_in_file(0, direction);
        self.files[0].done = target.is_none();
        target
    }

    #[inline(never)]
    fn next_of_several_files(&mut self, mut direction: Direction) -> Option<Target> {
        loop {
            let file = self.choose_file()?;
            let mut target = self.next_in_file(file, direction);
            if target.is_none() && self.plan.files.order.is_skewed() && self.has_begun(file) {
                // A skewed file order visits frequent files repeatedly, so a file that has been covered starts
                // over.
                self.begin_anew(file);
                if self.plan.random {
                    target = self.next_in_file(file, direction);
                }
            } else if target.is_none() {
                self.finish_file(file as u32);
            }
            if target.is_some() {
                return target;
            }
            // The pass is over; the next one draws its own files and directions. Files usually finish in order,
            // so the search starts with the last one.
            if self.files.iter().rev().all(|file| file.done) {
                return None;
            }
            if let Directions::Mix(mix) = &mut self.directions {
                direction = mix.draw_again(direction);
            }
        }
    }

    /// True if the file has had a target since its pass began.
    fn has_begun(&self, file: usize) -> bool {
        // Files on the fast path hold at least one block, so their pass has begun.
        matches!(self.short, Short::Several(_)) || self.files[file].has_begun()
    }

    /// Starts a file over, with random offsets in a new order.
    fn begin_anew(&mut self, file: usize) {
        match &mut self.short {
            Short::Several(simple) => simple[file].restart(false),
            _ => self.files[file].begin_anew(),
        }
    }

    /// The file whose turn it is, among the files with targets left.
    #[inline(always)]
    fn choose_file(&mut self) -> Option<usize> {
        let files = &self.files;
        self.choice.next(files.len(), |index| !files[index].done)
    }

    #[inline(always)]
    fn next_in_file(&mut self, file: usize, direction: Direction) -> Option<Target> {
        if let Short::Several(simple) = &mut self.short {
            return Some(target_in(file, direction, simple[file].next(direction, Following::NONE)?));
        }
        match self.plan.stride {
            Some(_) => self.next_strided(file, direction),
            None => self.next_in_extent(file, direction),
        }
    }

    /// The next target in the current part of a file: its whole region, or a zone.
    #[inline(always)]
    fn next_in_extent(&mut self, file: usize, direction: Direction) -> Option<Target> {
        if !self.plan.random {
            return self.next_sequential(file, direction);
        }
        if self.plan.postfix.is_some() || self.plan.random_percent[direction] < 100 {
            return self.next_partly_random(file, direction);
        }
        self.next_random(file, direction, true)
    }

    #[inline]
    fn next_sequential(&mut self, file: usize, direction: Direction) -> Option<Target> {
        let stays_in_zones = self.plan.postfix.is_some() && self.plan.stays_in_zones();
        let rule = self.length_rule(direction, true);
        let state = &mut self.files[file];
        let position = state.positions[direction];
        let room = if position < state.size { state.size - position + state.overhang } else { 0 };
        let wraps = stays_in_zones || self.plan.wraps && position >= state.size;
        let (position, length) = state.draw_at(position, room, wraps, &mut self.lengths[rule])?;
        let behind = position + length;
        state.positions[direction] = match self.plan.postfix {
            None => behind,
            Some(step) if self.plan.stays_in_zones() => step_position(behind, step, state.size),
            Some(step) => state.position_behind_hole(behind, step),
        };
        Some(Target { offset: state.start + position, length: length as u32, file: file as u32, direction })
    }

    /// Draws a random target. One that replaces a sequential step beyond the end of the file does not count as
    /// covered, as in fio, so that sequences agree.
    #[inline]
    fn next_random(&mut self, file: usize, direction: Direction, covers: bool) -> Option<Target> {
        let rule = self.length_rule(direction, false);
        let state = &mut self.files[file];
        let random = state.random.as_mut()?;
        let alignment = self.plan.alignment[direction];
        let blocks = state.blocks[direction];
        let mut block = random.next(blocks, direction, &mut self.draws);
        // Writes that were shortened at the end of a zone leave bytes that still have to be written.
        let is_cut_short = self.plan.follows_zones && random.is_permuted();
        if block.is_none() && (is_cut_short || self.plan.begins_files_anew) {
            random.restart(false);
            // Sequential positions restart as well, even those of the other direction.
            if !is_cut_short {
                state.positions = PerDirection::all(state.first_position);
            }
            block = random.next(blocks, direction, &mut self.draws);
        }
        let block = block?;
        holds!(block < blocks, Block, "block {block} of {blocks} is drawn");
        let position = block * alignment;
        let length = self.lengths[rule].draw_or_fill(state.size - position);
        let length = match random {
            RandomOffsets::Uniform { .. } if covers => {
                let units = length.div_ceil(alignment);
                let free = random.cover(block, units);
                if free < units { free * alignment } else { length }
            }
            _ => length,
        };
        state.positions[direction] = position + length;
        Some(Target { offset: state.start + position, length: length as u32, file: file as u32, direction })
    }

    /// Random plans with sequential stretches: `rw=randread:N` and `percentage_random`.
    fn next_partly_random(&mut self, file: usize, direction: Direction) -> Option<Target> {
        if let Some(count) = self.plan.postfix {
            if self.follow_ups > 0 {
                self.follow_ups -= 1;
                if self.plan.repeat_offset
                    && let Some(last) = self.last
                {
                    return Some(Target { direction, ..last });
                }
                return self
                    .next_behind_last(file, direction)
                    .or_else(|| self.next_random(file, direction, false));
            }
            self.follow_ups = (count.max(1) - 1) as u64;
        }
        let random_percent = self.plan.random_percent[direction];
        if random_percent >= 100 || self.pattern_generators[direction].percent() <= random_percent {
            return self.next_random(file, direction, true);
        }
        let behind_last = self.next_behind_last(file, direction);
        let state = &mut self.files[file];
        if behind_last.is_some()
            && let Some(random) = &mut state.random
        {
            random.pass_over(state.blocks[direction], direction, &mut self.draws);
        }
        // Without a random share, a remainder too short for a block ends the pass.
        if random_percent == 0 && state.positions[direction] < state.size {
            return behind_last;
        }
        behind_last.or_else(|| self.next_random(file, direction, false))
    }

    fn next_behind_last(&mut self, file: usize, direction: Direction) -> Option<Target> {
        let rule = self.length_rule(direction, true);
        let state = &mut self.files[file];
        let position = state.positions[direction];
        let room = state.size.saturating_sub(position);
        let wraps = self.plan.wraps && position >= state.size;
        let (position, length) = state.draw_at(position, room, wraps, &mut self.lengths[rule])?;
        state.positions[direction] = position + length;
        Some(Target { offset: state.start + position, length: length as u32, file: file as u32, direction })
    }

    #[inline(always)]
    fn length_rule(&self, direction: Direction, sequential: bool) -> Direction {
        match (self.plan.length_by_pattern, sequential) {
            (false, _) => direction,
            (true, true) => Direction::Read,
            (true, false) => Direction::Write,
        }
    }

    /// Number of files with targets.
    pub fn file_count(&self) -> usize {
        self.files.len()
    }

    /// State of the generator of random offsets, and whether it uses 64-bit words; for saved states.
    pub fn generator_state(&self) -> (Vec<u64>, bool) {
        let is_drawn = |state: &FileState| state.random.as_ref().is_some_and(RandomOffsets::is_uniform);
        let state = match &self.short {
            Short::Only(order) => order.generator_state(&self.ahead),
            Short::One(simple) => simple.generator_state(),
            _ => self.files.iter().any(is_drawn).then(|| self.draws.offsets().state()),
        };
        state.unwrap_or_default()
    }

    /// True if offsets come from a list, which continues from pass to pass.
    pub fn follow_a_list(&self) -> bool {
        matches!(self.plan.distribution, DistributionRule::Sequence { .. })
    }

    /// True if that list has reached the end of the file, so that further passes are empty.
    pub fn list_has_ended(&self) -> bool {
        let directions = self.plan.used_directions();
        self.files.iter().any(|file| {
            let has_ended = |&direction: &Direction| {
                let random = file.random.as_ref();
                random.is_some_and(|random| {
                    random.list_has_ended(file.blocks[direction], direction, &self.draws)
                })
            };
            directions.iter().any(has_ended)
        })
    }

    /// Starts another pass over all files. With `again`, the same order is repeated (a loop, or `io_size`
    /// beyond `size`); otherwise random targets continue in a new order (a time-based run that has covered
    /// everything).
    pub fn restart(&mut self, again: bool) {
        match &mut self.short {
            Short::None => {}
            Short::Only(order) => order.restart(&mut self.ahead, again),
            Short::One(simple) => simple.restart(again),
            Short::Several(files) => files.iter_mut().for_each(|simple| simple.restart(again)),
        }
        for state in &mut self.files {
            state.trimmed = None;
            if state.stride.is_some() {
                state.restart_stride(again);
                continue;
            }
            state.done = false;
            state.restart_random(again);
            state.positions = PerDirection::all(state.first_position);
        }
        if again {
            // All draws are repeated: directions, files, lengths and offsets.
            if let Directions::Mix(mix) = &mut self.directions {
                mix.rewind();
            }
            self.choice.rewind();
            self.lengths.values_mut().for_each(Lengths::rewind);
            self.pattern_generators.clone_from(&self.beginning.pattern_generators);
            self.draws.clone_from(&self.beginning.draws);
            self.follow_ups = 0;
        }
        if let Directions::TrimThenWrite { file } = &mut self.directions {
            *file = None;
        }
        self.last = None;
        self.pass_is_over = false;
    }
}

impl FileState {
    fn new(plan: &TargetPlan, region: &TargetRegion, seeds: &Seeds) -> FileState {
        let Some(rule) = plan.stride else {
            let mut state = FileState::of_extent(plan, region, region.size, seeds);
            state.first_position = first_position(plan, region);
            state.positions = PerDirection::all(state.first_position);
            return state;
        };
        let mut state = FileState::of_extent(plan, region, rule.length.min(region.size), seeds);
        state.stride = Some(Stride::new(rule, plan, region, seeds));
        state.restart_stride(true);
        state
    }

    /// True if the file has had a target since its pass began.
    fn has_begun(&self) -> bool {
        self.positions != PerDirection::all(self.first_position)
    }

    /// Draws a length for this position; if it does not fit and `wraps` is set, draws one for the start of the
    /// file. Also returns the chosen position.
    #[inline]
    fn draw_at(&self, position: u64, room: u64, wraps: bool, lengths: &mut Lengths) -> Option<(u64, u64)> {
        match lengths.draw(room) {
            Some(length) => Some((position, length)),
            None if wraps => {
                let first = self.first_position;
                lengths.draw(self.size - first).map(|length| (first, length))
            }
            None => None,
        }
    }

    /// Starts the file over, with random offsets in a new order.
    fn begin_anew(&mut self) {
        self.restart_random(false);
        self.positions = PerDirection::all(self.first_position);
    }

    /// Makes every random offset available again, in the same order or in a new one.
    fn restart_random(&mut self, again: bool) {
        if let Some(random) = &mut self.random {
            random.restart(again);
        }
    }

    /// Position after a block and a hole. A block that ends exactly at the end of the file ends the pass, and
    /// so does a hole that leads out of the region. After a hole that ends a whole file length behind the
    /// region's start, I/O continues at the region's offset, which fio interprets as a position within the
    /// region.
    fn position_behind_hole(&self, behind: u64, step: i64) -> u64 {
        let next = i128::from(behind) + i128::from(step);
        if self.start + behind >= self.file_size {
            return self.size;
        }
        if next >= i128::from(self.file_size) { self.start } else { before(next, step, self.size) }
    }

    /// State of a file that uses only the first `size` bytes of its region.
    fn of_extent(plan: &TargetPlan, region: &TargetRegion, size: u64, seeds: &Seeds) -> FileState {
        // Directions with different alignments draw from one generator and share one map, counted in their own
        // blocks. Generators with a position use the smallest number of blocks.
        let counts = BlockCounts::of(plan, size);
        let random = (plan.random && counts.fewest > 0)
            .then(|| RandomOffsets::new(plan, seeds, &counts, &region.name));
        FileState {
            start: region.start,
            size,
            file_size: region.file_size,
            blocks: counts.of_direction,
            positions: PerDirection::default(),
            first_position: 0,
            random,
            // In zones, the limit is the remainder of the last zone instead of the end of the file.
            overhang: if plan.follows_zones { plan.longest_length() } else { 0 },
            stride: None,
            trimmed: None,
            done: size == 0,
        }
    }
}

/// Start of sequential I/O, relative to the region. Backward steps begin at the end of the region; fio
/// interprets this end as relative to the file, so these steps begin closer to its start by the region's
/// offset.
fn first_position(plan: &TargetPlan, region: &TargetRegion) -> u64 {
    match plan.postfix {
        Some(step) if step < 0 && !plan.random && !plan.follows_zones && region.start > 0 => {
            let end = i128::from(region.size) - i128::from(region.start);
            if end == 0 { 0 } else { before(end + i128::from(step), step, region.size) }
        }
        _ => 0,
    }
}

/// Position after a sequential block plus `step` bytes; it wraps at both ends of the file.
fn step_position(behind: u64, step: i64, size: u64) -> u64 {
    let next = behind as i128 + i128::from(step);
    if next >= i128::from(size) { 0 } else { before(next, step, size) }
}

/// The position after a backward step; a position before the start of the file continues at its end.
fn before(next: i128, step: i64, size: u64) -> u64 {
    if next < 0 { (i128::from(size) + i128::from(step)).max(0) as u64 } else { next as u64 }
}

#[inline(always)]
fn target_in(file: usize, direction: Direction, extent: Extent) -> Target {
    Target { offset: extent.offset, length: extent.length, file: file as u32, direction }
}

fn directions(plan: &TargetPlan, seeds: &Seeds) -> Directions {
    match plan.directions {
        DirectionPlan::Read => Directions::Only(Direction::Read),
        DirectionPlan::Write => Directions::Only(Direction::Write),
        DirectionPlan::Trim => Directions::Only(Direction::Trim),
        DirectionPlan::Mix(read_percent) => {
            Directions::Mix(Mix::new(read_percent, seeds.generator(SeedUse::Mix)))
        }
        DirectionPlan::TrimThenWrite => Directions::TrimThenWrite { file: None },
    }
}

fn lengths(plan: &TargetPlan, seeds: &Seeds) -> PerDirection<Lengths> {
    let write = if plan.writes_drawn_as_reads { SeedUse::BlockSizeRead } else { SeedUse::BlockSizeWrite };
    // A trim and its write must draw the same lengths.
    let trim = if plan.directions == DirectionPlan::TrimThenWrite { write } else { SeedUse::BlockSizeTrim };
    let has_64_bits = plan.generator == GeneratorKind::Tausworthe64;
    let uses = PerDirection::new([SeedUse::BlockSizeRead, write, trim]);
    PerDirection::from_fn(|direction| {
        let generator = Generator::new(seeds.get(uses[direction]), has_64_bits);
        Lengths::new(&plan.lengths[direction], generator)
    })
}

#[cfg(test)]
mod tests;
