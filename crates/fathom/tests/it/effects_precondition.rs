//! Preconditioning passes: the writes of `sprandom`, their order, and the end.

use crate::support::program::Launch;
use crate::support::{KIB, json, recorded, scratch};
use std::collections::HashMap;

const PASS: &str = "--rw=randwrite --random_generator=lfsr --norandommap=1 --sprandom=1";

/// Share of each region's writes that are not overwritten later.
fn valid_shares(order: &[u64], regions: usize) -> Vec<f64> {
    let last: HashMap<u64, usize> = order.iter().enumerate().map(|(index, &block)| (block, index)).collect();
    let bound = |region: usize| order.len() * region / regions;
    (0..regions)
        .map(|region| bound(region)..bound(region + 1))
        .map(|range| {
            let valid = range.clone().filter(|&index| last[&order[index]] == index).count();
            valid as f64 / range.len() as f64
        })
        .collect()
}

fn blocks(words: &str) -> Vec<u64> {
    recorded::of_null(&format!("{PASS} {words}")).iter().map(recorded::Recorded::block).collect()
}

#[test]
fn a_pass_writes_all_blocks_and_leaves_old_regions_the_emptiest() {
    let order = blocks("--size=40m --spr_num_regions=10 --spr_op=0.25");
    // 10240 blocks plus a quarter of that.
    assert_eq!(order.len(), 12_800);
    let shares = valid_shares(&order, 10);
    // u = exp(-1.25 (1 - u)) gives 0.629; the oldest region is slightly younger than that on average.
    assert!((0.60..0.68).contains(&shares[0]), "{shares:?}");
    assert!(shares.is_sorted() && shares[9] == 1.0, "{shares:?}");
    let distinct: std::collections::HashSet<&u64> = order.iter().collect();
    assert_eq!(distinct.len(), 10_240);
    // The default: 15 % in a hundred regions.
    let order = blocks("--size=40m");
    assert_eq!(order.len(), 11_776);
    let shares = valid_shares(&order, 100);
    assert!((0.72..0.78).contains(&shares[0]), "{shares:?}");
}

#[test]
fn what_may_lie_in_the_disks_cache_is_not_overwritten() {
    let nearest = |words: &str| {
        let order = blocks(&format!("--size=40m --spr_num_regions=100 {words}"));
        let mut first: HashMap<u64, usize> = HashMap::new();
        let distance = |(index, block): (usize, &u64)| Some(index - first.insert(*block, index)?);
        order.iter().enumerate().filter_map(distance).min().expect("overwritten blocks")
    };
    // A region has 117 writes; 4 MiB are 1024 blocks.
    assert!(nearest("") < 300);
    assert!(nearest("--spr_cs=4m") >= 1024);
}

#[test]
fn a_pass_fills_a_file_once_and_ends() {
    let directory = scratch();
    let path = directory.path().join("file");
    let words = format!(
        "--name=job --filename=file --bs=4k --size=2m {PASS} --spr_num_regions=8 --buffer_pattern=0x5a \
         --time_based --runtime=1h --loops=3 --output-format=json"
    );
    let finished = Launch::fathom(directory.path()).words(&words).run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    for option in ["loops", "time_based"] {
        let note = format!("fathom: job job: {option} has no effect with sprandom");
        assert!(finished.stderr.contains(&note), "{}", finished.stderr);
    }
    let document = json::document(&finished.stdout);
    let job = &document["jobs"][0];
    assert_eq!(json::integer(job, "write/total_ios"), 589);
    assert_eq!(json::integer(job, "write/io_bytes"), 589 * 4 * KIB);
    assert_eq!(document["fathom jobs"][0]["random_offsets"], "sprandom");
    let data = std::fs::read(&path).expect("the file");
    assert_eq!(data.len() as u64, 2 * 1024 * KIB);
    assert!(data.iter().all(|&byte| byte == 0x5a));
}

#[test]
fn passes_that_cannot_be_are_refused() {
    let directory = scratch();
    let run = |words: &str| {
        let words = format!("--name=job --ioengine=null --size=1m --bs=4k {words}");
        Launch::fathom(directory.path()).words(&words).run()
    };
    let refused = run("--rw=write --sprandom=1");
    assert_eq!(refused.code(), 1);
    let line = "fio: sprandom requires random write, random_generator=lfsr, norandommap=1";
    assert!(refused.stderr.contains(line), "{}", refused.stderr);
    for (more, told) in [
        ("--spr_num_regions=1000", "256 blocks are too few for spr_num_regions=1000"),
        ("--spr_num_regions=10 --spr_cs=2m", "spr_cs=2097152 is more than a pass of 1204224 bytes"),
        ("--spr_num_regions=4 --spr_op=0.97", "spr_op=0.97 asks for more overwriting"),
    ] {
        let refused = run(&format!("{PASS} {more}"));
        assert_eq!(refused.code(), 1, "{more}");
        assert!(refused.stderr.contains(told), "{more}: {}", refused.stderr);
    }
}
