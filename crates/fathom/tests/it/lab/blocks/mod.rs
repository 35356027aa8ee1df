//! Block devices: atomic writes, errors, slow devices, polled queues, trims, large logical blocks, and devices that
//! disappear.

mod crash;
mod faults;

use super::{content, device, run, tool, tool_with, with};
use crate::support::devices::statistics;
use crate::support::program::{self, Launch};
use crate::support::{KIB, MIB, json, scratch};
use std::time::Duration;

#[test]
fn atomic_writes_work_up_to_the_limit_of_the_device() {
    let device = require!(device("nvme"));
    for engine in
        ["pvsync2", "libaio --iodepth=8", "io_uring --iodepth=8", "io_uring --iodepth=8 --registerfiles=1"]
    {
        let common =
            format!("--ioengine={engine} --direct=1 --atomic=1 --rw=randwrite --size=2m --verify=crc32c");
        run(&device, &format!("{common} --bs=32k")).expect_clean();
        let beyond = run(&device, &format!("{common} --bs=64k"));
        assert!(beyond.stdout.contains("err=22"), "{engine}: {}{}", beyond.stdout, beyond.stderr);
        assert_eq!(beyond.code(), 1, "{engine}");
    }
}

#[test]
fn a_device_without_atomic_writes_refuses_them() {
    let device = require!(device("null_blk"));
    for engine in ["pvsync2", "libaio", "io_uring"] {
        let words = format!("--ioengine={engine} --direct=1 --atomic=1 --rw=write --size=64k --bs=4k");
        let finished = run(&device, &words);
        assert!(finished.stdout.contains("err=95"), "{engine}: {}{}", finished.stdout, finished.stderr);
    }
}

#[test]
fn bad_blocks_are_counted_and_cost_no_report() {
    let device = require!(device("dm_error"));
    let reference = require!(program::reference());
    for engine in ["psync", "libaio --iodepth=4", "io_uring --iodepth=4", "mmap --direct=0"] {
        let words = format!(
            "--ioengine={engine} --direct=1 --rw=read --bs=64k --offset=31m --size=4m --continue_on_error=all --output-format=json"
        );
        if engine.starts_with("mmap") {
            continue;
        }
        let [own, theirs] = [None, Some(&reference)].map(|fio| {
            let directory = scratch();
            let launch =
                fio.map_or_else(|| Launch::fathom(directory.path()), |fio| Launch::of(fio, directory.path()));
            let finished = with(launch, &device, &words);
            let document = json::document(&finished.stdout);
            let job = json::job(&document, "job");
            ["error", "total_err", "first_error", "read/io_bytes"].map(|path| json::integer(job, path))
        });
        assert_eq!(own, [5, 16, 5, 3 * MIB], "{engine}");
        assert_eq!(own, theirs, "{engine}");
    }
}

#[test]
fn a_job_ends_at_the_first_bad_block_and_names_it() {
    let device = require!(device("dm_error"));
    let finished = run(&device, "--ioengine=io_uring --direct=1 --rw=read --bs=64k --offset=31m --size=4m");
    assert_eq!(finished.code(), 1);
    let named = format!("error on file {device}: Input/output error: read offset={}, buflen=65536", 32 * MIB);
    assert!(
        finished.stderr.contains(&named) || finished.stdout.contains(&named),
        "{}{}",
        finished.stdout,
        finished.stderr
    );
}

#[test]
fn no_latency_is_shorter_than_the_device_takes() {
    let device = require!(device("dm_delay"));
    for engine in ["psync", "libaio --iodepth=4", "io_uring --iodepth=4"] {
        let words = format!(
            "--ioengine={engine} --direct=1 --rw=randrw --bs=4k --size=1m --io_size=256k --output-format=json"
        );
        let shortest = || {
            let document = json::document(&run(&device, &words).expect_clean().stdout);
            let job = json::job(&document, "job");
            ["read", "write"].map(|direction| json::integer(job, &format!("{direction}/lat_ns/min")))
        };
        // Its timers may fire a tick early, and several ticks on a starved machine, but not every time.
        let mut tried = Vec::new();
        let is_true = (0..8).any(|_| {
            let [read, write] = shortest();
            tried.push([read, write]);
            read >= 6_000_000 && write >= 16_000_000
        });
        assert!(is_true, "{engine}: {tried:?}");
    }
}

#[test]
fn polled_queues_move_the_same_data() {
    let device = require!(device("nvme"));
    for engine in ["io_uring --hipri --iodepth=8", "pvsync2 --hipri"] {
        let words =
            format!("--ioengine={engine} --direct=1 --rw=randwrite --bs=4k --size=1m --verify=crc32c");
        run(&device, &words).expect_clean();
    }
}

#[test]
fn trims_take_the_blocks_they_name_and_no_others() {
    for name in ["nvme", "null_blk", "scsi"] {
        let device = require!(device(name));
        for engine in ["psync", "libaio --iodepth=4", "io_uring --iodepth=4"] {
            run(&device, "--ioengine=psync --direct=1 --rw=write --bs=64k --size=1m --buffer_pattern=0x5a")
                .expect_clean();
            let trims = format!("--ioengine={engine} --rw=trim --bs=4k --offset=128k --size=256k");
            run(&device, &trims).expect_clean();
            let content = content(&device, MIB);
            let is_gone = |block: usize| (32..96).contains(&block);
            for (block, bytes) in content.chunks(4 * KIB as usize).enumerate() {
                let expected = if is_gone(block) { 0 } else { 0x5a };
                assert!(bytes.iter().all(|byte| *byte == expected), "{name}, {engine}: block {block}");
            }
        }
    }
}

#[test]
fn blocks_smaller_than_those_of_the_device_fail_as_with_fio() {
    let device = require!(device("fdp"));
    let reference = require!(program::reference());
    for engine in ["psync", "libaio", "io_uring"] {
        let words =
            format!("--ioengine={engine} --direct=1 --rw=write --bs=512 --size=64k --output-format=json");
        let own = run(&device, &words);
        let theirs = with(Launch::of(&reference, scratch().path()), &device, &words);
        let error = |text: &str| json::integer(json::job(&json::document(text), "job"), "error");
        assert_eq!((own.code(), error(&own.stdout)), (theirs.code(), error(&theirs.stdout)), "{engine}");
        assert_eq!(error(&own.stdout), 22, "{engine}");
    }
}

#[test]
fn uncached_writes_leave_nothing_in_the_page_cache() {
    let device = require!(device("virtio"));
    let directory = scratch();
    let place = directory.path().display();
    tool("mkfs.ext4", &format!("-q -F {device}"));
    tool("mount", &format!("{device} {place}"));
    let cached = |engine: &str, uncached: u32| {
        let file = format!("{place}/{engine}-{uncached}");
        let words =
            format!("--rw=write --bs=64k --size=8m --end_fsync=1 --ioengine={engine} --uncached={uncached}");
        run(&file, &words).expect_clean();
        let text = tool("fincore", &format!("--bytes --noheadings --output RES {file}"));
        text.trim().parse::<u64>().expect("a number of bytes")
    };
    let results = ["pvsync2", "io_uring"].map(|engine| (cached(engine, 1), cached(engine, 0)));
    tool("umount", &place.to_string());
    for (without, with) in results {
        assert!(without <= MIB, "{without} bytes of an uncached file are cached");
        assert!(with >= 7 * MIB, "{with} bytes of a cached file are cached");
    }
}

#[test]
fn a_device_that_goes_away_ends_the_job_with_its_report() {
    let device = require!(device("virtio_scsi"));
    let words = format!(
        "--name=job --filename={device} --ioengine=io_uring --direct=1 --rw=randread --bs=4k --iodepth=4 --rate_iops=500 --time_based --runtime=60 --output-format=json"
    );
    let directory = scratch();
    let kernel_name = device.trim_start_matches("/dev/");
    let reads = || statistics(kernel_name)[0];
    let before = reads();
    let running = Launch::fathom(directory.path()).words(&words).start();
    while reads() < before + 100 {
        assert!(running.elapsed() < Duration::from_secs(60), "the job reads nothing");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::fs::write(format!("/sys/block/{kernel_name}/device/delete"), "1")
        .expect("the kernel removes the device");
    let finished = running.finish();
    assert_eq!(finished.code(), 1, "{}", finished.stderr);
    assert!(finished.elapsed < Duration::from_secs(60), "it went on without a device");
    let document = json::document(&finished.stdout);
    let job = json::job(&document, "job");
    assert!(json::integer(job, "read/total_ios") > 10, "{job}");
    assert!(json::integer(job, "error") > 0, "{job}");
}

/// Mapped devices over the same blocks, one of them mounted, and one on other blocks.
#[test]
fn mapped_devices_over_blocks_in_use_are_protected() {
    fathom_only!();
    let disk = require!(device("null_blk"));
    let target = |name: &str| format!("/dev/mapper/fathom_{name}");
    for (name, table) in [
        ("mounted", format!("0 65536 linear {disk} 0")),
        ("over", format!("0 65536 linear {disk} 40000")),
        ("striped", format!("0 8192 striped 2 128 {disk} 200000 {disk} 0")),
        ("beside", format!("0 8192 linear {disk} 120000")),
    ] {
        tool_with("dmsetup", &["create", &format!("fathom_{name}"), "--table", &table]);
    }
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().to_str().expect("text");
    tool("mkfs.ext4", &format!("-q {}", target("mounted")));
    tool("mount", &format!("{} {place}", target("mounted")));
    let write = |name: &str| run(&target(name), "--rw=write --bs=64k --size=1m");
    for name in ["over", "striped"] {
        let refused = write(name);
        assert_eq!(refused.code(), 1, "{name}: {}", refused.stderr);
        let line = format!("over the same blocks as it is mounted at {place} (ext4)");
        assert!(refused.stderr.contains(&line), "{name}: {}", refused.stderr);
    }
    write("beside").expect_clean();
    tool("umount", place);
    write("over").expect_clean();
    for name in ["mounted", "over", "striped", "beside"] {
        tool("dmsetup", &format!("remove fathom_{name}"));
    }
}
