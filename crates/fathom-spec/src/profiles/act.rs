//! `--profile=act`: the load of a database's certification test for solid state disks (Aerospike's ACT,
//! according to its documentation). Small random reads at a fixed rate, from several threads per device,
//! together with large writes that carry half as many records; the share of reads that take longer than 1, 8
//! and 64 ms shows whether the device keeps up.

use super::Profile;
use crate::diagnostic::{Diagnostic, Origin};
use crate::job_file::{JobFile, Section};
use crate::message::Message;
use crate::options::private::act::ActOptions;
use crate::raw_option::RawOption;
use crate::spec::JobSpec;
use std::time::Duration;

/// Reads per second per device at `load=1`.
const READS_PER_SECOND: u64 = 2000;
/// Records written per second per device at `load=1`, packed into large blocks.
const RECORDS_PER_SECOND: u64 = 1000;
const SECTOR: u64 = 512;

pub(super) const PROFILE: Profile = Profile {
    name: "act",
    own_options: &[
        "device-names",
        "load",
        "test-duration",
        "threads-per-queue",
        "read-req-num-512-blocks",
        "large-block-op-kbytes",
        "prep",
    ],
    meanings: |_| Vec::new(),
    notes,
    jobs: |defaults, _| jobs(defaults),
};

fn jobs(defaults: &JobSpec) -> JobFile {
    let own = &defaults.private.act;
    let devices: Vec<&str> =
        own.device_names.iter().flat_map(|names| names.split(',')).filter(|name| !name.is_empty()).collect();
    if devices.is_empty() {
        return refused(
            "act: you need to set IO target(s) with the device-names option.",
            "--profile=act needs --device-names=NAME,...: what it reads and overwrites",
        );
    }
    if let Some(problem) = unfit(own) {
        return refused("", &problem);
    }
    let mut global = vec![
        option("thread", "1"),
        option("direct", "1"),
        option("ioengine", "sync"),
        option("random_generator", "lfsr"),
        option("group_reporting", "1"),
    ];
    if !own.prep {
        global.push(option("runtime", &seconds(own.test_duration)));
        global.push(option("time_based", "1"));
    }
    let work = if own.prep { preparation } else { load };
    let sections =
        std::iter::once(section("global", global)).chain(devices.iter().flat_map(|device| work(device, own)));
    JobFile { sections: sections.collect(), ..JobFile::default() }
}

/// The jobs for one device: reads and writes.
fn load(device: &str, own: &ActOptions) -> Vec<Section> {
    let read_bytes = u64::from(own.read_req_num_512_blocks) * SECTOR;
    let write_bytes = u64::from(own.large_block_op_kbytes);
    let reads = READS_PER_SECOND * u64::from(own.load) / u64::from(own.threads_per_queue);
    let writes = (RECORDS_PER_SECOND * u64::from(own.load) * read_bytes).div_ceil(write_bytes);
    vec![
        section(
            &format!("act-read-{device}"),
            vec![
                option("filename", device),
                option("rw", "randread"),
                option("numjobs", &own.threads_per_queue.to_string()),
                option("rate_iops", &reads.to_string()),
                option("bs", &read_bytes.to_string()),
            ],
        ),
        section(
            &format!("act-write-{device}"),
            vec![
                option("filename", device),
                option("rw", "randwrite"),
                option("rate_iops", &writes.to_string()),
                option("bs", &write_bytes.to_string()),
            ],
        ),
    ]
}

/// Writes zeroes over the whole device, then random data over all of it in random order.
fn preparation(device: &str, _: &ActOptions) -> Vec<Section> {
    vec![
        section(
            &format!("act-prep-zeroes-{device}"),
            vec![
                option("filename", device),
                option("bs", "1048576"),
                option("zero_buffers", "1"),
                option("rw", "write"),
            ],
        ),
        section(
            &format!("act-prep-salt-{device}"),
            vec![
                option("stonewall", "1"),
                option("filename", device),
                option("bs", "4096"),
                option("ioengine", "libaio"),
                option("iodepth", "64"),
                option("rw", "randwrite"),
            ],
        ),
    ]
}

/// Why the options do not define a load.
fn unfit(own: &ActOptions) -> Option<String> {
    let most_threads = READS_PER_SECOND * u64::from(own.load);
    if own.load == 0 {
        return Some(
            "load=0 leaves nothing to do; 1 means 2000 reads and 1000 records written per second".into(),
        );
    }
    if own.threads_per_queue == 0 || u64::from(own.threads_per_queue) > most_threads {
        return Some(format!(
            "threads-per-queue={} is not between 1 and {most_threads}",
            own.threads_per_queue
        ));
    }
    if own.read_req_num_512_blocks == 0 {
        return Some("read-req-num-512-blocks=0 leaves nothing to read; give the sectors of a read".into());
    }
    let write_bytes = u64::from(own.large_block_op_kbytes);
    if write_bytes < SECTOR || !write_bytes.is_multiple_of(SECTOR) {
        return Some(format!(
            "large-block-op-kbytes={write_bytes} is not a multiple of 512: despite its name it is in bytes, \
             so write 128k for 128 KiB"
        ));
    }
    own.test_duration.is_zero().then(|| "test-duration=0 leaves no time to test".into())
}

/// Notes that options of the load have no effect with `prep`.
fn notes(defaults: &JobSpec) -> Vec<Message> {
    let of_load = PROFILE.own_options.iter().filter(|name| !matches!(**name, "device-names" | "prep"));
    of_load
        .filter(|name| defaults.private.act.prep && defaults.is_set(name))
        .map(|name| Message::stderr(format!("fathom: {name} has no effect with prep")))
        .collect()
}

fn refused(line: &str, problem: &str) -> JobFile {
    let mut failure = Vec::new();
    if !line.is_empty() {
        failure.push(Message::stderr(line));
    }
    failure.push(Message::stderr("fio: profile act prep failed"));
    failure.push(Diagnostic::general(&Origin::CommandLine, problem).message());
    JobFile { failure, ..JobFile::default() }
}

fn section(name: &str, options: Vec<RawOption>) -> Section {
    Section { name: name.to_owned(), origin: Origin::CommandLine, options }
}

fn option(name: &str, value: &str) -> RawOption {
    RawOption::new(name, Some(value.to_owned()), Origin::CommandLine)
}

fn seconds(time: Duration) -> String {
    match time.subsec_micros() {
        0 => format!("{}s", time.as_secs()),
        _ => format!("{}us", time.as_micros()),
    }
}

#[cfg(test)]
mod tests {
    use crate::resolve::testing::refusal;
    use crate::testing::MemorySource;
    use crate::{Outcome, RunSpec, parse};
    use fathom_stats::{Direction, PerDirection};

    fn run(words: &str) -> RunSpec {
        let words = format!("--profile=act {words}");
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        match parse("fio", &words, &MemorySource::default()) {
            Outcome::Run(run) => *run,
            other => panic!("{words:?}: {other:?}"),
        }
    }

    /// Name, clones, rates of reads and writes, block sizes of both.
    fn jobs(words: &str) -> Vec<(String, u32, [u64; 2], [u64; 2])> {
        let summary = |job: &crate::JobSpec| {
            let of_both = |values: &PerDirection<u64>| [values[Direction::Read], values[Direction::Write]];
            let (rates, sizes) = (of_both(&job.rate.rate_iops), of_both(&job.block_size.bs));
            (job.name.clone(), job.job_description.numjobs, rates, sizes)
        };
        run(words).jobs.iter().map(summary).collect()
    }

    #[test]
    fn rates_and_sizes_are_those_of_fio() {
        let reads = |rate: u64, clones, bytes| ("act-read-d".to_owned(), clones, [rate; 2], [bytes; 2]);
        let writes = |rate: u64, bytes| ("act-write-d".to_owned(), 1, [rate; 2], [bytes; 2]);
        let of = |words: &str| jobs(&format!("--device-names=d {words}"));
        assert_eq!(of(""), [reads(250, 8, 1536), writes(12, 131_072)]);
        assert_eq!(of("--load=10"), [reads(2500, 8, 1536), writes(118, 131_072)]);
        assert_eq!(of("--load=2 --threads-per-queue=3"), [reads(1333, 3, 1536), writes(24, 131_072)]);
        assert_eq!(of("--read-req-num-512-blocks=8"), [reads(250, 8, 4096), writes(32, 131_072)]);
        assert_eq!(of("--large-block-op-kbytes=64k"), [reads(250, 8, 1536), writes(24, 65_536)]);
    }

    #[test]
    fn every_device_has_its_jobs() {
        let names = |words: &str| -> Vec<String> { jobs(words).into_iter().map(|job| job.0).collect() };
        assert_eq!(names("--device-names=a,b"), ["act-read-a", "act-write-a", "act-read-b", "act-write-b"]);
        let spec = run("--device-names=a --prep=1");
        let [zeroes, salt] = spec.jobs.as_slice() else { panic!("{:?}", spec.jobs) };
        assert_eq!((zeroes.name.as_str(), salt.name.as_str()), ("act-prep-zeroes-a", "act-prep-salt-a"));
        assert!(salt.threads.stonewall && zeroes.buffers.zero_buffers && !zeroes.time.time_based);
    }

    #[test]
    fn the_duration_has_the_units_of_times() {
        let seconds =
            |words: &str| run(&format!("--device-names=d {words}")).jobs[0].time.runtime.as_secs_f64();
        assert_eq!(seconds(""), 86_400.0);
        assert_eq!(seconds("--test-duration=90"), 90.0);
        assert_eq!(seconds("--test-duration=2h"), 7200.0);
        assert_eq!(seconds("--test-duration=1500ms"), 1.5);
    }

    #[test]
    fn what_makes_no_load_is_refused() {
        let line = "act: you need to set IO target(s) with the device-names option.";
        assert_eq!(refusal("--profile=act"), line);
        for words in [
            "--load=0",
            "--threads-per-queue=0",
            "--threads-per-queue=2001",
            "--read-req-num-512-blocks=0",
            "--large-block-op-kbytes=128",
            "--large-block-op-kbytes=1000",
            "--test-duration=0",
        ] {
            let words = format!("--profile=act --device-names=d {words}");
            assert_eq!(refusal(&words), "fio: profile act prep failed");
        }
    }
}
