//! Judges places: which sectors are not as promised, and what is there instead.

use super::account::Account;
use super::check::{BrokenPromise, FileToCheck, FoundWrite, Outcome, PromisedWrite, ReadError};
use super::contents::Contents;
use super::evidence;
use super::promises::{Claim, Place};
use super::record::Issued;
use crate::header::Header;
use crate::rule::Rule;
use crate::stamp::Write;
use crate::verdict::{History, Suspect, Verdict, classify};
use std::ops::Range;

/// What storage moves at a time: a write that was not promised may be there in part.
const SECTOR: u64 = 512;
/// Broken promises that are told one by one.
const MOST_TOLD: usize = 10_000;

/// Fills a buffer from a place of the file, and says how much there is.
pub(super) type Read<'a> = &'a mut dyn FnMut(u64, &mut [u8]) -> Result<usize, ReadError>;

/// Judges the places of one file.
pub(super) struct Judge<'a> {
    pub(super) accounts: &'a [Account],
    pub(super) file: &'a FileToCheck,
    pub(super) contents: Contents<'a>,
    /// A ledger ends with the machine, perhaps before what it tells of.
    pub(super) misses_the_end: bool,
    pub(super) read: Read<'a>,
    pub(super) outcome: &'a mut Outcome,
}

/// What a place holds.
struct Held {
    bytes: Vec<u8>,
    /// Bytes from here on are not in the file.
    present: usize,
}

impl Judge<'_> {
    /// Judges one place; the error says why the file is of no use.
    pub(super) fn judge(&mut self, place: &Place<'_>) -> Result<(), String> {
        let length = place.end - place.start;
        let Some(promised) = place.promised.filter(|_| !place.may_hold_anything()) else {
            self.outcome.bytes_not_promised += length;
            return Ok(());
        };
        self.outcome.bytes_checked += length;
        self.outcome.places_checked += 1;
        let held = match self.fetch(place.start, length)? {
            Ok(held) => held,
            Err(reason) => {
                let sentence = format!("unreadable: {reason}");
                self.tell(place, promised, &(place.start..place.end), ("unreadable", sentence));
                return Ok(());
            }
        };
        let mut candidates: Vec<&Claim> =
            place.claims.iter().copied().filter(|claim| place.may_hold(claim)).collect();
        // The latest is the likeliest.
        candidates.reverse();
        let is_whole = |claim: &&Claim| {
            let from = (place.start - claim.start) as usize;
            self.contents.of(claim)[from..from + length as usize] == held.bytes
        };
        if held.present == held.bytes.len() && candidates.iter().any(is_whole) {
            return Ok(());
        }
        self.judge_sectors(place, promised, &candidates, &held)
    }

    /// No single write is there: sectors may be of several.
    fn judge_sectors(
        &mut self,
        place: &Place<'_>,
        promised: &Claim,
        candidates: &[&Claim],
        held: &Held,
    ) -> Result<(), String> {
        let (mut wrong, mut is_newer) = (Vec::new(), false);
        for sector in sectors(place.start, place.end) {
            let at = (sector.start - place.start) as usize..(sector.end - place.start) as usize;
            let bytes = &held.bytes[at.clone()];
            let matches = |claim: &&Claim| {
                let from = (sector.start - claim.start) as usize;
                self.contents.of(claim)[from..from + bytes.len()] == *bytes
            };
            if at.end <= held.present && candidates.iter().any(matches) {
                continue;
            }
            if at.end <= held.present && self.is_newer(place, promised, &sector, bytes)? {
                is_newer = true;
                continue;
            }
            wrong.push((sector, at.end > held.present));
        }
        if wrong.is_empty() {
            self.outcome.places_newer += u64::from(is_newer);
            self.outcome.places_mixed += u64::from(!is_newer);
        }
        self.tell_wrong_blocks(place, promised, &wrong)
    }

    /// Whether a sector that no record tells of belongs to a write after the last record.
    fn is_newer(
        &mut self,
        place: &Place<'_>,
        promised: &Claim,
        sector: &Range<u64>,
        bytes: &[u8],
    ) -> Result<bool, String> {
        let account = &self.accounts[promised.ledger];
        let rule = &account.start.rule;
        let accounts = self.accounts;
        let members = &self.file.members;
        let is_later = |header: &Header| {
            members
                .iter()
                .map(|&(ledger, _)| &accounts[ledger])
                .any(|account| account.start.clone == header.thread && header.time_ns() > account.last_ns)
        };
        let block = block_around(rule, promised, sector.start);
        let length = block.end - block.start;
        // Blocks need not lie on multiples of their length.
        let mut start = sector.start.saturating_sub(length - 1).next_multiple_of(SECTOR);
        while start <= sector.start {
            let whole = self.fetch(start, length)?.ok();
            let header = whole.and_then(|held| evidence::sound_header(rule, &held.bytes, start));
            if header.is_some_and(|header| is_later(&header)) {
                return Ok(true);
            }
            start += SECTOR;
        }
        if !self.misses_the_end {
            return Ok(false);
        }
        // Only a part of such a write may have arrived.
        let into_block = (sector.start - block.start) as usize;
        if let Some(header) = evidence::header_at(rule, bytes, into_block) {
            return Ok(is_later(&header) && header.offset == block.start);
        }
        if evidence::has_place_of_header(rule, bytes, into_block) {
            // A header arrives with its sector, whole.
            return Ok(false);
        }
        let is_older = place.claims.iter().any(|claim| {
            let from = (sector.start - claim.start) as usize;
            self.contents.of(claim)[from..from + bytes.len()] == *bytes
        });
        Ok(!is_older && evidence::comes_from_a_seed(rule, bytes, into_block))
    }

    /// Tells of each block with wrong sectors.
    fn tell_wrong_blocks(
        &mut self,
        place: &Place<'_>,
        promised: &Claim,
        wrong: &[(Range<u64>, bool)],
    ) -> Result<(), String> {
        let rule = &self.accounts[promised.ledger].start.rule;
        let mut told = 0;
        for (sector, is_missing) in wrong {
            if sector.start < told {
                continue;
            }
            let block = block_around(rule, promised, sector.start);
            told = block.end;
            let wrong = sector.start.max(block.start)..block.end;
            if *is_missing {
                let sentence = "short: the file ends before the end of this place".to_owned();
                self.tell(place, promised, &wrong, ("short", sentence));
            } else {
                self.tell_verdict(place, promised, &block, &wrong)?;
            }
        }
        Ok(())
    }

    fn tell_verdict(
        &mut self,
        place: &Place<'_>,
        promised: &Claim,
        block: &Range<u64>,
        wrong: &Range<u64>,
    ) -> Result<(), String> {
        if self.outcome.broken.len() >= MOST_TOLD {
            self.outcome.broken_count += 1;
            return Ok(());
        }
        let held = match self.fetch(block.start, block.end - block.start)? {
            Ok(held) => held,
            Err(reason) => {
                self.tell(place, promised, wrong, ("unreadable", format!("unreadable: {reason}")));
                return Ok(());
            }
        };
        let older = place.claims.iter().rev().find(|claim| {
            let inside = claim.start <= block.start && block.end <= claim.end;
            inside && !place.may_hold(claim) && {
                let from = (block.start - claim.start) as usize;
                self.contents.of(claim)[from..from + held.bytes.len()] == held.bytes
            }
        });
        let operation = |claim: &Claim| self.accounts[claim.ledger].operations[claim.operation].issued;
        let found = older.map(|claim| FoundWrite {
            ledger: claim.ledger,
            number: operation(claim).number,
            issued_ns: claim.issued_ns,
        });
        let verdict = match &found {
            Some(found) => Verdict::Stale { found_number: found.number },
            None => self.verdict(place, promised, block, &held.bytes),
        };
        self.tell(place, promised, wrong, (verdict.class(), verdict.sentence()));
        if let Some(broken) = self.outcome.broken.last_mut() {
            (broken.verdict, broken.found) = (Some(verdict), found);
        }
        Ok(())
    }

    fn verdict(&self, place: &Place<'_>, promised: &Claim, block: &Range<u64>, bytes: &[u8]) -> Verdict {
        let account = &self.accounts[promised.ledger];
        let write = self.contents.write(promised);
        let suspect = Suspect {
            bytes,
            offset: block.start,
            expected: Some((&write, (promised.end - promised.start) as usize)),
            thread: account.start.clone,
        };
        let recorded =
            Recorded { accounts: self.accounts, contents: &self.contents, claims: &place.claims, promised };
        classify(&account.start.rule, &suspect, &recorded)
    }

    fn tell(
        &mut self,
        place: &Place<'_>,
        promised: &Claim,
        wrong: &Range<u64>,
        what: (&'static str, String),
    ) {
        self.outcome.broken_count += 1;
        let account = &self.accounts[promised.ledger];
        let issued = account.operations[promised.operation].issued;
        let Some(promise) = promised.promise.filter(|_| self.outcome.broken.len() < MOST_TOLD) else {
            return;
        };
        let block = block_around(&account.start.rule, promised, wrong.start.max(place.start));
        self.outcome.broken.push(BrokenPromise {
            file: self.file.name.clone(),
            offset: block.start,
            length: block.end - block.start,
            first_wrong: wrong.start,
            promised: PromisedWrite {
                ledger: promised.ledger,
                number: issued.number,
                seed: issued.seed,
                issued_ns: promised.issued_ns,
                acknowledged_ns: promised.ended_ns.unwrap_or(promise.since_ns),
                since_ns: promise.since_ns,
                by: promise.by,
            },
            class: what.0,
            sentence: what.1,
            verdict: None,
            found: None,
        });
    }

    /// Reads a range; the inner error is that it cannot be read.
    fn fetch(&mut self, start: u64, length: u64) -> Result<Result<Held, String>, String> {
        let mut bytes = vec![0; length as usize];
        match (self.read)(start, &mut bytes) {
            Ok(present) => Ok(Ok(Held { bytes, present })),
            Err(ReadError::Unreadable(reason)) => Ok(Err(reason)),
            Err(ReadError::Unusable(reason)) => Err(reason),
        }
    }
}

/// The block with a header of its own around a byte of a write.
fn block_around(rule: &Rule, claim: &Claim, byte: u64) -> Range<u64> {
    let interval = rule.interval_of((claim.end - claim.start) as usize).max(1) as u64;
    let start = claim.start + (byte - claim.start) / interval * interval;
    start..(start + interval).min(claim.end)
}

/// The sectors of a range, cut off at its ends.
fn sectors(start: u64, end: u64) -> impl Iterator<Item = Range<u64>> {
    let first = start / SECTOR;
    (first..end.div_ceil(SECTOR))
        .map(move |sector| (sector * SECTOR).max(start)..((sector + 1) * SECTOR).min(end))
}

/// The ledger, as verdicts ask for it.
struct Recorded<'a> {
    accounts: &'a [Account],
    contents: &'a Contents<'a>,
    claims: &'a [&'a Claim],
    promised: &'a Claim,
}

impl History for Recorded<'_> {
    fn earlier(&self, _offset: u64, _number: u64) -> Option<(Write, usize)> {
        let is_earlier =
            |claim: &&&Claim| claim.issued_ns < self.promised.issued_ns && !claim.leaves_anything;
        let claim = self.claims.iter().rev().find(is_earlier)?;
        Some((self.contents.write(claim), (claim.end - claim.start) as usize))
    }

    fn other_file(&self, _number: u64, seed: u64) -> Option<String> {
        let account = &self.accounts[self.promised.ledger];
        let own = account.operations[self.promised.operation].issued.file;
        let is_it = |issued: &&Issued| issued.seed == seed && !issued.discards;
        let issued = account.operations.iter().map(|operation| &operation.issued).find(is_it)?;
        (issued.file != own).then(|| account.start.files[issued.file as usize].clone())
    }
}
