//! Checks the content of files and devices after a run.

use crate::support::compare::expect_ios;
use crate::support::devices::{LoopDevice, Mounted};
use crate::support::program::Launch;
use crate::support::{KIB, MIB, file_of, json, scratch};
use serde_json::Value;
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[track_caller]
fn run(directory: &Path, words: &str) -> Value {
    let finished = Launch::fathom(directory).words("--output-format=json").words(words).run().expect_clean();
    json::document(&finished.stdout)
}

#[track_caller]
fn sizes(directory: &Path) -> Vec<(String, u64)> {
    let mut files: Vec<(String, u64)> = std::fs::read_dir(directory)
        .expect("the directory can be read")
        .map(|entry| {
            let entry = entry.expect("an entry");
            (
                entry.file_name().into_string().expect("a name is text"),
                entry.metadata().expect("metadata").len(),
            )
        })
        .collect();
    files.sort();
    files
}

#[test]
fn the_scheduler_of_the_device_is_switched() {
    let device = require!(LoopDevice::new(MIB));
    let name = device.path().file_name().expect("a name").to_string_lossy().into_owned();
    let in_use = || std::fs::read_to_string(format!("/sys/block/{name}/queue/scheduler")).expect("a list");
    let directory = scratch();
    let words = |scheduler: &str| {
        format!(
            "--name=a --filename={} --rw=read --bs=4k --size=64k --ioscheduler={scheduler}",
            device.path().display()
        )
    };
    for scheduler in ["mq-deadline", "none"] {
        if !in_use().contains(scheduler) {
            skip!("this kernel has no scheduler {scheduler}");
        }
        run(directory.path(), &words(scheduler));
        assert!(in_use().contains(&format!("[{scheduler}]")), "{}", in_use());
    }
    let refused = Launch::fathom(directory.path()).words(&words("nonsense")).run();
    assert_eq!(refused.code(), 1);
    assert!(
        refused.stderr.starts_with("fio: unable to set io scheduler to nonsense\n"),
        "{}",
        refused.stderr
    );
    assert!(in_use().contains("[none]"), "{}", in_use());
}

#[test]
fn files_are_read_beforehand_for_direct_io_too() {
    fathom_only!();
    let directory = scratch();
    file_of(directory.path(), "f", 130 * KIB + 100);
    for words in ["--size=130k", "--size=100k --offset=8k", "--size=128k --bs=1k"] {
        let words = format!("--name=a --filename=f --rw=read --bs=4k --pre_read=1 --direct=1 {words}");
        Launch::fathom(directory.path()).words(&words).run().expect_clean();
    }
}

#[test]
fn laid_out_files_have_their_size() {
    let directory = scratch();
    run(directory.path(), "--name=job --rw=read --bs=4k --size=48k --nrfiles=3 --numjobs=2");
    let expected: Vec<(String, u64)> =
        (0..2).flat_map(|clone| (0..3).map(move |file| (format!("job.{clone}.{file}"), 16 * KIB))).collect();
    assert_eq!(sizes(directory.path()), expected);
    let data = std::fs::read(directory.path().join("job.0.0")).expect("the file can be read");
    assert!(data.chunks(512).all(|sector| sector.iter().any(|&byte| byte != 0)), "files to read hold data");
}

#[test]
fn a_short_file_is_extended() {
    let directory = scratch();
    let file = file_of(directory.path(), "data", 4 * KIB);
    let words = "--name=job --filename=data --rw=read --bs=4k --size=64k --output-format=json";
    // Extending it is reported on standard error.
    let finished = Launch::fathom(directory.path()).words(words).run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    expect_ios(&json::document(&finished.stdout), &["read"], 16, 4096);
    assert_eq!(std::fs::metadata(file).expect("the file is there").len(), 64 * KIB);
}

#[test]
fn an_odd_tail_is_left_alone() {
    let directory = scratch();
    let document = run(directory.path(), "--name=job --filename=data --rw=write --bs=4k --size=20000");
    expect_ios(&document, &["write"], 4, 4096);
    assert_eq!(sizes(directory.path()), [("data".to_string(), 20_000)]);
}

#[test]
fn offsets_bound_what_is_written() {
    let directory = scratch();
    let file = file_of(directory.path(), "data", 64 * KIB);
    run(
        directory.path(),
        "--name=job --filename=data --rw=write --bs=4k --offset=16k --size=32k --overwrite=1 --zero_buffers",
    );
    let data = std::fs::read(file).expect("the file can be read");
    let zero: Vec<usize> =
        (0..16).filter(|block| data[block * 4096..][..4096].iter().all(|&byte| byte == 0)).collect();
    assert_eq!(zero, (4..12).collect::<Vec<_>>());
    assert_eq!(data.len(), 64 << 10);
}

/// A limit on both directions must not make a job use both.
#[test]
fn a_limited_reader_writes_nothing() {
    for limit in ["--rate_iops=400", "--rate=1600k", "--rate_iops_min=1", "--thinktime=1000"] {
        let directory = scratch();
        let path = file_of(directory.path(), "data", 256 * KIB);
        let before = std::fs::read(&path).expect("the file can be read");
        let words = format!("--name=job --filename=data --rw=randread --bs=4k --size=256k {limit}");
        let document = run(directory.path(), &words);
        expect_ios(&document, &["read"], 64, 4096);
        assert_eq!(json::total(&document, "write/total_ios"), 0, "{limit}");
        assert!(
            std::fs::read(&path).expect("the file can be read") == before,
            "{limit} changed what was read"
        );
    }
}

#[test]
fn a_limited_writer_reads_nothing() {
    let directory = scratch();
    let document =
        run(directory.path(), "--name=job --filename=data --rw=write --bs=4k --size=256k --rate_iops=400");
    expect_ios(&document, &["write"], 64, 4096);
    assert_eq!(json::total(&document, "read/total_ios"), 0);
}

#[test]
fn patterns_are_written_as_given() {
    let directory = scratch();
    run(
        directory.path(),
        "--name=job --filename=data --rw=write --bs=4k --size=16k --buffer_pattern=0xdeadbeef",
    );
    let data = std::fs::read(directory.path().join("data")).expect("the file can be read");
    assert!(data.chunks(4).all(|word| word == [0xde, 0xad, 0xbe, 0xef]), "{:x?}", &data[..16]);
}

/// Every block of a random job has unique content, so that missing or duplicate writes show in the file.
#[test]
fn random_writes_cover_every_block_once() {
    let directory = scratch();
    let document = run(
        directory.path(),
        "--name=job --filename=data --rw=randwrite --bs=4k --size=1M --fallocate=none --refill_buffers",
    );
    expect_ios(&document, &["write"], 256, 4096);
    let data = std::fs::read(directory.path().join("data")).expect("the file can be read");
    assert_eq!(data.len() as u64, MIB);
    let distinct: HashSet<&[u8]> = data.chunks(4096).collect();
    assert_eq!(distinct.len(), 256, "refilled buffers differ, and no block was left out");
    assert!(data.chunks(4096).all(|block| block.iter().any(|&byte| byte != 0)));
}

/// A redundant setting must not disable the map: only part of a disk would be preconditioned.
#[test]
fn an_alignment_of_the_block_size_covers_every_block() {
    for (words, blocks) in [("--bs=4k --ba=4k", 256), ("--bs=4k,8k --ba=4k,8k", 128)] {
        let directory = scratch();
        let job = "--name=job --filename=data --rw=randwrite --size=1M --fallocate=none --refill_buffers";
        let document = run(directory.path(), &format!("{job} {words}"));
        expect_ios(&document, &["write"], blocks, MIB / blocks);
        let data = std::fs::read(directory.path().join("data")).expect("the file can be read");
        assert!(data.chunks(4096).all(|block| block.iter().any(|&byte| byte != 0)), "{words}");
    }
}

/// The paths of all files below a directory, and what is in them.
fn tree(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut left = vec![root.to_path_buf()];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(&directory).expect("it can be read") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path.strip_prefix(root).expect("below").to_str().expect("text").to_owned();
                found.push((name, std::fs::read(&path).expect("it can be read")));
            }
        }
    }
    found.sort();
    found
}

/// Checks that all files of a job are below its directory, for all ways to name them, and that no other file is
/// touched.
#[test]
fn a_directory_holds_every_file_of_its_job() {
    let victim = scratch();
    let outside = victim.path().to_str().expect("text");
    let below = |name: &str| format!("d1{outside}/{name}");
    let log =
        format!("fio version 3 iolog\n0 {outside}/a add\n0 {outside}/a open\n0 {outside}/a write 0 4096\n");
    for (words, expected) in [
        (format!("--filename={outside}/a"), vec![below("a")]),
        (format!("--filename={outside}/a:b"), vec!["d1/b".to_owned(), below("a")]),
        (format!("--filename={outside}/a --thread"), vec![below("a")]),
        (format!("--filename={outside}/a --ioengine=mmap"), vec![below("a")]),
        (format!("--filename_format={outside}/a"), vec![below("a")]),
        (format!("--opendir={outside}"), vec![below("a"), below("deep/b")]),
        ("--filename=../beside".to_owned(), vec!["beside".to_owned()]),
        ("--read_iolog=log --filename=unused".to_owned(), vec![below("a")]),
        (format!("--read_iolog=log --replay_redirect={outside}/deep/b"), vec![below("deep/b")]),
    ] {
        let directory = scratch();
        std::fs::create_dir_all(victim.path().join("deep")).expect("made");
        file_of(victim.path(), "a", 64 * KIB);
        file_of(&victim.path().join("deep"), "b", 64 * KIB);
        let before = tree(victim.path());
        std::fs::create_dir(directory.path().join("d1")).expect("made");
        std::fs::write(directory.path().join("log"), &log).expect("written");
        let job = "--name=job --directory=d1 --rw=write --bs=4k --size=64k";
        let finished = Launch::fathom(directory.path()).words(&format!("{job} {words}")).run();
        // Created directories are reported on standard error.
        assert_eq!(finished.code(), 0, "{words}: {}", finished.stderr);
        assert!(tree(victim.path()) == before, "{words}: a file outside has changed");
        let mut made: Vec<String> = tree(directory.path()).into_iter().map(|(name, _)| name).collect();
        made.retain(|name| name != "log");
        assert_eq!(made, expected, "{words}");
    }
}

/// Directories are distributed over clones with generated names. Clones with a given name share one file.
#[test]
fn clones_that_name_their_files_share_them_in_the_first_directory() {
    for (words, expected) in [
        ("", vec!["x", "x/job.0.0", "x/job.2.0", "y", "y/job.1.0"]),
        ("--filename=f", vec!["x", "x/f", "y"]),
        ("--filename=f:g", vec!["x", "x/f", "x/g", "y"]),
        ("--filename_format=q.$jobnum", vec!["x", "x/q.0", "x/q.2", "y", "y/q.1"]),
    ] {
        let directory = scratch();
        for name in ["x", "y"] {
            std::fs::create_dir(directory.path().join(name)).expect("made");
        }
        let job = "--name=job --directory=x:y --numjobs=3 --rw=write --bs=4k --size=64k";
        Launch::fathom(directory.path()).words(&format!("{job} {words}")).run().expect_clean();
        let mut made: Vec<String> = tree(directory.path()).into_iter().map(|(name, _)| name).collect();
        made.sort();
        made.retain(|name| !expected.contains(&name.as_str()));
        assert_eq!(made, Vec::<String>::new(), "{words}");
        for name in expected {
            assert!(directory.path().join(name).exists(), "{words}: {name}");
        }
    }
}

/// Below a directory, a device path is a plain file.
#[test]
fn a_directory_hides_the_device_of_the_same_name() {
    let device = require!(LoopDevice::new(MIB));
    let before = device.contents();
    let path = device.path().display();
    for words in [format!("--name=job --filename={path}"), format!("--name={path}")] {
        let directory = scratch();
        let job = format!("{words} --directory=. --rw=write --bs=4k --size=64k");
        let finished = Launch::fathom(directory.path()).words(&job).run();
        // Created directories are reported on standard error.
        assert_eq!(finished.code(), 0, "{words}: {}", finished.stderr);
        assert!(device.contents() == before, "{words}");
        let made = tree(directory.path());
        assert_eq!(made.len(), 1, "{words}");
        assert_eq!(made[0].1.len() as u64, 64 * KIB, "{words}");
    }
}

#[test]
fn several_block_sizes_cover_the_file() {
    let directory = scratch();
    let document = run(
        directory.path(),
        "--name=job --filename=data --rw=randwrite --bsrange=4k-16k --size=1M --fallocate=none",
    );
    assert_eq!(json::total(&document, "write/io_bytes"), MIB);
    let data = std::fs::read(directory.path().join("data")).expect("the file can be read");
    assert!(data.chunks(4096).all(|block| block.iter().any(|&byte| byte != 0)), "a block was left out");
}

#[test]
fn written_blocks_can_be_verified() {
    built!("--name=job --ioengine=null --size=4k --verify=crc32c");
    let directory = scratch();
    let write = "--name=job --filename=data --rw=randwrite --bs=4k --size=1M --verify=crc32c";
    run(directory.path(), &format!("{write} --do_verify=1"));
    run(directory.path(), "--name=job --filename=data --rw=read --bs=4k --size=1M --verify=crc32c");
    let path = directory.path().join("data");
    let mut data = std::fs::read(&path).expect("the file can be read");
    data[500_000] ^= 1;
    std::fs::write(&path, data).expect("the file can be written");
    let spoilt = Launch::fathom(directory.path())
        .words("--name=job --filename=data --rw=read --bs=4k --size=1M --verify=crc32c")
        .run();
    assert_ne!(spoilt.code(), 0, "a flipped bit is found: {}", spoilt.stdout);
    assert!(spoilt.stdout.contains("err=84"), "{}", spoilt.stdout);
}

/// fio writes the last block completely.
#[test]
fn nothing_beyond_the_size_of_a_job_on_a_device_is_touched() {
    fathom_only!();
    let device = require!(LoopDevice::new(MIB));
    for (words, written) in
        [("--bs=4k --size=5000", 4096), ("--bs=4k --offset=8k --size=7k --rw=randwrite", 4096)]
    {
        let before = device.contents();
        let job =
            format!("--name=job --rw=write --zero_buffers --filename={} {words}", device.path().display());
        let document = run(scratch().path(), &job);
        assert_eq!(json::integer(json::job(&document, "job"), "write/io_bytes"), written, "{words}");
        let changed = device.contents().iter().zip(&before).filter(|(now, then)| now != then).count() as u64;
        assert_eq!(changed, written, "{words}");
    }
}

#[test]
fn trims_free_the_blocks_of_a_device() {
    let device = require!(LoopDevice::new(4 * MIB));
    assert!(device.allocated() >= 4 * MIB);
    let words = format!("--name=job --filename={} --rw=trim --bs=64k --size=2M", device.path().display());
    let document = run(scratch().path(), &words);
    let trimmed = json::job(&document, "job");
    assert_eq!(json::integer(trimmed, "trim/total_ios"), 32);
    assert_eq!(json::integer(trimmed, "trim/io_bytes"), 2 * MIB);
    assert!(device.allocated() <= 2 * MIB + 64 * KIB, "{} bytes are still allocated", device.allocated());
    let contents = device.contents();
    assert!(contents[..2 << 20].iter().all(|&byte| byte == 0), "trimmed blocks read as zeroes");
    assert!(contents[2 << 20..].iter().all(|&byte| byte == 0xa5), "the others are as they were");
}

/// A trim has no data, so its length takes no memory: neither in a job of trims nor in a log that has some.
#[test]
fn large_trims_need_no_memory() {
    let directory = scratch();
    let file = directory.path().join("data");
    std::fs::File::create(&file).and_then(|file| file.set_len(64 << 30)).expect("a sparse file");
    std::fs::write(
        directory.path().join("log"),
        "fio version 3 iolog\n0 data add\n0 data open\n1 data read 0 4096\n2 data trim 0 4294963200\n3 data write 4096 4096\n",
    )
    .expect("written");
    for words in [
        "--name=a --filename=data --size=64g --bs=1g --rw=trim --ioengine=libaio --iodepth=64 --direct=1",
        "--name=a --filename=data --size=64g --io_size=32g --bs=4k,4k,1g --rw=randtrim --ioengine=libaio --iodepth=64 --direct=1",
        "--name=a --read_iolog=log --ioengine=libaio --iodepth=64 --replay_no_stall=1",
        // A write after a trim is as long as the trim.
        "--name=a --filename=data --size=1m --bs=4k,4k,64k --rw=trimwrite --ioengine=libaio --iodepth=64 --direct=1",
        "--name=a --filename=data --size=1m --bs=4k,4k,64k --rw=trimwrite --ioengine=psync --verify=crc32c",
    ] {
        let finished = Launch::fathom(directory.path()).words(words).words("--output-format=json").run();
        assert_eq!(finished.code(), 0, "{words}: {}{}", finished.stdout, finished.stderr);
        let trims = json::integer(json::job(&json::document(&finished.stdout), "a"), "trim/total_ios");
        assert!(trims > 0, "{words}");
    }
}

#[test]
fn trims_of_a_file_punch_holes() {
    // The installed release only trims devices.
    fathom_only!();
    let directory = scratch();
    let path = file_of(directory.path(), "data", MIB);
    std::fs::File::open(&path).and_then(|file| file.sync_all()).expect("the file can be synced");
    let before = std::fs::metadata(&path).expect("metadata").blocks();
    run(directory.path(), "--name=job --filename=data --rw=randtrim --bs=64k --size=512k");
    let after = std::fs::metadata(&path).expect("metadata");
    assert!(after.blocks() <= before / 2 + 16, "{before} blocks became {}", after.blocks());
    assert_eq!(after.len(), MIB, "the size stays");
}

#[test]
fn unlink_removes_what_was_made() {
    let directory = scratch();
    let finished =
        Launch::fathom(directory.path()).words("--name=job --rw=write --bs=4k --size=64k --unlink=1").run();
    assert_eq!(finished.code(), 0, "{}{}", finished.stdout, finished.stderr);
    assert_eq!(sizes(directory.path()), []);
}

#[test]
fn create_only_does_no_io() {
    let directory = scratch();
    run(directory.path(), "--name=job --filename=data --rw=read --bs=4k --size=64k --create_only=1");
    assert_eq!(sizes(directory.path()), [("data".to_string(), 64 * KIB)]);
}

#[test]
fn a_percent_offset_is_the_same_before_and_after_the_layout() {
    let directory = scratch();
    let words = "--output-format=json --name=job --filename=data --size=1M --offset=50% --offset_increment=10% \
                 --offset_align=64k --numjobs=3 --group_reporting";
    for rw in ["read", "write", "read"] {
        let finished = Launch::fathom(directory.path()).words(words).words(&format!("--rw={rw}")).run();
        assert_eq!(finished.code(), 0, "{finished:?}");
        let bytes =
            json::integer(json::job(&json::document(&finished.stdout), "job"), &format!("{rw}/io_bytes"));
        assert_eq!(bytes, 3 * MIB);
        // The last clone begins at 512 KiB and twice 128 KiB (10% of the size, rounded up).
        let size = std::fs::metadata(directory.path().join("data")).expect("the file is there").len();
        assert_eq!(size, MIB + 512 * KIB + 2 * 128 * KIB);
    }
}

#[test]
fn a_mounted_disk_is_written_where_that_is_allowed() {
    let mounted = require!(Mounted::new("ext4", 16 * MIB));
    let directory = scratch();
    let device = mounted.device().expect("a device").display().to_string();
    // The block is unused by the file system: the kilobyte before its superblock.
    let words = format!("--name=a --filename={device} --rw=write --bs=512 --size=512 --ioengine=psync");
    let refused = Launch::fathom(directory.path()).words(&words).run();
    assert_eq!(refused.code(), 1);
    let line = format!("fio: {device} appears mounted, and 'allow_mounted_write' isn't set. Aborting.");
    assert!(refused.stderr.contains(&line), "{}", refused.stderr);
    let words = format!("{words} --allow_mounted_write=1 --buffer_pattern=0x6b --end_fsync=1");
    Launch::fathom(directory.path()).words(&words).run().expect_clean();
    let mut block = [0; 512];
    let file = std::fs::File::open(&device).expect("the device");
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut block, 0).expect("its first block");
    assert_eq!(block, [0x6b; 512]);
}

#[test]
fn a_text_may_name_directories_of_another_machine() {
    let directory = scratch();
    let job = "--directory=/no/such/directory --name=a --size=4k";
    Launch::fathom(directory.path()).words(&format!("--parse-only {job}")).run().expect_clean();
    let refused = Launch::fathom(directory.path()).words(job).run();
    assert_eq!(refused.code(), 1);
    assert!(refused.stderr.contains("/no/such/directory is not a directory"), "{}", refused.stderr);
}

#[test]
fn options_for_what_is_not_there_are_told() {
    let directory = scratch();
    let job = "--name=a --ioengine=null --size=4k --rw=trim";
    let noted = Launch::fathom(directory.path()).words(&format!("{job} --unique_filename=0")).run();
    assert_eq!(noted.code(), 0);
    assert!(
        noted.stderr.contains("job a: unique_filename has no effect without --client"),
        "{}",
        noted.stderr
    );
    let refused = Launch::fathom(directory.path()).words(&format!("{job} --num_range=8")).run();
    assert_eq!(refused.code(), 1);
    let line = "fio: can't use multiple ranges with IO engine null";
    assert!(refused.stderr.contains(line), "{}", refused.stderr);
}

#[test]
fn files_are_called_by_their_section() {
    let directory = scratch();
    // With a byte order mark and Windows line endings, as written by editors there.
    let job = "\u{feff}[global]\r\nrw=write\r\nbs=4k\r\nsize=32k\r\n[one]\r\nname=same\r\n[two]\r\nname=same\r\nsize=16k\r\n\
               [sub/three]\r\n";
    std::fs::write(directory.path().join("job.fio"), job).expect("a file can be written");
    let document = run(directory.path(), "job.fio");
    let names: Vec<&str> =
        document["jobs"].as_array().expect("jobs").iter().filter_map(|job| job["jobname"].as_str()).collect();
    assert_eq!(names, ["same", "same", "sub/three"]);
    std::fs::remove_file(directory.path().join("job.fio")).expect("the job file");
    let expected = [("one.0.0", 32 * KIB), ("two.0.0", 16 * KIB)];
    let found: Vec<(String, u64)> = sizes(directory.path())
        .into_iter()
        .filter(|(name, _)| name != "sub" && !name.ends_with(".state"))
        .collect();
    assert_eq!(found, expected.map(|(name, size)| (name.to_owned(), size)));
    assert_eq!(sizes(&directory.path().join("sub")), [("three.0.0".to_owned(), 32 * KIB)]);
}
