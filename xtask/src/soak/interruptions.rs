//! Runs that end early: by a signal to the run, by the death of a worker, or by the death of all.

use super::Round;
use super::program::Program;
use crate::chance::Chance;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// One run with a ledger, interrupted at some point; acknowledged data must still be there.
pub(crate) fn round(program: &Program, chance: &mut Chance, directory: &Path) -> Result<Round, String> {
    // A ledger must not be on the storage under test.
    let Ok(ledgers) = tempfile::tempdir_in("/dev/shm") else {
        return Ok(Round::Skipped("no file system in memory for ledgers"));
    };
    let ledger = ledgers.path().join("ledger");
    let engine = chance.one(&[
        "psync",
        "libaio --iodepth=16",
        "io_uring --iodepth=8",
        "posixaio --iodepth=4",
        "io_uring --iodepth=8 --thread",
        "psync --thread",
    ]);
    let order = chance.one(&["write", "randwrite", "randwrite --norandommap", "rw", "write --fsync=16"]);
    let size = chance.one(&["--bs=4k", "--bs=64k", "--bsrange=512-16k"]);
    let job =
        format!("--rw={order} {size} --size=4m --verify=crc32c --do_verify=0 --time_based --runtime=60");
    let words = format!(
        "--output-format=json --name=job --filename=data --ioengine={engine} {job} --verify_ledger={} --name=beside \
         --filename=other --rw=randread --bs=4k --size=1m --time_based --runtime=60 --thinktime=500",
        ledger.display()
    );
    let running = program.start(directory, &words)?;
    std::thread::sleep(Duration::from_millis(50 + chance.below(600)));
    let pid = running.pid().to_string();
    let way = chance.below(4);
    let what = match way {
        0 => send("INT", &pid).map(|()| "interrupted")?,
        1 => send("TERM", &pid).map(|()| "told to end")?,
        2 => send("KILL", &pid).map(|()| "killed altogether")?,
        _ => match worker_of(&pid, chance) {
            Some(worker) => {
                let _ = send("KILL", &worker);
                std::thread::sleep(Duration::from_millis(20));
                send("INT", &pid).map(|()| "a process of it killed")?
            }
            None => send("INT", &pid).map(|()| "interrupted")?,
        },
    };
    let finished = running.finish()?;
    if way != 2 {
        let report: serde_json::Value = serde_json::from_str(&finished.stdout).map_err(|error| {
            format!("  {what}: the report is not whole ({error})\n{}", finished.told(&words))
        })?;
        let jobs = report["jobs"].as_array().map_or(0, Vec::len);
        if jobs != 2 {
            return Err(format!("  {what}: {jobs} jobs of 2 are in the report\n{}", finished.told(&words)));
        }
        if finished.status.code().is_none() {
            return Err(format!("  {what}: no exit status\n{}", finished.told(&words)));
        }
    }
    if finished.stderr.contains("cannot be kept") {
        return Err(format!("  no ledger:\n{}", finished.told(&words)));
    }
    if !ledger.exists() {
        return Ok(Round::Good("over before it began"));
    }
    // The workers of a killed run disappear after a moment; their last writes may still arrive.
    std::thread::sleep(Duration::from_millis(if way == 2 { 300 } else { 0 }));
    let check = format!("ledger check --after=kill {}", ledger.display());
    let checked = program.run(directory, &check)?;
    match checked.status.code() {
        Some(0) => Ok(Round::Good(what)),
        Some(3) => Ok(Round::Good("over before anything was promised")),
        _ if checked.stderr.contains("cut off") => Ok(Round::Good("over before the ledger began")),
        _ => Err(format!("  {what}: {words}\n  the check of the ledger:\n{}", checked.told(&check))),
    }
}

fn send(signal: &str, pid: &str) -> Result<(), String> {
    // The process may have ended meanwhile.
    Command::new("kill")
        .args(["-s", signal, pid])
        .output()
        .map(drop)
        .map_err(|error| format!("  kill: {error}"))
}

/// One of the processes started by the run.
fn worker_of(pid: &str, chance: &mut Chance) -> Option<String> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    let children: Vec<&str> = list.split_whitespace().collect();
    (!children.is_empty()).then(|| children[chance.below(children.len() as u64) as usize].to_owned())
}
