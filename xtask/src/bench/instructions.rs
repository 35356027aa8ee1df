//! What an I/O costs in the whole machine, kernel and all: both programs in a virtual machine whose clock counts instructions, a nanosecond
//! each (`lab --instructions`). No load or clock speed changes the figures, and devices that only such a machine has can be measured.

use super::programs::{Programs, jobs_in, of_directions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// I/Os of the shorter of two runs, which are subtracted: what is done once cancels out.
const SHORT: u64 = 10_000;
/// Of the longer one. Reports are in milliseconds, so figures are to 25 instructions.
const LONG: u64 = 50_000;
/// Devices for one thread.
const MANY: usize = 8;

/// Jobs on one device.
struct Group {
    name: &'static str,
    /// The variable with the path of a device that the lab makes; otherwise null_blk devices, so many.
    device: Result<&'static str, usize>,
    words: &'static str,
    /// What differs from row to row.
    rows: &'static [&'static str],
}

const GROUPS: &[Group] = &[
    Group {
        name: "null_blk, io_uring",
        device: Err(1),
        words: "--ioengine=io_uring --rw=randread",
        rows: &[
            "--iodepth=1",
            "--iodepth=8",
            "--iodepth=32",
            "--iodepth=128",
            "--iodepth=32 --iodepth_batch=4 --iodepth_batch_complete_min=4",
            "--iodepth=32 --iodepth_batch=8 --iodepth_batch_complete_min=8",
            "--iodepth=32 --iodepth_batch=16 --iodepth_batch_complete_min=16",
            "--iodepth=32 --iodepth_batch=32 --iodepth_batch_complete_min=32",
            "--iodepth=128 --iodepth_batch=32 --iodepth_batch_complete_min=32",
            "--iodepth=32 --fixedbufs --registerfiles",
            "--iodepth=32 --fixedbufs=0 --registerfiles=0",
            "--iodepth=32 --fixedbufs --registerfiles --iodepth_batch=16 --iodepth_batch_complete_min=16",
            "--iodepth=32 --hipri",
            "--iodepth=32 --hipri --fixedbufs --registerfiles --iodepth_batch=16 --iodepth_batch_complete_min=16",
        ],
    },
    Group {
        name: "8 null_blk devices, io_uring, one thread",
        device: Err(MANY),
        words: "--ioengine=io_uring --rw=randread",
        rows: &[
            "--iodepth=32",
            "--iodepth=128",
            "--iodepth=128 --iodepth_batch=32 --iodepth_batch_complete_min=32",
        ],
    },
    Group {
        name: "null_blk, other engines",
        device: Err(1),
        words: "--rw=randread",
        rows: &[
            "--ioengine=libaio --iodepth=1",
            "--ioengine=libaio --iodepth=32",
            "--ioengine=libaio --iodepth=32 --iodepth_batch=16 --iodepth_batch_complete_min=16",
            "--ioengine=psync",
            "--ioengine=pvsync2 --hipri",
        ],
    },
    Group {
        name: "SCSI disk in memory",
        device: Ok("LAB_SCSI"),
        words: "--bs=4k",
        rows: &[
            "--ioengine=sg --rw=randread",
            "--ioengine=sg --rw=randwrite",
            "--ioengine=io_uring --iodepth=16 --rw=randread",
        ],
    },
    Group {
        name: "the same, /dev/sgN",
        device: Ok("LAB_SCSI_SG"),
        words: "--ioengine=sg --direct=0",
        rows: &[
            "--rw=randread",
            "--rw=randwrite",
            "--rw=randread --iodepth=16",
            "--rw=randwrite --iodepth=16",
        ],
    },
    Group {
        name: "flash in memory",
        device: Ok("LAB_MTD"),
        words: "--ioengine=mtd --direct=0",
        rows: &["--rw=randread", "--rw=randwrite", "--rw=read --bs=16k"],
    },
    Group {
        name: "persistent memory, a character device",
        device: Ok("LAB_DAX"),
        words: "--ioengine=dev-dax --direct=0",
        rows: &["--rw=randread", "--rw=randwrite", "--rw=write --bs=16k"],
    },
    Group {
        name: "persistent memory, a file",
        device: Ok("BENCH_DAX_FILE"),
        words: "--ioengine=libpmem --direct=1 --sync=1 --size=32m",
        rows: &["--rw=randread", "--rw=randwrite", "--rw=write --bs=16k"],
    },
];

/// The devices that the lab has to make.
const DEVICES: &str = "null_blk,scsi,mtd,pmem,dax";

/// Boots the machine, in which [`inside`] does the rest.
pub(super) fn run(repository: &Path, only: Option<&str>) -> Result<(), String> {
    let own = std::env::current_exe().map_err(|error| format!("the path of xtask: {error}"))?;
    let scratch = tempfile::Builder::new()
        .prefix("fathom-bench.")
        .tempdir()
        .map_err(|error| format!("a temporary directory: {error}"))?;
    let mut command = Command::new(repository.join("scripts/lab/lab"));
    command
        .args(["--instructions", "--time", "3600", "--with", DEVICES, "--dir"])
        .arg(scratch.path())
        .arg("--");
    command.arg(own).args(["bench", "--instructions-inside"]);
    command.args(only.map(|only| format!("--only={only}"))).stdin(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the virtual machine: {status}")),
        Err(error) => Err(format!("{}: {error}", repository.join("scripts/lab/lab").display())),
    }
}

/// Measures, inside the machine, and prints a table.
pub(super) fn inside(programs: &Programs, only: Option<&str>) -> Result<(), String> {
    if std::env::var_os("LAB_NULL_BLK").is_none() {
        return Err("--instructions-inside is for the virtual machine that --instructions boots".to_owned());
    }
    let fio = programs.fios().into_iter().next().ok_or("no fio")?;
    let both = [fio, programs.fathom_program()];
    let devices: Vec<NullBlock> = (0..MANY).map(NullBlock::new).collect::<Result<_, _>>()?;
    println!(
        "| device | job | {} | fathom | fathom / fio |\n|---|---|---:|---:|---:|",
        version_of(&both[0]).unwrap_or_else(|| "fio".to_owned())
    );
    for group in GROUPS.iter().filter(|group| only.is_none_or(|only| group.name.contains(only))) {
        let target = match group.device {
            Err(count) => devices[..count].iter().map(NullBlock::path).collect::<Vec<_>>().join(":"),
            Ok(variable) => match device_of(variable) {
                Ok(path) => path,
                Err(reason) => {
                    println!("| {} | skipped: {reason} | | | |", group.name);
                    continue;
                }
            },
        };
        for (number, row) in group.rows.iter().enumerate() {
            let words = words_of(group, row, &target);
            if number == 0 {
                // The first run of a program waits for its pages.
                let _ = both.each_ref().map(|program| job_ms(program, &words, SHORT, programs));
            }
            let costs = both.each_ref().map(|program| per_io(program, &words, programs));
            println!("| {} | `{row}` | {} |", group.name, compared(&costs));
        }
    }
    Ok(())
}

fn version_of(program: &Path) -> Option<String> {
    let told = Command::new(program).arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&told.stdout).trim().to_owned())
}

fn words_of(group: &Group, row: &str, target: &str) -> Vec<String> {
    let mut words = vec!["--name=a".to_owned(), "--bs=4k".to_owned(), "--direct=1".to_owned()];
    words.extend(group.words.split_whitespace().chain(row.split_whitespace()).map(str::to_owned));
    words.push(format!("--filename={target}"));
    words
}

/// The columns of both costs and their ratio.
fn compared(costs: &[Result<f64, String>; 2]) -> String {
    let [fio, fathom] = costs.each_ref().map(|cost| match cost {
        Ok(cost) => format!("{cost:.0}"),
        Err(reason) => reason.clone(),
    });
    let ratio = match costs {
        [Ok(fio), Ok(fathom)] => format!("{:.2}", fathom / fio),
        _ => "–".to_owned(),
    };
    format!("{fio} | {fathom} | {ratio}")
}

/// Instructions of the machine for an I/O more.
fn per_io(program: &Path, words: &[String], programs: &Programs) -> Result<f64, String> {
    let [short, long] = [SHORT, LONG].map(|ios| job_ms(program, words, ios, programs));
    Ok((long? - short?) * 1e6 / (LONG - SHORT) as f64)
}

/// How long a job of so many I/Os takes, in milliseconds: millions of instructions of the machine, as its clock counts them. A program's
/// whole run would not do: it sleeps here and there, and the clock leaps over that.
fn job_ms(program: &Path, words: &[String], ios: u64, programs: &Programs) -> Result<f64, String> {
    let last_block_size = words.iter().rev().find_map(|word| word.strip_prefix("--bs=")).unwrap_or("4k");
    let kibibytes: u64 = last_block_size
        .trim_end_matches('k')
        .parse()
        .map_err(|error| format!("{last_block_size}: {error}"))?;
    let mut command = Command::new(program);
    command.args(words).arg(format!("--io_size={}k", ios * kibibytes)).arg("--output-format=json");
    command.current_dir(programs.scratch()).stdin(Stdio::null());
    // Copies by loops of the C library: a string instruction counts once for each byte.
    command.env("GLIBC_TUNABLES", "glibc.cpu.x86_rep_movsb_threshold=1073741824");
    let ended = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
    let jobs = jobs_in(&String::from_utf8_lossy(&ended.stdout))?;
    let total = |key| jobs.iter().flat_map(|job| of_directions(job, key)).sum::<f64>();
    let done = total("total_ios");
    match done == ios as f64 && ended.status.success() {
        true => Ok(total("runtime")),
        false => Err(format!(
            "{done} of {ios} I/Os: {}",
            String::from_utf8_lossy(&ended.stderr).lines().next().unwrap_or("no message")
        )),
    }
}

/// The path of a device of the lab; a file on a file system for the one that needs one.
fn device_of(variable: &str) -> Result<String, String> {
    if variable != "BENCH_DAX_FILE" {
        return std::env::var(variable).map_err(|_| format!("no {variable}"));
    }
    let device = std::env::var("LAB_PMEM").map_err(|_| "no LAB_PMEM".to_owned())?;
    let mounted = Path::new("/mnt/bench");
    std::fs::create_dir_all(mounted).map_err(|error| format!("{}: {error}", mounted.display()))?;
    for (tool, arguments) in [
        ("mkfs.ext4", vec!["-q", "-F", "-b", "4096", &device]),
        ("mount", vec!["-o", "dax", &device, "/mnt/bench"]),
    ] {
        let status = Command::new(tool).args(arguments).stdout(Stdio::null()).status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(format!("{tool} failed"));
        }
    }
    Ok(mounted.join("file").display().to_string())
}

/// A block device that moves nothing and ends each I/O at once, with a queue for polling.
struct NullBlock {
    path: PathBuf,
}

impl NullBlock {
    fn new(number: usize) -> Result<NullBlock, String> {
        let name = format!("fathom{number}");
        let settings = Path::new("/sys/kernel/config/nullb").join(&name);
        let failed = |error: std::io::Error| format!("{}: {error}", settings.display());
        std::fs::create_dir(&settings).map_err(failed)?;
        for (attribute, value) in [
            ("size", "1024"),
            ("irqmode", "0"),
            ("queue_mode", "2"),
            ("submit_queues", "1"),
            ("poll_queues", "1"),
            ("power", "1"),
        ] {
            std::fs::write(settings.join(attribute), value).map_err(failed)?;
        }
        let named = Path::new("/dev").join(name);
        if named.exists() {
            return Ok(NullBlock { path: named });
        }
        let index = std::fs::read_to_string(settings.join("index")).map_err(failed)?;
        Ok(NullBlock { path: format!("/dev/nullb{}", index.trim()).into() })
    }

    fn path(&self) -> String {
        self.path.display().to_string()
    }
}
