//! Instructions per I/O of the whole machine, kernel included. Both programs run in a virtual machine whose
//! clock advances one nanosecond per instruction (`lab --instructions`), so the figures do not depend on load
//! or clock speed, and devices that only the virtual machine has can be measured.

use super::programs::{Pair, Program, Programs, jobs_in, of_directions};
use std::path::Path;
use std::process::{Command, Stdio};

/// Number of I/Os of the shorter of two runs. Their costs are subtracted, so setup and teardown cancel out.
const SHORT: u64 = 10_000;
/// Number of I/Os of the longer run. Reports are in milliseconds, so the resolution is 25 instructions.
const LONG: u64 = 50_000;
/// Number of devices that one thread uses.
pub(super) const MANY: usize = 8;

/// Number of jobs that share one device.
struct Group {
    name: &'static str,
    device: Device,
    words: &'static str,
    /// Description of the row.
    rows: &'static [&'static str],
}

/// Which instructions are counted.
#[derive(Clone, Copy)]
pub(super) enum Counted {
    /// All instructions of the machine, measured as the run time of the jobs, where the kernel completes I/Os
    /// by itself.
    Machine,
    /// Instructions of the job in user space and kernel, measured as its processor time, where the device works
    /// outside the machine.
    Job,
}

/// Target of the jobs in a group.
enum Device {
    /// A number of null_blk devices, which move no data and complete each I/O immediately.
    Null(usize),
    /// A device that the lab provides; the environment variable with this name holds its path.
    Lab(&'static str),
    /// A device that the lab provides and QEMU emulates outside the machine.
    Emulated(&'static str),
    /// A file on a file system with DAX.
    DaxFile,
}

impl Device {
    fn target(&self, null_devices: &[String]) -> Result<String, String> {
        match self {
            Device::Null(count) => Ok(null_devices[..*count].join(":")),
            Device::Lab(variable) | Device::Emulated(variable) => path_in(variable),
            Device::DaxFile => dax_file(),
        }
    }

    fn counted(&self) -> Counted {
        if matches!(self, Device::Emulated(_)) { Counted::Job } else { Counted::Machine }
    }
}

const GROUPS: &[Group] = &[
    Group {
        name: "null_blk, io_uring",
        device: Device::Null(1),
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
        device: Device::Null(MANY),
        words: "--ioengine=io_uring --rw=randread",
        rows: &[
            "--iodepth=32",
            "--iodepth=128",
            "--iodepth=128 --iodepth_batch=32 --iodepth_batch_complete_min=32",
        ],
    },
    Group {
        name: "null_blk, other engines",
        device: Device::Null(1),
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
        name: "NVMe commands, `io_uring_cmd`",
        device: Device::Emulated("LAB_NVME_NG"),
        words: "--ioengine=io_uring_cmd --direct=0",
        rows: &[
            "--rw=randread --iodepth=1",
            "--rw=randread --iodepth=16",
            "--rw=randwrite --iodepth=1",
            "--rw=randwrite --iodepth=16",
            "--rw=randread --iodepth=16 --fixedbufs --registerfiles",
            "--rw=randread --iodepth=16 --iodepth_batch=8 --iodepth_batch_complete_min=8",
        ],
    },
    Group {
        name: "SCSI disk in memory",
        device: Device::Lab("LAB_SCSI"),
        words: "",
        rows: &[
            "--ioengine=sg --rw=randread",
            "--ioengine=sg --rw=randwrite",
            "--ioengine=io_uring --iodepth=16 --rw=randread",
        ],
    },
    Group {
        name: "the same, /dev/sgN",
        device: Device::Lab("LAB_SCSI_SG"),
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
        device: Device::Lab("LAB_MTD"),
        words: "--ioengine=mtd --direct=0",
        rows: &["--rw=randread", "--rw=randwrite", "--rw=read --bs=16k"],
    },
    Group {
        name: "persistent memory, a character device",
        device: Device::Lab("LAB_DAX"),
        words: "--ioengine=dev-dax --direct=0",
        rows: &["--rw=randread", "--rw=randwrite", "--rw=write --bs=16k"],
    },
    Group {
        name: "persistent memory, a file",
        device: Device::DaxFile,
        words: "--ioengine=libpmem --direct=1 --sync=1 --size=32m",
        rows: &["--rw=randread", "--rw=randwrite", "--rw=write --bs=16k"],
    },
];

/// Devices that the lab must provide.
const DEVICES: &str = "null_blk,nvme,scsi,mtd,pmem,dax";

/// Boots the virtual machine, which runs [`inside`].
pub(super) fn run(repository: &Path, programs: &Programs, only: Option<&str>) -> Result<(), String> {
    let own = std::env::current_exe().map_err(|error| format!("the path of xtask: {error}"))?;
    let lab = repository.join("scripts/lab/lab");
    let mut command = Command::new(&lab);
    command
        .args(["--instructions", "--time", "3600", "--with", DEVICES, "--dir"])
        .arg(programs.scratch())
        .arg("--");
    command.arg(own).args(["bench", "--instructions-inside"]);
    command.arg(format!("--program={}", programs.fathom_program().display()));
    command.args(only.map(|only| format!("--only={only}"))).stdin(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the virtual machine: {status}")),
        Err(error) => Err(format!("{}: {error}", lab.display())),
    }
}

/// Runs inside the virtual machine: measures and prints a table.
pub(super) fn inside(programs: &Programs, only: Option<&str>) -> Result<(), String> {
    if std::env::var_os("LAB_NULL_BLK").is_none() {
        return Err("--instructions-inside is for the virtual machine that --instructions boots".to_owned());
    }
    let null_devices: Vec<String> = (0..MANY).map(null_device).collect::<Result<_, _>>()?;
    let fio = programs.version(Program::Fio);
    println!("| device | job | {fio} | fathom | fathom / fio |\n|---|---|---:|---:|---:|");
    for group in GROUPS.iter().filter(|group| only.is_none_or(|only| group.name.contains(only))) {
        let target = match group.device.target(&null_devices) {
            Ok(target) => target,
            Err(reason) => {
                println!("| {} | skipped: {reason} | | | |", group.name);
                continue;
            }
        };
        for (number, row) in group.rows.iter().enumerate() {
            let words = words_of(group, row, &target);
            if number == 0 {
                // The first run of a program includes page faults, so it is discarded.
                let _ = programs
                    .in_turns(1, |program| job_ms(programs, program, &words, SHORT, group.device.counted()));
            }
            let measured =
                programs.in_turns(1, |program| per_io(programs, program, &words, group.device.counted()));
            println!("| {} | `{row}` | {} |", group.name, shown(measured));
        }
    }
    Ok(())
}

fn words_of(group: &Group, row: &str, target: &str) -> Vec<String> {
    let mut words = vec!["--name=a".to_owned(), "--bs=4k".to_owned(), "--direct=1".to_owned()];
    words.extend(group.words.split_whitespace().chain(row.split_whitespace()).map(str::to_owned));
    words.push(format!("--filename={target}"));
    words
}

/// Table cells: both costs and their ratio.
fn shown(measured: Result<Pair, String>) -> String {
    match measured {
        Ok(Pair { fio, fathom }) => format!("{fio:.0} | {fathom:.0} | {:.2}", fathom / fio),
        Err(reason) => format!("{reason} | – | –"),
    }
}

/// Instructions per additional I/O.
fn per_io(programs: &Programs, program: Program, words: &[String], counted: Counted) -> Result<f64, String> {
    let [short, long] = [SHORT, LONG].map(|ios| job_ms(programs, program, words, ios, counted));
    Ok((long? - short?) * 1e6 / (LONG - SHORT) as f64)
}

/// Run time or processor time of a job of this many I/Os, in milliseconds; by the machine's clock, that is
/// millions of instructions. The time of the whole program cannot be used, because the clock jumps ahead
/// while the program sleeps.
pub(super) fn job_ms(
    programs: &Programs,
    program: Program,
    words: &[String],
    ios: u64,
    counted: Counted,
) -> Result<f64, String> {
    let last_block_size = words.iter().rev().find_map(|word| word.strip_prefix("--bs=")).unwrap_or("4k");
    let kibibytes: u64 = last_block_size
        .trim_end_matches('k')
        .parse()
        .map_err(|error| format!("{last_block_size}: {error}"))?;
    let mut command = programs.command(program, &[]);
    command.args(words).arg(format!("--io_size={}k", ios * kibibytes)).arg("--output-format=json");
    // Makes the C library copy with loops: a string instruction would count once per byte.
    command.env("GLIBC_TUNABLES", "glibc.cpu.x86_rep_movsb_threshold=1073741824");
    let jobs = jobs_in(&programs.finish(program, command)?)?;
    let total = |key| jobs.iter().flat_map(|job| of_directions(job, key)).sum::<f64>();
    let done = total("total_ios");
    if done != ios as f64 {
        return Err(format!("{program:?}: {done} of {ios} I/Os"));
    }
    let of_job = |key: &str| jobs.iter().filter_map(|job| job[key].as_f64()).sum::<f64>();
    Ok(match counted {
        Counted::Machine => total("runtime"),
        Counted::Job => of_job("job_runtime") * (of_job("usr_cpu") + of_job("sys_cpu")) / 100.0,
    })
}

fn path_in(variable: &str) -> Result<String, String> {
    std::env::var(variable).map_err(|_| format!("no {variable}"))
}

/// Makes a file system with DAX and returns the path of a file on it.
fn dax_file() -> Result<String, String> {
    let device = path_in("LAB_PMEM")?;
    let mounted = "/mnt/bench";
    std::fs::create_dir_all(mounted).map_err(|error| format!("{mounted}: {error}"))?;
    for (tool, arguments) in [
        ("mkfs.ext4", vec!["-q", "-F", "-b", "4096", &device]),
        ("mount", vec!["-o", "dax", &device, mounted]),
    ] {
        let status = Command::new(tool).args(arguments).stdout(Stdio::null()).status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(format!("{tool} failed"));
        }
    }
    Ok(format!("{mounted}/file"))
}

/// Creates a null_blk device with a poll queue and returns its path.
pub(super) fn null_device(number: usize) -> Result<String, String> {
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
    // Older kernels name the devices by number.
    let named = format!("/dev/{name}");
    if Path::new(&named).exists() {
        return Ok(named);
    }
    let index = std::fs::read_to_string(settings.join("index")).map_err(failed)?;
    Ok(format!("/dev/nullb{}", index.trim()))
}
