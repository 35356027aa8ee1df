//! The threads that are recorded, and their descriptors.

use super::look::{self, Behind};
use super::table::Files;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// A file as it is open: all copies of a descriptor share it.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) file: u32,
    pub(crate) position: Option<u64>,
    pub(crate) appends: bool,
}

/// What a descriptor is.
#[derive(Clone, Debug)]
pub(crate) enum Descriptor {
    File(Rc<RefCell<Open>>),
    /// Not a file.
    Other,
}

/// A descriptor and what exec does with it.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) what: Descriptor,
    pub(crate) closes_at_exec: bool,
}

/// Descriptors by number. Threads share them.
pub(crate) type Descriptors = Rc<RefCell<HashMap<i32, Slot>>>;

/// A flag of clone: the descriptors are shared.
pub(crate) const SHARES_FILES: u64 = libc::CLONE_FILES as u64;
/// A flag of clone: a thread of the same process.
const IS_THREAD: u64 = libc::CLONE_THREAD as u64;

/// A thread.
#[derive(Debug)]
pub(crate) struct Task<Pending> {
    pub(crate) pid: u32,
    pub(crate) descriptors: Descriptors,
    /// Its program, if names are recorded.
    pub(crate) program: Rc<[u8]>,
    /// The system call that it is in.
    pub(crate) pending: Option<Pending>,
    /// The request of a ring that it handles.
    pub(crate) request: Option<u64>,
    /// Its name is in the trace.
    pub(crate) is_announced: bool,
}

/// All threads.
#[derive(Debug)]
pub(crate) struct Tasks<Pending> {
    all: HashMap<u32, Task<Pending>>,
    has_ring: bool,
}

impl<Pending> Tasks<Pending> {
    pub(crate) fn new() -> Tasks<Pending> {
        Tasks { all: HashMap::new(), has_ring: false }
    }

    /// A thread. One that is not known yet is looked up, with its descriptors.
    pub(crate) fn get(&mut self, tid: u32, files: &mut Files) -> &mut Task<Pending> {
        if !self.all.contains_key(&tid) {
            self.add_process(tid, files);
        }
        self.all.entry(tid).or_insert_with(|| Task::new(tid, Descriptors::default(), Rc::default()))
    }

    pub(crate) fn known(&mut self, tid: u32) -> Option<&mut Task<Pending>> {
        self.all.get_mut(&tid)
    }

    /// Adds the process of a thread with all its threads and descriptors.
    pub(crate) fn add_process(&mut self, tid: u32, files: &mut Files) {
        let pid = look::process_of(tid);
        let own = self.all.values().find(|task| task.pid == pid).map(|task| Rc::clone(&task.descriptors));
        let descriptors = own.unwrap_or_else(|| Rc::new(RefCell::new(self.snapshot(tid, files))));
        let program: Rc<[u8]> = if files.with_names() { look::program(pid).into() } else { Rc::default() };
        for tid in look::threads(pid).into_iter().chain([tid]) {
            let new = || Task::new(pid, Rc::clone(&descriptors), Rc::clone(&program));
            self.all.entry(tid).or_insert_with(new);
        }
    }

    fn snapshot(&mut self, tid: u32, files: &mut Files) -> HashMap<i32, Slot> {
        let mut found = HashMap::new();
        for descriptor in look::descriptors(tid) {
            if let Some(slot) = self.look(tid, descriptor, files) {
                found.insert(descriptor, slot);
            }
        }
        found
    }

    /// A descriptor by what /proc says.
    pub(crate) fn look(&mut self, tid: u32, descriptor: i32, files: &mut Files) -> Option<Slot> {
        let behind = look::behind(tid, descriptor, files.with_names())?;
        self.has_ring |= behind == Behind::Ring;
        let Behind::File(found) = behind else {
            return Some(Slot { what: Descriptor::Other, closes_at_exec: false });
        };
        let opened = look::opened(tid, descriptor);
        let open = Open {
            file: files.number(&found),
            position: opened.map(|opened| opened.position),
            appends: opened.is_some_and(|opened| opened.appends),
        };
        let closes_at_exec = opened.is_some_and(|opened| opened.closes_at_exec);
        Some(Slot { what: Descriptor::File(Rc::new(RefCell::new(open))), closes_at_exec })
    }

    /// A descriptor of a thread; it is looked up if it is not known. `None` if it is closed by now.
    pub(crate) fn descriptor(&mut self, tid: u32, descriptor: i32, files: &mut Files) -> Option<Descriptor> {
        let descriptors = Rc::clone(&self.get(tid, files).descriptors);
        if let Some(slot) = descriptors.borrow().get(&descriptor) {
            return Some(slot.what.clone());
        }
        let slot = self.look(tid, descriptor, files)?;
        let what = slot.what.clone();
        descriptors.borrow_mut().insert(descriptor, slot);
        Some(what)
    }

    /// A thread or process was made.
    pub(crate) fn fork(&mut self, tid: u32, child: u32, flags: u64, files: &mut Files) {
        let parent = self.get(tid, files);
        let descriptors = match flags & SHARES_FILES != 0 {
            true => Rc::clone(&parent.descriptors),
            false => Rc::new(RefCell::new(parent.descriptors.borrow().clone())),
        };
        let pid = if flags & IS_THREAD != 0 { parent.pid } else { child };
        let program = Rc::clone(&parent.program);
        self.all.insert(child, Task::new(pid, descriptors, program));
    }

    /// A process runs another program.
    pub(crate) fn exec(&mut self, tid: u32, before: u32, program: Option<Rc<[u8]>>, files: &mut Files) {
        if before != tid
            && let Some(task) = self.all.remove(&before)
        {
            self.all.insert(tid, Task { pid: tid, ..task });
        }
        let task = self.get(tid, files);
        let mut descriptors = task.descriptors.borrow().clone();
        descriptors.retain(|_, slot| !slot.closes_at_exec);
        task.descriptors = Rc::new(RefCell::new(descriptors));
        task.is_announced = false;
        task.program = program.filter(|_| files.with_names()).unwrap_or_default();
    }

    pub(crate) fn remove(&mut self, tid: u32) -> Option<Task<Pending>> {
        self.all.remove(&tid)
    }

    /// Forgets all descriptors: events are missing, so they may have changed.
    pub(crate) fn forget_descriptors(&mut self) {
        self.all.values().for_each(|task| task.descriptors.borrow_mut().clear());
    }

    /// Ids of all threads, and their processes.
    pub(crate) fn ids(&self) -> impl Iterator<Item = (u32, u32)> {
        self.all.iter().map(|(tid, task)| (*tid, task.pid))
    }

    /// True once a ring was found among the descriptors.
    pub(crate) fn has_ring(&self) -> bool {
        self.has_ring
    }
}

impl<Pending> Task<Pending> {
    fn new(pid: u32, descriptors: Descriptors, program: Rc<[u8]>) -> Task<Pending> {
        Task { pid, descriptors, program, pending: None, request: None, is_announced: false }
    }
}
