//! Compares the content of the storage with its promises.

use super::account::Account;
use super::contents::Contents;
use super::judge::Judge;
use super::outcome::{CheckError, FileToCheck, Outcome, ReadError};
use super::promises::{After, claims, places};

/// Checks files against their ledgers. `until` is the time in ns on the monotonic clock at which the storage
/// failed. `read` fills a buffer from an offset of a file, by index, as far as data exists.
pub fn check(
    accounts: &[Account],
    files: &[FileToCheck],
    after: After,
    until: Option<u64>,
    mut read: impl FnMut(usize, u64, &mut [u8]) -> Result<usize, ReadError>,
) -> Result<Outcome, CheckError> {
    let mut outcome = Outcome { promised_writes: vec![0; accounts.len()], ..Outcome::default() };
    for (index, file) in files.iter().enumerate() {
        check_boots(accounts, file)?;
        let mut claims = claims(accounts, &file.members, after, until.unwrap_or(u64::MAX));
        for claim in claims.iter().filter(|claim| claim.promise.is_some()) {
            outcome.promised_writes[claim.ledger] += 1;
        }
        let open_ended = |&(ledger, _): &(usize, u32)| until.is_none() && !accounts[ledger].is_complete;
        let mut judge = Judge {
            accounts,
            file,
            contents: Contents::new(accounts),
            misses_the_end: file.members.iter().any(open_ended),
            read: &mut |offset: u64, buffer: &mut [u8]| read(index, offset, buffer),
            outcome: &mut outcome,
        };
        places(&mut claims, |place| judge.judge(place)).map_err(CheckError::Unusable)?;
    }
    Ok(outcome)
}

fn check_boots(accounts: &[Account], file: &FileToCheck) -> Result<(), CheckError> {
    let Some(&(first, _)) = file.members.first() else { return Ok(()) };
    let differs =
        |&&(ledger, _): &&(usize, u32)| accounts[ledger].start.boot_id != accounts[first].start.boot_id;
    match file.members.iter().find(differs) {
        Some(&(other, _)) => Err(CheckError::Boots { file: file.name.clone(), ledgers: (first, other) }),
        None => Ok(()),
    }
}
