//! Debian's example jobs for fio, reduced and without real devices: each one runs, or names the missing
//! requirement.

use crate::support::program::{self, Finished, Launch};
use crate::support::{MIB, file_of, scratch};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Examples that cannot be run: for engines that fio loads externally or has dropped, for a second NUMA node,
/// or with blanks to be filled in.
const NEED_MORE: [&str; 37] = [
    "cpp_null",
    "librpma_apm-client",
    "librpma_apm-server",
    "librpma_gpspm-client",
    "librpma_gpspm-server",
    "numa",
    "pmemblk",
    "xnvme-compare",
    // Takes arguments from the environment.
    "xnvme-zoned",
    // Fifty thousand loops.
    "fsx",
    // Needs a program that few machines have; on ext4 only.
    "exec",
    "e4defrag",
    "e4defrag2",
    // For device engines: they run in the lab.
    "dev-dax",
    "libpmem",
    "mtd",
    "sg_verify",
    "sg_verify-fail",
    "sg_write_same_ndob",
    "uring-cmd-ng",
    "uring-cmd-zoned",
    // These jobs use network engines, whose own tests run them.
    "nbd",
    "nfs",
    "libiscsi",
    "http-webdav",
    "http-s3",
    "http-s3-crypto",
    "http-s3-storage-class",
    "http-swift",
    "rados",
    "rbd",
    "gfapi",
    "libhdfs",
    // For devices and networks of the lab: they run there.
    "rdmaio-client",
    "rdmaio-server",
    "libzbc-rand-write",
    "libzbc-seq-read",
];

/// Path of the package fio-examples, installed or unpacked.
pub(crate) fn examples() -> Result<PathBuf, String> {
    let places = [
        std::env::var_os("FATHOM_TEST_FIO_EXAMPLES").map(PathBuf::from),
        Some("/usr/share/doc/fio/examples".into()),
    ];
    let found = places.into_iter().flatten().find(|place| place.is_dir());
    found
        .ok_or_else(|| "Debian's package fio-examples is not there (scripts/set-up.sh fetches it)".to_owned())
}

/// Target of an example, and its size.
struct Place<'a> {
    directory: &'a Path,
    device: &'a Path,
    size: &'a str,
}

/// Returns the job with small sizes, short times and local targets in place of large, long and remote ones.
fn reduced(job: &str, place: &Place<'_>) -> String {
    let mut lines = Vec::new();
    for line in job.lines() {
        let (name, value) =
            line.split_once('=').map_or((line.trim(), ""), |(name, value)| (name.trim(), value.trim()));
        let near = match name {
            "directory" => format!("directory={}", place.directory.display()),
            "filename" if value.starts_with('/') => format!("filename={}", place.device.display()),
            "size" | "io_size" | "filesize" if !value.ends_with('%') => format!("{name}={}", place.size),
            "runtime" => "runtime=1".to_owned(),
            "ramp_time" | "startdelay" | "start_delay" | "ss_ramp" | "steadystate_ramp_time" => {
                format!("{name}=0")
            }
            "ss_dur" | "steadystate_duration" => format!("{name}=2s"),
            "zonesize" | "zoneskip" | "zonerange" => format!("{name}=512k"),
            "numjobs" => "numjobs=2".to_owned(),
            "nrfiles" if value.len() > 3 => "nrfiles=1000".to_owned(),
            "rate" => "rate=1m".to_owned(),
            "rate_iops" => "rate_iops=1000".to_owned(),
            // Without a device, the job would fill the disk without limit.
            "fill_device" => "size=1m".to_owned(),
            "offset" if !value.ends_with('k') => "offset=0".to_owned(),
            "offset_increment" => "offset_increment=256k\nsize=256k".to_owned(),
            "rate_min" | "latency_target" => continue,
            _ => line.to_owned(),
        };
        lines.push(near);
    }
    lines.join("\n")
}

fn run(example: &Path) -> Finished {
    let text = std::fs::read_to_string(example).expect("an example is text");
    run_text(&text, |launch| launch)
}

fn run_text(text: &str, more: impl FnOnce(Launch) -> Launch) -> Finished {
    run_text_in(scratch().path(), text, more)
}

fn run_text_in(directory: &Path, text: &str, more: impl FnOnce(Launch) -> Launch) -> Finished {
    let device = file_of(directory, "device", MIB);
    let place = Place { directory, device: &device, size: "1m" };
    std::fs::write(directory.join("job.fio"), reduced(text, &place)).expect("written");
    more(Launch::fathom(directory).words("job.fio")).run()
}

/// Runs the example of this name on a device, or in a directory that is mounted; the error gives the reason why
/// there is none. An example for a whole device uses this much of it.
pub(crate) fn run_on(name: &str, device: &Path, size: &str) -> Result<Finished, String> {
    let mut text =
        std::fs::read_to_string(examples()?.join(format!("{name}.fio"))).expect("an example is text");
    if !text.lines().any(|line| line.starts_with("size=")) {
        text = text.replace("[global]", "[global]\nsize=1");
    }
    let directory = scratch();
    let place = Place { directory: device, device, size };
    std::fs::write(directory.path().join("job.fio"), reduced(&text, &place)).expect("written");
    Ok(Launch::fathom(directory.path()).words("job.fio").run())
}

/// Runs the example of this name with some words replaced, in the directory of Debian's examples.
#[track_caller]
pub(crate) fn run_with(name: &str, words: &[(&str, &str)], more: impl FnOnce(Launch) -> Launch) {
    run_with_in(scratch().path(), name, words, more);
}

/// Does the same in this directory.
#[track_caller]
pub(crate) fn run_with_in(
    directory: &Path,
    name: &str,
    words: &[(&str, &str)],
    more: impl FnOnce(Launch) -> Launch,
) {
    let examples = require!(examples());
    let text = std::fs::read_to_string(examples.join(format!("{name}.fio"))).expect("an example is text");
    let put = |text: String, (word, other): &(&str, &str)| {
        assert!(text.contains(word), "{name}.fio has no {word}: {text}");
        text.replace(word, other)
    };
    run_text_in(directory, &words.iter().fold(text, put), more).expect_clean();
}

#[test]
fn examples_run_or_name_what_they_need() {
    let directory = require!(examples());
    let entries = std::fs::read_dir(&directory).expect("a directory");
    let mut list: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    list.retain(|path| path.extension().is_some_and(|extension| extension == "fio"));
    let name_of =
        |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    list.retain(|path| !NEED_MORE.contains(&name_of(path).as_str()));
    assert!(list.len() > 45, "{} examples", list.len());
    let (todo, failed, ran) = (Mutex::new(list), Mutex::new(Vec::new()), Mutex::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(path) = { todo.lock().expect("no panic").pop() } {
                    let finished = run(&path);
                    if finished.code() == 0 {
                        *ran.lock().expect("no panic") += 1;
                    } else if !finished.stderr.contains("is known but not built") {
                        let told = format!("{}: {} {}", name_of(&path), finished.code(), finished.stderr);
                        failed.lock().expect("no panic").push(told);
                    }
                }
            });
        }
    });
    let (failed, ran) = (failed.into_inner().expect("no panic"), ran.into_inner().expect("no panic"));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(ran >= 25, "only {ran} examples ran");
}

/// The output of `--showcmd` for each, independent of local engines and directories.
#[test]
fn examples_are_shown_as_fio_shows_them() {
    let (places, reference) = (require!(examples()), require!(crate::same::reference()));
    let shown = |program: &Path, example: &Path| {
        let finished = Launch::of(program, Path::new("/")).words("--showcmd").argument(example).run();
        (finished.code(), finished.stdout)
    };
    let mut compared = 0;
    for entry in std::fs::read_dir(places).expect("a directory") {
        let example = entry.expect("an entry").path();
        if example.extension().is_none_or(|extension| extension != "fio") {
            continue;
        }
        // fio prints no options of engines that it cannot load.
        let theirs = shown(&reference, &example);
        if theirs.0 == 0 {
            // Each begins with its own name.
            let (code, ours) = shown(&program::path(), &example);
            let ours = match program::is_another() {
                true => ours,
                false => ours.lines().map(|line| line.replacen("fathom ", "fio ", 1) + "\n").collect(),
            };
            assert_eq!((code, ours), theirs, "{}", example.display());
            compared += 1;
        }
    }
    assert!(compared > 50, "{compared} examples");
}
