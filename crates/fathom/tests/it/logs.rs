//! Log files: their content compared with the report of the same run, and with fio's.

use crate::support::program::{Finished, Launch, reference};
use crate::support::{PATIENCE, json, scratch};
use serde_json::Value;
use std::path::Path;

/// Fields of every line of a log.
fn lines(directory: &Path, name: &str) -> Vec<Vec<String>> {
    let text =
        std::fs::read_to_string(directory.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    text.lines().map(|line| line.split(", ").map(str::to_owned).collect()).collect()
}

/// One field of every line, as a number.
fn column(directory: &Path, name: &str, field: usize) -> Vec<u64> {
    lines(directory, name).iter().map(|line| line[field].parse().expect("a number")).collect()
}

/// Names of the existing logs, sorted.
fn logs(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("a directory");
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.contains(".log")).collect();
    names.sort();
    names
}

#[track_caller]
fn run(directory: &Path, words: &str) -> (Value, Finished) {
    let finished = Launch::fathom(directory).words("--output-format=json").words(words).run().expect_clean();
    (json::document(&finished.stdout), finished)
}

#[test]
fn a_line_per_io_in_every_log() {
    let directory = scratch();
    let words = "--name=a --ioengine=libaio --iodepth=4 --filename=data --size=1M --bs=4k --rw=randrw --numjobs=2 \
                 --write_bw_log=b --write_iops_log=i --write_lat_log=l --log_offset=1";
    let (document, _) = run(directory.path(), words);
    for clone in 1..=2 {
        let job = &document["jobs"][clone - 1];
        let name = |prefix: &str, word: &str| format!("{prefix}_{word}.{clone}.log");
        let (slat, clat, lat) = (name("l", "slat"), name("l", "clat"), name("l", "lat"));
        for (direction, word) in ["read", "write"].iter().enumerate() {
            let of = |name: &str| -> Vec<Vec<String>> {
                lines(directory.path(), name)
                    .into_iter()
                    .filter(|line| line[2] == direction.to_string())
                    .collect()
            };
            let total = json::integer(&job[*word], "total_ios");
            for name in [&slat, &clat, &lat, &name("b", "bw"), &name("i", "iops")] {
                assert_eq!(of(name).len() as u64, total, "{name}");
                assert!(of(name).iter().all(|line| line.len() == 6 && line[3] == "4096"), "{name}");
            }
            let values = |name: &str| -> Vec<u64> {
                of(name).iter().map(|line| line[1].parse().expect("ns")).collect()
            };
            let (slats, clats, lats) = (values(&slat), values(&clat), values(&lat));
            assert!((0..lats.len()).all(|io| slats[io] + clats[io] == lats[io]), "slat + clat = lat");
            for (name, values) in [("slat_ns", &slats), ("clat_ns", &clats), ("lat_ns", &lats)] {
                let figures = &job[*word][name];
                let extremes = (values.iter().min().copied(), values.iter().max().copied());
                assert_eq!(extremes, (figures["min"].as_u64(), figures["max"].as_u64()), "{name}");
            }
        }
        let mut offsets: Vec<u64> = column(directory.path(), &lat, 4);
        offsets.sort_unstable();
        assert_eq!(offsets, (0..256).map(|block| block * 4096).collect::<Vec<u64>>());
    }
}

#[test]
fn names_and_columns_are_fios() {
    let cases = [
        "--write_lat_log=p --rw=randread",
        "--write_bw_log=p --write_iops_log=q --rw=write --numjobs=2 --log_offset=1",
        "--write_lat_log=p --rw=read --per_job_logs=0 --numjobs=2 --log_prio=1",
        "--write_lat_log=p --rw=read --log_store_compressed=1 --log_compression=64k",
        "--write_hist_log=h --log_hist_msec=100 --log_hist_coarseness=5 --rw=read --rate_iops=500 --runtime=1 --time_based",
    ];
    let fio = require!(reference());
    for case in cases {
        let words = format!("--name=a --ioengine=null --size=64k --bs=4k {case}");
        let (own, theirs) = (scratch(), scratch());
        Launch::fathom(own.path()).words(&words).run().expect_clean();
        // fio 3.41 sometimes hangs when it writes logs.
        let ends = || {
            let mut running = Launch::of(&fio, theirs.path()).words(&words).timeout(PATIENCE / 3).start();
            running.finish_in_time().is_ok()
        };
        assert!((0..3).any(|_| ends()), "{case}: fio does not end");
        assert_eq!(logs(own.path()), logs(theirs.path()), "{case}");
        for name in logs(own.path()).iter().filter(|name| !name.ends_with(".fz")) {
            let (own, theirs) = (lines(own.path(), name), lines(theirs.path(), name));
            let fields = |lines: &[Vec<String>]| lines.first().map(Vec::len);
            assert_eq!(fields(&own), fields(&theirs), "{case}: {name}");
            if !case.contains("hist") {
                assert_eq!(own.len(), theirs.len(), "{case}: {name}");
            }
        }
    }
}

#[test]
fn windows_lie_on_multiples_and_sum_to_the_total() {
    fathom_only!();
    let directory = scratch();
    // Five I/Os followed by a pause of 300 ms: windows with and without I/O.
    let words = "--name=a --ioengine=null --size=1M --bs=8k --rw=read --number_ios=15 --thinktime=300000 \
                 --thinktime_blocks=5 --log_avg_msec=100 --write_bw_log=p --write_iops_log=p --write_lat_log=p";
    let (document, _) = run(directory.path(), words);
    let bytes = json::integer(&document["jobs"][0]["read"], "io_bytes");
    assert_eq!(bytes, 15 * 8192);
    let times = column(directory.path(), "p_bw.1.log", 0);
    assert_eq!(times, (1..=times.len() as u64).map(|window| window * 100).collect::<Vec<u64>>());
    assert_eq!(column(directory.path(), "p_iops.1.log", 0), times);
    let kib: u64 = column(directory.path(), "p_bw.1.log", 1).iter().sum();
    assert_eq!(kib / 10, bytes / 1024, "KiB/s over tenths of a second");
    let iops = column(directory.path(), "p_iops.1.log", 1);
    assert_eq!(iops.iter().sum::<u64>() / 10, 15);
    assert!(iops.contains(&0), "{iops:?}");
    let latencies = column(directory.path(), "p_lat.1.log", 1);
    assert_eq!(latencies.len(), iops.iter().filter(|&&value| value > 0).count());
}

#[test]
fn histograms_sum_to_the_total() {
    fathom_only!();
    let directory = scratch();
    let words = "--name=a --ioengine=null --size=1M --bs=4k --rw=randrw --runtime=1 --time_based --rate_iops=500 \
                 --write_hist_log=h --log_hist_msec=200 --log_hist_coarseness=3";
    let (document, _) = run(directory.path(), words);
    let lines = lines(directory.path(), "h_clat_hist.1.log");
    assert!(lines.iter().all(|line| line.len() == 3 + 232));
    for (direction, word) in ["read", "write"].iter().enumerate() {
        let of_direction = lines.iter().filter(|line| line[1] == direction.to_string());
        let sum: u64 =
            of_direction.flat_map(|line| &line[3..]).map(|bin| bin.parse::<u64>().expect("a count")).sum();
        assert_eq!(sum, json::integer(&document["jobs"][0][*word], "total_ios"));
    }
}

#[test]
fn a_compressed_log_inflates_to_the_text() {
    fathom_only!();
    let directory = scratch();
    let words = "--name=a --ioengine=null --size=4M --bs=4k --rw=randread --write_lat_log=p --write_bw_log=t --log_offset=1";
    run(directory.path(), &format!("{words} --log_store_compressed=1 --log_compression=16k"));
    let inflated =
        Launch::fathom(directory.path()).words("--inflate-log=p_clat.1.log.fz").run().expect_clean().stdout;
    let rows: Vec<Vec<&str>> = inflated.lines().map(|line| line.split(", ").collect()).collect();
    assert_eq!(rows.len(), 1024);
    assert!(rows.iter().all(|row| row.len() == 6 && row[3] == "4096"));
    if let Ok(fio) = reference() {
        // The same records as read by an older fio: time, value, direction and size are in the same positions.
        let theirs = Launch::of(&fio, directory.path()).words("--inflate-log=p_clat.1.log.fz").run();
        assert_eq!(theirs.code(), 0);
    }
    let missing = Launch::fathom(directory.path()).words("--inflate-log=nothing").run();
    assert_eq!(missing.code(), 1);
    assert!(missing.stderr.starts_with("fopen: No such file or directory\n"), "{}", missing.stderr);
    std::fs::write(directory.path().join("rubbish"), "no log at all").expect("written");
    let rubbish = Launch::fathom(directory.path()).words("--inflate-log=rubbish").run();
    assert_eq!(
        (rubbish.code(), rubbish.stderr.contains("cannot inflate rubbish")),
        (1, true),
        "{}",
        rubbish.stderr
    );
}

#[test]
fn times_of_another_clock() {
    let directory = scratch();
    let words = "--name=a --ioengine=null --size=16k --bs=4k --rw=read --write_iops_log=p --log_unix_epoch=1";
    let (document, _) = run(directory.path(), words);
    let started = document["jobs"][0]["job_start"].as_u64().expect("a time");
    let times = column(directory.path(), "p_iops.1.log", 0);
    assert!(times.iter().all(|time| time.abs_diff(started) < 60_000), "{times:?} against {started}");
}

#[test]
fn what_a_ramp_does_is_not_logged() {
    let directory = scratch();
    let words = "--name=a --ioengine=null --size=1M --bs=4k --rw=read --rate_iops=200 --ramp_time=500ms --runtime=500ms \
                 --time_based --write_iops_log=p";
    let (document, _) = run(directory.path(), words);
    let logged = column(directory.path(), "p_iops.1.log", 0).len() as u64;
    assert_eq!(logged, json::integer(&document["jobs"][0]["read"], "total_ios"));
}

#[test]
fn clones_share_a_file_and_add_to_it() {
    let directory = scratch();
    let words =
        "--name=a --ioengine=null --size=16k --bs=4k --rw=read --numjobs=3 --per_job_logs=0 --write_bw_log=p";
    run(directory.path(), words);
    assert_eq!(lines(directory.path(), "p_bw.log").len(), 12);
    run(directory.path(), words);
    assert_eq!(lines(directory.path(), "p_bw.log").len(), 24);
}

/// KiB represented by the lines of a bandwidth log.
fn kib_of_bandwidth_lines(directory: &Path, name: &str) -> f64 {
    let (times, values) = (column(directory, name, 0), column(directory, name, 1));
    let mut last = 0;
    let mut kib = 0.0;
    for (time, value) in times.iter().zip(&values) {
        kib += (time - last) as f64 / 1000.0 * *value as f64;
        last = *time;
    }
    kib
}

#[test]
fn the_bandwidth_of_all_jobs() {
    fathom_only!();
    // I/O of the ramp appears in no line and in no total.
    for ramp in ["", "--ramp_time=700ms"] {
        let directory = scratch();
        let words = "--bandwidth-log --name=a --ioengine=null --size=1M --bs=4k --rw=randrw --rate_iops=500 --runtime=1200ms \
                     --time_based --numjobs=2";
        let (document, _) = run(directory.path(), &format!("{words} {ramp}"));
        assert_eq!(logs(directory.path()), ["agg-read_bw.log", "agg-trim_bw.log", "agg-write_bw.log"]);
        for word in ["read", "write"] {
            let kib = kib_of_bandwidth_lines(directory.path(), &format!("agg-{word}_bw.log"));
            let total: u64 = (0..2).map(|job| json::integer(&document["jobs"][job][word], "io_kbytes")).sum();
            // Times are whole milliseconds and values whole KiB/s.
            assert!((kib - total as f64).abs() <= total as f64 * 0.02 + 8.0, "{kib} against {total}");
        }
    }
}

#[test]
fn logs_go_to_the_directory_of_aux_path() {
    let directory = scratch();
    std::fs::create_dir(directory.path().join("aux")).expect("a directory");
    let words = "--aux-path=aux --bandwidth-log --name=a --ioengine=null --size=16k --bs=4k --rw=read --write_bw_log=p";
    run(directory.path(), words);
    assert_eq!(logs(directory.path()), Vec::<String>::new());
    let expected = ["agg-read_bw.log", "agg-trim_bw.log", "agg-write_bw.log", "p_bw.1.log"];
    assert_eq!(logs(&directory.path().join("aux")), expected);
}

#[test]
fn a_log_that_cannot_be_opened_stops_the_run_before_it_begins() {
    fathom_only!();
    let directory = scratch();
    let words = "--name=a --filename=data --size=64k --rw=write --write_lat_log=missing/p";
    let finished = Launch::fathom(directory.path()).words(words).run();
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("cannot write the log missing/p_"), "{}", finished.stderr);
    assert!(!directory.path().join("data").exists());
}

#[test]
fn a_log_that_cannot_be_written_fails_the_run_and_is_named() {
    fathom_only!();
    let directory = scratch();
    std::os::unix::fs::symlink("/dev/full", directory.path().join("p_bw.1.log")).expect("a link");
    let words = "--name=a --ioengine=null --size=64M --bs=4k --rw=read --write_bw_log=p";
    let finished = Launch::fathom(directory.path()).words(words).run();
    assert_eq!(finished.code(), 1);
    assert!(
        finished.stderr.contains("cannot write the log p_bw.1.log: No space left"),
        "{}",
        finished.stderr
    );
    assert!(
        finished.stdout.contains("issued rwts: total=16384,"),
        "the run itself is whole: {}",
        finished.stdout
    );
    let note = "note: log files that could not be written completely: 1";
    assert!(finished.stdout.contains(note), "{}", finished.stdout);
}

#[test]
fn a_fast_job_loses_no_line_and_needs_no_more_memory_for_a_longer_run() {
    fathom_only!();
    let directory = scratch();
    let words = "--name=a --ioengine=null --size=1T --bs=4k --rw=randread --norandommap --iodepth=32 --write_lat_log=p";
    let (document, _) = run(directory.path(), &format!("{words} --number_ios=1000000 --log_entries=1024"));
    assert_eq!(json::integer(&document["jobs"][0]["read"], "total_ios"), 1_000_000);
    assert_eq!(lines(directory.path(), "p_clat.1.log").len(), 1_000_000);
    // Such a small ring cannot have been sufficient, and the report says so.
    let notes = document["fathom notes"].to_string();
    assert!(notes.contains("was faster than its logs could be written"), "{notes}");
}
