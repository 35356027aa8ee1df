//! Results made for the tests.

use fathom_history::Record;
use fathom_results::RunResult;
use fathom_stats::verdict::VerdictReport;
use std::collections::BTreeMap;

/// A result of one job on one device. `number` makes it different from all others.
pub(crate) fn result(number: u64) -> RunResult {
    let bins: Vec<String> = (0..200u64)
        .map(|bin| format!("\"{}\": {}", 80_128 + bin * 1024, 3 + (bin * 7 + number) % 50))
        .collect();
    let text = format!(
        r#"{{"fio version": "fio-3.42", "timestamp": {end}, "timestamp_ms": {end}000, "jobs": [{{
            "jobname": "randread", "job_start": {start}000, "job_runtime": 60000, "usr_cpu": 2.5, "sys_cpu": 7.5,
            "job options": {{"rw": "randread", "bs": "4k", "iodepth": "16", "ioengine": "io_uring", "filename": "/dev/nvme0n1"}},
            "read": {{"io_bytes": 4096000, "bw_bytes": {bandwidth}, "iops": {iops}, "runtime": 60000, "total_ios": 1000,
                "clat_ns": {{"min": 80000, "max": 900000, "mean": 120000.5, "stddev": 3000.25, "N": 1000,
                    "percentile": {{"50.000000": 110000, "99.000000": {p99}}}, "bins": {{{bins}}}}},
                "lat_ns": {{"min": 81000, "max": 901000, "mean": 121000.5, "stddev": 3000.25, "N": 1000}}}},
            "write": {{"io_bytes": 0, "total_ios": 0}}}}],
          "disk_util": [{{"name": "nvme0n1", "read_ios": 1000, "read_sectors": 8000, "util": 99.5}}],
          "fathom host": {{"name": "lab{host}", "kernel": "Linux 6.12.{kernel}", "processor": "CPU", "processors": 8,
            "memory_bytes": 1000000, "devices": [{{"name": "nvme0n1", "model": "Disk {model}", "firmware": "FW{model}",
            "serial": "S{host}", "size_bytes": 1000000000,
            "scheduler": "none", "write_cache": "write back"}}],
            "file_systems": [{{"directory": "/", "kind": "ext4", "source": "/dev/nvme0n1p1", "options": "rw"}}]}}}}"#,
        end = 1_700_000_060 + number * 3600,
        start = 1_700_000_000 + number * 3600,
        bandwidth = 400_000_000 + number,
        iops = 100_000 + number % 1000,
        p99 = 200_000 + number % 5000,
        bins = bins.join(", "),
        host = number % 10,
        kernel = number / 1000,
        model = number % 3,
    );
    fathom_results::parse(&text, &format!("night-{number}.json")).expect("a result")
}

/// What is kept of it, with a tag for its hundred.
pub(crate) fn record(number: u64) -> Record {
    let tags = BTreeMap::from([("hundred".to_owned(), (number / 100).to_string())]);
    Record::new(&result(number), |_| VerdictReport::default(), tags)
}
