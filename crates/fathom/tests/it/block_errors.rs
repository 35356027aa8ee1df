//! `block_error_percentiles`: writes that fail because their file cannot grow, after the number of trims that
//! the job defines.

use crate::support::program::{self, Finished, Launch};
use crate::support::{MIB, file_of, json, scratch, skip};
use serde_json::{Value, json};
use std::path::Path;

/// Blocks of 16 KiB in a file of one MiB, whose upper half cannot be written.
const JOB: &str =
    "--name=a --filename=data --bs=4k,4k,16k --size=1m --block_error_percentiles=1 --percentile_list=50:99.9";

fn run(words: &str) -> Finished {
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let launch = Launch::of(Path::new("prlimit"), directory.path());
    launch.argument("--fsize=524288").argument(program::path()).words(JOB).words(words).run()
}

fn blocks(finished: &Finished) -> Value {
    json::job(&json::document(&finished.stdout), "a")["block"].clone()
}

fn states(counts: [u64; 5]) -> Value {
    let [untouched, trimmed, written, trim_failed, write_failed] = counts;
    json!({
        "untouched": untouched, "trimmed": trimmed, "written": written, "trim_failed": trim_failed, "write_failed": write_failed
    })
}

#[test]
fn every_block_is_in_the_state_that_its_ios_left() {
    require!(skip::tool("prlimit"));
    let one = json!({ "50.000000": 1, "99.900000": 1 });
    let none = json!({ "50.000000": 0, "99.900000": 0 });
    for (words, code, counts, percentiles) in [
        ("--rw=trim --size=256k", 0, [0, 16, 0, 0, 0], json!({})),
        ("--rw=read", 0, [64, 0, 0, 0, 0], json!({})),
        // A block counts once, regardless of the number of its failed writes.
        ("--rw=write --ignore_error=,EFBIG", 0, [0, 0, 32, 0, 32], none.clone()),
        (
            "--rw=write --ignore_error=,EFBIG --numjobs=3 --group_reporting",
            0,
            [0, 0, 96, 0, 96],
            none.clone(),
        ),
        ("--rw=write --ioengine=libaio --iodepth=8 --ignore_error=,EFBIG", 0, [0, 0, 32, 0, 32], none),
        // Blocks are trimmed in each pass, but only trims before its first error count for a failed block.
        ("--rw=trimwrite --bs=16k --loops=3 --ignore_error=,EFBIG", 0, [0, 0, 32, 0, 32], one.clone()),
        (
            "--rw=trimwrite --bs=16k --loops=3 --ignore_error=,EFBIG --thread",
            0,
            [0, 0, 32, 0, 32],
            one.clone(),
        ),
        // The fatal error counts as well.
        ("--rw=trimwrite --bs=16k", 1, [31, 0, 32, 0, 1], one),
    ] {
        let finished = run(&format!("{words} --output-format=json"));
        assert_eq!(finished.code(), code, "{words}: {}", finished.stderr);
        let expected = json!({ "percentiles": percentiles, "states": states(counts) });
        assert_eq!(blocks(&finished), expected, "{words}: {}", finished.stderr);
    }
}

#[test]
fn the_report_shows_states_and_percentiles() {
    require!(skip::tool("prlimit"));
    let finished = run("--rw=trimwrite --bs=16k --ignore_error=,EFBIG");
    let shown = "  blocks       : untouched=0, trimmed=0, written=32, trim failed=0, write failed=32\n    trims to the first error \
                 percentiles:\n     | 50.0th=[    1], 99.9th=[    1]\n";
    assert!(finished.stdout.contains(shown), "{}", finished.stdout);
}

#[test]
fn what_has_no_blocks_is_refused() {
    let refused = |words: &str| {
        let directory = scratch();
        std::fs::write(
            directory.path().join("log"),
            "fio version 2 iolog\ndata add\ndata open\ndata write 0 4096\n",
        )
        .expect("a log can be written");
        let finished = Launch::fathom(directory.path())
            .words("--name=a --ioengine=null --size=1m --block_error_percentiles=1")
            .words(words)
            .run();
        assert_eq!((finished.code(), finished.stdout.contains("blocks  ")), (1, false), "{words}");
        finished.stderr
    };
    for (words, said) in [
        ("--rw=trim --bsrange=4k-16k", "trims of several lengths"),
        ("--rw=randwrite --bssplit=4k/50:8k/50,4k/50:8k/50,4k/50:8k/50", "trims of several lengths"),
        ("--ioengine=io_uring_cmd --filename=/dev/ng9n9 --rw=trim --num_range=4", "a trim of several ranges"),
        ("--read_iolog=log", "the I/Os of read_iolog= may be anywhere"),
        ("--ioengine=filecreate --filesize=4k --nrfiles=4", "has no blocks"),
        (
            "--rw=trimwrite --bs=4k --size=2t",
            "its files have 536870912 of 4096 bytes: more than the 268435456",
        ),
    ] {
        let stderr = refused(words);
        assert!(stderr.contains(said), "{words}: {stderr}");
    }
}
