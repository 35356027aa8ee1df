//! Clones that are threads of one process write only to their own files, whatever threads the engine or a
//! library has.

use crate::support::program::Launch;
use crate::support::{MIB, scratch};
use std::path::Path;
use std::time::Duration;

/// Engines that write to files.
const ENGINES: [&str; 9] =
    ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "libaio", "io_uring", "posixaio"];
const CLONES: u8 = 4;
/// Enough clones for the descriptors of some to exceed 1,024.
const FILES: u32 = 300;
const BLOCK: usize = 4096;

/// A job file in which each section fills its own files with its own byte.
fn sections(common: &str, files: u32) -> String {
    let section = |clone: u8| {
        format!(
            "[c{clone}]\nfilename_format=$jobname.$filenum\nnrfiles={files}\nsize={}\nbuffer_pattern=0x{:02x}\n",
            files as usize * BLOCK * 2,
            0xa0 + clone
        )
    };
    let all: String = (1..=CLONES).map(section).collect();
    format!("[global]\nrw=randwrite\nbs={BLOCK}\nthread\n{common}\n{all}")
}

#[track_caller]
fn check_contents(directory: &Path, files: u32, what: &str) {
    for clone in 1..=CLONES {
        for file in 0..files {
            let name = format!("c{clone}.{file}");
            let content = std::fs::read(directory.join(&name)).expect("it was made");
            assert_eq!(content.len(), 2 * BLOCK, "{what}: {name}");
            let foreign = content.iter().position(|&byte| byte != 0xa0 + clone);
            assert_eq!(foreign, None, "{what}: {name} holds the data of another");
        }
    }
}

#[track_caller]
fn run(job: &str, more: &str, files: u32) {
    let directory = scratch();
    std::fs::write(directory.path().join("job.fio"), sections(job, files)).expect("written");
    let launch = Launch::fathom(directory.path()).timeout(Duration::from_secs(120));
    let finished = launch.words(more).words("job.fio").run();
    assert_eq!(finished.code(), 0, "{job}: {}{}", finished.stdout, finished.stderr);
    check_contents(directory.path(), files, job);
}

#[test]
fn every_engine_keeps_to_the_files_of_its_clone() {
    for engine in ENGINES {
        for mode in ["inline", "offload"] {
            // A ring belongs to the thread that created it, so io_uring cannot be offloaded.
            if (engine, mode) != ("io_uring", "offload") {
                let job = format!("ioengine={engine}\niodepth=4\nio_submit_mode={mode}");
                run(&job, "--output-format=terse", 16);
            }
        }
    }
}

#[test]
fn descriptors_above_1024() {
    for engine in ["psync", "libaio", "io_uring", "posixaio"] {
        run(&format!("ioengine={engine}\niodepth=8"), "--output-format=terse", FILES);
    }
}

/// Two jobs with different durations: the one that ends closes its descriptors while the other writes.
#[test]
fn a_clone_that_ends_leaves_the_others_their_files() {
    let directory = scratch();
    for name in ["A", "B"] {
        std::fs::write(directory.path().join(name), vec![0; 16 * MIB as usize]).expect("written");
    }
    let job = "[global]\nioengine=posixaio\niodepth=8\nbs=4k\nthread\n\
               [a]\nfilename=A\nrw=randrw\nsize=1m\ntime_based\nruntime=1\n\
               [b]\nfilename=B\nrw=write\noffset=8m\nsize=8m\nbuffer_pattern=0xdeadbeef\n\
               [c]\nstartdelay=300ms\nfilename=C\nrw=write\nsize=1m\nbuffer_pattern=0xc1\n";
    std::fs::write(directory.path().join("job.fio"), job).expect("written");
    Launch::fathom(directory.path()).words("job.fio").run().expect_clean();
    let content = |name: &str| std::fs::read(directory.path().join(name)).expect("it is there");
    let (a, b, c) = (content("A"), content("B"), content("C"));
    let (first, second) = b.split_at(8 * MIB as usize);
    assert!(a[MIB as usize..].iter().all(|&byte| byte == 0), "A holds what belongs elsewhere");
    assert!(first.iter().all(|&byte| byte == 0), "B was written to in front of its part");
    assert!(second.chunks(4).all(|word| word == [0xde, 0xad, 0xbe, 0xef]), "B was not written");
    assert!(c.len() == MIB as usize && c.iter().all(|&byte| byte == 0xc1), "C was not written");
}

/// A file that is closed and reopened in between (`openfiles`, `unlink_each_loop`) is written at the right
/// offsets.
#[test]
fn reopened_files() {
    for engine in ENGINES {
        for more in ["openfiles=1\nfile_service_type=random:1", "unlink_each_loop=1\nloops=2"] {
            // A mapping keeps a removed file alive, so mmap refuses to recreate its files.
            if engine == "mmap" && more.starts_with("unlink") {
                continue;
            }
            let job = format!("ioengine={engine}\niodepth=4\n{more}");
            run(&job, "--output-format=terse", 16);
        }
    }
}
