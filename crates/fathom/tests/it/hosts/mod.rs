//! Multi-host runs. Most tests have their "hosts" on this machine, each behind its own shell that only runs the agent;
//! `ssh.rs` logs in to hosts in separate networks.

mod agents;
mod faults;
mod files;
mod guarded;
mod mutated;
mod runs;
mod servers;
mod ssh;

use crate::support::program::{self, Finished, Launch, Running};
use crate::support::{json, processes};
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// Agents end within this time after their controller, even on a busy machine.
const SOON: Duration = Duration::from_secs(60);

/// A shell that runs the command locally and knows its host only by name.
fn local_shell() -> String {
    "--remote-shell=env FATHOM_TEST_HOST={host}".to_owned()
}

/// The program under test with these hosts, in `directory`.
fn over(directory: &Path, hosts: &str) -> Launch {
    let program = program::path();
    Launch::fathom(directory)
        .argument(format!("--hosts={hosts}"))
        .argument(local_shell())
        .argument(format!("--remote-program={}", program.display()))
}

/// A job without storage, at a rate that any machine can sustain.
const QUIET: &str = "--name=quiet --ioengine=null --size=1g --rw=randread --rate_iops=500";

/// The entry of a host.
#[track_caller]
fn host<'a>(document: &'a Value, name: &str) -> &'a Value {
    let hosts = document["fathom hosts"]["hosts"].as_array().expect("there are hosts");
    hosts.iter().find(|host| host["name"] == name).unwrap_or_else(|| panic!("no host {name} in {document}"))
}

/// The JSON of a successful run.
#[track_caller]
fn document_of(finished: Finished) -> Value {
    json::document(&finished.expect_clean().stdout)
}

/// The process of a host's agent, found by the variable that its shell has set.
fn agent_of(running: &Running, host: &str) -> Option<u32> {
    let wanted = format!("FATHOM_TEST_HOST={host}");
    processes::descendants(running.pid()).into_iter().find(|pid| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    })
}

/// Waits until a condition holds.
#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < SOON, "{what}: not in {SOON:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
