//! Storage that damages data on purpose, under every engine that works on files, buffered, direct and mapped,
//! on a device and on file systems. Any damage to a block is found, in the writing run and in a later one, and
//! sound storage raises no alarm.

use crate::damaging_fs::{Caching, Damage, DamagingFs};
use crate::support::devices::LoopDevice;
use crate::support::program::Launch;
use crate::support::scratch;
use std::path::Path;

/// Size of the file, and of its blocks.
const SIZE: usize = 512 << 10;
const BLOCK: usize = 4096;
/// The damaged block.
const VICTIM: usize = 37;

/// Kinds of damage to a write. `Drop` also covers stale blocks, because an earlier run has written the same blocks.
const DAMAGES: [Damage; 8] = [
    Damage::None,
    Damage::Flip,
    Damage::Drop,
    Damage::Misdirect,
    Damage::Tear,
    Damage::Zero,
    Damage::FailReads,
    Damage::FailWrites,
];

/// The time at which the data is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// In the run that writes it.
    InTheRun,
    /// In the run that writes it, a few writes after each block.
    Backlog,
    /// In a separate run.
    Later,
}

const TIMES: [When; 3] = [When::InTheRun, When::Backlog, When::Later];

/// Every block of one storage, engine and open mode.
fn cells(target: &Path, fs: &DamagingFs, options: &str) -> Vec<String> {
    let directory = scratch();
    let mut wrong = Vec::new();
    for damage in DAMAGES {
        for when in TIMES {
            let found = found(directory.path(), target, fs, options, (damage, when));
            let hits = fs.hits();
            if found == (damage == Damage::None) || damage != Damage::None && hits == 0 {
                wrong.push(format!("{options}, {damage:?}, {when:?}: found={found}, damaged {hits} times"));
            }
        }
    }
    wrong
}

/// True if a run, or the later one that verifies its data, ends with an error.
fn found(
    directory: &Path,
    target: &Path,
    fs: &DamagingFs,
    options: &str,
    (damage, when): (Damage, When),
) -> bool {
    fs.set(Damage::None);
    // Two runs write the same bytes except for the time, so that the old block left by a torn write differs
    // from the new one.
    fs.wipe();
    let run = |more: &str| {
        let words =
            format!("--name=job --bs={BLOCK} --size={SIZE} --rw=randwrite --verify=crc32c {options} {more}");
        let finished = Launch::fathom(directory)
            .words(&words)
            .argument(format!("--filename={}", target.display()))
            .run();
        assert!(
            matches!(finished.code(), 0 | 1),
            "{words}: {} {} {}",
            finished.code(),
            finished.stdout,
            finished.stderr
        );
        finished.code() != 0
    };
    if damage == Damage::Drop {
        // Otherwise a dropped write would differ only in its time.
        assert!(!run(""), "the storage is sound: {options}");
    }
    fs.set(damage);
    match when {
        When::InTheRun => run(""),
        When::Backlog => run("--verify_backlog=8"),
        When::Later => {
            let failed = run("--do_verify=0 --verify_state_save=1");
            failed | run("--verify_only --verify_state_load=1")
        }
    }
}

/// The table of one engine. A storage unavailable on this machine is skipped, with the reason.
fn table(engine: &str, modes: &[&str]) -> Result<(), String> {
    let victim = VICTIM * BLOCK..(VICTIM + 1) * BLOCK;
    let mut wrong = Vec::new();
    for mode in modes {
        let options = format!("--ioengine={engine} {mode}");
        for caching in [Caching::Through, Caching::Back] {
            let fs = DamagingFs::mount(SIZE, victim.clone(), caching)?;
            let cells = cells(&fs.file(), &fs, &options);
            wrong.extend(cells.into_iter().map(|cell| format!("file, {caching:?}: {cell}")));
        }
        let fs = DamagingFs::mount(SIZE, victim.clone(), Caching::Off)?;
        let device = LoopDevice::on_file(&fs.file())?;
        let cells = cells(device.path(), &fs, &options);
        wrong.extend(cells.into_iter().map(|cell| format!("device: {cell}")));
    }
    assert!(wrong.is_empty(), "{} cells are wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

const BOTH: [&str; 2] = ["--direct=0", "--direct=1"];
const QUEUED: [&str; 2] = ["--direct=0 --iodepth=8", "--direct=1 --iodepth=8"];

macro_rules! tables {
    ($($name:ident: $engine:literal, $modes:expr;)*) => {
        $(
            #[test]
            fn $name() {
                fathom_only!();
                require!(table($engine, &$modes));
            }
        )*
    };
}

tables! {
    psync: "psync", BOTH;
    sync: "sync", BOTH;
    vsync: "vsync", BOTH;
    pvsync: "pvsync", BOTH;
    pvsync2: "pvsync2", BOTH;
    posixaio: "posixaio", QUEUED;
    libaio: "libaio", QUEUED;
    io_uring: "io_uring", QUEUED;
    splice: "splice", ["--direct=0"];
    mmap: "mmap", BOTH;
    threads: "psync", ["--direct=0 --thread"];
    checks_in_threads: "psync", ["--direct=0 --verify_async=2"];
}
