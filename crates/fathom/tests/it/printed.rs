//! Terminal output: no control sequences, only ASCII if the locale requires it, and no overlong lines.

use crate::support::program::{self, Launch};
use crate::support::terminal::OnTerminal;
use crate::support::{scratch, skip};
use fathom_trace::blktrace::{Event, code};
use std::path::Path;

/// Control sequences that files may contain.
const POISON: &str = "\\u001b[31mred\\u001b]0;title\\u0007\\r\\u009b2J\\u202e";

/// A result whose strings all contain the control sequences.
fn poisoned() -> String {
    let result = r#"{"fio version":"fio-3.42@","time":"now@","global options":{"ioengine":"libaio@","bs@":"4k@"},
        "jobs":[{"jobname":"a@","job options":{"rw":"randread@","description":"b@","rate_iops":"9@"},
        "read":{"total_ios":100,"io_bytes":409600,"iops":100,"bw_bytes":409600,"runtime":1000,
        "clat_ns":{"mean":5000,"max":9000,"N":100,"percentile":{"50.000000":5000,"99.000000":6000},"bins":{"5000":90,"6000":10}},
        "lat_ns":{"mean":5000,"bins":{"5000":90,"6000":10}}},
        "iodepth_level":{"1":50.0,"7@":25.0,"@":25.0}}],
        "disk_util":[{"name":"sda@","read_ios":100,"read_sectors":800,"util":50}],
        "fathom jobs":[{"jobname":"a@","random_offsets":"x@","engine_features":["y@"]}],
        "fathom host":{"name":"h@","kernel":"k@","processor":"p@","processors":2,
        "devices":[{"name":"sda@","model":"m@","scheduler":"s@"}],
        "file_systems":[{"directory":"/d@","kind":"ext4@","source":"/dev/sda@","options":"rw@"}]},
        "fathom notes":["n@"],"fathom quick":{"place":"/p@","engine":"e@","doubts":["d@"],
        "tests":[{"jobname":"a@","direction":"read","block_size":"4k@","doubts":[{"kind":"k@","text":"t@"}]}]}}"#;
    result.replace('@', POISON)
}

#[track_caller]
fn steers_nothing(directory: &Path, words: &str) {
    let finished = Launch::fathom(directory).words(words).run();
    for text in [&finished.stdout, &finished.stderr] {
        let steers =
            |letter: char| (letter.is_control() && letter != '\n' && letter != '\t') || letter == '\u{202e}';
        let line = text.lines().find(|line| line.contains(steers));
        assert_eq!(line, None, "fathom {words}");
    }
    assert!(!finished.stdout.is_empty() || !finished.stderr.is_empty(), "fathom {words} says nothing");
}

/// A trace of a request by a program of this name.
fn trace_of_program(name: &str) -> Vec<u8> {
    let mut trace = Vec::new();
    Event { pid: 7, ..Event::of_code(code::PROCESS) }.encode(1, name.as_bytes(), &mut trace);
    let request = Event { pid: 7, bytes: 4096, ..Event::of_code(code::QUEUE | code::READ) };
    request.encode(2, b"", &mut trace);
    trace
}

#[test]
fn no_file_steers_the_terminal() {
    fathom_only!();
    let directory = scratch();
    let write =
        |name: &str, text: &str| std::fs::write(directory.path().join(name), text).expect("can be written");
    write("bad.json", &poisoned());
    write("other.json", &poisoned().replace("409600", "309600"));
    let raw = "\u{1b}[31mred\u{7}\u{9b}2J";
    write("bad.log", &format!("{raw}, 1, 2, 3\n1, {raw}, 0, 4096\n"));
    write("bad.fio", &format!("[a{raw}]\nrw=sideways{raw}\nno_such{raw}=1\n"));
    write("bad.ledger", &format!("fathom ledger {raw}"));
    let read = |host: &str| format!("128166372003061629,{host},1,Read,0,4096,413\n");
    write("bad.csv", &format!("{}{}{}1,{raw},{raw}\n", read("h"), read(raw), read(raw)));
    std::fs::write(directory.path().join("bad.trace"), trace_of_program(raw)).expect("can be written");
    for words in [
        "show bad.json",
        "show --summary bad.json other.json",
        "show --job=none bad.json",
        "explain bad.json",
        "explain bad.log",
        "report bad.json -o -",
        "report bad.json other.json -o -",
        "compare bad.json other.json",
        "compare --format=json bad.json other.json",
        "compare --format=csv bad.json other.json",
        "compare --format=markdown bad.json other.json",
        "latency-csv bad.json",
        "log-summary bad.log",
        "histogram-summary bad.log",
        "ledger check bad.ledger",
        "ledger show bad.ledger",
        "verify-state bad.ledger",
        "trace-to-job bad.log",
        "trace-to-job --summary bad.csv",
        "--name=r --read_iolog=bad.csv",
        "characterize bad.csv",
        "characterize --format=json bad.csv",
        "characterize -o - bad.csv",
        "characterize bad.trace",
        "characterize -o - bad.trace",
        "sweep bad.fio --vary=iodepth=1,2 --dry-run",
        "--parse-only bad.fio",
        "bad.fio",
    ] {
        steers_nothing(directory.path(), words);
    }
    // A ledger with such names of a job and a file.
    let elsewhere = tempfile::tempdir_in("/dev/shm").expect("a directory in memory");
    let ledger = elsewhere.path().join("ledger");
    let job = "--size=64k --bs=4k --rw=write --verify=crc32c --fsync=4 --output=report.txt";
    let launch = Launch::fathom(directory.path())
        .argument(format!("--name=a{raw}"))
        .argument(format!("--filename=data{raw}"));
    launch.argument(format!("--verify_ledger={}", ledger.display())).words(job).run();
    for command in ["show", "check"] {
        steers_nothing(directory.path(), &format!("ledger {command} {}", ledger.display()));
    }
    for argument in [raw, "--raw\u{1b}[31m", "no\u{1b}[2Jfile.fio"] {
        for command in ["show", "explain", "compare", "report", "quick", "tools", "sweep", ""] {
            let launch = Launch::fathom(directory.path()).words(command).argument(argument);
            let finished = launch.run();
            let text = finished.stdout + &finished.stderr;
            assert!(!text.contains('\u{1b}') && !text.contains('\u{9b}'), "{command} {argument:?}: {text:?}");
        }
    }
}

#[test]
fn the_locale_of_c_is_ascii() {
    fathom_only!();
    let directory = scratch();
    let job = "--output-format=json+ --output=result.json --name=読む --ioengine=null --size=64m --rw=randread --time_based --runtime=1";
    Launch::fathom(directory.path()).words(job).run().expect_clean();
    std::fs::copy(directory.path().join("result.json"), directory.path().join("other.json")).expect("copied");
    for words in [
        "show result.json",
        "explain result.json",
        "explain iodepth",
        "compare result.json other.json",
        "quick --size=16m --time=100ms",
        "sweep --vary=iodepth=1,2 --repeats=2 --output=x.sweep.jsonl -- --name=a --ioengine=null --size=1m --rw=read",
        "--help",
        "tools",
    ] {
        let launch = Launch::fathom(directory.path()).words(words).variable("LC_ALL", "C");
        let finished = launch.run();
        assert_eq!(finished.code(), 0, "fathom {words}: {}", finished.stderr);
        let text = finished.stdout + &finished.stderr;
        let line = text.lines().find(|line| !line.is_ascii());
        assert_eq!(line, None, "fathom {words}");
    }
    // Machine-readable output is unchanged.
    let launch = Launch::fathom(directory.path()).words("compare result.json other.json --format=json");
    assert!(launch.variable("LC_ALL", "C").run().expect_clean().stdout.contains("読む"));
}

#[test]
fn mistakes_are_told_once_and_help() {
    fathom_only!();
    let directory = scratch();
    for (words, told) in [
        ("quikc", "fathom: quikc is neither a command nor a job file; did you mean fathom quick?"),
        ("version", "did you mean fathom --version?"),
        ("tools foo", "fathom tools: there is no tool foo"),
        ("--name=a --iodpeth=4", "did you mean iodepth?"),
        ("--naem=a", "there is no such option"),
        ("explain dubtful", "fathom explain: dubtful: not a known file"),
    ] {
        let finished = Launch::fathom(directory.path()).words(words).run();
        assert_eq!(finished.code(), 1, "fathom {words}");
        assert!(finished.stderr.contains(told), "fathom {words}: {}", finished.stderr);
        assert_eq!(finished.stderr.lines().count(), 1, "fathom {words}: {}", finished.stderr);
        assert_eq!(finished.stdout, "", "fathom {words}");
    }
}

/// Text longer than the terminal goes through the pager, completely; in a pipe or on a tall terminal it does not.
#[test]
fn long_text_goes_through_the_pager() {
    fathom_only!();
    require!(skip::tool("setsid"));
    let directory = scratch();
    let job = "--output-format=json+ --output=result.json --name=a --ioengine=null --size=1g --rw=randread --time_based --runtime=1";
    Launch::fathom(directory.path()).words(job).run().expect_clean();
    let paged = directory.path().join("paged.txt");
    let pager = [("PAGER", "tee paged.txt")];
    let show = |size: (u16, u16), environment: &[(&str, &str)]| {
        let words = "show result.json";
        let mut terminal =
            OnTerminal::start(&program::path(), directory.path(), size, environment, words, None);
        assert_eq!(terminal.wait_for_end(), 0, "{}", terminal.transcript());
        terminal.transcript()
    };
    for (size, environment) in [
        ((100, 400), &pager[..]),
        ((100, 20), &[("PAGER", "cat")]),
        ((100, 20), &[("PAGER", "no-such-pager")]),
    ] {
        let shown = show(size, environment);
        assert!(
            !paged.exists() && shown.contains("latency by percentile"),
            "{size:?} {environment:?}: {shown}"
        );
    }
    let shown = show((100, 20), &pager);
    let text = std::fs::read_to_string(&paged).unwrap_or_else(|error| panic!("{error}: {shown}"));
    assert!(text.contains("result.json: fathom") && text.contains("depth reached"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}
