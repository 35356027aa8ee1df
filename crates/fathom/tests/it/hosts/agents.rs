//! Listening and joining agents: keys, permissions, and strangers.

use super::{host, wait_until};
use crate::support::program::{Finished, Launch, Running};
use crate::support::{json, scratch};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

/// An agent that listens on a port it chooses.
pub(super) struct Listening {
    pub(super) running: Running,
    pub(super) address: String,
}

#[track_caller]
pub(super) fn listen(directory: &Path, words: &str) -> Listening {
    let mut running = Launch::fathom(directory).words("agent --listen=127.0.0.1:0").words(words).start();
    let (text, _) = running.wait_for_output(|text| text.contains('\n'));
    let address = text.trim().rsplit(' ').next().expect("an address").to_owned();
    Listening { running, address }
}

#[track_caller]
pub(super) fn keys(directory: &Path, name: &str) {
    Launch::fathom(directory).words("keys").argument(name).run().expect_clean();
}

pub(super) const NULL: &str = "--name=a --ioengine=null --size=64k --rw=read --output-format=json";

pub(super) fn controller(directory: &Path, hosts: &str, words: &str) -> Finished {
    Launch::fathom(directory).argument(format!("--hosts={hosts}")).words(words).run()
}

#[test]
fn both_sides_prove_who_they_are() {
    fathom_only!();
    let directory = scratch();
    let directory = directory.path();
    keys(directory, "own");
    keys(directory, "foreign");
    let agents = [0, 1].map(|_| listen(directory, "--keys=own/agent.keys"));
    let hosts = agents.each_ref().map(|agent| agent.address.clone()).join(",");
    let good = controller(directory, &hosts, &format!("--keys=own/controller.keys {NULL}")).expect_clean();
    let document = json::document(&good.stdout);
    assert_eq!(json::integer(json::job(&document, "a"), "read/io_bytes"), 2 * 65536);
    assert_eq!(host(&document, &agents[0].address)["transport"], "tls");
    // Another run's keys, the agent's own, and none.
    let foreign = controller(directory, &hosts, &format!("--keys=foreign/controller.keys {NULL}"));
    assert_eq!(foreign.code(), 2, "{}", foreign.stderr);
    assert!(foreign.stderr.contains("both sides need those of one fathom keys"), "{}", foreign.stderr);
    let wrong = controller(directory, &hosts, &format!("--keys=own/agent.keys {NULL}"));
    assert!(wrong.code() == 1 && wrong.stderr.contains("controller.keys is needed here"), "{}", wrong.stderr);
    let none = controller(directory, &hosts, &format!("--host-timeout=2 {NULL}"));
    assert!(
        none.code() == 2 && none.stderr.contains("an agent that has keys answers only"),
        "{}",
        none.stderr
    );
    // Whatever the peer sends, the agents still serve legitimate controllers.
    let again = controller(directory, &hosts, &format!("--keys=own/controller.keys {NULL}"));
    assert_eq!(again.code(), 0, "{}", again.stderr);
}

#[test]
fn without_keys_an_agent_listens_to_this_machine_alone() {
    fathom_only!();
    let directory = scratch();
    for address in ["0.0.0.0:0", ":0", "[::]:0"] {
        let refused =
            Launch::fathom(directory.path()).words("agent").argument(format!("--listen={address}")).run();
        assert_eq!(refused.code(), 1);
        assert!(
            refused.stderr.contains("anyone who can reach this address could run jobs here"),
            "{}",
            refused.stderr
        );
    }
    let agent = listen(directory.path(), "");
    let finished = controller(directory.path(), &agent.address, NULL).expect_clean();
    assert_eq!(host(&json::document(&finished.stdout), &agent.address)["transport"], "tcp");
    let away = controller(directory.path(), "192.0.2.1:8766", NULL);
    assert!(away.stderr.contains("is reached with keys: give --keys=FILE"), "{}", away.stderr);
}

#[test]
fn an_agent_allows_what_its_start_allowed() {
    fathom_only!();
    let directory = scratch();
    let (open, closed) = (directory.path().join("open"), directory.path().join("closed"));
    std::fs::create_dir(&open).expect("a directory");
    std::fs::create_dir(&closed).expect("a directory");
    std::os::unix::fs::symlink(&closed, open.join("way-out")).expect("a link");
    std::os::unix::fs::symlink(closed.join("target"), open.join("link")).expect("a link");
    let agent = listen(directory.path(), &format!("--allow-path={}", open.display()));
    let run =
        |words: &str| controller(directory.path(), &agent.address, &format!("--output-format=json {words}"));
    let good = run(&format!("--name=a --filename={}/f --size=64k --rw=write", open.display()));
    assert_eq!(good.code(), 0, "{}", good.stderr);
    let relative = run("--name=a --filename=g --size=64k --rw=write --verify=crc32c");
    assert_eq!(relative.code(), 0, "relative names count from the allowed directory: {}", relative.stderr);
    assert!(open.join("f").exists() && open.join("g").exists());
    let (open, closed) = (open.display(), closed.display());
    for (words, reason) in [
        (format!("--filename={closed}/f"), "was not started with --allow-path"),
        (format!("--filename={open}/../closed/f"), "was not started with --allow-path"),
        (format!("--filename={open}/way-out/f"), "was not started with --allow-path"),
        (format!("--filename={open}/link"), "is refused"),
        (format!("--filename={open}/f:{closed}/f"), "was not started with --allow-path"),
        (format!("--directory={closed}"), "was not started with --allow-path"),
        ("--filename=/dev/null".to_owned(), "was not started with --allow-device"),
        ("--name=/dev/null".to_owned(), "was not started with --allow-device"),
        (format!("--filename={open}/f --exec_prerun=true"), "--allow-commands"),
        (format!("--filename={open}/f --exec_postrun=true"), "--allow-commands"),
        ("--ioengine=exec --program=true".to_owned(), "--allow-commands"),
        (
            format!("--filename={open}/f --ioengine=e4defrag --donorname=d"),
            "only uses the targets of its jobs",
        ),
        (format!("--filename={open}/f --write_iolog={closed}/l"), "only uses the targets of its jobs"),
        (format!("--filename={open}/f --ioscheduler=none"), "does not change its machine"),
        (format!("--filename={open}/f --aux-path={closed}"), "--aux-path"),
        ("--ioengine=nbd --uri=nbd://127.0.0.1:1".to_owned(), "--allow-network"),
        ("--ioengine=net --hostname=127.0.0.1 --port=1".to_owned(), "--allow-network"),
        ("--ioengine=netsplice --listen --port=1".to_owned(), "--allow-network"),
        ("--ioengine=net_uring --protocol=unix --hostname=/tmp/x".to_owned(), "--allow-network"),
        (
            format!("--filename={open}/f --trigger-timeout=1 --trigger-remote=true --trigger=true"),
            "--allow-commands",
        ),
    ] {
        let refused = run(&format!("{words} --name=a --size=64k --rw=write {words}"));
        assert_eq!(refused.code(), 1, "{words}: {}", refused.stderr);
        assert!(refused.stderr.contains(reason), "{words}: {}", refused.stderr);
    }
    // Loading an engine runs its code, although the controller has the engine as well.
    let libraries = crate::support::scratch();
    if crate::external::example("null", libraries.path())
        .map_err(|reason| fathom_skip::record(&reason))
        .is_ok()
    {
        let refused = run(&format!(
            "--name=a --size=64k --rw=write --ioengine=external:{}/e.so --filename={open}/f",
            libraries.path().display()
        ));
        assert_eq!(refused.code(), 1, "{}", refused.stderr);
        let reason = "the agent was started without --allow-commands";
        assert!(refused.stderr.contains(reason), "{}", refused.stderr);
    }
    let left: Vec<_> =
        std::fs::read_dir(directory.path().join("closed")).expect("a directory").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_agent_ends_when_its_controller_wants_that() {
    fathom_only!();
    let directory = scratch();
    let directory = directory.path();
    keys(directory, "own");
    keys(directory, "foreign");
    let with_keys = [0, 1].map(|_| listen(directory, "--keys=own/agent.keys"));
    let hosts = with_keys.each_ref().map(|agent| agent.address.clone()).join(",");
    let quit = |words: &str| Launch::fathom(directory).words("agent --quit").words(words).run();
    // A client without permission to run jobs cannot end the agent either.
    for words in ["--keys=foreign/controller.keys", "--keys=own/agent.keys"] {
        let refused = quit(&format!("--hosts={hosts} {words}"));
        assert!(refused.code() == 1 && refused.stdout.is_empty(), "{words}: {}", refused.stdout);
    }
    // A run in progress ends as with SIGTERM.
    let words = format!("--keys=own/controller.keys --hosts={} {}", with_keys[0].address, super::QUIET);
    let mut running = Launch::fathom(directory).words(&words).words("--runtime=300 --eta=always").start();
    running.wait_for_output(|text| text.contains("Jobs: 1"));
    let ended = quit(&format!("--hosts={hosts} --keys=own/controller.keys")).expect_clean();
    for agent in &with_keys {
        assert!(ended.stdout.contains(&format!("{}: the agent ends\n", agent.address)), "{}", ended.stdout);
    }
    running.finish();
    for agent in with_keys {
        assert_eq!(agent.running.finish().code(), 0);
    }
    let without = listen(directory, "");
    quit(&format!("--hosts={}", without.address)).expect_clean();
    assert_eq!(without.running.finish().code(), 0);
    let gone = quit(&format!("--hosts={}", without.address));
    assert!(gone.code() == 1 && gone.stderr.contains("refused"), "{}", gone.stderr);
    let alone = Launch::fathom(directory).words("agent --listen=127.0.0.1:0 --hosts=a").run();
    assert!(alone.code() == 1 && alone.stderr.contains("--hosts goes with --quit"), "{}", alone.stderr);
}

#[test]
fn the_unit_of_systemd_starts_an_agent() {
    fathom_only!();
    let directory = scratch();
    let directory = directory.path();
    keys(directory, "run-keys");
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/fathom-agent.service");
    let unit = std::fs::read_to_string(unit).expect("the unit");
    let setting = |name: &str| {
        let start = format!("{name}=");
        unit.lines().filter_map(|line| line.strip_prefix(start.as_str())).collect::<Vec<&str>>()
    };
    let credentials = directory.join("run-keys").display().to_string();
    assert_eq!(setting("LoadCredential"), ["agent.keys:/etc/fathom/agent.keys"]);
    let state = format!("/var/lib/{}", setting("StateDirectory")[0]);
    // As systemd reads it, with other paths.
    let words = setting("ExecStart")[0]
        .replace("${FATHOM_AGENT_LISTEN}", "127.0.0.1:0")
        .replace("${CREDENTIALS_DIRECTORY}", &credentials)
        .replace("$FATHOM_AGENT_OPTIONS", "")
        .replace(&state, &directory.display().to_string());
    let words = words.strip_prefix("/usr/bin/fathom ").expect("the program of the packages");
    let mut agent = Launch::fathom(directory).words(words).start();
    let (text, _) = agent.wait_for_output(|text| text.contains('\n'));
    let address = text.trim().rsplit(' ').next().expect("an address").to_owned();
    let job = "--keys=run-keys/controller.keys --name=a --filename=f --size=64k --rw=write";
    controller(directory, &address, job).expect_clean();
    assert!(directory.join("f").exists());
    agent.signal("TERM");
    assert_eq!(agent.finish().code(), 0);
}

#[test]
fn strangers_who_send_anything_do_no_harm() {
    fathom_only!();
    let directory = scratch();
    let directory = directory.path();
    keys(directory, "own");
    for words in ["", "--keys=own/agent.keys"] {
        let agent = listen(directory, words);
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for round in 0..40 {
            let mut socket = TcpStream::connect(&agent.address).expect("it listens");
            socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a limit");
            let bytes: Vec<u8> = match round {
                0 => b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
                1 => vec![0xff; 100],
                2 => [&200_000_000u32.to_le_bytes()[..], &[0]].concat(),
                3 => Vec::new(),
                _ => (0..round * 7)
                    .map(|_| {
                        random ^= random << 13;
                        random ^= random >> 7;
                        random ^= random << 17;
                        random as u8
                    })
                    .collect(),
            };
            // The peer may have closed it already.
            let _ = socket.write_all(&bytes);
            if round % 2 == 0 {
                let _ = socket.shutdown(std::net::Shutdown::Write);
                let _ = socket.read(&mut [0; 64]);
            }
        }
        let with_keys = if words.is_empty() { "" } else { "--keys=own/controller.keys" };
        let good = controller(directory, &agent.address, &format!("{with_keys} {NULL}"));
        assert_eq!(good.code(), 0, "{}", good.stderr);
        agent.running.signal("TERM");
        let ended = agent.running.finish();
        assert_eq!(ended.code(), 0, "{}", ended.stderr);
        assert!(!ended.stderr.contains("internal error"), "{}", ended.stderr);
        assert!(ended.stderr.contains("fathom agent: 127.0.0.1:"), "strangers are logged: {}", ended.stderr);
    }
}

/// A controller that waits for hosts, and its port.
#[track_caller]
fn waiting(directory: &Path, words: &str) -> (Running, String) {
    let running =
        Launch::fathom(directory).words("--join-address=127.0.0.1:0").words(words).words(NULL).start();
    running.wait_for_message("to join on port");
    let text = running.errors();
    let port =
        text.lines().find_map(|line| line.rsplit_once("on port ")).expect("a port").1.trim().to_owned();
    (running, format!("127.0.0.1:{port}"))
}

#[test]
fn agents_join_the_run_they_belong_to_and_no_other() {
    fathom_only!();
    let directory = scratch();
    let directory = directory.path();
    keys(directory, "own");
    keys(directory, "foreign");
    let (running, address) = waiting(directory, "--wait-for-hosts=2 --keys=own/controller.keys");
    let join = |keys: &str, words: &str| {
        let agent = Launch::fathom(directory).words("agent").argument(format!("--join={address}"));
        agent.argument(format!("--keys={keys}/agent.keys")).words(words)
    };
    let stranger = join("foreign", "--name=z").run();
    assert_eq!(stranger.code(), 1);
    assert!(
        stranger.stderr.contains("it does not accept these keys")
            || stranger.stderr.contains("it has other keys"),
        "{}",
        stranger.stderr
    );
    let first = join("own", "--name=n").variable("SLURM_PROCID", "1").start();
    running.wait_for_message("was refused");
    // The test cannot see when the first agent has joined, so it waits.
    std::thread::sleep(Duration::from_secs(3));
    let twin = join("own", "--name=n").variable("SLURM_PROCID", "1").run();
    assert_eq!(twin.code(), 1, "the same host twice: {}", twin.stderr);
    let second = join("own", "--name=n --group=g").variable("SLURM_PROCID", "0").start();
    let finished = running.finish();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let document = json::document(&finished.stdout);
    let hosts = document["fathom hosts"]["hosts"].as_array().expect("hosts");
    let names: Vec<&str> = hosts.iter().filter_map(|host| host["name"].as_str()).collect();
    assert_eq!(names, ["n", "n.1"], "in the order of their ranks");
    for agent in [first, second] {
        let ended = agent.finish();
        assert_eq!(ended.code(), 0, "{}", ended.stderr);
    }
    // The token is used up.
    let again =
        Launch::fathom(directory).words("--wait-for-hosts=2 --keys=own/controller.keys").words(NULL).run();
    assert_eq!(again.code(), 1);
    assert!(again.stderr.contains("make new keys with fathom keys"), "{}", again.stderr);
}

#[test]
fn who_waits_in_vain_says_so() {
    fathom_only!();
    let directory = scratch();
    keys(directory.path(), "own");
    let (running, _) =
        waiting(directory.path(), "--wait-for-hosts=3 --keys=own/controller.keys --host-timeout=1");
    let finished = running.finish();
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("only 0 of 3 hosts joined within 1 s"), "{}", finished.stderr);
    let alone = Launch::fathom(directory.path())
        .words("agent --join=127.0.0.1:1 --join-timeout=1s --keys=own/agent.keys")
        .run();
    assert!(alone.code() == 1 && alone.stderr.contains("--join=127.0.0.1:1: "), "{}", alone.stderr);
    let without = Launch::fathom(directory.path()).words("agent --join=127.0.0.1:1").run();
    assert!(without.code() == 1 && without.stderr.contains("give --keys=FILE"), "{}", without.stderr);
    wait_until("nothing", || true);
}
