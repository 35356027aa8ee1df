use super::*;

fn judge(options: &str, figures: &str, disk: &str) -> Verdict {
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
fn check(found: &Verdict, wanted: Bottleneck, figure: &str) {
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
    // 10k is 10240, and 10000 are 98 % of that.
    check(&judge(&limited, READS, BUSY_DISK), Bottleneck::RateLimit, "rate_iops allows");
    let idle = BUSY_DISK.replace("290000", "20000").replace("99.1", "45");
    check(&judge(DEEP, READS, &idle), Bottleneck::AboveTheDevice, "200 µs");
    let one = READS.replace("3000000", "99000").replace("3002000", "100000");
    check(&judge(r#""direct":"1""#, &one, BUSY_DISK), Bottleneck::QueueDepth, "psync waits");
    let half = judge(r#""direct":"1""#, &one, &BUSY_DISK.replace("99.1", "55"));
    check(&half, Bottleneck::QueueDepth, "55.0 %");
    assert!(!half.reasons.iter().any(|reason| reason.contains("always something")), "{half:?}");
    let cached = BUSY_DISK.replace("800000", "8000");
    check(&judge(r#""ioengine":"libaio","iodepth":"32""#, READS, &cached), Bottleneck::Cache, "3.91 MiB");
    let blocks = READS.replace("\"slat_ns\":{\"mean\":2000}", "\"slat_ns\":{\"mean\":4000000}");
    check(&judge(DEEP, &blocks, BUSY_DISK), Bottleneck::Submission, "4.00 ms");
    let synced = format!(r#"{READS},"sync":{{"total_ios":1000,"lat_ns":{{"mean":8000000}}}}"#);
    check(&judge(DEEP, &synced, BUSY_DISK), Bottleneck::Syncs, "80.0 %");
    let pauses = format!("{DEEP},\"thinktime\":\"80\"");
    check(&judge(&pauses, READS, BUSY_DISK), Bottleneck::ThinkTime, "80.0 %");
    let pauses = format!("{DEEP},\"thinktime\":\"10ms\",\"thinktime_blocks\":\"125\"");
    check(&judge(&pauses, READS, BUSY_DISK), Bottleneck::ThinkTime, "thinktime=10ms");
    let idle_job = READS.replace("3000000", "300000").replace("3002000", "302000");
    check(&judge(DEEP, &idle_job, BUSY_DISK), Bottleneck::OwnSide, "3.02 were in flight");
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
    // So many cycles are gone in a moment.
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

/// Each was measured with fio 3.33 or fathom, and judged wrongly once.
#[test]
fn hard_cases() {
    // Buffered writes of fio 3.33, which tells no bytes of devices: the kernel writes them later.
    let writes =
        READS.replace("\"read\"", "\"write\"").replace("3000000", "176000").replace("3002000", "178000");
    let disk = r#"{"name":"vda","write_ios":2570,"write_merges":400000,"write_ticks":42919,"util":51.5}"#;
    check(&judge(r#""ioengine":"libaio","iodepth":"2""#, &writes, disk), Bottleneck::Cache, "16.7 ms");
    // The same with bytes: all of them reached the device, which held the cache back.
    let told = disk.replace("\"util\":51.5", "\"write_sectors\":800000,\"util\":99.0");
    let held = judge(r#""ioengine":"libaio","iodepth":"4""#, &writes.replace("178000", "378000"), &told);
    check(&held, Bottleneck::Device, "larger requests, 16.7 ms each");
    // fio 3.33 counts syncs only beside their latencies.
    let synced = format!(r#"{READS},"sync":{{"total_ios":0,"lat_ns":{{"N":1000,"mean":8000000}}}}"#);
    check(&judge(DEEP, &synced, BUSY_DISK), Bottleneck::Syncs, "80.0 %");
    // Depth 1, held back by a limit of the control group: the device was idle.
    let slow = READS.replace("10000,\"runtime\"", "305,\"runtime\"").replace("3002000", "3280000");
    let idle = r#"{"name":"loop2","read_ios":615,"read_sectors":4920,"read_ticks":5,"util":0.2}"#;
    check(&judge(r#""direct":"1""#, &slow, idle), Bottleneck::AboveTheDevice, "at most 16.3 µs");
    // Writes that wait for their data, one after the other.
    let one = READS.replace("\"read\"", "\"write\"").replace("3002000", "99000");
    let disk = r#"{"name":"vda","write_ios":100000,"write_sectors":800000,"write_ticks":9000,"util":52.6}"#;
    check(&judge(r#""sync":"1""#, &one, disk), Bottleneck::Syncs, "sync=1 lets each of 100k writes");
    check(&judge(r#""sync":"0","direct":"1""#, &one, disk), Bottleneck::QueueDepth, "52.6 %");
    // An engine without storage on a busy machine.
    let null = format!("\"usr_cpu\":70.9,{READS}");
    check(&judge(r#""ioengine":"null","iodepth":"32""#, &null, ""), Bottleneck::NoStorage, "70.9 %");
    // Somebody else's I/O on the device.
    let others = BUSY_DISK.replace("290000", "990000");
    check(&judge(DEEP, READS, &others), Bottleneck::Device, "others used the device");
    // A depth that the job gave up itself.
    let target = format!("{DEEP},\"latency_target\":\"200us\"");
    let kept = format!("\"latency_depth\":9,\"latency_target\":200,{}", READS.replace("3002000", "900000"));
    check(&judge(&target, &kept, BUSY_DISK), Bottleneck::LatencyTarget, "a depth of 9 (latency_depth) of 32");
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
