//! Recording what programs ask of their files: system calls and requests of io_uring, by thread.
//!
//! * `kernel` has the kernel's events, `calls` the system calls, `rings` what belongs to io_uring.
//! * `follow` makes calls on files of them, with `tasks` (threads and descriptors), `table` (files), `queue` (order), and `look`, which
//!   asks /proc. `prompt` asks it soon enough.
//! * [`FileOutput`] writes the recording: the format of [`fathom_trace::files`].
//!
//! Paths and data are in the memory of programs, which is never read.

mod calls;
mod follow;
mod group;
mod kernel;
mod look;
mod output;
mod prompt;
mod queue;
mod requests;
mod rings;
mod searched;
mod table;
mod tasks;
#[cfg(test)]
mod tests;
mod unknown;

pub use output::FileOutput;

use crate::RecordError;
use crate::buffers::{Buffers, Losses, Piece};
use crate::guard::Guard;
use fathom_sys::{clock, process};
use fathom_trace::files::{End, Item};
use follow::Follower;
use kernel::{Event, Events};
use prompt::Prompt;
use std::collections::HashSet;
use std::os::fd::RawFd;
use std::path::PathBuf;

/// How often processes are searched that are not children of those that are recorded.
const SEARCH_NS: u64 = 50_000_000;

/// Whose calls are recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A child that waits to run its command.
    Command(u32),
    /// A process, with its threads and children.
    Process(u32),
    /// A control group.
    Group(PathBuf),
}

/// What to record.
#[derive(Clone, Debug)]
pub struct FileWishes {
    /// Whose calls.
    pub target: Target,
    /// Size of the kernel's buffer per processor, in KiB.
    pub buffer_kib: u64,
    /// Record the names of files and programs.
    pub names: bool,
}

impl Target {
    /// Refuses what does not exist. The path of a control group becomes that of its directory.
    pub fn check(self) -> Result<Target, RecordError> {
        match self {
            Target::Process(pid) if pid == process::own_pid() => {
                Err(RecordError::Target(format!("--pid={pid}: this is the recorder itself")))
            }
            Target::Process(pid) if look::threads(pid).is_empty() => Err(RecordError::Target(format!(
                "--pid={pid}: there is no such process; pgrep NAME prints the ids of a program's processes"
            ))),
            Target::Group(path) => group::find(&path).map(Target::Group).map_err(RecordError::Target),
            target => Ok(target),
        }
    }

    /// Its processes. The recorder is never one of them: it would record its own writing.
    fn processes(&self) -> Vec<u32> {
        let mut found = match self {
            Target::Command(pid) => vec![*pid],
            Target::Process(pid) => look::family(*pid),
            Target::Group(directory) => group::processes(directory),
        };
        found.retain(|pid| *pid != process::own_pid());
        found
    }
}

/// A recording of files.
pub struct FileRecorder {
    buffers: Buffers,
    events: Events,
    prompt: Prompt,
    follower: Follower,
    target: Target,
    /// Threads that the kernel was told of.
    attached: HashSet<u32>,
    /// Events that wait for what other processors did before them.
    waiting: Vec<(u64, u32, Event)>,
    /// Everything up to this time was read by the round before.
    settled_ns: u64,
    /// Earlier events are in what was looked up at the start.
    begin_ns: u64,
    searched_ns: u64,
    has_rings: bool,
    is_over: bool,
    _guard: Option<Guard>,
}

impl FileRecorder {
    /// Begins to record. The calling process must have one thread.
    pub fn start(wishes: &FileWishes) -> Result<FileRecorder, RecordError> {
        let mut buffers = Buffers::new(wishes.buffer_kib)?;
        let mut prompt = Prompt::new(wishes.names)?;
        let guard = Guard::start(&mut [buffers.instance_mut(), prompt.instance_mut()]);
        // Files can be closed soon after they were opened. Without the right to it, more of them stay unknown.
        let _ = fathom_sys::priority::set_nice(-20);
        let events = Events::enable(buffers.instance())?;
        prompt.enable()?;
        buffers.instance().write("options/event-fork", "1")?;
        let mut recorder = FileRecorder {
            follower: Follower::new(wishes.names),
            target: wishes.target.clone(),
            attached: HashSet::new(),
            waiting: Vec::new(),
            settled_ns: 0,
            begin_ns: 0,
            searched_ns: 0,
            has_rings: false,
            is_over: false,
            buffers,
            events,
            prompt,
            _guard: guard,
        };
        recorder.attach()?;
        if recorder.attached.is_empty() {
            recorder.tell_of_nobody()?;
        }
        recorder.buffers.start()?;
        recorder.prompt.start()?;
        // Those that were made meanwhile.
        recorder.attach()?;
        for pid in recorder.target.processes() {
            recorder.follower.add_process(pid);
        }
        recorder.begin_ns = clock::monotonic_ns();
        if recorder.follower.tasks.has_ring() {
            recorder.see_rings();
        }
        Ok(recorder)
    }

    /// Tells the kernel of threads.
    fn tell(&self, tids: &[u32]) -> Result<(), RecordError> {
        let text: Vec<String> = tids.iter().map(u32::to_string).collect();
        let text = text.join(" ");
        self.buffers.instance().write("set_event_pid", &text)?;
        self.prompt.attach(&text)
    }

    /// A control group may be empty, and an empty list means all threads: the list gets the recorder, which is left out again.
    fn tell_of_nobody(&self) -> Result<(), RecordError> {
        let own = process::own_pid();
        self.tell(&[own])?;
        self.buffers.instance().write("set_event_notrace_pid", &own.to_string())?;
        self.prompt.leave_out(own)
    }

    /// Adds all threads that belong to the recording and that the kernel was not told of.
    fn attach(&mut self) -> Result<(), RecordError> {
        let mut new = Vec::new();
        for pid in self.target.processes() {
            new.extend(look::threads(pid).into_iter().filter(|tid| !self.attached.contains(tid)));
        }
        self.attach_all(new)
    }

    fn attach_all(&mut self, new: Vec<u32>) -> Result<(), RecordError> {
        // The kernel takes a page at a time.
        for tids in new.chunks(256) {
            self.tell(tids)?;
        }
        self.attached.extend(new);
        Ok(())
    }

    /// Descriptors that become readable when files were opened.
    pub fn descriptors(&self) -> Vec<RawFd> {
        self.prompt.descriptors().collect()
    }

    /// What the kernel has lost so far.
    pub fn losses(&self) -> Losses {
        self.buffers.losses()
    }

    /// True once the process that is recorded has ended, with all its threads and children.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Stops the recording. What the buffers hold can still be drained.
    pub fn stop(&mut self) -> Result<(), RecordError> {
        self.buffers.stop()?;
        self.prompt.stop()?;
        self.settled_ns = u64::MAX;
        Ok(())
    }

    /// Looks up files that were just opened. To be called when a descriptor is readable.
    pub fn look(&mut self) -> Result<(), RecordError> {
        self.prompt.drain()?;
        let threads = self.prompt.take_threads();
        if !threads.is_empty() {
            // They open nothing, so the second instance does not need them. Telling takes the kernel some milliseconds.
            let text: Vec<String> = threads.iter().map(u32::to_string).collect();
            self.buffers.instance().write("set_event_pid", &text.join(" "))?;
            self.attached.extend(threads);
        }
        if self.prompt.take_ring() {
            self.see_rings();
        }
        Ok(())
    }

    /// Reads all that the buffers hold, and adds to `items` what is complete. Returns the largest number of bytes that one processor's
    /// buffer held.
    pub fn drain(&mut self, items: &mut Vec<Item>) -> Result<u64, RecordError> {
        self.look()?;
        let now = clock::monotonic_ns();
        let (events, waiting, follower) = (&self.events, &mut self.waiting, &mut self.follower);
        let most = self.buffers.drain(|piece| match piece {
            Piece::Gap(lost) => {
                items.push(Item::Lost(lost));
                follower.lost();
            }
            Piece::Event(_, time_ns, bytes) => {
                waiting.extend(events.decode(bytes).map(|(tid, event)| (time_ns, tid, event)));
            }
        })?;
        // Stable, and fast for sequences that are in order already: the processors'.
        self.waiting.sort_by_key(|(time_ns, ..)| *time_ns);
        let count = self.waiting.partition_point(|(time_ns, ..)| *time_ns <= self.settled_ns);
        let mut waiting = std::mem::take(&mut self.waiting);
        for (time_ns, tid, event) in waiting.drain(..count) {
            self.take(time_ns, tid, event);
        }
        self.waiting = waiting;
        let is_end = self.settled_ns == u64::MAX;
        self.follower.search_unknown(self.settled_ns.min(now), is_end);
        self.follower.flush(self.settled_ns.min(now), is_end, items);
        self.settled_ns = self.settled_ns.max(now);
        if !is_end && now.saturating_sub(self.searched_ns) >= SEARCH_NS {
            self.searched_ns = now;
            self.search()?;
        }
        Ok(most)
    }

    fn take(&mut self, time_ns: u64, tid: u32, event: Event) {
        if time_ns < self.begin_ns {
            return;
        }
        self.follower.confirm(time_ns);
        let prompt = &mut self.prompt;
        match event {
            Event::Fork { child, .. } => {
                self.attached.insert(child);
            }
            Event::End => {
                self.attached.remove(&tid);
            }
            _ => {}
        }
        let is_end = matches!(event, Event::End);
        self.follower.take(time_ns, tid, event, |descriptor| prompt.take(time_ns, tid, descriptor));
        if is_end {
            self.prompt.forget(tid);
        }
    }

    /// Finds what the kernel does not follow by itself: new members of a group.
    fn search(&mut self) -> Result<(), RecordError> {
        match &self.target {
            Target::Group(_) => self.attach()?,
            Target::Process(pid) => {
                let family = self.follower.tasks.ids().any(|(tid, _)| process::exists(tid));
                self.is_over = !family && !process::exists(*pid);
            }
            Target::Command(_) => {}
        }
        Ok(())
    }

    /// Asks for the events of file systems, which say where requests of rings go.
    fn see_rings(&mut self) {
        if !std::mem::replace(&mut self.has_rings, true) {
            self.events.enable_places(self.buffers.instance());
        }
    }

    /// The sums so far; the time and the recorder's own use are left to the caller.
    pub fn sums(&self) -> Result<End, RecordError> {
        let counts = self.follower.counts();
        Ok(End {
            calls: counts.sums.calls,
            lost: self.buffers.lost_in_all()?.max(self.buffers.losses().events),
            unresolved: counts.unresolved,
            unknown_files: counts.unknown_files,
            unseen: counts.unseen,
            unplaced: counts.sums.unplaced,
            unfinished: counts.sums.unfinished,
            mapped: counts.sums.mapped,
            ..End::default()
        })
    }
}
