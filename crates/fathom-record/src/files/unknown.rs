//! Files whose descriptor was already gone when it was looked up after the open. A copy of it may still be open, as with redirected
//! streams: what is behind that is the file if the copy is still the same once all events up to the look have been followed.

use super::follow::Follower;
use super::look::{self, Behind, Look};
use super::searched::Searched;
use super::tasks::{Descriptor, Open};
use fathom_sys::clock;
use std::cell::RefCell;
use std::rc::Rc;

/// Calls wait so long for their file.
const PATIENCE_NS: u64 = 100_000_000;
/// Files that are searched at a time.
const MOST: usize = 4096;

impl Follower {
    /// Looks at the descriptors that are files that are searched. All events up to `settled_ns` were followed.
    pub(crate) fn search_unknown(&mut self, settled_ns: u64, is_end: bool) {
        self.confirm(settled_ns);
        if self.unknown.all.is_empty() {
            return;
        }
        let mut all = std::mem::take(&mut self.unknown.all);
        let excess = all.len().saturating_sub(MOST);
        let mut number = 0;
        all.retain_mut(|searched| {
            number += 1;
            let is_late = settled_ns.saturating_sub(searched.since_ns) > PATIENCE_NS;
            let open = searched.open.upgrade().filter(|_| !is_end && !is_late && number > excess);
            let Some(open) = open else {
                self.files.not_found(searched.id);
                return false;
            };
            if searched.look.is_none() {
                searched.look = self.look_for(searched.tid, &open);
            }
            true
        });
        self.unknown.set(all);
    }

    fn look_for(&mut self, tid: u32, open: &Rc<RefCell<Open>>) -> Option<Look> {
        let descriptor = self.descriptor_of(tid, open)?;
        let before = clock::monotonic_ns();
        let behind = look::behind(tid, descriptor, self.files.with_names())?;
        let between_ns = (before, clock::monotonic_ns());
        Some(Look { between_ns, all: vec![(descriptor, behind)], candidate: Some(descriptor) })
    }

    /// A descriptor of a thread that is this open file.
    fn descriptor_of(&mut self, tid: u32, open: &Rc<RefCell<Open>>) -> Option<i32> {
        let task = self.tasks.known(tid)?;
        let descriptors = task.descriptors.borrow();
        let is_it = |what: &Descriptor| matches!(what, Descriptor::File(own) if Rc::ptr_eq(own, open));
        descriptors.iter().find(|(_, slot)| is_it(&slot.what)).map(|(descriptor, _)| *descriptor)
    }

    /// Confirms what was found before this time, if it was the file before and after the look. All earlier events were followed.
    pub(crate) fn confirm(&mut self, time_ns: u64) {
        while self.unknown.next_ns != 0 && self.unknown.next_ns < time_ns {
            let mut all = std::mem::take(&mut self.unknown.all);
            all.retain_mut(|searched| !self.is_found(searched, time_ns));
            self.unknown.set(all);
        }
    }

    /// True if the file was found. A look that says nothing is forgotten.
    fn is_found(&mut self, searched: &mut Searched, time_ns: u64) -> bool {
        let Some(look) = searched.look.take() else { return false };
        let (Some(open), (before, after)) = (searched.open.upgrade(), look.between_ns) else { return false };
        let Some(candidate) = look.candidate else {
            if before >= time_ns {
                searched.look = Some(look);
                return false;
            }
            // A copy has another number than the descriptor that was opened.
            let candidate = self.descriptor_of(searched.tid, &open);
            searched.look = candidate.map(|candidate| Look { candidate: Some(candidate), ..look });
            return false;
        };
        if after >= time_ns {
            searched.look = Some(look);
            return false;
        }
        let behind = look.all.into_iter().find(|(descriptor, _)| *descriptor == candidate);
        let Some((_, behind)) = behind.filter(|_| self.is(searched.tid, candidate, &open)) else {
            return false;
        };
        self.found(searched.tid, searched.id, &open, &behind);
        true
    }

    /// True if the descriptor is this open file.
    fn is(&mut self, tid: u32, descriptor: i32, open: &Rc<RefCell<Open>>) -> bool {
        let Some(task) = self.tasks.known(tid) else { return false };
        let descriptors = task.descriptors.borrow();
        let what = descriptors.get(&descriptor).map(|slot| &slot.what);
        matches!(what, Some(Descriptor::File(own)) if Rc::ptr_eq(own, open))
    }

    /// A file was found.
    fn found(&mut self, tid: u32, id: u32, open: &Rc<RefCell<Open>>, behind: &Behind) {
        match behind {
            Behind::File(file) => {
                let number = self.files.number(file);
                open.borrow_mut().file = number;
                self.queue.rename(id, Some(number));
            }
            Behind::Ring | Behind::Other => {
                self.queue.rename(id, None);
                if let Some(task) = self.tasks.known(tid) {
                    for slot in task.descriptors.borrow_mut().values_mut() {
                        if matches!(&slot.what, Descriptor::File(own) if Rc::ptr_eq(own, open)) {
                            slot.what = Descriptor::Other;
                        }
                    }
                }
            }
        }
    }
}
