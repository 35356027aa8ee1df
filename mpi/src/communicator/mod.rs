//! The ranks of this MPI job, and their collective operations.
//!
//! No call waits inside MPI. Both Open MPI and MPICH busy-wait and would take a processor away from the I/O to
//! be measured. Therefore everything here starts an operation, polls for its completion, and sleeps in between.
//! This also helps many ranks on one machine.
//!
//! If a rank dies, its launcher (`mpirun`, `srun`) ends the others: there is nothing to handle here.

mod launch;
mod tree;

use mpi::point_to_point::{Destination, Source};
use mpi::request::{Request, Scope};
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi::traits::CommunicatorCollectives;
use std::time::{Duration, Instant};

pub use launch::Refusal;

/// Tag of collective operations: both ends know the order of messages.
const TAG: mpi::Tag = 1;

/// Size of one MPI message, whose length is a C integer.
const LONGEST_MESSAGE: usize = 16 << 20;

/// Polls before the first sleep. Many operations complete within microseconds.
const LOOKS_AT_FIRST: u32 = 50;

/// Pauses between two polls, which double up to the maximum.
const SHORTEST_SLEEP: Duration = Duration::from_micros(20);
const LONGEST_SLEEP: Duration = Duration::from_millis(2);

/// When the latency of a message is measured, time of polling before the first sleep.
const CLOSE_LOOKS: Duration = Duration::from_millis(1);

/// The exit code of a job if a rank panics, the same as that of a Rust program.
const PANICKED: i32 = 101;

/// A message of fixed length between two ranks.
pub type Note = [u64; 3];

/// Kind of a note. Notes of one kind arrive in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// To the parent.
    Above = 2,
    /// From the parent.
    Below = 3,
    /// Clocks.
    Clocks = 4,
}

/// All ranks of this job, until the end of the process. Dropping it finalizes MPI, which each rank does once,
/// and only the process that initialized it: a forked child must end without it.
pub struct Ranks {
    world: SimpleCommunicator,
    // Declared after `world`, so that it is dropped later.
    _universe: mpi::environment::Universe,
}

impl Ranks {
    /// Initializes MPI.
    pub fn enter() -> Result<Ranks, Refusal> {
        let universe = mpi::initialize().ok_or(Refusal::EnteredAlready)?;
        let world = universe.world();
        let ranks = Ranks { world, _universe: universe };
        launch::check(ranks.size(), |name| std::env::var(name).ok())?;
        Ok(ranks)
    }

    /// The number of this rank, from 0.
    pub fn rank(&self) -> usize {
        count(self.world.rank())
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        count(self.world.size())
    }

    /// Broadcasts the bytes of rank 0 to all ranks, replacing theirs.
    pub fn broadcast(&self, bytes: &mut Vec<u8>) {
        if let Some(parent) = self.parent() {
            *bytes = self.receive(parent);
        }
        // The child with the largest subtree comes first.
        for child in self.children().into_iter().rev() {
            self.send(child, bytes);
        }
    }

    /// Returns when all ranks have called it, within milliseconds of the last call.
    pub fn barrier(&self) {
        settle(self.world.immediate_barrier());
    }

    /// Reduces the bytes of all ranks to one value on rank 0. `merge` receives neighbours, the lower rank
    /// first, in unspecified grouping. If it cannot merge, its result must report this to its ancestors, which
    /// wait for it.
    pub fn reduce(
        &self,
        own: Vec<u8>,
        mut merge: impl FnMut(Vec<u8>, Vec<u8>) -> Vec<u8>,
    ) -> Option<Vec<u8>> {
        self.fold(own, |merged, bytes| *merged = merge(std::mem::take(merged), bytes), Vec::clone)
    }

    /// Reduces values in the same way: `add` adds the bytes of a neighbour's subtree, which `write` produced there.
    pub fn fold<T>(
        &self,
        mut own: T,
        mut add: impl FnMut(&mut T, Vec<u8>),
        write: impl FnOnce(&T) -> Vec<u8>,
    ) -> Option<T> {
        for child in self.children() {
            add(&mut own, self.receive(child));
        }
        match self.parent() {
            Some(parent) => {
                self.send(parent, &write(&own));
                None
            }
            None => Some(own),
        }
    }

    /// The parent of this rank in the message tree; `None` for rank 0.
    pub fn parent(&self) -> Option<usize> {
        tree::parent(self.rank())
    }

    /// The children of this rank. The last one has the largest subtree.
    pub fn children(&self) -> Vec<usize> {
        tree::children(self.rank(), self.size())
    }

    /// Sends a note.
    pub fn tell(&self, to: usize, about: About, note: Note) {
        let to = self.world.process_at_rank(number(to));
        let tag = about as mpi::Tag;
        mpi::request::scope(|scope| settle(to.immediate_send_with_tag(scope, &note[..], tag)));
    }

    /// The next note of this kind, if it has arrived.
    pub fn heard(&self, from: usize, about: About) -> Option<Note> {
        let process = self.world.process_at_rank(number(from));
        process.immediate_probe_with_tag(about as mpi::Tag).map(|_| self.hear(from, about))
    }

    /// Waits for the next note of this kind.
    pub fn hear(&self, from: usize, about: About) -> Note {
        self.hear_within(from, about, Duration::ZERO)
    }

    /// Like `hear`, but polls longer before it sleeps, for low latency while the sender is known to be active.
    pub fn hear_closely(&self, from: usize, about: About) -> Note {
        self.hear_within(from, about, CLOSE_LOOKS)
    }

    fn hear_within(&self, from: usize, about: About, closely: Duration) -> Note {
        let from = self.world.process_at_rank(number(from));
        let tag = about as mpi::Tag;
        let mut note = Note::default();
        mpi::request::scope(|scope| {
            settle_closely(from.immediate_receive_into_with_tag(scope, &mut note[..], tag), closely);
        });
        note
    }

    /// Gathers the bytes of each rank on rank 0, in order.
    pub fn gather(&self, own: &[u8]) -> Option<Vec<Vec<u8>>> {
        let join = |mut before: Vec<u8>, after: Vec<u8>| {
            before.extend(after);
            before
        };
        self.reduce(tree::framed(own), join).map(|all| tree::unframed(&all))
    }

    /// The length goes first, so that the receiver need not probe.
    fn send(&self, to: usize, bytes: &[u8]) {
        let to = self.world.process_at_rank(number(to));
        let length = (bytes.len() as u64).to_le_bytes();
        mpi::request::scope(|scope| settle(to.immediate_send_with_tag(scope, &length[..], TAG)));
        for part in bytes.chunks(LONGEST_MESSAGE) {
            mpi::request::scope(|scope| settle(to.immediate_send_with_tag(scope, part, TAG)));
        }
    }

    fn receive(&self, from: usize) -> Vec<u8> {
        let from = self.world.process_at_rank(number(from));
        let mut length = [0; 8];
        mpi::request::scope(|scope| {
            settle(from.immediate_receive_into_with_tag(scope, &mut length[..], TAG));
        });
        // Only this program sends here, and the data also fitted in the sender's memory.
        let mut bytes = vec![0; u64::from_le_bytes(length) as usize];
        for part in bytes.chunks_mut(LONGEST_MESSAGE) {
            mpi::request::scope(|scope| settle(from.immediate_receive_into_with_tag(scope, part, TAG)));
        }
        bytes
    }
}

/// Finalizing MPI waits for all ranks, which wait for the panicking one.
impl Drop for Ranks {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.world.abort(PANICKED);
        }
    }
}

/// Waits for completion without keeping a processor busy.
fn settle<'a, D: ?Sized, S: Scope<'a>>(request: Request<'a, D, S>) {
    settle_closely(request, Duration::ZERO);
}

/// Waits for completion, busy-waiting for this long but yielding to other processes.
fn settle_closely<'a, D: ?Sized, S: Scope<'a>>(mut request: Request<'a, D, S>, closely: Duration) {
    let begin = Instant::now();
    let mut looks = 0;
    let mut sleep = SHORTEST_SLEEP;
    while let Err(unfinished) = request.test() {
        request = unfinished;
        looks += 1;
        if !closely.is_zero() && begin.elapsed() < closely {
            std::thread::yield_now();
        } else if looks > LOOKS_AT_FIRST {
            std::thread::sleep(sleep);
            sleep = (sleep * 2).min(LONGEST_SLEEP);
        }
    }
}

/// MPI counts ranks in C integers that are never negative.
fn count(number: mpi::Rank) -> usize {
    usize::try_from(number).unwrap_or_default()
}

fn number(count: usize) -> mpi::Rank {
    mpi::Rank::try_from(count).unwrap_or(mpi::Rank::MAX)
}
