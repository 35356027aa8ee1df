//! `--debug`: lines about the events of a run, which is otherwise unchanged.

use crate::support::program::{Finished, Launch};
use crate::support::scratch;
use std::path::Path;

fn run(directory: &Path, words: &str) -> Finished {
    Launch::fathom(directory).words(words).run()
}

/// Lines of a class, without the number of the process.
fn lines<'a>(text: &'a str, class: &str) -> Vec<&'a str> {
    let of_class = |line: &'a str| {
        let rest = line.strip_prefix(&format!("{class:<8} "))?.trim_start();
        let (pid, text) = rest.split_once(' ')?;
        pid.parse::<u32>().is_ok().then_some(text.trim_start())
    };
    text.lines().filter_map(of_class).collect()
}

/// As parsed by scripts: between the first `=` and the next comma.
fn offsets(lines: &[&str], step: &str) -> Vec<u64> {
    let of_step = lines.iter().filter(|line| line.starts_with(step));
    let hex = of_step.filter_map(|line| line.split_once('=')?.1.split_once(',').map(|(offset, _)| offset));
    hex.map(|offset| u64::from_str_radix(offset.trim_start_matches("0x"), 16).expect("a number")).collect()
}

#[test]
fn each_io_has_its_lines() {
    fathom_only!();
    for engine in ["psync", "libaio --iodepth=4", "null --iodepth=2"] {
        let directory = scratch();
        let words = format!(
            "--debug=io --name=a --filename=data --size=32k --bs=4k --rw=write --fsync=4 --ioengine={engine}"
        );
        let finished = run(directory.path(), &words).expect_clean();
        assert!(finished.stdout.contains("fio: set debug option io\n"), "{engine}: {}", finished.stdout);
        let found = lines(&finished.stdout, "io");
        let data: Vec<&str> =
            found.iter().copied().filter(|line| line.contains("ddir=1,file=data")).collect();
        for step in ["fill: ", "prep: ", "queue: ", "complete: "] {
            let mut offsets = offsets(&data, step);
            offsets.sort_unstable();
            assert_eq!(
                offsets,
                (0..8).map(|block| block * 4096).collect::<Vec<u64>>(),
                "{engine}: {found:?}"
            );
        }
        assert!(
            data[0].starts_with("fill: io_u 0x") && data[0].ends_with("off=0x0,len=0x1000,ddir=1,file=data")
        );
        let syncs =
            found.iter().filter(|line| line.starts_with("complete:") && line.contains("ddir=3")).count();
        assert!(syncs >= 1, "{engine}: {found:?}");
    }
}

#[test]
fn an_io_that_fails_ends_too() {
    fathom_only!();
    let directory = scratch();
    let words = "--debug=io --name=a --filename=/dev/full --size=4k --bs=4k --rw=write --ioengine=psync";
    let finished = run(directory.path(), words);
    assert_ne!(finished.code(), 0);
    assert_eq!(offsets(&lines(&finished.stdout, "io"), "complete: "), [0], "{}", finished.stdout);
}

#[test]
fn seeds_are_those_of_fio() {
    fathom_only!();
    let directory = scratch();
    let job = "--name=a --ioengine=null --size=4k --rw=randread";
    let seeds = |more: &str| {
        let finished = run(directory.path(), &format!("--debug=random {job} {more}")).expect_clean();
        lines(&finished.stdout, "random").into_iter().map(str::to_owned).collect::<Vec<String>>()
    };
    let two = seeds("--numjobs=2");
    assert_eq!(two.len(), 50);
    assert_eq!(two[0], "FIO_RAND_NR_OFFS=24");
    assert_eq!(two[1], "rand_seeds[0]=5942511153023025289");
    assert_eq!(two[7], "rand_seeds[6]=6803328749335347343");
    assert_eq!(two[24], "rand_seeds[23]=2435071312708042912");
    assert_eq!(two[26], "rand_seeds[0]=11885022306046050578");
    assert_eq!(seeds("--randseed=7")[1], "rand_seeds[0]=8651793508329586695");
    assert_eq!(seeds("--randseed=7 --randrepeat=0"), seeds("--randseed=7"));
    let by_chance = seeds("--randrepeat=0");
    assert_eq!(by_chance[0], "using system RNG for random seeds");
    assert_ne!(by_chance, seeds("--randrepeat=0"));
}

#[test]
fn lines_go_where_information_goes() {
    fathom_only!();
    let directory = scratch();
    let words =
        "--debug=all --output=report --name=a --filename=data --size=8k --rw=write --numjobs=2 --thread=1";
    let finished = run(directory.path(), words).expect_clean();
    assert_eq!(finished.stdout, "");
    let report = std::fs::read_to_string(directory.path().join("report")).expect("a report");
    assert!(
        report.contains("fio: set all debug options\n") && report.contains("Run status group 0"),
        "{report}"
    );
    for class in ["process", "file", "io", "mem", "random"] {
        assert!(!lines(&report, class).is_empty(), "{class}: {report}");
    }
    let ended = lines(&report, "process").iter().filter(|line| line.ends_with("runstate Running")).count();
    assert_eq!(ended, 2, "{report}");
}

#[test]
fn one_clone_and_unknown_classes() {
    fathom_only!();
    let directory = scratch();
    let job = "--name=a --ioengine=null --size=8k --bs=4k --rw=read --numjobs=2";
    let second = run(directory.path(), &format!("--debug=job:2,io {job}")).expect_clean();
    assert_eq!(offsets(&lines(&second.stdout, "io"), "complete: "), [0, 4096], "{}", second.stdout);
    let finished = run(directory.path(), &format!("--debug=nonsense,mutex {job}"));
    assert_eq!(finished.code(), 0);
    let told =
        "fio: debug mask nonsense not found\nfathom: --debug=mutex: there are no lines of this class\n";
    assert_eq!(finished.stderr, told);
}
