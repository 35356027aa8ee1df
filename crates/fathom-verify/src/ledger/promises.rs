//! Promises of the storage: determines which writes are promised, and which writes a place may hold.

use super::account::{Account, Sync};
use super::record::SyncKind;
use serde::Serialize;

/// The kind of failure before the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum After {
    /// The machine or the device lost power: synced data is promised.
    PowerCut,
    /// The process ended but the machine did not: acknowledged data is promised.
    Kill,
}

/// The reason for a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum PromisedBy {
    /// The acknowledgement of the write, after the end of a process.
    Acknowledgement,
    /// The acknowledgement of the write, because the file is open for synchronous writes.
    SynchronousWrite,
    /// A sync.
    Sync {
        /// Index of the ledger of the sync.
        ledger: usize,
        /// Number of the sync in the ledger.
        id: u64,
        /// Its kind.
        kind: SyncKind,
        /// Time at which the sync began, in ns.
        begun_ns: u64,
        /// Time at which the sync ended, in ns.
        ended_ns: u64,
    },
}

/// A promise, with its start and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// Start of the promise on the monotonic clock, in ns.
    pub since_ns: u64,
    /// The reason.
    pub by: PromisedBy,
}

/// A write or trim of one file, from any ledger.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Index of the ledger.
    pub ledger: usize,
    /// Index among the operations of the ledger.
    pub operation: usize,
    /// First byte.
    pub start: u64,
    /// End.
    pub end: u64,
    /// Time at which it was issued, in ns.
    pub issued_ns: u64,
    /// Time at which it ended, successfully or not, in ns; `None` if unknown.
    pub ended_ns: Option<u64>,
    /// True if it may leave any content: a trim, or a write that failed.
    pub leaves_anything: bool,
    /// The promise, if there is one.
    pub promise: Option<Promise>,
}

/// A byte range covered by the same writes.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// First byte.
    pub start: u64,
    /// End.
    pub end: u64,
    /// All operations on the place, in the order in which they were issued.
    pub claims: Vec<&'a Claim>,
    /// The last promised write.
    pub promised: Option<&'a Claim>,
}

impl Place<'_> {
    /// True if the place may hold this write: no promised write was issued after its end.
    pub fn may_hold(&self, claim: &Claim) -> bool {
        let Some(promised) = self.promised else { return true };
        claim.ended_ns.is_none_or(|ended_ns| ended_ns >= promised.issued_ns)
    }

    /// True if any content is allowed.
    pub fn may_hold_anything(&self) -> bool {
        self.promised.is_none()
            || self.claims.iter().any(|claim| claim.leaves_anything && self.may_hold(claim))
    }
}

/// Returns the claims on one file. `members` are ledgers with the file's number in each; no operation counts as
/// ended after `until`.
pub fn claims(accounts: &[Account], members: &[(usize, u32)], after: After, until: u64) -> Vec<Claim> {
    let syncs = Syncs::of(accounts, members, until);
    let mut claims = Vec::new();
    for &(ledger, file) in members {
        let account = &accounts[ledger];
        let at_once = account.start.durable_at_once;
        for (index, operation) in account.operations.iter().enumerate() {
            let issued = &operation.issued;
            if issued.file != file {
                continue;
            }
            let end = operation.end.filter(|end| end.time_ns <= until);
            let mut claim = Claim {
                ledger,
                operation: index,
                start: issued.offset,
                end: issued.offset + issued.length,
                issued_ns: issued.time_ns,
                ended_ns: end.map(|end| end.time_ns),
                leaves_anything: issued.discards || end.is_some_and(|end| !end.is_well),
                promise: None,
            };
            let acknowledged = end.filter(|end| end.is_well && !issued.discards).map(|end| end.time_ns);
            let durable = acknowledged.and_then(|time_ns| match at_once {
                true => Some(Promise { since_ns: time_ns, by: PromisedBy::SynchronousWrite }),
                false => syncs.first_after(time_ns),
            });
            claim.promise = match after {
                After::Kill => {
                    acknowledged.map(|since_ns| Promise { since_ns, by: PromisedBy::Acknowledgement })
                }
                After::PowerCut => durable,
            };
            syncs.take_back_what_failed(&mut claim, durable);
            claims.push(claim);
        }
    }
    claims
}

/// The syncs of one file.
struct Syncs {
    /// Successful syncs in the order of their start. Each has the promise of the sync that ended first among
    /// itself and its successors.
    good: Vec<(u64, Promise)>,
    /// Start and end of failed syncs.
    failed: Vec<(u64, u64)>,
}

impl Syncs {
    fn of(accounts: &[Account], members: &[(usize, u32)], until: u64) -> Syncs {
        let of_member = |&(ledger, file): &(usize, u32)| {
            let concerns = move |sync: &&Sync| sync.file == file && sync.kind.makes_durable();
            accounts[ledger].syncs.iter().filter(concerns).map(move |sync| (ledger, sync))
        };
        let (mut good, mut failed) = (Vec::new(), Vec::new());
        for (ledger, sync) in members.iter().flat_map(of_member) {
            let Some(end) = sync.end.filter(|end| end.time_ns <= until) else { continue };
            if !end.is_well {
                failed.push((sync.begun_ns, end.time_ns));
                continue;
            }
            let Sync { id, kind, begun_ns, .. } = *sync;
            let by = PromisedBy::Sync { ledger, id, kind, begun_ns, ended_ns: end.time_ns };
            good.push((begun_ns, Promise { since_ns: end.time_ns, by }));
        }
        good.sort_by_key(|(begun_ns, _)| *begun_ns);
        for index in (1..good.len()).rev() {
            if good[index].1.since_ns < good[index - 1].1.since_ns {
                good[index - 1].1 = good[index].1;
            }
        }
        Syncs { good, failed }
    }

    /// Returns the promise of the first sync that made data acknowledged at this time durable.
    fn first_after(&self, acknowledged_ns: u64) -> Option<Promise> {
        let index = self.good.partition_point(|(begun_ns, _)| *begun_ns <= acknowledged_ns);
        self.good.get(index).map(|(_, sync)| *sync)
    }

    /// Withdraws promises after a failed sync. The kernel may then have dropped data that was not durable, and
    /// a later sync does not report the loss.
    fn take_back_what_failed(&self, claim: &mut Claim, durable: Option<Promise>) {
        let is_meant = |&(begun_ns, ended_ns): &(u64, u64)| {
            claim.issued_ns < ended_ns && durable.is_none_or(|durable| durable.since_ns > begun_ns)
        };
        if self.failed.iter().any(is_meant) {
            claim.promise = None;
            claim.leaves_anything = true;
        }
    }
}

/// Divides a file into places and passes each to `take`.
pub fn places<E>(claims: &mut [Claim], mut take: impl FnMut(&Place<'_>) -> Result<(), E>) -> Result<(), E> {
    claims.sort_by_key(|claim| (claim.start, claim.issued_ns));
    let mut borders: Vec<u64> = claims.iter().flat_map(|claim| [claim.start, claim.end]).collect();
    borders.sort_unstable();
    borders.dedup();
    let mut next = 0;
    let mut active: Vec<&Claim> = Vec::new();
    for border in borders.windows(2) {
        let (start, end) = (border[0], border[1]);
        active.retain(|claim| claim.end > start);
        let before = active.len();
        while let Some(claim) = claims.get(next).filter(|claim| claim.start <= start) {
            active.push(claim);
            next += 1;
        }
        if before > 0 {
            active.sort_by_key(|claim| claim.issued_ns);
        }
        active.retain(|claim| claim.end > start);
        if active.is_empty() {
            continue;
        }
        let promised = active.iter().rfind(|claim| claim.promise.is_some()).copied();
        take(&Place { start, end, claims: active.clone(), promised })?;
    }
    Ok(())
}
