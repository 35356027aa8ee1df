//! Jobs that keep processors busy while others do I/O (`ioengine=cpuio`).

use crate::support::program::Launch;
use crate::support::{json, scratch};

#[test]
fn a_job_burns_its_share_of_a_processor() {
    let directory = scratch();
    for (mode, load, stretch_us) in [("noop", 40, 20_000), ("qsort", 80, 10_000)] {
        let words = format!(
            "--name=a --ioengine=cpuio --cpumode={mode} --cpuload={load} --cpuchunks={stretch_us} --runtime=2"
        );
        let launch = Launch::fathom(directory.path()).words("--output-format=json").words(&words);
        let finished = launch.run().expect_clean();
        let document = json::document(&finished.stdout);
        let job = &document["jobs"][0];
        // A busy machine gives less processor time, never more.
        let used = job["usr_cpu"].as_f64().expect("a percentage");
        assert!(used > 1.0 && used < f64::from(load) + 10.0, "{mode}: {used}");
        // Every burst lasts at least as long as requested, so their number is bounded.
        let stretches = json::integer(job, "read/total_ios");
        assert!(
            (5..=2 * load * 10_000 / stretch_us + 1).contains(&(stretches as u32)),
            "{mode}: {stretches}"
        );
        assert!(json::integer(job, "read/clat_ns/min") >= u64::from(stretch_us) * 1000, "{job}");
        assert_eq!((json::integer(job, "read/io_bytes"), json::integer(job, "read/runtime")), (0, 0));
    }
}

#[test]
fn company_ends_with_the_jobs_it_keeps() {
    let directory = scratch();
    let words = "--name=burn --ioengine=cpuio --cpuload=20 --exit_on_io_done=1 --numjobs=2 --name=io --ioengine=null \
                 --size=1m --bs=4k --rate=1m";
    let finished = Launch::fathom(directory.path()).words(words).run().expect_clean();
    let line = "burn (noop): ioengine=cpuio, cpuload=20, cpucycle=50000\n";
    assert_eq!(finished.stdout.matches(line).count(), 2, "{}", finished.stdout);
    assert!(finished.stdout.contains("burn: (groupid=0, jobs=1): err= 0"), "{}", finished.stdout);
    // The group's bandwidth is that of the job that moves data.
    assert!(finished.stdout.contains("io=1024KiB (1049kB)"), "{}", finished.stdout);
    assert_eq!(finished.stdout.matches("  read: IOPS=").count(), 1, "{}", finished.stdout);
}
