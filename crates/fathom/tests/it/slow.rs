//! Slowness is not an error: fathom waits for slow devices, workers without a processor, and the user's
//! commands. It reports what it is waiting for, and a second Ctrl-C ends the wait.

use crate::hung_fs::{Faults, HungFs};
use crate::support::devices::{Mounted, Throttle};
use crate::support::program::{Finished, Launch, Running};
use crate::support::{MIB, PATIENCE, json, processes, scratch};
use std::time::Duration;

/// Bytes per second of a slow device.
const RATE: u64 = 256 << 10;

struct Slow {
    _throttle: Throttle,
    mounted: Mounted,
}

/// A file system on a device with slow writes.
fn slow() -> Result<Slow, String> {
    let mounted = Mounted::new("ext4", 32 * MIB)?;
    let throttle = Throttle::of_everybody(mounted.device().expect("it has one"), "write_bps", RATE)?;
    Ok(Slow { _throttle: throttle, mounted })
}

#[track_caller]
fn check_healthy(finished: &Finished, name: &str, waited_for: &str) {
    let document = json::document(&finished.stdout);
    assert_eq!(json::integer(json::job(&document, name), "error"), 0, "{}", finished.stdout);
    assert!(finished.stderr.contains(waited_for), "{}", finished.stderr);
    assert_eq!(document.get("fathom notes"), None, "{}", finished.stdout);
}

fn wait_for_stage_line(running: &Running, condition: impl Fn() -> bool) {
    while !condition() {
        assert!(running.elapsed() < PATIENCE, "it does not come to that");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The sync before verification takes 4 s, longer than the run time of 2 s, but does not count against it.
#[test]
fn data_on_a_slow_device_is_verified() {
    fathom_only!();
    let slow = require!(slow());
    let finished = Launch::fathom(slow.mounted.path())
        .words("--output-format=json --name=v --rw=write --size=1M --bs=64k --verify=crc32c --runtime=2 --ioengine=psync")
        .run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    check_healthy(&finished, "v", "");
    let document = json::document(&finished.stdout);
    assert_eq!(json::integer(json::job(&document, "v"), "read/total_ios"), 16, "everything is read back");
}

#[test]
fn a_write_that_outlasts_its_job() {
    fathom_only!();
    let slow = require!(slow());
    let finished = Launch::fathom(slow.mounted.path())
        .words(
            "--output-format=json --name=w --rw=write --size=2M --bs=2M --direct=1 --ioengine=libaio --runtime=1 \
             --allow_file_create=1",
        )
        .run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    check_healthy(&finished, "w", "job w (pid ");
    assert!(finished.stderr.contains("waiting for 1 write, "), "{}", finished.stderr);
}

#[test]
fn an_interrupted_final_sync() {
    fathom_only!();
    let slow = require!(slow());
    let file = slow.mounted.path().join("s.0.0");
    let running = Launch::fathom(slow.mounted.path())
        .words("--output-format=json --name=s --rw=write --size=1M --bs=64k --end_fsync=1 --ioengine=psync")
        .start();
    wait_for_stage_line(&running, || {
        // After the last write only the sync waits for the device.
        let is_written = std::fs::metadata(&file).is_ok_and(|found| found.len() == MIB);
        let mut below = processes::descendants(running.pid()).into_iter();
        is_written && below.any(|pid| processes::state(pid) == Some('D'))
    });
    std::thread::sleep(Duration::from_millis(300));
    running.signal("INT");
    let finished = running.finish();
    assert_eq!(finished.code(), 128, "{}", finished.stderr);
    check_healthy(&finished, "s", "waiting for its data to be synced; a second Ctrl-C ends the wait");
}

/// A process that was stopped by a signal, or gets no processor, cannot have progressed.
#[test]
fn a_worker_that_does_not_run() {
    fathom_only!();
    for more in ["--ioengine=io_uring --iodepth=4", "--ioengine=psync --thread"] {
        let directory = scratch();
        let running = Launch::fathom(directory.path())
            .words("--output-format=json --patience=1s --name=u --rw=randwrite --size=1M --bs=4k --runtime=4 --time_based")
            .words("--rate_iops=500")
            .words(more)
            .start();
        running.wait_for_sleeps(100);
        let workers = processes::descendants(running.pid());
        workers.iter().for_each(|&worker| processes::signal(worker, "STOP"));
        running.wait_for_message("waiting for its process, which a signal has stopped");
        // Longer than the program waits.
        std::thread::sleep(Duration::from_millis(1_500));
        workers.iter().for_each(|&worker| processes::signal(worker, "CONT"));
        let finished = running.finish();
        assert_eq!(finished.code(), 0, "{more}: {}", finished.stderr);
        check_healthy(&finished, "u", "waiting for its process, which a signal has stopped");
    }
}

#[test]
fn a_command_after_the_run() {
    fathom_only!();
    let directory = scratch();
    let start = |seconds| {
        let running = Launch::fathom(directory.path())
            .words(
                "--output-format=json --patience=500ms --name=p --rw=read --ioengine=null --size=1G --bs=4k",
            )
            .words("--time_based --runtime=60 --rate_iops=500")
            .argument(format!("--exec_postrun=touch begun; sleep {seconds}; touch done"))
            .start();
        running.wait_for_sleeps(100);
        running.signal("INT");
        wait_for_stage_line(&running, || directory.path().join("begun").exists());
        running
    };
    let finished = start(2).finish();
    assert_eq!(finished.code(), 128, "{}", finished.stderr);
    check_healthy(
        &finished,
        "p",
        "waiting for the program of exec_postrun or ioengine=exec; a second Ctrl-C ends the wait",
    );
    assert!(directory.path().join("done").exists(), "the command was not let end");

    for name in ["begun", "done"] {
        std::fs::remove_file(directory.path().join(name)).expect("it was made");
    }
    let running = start(50);
    std::thread::sleep(Duration::from_millis(300));
    running.signal("INT");
    let finished = running.finish();
    assert!(finished.elapsed < Duration::from_secs(40), "it was waited for all the same");
    assert!(finished.stdout.contains("was ended by a second signal"), "{}", finished.stdout);
    assert!(!directory.path().join("done").exists());
}

#[test]
fn a_second_ctrl_c_ends_the_wait_for_a_hung_device() {
    fathom_only!();
    let fs = require!(HungFs::mount(MIB, Faults { hang_after: Some(10), ..Default::default() }));
    let directory = scratch();
    let running = Launch::fathom(directory.path())
        .words("--output-format=json --patience=10m --name=hung --rw=read --bs=4k --size=1M --ioengine=psync")
        .argument(format!("--filename={}", fs.file().display()))
        .start();
    wait_for_stage_line(&running, || !fs.hanging().is_empty());
    running.signal_and_see("INT");
    std::thread::sleep(Duration::from_millis(500));
    running.signal("INT");
    let finished = running.finish();
    assert_eq!(finished.code(), 128, "{}", finished.stderr);
    let document = json::document(&finished.stdout);
    let hung = json::job(&document, "hung");
    assert_eq!(json::integer(hung, "read/clat_ns/N"), 10, "what was answered is counted");
    assert_ne!(json::integer(hung, "error"), 0);
    let note = document["fathom notes"][0].as_str().expect("a note");
    assert!(note.contains("was ended by a second signal: 1 I/O does not return: read "), "{note}");
    assert!(note.contains(&format!("offset={}", fs.hanging()[0].offset)), "{note}");
}
