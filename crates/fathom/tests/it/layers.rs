//! `--layers`: the parts of a latency add up to it, and the layer that is slow is named.

use crate::record::can_record;
use crate::support::devices::{LoopDevice, Mounted, Throttle};
use crate::support::groups::Quota;
use crate::support::program::{Finished, Launch};
use crate::support::{MIB, json, scratch, tasks_per_processor, wait_until};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Runs in which the slow layer has to be named.
const RUNS: usize = 20;
/// Maximum number of runs until it is named.
const REPEATS: usize = 3;
/// Maximum number of runs until the recorder has kept up.
const ATTEMPTS: usize = 10;
/// Tasks per processor above which other programs decide where the time goes.
const BUSY: f64 = 1.5;

fn document(finished: Finished) -> Value {
    json::document(&finished.expect_clean().stdout)
}

/// The layers of a job's reads or writes.
#[track_caller]
fn layers<'a>(document: &'a Value, direction: &str) -> &'a Value {
    let layers = &json::job(document, "job")[direction]["layers"];
    assert!(layers.is_object(), "{document}");
    layers
}

/// The mean and its parts, in ns, in the order above, queue, device, completion.
fn mean(layers: &Value) -> (u64, [u64; 4]) {
    let made = layers["made_of"].as_array().and_then(|all| all.first()).expect("a mean");
    parts(made)
}

fn parts(made: &Value) -> (u64, [u64; 4]) {
    let ns = |name: &str| made[name].as_u64().expect("a number");
    (ns("total_ns"), ["above_ns", "queue_ns", "device_ns", "completion_ns"].map(ns))
}

/// The layer with the largest part of the mean.
fn largest(layers: &Value) -> &'static str {
    let (_, parts) = mean(layers);
    let index = (0..4).max_by_key(|&layer| parts[layer]).expect("four");
    ["above", "queue", "device", "completion"][index]
}

/// Checks that everything in a direction's layers agrees with its latencies.
#[track_caller]
fn expect_sums(document: &Value, direction: &str, context: &str) {
    let (own, layers) = (&json::job(document, "job")[direction], layers(document, direction));
    let (ios, unseen) = (json::integer(own, "total_ios"), json::integer(layers, "unseen"));
    let seen = json::integer(layers, "total_ns/N");
    let run = &document["fathom layers"];
    if json::integer(run, "one_in") == 1 {
        assert_eq!(seen + unseen, ios, "{context}: {run}");
        assert!(unseen * 10 <= ios, "{context}: {unseen} of {ios} are unknown: {run}");
    }
    for made in layers["made_of"].as_array().expect("a list") {
        let (total, parts) = parts(made);
        assert_eq!(parts.iter().sum::<u64>(), total, "{context}: {made}");
    }
    let mean_of = |name: &str| layers[name]["mean"].as_f64().expect("a mean");
    let sum: f64 = ["above_ns", "queue_ns", "device_ns", "completion_ns"].map(mean_of).iter().sum();
    let total = mean_of("total_ns");
    assert!((sum - total).abs() < 1.0 + total * 1e-6, "{context}: {sum} and {total}");
    // The layers of all I/Os are those of the latency that the job measured; a sample has another mean.
    if unseen == 0 && seen == ios && json::integer(run, "one_in") == 1 {
        let measured = own["lat_ns"]["mean"].as_f64().expect("a mean");
        assert!((measured - total).abs() < 1.0 + total * 1e-3, "{context}: {measured} and {total}");
    }
}

#[test]
fn the_layers_of_an_io_add_up_to_its_latency() {
    fathom_only!();
    require!(can_record());
    let device = require!(LoopDevice::new(16 * MIB));
    let system = require!(Mounted::new("ext4", 64 * MIB));
    let directory = scratch();
    let on_device = format!("--filename={}", device.text());
    let on_files = format!("--directory={} --nrfiles=3 --size=6m", system.path().display());
    for target in [&on_device, &on_files] {
        for words in [
            "--rw=randread --ioengine=psync",
            "--rw=randrw --ioengine=libaio --iodepth=8",
            "--rw=randread --ioengine=io_uring --iodepth=4 --thread --numjobs=2 --group_reporting",
            "--rw=write --bs=256k --ioengine=pvsync --thread",
            "--rw=randwrite --ioengine=psync --sync=dsync",
        ] {
            let words = format!("--name=job {target} --bs=4k --direct=1 --size=6m {words}");
            let finished = Launch::fathom(directory.path())
                .words(&format!("--layers --output-format=json {words} --loops=2 --rate_iops=2000"))
                .run();
            let document = document(finished);
            // At this rate, nothing is sampled, so that each I/O counts in what is compared.
            assert_eq!(json::integer(&document["fathom layers"], "one_in"), 1, "{words}");
            for direction in ["read", "write"] {
                if json::integer(json::job(&document, "job"), &format!("{direction}/total_ios")) > 0 {
                    expect_sums(&document, direction, &words);
                    let (_, [_, _, device, _]) = mean(layers(&document, direction));
                    assert!(device > 0, "{words}: {document}");
                }
            }
            assert!(json::integer(&document["fathom layers"], "events") > 0, "{words}");
        }
    }
}

#[test]
fn caches_and_memory_are_above_the_block_layer() {
    fathom_only!();
    require!(can_record());
    let system = require!(Mounted::new("ext4", 64 * MIB));
    let memory = require!(Mounted::memory(16 * MIB));
    let run = |place: &Path, words: &str| {
        Launch::fathom(place)
            .words(&format!("--layers --output-format=json --name=job --size=4m {words}"))
            .run()
    };
    let cached = document(run(system.path(), "--rw=randwrite --ioengine=psync"));
    let own = layers(&cached, "write");
    assert_eq!(json::integer(own, "without_request"), json::integer(own, "total_ns/N"), "{own}");
    assert_eq!(largest(own), "above");
    // A file system without a device says so.
    let finished = run(memory.path(), "--rw=randread --ioengine=psync");
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(finished.stderr.contains("is on tmpfs, which has no block device"), "{}", finished.stderr);
    let own = json::document(&finished.stdout);
    let own = layers(&own, "read");
    assert_eq!((largest(own), json::integer(own, "unseen")), ("above", 0), "{own}");
}

/// Checks that most of the time of the reads was in the queue. A moment in which other programs have the processors makes
/// another layer the slow one, so that a run may be repeated. An error on a machine that is always too busy.
#[track_caller]
fn expect_queue(engine: &str, run: impl Fn() -> Finished) -> Result<(), String> {
    let mut named = Vec::new();
    for _ in 0..REPEATS {
        let document = document(run());
        expect_sums(&document, "read", engine);
        let own = layers(&document, "read");
        if largest(own) == "queue" {
            return Ok(());
        }
        named.push(format!("{}: {}", largest(own), own["made_of"]));
    }
    if tasks_per_processor() > BUSY {
        return Err(format!("the machine is too busy: most of the time was {named:?}"));
    }
    panic!("{engine}: {named:?}");
}

#[test]
fn a_limit_of_the_group_is_the_queue() {
    fathom_only!();
    require!(can_record());
    let device = require!(LoopDevice::new(MIB));
    let throttle = require!(Throttle::new(device.path(), 10));
    let directory = scratch();
    for number in 0..RUNS {
        let engine = ["psync", "libaio --iodepth=4", "io_uring --iodepth=4", "pvsync --thread --numjobs=2"]
            [number % 4];
        require!(expect_queue(engine, || {
            Launch::in_group(directory.path(), &throttle.members())
                .words(
                    "--layers --output-format=json --name=job --rw=randread --bs=4k --direct=1 --time_based",
                )
                .words(&format!(
                    "--runtime=400ms --filename={} --ioengine={engine} --group_reporting",
                    device.text()
                ))
                .run()
        }));
    }
}

/// A job of the idle class is served when the scheduler has nothing else, and its requests wait in the queue.
#[test]
fn a_scheduler_that_prefers_others_is_the_queue() {
    fathom_only!();
    require!(can_record());
    let device = require!(LoopDevice::new(16 * MIB));
    require!(device.tune("scheduler", "bfq"));
    // The device serves one request at a time, and stays idle for the next read of those that are preferred.
    require!(device.tune("iosched/strict_guarantees", "1"));
    let directory = scratch();
    let both = format!("--filename={} --rw=randread --bs=4k --direct=1 --time_based", device.text());
    for number in 0..RUNS {
        let engine = ["psync", "libaio --iodepth=2"][number % 2];
        require!(expect_queue(engine, || {
            Launch::fathom(directory.path())
                .words("--layers --output-format=json")
                // The others read before the job begins and still after it ends, and never enough to fill the device.
                .words(&format!("--name=others {both} --runtime=800ms --ioengine=psync --rate_iops=4000"))
                .words("--prioclass=2")
                .words(&format!("--name=job {both} --runtime=400ms --startdelay=100ms --ioengine={engine}"))
                .words("--prioclass=3")
                .run()
        }));
    }
}

#[test]
fn a_busy_processor_is_outside_of_the_device() {
    fathom_only!();
    require!(can_record());
    let device = require!(LoopDevice::new(16 * MIB));
    // As if others had the processor for nine tenths of the time, but no other test is slowed down.
    let quota = require!(Quota::new(10));
    let directory = scratch();
    for _ in 0..RUNS {
        let finished = Launch::in_group(directory.path(), &quota.members())
            .words("--layers --output-format=json --name=job --rw=randread --bs=4k --direct=1 --time_based")
            .words(&format!("--runtime=300ms --filename={} --ioengine=psync", device.text()))
            .run();
        let document = json::document(&finished.stdout);
        let own = layers(&document, "read");
        let (total, [above, _, device, completion]) = mean(own);
        if above + completion < device && tasks_per_processor() > BUSY {
            skip!("the machine is too busy: the device itself waits for a processor: {own}");
        }
        let named = ["above", "completion"].contains(&largest(own));
        assert!(named && 2 * (above + completion) > total, "{own}");
    }
}

#[test]
fn high_rates_are_sampled_and_counted_in_full() {
    fathom_only!();
    require!(can_record());
    let device = require!(LoopDevice::new(64 * MIB));
    let directory = scratch();
    // A recorder that waits for a processor for a tenth of a second loses what comes meanwhile, and counts it. A change
    // of the sample loses none that are in flight.
    let is_whole = |_| {
        let unseen = sampled(directory.path(), &device);
        unseen.is_none_or(|(unseen, reads)| unseen * 1000 < reads)
    };
    assert!((0..ATTEMPTS).any(is_whole), "some I/Os are unknown in each of {ATTEMPTS} runs");
}

/// Checks the layers of reads at the highest rate. Returns the number of those that are unknown, and of all, if they were
/// sampled: a slow machine may record everything.
fn sampled(directory: &Path, device: &LoopDevice) -> Option<(u64, u64)> {
    let finished = Launch::fathom(directory)
        .words("--layers --output-format=json --name=job --rw=randread --bs=4k --direct=1 --time_based")
        .words(&format!("--runtime=3 --filename={} --ioengine=io_uring --iodepth=16", device.text()))
        .run();
    let document = document(finished);
    let reads = json::integer(json::job(&document, "job"), "read/total_ios");
    let own = layers(&document, "read");
    let unseen = json::integer(own, "unseen");
    let counted = json::integer(own, "total_ns/N") + unseen;
    if json::integer(&document["fathom layers"], "one_in") == 1 {
        assert_eq!(counted, reads);
        return None;
    }
    let ratio = counted as f64 / reads as f64;
    assert!((0.8..1.2).contains(&ratio), "{counted} of {reads}: {own}");
    assert!(json::integer(&document["fathom layers"], "events") < 3 * reads, "{document}");
    Some((unseen, reads))
}

#[test]
fn what_is_recorded_is_shown_explained_and_drawn() {
    fathom_only!();
    require!(can_record());
    let device = require!(LoopDevice::new(4 * MIB));
    let directory = scratch();
    let words = format!("--layers --name=job --rw=randread --bs=4k --direct=1 --filename={}", device.text());
    let text = Launch::fathom(directory.path()).words(&words).run().expect_clean().stdout;
    for part in [
        "   layers      :",
        "     device    :",
        "     completion:",
        "     in all    :",
        "\nLayers:\n  recorded: all blocks, ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let run = |words: &str| {
        let finished = Launch::fathom(directory.path()).words(words).run();
        assert_eq!(finished.code(), 0, "{words}: {}", finished.stderr);
        finished.stdout
    };
    run(&format!("{words} --output-format=json --output=r.json"));
    for command in ["explain --all r.json", "show r.json"] {
        let told = run(command).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains("Of the mean latency of the reads, "), "{command}: {told}");
        assert!(told.contains("Of the p99 of the reads, "), "{command}: {told}");
    }
    run("report r.json -o page.html");
    let page = fs::read_to_string(directory.path().join("page.html")).expect("written");
    assert!(page.contains("Where the time of reads goes"), "the chart");
    run("report r.json --chart=job-read-layers -o chart.svg");
    let chart = fs::read_to_string(directory.path().join("chart.svg")).expect("written");
    assert!(chart.contains("<svg"), "the chart alone");
}

#[test]
fn without_privileges_the_message_says_what_to_do() {
    fathom_only!();
    let directory = scratch();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(directory.path(), mode).expect("can be set");
    let unprivileged = require!(Launch::unprivileged(directory.path()));
    let finished = unprivileged.words("--layers --name=job --size=64k --rw=write").run();
    assert_eq!(finished.code(), 1, "{}", finished.stdout);
    assert!(
        finished.stderr.contains("fathom: --layers: ") && finished.stderr.contains("recording needs root"),
        "{}",
        finished.stderr
    );
    assert!(!directory.path().join("job.0.0").exists(), "nothing was run");
}

#[test]
fn nothing_stays_behind_even_if_all_are_killed() {
    fathom_only!();
    require!(can_record());
    let device = require!(LoopDevice::new(4 * MIB));
    let directory = scratch();
    let words = format!(
        "--layers --name=job --rw=randread --bs=4k --direct=1 --time_based --runtime=60 --filename={}",
        device.text()
    );
    let mut running = Launch::fathom(directory.path()).words(&words).start();
    let group = || {
        let all = fs::read_dir("/sys/kernel/tracing/instances").into_iter().flatten().flatten();
        // Each name holds the process of its recorder, whose parent is the run.
        all.map(|entry| entry.file_name().to_string_lossy().into_owned()).find(|name| {
            let recorder = name.strip_prefix("fathom-").and_then(|rest| rest.split('-').next());
            let stat = recorder.and_then(|pid| fs::read_to_string(format!("/proc/{pid}/stat")).ok());
            let parent = stat.and_then(|stat| stat.rsplit(") ").next()?.split(' ').nth(1)?.parse().ok());
            parent == Some(running.pid())
        })
    };
    let mut instance = None;
    wait_until("the recorder has its instance", || {
        instance = group();
        instance.is_some()
    });
    let instance = Path::new("/sys/kernel/tracing/instances").join(instance.expect("found"));
    running.signal("KILL");
    let _ = running.finish_in_time();
    wait_until("the instance is removed", || !instance.exists());
}
