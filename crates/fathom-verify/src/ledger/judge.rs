//! Judges places: finds the sectors that break a promise, and identifies their content.

use super::account::Account;
use super::contents::Contents;
use super::evidence;
use super::outcome::{
    BrokenPromise, FileToCheck, FoundWrite, Outcome, PromisedWrite, ReadError, Unreadable, Unusable,
};
use super::promises::{Claim, Place};
use super::record::Issued;
use crate::header::Header;
use crate::rule::Rule;
use crate::stamp::Write;
use crate::verdict::{History, Suspect, Verdict, classify};
use std::ops::Range;

/// Atomic unit of storage in bytes. A write that was not promised may have been stored in any subset of its
/// sectors.
const SECTOR: u64 = 512;
/// Atomic unit of memory copies in bytes. The copy may stop anywhere if its process is killed, and may still be
/// in progress while the page is written to the device.
const WORD: usize = 8;
/// Maximum number of broken promises that are listed individually.
const MOST_TOLD: usize = 10_000;

/// Fills a buffer from an offset of the file, and returns the number of bytes available.
pub(super) type Read<'a> = &'a mut dyn FnMut(u64, &mut [u8]) -> Result<usize, ReadError>;

/// Judges the places of one file.
pub(super) struct Judge<'a> {
    pub(super) accounts: &'a [Account],
    pub(super) file: &'a FileToCheck,
    pub(super) contents: Contents<'a>,
    /// True if the ledger was lost with its machine, possibly with its last writes.
    pub(super) misses_the_end: bool,
    pub(super) read: Read<'a>,
    pub(super) outcome: &'a mut Outcome,
}

/// The content of a place.
struct Held {
    bytes: Vec<u8>,
    /// Number of bytes of the place before the end of the file.
    present: usize,
}

impl Held {
    /// Returns the bytes of a sector of the place.
    fn part(&self, place: &Place<'_>, sector: &Range<u64>) -> &[u8] {
        &self.bytes[(sector.start - place.start) as usize..(sector.end - place.start) as usize]
    }
}

impl Judge<'_> {
    /// Judges one place.
    pub(super) fn judge(&mut self, place: &Place<'_>) -> Result<(), Unusable> {
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
        // The latest write is the most likely, so it is tried first.
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

    /// Judges each sector if no single write matches, because sectors may come from several writes. The cost is
    /// one pass over the place per write.
    fn judge_sectors(
        &mut self,
        place: &Place<'_>,
        promised: &Claim,
        candidates: &[&Claim],
        held: &Held,
    ) -> Result<(), Unusable> {
        let grid: Vec<Range<u64>> = sectors(place.start, place.end).collect();
        let present = place.start + held.present as u64;
        let is_there = self.sectors_of(place, &grid, candidates, held);
        let (mut wrong, mut is_newer, mut newer) = (Vec::new(), false, None);
        for (index, sector) in grid.iter().enumerate() {
            let is_missing = sector.end > present;
            if !is_missing {
                if is_there[index] || self.is_of_several(place, sector, candidates, held) {
                    continue;
                }
                if newer.is_none() {
                    newer = Some(self.newer_sectors(place, promised, &grid, held)?);
                }
                if newer.as_ref().is_some_and(|newer| newer[index]) {
                    is_newer = true;
                    continue;
                }
            }
            wrong.push((sector.clone(), is_missing));
        }
        if wrong.is_empty() {
            self.outcome.places_newer += u64::from(is_newer);
            self.outcome.places_mixed += u64::from(!is_newer);
        }
        self.report_wrong_blocks(place, promised, &wrong)
    }

    /// Returns the sectors that match one of these writes.
    fn sectors_of(
        &mut self,
        place: &Place<'_>,
        grid: &[Range<u64>],
        claims: &[&Claim],
        held: &Held,
    ) -> Vec<bool> {
        let mut found = vec![false; grid.len()];
        for claim in claims {
            let content = self.contents.of(claim);
            for (found, sector) in found.iter_mut().zip(grid).filter(|(found, _)| !**found) {
                let from = (sector.start - claim.start) as usize;
                let bytes = held.part(place, sector);
                *found = content[from..from + bytes.len()] == *bytes;
            }
        }
        found
    }

    /// True for each sector of which each word matches one of these writes.
    fn is_of_several(
        &mut self,
        place: &Place<'_>,
        sector: &Range<u64>,
        claims: &[&Claim],
        held: &Held,
    ) -> bool {
        let bytes = held.part(place, sector);
        let mut found = vec![false; bytes.len().div_ceil(WORD)];
        for claim in claims {
            let from = (sector.start - claim.start) as usize;
            let content = &self.contents.of(claim)[from..from + bytes.len()];
            let words = content.chunks(WORD).zip(bytes.chunks(WORD));
            found.iter_mut().zip(words).for_each(|(found, (written, held))| *found |= written == held);
        }
        found.iter().all(|found| *found)
    }

    /// Returns the sectors that belong to a write after the last record.
    fn newer_sectors(
        &mut self,
        place: &Place<'_>,
        promised: &Claim,
        grid: &[Range<u64>],
        held: &Held,
    ) -> Result<Vec<bool>, Unusable> {
        let rule = &self.accounts[promised.ledger].start.rule;
        let mut found = vec![false; grid.len()];
        for block in self.newer_blocks(place, promised)? {
            let first = grid.partition_point(|sector| sector.start < block.start);
            let behind = grid.partition_point(|sector| sector.start < block.end);
            found[first..behind.max(first)].fill(true);
        }
        if !self.misses_the_end {
            return Ok(found);
        }
        // A part of such a write may not have reached the storage, and may hold an older write.
        let mut is_older = None;
        for (index, sector) in grid.iter().enumerate().filter(|(index, _)| !found[*index]).collect::<Vec<_>>()
        {
            let bytes = held.part(place, sector);
            let block = block_around(rule, promised, sector.start);
            let into_block = (sector.start - block.start) as usize;
            found[index] = if let Some(header) = evidence::header_at(rule, bytes, into_block) {
                self.is_later(&header) && header.offset == block.start
            } else if evidence::has_place_of_header(rule, bytes, into_block) {
                // A header lies within one sector, which is written as a whole.
                false
            } else if evidence::comes_from_a_seed(rule, bytes, into_block) {
                !is_older.get_or_insert_with(|| self.sectors_of(place, grid, &place.claims, held))[index]
            } else {
                false
            };
        }
        Ok(found)
    }

    /// True for the header of a write issued after the last record.
    fn is_later(&self, header: &Header) -> bool {
        let mut accounts = self.file.members.iter().map(|&(ledger, _)| &self.accounts[ledger]);
        accounts.any(|account| account.start.clone == header.thread && header.time_ns() > account.last_ns)
    }

    /// Whole blocks, over or into a place, written after the last record. Blocks need not be aligned to their
    /// length, so any sector may begin with a header. A block is read only if a header was found.
    fn newer_blocks(&mut self, place: &Place<'_>, promised: &Claim) -> Result<Vec<Range<u64>>, Unusable> {
        const STRETCH: u64 = 1 << 20;
        let rule = &self.accounts[promised.ledger].start.rule;
        let mut found = Vec::new();
        if !rule.method.has_header() {
            return Ok(found);
        }
        let whole = promised.end - promised.start;
        let interval = rule.interval_of(whole as usize).max(1) as u64;
        let mut lengths = vec![interval, whole % interval];
        lengths.retain(|length| *length > 0);
        for length in lengths {
            let header_at = evidence::place_of_header(rule, length);
            let mut start = place.start.saturating_sub(length - 1).next_multiple_of(SECTOR);
            while start < place.end {
                let end = start.saturating_add(STRETCH).min(place.end);
                // One more sector is read, because a header that begins before the end may extend beyond it.
                let Ok(held) = self.fetch(start + header_at, end - start + SECTOR)? else {
                    start = end;
                    continue;
                };
                for from in (0..end - start).step_by(SECTOR as usize) {
                    let bytes = &held.bytes[from as usize..held.present.max(from as usize)];
                    let Some(header) = evidence::header_in(rule, bytes) else { continue };
                    let offset = start + from;
                    if header.offset != offset
                        || u64::from(header.length) != length
                        || !self.is_later(&header)
                    {
                        continue;
                    }
                    let block = self.fetch(offset, length)?.ok();
                    if block.is_some_and(|held| evidence::sound_header(rule, &held.bytes, offset).is_some()) {
                        found.push(offset..offset + length);
                    }
                }
                start = end;
            }
        }
        Ok(found)
    }

    /// Reports each block with wrong sectors.
    fn report_wrong_blocks(
        &mut self,
        place: &Place<'_>,
        promised: &Claim,
        wrong: &[(Range<u64>, bool)],
    ) -> Result<(), Unusable> {
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
                self.report_verdict(place, promised, &block, &wrong)?;
            }
        }
        Ok(())
    }

    fn report_verdict(
        &mut self,
        place: &Place<'_>,
        promised: &Claim,
        block: &Range<u64>,
        wrong: &Range<u64>,
    ) -> Result<(), Unusable> {
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
            Some(found) => Verdict::Stale { found_number: found.number, of_another_run: false },
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

    /// Reads a range; the inner error is a range that cannot be read.
    fn fetch(&mut self, start: u64, length: u64) -> Result<Result<Held, Unreadable>, Unusable> {
        let mut bytes = vec![0; length as usize];
        match (self.read)(start, &mut bytes) {
            Ok(present) => Ok(Ok(Held { bytes, present })),
            Err(ReadError::Unreadable(reason)) => Ok(Err(reason)),
            Err(ReadError::Unusable(reason)) => Err(reason),
        }
    }
}

/// Returns the block with its own header around a byte of a write.
fn block_around(rule: &Rule, claim: &Claim, byte: u64) -> Range<u64> {
    let interval = rule.interval_of((claim.end - claim.start) as usize).max(1) as u64;
    let start = claim.start + (byte - claim.start) / interval * interval;
    start..(start + interval).min(claim.end)
}

/// Returns the sectors of a range, clipped to it.
fn sectors(start: u64, end: u64) -> impl Iterator<Item = Range<u64>> {
    let first = start / SECTOR;
    (first..end.div_ceil(SECTOR))
        .map(move |sector| (sector * SECTOR).max(start)..((sector + 1) * SECTOR).min(end))
}

/// Provides the ledger as the history for verdicts.
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
