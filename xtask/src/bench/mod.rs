//! `xtask bench`: runs the same jobs alternately with the installed fio and with fathom, and prints a table of the results.

mod callgrind;
mod cases;
mod device;
mod floor;
mod instructions;
mod machine;
mod memory;
mod options;
mod programs;
mod replay_log;
mod servers;
mod table;

use cases::{Case, Measure};
use device::{DeviceKind, MemoryDevice};
use programs::{Pair, Programs};
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use table::{Measured, Row};

/// The arguments.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    /// Store the table in docs/performance.md.
    write: bool,
    /// Runs of each program per case.
    rounds: usize,
    /// Part of the names of the cases to run.
    only: Option<String>,
    /// Which cases.
    what: What,
    /// Path of a fathom to measure instead of the one in packages.
    program: Option<PathBuf>,
    /// Also measure fio in cases where that takes long.
    fio: bool,
}

/// Which cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// Cases of the table in docs/performance.md, which `--write` stores.
    Table,
    /// Engines that talk to servers.
    Servers,
    /// Instructions of the whole machine, in a virtual one.
    Instructions,
    /// The part of `--instructions` that runs inside the virtual machine.
    InstructionsInside,
    /// Instructions that each option adds to the run loop.
    Options,
}

impl Default for Options {
    fn default() -> Options {
        Options { write: false, rounds: 5, only: None, what: What::Table, program: None, fio: false }
    }
}

impl Options {
    fn parse(words: &[String]) -> Result<Options, String> {
        let mut options = Options::default();
        for word in words {
            match word.split_once('=').unwrap_or((word, "")) {
                ("--write", "") => options.write = true,
                ("--servers", "") => options.what = What::Servers,
                ("--instructions", "") => options.what = What::Instructions,
                ("--options", "") => options.what = What::Options,
                ("--instructions-inside", "") => options.what = What::InstructionsInside,
                ("--rounds", number) => match number.parse() {
                    Ok(rounds) if rounds > 0 => options.rounds = rounds,
                    _ => return Err(format!("{word}: the number of rounds is 1 or more")),
                },
                ("--program", path) if !path.is_empty() => options.program = Some(path.into()),
                ("--fio", "") => options.fio = true,
                ("--only", text) => options.only = Some(text.to_owned()),
                _ => return Err(format!("{word}: bench has no such option\n\n{}", crate::USAGE)),
            }
        }
        match &options {
            Options { write: true, only: Some(_), .. } => {
                Err("--write stores the whole table, so it takes no --only".to_owned())
            }
            Options { write: true, what, .. } if *what != What::Table => {
                Err("--write stores the table without --servers, --instructions or --options".to_owned())
            }
            Options { fio: true, what, .. } if *what != What::Options => {
                Err("--fio is for --options: the other tables have fio's figures anyway".to_owned())
            }
            Options { write: true, program: Some(_), .. } => {
                Err("--write stores the figures of what packages hold, so it takes no --program".to_owned())
            }
            _ => Ok(options),
        }
    }
}

/// Set when the user interrupts the benchmark. Running programs get the signal too, and devices are removed before the exit.
#[derive(Clone)]
struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    fn install() -> Result<Interrupt, String> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&flag))
                .map_err(|error| format!("signals cannot be caught: {error}"))?;
        }
        Ok(Interrupt(flag))
    }

    fn check(&self) -> Result<(), String> {
        match self.0.load(Ordering::Relaxed) {
            true => Err("interrupted".to_owned()),
            false => Ok(()),
        }
    }
}

/// Runs the benchmark and prints its table.
pub(crate) fn run(repository: &Path, words: &[String]) -> Result<(), String> {
    let options = Options::parse(words)?;
    let only = options.only.as_deref();
    let interrupt = Interrupt::install()?;
    let compared = options.what != What::Options || options.fio;
    let programs = Programs::find(interrupt.clone(), options.program.clone(), compared)?;
    let programs = match options.what {
        What::Instructions => return instructions::run(repository, &programs, only),
        What::InstructionsInside | What::Options | What::Table => programs.with_reference(),
        What::Servers => programs,
    };
    let machine = machine::describe(&programs);
    machine.iter().for_each(|line| eprintln!("{line}"));
    match options.what {
        What::Servers => return servers::run(repository, &programs, options.rounds, only),
        What::InstructionsInside => {
            instructions::inside(&programs, only)?;
            return floor::inside(&programs, only);
        }
        What::Options => return options::run(&programs, only, options.fio),
        What::Table | What::Instructions => {}
    }
    let devices = Devices::default();
    let mut rows = Vec::new();
    for case in cases::all().into_iter().filter(|case| is_wanted(case, &options)) {
        eprintln!("{} ...", case.name);
        let measured = measure(&case.measure, &programs, &devices, options.rounds);
        interrupt.check()?;
        let row = Row { case: case.name, unit: case.unit, goal: case.goal, measured };
        eprintln!("{row}");
        rows.push(row);
    }
    drop(devices);
    let table = table::markdown(&rows);
    println!("{table}");
    match options.write {
        true => table::store(&repository.join("docs/performance.md"), &machine, options.rounds, &table),
        false => Ok(()),
    }
}

fn is_wanted(case: &Case, options: &Options) -> bool {
    options.only.as_ref().is_none_or(|text| case.name.contains(text.as_str()))
}

/// The block devices, or the reason why there are none. Each is created for the first case that uses it and
/// kept until the end.
#[derive(Default)]
struct Devices {
    zram: OnceCell<Result<MemoryDevice, String>>,
    looped: OnceCell<Result<MemoryDevice, String>>,
}

impl Devices {
    fn get(&self, kind: DeviceKind) -> Result<&MemoryDevice, String> {
        let place = match kind {
            DeviceKind::Zram => &self.zram,
            DeviceKind::Loop => &self.looped,
        };
        place.get_or_init(|| MemoryDevice::create(kind)).as_ref().map_err(Clone::clone)
    }
}

fn measure(measure: &Measure, programs: &Programs, devices: &Devices, rounds: usize) -> Measured {
    let result = match measure {
        Measure::Rate(words) => programs.in_turns(rounds, |program| programs.rate(program, words)),
        Measure::PhasedRate(words) => {
            programs.in_turns(rounds.min(3), |program| programs.phased_rate(program, words))
        }
        Measure::RateShare { job, of } => {
            programs.in_turns(rounds, |program| programs.rate_share(program, job, of))
        }
        Measure::RateOnDevice(kind, words) => {
            devices.get(*kind).and_then(|device| rate_on(device, words, programs, rounds))
        }
        Measure::Wall(words, rounds) => {
            programs.in_turns(*rounds, |program| programs.wall_ms(program, words))
        }
        Measure::Added { job, more, ios } => {
            programs.in_turns(rounds, |program| programs.added_ns(program, job, more, *ios))
        }
        Measure::ReplayWall(entries) => replay_log::job(programs, *entries)
            .and_then(|words| programs.in_turns(rounds.min(3), |program| programs.wall_ms(program, &words))),
        Measure::ReplayMemory(entries) => {
            replay_log::job(programs, *entries).and_then(|words| memory::peaks(programs, &words))
        }
        Measure::Instructions(words) => callgrind::instructions(programs, words),
        Measure::Memory(words) => memory::peaks(programs, words),
    };
    match result {
        Ok(pair) => Measured::Pair(pair),
        Err(reason) => Measured::Skipped(reason),
    }
}

fn rate_on(
    device: &MemoryDevice,
    words: &[String],
    programs: &Programs,
    rounds: usize,
) -> Result<Pair, String> {
    let file = format!("--filename={}", device.path().display());
    let words: Vec<String> = words.iter().cloned().chain([file]).collect();
    programs.in_turns(rounds, |program| programs.rate(program, &words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options, String> {
        Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read() {
        assert_eq!(parse(&[]), Ok(Options::default()));
        assert!(parse(&["--servers"]).is_ok_and(|options| options.what == What::Servers));
        assert_eq!(
            parse(&["--rounds=3", "--only=null"]),
            Ok(Options { rounds: 3, only: Some("null".into()), ..Options::default() })
        );
        assert_eq!(
            parse(&["--options", "--fio", "--program=target/release/fathom"]),
            Ok(Options {
                what: What::Options,
                fio: true,
                program: Some("target/release/fathom".into()),
                ..Options::default()
            })
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for words in [
            &["--rounds=0"][..],
            &["--rounds=x"],
            &["--fast"],
            &["--write", "--only=null"],
            &["--write", "--servers"],
            &["--write", "--instructions"],
            &["--write", "--options"],
            &["--write", "--program=fathom"],
            &["--program="],
            &["--fio"],
        ] {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }
}
