//! The files that are searched, because their descriptor was gone when it was looked up.

use super::look::Look;
use super::tasks::Open;
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::{Rc, Weak};

/// A file that is searched.
#[derive(Debug)]
pub(super) struct Searched {
    pub(super) tid: u32,
    pub(super) since_ns: u64,
    pub(super) id: u32,
    pub(super) open: Weak<RefCell<Open>>,
    pub(super) look: Option<Look>,
}

/// The files that are searched.
#[derive(Debug, Default)]
pub(crate) struct Unknown {
    pub(super) all: Vec<Searched>,
    ids: HashSet<u32>,
    /// The first time after which something can be confirmed; 0 for none.
    pub(super) next_ns: u64,
}

impl Unknown {
    pub(crate) fn add(
        &mut self,
        (tid, since_ns): (u32, u64),
        id: u32,
        open: &Rc<RefCell<Open>>,
        look: Option<Look>,
    ) {
        self.all.push(Searched { tid, since_ns, id, open: Rc::downgrade(open), look });
        self.ids.insert(id);
        self.plan();
    }

    /// True if this file is searched.
    pub(crate) fn has(&self, id: u32) -> bool {
        self.ids.contains(&id)
    }

    fn plan(&mut self) {
        let next = self.all.iter().filter_map(|searched| searched.look.as_ref()).map(|look| {
            let (before, after) = look.between_ns;
            if look.candidate.is_some() { after } else { before }
        });
        self.next_ns = next.min().unwrap_or(0);
    }

    pub(super) fn set(&mut self, all: Vec<Searched>) {
        self.ids = all.iter().map(|searched| searched.id).collect();
        self.all = all;
        self.plan();
    }
}
