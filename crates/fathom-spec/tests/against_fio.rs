//! Runs the same command lines and job files with the installed fio and with this crate: the exit status and
//! the first line on standard error must agree.
//!
//! The installed fio may be older than the version fathom follows; only features that both have are compared.
//! Without fio the comparison is skipped, with a message.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failing helper is a failing test, and skips are told"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fathom_spec::{Message, Outcome, Stream, SystemSource, parse};

/// Output and exit status of one of the two programs.
#[derive(Debug, PartialEq)]
struct Answer {
    exit: i32,
    stdout: String,
    stderr: String,
}

impl Answer {
    /// The first line, leaving out lines that fio does not have.
    fn first_error(&self) -> &str {
        self.stderr.lines().find(|line| !line.starts_with("fathom: ")).unwrap_or("")
    }
}

fn installed() -> bool {
    let found = Command::new("fio").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !found {
        fathom_skip::record("no fio is installed");
    }
    found
}

fn ask_fio(arguments: &[String], directory: &Path) -> Answer {
    let output = Command::new("fio").args(arguments).current_dir(directory).output().unwrap();
    Answer {
        exit: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn ask_fathom(arguments: &[String]) -> Answer {
    let source = SystemSource::new(4096).with_formats(fathom_report::declarations());
    let (messages, exit) = match parse("fio", arguments, &source) {
        Outcome::Run(run) => (run.messages, 0),
        Outcome::InflateLog(_) | Outcome::Serve(_) => (Vec::new(), 0),
        Outcome::CalibrateIdleness | Outcome::TestClock | Outcome::TimeChecksums(_) => (Vec::new(), 0),
        Outcome::Exit(reply) => (reply.messages, i32::from(reply.exit)),
    };
    let of = |stream: Stream| {
        let lines = messages.iter().filter(|message: &&Message| message.stream == stream);
        lines.map(|message| format!("{}\n", message.text)).collect::<String>()
    };
    Answer { exit, stdout: of(Stream::Stdout), stderr: of(Stream::Stderr) }
}

fn words(arguments: &str) -> Vec<String> {
    arguments.split_whitespace().map(str::to_owned).collect()
}

fn compare(name: &str, arguments: &[String], directory: &Path, differences: &mut Vec<String>) {
    let expected = ask_fio(arguments, directory);
    let found = ask_fathom(arguments);
    if found.exit != expected.exit || found.first_error() != expected.first_error() {
        differences.push(format!(
            "{name}\n  fio:    exit {}, {}\n  fathom: exit {}, {}",
            expected.exit,
            expected.first_error(),
            found.exit,
            found.first_error()
        ));
    }
    let mistake = found.exit != 0 && !found.stderr.is_empty();
    if mistake && found.stderr.lines().filter(|line| line.starts_with("fathom: ")).count() == 0 {
        differences.push(format!("{name}: no line of our own in {:?}", found.stderr));
    }
}

/// Command lines that are only parsed. `N` stands for a job that is otherwise valid.
const PARSED: &[&str] = &[
    "N ",
    "N -rw=read -bs 8k",
    "N --bs=4k,8k,16k",
    "N --bs=,8k",
    "N --bs=abc",
    "N --bs=4z",
    "N --bs=0",
    "N --bs=",
    "N --blocksize=0",
    "N --iodepth=0",
    "N --iodepth_batch_s=4",
    "N --rw=foo",
    "N --rw=read:0",
    "N --rw=randread:8",
    "N --rw=read:-8k",
    "N --rw --size=4k",
    "N --rw=",
    "N --rwmixread=101",
    "N --rwmixread=200k",
    "N --rwmixread=0x1k",
    "N --direct=2",
    "N --direct=yes",
    "N --direct=1",
    "N --time_based=2",
    "N --time_based=x",
    "N --thread=-1",
    "N --runtime=abc",
    "N --runtime=10s",
    "N --runtime=",
    "N --ignore_error=EIO:5,,ENOSPC",
    "N --buffer_pattern=xyz",
    "N --buffer_pattern=0xdeadbeef",
    "N --buffer_pattern=0x",
    "N --sync_file_range=foo:1",
    "N --sync_file_range=write,wait_after:8",
    "N --mem=foo",
    "N --continue_on_error=foo",
    "N --percentile_list=a",
    "N --percentile_list=101:1",
    "N --percentile_list=50:99.9",
    "N --kb_base=1001",
    "N --unit_base=3",
    "N --prio=8",
    "N --nice=-21",
    "N --bsrange=5",
    "N --bsrange=a-b",
    "N --bsrange=4k-8k,1k-2k",
    "N --bssplit=4k/50:8k/50",
    "N --bssplit=4k/60:8k/60:1k:2k",
    "N --file_service_type=zipf:x",
    "N --file_service_type=foo",
    "N --file_service_type=random:8",
    "N --random_distribution=zipf:x",
    "N --random_distribution=zipf:1",
    "N --random_distribution=pareto:2",
    "N --random_distribution=normal:200",
    "N --random_distribution=foo",
    "N --random_distribution=zoned:60/10:40/90",
    "N --random_distribution=zoned:50/10:50/95",
    "N --io_size=150%",
    "N --io_size=50%",
    "N --offset=10%",
    "N --ioengine=bogus",
    "N --hipri_percentage=2",
    "N --ioengine=pvsync2 --hipri_percentage=2",
    "N --userspace_reap",
    "N --ioengine=libaio --userspace_reap",
    "N --readonly --rw=write",
    "--readonly --rw=write",
    "N --name=",
    "N --bogus",
    "N --siz=4k",
    "N --size",
    "N --output",
    "N --readonly=1",
    "N --output-format=foo",
    "N --terse-version=9",
    "N --eta-newline=0",
    "N --eta=foo",
    "N --max-jobs=x",
    "N --alloc-size=x",
    "N --latency-log",
    "N --profile=x",
    "--section=global",
    "N --time_based",
    "N --fallocate=0",
    "N --sync=dsync",
    "N --startdelay=1-2",
    "nope.fio",
];

#[test]
fn command_lines_parse_alike() {
    if !installed() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut differences = Vec::new();
    for case in PARSED {
        let case = case.replace("N ", "--parse-only --name=a --size=1m ");
        compare(&case, &words(&case), directory.path(), &mut differences);
    }
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

/// Command lines that run briefly, because fio checks combinations of options only in a run.
const RUN: &[&str] = &[
    "--size=4k",
    "--size=4k --rate=1m --rate_iops=10",
    "--size=4k --rate=1m --rate_min=2m",
    "--size=4k --rate_iops=10 --rate_iops_min=20",
    "--size=4k --time_based",
    "--size=4k --time_based --warnings-fatal",
    "--size=4",
    "--size=64k --bs=128k",
    "--size=64k --bs=4k,128k",
    "--size=4k --bsrange=8k-16k",
    "--size=16k --bssplit=64k/50:32k/50",
    "--size=8k --rw=randread --ba=512",
    "--size=8k --ba=512",
    "--size=4k --bs_unaligned --direct=1",
    "--size=4k --numjobs=0",
    "--size=4k --numjobs=5000",
    "--size=4k --rw=read:x",
    "--size=4k --cpus_allowed=999",
    "--size=4k --cpumask=0xffffffff",
    "--size=4k --ignore_error=EFOO",
    "--size=4k --directory=/nonexistent",
    "--size=4k --readonly --rw=randtrim",
    "--size=4k --io_size=150%",
    "--size=4k --steadystate=iops",
    "--size=4k --wait_for=z",
    "--size=4k --wait_for=a",
    "--size=4k --name=b --ioengine=null --size=4k --lat_percentiles=1 --group_reporting",
    "--size=4k --name=b --ioengine=null --size=4k --wait_for=a",
    "--size=4k --name=a --ioengine=null --size=4k --name=b --ioengine=null --size=4k --wait_for=a",
];

#[test]
fn combinations_are_judged_alike() {
    if !installed() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut differences = Vec::new();
    for case in RUN {
        let case = format!("--name=a --ioengine=null {case}");
        compare(&case, &words(&case), directory.path(), &mut differences);
    }
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

/// Job files that are only parsed.
const FILES: &[&str] = &[
    "[a]\nsize=1m\n",
    "; comment\n[global]\nbs=8k ; why\n[a]\nsize=1m # more\n",
    "rw=read\n[a]\n",
    "[a]\nsize\n",
    "[a]\nrw\n",
    "[a]\nbogus=1\n",
    "[a]\nbogus=1\nbs=abc\n",
    "[a]\nbs=abc\n",
    "[a]\nrw=foo\n",
    "[a]\nthread=2\n",
    "[a]\nthread=x\n",
    "[a]\nrwmixcycle=2\n",
    "[a]\nrwmixcycle\n",
    "[a]\nverifysort\n",
    "[a]\nsize=\n",
    "[a]\nsize=1m\nthread=\n",
    "[a]\nsize=1m\ndescription=\n",
    "[a]\nsize=1m\ndirect\n",
    "[a]\nbs=,\n",
    "[a]\nbssplit=a/10\n",
    "[a]\nrandom_distribution=zipf:1.1:2\n",
    "[a]\nfile_service_type=zipf:1\n",
    "[a]\nfilesize=x\n",
    "[a]\nprioclass=4\n",
    "[a]\nlatency_percentile=101\n",
    "[a]\nsize=1m\nmax_latency=10ms,20ms\nloops=1-2\niodepth=4 4\n",
    "[a]\nverifysort=2\n",
    "[a]\nsize=${FATHOM_UNSET}\n",
    "[a]\nbs=$pagesize\nsize=8*$mb_memory\n",
    "[global]\nrw=foo\n[a]\nsize=1m\n",
    "[global]\nbs=4k\n",
    "[a\nsize=1m\n",
    "[]\nsize=1m\n",
    "[a]\nsize=1m\ninclude missing.fio\nthread\n",
    "[a]\nsize=1m\ninclude section.fio\nthread\n",
    "[a]\nsize=1m\ninclude good.fio\nbs=4k\n",
    "[a]\nhipri=1\nioengine=libaio\n",
    "[a]\nuserspace_reap\nioengine=libaio\nsize=1m\n",
    "[a]\nsize = 8192\n",
    "[a]\ndirect=2\n",
    "",
    "[a]\nsize=1m\nname=b\n",
    "[a]\nstonewall\nsize=1m\n[b]\nnew_group\nsize=1m\n",
];

fn write_files(directory: &Path, text: &str) -> PathBuf {
    let job_file = directory.join("job.fio");
    std::fs::write(&job_file, text).unwrap();
    std::fs::write(directory.join("good.fio"), "rw=write\nbs=8k\n").unwrap();
    std::fs::write(directory.join("section.fio"), "rw=write\n[c]\n").unwrap();
    job_file
}

#[test]
fn job_files_parse_alike() {
    if !installed() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut differences = Vec::new();
    for text in FILES {
        let job_file = write_files(directory.path(), text).display().to_string();
        let arguments = ["--parse-only".to_owned(), job_file];
        compare(&format!("{text:?}"), &arguments, directory.path(), &mut differences);
    }
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn job_files_become_the_same_command_line() {
    if !installed() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    for text in [
        "[global]\nioengine=null\nrw=randread\nthread\n[a]\nsize=1m\ndescription=hi there\ngroup_reporting\n",
        "[a]\nsize=1m\nname=q\nbs=,8k\n[b c]\nsize=2m\nblocksize=8k\n",
        "[global-x]\nsize=1m\n[a]\n[a]\n",
        "[a]\nsize=1m\ninclude good.fio\nthread\n",
        "[a]\nbs=$pagesize\nsize=8*$ncpus\n",
        "[a]\nbs =4096\nsize=1m ; comment\n[b\n[]\n",
    ] {
        let job_file = write_files(directory.path(), text).display().to_string();
        let arguments = ["--showcmd".to_owned(), job_file];
        assert_eq!(ask_fathom(&arguments), ask_fio(&arguments, directory.path()), "{text:?}");
    }
}

/// Alias, type, default and range of an option; help texts are not compared, because fathom has its own.
fn help_facts(answer: &Answer) -> Vec<String> {
    let wanted = ["alias:", "type:", "default:", "range:"];
    let facts =
        answer.stdout.lines().filter(|line| wanted.iter().any(|word| line.trim_start().starts_with(word)));
    facts.map(str::to_owned).collect()
}

#[test]
fn options_are_described_alike() {
    if !installed() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    for option in [
        "bs",
        "rw",
        "iodepth",
        "runtime",
        "time_based",
        "direct",
        "bsrange",
        "percentile_list",
        "rwmixread",
        "filename",
        "wait_for",
        "mem",
        "fallocate",
        "sync",
        "kb_base",
        "clat_percentiles",
        "nice",
        "prio",
        "iodepth_batch_complete_min",
        "buffered",
        "invalidate",
        "group_reporting",
        "stonewall",
        "blocksize",
        "xyzzyxyzzy",
        "rwmixcycle",
        "startdelay",
    ] {
        let arguments = [format!("--cmdhelp={option}")];
        let (expected, found) = (ask_fio(&arguments, directory.path()), ask_fathom(&arguments));
        assert_eq!(help_facts(&found), help_facts(&expected), "{option}");
        assert_eq!(found.exit, expected.exit, "{option}");
        assert_eq!(found.first_error(), expected.first_error(), "{option}");
    }
}

#[test]
fn shipped_examples_are_understood() {
    let fetched = std::env::var_os("FATHOM_TEST_FIO_EXAMPLES").map(std::path::PathBuf::from);
    let examples = fetched.unwrap_or_else(|| "/usr/share/doc/fio/examples".into());
    let Ok(entries) = std::fs::read_dir(&examples) else {
        fathom_skip::record(&format!("{} does not exist", examples.display()));
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "fio") {
            let found = ask_fathom(&["--parse-only".to_owned(), path.display().to_string()]);
            let explained = found.exit == 0 || found.stderr.contains("fathom: ");
            assert!(explained, "{}: {}", path.display(), found.stderr);
        }
    }
}
