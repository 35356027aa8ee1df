//! Tests on real kernel devices, provided by a virtual machine (docs/lab.md). Each module is a group of tests that share a
//! boot; its devices are named in `scripts/lab/tests.sh`.

mod blocks;
mod commands;
mod flash;
mod persistent;
mod rdma;
mod record;
mod scsi;
mod scsi_dif;
mod vsock;
mod zoned_scsi;
mod zones;

use crate::shipped_examples;
use crate::support::program::{self, Finished, Launch};
use crate::support::{json, scratch};
use std::path::Path;
use std::process::Command;

/// A device of the lab by its name there (`nvme`, `zoned_null`), or why there is none.
fn device(name: &str) -> Result<String, String> {
    let variable = format!("LAB_{}", name.to_uppercase());
    std::env::var(&variable)
        .map_err(|_| format!("{variable} names no device: this test runs in the lab (make test-lab)"))
}

/// A job of fathom on a device.
fn run(device: &str, words: &str) -> Finished {
    with(Launch::fathom(scratch().path()), device, words)
}

/// An example of fio's on a device; the error says why it cannot be run.
fn example(name: &str, on: &str, size: &str) -> Result<Finished, String> {
    shipped_examples::run_on(name, Path::new(on), size)
}

/// A job of some program on a device.
fn with(launch: Launch, device: &str, words: &str) -> Finished {
    launch.words("--name=job --filename").argument(device).words(words).run()
}

/// Checks that fio and fathom read the same number of bytes from a device, whatever sizes the job has. The
/// error says why that cannot be tested.
#[track_caller]
fn expect_sizes_of_fio(device: &str, words: &str, sizes: &[&str]) -> Result<(), String> {
    let reference = program::reference()?;
    for size in sizes {
        let words = format!("{words} --rw=read {size} --output-format=json");
        let directory = scratch();
        let [own, theirs] = [program::path(), reference.clone()].map(|program| {
            let finished = with(Launch::of(&program, directory.path()), device, &words).expect_clean();
            let document = json::document(&finished.stdout);
            json::integer(json::job(&document, "job"), "read/io_bytes")
        });
        assert_eq!(own, theirs, "{device}: {words}");
    }
    Ok(())
}

/// The kernel's trace of an event during an action, in chronological order.
fn traced<T>(event: &str, act: impl FnOnce() -> T) -> String {
    let tracing = Path::new("/sys/kernel/debug/tracing");
    let write = |file: &str, text: &str| std::fs::write(tracing.join(file), text).expect("the kernel traces");
    // The default clock is per processor, and goes backward when a job migrates. Selecting another one
    // empties the trace, which must hold everything.
    write("trace_clock", "mono");
    write("buffer_size_kb", "4096");
    write("trace", "");
    write(&format!("events/{event}/enable"), "1");
    act();
    write(&format!("events/{event}/enable"), "0");
    std::fs::read_to_string(tracing.join("trace")).expect("a trace")
}

/// Runs a tool that must succeed.
#[track_caller]
fn tool(program: &str, words: &str) -> String {
    tool_with(program, &words.split_whitespace().collect::<Vec<_>>())
}

/// The same with arguments that may contain spaces, such as device-mapper tables.
#[track_caller]
fn tool_with(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The first bytes of a device, bypassing stale pages in the page cache.
#[track_caller]
fn content(device: &str, bytes: u64) -> Vec<u8> {
    use std::io::Read;
    tool("blockdev", &format!("--flushbufs {device}"));
    let file = std::fs::File::open(Path::new(device)).expect("a device can be opened");
    let mut content = Vec::new();
    file.take(bytes).read_to_end(&mut content).expect("a device can be read");
    content
}
