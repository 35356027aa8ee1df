//! Regenerates the content of writes from their seeds.

use super::account::Account;
use super::promises::Claim;
use crate::stamp::{Write, split_time, stamp};
use std::collections::HashMap;
use std::rc::Rc;

/// Maximum number of bytes of writes kept in memory, because a large write may be needed for each of its
/// blocks.
const MOST_KEPT: usize = 128 << 20;

/// Generates the content of writes; the last contents are cached.
pub(super) struct Contents<'a> {
    accounts: &'a [Account],
    kept: HashMap<(usize, usize), Rc<[u8]>>,
    bytes_kept: usize,
}

impl<'a> Contents<'a> {
    pub(super) fn new(accounts: &'a [Account]) -> Contents<'a> {
        Contents { accounts, kept: HashMap::new(), bytes_kept: 0 }
    }

    /// Returns the write of a claim.
    pub(super) fn write(&self, claim: &Claim) -> Write {
        let account = &self.accounts[claim.ledger];
        let issued = &account.operations[claim.operation].issued;
        Write {
            seed: issued.seed,
            offset: issued.offset,
            number: issued.number,
            thread: account.start.clone,
            time: split_time(issued.time_ns),
        }
    }

    /// Returns all bytes of a write.
    pub(super) fn of(&mut self, claim: &Claim) -> Rc<[u8]> {
        let key = (claim.ledger, claim.operation);
        if let Some(bytes) = self.kept.get(&key) {
            return Rc::clone(bytes);
        }
        let mut bytes = vec![0; (claim.end - claim.start) as usize];
        stamp(&self.accounts[claim.ledger].start.rule, &mut bytes, &self.write(claim));
        if self.bytes_kept >= MOST_KEPT {
            self.kept.clear();
            self.bytes_kept = 0;
        }
        self.bytes_kept += bytes.len();
        let bytes: Rc<[u8]> = bytes.into();
        self.kept.insert(key, Rc::clone(&bytes));
        bytes
    }
}
