//! Files that were just opened, looked up before they are closed again: a second instance of tracefs has only the ends of opens, and
//! wakes the recorder for each of them.

use super::kernel::{Event, Events};
use super::look::{self, Behind, Look, Looked};
use crate::RecordError;
use crate::buffers::{Buffers, Piece};
use crate::instance::Instance;
use fathom_sys::clock;
use std::collections::{HashMap, VecDeque};
use std::os::fd::RawFd;

/// Size of the buffer per processor, in KiB.
const BUFFER_KIB: u64 = 256;
/// The same event has about the same time in both instances.
const NEAR_NS: u64 = 5_000_000;
/// Descriptors that are looked up if that of an open is closed already.
const MOST_OTHERS: usize = 32;
/// Opens per thread that wait for their event in the other instance.
const MOST: usize = 4096;

/// A flag of clone that the kernel sets for its threads of rings.
const OF_KERNEL: u64 = libc::CLONE_UNTRACED as u64;

fn looked(tid: u32, descriptor: i32, with_names: bool) -> Looked {
    if let Some(behind) = look::behind(tid, descriptor, with_names) {
        return Looked { behind: Some(behind), opened: look::opened(tid, descriptor), others: None };
    }
    let before = clock::monotonic_ns();
    let others = look::descriptors(tid).into_iter().take(MOST_OTHERS);
    let all: Vec<(i32, Behind)> =
        others.filter_map(|other| Some((other, look::behind(tid, other, with_names)?))).collect();
    let between_ns = (before, clock::monotonic_ns());
    Looked {
        others: (!all.is_empty()).then_some(Look { between_ns, all, candidate: None }),
        ..Looked::default()
    }
}

struct Seen {
    time_ns: u64,
    descriptor: i32,
    /// When it was looked up.
    looked_ns: u64,
    looked: Looked,
}

/// Looks files up.
pub(crate) struct Prompt {
    buffers: Buffers,
    events: Option<Events>,
    seen: HashMap<u32, VecDeque<Seen>>,
    with_names: bool,
    has_ring: bool,
    /// New threads of rings.
    threads: Vec<u32>,
}

impl Prompt {
    pub(crate) fn new(with_names: bool) -> Result<Prompt, RecordError> {
        let buffers = Buffers::new(BUFFER_KIB)?;
        Ok(Prompt {
            buffers,
            events: None,
            seen: HashMap::new(),
            with_names,
            has_ring: false,
            threads: Vec::new(),
        })
    }

    pub(crate) fn instance_mut(&mut self) -> &mut Instance {
        self.buffers.instance_mut()
    }

    /// Enables its events.
    pub(crate) fn enable(&mut self) -> Result<(), RecordError> {
        self.events = Some(Events::enable_opens(self.buffers.instance())?);
        // Readers wake for each event.
        self.buffers.instance().write("buffer_percent", "0")?;
        self.buffers.instance().write("options/event-fork", "1")
    }

    pub(crate) fn attach(&self, pids: &str) -> Result<(), RecordError> {
        self.buffers.instance().write("set_event_pid", pids)
    }

    /// Never traces this process.
    pub(crate) fn leave_out(&self, pid: u32) -> Result<(), RecordError> {
        self.buffers.instance().write("set_event_notrace_pid", &pid.to_string())
    }

    pub(crate) fn start(&mut self) -> Result<(), RecordError> {
        self.buffers.start()
    }

    pub(crate) fn stop(&mut self) -> Result<(), RecordError> {
        self.buffers.stop()
    }

    pub(crate) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.buffers.descriptors()
    }

    /// True if a ring was made since the last call.
    pub(crate) fn take_ring(&mut self) -> bool {
        std::mem::take(&mut self.has_ring)
    }

    /// Threads of rings since the last call.
    pub(crate) fn take_threads(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.threads)
    }

    /// Looks up what was opened since the last call.
    pub(crate) fn drain(&mut self) -> Result<(), RecordError> {
        let mut opens: Vec<(u64, u32, i32)> = Vec::new();
        let Some(events) = &self.events else { return Ok(()) };
        let (has_ring, threads) = (&mut self.has_ring, &mut self.threads);
        self.buffers.drain(|piece| {
            let Piece::Event(_, time_ns, bytes) = piece else { return };
            match events.decode(bytes) {
                Some((tid, Event::Exit(_, result))) if result >= 0 => {
                    opens.push((time_ns, tid, result as i32))
                }
                Some((_, Event::Ring)) => *has_ring = true,
                // A thread of a ring, which the kernel does not follow by itself.
                Some((_, Event::Fork { child, flags })) if flags & OF_KERNEL != 0 => threads.push(child),
                _ => {}
            }
        })?;
        opens.sort_unstable();
        // A descriptor that was opened twice is the second file.
        let mut again: HashMap<(u32, i32), u64> = HashMap::new();
        let mut latest = Vec::with_capacity(opens.len());
        for &(time_ns, tid, descriptor) in opens.iter().rev() {
            latest.push(again.insert((tid, descriptor), time_ns).is_none());
        }
        for ((time_ns, tid, descriptor), is_latest) in opens.into_iter().zip(latest.into_iter().rev()) {
            self.note(time_ns, tid, descriptor, is_latest);
        }
        Ok(())
    }

    fn note(&mut self, time_ns: u64, tid: u32, descriptor: i32, is_latest: bool) {
        let all = self.seen.entry(tid).or_default();
        // What was found before, but after this open, is this file.
        for seen in all.iter_mut().filter(|seen| seen.descriptor == descriptor && seen.looked_ns >= time_ns) {
            seen.looked = Looked::default();
        }
        let looked = match is_latest {
            true => looked(tid, descriptor, self.with_names),
            false => Looked::default(),
        };
        if all.len() >= MOST {
            all.pop_front();
        }
        all.push_back(Seen { time_ns, descriptor, looked_ns: clock::monotonic_ns(), looked });
    }

    /// What was found when a thread opened a descriptor at this time.
    pub(crate) fn take(&mut self, time_ns: u64, tid: u32, descriptor: i32) -> Looked {
        let Some(all) = self.seen.get_mut(&tid) else { return Looked::default() };
        while let Some(seen) = all.front() {
            if seen.time_ns + NEAR_NS < time_ns {
                all.pop_front();
                continue;
            }
            if seen.descriptor != descriptor || seen.time_ns > time_ns + NEAR_NS {
                break;
            }
            return all.pop_front().map(|seen| seen.looked).unwrap_or_default();
        }
        Looked::default()
    }

    /// Forgets a thread that has ended.
    pub(crate) fn forget(&mut self, tid: u32) {
        self.seen.remove(&tid);
    }
}
