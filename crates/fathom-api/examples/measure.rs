//! Measures random reads from a file or device, and reports whether the figures can be trusted.
//!
//! `cargo run --release --example measure -- /dev/nvme0n1`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints for people")]

use fathom::{Event, Jobs, Runner};
use std::error::Error;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let runner = Runner::begin().with_progress(Duration::from_secs(1));
    let path = std::env::args().nth(1).ok_or("name a file or device to read from")?;
    let job = format!(
        "[reads]\nfilename={path}\nrw=randread\nbs=4k\niodepth=32\nioengine=io_uring\ndirect=1\nruntime=5\ntime_based\n"
    );
    // Read-only: a file that does not exist is not created.
    let plan = Jobs::parse(&job)?.read_only()?.plan()?;
    let mut running = runner.start(&plan)?;
    while let Some(event) = running.next_event() {
        match event {
            Event::Progress(progress) => eprintln!("{} IOPS", progress.read.iops),
            Event::Message(line) => eprintln!("{line}"),
            _ => {}
        }
    }
    let result = running.finish()?.result;
    for read in result.jobs.iter().filter_map(|job| job.read.as_ref()) {
        println!("{:.0} IOPS, mean latency {:.0} us", read.iops, read.lat.mean_ns / 1e3);
    }
    // Every completed run has a verdict; results of fio have none.
    if let Some(verdict) = &result.verdict {
        println!("{}", verdict.verdict);
        verdict.findings.iter().for_each(|finding| println!("  {}", finding.text));
    }
    Ok(())
}
