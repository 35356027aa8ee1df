use super::*;

fn judge(options: &str, figures: &str, disk: &str) -> BottleneckVerdict {
    let text = format!(
        r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"a","job options":{{{options}}},"job_runtime":10000,{figures}}}],
            "disk_util":[{disk}]}}"#
    );
    let run = fathom_results::parse(&text, "text").expect("reads");
    of(&Evidence::of(&run, 0))
}

const DEEP: &str = r#""ioengine":"libaio","iodepth":"32","direct":"1""#;
const READS: &str = r#""read":{"total_ios":100000,"io_bytes":409600000,"iops":10000,"runtime":10000,"bw_bytes":40960000,
    "slat_ns":{"mean":2000},"clat_ns":{"mean":3000000},"lat_ns":{"mean":3002000}}"#;
const BUSY_DISK: &str =
    r#"{"name":"sda","read_ios":100000,"read_sectors":800000,"read_ticks":290000,"util":99.1}"#;

#[track_caller]
fn check(found: &BottleneckVerdict, wanted: Bottleneck, figure: &str) {
    assert_eq!(found.bottleneck, wanted, "{found:?}");
    assert!(found.reasons.iter().any(|reason| reason.contains(figure)), "{figure} is not in {found:?}");
}

#[test]
fn each_cause_is_found_by_its_figures() {
    check(
        &judge(DEEP, &format!("\"usr_cpu\":5,\"sys_cpu\":20,{READS}"), BUSY_DISK),
        Bottleneck::Device,
        "99.1 %",
    );
    check(
        &judge(DEEP, &format!("\"usr_cpu\":15,\"sys_cpu\":84,{READS}"), BUSY_DISK),
        Bottleneck::Processor,
        "sys=84.0 %",
    );
    let limited = format!("{DEEP},\"rate_iops\":\"10k\"");
    // The limit 10k is 10240, and 10000 is 98 % of it.
    check(&judge(&limited, READS, BUSY_DISK), Bottleneck::RateLimit, "rate_iops allows");
    let idle = BUSY_DISK.replace("290000", "20000").replace("99.1", "45");
    check(&judge(DEEP, READS, &idle), Bottleneck::AboveTheDevice, "200 µs");
    let one = READS.replace("3000000", "99000").replace("3002000", "100000");
    check(&judge(r#""direct":"1""#, &one, BUSY_DISK), Bottleneck::QueueDepth, "psync waits");
    let half = judge(r#""direct":"1""#, &one, &BUSY_DISK.replace("99.1", "55"));
    check(&half, Bottleneck::QueueDepth, "55.0 %");
    assert!(!half.reasons.iter().any(|reason| reason.contains("always has something")), "{half:?}");
    let cached = BUSY_DISK.replace("800000", "8000");
    check(&judge(r#""ioengine":"libaio","iodepth":"32""#, READS, &cached), Bottleneck::Cache, "3.91 MiB");
    let blocks = READS.replace("\"slat_ns\":{\"mean\":2000}", "\"slat_ns\":{\"mean\":4000000}");
    check(&judge(DEEP, &blocks, BUSY_DISK), Bottleneck::Submission, "4.00 ms");
    let works = blocks.replace("4000000", "9000").replace("3000000", "1000").replace("3002000", "10000");
    let works = judge(DEEP, &format!("\"usr_cpu\":5,\"sys_cpu\":60,{works}"), BUSY_DISK);
    assert_ne!(works.bottleneck, Bottleneck::Submission, "{works:?}");
    let one_by_one = blocks.replace("\"iops\":10000", "\"iops\":333");
    check(&judge(&DEEP.replace("32", "1"), &one_by_one, BUSY_DISK), Bottleneck::QueueDepth, "try iodepth=32");
    let synced = format!(r#"{READS},"sync":{{"total_ios":1000,"lat_ns":{{"mean":8000000}}}}"#);
    check(&judge(DEEP, &synced, BUSY_DISK), Bottleneck::Syncs, "80.0 %");
    let pauses = format!("{DEEP},\"thinktime\":\"80\"");
    check(&judge(&pauses, READS, BUSY_DISK), Bottleneck::ThinkTime, "80.0 %");
    let pauses = format!("{DEEP},\"thinktime\":\"10ms\",\"thinktime_blocks\":\"125\"");
    check(&judge(&pauses, READS, BUSY_DISK), Bottleneck::ThinkTime, "thinktime=10ms");
    let idle_job = READS.replace("3000000", "300000").replace("3002000", "302000");
    check(&judge(DEEP, &idle_job, BUSY_DISK), Bottleneck::OwnSide, "The queue depth was 3.02");
    let short = READS.replace("\"runtime\":10000", "\"runtime\":9");
    check(&judge(DEEP, &short, BUSY_DISK), Bottleneck::Unknown, "9 ms");
    check(&judge(DEEP, &format!("\"error\":5,{READS}"), BUSY_DISK), Bottleneck::Failure, "error=5");
    check(&judge(DEEP, READS, ""), Bottleneck::Storage, "disk_util");
    check(&judge(r#""ioengine":"libaio","iodepth":"48""#, READS, ""), Bottleneck::Unknown, "disk_util");

    let checked = format!("{DEEP},\"verify\":\"sha512\"");
    let gaps = format!("\"usr_cpu\":55,\"sys_cpu\":8,{idle_job}");
    check(&judge(&checked, &gaps, BUSY_DISK), Bottleneck::Verification, "verify=sha512");
    check(&judge(DEEP, &gaps, BUSY_DISK), Bottleneck::OwnSide, "usr=55.0 %");
    let idle_writes = idle_job.replace("\"read\"", "\"write\"");
    let busy = format!("\"usr_cpu\":90,\"sys_cpu\":8,{idle_writes}");
    let compressed = format!("{DEEP},\"buffer_compress_percentage\":\"50\",\"refill_buffers\":\"1\"");
    check(
        &judge(&compressed, &busy, BUSY_DISK),
        Bottleneck::MakingData,
        "buffer_compress_percentage=50, refill_buffers",
    );
    let cycles = format!("{DEEP},\"thinkcycles\":\"100k\"");
    let spun = format!("\"usr_cpu\":80,\"sys_cpu\":5,{READS}");
    check(&judge(&cycles, &spun, BUSY_DISK), Bottleneck::ThinkTime, "thinkcycles=102400");
    // This number of cycles takes almost no time.
    check(
        &judge(&cycles.replace("100k", "100"), &format!("\"usr_cpu\":5,{READS}"), BUSY_DISK),
        Bottleneck::Device,
        "99.1 %",
    );
    let by_time = format!("{DEEP},\"thinktime\":\"200ms\",\"thinktime_iotime\":\"50ms\"");
    check(
        &judge(&by_time, READS, BUSY_DISK),
        Bottleneck::ThinkTime,
        "thinktime_iotime=50ms of I/O: about 80.0 %",
    );
}

/// Results that were measured with fio 3.33 or fathom and once judged wrongly.
#[test]
fn hard_cases() {
    // Buffered writes of fio 3.33, which does not report device bytes; the kernel writes the data later.
    let writes =
        READS.replace("\"read\"", "\"write\"").replace("3000000", "176000").replace("3002000", "178000");
    let disk = r#"{"name":"vda","write_ios":2570,"write_merges":400000,"write_ticks":42919,"util":51.5}"#;
    check(&judge(r#""ioengine":"libaio","iodepth":"2""#, &writes, disk), Bottleneck::Cache, "16.7 ms");
    // The same with byte counters: all bytes reached the device, which thus slowed the cache down.
    let told = disk.replace("\"util\":51.5", "\"write_sectors\":800000,\"util\":99.0");
    let held = judge(r#""ioengine":"libaio","iodepth":"4""#, &writes.replace("178000", "378000"), &told);
    check(&held, Bottleneck::Device, "larger requests, 16.7 ms each");
    // Syncs of fio 3.33 are counted only in their latencies.
    let synced = format!(r#"{READS},"sync":{{"total_ios":0,"lat_ns":{{"N":1000,"mean":8000000}}}}"#);
    check(&judge(DEEP, &synced, BUSY_DISK), Bottleneck::Syncs, "80.0 %");
    // Depth 1 below an invisible limit, so that the device was mostly idle.
    let slow = READS.replace("10000,\"runtime\"", "305,\"runtime\"").replace("3002000", "3280000");
    let idle = r#"{"name":"loop2","read_ios":615,"read_sectors":4920,"read_ticks":5,"util":0.2}"#;
    check(&judge(r#""direct":"1""#, &slow, idle), Bottleneck::AboveTheDevice, "at most 16.3 µs");
    // Writes that wait for their data, one after the other.
    let one = READS.replace("\"read\"", "\"write\"").replace("3002000", "99000");
    let disk = r#"{"name":"vda","write_ios":100000,"write_sectors":800000,"write_ticks":9000,"util":52.6}"#;
    check(&judge(r#""sync":"1""#, &one, disk), Bottleneck::Syncs, "With sync=1, each of 100k writes");
    check(&judge(r#""sync":"0","direct":"1""#, &one, disk), Bottleneck::QueueDepth, "52.6 %");
    // An engine without storage on a busy machine.
    let null = format!("\"usr_cpu\":70.9,{READS}");
    check(&judge(r#""ioengine":"null","iodepth":"32""#, &null, ""), Bottleneck::NoStorage, "70.9 %");
    // Other I/O keeps the device busy.
    let others = BUSY_DISK.replace("290000", "990000");
    check(&judge(DEEP, READS, &others), Bottleneck::Device, "others used the device");
    // The job itself reduced its depth.
    let target = format!("{DEEP},\"latency_target\":\"200us\"");
    let kept = format!("\"latency_depth\":9,\"latency_target\":200,{}", READS.replace("3002000", "900000"));
    check(
        &judge(&target, &kept, BUSY_DISK),
        Bottleneck::LatencyTarget,
        "a queue depth of 9 (latency_depth) of 32 requested",
    );
}

#[test]
fn groups_side_by_side_share_what_the_device_did() {
    let judge_first = |elapsed: u64| {
        let text = format!(
            r#"{{"fio version":"fio-3.33","jobs":[{{"jobname":"a","groupid":0,"job options":{{{DEEP}}},"job_runtime":10000,{READS}}},
                {{"jobname":"b","groupid":1,"elapsed":{elapsed},{READS}}}],"disk_util":[{BUSY_DISK}]}}"#
        );
        let run = fathom_results::parse(&text, "text").expect("reads");
        of(&Evidence::of(&run, 0))
    };
    check(&judge_first(11), Bottleneck::Device, "99.1 %");
    check(&judge_first(21), Bottleneck::Storage, "one after the other");
}

/// Adds the facts that only fathom records: control group limits and CPU usage.
fn judge_in(options: &str, figures: &str, disk: &str, surroundings: &str, host: &str) -> BottleneckVerdict {
    let text = format!(
        r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"a","job options":{{{options}}},"job_runtime":10000,{figures}}}],
            "disk_util":[{disk}],"fathom host":{{"processors":2{host}}},"fathom jobs":[{{"jobname":"a",{surroundings}}}]}}"#
    );
    let run = fathom_results::parse(&text, "text").expect("reads");
    of(&Evidence::of(&run, 0))
}

const IDLE: &str =
    r#""processor_wait_ms":0,"processors":{"user_ms":100,"busy_ms":500,"stolen_ms":0,"total_ms":20000}"#;
const FULL: &str = r#""processor_wait_ms":6000,"processors":{"user_ms":19000,"busy_ms":20000,"stolen_ms":0,"total_ms":20000}"#;
const QUOTA: &str = r#""limits":{"processors":[{"group":"/q","quota_us":20000,"period_us":100000,"periods":32,"throttled":32,"throttled_us":8000000}]}"#;

/// Rules that rule out the storage precede rules about interference.
#[test]
fn what_was_never_touched_was_no_bottleneck() {
    let disturbed = format!("{FULL},{QUOTA}");
    let null = judge_in(r#""ioengine":"null","iodepth":"32""#, READS, "", &disturbed, "");
    check(&null, Bottleneck::NoStorage, "cpu.max 20000 100000");
    check(&null, Bottleneck::NoStorage, "other programs kept 1.90 of 2 CPUs busy");
    let limited = judge_in(r#""ioengine":"null","iodepth":"32","rate_iops":"10000""#, READS, "", IDLE, "");
    check(&limited, Bottleneck::NoStorage, "rate_iops allows 10.0k IOPS");
    let cached = BUSY_DISK.replace("800000", "8000");
    check(
        &judge_in(r#""rw":"read""#, READS, &cached, &disturbed, ""),
        Bottleneck::Cache,
        "waited 60.0 % of the time",
    );
    let memory = r#","file_systems":[{"directory":"/dev/shm","kind":"tmpfs"}]"#;
    check(&judge_in(DEEP, READS, "", &disturbed, memory), Bottleneck::Memory, "tmpfs at /dev/shm");
    let zram = r#","devices":[{"name":"zram0"}]"#;
    check(&judge_in(DEEP, READS, BUSY_DISK, IDLE, zram), Bottleneck::Memory, "zram0 is backed by memory");
}

/// Half of the CPU time went to other guests. A mostly idle device was not the bottleneck, but a busy one was.
#[test]
fn a_host_that_gives_its_time_to_others_is_named() {
    let stolen = IDLE.replace(r#""stolen_ms":0"#, r#""stolen_ms":10000"#);
    let idle_disk = BUSY_DISK.replace("99.1", "30.0");
    assert_ne!(idle_disk, BUSY_DISK);
    for options in [DEEP, r#""rw":"randread","direct":"1","ioengine":"psync""#] {
        check(
            &judge_in(options, READS, &idle_disk, &stolen, ""),
            Bottleneck::BusyMachine,
            "hypervisor gave 50.0 % of the CPU time to other machines",
        );
        assert_ne!(judge_in(options, READS, BUSY_DISK, &stolen, "").bottleneck, Bottleneck::BusyMachine);
        assert_ne!(judge_in(options, READS, &idle_disk, IDLE, "").bottleneck, Bottleneck::BusyMachine);
    }
}

#[test]
fn limits_of_groups_are_named() {
    check(
        &judge_in(DEEP, READS, BUSY_DISK, &format!("{IDLE},{QUOTA}"), ""),
        Bottleneck::Quota,
        "32 of 32 periods",
    );
    let io = r#""limits":{"io":[{"group":"/slice","device":"sda","read_ios_per_second":10000,"read_ios":100000}]}"#;
    check(
        &judge_in(DEEP, READS, BUSY_DISK, &format!("{IDLE},{io}"), ""),
        Bottleneck::IoLimit,
        "io.max riops=10000",
    );
    let far = io.replace(":10000,", ":90000,");
    check(&judge_in(DEEP, READS, BUSY_DISK, &format!("{IDLE},{far}"), ""), Bottleneck::Device, "99.1 %");
}

#[test]
fn others_on_the_device_are_told_from_a_small_depth() {
    let one = READS.replace("3000000", "99000").replace("3002000", "100000");
    let hammered = BUSY_DISK
        .replace("\"util\"", "\"write_ios\":18000,\"write_sectors\":9000000,\"write_ticks\":900000,\"util\"");
    let found = judge(r#""direct":"1""#, &one, &hammered);
    check(&found, Bottleneck::OtherIo, "18.0k writes (4.29 GiB) from outside this run");
    check(&found, Bottleneck::OtherIo, "`fathom sweep JOBFILE --vary=numjobs=1,2,4,8`");
    check(&judge(r#""direct":"1""#, &one, BUSY_DISK), Bottleneck::QueueDepth, "follow from the latency");
}

#[test]
fn a_small_depth_at_a_busy_device_is_two_causes() {
    let four = READS.replace("3000000", "390000").replace("3002000", "400000");
    let disk = BUSY_DISK.replace("290000", "39000");
    let found = judge(r#""ioengine":"libaio","iodepth":"4","direct":"1""#, &four, &disk);
    check(&found, Bottleneck::DeviceAtThisDepth, "`fathom sweep JOBFILE --vary=iodepth=4,8,32,64`");
    assert!(!found.reasons.iter().any(|reason| reason.contains("no lack of work")), "{found:?}");
}

#[test]
fn starved_threads_of_the_kernel_are_no_fault_of_the_storage() {
    let slow = BUSY_DISK.replace("290000", "2900").replace("99.1", "1.0");
    let told = FULL.replace("6000", "10");
    check(&judge_in(DEEP, READS, &slow, &told, ""), Bottleneck::BusyMachine, "Kernel threads");
    check(&judge_in(DEEP, READS, &slow, IDLE, ""), Bottleneck::AboveTheDevice, "29.0 µs");
}

#[test]
fn advice_is_not_what_the_job_does_already() {
    let writes = READS.replace("\"read\"", "\"write\"");
    let disk = r#"{"name":"sda","write_ios":10,"write_sectors":800,"util":9}"#;
    let advice = |options: &str| judge(options, &writes, disk).reasons.join(" ");
    assert!(advice(r#""ioengine":"libaio","rw":"write""#).contains("end_fsync=1"));
    let own = advice(r#""ioengine":"libaio","rw":"write","end_fsync":"1""#);
    assert!(own.contains("direct=1") && !own.contains("end_fsync"), "{own}");
    let one = READS.replace("3000000", "99000").replace("3002000", "100000");
    let fuse = r#","file_systems":[{"directory":"/f","kind":"fuse.test"}]"#;
    let found = judge_in(r#""direct":"1""#, &one, "", IDLE, fuse);
    check(&found, Bottleneck::QueueDepth, "more clones always do");
    check(&found, Bottleneck::QueueDepth, "numjobs=4");
}

/// A network file system, with its traffic while 400 MB were read.
fn on_mount(kind: &str, counters: &str) -> String {
    format!(
        r#","file_systems":[{{"directory":"/m","kind":"{kind}","source":"s:/d","transport":"SSH",
        "daemon":{{"process":7,"name":"client","options":""}}}}]}},"fathom mounts":[{{"directory":"/m"{counters}}}],"x":{{"y":0"#
    )
}

fn moved(name: &str, bytes: u64) -> String {
    format!(r#","{name}":{{"read_bytes":{bytes},"write_bytes":{bytes}}}"#)
}

const ALL: u64 = 420_000_000;

#[test]
fn the_layer_that_answered_is_found_by_its_counter() {
    let one = READS.replace("3000000", "99000").replace("3002000", "100000");
    let told = |options: &str, kind: &str, daemon: u64, interfaces: u64| {
        let counters = moved("daemon", daemon) + &moved("interfaces", interfaces);
        judge_in(options, &one, "", IDLE, &on_mount(kind, &counters))
    };
    let (buffered, direct) = (r#""rw":"randread""#, r#""rw":"randread","direct":"1""#);
    check(
        &told(buffered, "fuse.sshfs", 100, 100),
        Bottleneck::PageCacheOfClient,
        "between the kernel and client went only 100 B",
    );
    check(
        &told(buffered, "fuse.rclone", ALL, 100),
        Bottleneck::ClientCache,
        "The kernel passed the I/O on to client",
    );
    check(
        &told(direct, "fuse.rclone", ALL, 100),
        Bottleneck::ClientCache,
        "client decides what direct I/O means",
    );
    check(
        &told(direct, "fuse.rclone", ALL, ALL),
        Bottleneck::QueueDepth,
        "the network interfaces received 401 MiB, including other",
    );
    check(
        &told(direct, "fuse.s3fs", ALL, 3 * ALL),
        Bottleneck::QueueDepth,
        "fetched more than the job asked for",
    );
    // The client does not cache, so the little traffic means that the data was compressed.
    check(
        &told(direct, "fuse.sshfs", ALL, 100),
        Bottleneck::QueueDepth,
        "round trip from the kernel to client and through the network",
    );
    // The daemon may use system calls that the kernel does not count.
    let other = told(buffered, "fuse.other", 100, ALL);
    check(
        &other,
        Bottleneck::QueueDepth,
        "How much the page cache of this machine answered cannot be known here",
    );
}

#[test]
fn clients_in_the_kernel_have_their_own_counter_or_none() {
    let one = READS.replace("3000000", "99000").replace("3002000", "100000");
    let told = |options: &str, more: &str, kind: &str, counters: &str| {
        judge_in(options, &format!("{more}{one}"), "", IDLE, &on_mount(kind, counters))
    };
    let (buffered, direct) = (r#""rw":"randread""#, r#""rw":"randread","direct":"1""#);
    check(
        &told(buffered, "", "nfs4", &moved("server", 100)),
        Bottleneck::PageCacheOfClient,
        "direct=1 bypasses the page cache",
    );
    check(
        &told(direct, "", "nfs4", &moved("server", ALL)),
        Bottleneck::QueueDepth,
        "the server's memory still answers",
    );
    // No traffic was counted, so the verdict is based on the job alone.
    let found = told(direct, "", "cifs", "");
    check(&found, Bottleneck::QueueDepth, "round trip from the kernel through the network");
    assert!(!found.reasons.iter().any(|reason| reason.contains("cannot be known")), "{found:?}");
    let few = told(buffered, r#""ctx":500,"#, "cifs", "");
    check(
        &few,
        Bottleneck::QueueDepth,
        "At most 500 of its 100000 reads can have waited (ctx): the page cache",
    );
    let many = told(buffered, r#""ctx":100100,"#, "cifs", "");
    check(&many, Bottleneck::QueueDepth, "cannot be known here");
    let pretended = told(direct, "", "fuse.sshfs", "");
    check(&pretended, Bottleneck::QueueDepth, "whether its own cache answered cannot be known here");
}

#[test]
fn read_ahead_is_no_latency_of_the_network() {
    let one = READS.replace("3000000", "99000").replace("3002000", "100000");
    let counters = moved("daemon", ALL) + &moved("interfaces", ALL);
    let told = |ctx: u32, options: &str| {
        judge_in(options, &format!("\"ctx\":{ctx},{one}"), "", IDLE, &on_mount("fuse.sshfs", &counters))
    };
    check(
        &told(3000, r#""rw":"read""#),
        Bottleneck::Network,
        "At most 3000 of its 100000 reads can have waited (ctx): the kernel had already asked",
    );
    assert_eq!(told(100_000, r#""rw":"read""#).bottleneck, Bottleneck::QueueDepth);
    assert_eq!(told(3000, r#""rw":"read","direct":"1""#).bottleneck, Bottleneck::QueueDepth);
    let deep = judge_in(DEEP, READS, "", IDLE, &on_mount("fuse.sshfs", &counters));
    check(&deep, Bottleneck::Network, "The queue depth was 30.0");
}
