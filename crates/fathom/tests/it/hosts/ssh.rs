//! Hosts in their own networks, reached by ssh, and the nodes of a Slurm cluster, whose steps join.

use super::{document_of, host};
use crate::support::program::{self, Launch};
use crate::support::servers::Server;
use crate::support::{json, scratch, skip};
use std::path::Path;
use std::time::Duration;

/// This many hosts, or why there are none.
fn hosts(number: u32) -> Result<Server, String> {
    skip::root()?;
    Server::start("hosts", &[("HOSTS", &number.to_string())])
}

/// The program over all of them, by ssh.
fn over(server: &Server, directory: &Path) -> Launch {
    Launch::fathom(directory)
        .argument(format!("--hosts={}", server.value("HOST_NAMES")))
        .argument(format!("--remote-shell=ssh -F {}", server.value("SSH_CONFIG")))
        .argument(format!("--remote-program={}", program::path().display()))
        .timeout(Duration::from_secs(300))
}

const JOB: &str = "--name=a --ioengine=null --size=64k --rw=read --output-format=json";

#[test]
fn hosts_are_reached_by_ssh() {
    fathom_only!();
    let server = require!(hosts(8));
    let directory = scratch();
    let document = document_of(over(&server, directory.path()).words(JOB).run());
    assert_eq!(json::integer(json::job(&document, "a"), "read/io_bytes"), 8 * 65536);
    for number in 0..8 {
        let own = host(&document, &format!("host{number}"));
        assert_eq!(own["host_name"], format!("host{number}"), "each is a separate host: {own}");
        assert_eq!(own["transport"], "shell");
    }
}

#[test]
fn a_cable_that_is_pulled_is_a_host_that_is_lost() {
    fathom_only!();
    let server = require!(hosts(2));
    let directory = scratch();
    let running = over(&server, directory.path())
        .words("--host-timeout=4 --name=a --ioengine=null --size=1g --rw=randread --rate_iops=500")
        .words("--runtime=8 --time_based --output-format=json")
        .start();
    std::thread::sleep(Duration::from_secs(4));
    server.ask("link", &["host1", "down"]);
    let finished = running.finish();
    assert_eq!(finished.code(), 1, "{}", finished.stderr);
    assert!(finished.stderr.contains("host host1 is lost: it has been silent"), "{}", finished.stderr);
    let document = json::document(&finished.stdout);
    assert_eq!(host(&document, "host0")["state"], "whole");
    assert!(json::integer(json::job(host(&document, "host1"), "a"), "read/total_ios") > 100);
}

#[test]
fn a_hundred_hosts_are_one_run() {
    fathom_only!();
    let number = if std::env::var("FATHOM_TEST_SERVERS").as_deref() == Ok("all") { 100 } else { 16 };
    let server = require!(hosts(number));
    let directory = scratch();
    let document = document_of(over(&server, directory.path()).words(JOB).run());
    assert_eq!(json::integer(json::job(&document, "a"), "read/io_bytes"), u64::from(number) * 65536);
}

#[test]
fn steps_of_slurm_join() {
    fathom_only!();
    require!(skip::root());
    let server = require!(Server::start_large("slurm", &[("HOSTS", "3")]));
    let directory = scratch();
    Launch::fathom(directory.path()).words("keys keys").run().expect_clean();
    let inside = |program: &Path| {
        Launch::of(Path::new(server.value("NETNS_EXEC")), directory.path())
            .argument(program)
            .variable("SLURM_CONF", server.value("SLURM_CONF"))
            .timeout(Duration::from_secs(120))
    };
    let controller = inside(&program::path())
        .words("--wait-for-hosts=3 --keys=keys/controller.keys --join-address=:8766")
        .words(JOB)
        .start();
    controller.wait_for_message("to join on port");
    let steps = inside(Path::new("srun"))
        .words("-N3 --ntasks-per-node=1")
        .argument(program::path())
        .words("agent --join=controller:8766 --keys=keys/agent.keys")
        .run();
    assert_eq!(steps.code(), 0, "{}", steps.stderr);
    let document = json::document(&controller.finish().stdout);
    assert_eq!(json::integer(json::job(&document, "a"), "read/io_bytes"), 3 * 65536);
    for number in 0..3 {
        assert_eq!(host(&document, &format!("host{number}"))["transport"], "tls");
    }
}
