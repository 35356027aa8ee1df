//! `soak`: random runs for a given time. Verify jobs over files that are damaged or not (no false alarm, nothing missed), runs
//! that are killed and interrupted (nothing lost), and runs that lack a resource (they must print a message,
//! and not hang).
//!
//! Each round has its own seed, which a failure prints: `--seed=S --rounds=1` repeats it.

mod devices;
mod integrity;
mod interruptions;
mod jobs;
mod limits;
mod program;

use crate::chance::{Chance, seed_of_the_clock};
pub(crate) use program::Program;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Outcome of a round.
pub(crate) enum Round {
    /// The round passed; the word names the test.
    Good(&'static str),
    /// The round could not be tested on this machine.
    Skipped(&'static str),
}

type Kind = (&'static str, u64, fn(&Program, &mut Chance, &Path) -> Result<Round, String>);

/// The kinds of rounds, and how many of a hundred rounds each gets.
const KINDS: &[Kind] = &[
    ("integrity", 70, integrity::round),
    ("interruptions", 20, interruptions::round),
    ("limits", 10, limits::round),
];

struct Settings {
    time: Duration,
    rounds: Option<u64>,
    seed: u64,
    directory: Option<String>,
    program: Option<String>,
    only: Option<String>,
}

/// Runs until the time has elapsed. The error gives the number of failed rounds.
pub(crate) fn run(repository: &Path, options: &[String]) -> Result<(), String> {
    let settings = settings(options)?;
    let program =
        Program::new(&repository.join(settings.program.as_deref().unwrap_or("target/release/fathom")))?;
    println!("soak: seed {}, {} s, {}", settings.seed, settings.time.as_secs(), program.path().display());
    let (begun, mut counts, mut failed) = (Instant::now(), BTreeMap::new(), 0u64);
    let mut round = 0;
    while begun.elapsed() < settings.time && settings.rounds.is_none_or(|rounds| round < rounds) {
        let seed = settings.seed.wrapping_add(round);
        round += 1;
        let mut chance = Chance::new(seed);
        let (name, _, try_it) = kind(&mut chance, settings.only.as_deref())?;
        let scratch = scratch(settings.directory.as_deref())?;
        match try_it(&program, &mut chance, scratch.path()) {
            Ok(Round::Good(what)) => *counts.entry(format!("{name}: {what}")).or_insert(0u64) += 1,
            Ok(Round::Skipped(why)) => *counts.entry(format!("{name}: skipped, {why}")).or_insert(0) += 1,
            Err(problem) => {
                failed += 1;
                *counts.entry(format!("{name}: FAILED")).or_insert(0) += 1;
                println!("soak: FAILED {name}, --seed={seed} --rounds=1\n{problem}");
            }
        }
    }
    println!("soak: {round} rounds in {:.0} s, {failed} failed", begun.elapsed().as_secs_f64());
    counts.iter().for_each(|(what, count)| println!("  {count:>6} {what}"));
    if failed > 0 { Err(format!("{failed} of {round} rounds failed")) } else { Ok(()) }
}

fn settings(options: &[String]) -> Result<Settings, String> {
    let mut settings = Settings {
        time: Duration::from_secs(600),
        rounds: None,
        seed: seed_of_the_clock(),
        directory: None,
        program: None,
        only: None,
    };
    for option in options {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let number =
            || value.parse::<u64>().map_err(|_| format!("soak: {name} wants a number, not \"{value}\""));
        match name {
            "--time" => settings.time = Duration::from_secs(number()?),
            "--rounds" => settings.rounds = Some(number()?),
            "--seed" => settings.seed = number()?,
            "--directory" => settings.directory = Some(value.to_owned()),
            "--program" => settings.program = Some(value.to_owned()),
            "--only" => settings.only = Some(value.to_owned()),
            _ => return Err(format!("soak: unknown option {option}")),
        }
    }
    Ok(settings)
}

fn kind(chance: &mut Chance, only: Option<&str>) -> Result<Kind, String> {
    // Drawn in any case, so that a round is the same with and without `--only`.
    let mut drawn = chance.below(100);
    if let Some(only) = only {
        let found = KINDS.iter().find(|(name, _, _)| *name == only);
        return found.copied().ok_or_else(|| format!("soak: there is no kind {only}"));
    }
    for kind in KINDS {
        if drawn < kind.1 {
            return Ok(*kind);
        }
        drawn -= kind.1;
    }
    Ok(KINDS[0])
}

fn scratch(directory: Option<&str>) -> Result<tempfile::TempDir, String> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("fathom-soak-");
    match directory {
        Some(directory) => builder.tempdir_in(directory),
        None => builder.tempdir(),
    }
    .map_err(|error| format!("soak: cannot create a scratch directory: {error}"))
}
