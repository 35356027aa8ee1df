//! The small tools: called as subcommands and under fio's names, compared with fio's installed companions.

use crate::support::program::{Finished, Launch, path};
use crate::support::{scratch, skip};
use std::fs;
use std::path::{Path, PathBuf};

/// A job that logs its latencies.
const LOGGED_JOB: &str = "--name=p --ioengine=null --rw=randrw --bs=4k --size=64m --write_lat_log=p --write_bw_log=p \
     --log_avg_msec=5 --write_hist_log=p --log_hist_msec=5";

/// Runs a tool as a subcommand.
fn fathom(directory: &Path, words: &str) -> Finished {
    Launch::fathom(directory).words(words).run()
}

/// A link to the program under another name.
fn link(directory: &Path, name: &str) -> PathBuf {
    let link = directory.join(name);
    std::os::unix::fs::symlink(path(), &link).expect("a link can be made");
    link
}

/// Runs the program under the name of one of fio's.
fn named(directory: &Path, name: &str, words: &str) -> Finished {
    let program = directory.join(name);
    let program = if program.exists() { program } else { link(directory, name) };
    Launch::of(&program, directory).words(words).run()
}

/// Output of the installed companion, which must succeed.
#[track_caller]
fn companion(directory: &Path, name: &str, words: &str) -> String {
    let finished = Launch::of(Path::new(name), directory).words(words).run();
    assert_eq!(finished.code(), 0, "{name} {words}: {}", finished.stderr);
    finished.stdout
}

/// Pseudorandom bytes, the same on every run.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let words = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.flatten().take(length).collect()
}

/// 256 blocks of 4 KiB of this many different kinds, and a remainder shorter than a block.
fn file_with_duplicates(directory: &Path, name: &str, different: u64) {
    let mut content: Vec<u8> =
        (0..256u64).flat_map(|block| noise(4096, 1 + 2 * (block * 7 % different))).collect();
    content.extend(noise(1234, 9999));
    fs::write(directory.join(name), content).expect("a file can be written");
}

#[test]
fn the_tools_are_listed_and_explained() {
    fathom_only!();
    let directory = scratch();
    let list = fathom(directory.path(), "tools").expect_clean().stdout;
    for name in ["latency-csv", "log-summary", "histogram-summary", "halve-bins", "dedupe", "distribution"] {
        assert!(list.contains(name), "{list}");
        let help = fathom(directory.path(), &format!("{name} --help")).expect_clean().stdout;
        assert!(help.starts_with(&format!("Usage: fathom {name} ")), "{help}");
        let wrong = fathom(directory.path(), &format!("{name} --no-such-option"));
        assert_eq!(wrong.code(), 1, "{name}");
        assert!(wrong.stderr.starts_with(&format!("fathom {name}: ")), "{}", wrong.stderr);
    }
    assert!(fathom(directory.path(), "--help").stdout.contains("fathom tools"));
}

#[test]
fn a_file_with_the_name_of_a_tool_is_a_job_file() {
    fathom_only!();
    let directory = scratch();
    fs::write(directory.path().join("dedupe"), "[a]\nioengine=null\nsize=4k\nrw=read\n")
        .expect("it can be written");
    for word in ["dedupe", "./dedupe"] {
        let report = fathom(directory.path(), word).expect_clean().stdout;
        assert!(report.contains("a: (groupid=0"), "{report}");
    }
    let missing = fathom(directory.path(), "./distribution");
    assert_ne!(missing.code(), 0);
    assert!(!missing.stdout.contains("Hits"), "{}", missing.stdout);
}

#[test]
fn dedupe_counts_as_fio_does() {
    fathom_only!();
    require!(skip::tool("fio-dedupe"));
    let directory = scratch();
    for different in [1, 100, 143, 256] {
        file_with_duplicates(directory.path(), "data", different);
        for words in ["-B0", "-B0 -b512", "-B0 -b 8192", "-c1", "-t 3 -B0", "-d1 -b16384"] {
            let words = format!("-p 0 {words} data");
            let theirs = companion(directory.path(), "fio-dedupe", &words);
            let ours = named(directory.path(), "fio-dedupe", &words).expect_clean().stdout;
            assert_eq!(ours, theirs, "{different} different blocks, {words}");
        }
    }
}

#[test]
fn dedupe_reads_only_and_says_what_it_found() {
    fathom_only!();
    let directory = scratch();
    file_with_duplicates(directory.path(), "data", 100);
    let data = directory.path().join("data");
    let mut permissions = fs::metadata(&data).expect("it is there").permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&data, permissions).expect("it is ours");
    let before = fs::read(&data).expect("it can be read");
    for method in ["exact", "bloom"] {
        let words = format!("dedupe --format=json --compress --method={method} data");
        let text = fathom(directory.path(), &words).expect_clean().stdout;
        let found: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(
            (found["extents"].as_u64(), found["unique_extents"].as_u64()),
            (Some(256), Some(100)),
            "{text}"
        );
        // Noise does not compress.
        assert_eq!(found["unique_bytes_compressed"].as_u64(), Some(409_600), "{text}");
    }
    assert_eq!(fs::read(&data).expect("it can be read"), before);
    let missing = fathom(directory.path(), "dedupe nothing");
    assert_eq!((missing.code(), missing.stdout.as_str()), (1, ""));
    assert!(missing.stderr.contains("nothing: No such file"), "{}", missing.stderr);
}

#[test]
fn compressibility_is_close_to_what_fio_finds() {
    fathom_only!();
    require!(skip::tool("fio-dedupe"));
    let directory = scratch();
    let half: Vec<u8> =
        (0..256).flat_map(|block| [noise(2048, 2 * block + 1), vec![0; 2048]].concat()).collect();
    fs::write(directory.path().join("half"), half).expect("a file can be written");
    let capacity = |text: String| -> u64 {
        let (_, rest) = text.split_once("Unique capacity ").expect("the capacity");
        rest.trim().strip_suffix("KB").and_then(|number| number.parse().ok()).expect("KiB")
    };
    let theirs = capacity(companion(directory.path(), "fio-dedupe", "-p0 -C1 half"));
    let ours = capacity(named(directory.path(), "fio-dedupe", "-p0 -C1 half").expect_clean().stdout);
    assert!(ours.abs_diff(theirs) * 100 <= theirs, "{ours} KiB against {theirs} KiB");
}

#[test]
fn distributions_have_fios_table() {
    fathom_only!();
    require!(skip::tool("fio-genzipf"));
    let directory = scratch();
    for words in ["-t zipf -i 1.1 -g 1", "-t zipf -i 0.8 -g 1 -o 7 -b 8192", "-t pareto -g 1 -o 5"] {
        let theirs = companion(directory.path(), "fio-genzipf", words);
        let ours = named(directory.path(), "fio-genzipf", words).expect_clean().stdout;
        let (ours, theirs): (Vec<&str>, Vec<&str>) = (ours.lines().collect(), theirs.lines().collect());
        assert_eq!(ours.len(), theirs.len(), "{words}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let figures =
                |line: &str| -> String { line.replace(|letter: char| letter.is_ascii_digit(), "0") };
            let share = |line: &str| -> Option<f64> { line.split('%').nth(2)?.trim().parse().ok() };
            match (share(ours), share(theirs)) {
                (Some(ours), Some(theirs)) => {
                    assert!((ours - theirs).abs() < 0.2, "{words}: {ours} {theirs}")
                }
                _ => assert_eq!(ours, theirs, "{words}"),
            }
            // Columns are at the same places.
            assert_eq!(figures(ours).len(), figures(theirs).len(), "{ours}\n{theirs}");
        }
    }
}

#[test]
fn verify_states_are_shown_as_fio_shows_them() {
    fathom_only!();
    require!(skip::tool("fio"));
    require!(skip::tool("fio-verify-state"));
    let directory = scratch();
    let job = "--name=vs --verify=crc32c --rw=randwrite --size=64k --bs=4k --iodepth=4 --ioengine=psync";
    companion(directory.path(), "fio", job);
    let state = "local-vs-0-verify.state";
    let theirs = companion(directory.path(), "fio-verify-state", state);
    assert_eq!(named(directory.path(), "fio-verify-state", state).expect_clean().stdout, theirs);
    assert_eq!(fathom(directory.path(), &format!("verify-state {state}")).expect_clean().stdout, theirs);

    let mut bytes = fs::read(directory.path().join(state)).expect("it can be read");
    bytes[40] ^= 1;
    fs::write(directory.path().join(state), bytes).expect("it can be written");
    let damaged = named(directory.path(), "fio-verify-state", state);
    assert_eq!(damaged.code(), 1);
    assert!(damaged.stderr.contains("crc mismatch"), "{}", damaged.stderr);
}

#[test]
fn distributions_of_latency_become_the_same_files() {
    fathom_only!();
    require!(skip::tool("fio"));
    require!(skip::tool("fio_jsonplus_clat2csv"));
    let directory = scratch();
    let job = "--name=a --ioengine=null --size=4M --rw=randrw --name=b --rw=trim --ioengine=null --size=1M \
               --lat_percentiles=1 --slat_percentiles=1 --output-format=json+ --output";
    for (program, report) in [("fio".into(), "fio.json"), (path(), "fathom.json")] {
        let run = Launch::of(&program, directory.path()).words(&format!("{job}={report}")).run();
        assert_eq!(run.code(), 0, "{}", run.stderr);
        // The installed script stops at messages before the document.
        let text = fs::read_to_string(directory.path().join(report)).expect("a report");
        let (messages, document) = text.split_at(text.find("{\n").expect("a document"));
        fs::write(directory.path().join(report), document).expect("it can be written");
        companion(directory.path(), "fio_jsonplus_clat2csv", &format!("{report} theirs.csv"));
        let document = document.to_owned();
        fs::write(directory.path().join(report), format!("a message\n{messages}{document}"))
            .expect("written");
        named(directory.path(), "fio_jsonplus_clat2csv", &format!("{report} ours.csv")).expect_clean();
        for number in 0..2 {
            let [ours, theirs] = ["ours", "theirs"].map(|name| {
                fs::read_to_string(directory.path().join(format!("{name}_job{number}.csv"))).expect("a table")
            });
            assert!(ours.lines().count() > 1, "{report}: {ours}");
            assert_eq!(ours, theirs, "{report}, job {number}");
        }
        let long = fathom(directory.path(), &format!("latency-csv {report}")).expect_clean().stdout;
        assert!(long.contains("\n0,a,read,clat_ns,"), "{long}");
    }
}

/// A record of a block trace, for a nonexistent device.
fn trace_record(time_us: u64, sector: u64, bytes: u32, action: u32, pid: u32) -> Vec<u8> {
    let mut record = 0x6561_7407u32.to_le_bytes().to_vec();
    record.extend(0u32.to_le_bytes());
    record.extend((time_us * 1000).to_le_bytes());
    record.extend(sector.to_le_bytes());
    for number in [bytes, action, pid, 4000 << 20, 0, 0] {
        record.extend(number.to_le_bytes());
    }
    record
}

/// One process that reads sequentially at depth four, and one that starts later and writes at random.
fn trace() -> Vec<u8> {
    const READ: u32 = 1 << 16;
    const WRITE: u32 = 1 << 17;
    const QUEUED: u32 = 1 | 1 << 20;
    const ISSUED: u32 = 7 | 1 << 22;
    const COMPLETED: u32 = 8 | 1 << 23;
    let mut records = Vec::new();
    let mut request = |time: u64, sector: u64, bytes: u32, direction: u32, pid: u32, latency: u64| {
        records.push((time, trace_record(time, sector, bytes, direction | QUEUED, pid)));
        records.push((time + 1, trace_record(time + 1, sector, bytes, direction | ISSUED, pid)));
        records.push((time + latency, trace_record(time + latency, sector, bytes, direction | COMPLETED, 0)));
    };
    for number in 0..300u64 {
        request(1 + number * 10_000, number * 8, 4096, READ, 100, 35_000);
        let size = if number % 3 == 0 { 8192 } else { 16384 };
        let sector = 1_000_000 + (number * 7919 % 1000) * 64;
        request(2_000_001 + number * 8_000, sector, size, WRITE, 101, 2_000);
    }
    records.sort_by_key(|(time, _)| *time);
    records.into_iter().flat_map(|(_, record)| record).collect()
}

#[test]
fn traces_become_fios_jobs() {
    fathom_only!();
    require!(skip::tool("fio-btrace2fio"));
    let directory = scratch();
    fs::write(directory.path().join("trace"), trace()).expect("a trace can be written");
    for words in ["", "-f", "-f -R", "-f -D 2", "-n 301", "-t 2990000", "-f -a group_reporting", "-c 1"] {
        let words = format!("-d /dev/null {words} trace");
        let theirs = companion(directory.path(), "fio-btrace2fio", &words);
        let ours = named(directory.path(), "fio-btrace2fio", &words);
        assert_eq!((ours.code(), ours.stdout), (0, theirs), "{words}");
    }
    let job = fathom(directory.path(), "trace-to-job --device=/dev/null trace").expect_clean().stdout;
    assert!(job.contains("rw=randread\n") && job.contains("iodepth=4\n"), "{job}");
    fs::write(directory.path().join("replay.fio"), &job).expect("it can be written");
    fathom(directory.path(), "--parse-only replay.fio").expect_clean();
}

#[test]
fn logs_of_a_run_are_summed_up() {
    fathom_only!();
    built!(LOGGED_JOB);
    let directory = scratch();
    Launch::fathom(directory.path()).words(LOGGED_JOB).run().expect_clean();

    let text = fathom(directory.path(), "log-summary --format=json --interval=10ms p_clat.1.log")
        .expect_clean()
        .stdout;
    let summary: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let all = &summary["all"];
    assert!(
        all["min"].as_f64() <= all["p50"].as_f64() && all["p50"].as_f64() <= all["max"].as_f64(),
        "{text}"
    );
    let lines = named(directory.path(), "fiologparser.py", "-i 1 -s p_bw.1.log").expect_clean().stdout;
    assert!(lines.starts_with("1, "), "{lines}");

    // Every I/O is in one bin of the histogram log, before and after halving.
    let log = "p_clat_hist.1.log";
    let samples = |name: &str| {
        let text = fathom(directory.path(), &format!("histogram-summary --format=json {name}"))
            .expect_clean()
            .stdout;
        let summary: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        summary["all"]["samples"].as_f64()
    };
    assert_eq!(samples(log), Some(16384.0));
    let halved = named(directory.path(), "half-bins.py", &format!("-c 3 {log}")).expect_clean().stdout;
    fs::write(directory.path().join("halved"), halved).expect("it can be written");
    assert_eq!(samples("halved"), Some(16384.0));
    let table =
        named(directory.path(), "fio-histo-log-pctiles.py", &format!("-- {log}")).expect_clean().stdout;
    assert!(table.contains("\nmsec-since-start, samples, min, median, 95.0, 99.0, max, \n"), "{table}");
    let table = named(directory.path(), "fiologparser_hist.py", log).expect_clean().stdout;
    assert!(table.starts_with("end-time, samples, min, avg, median, 90%, 95%, 99%, max\n"), "{table}");
}
