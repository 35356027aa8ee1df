//! fio's interface: `--server` and `--client`, as in fio, without its dangers.

use crate::support::program::{self, Finished, Launch, Running, reference};
use crate::support::{json, processes, scratch};
use std::net::TcpListener;
use std::path::Path;

/// A server in a directory, on a free port.
struct Server {
    running: Running,
    port: u16,
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port()
}

#[track_caller]
fn start(program: Launch, host: &str, is_fathom: bool) -> Server {
    let port = free_port();
    let mut running = program.argument(format!("--server={host},{port}")).start();
    if is_fathom {
        let (text, _) = running.wait_for_output(|text| text.contains('\n'));
        assert_eq!(text, format!("fio: server listening on {host},{port}\n"));
    } else {
        // It prints a line when it ends.
        super::wait_until("a server", || std::net::TcpStream::connect((host, port)).is_ok());
    }
    Server { running, port }
}

#[track_caller]
fn fathom_server(directory: &Path, host: &str) -> Server {
    start(Launch::fathom(directory), host, true)
}

const JOBS: &str = "[global]\nioengine=null\nsize=64k\n[a]\nrw=write\n[b]\nrw=write\n";

fn directories() -> (tempfile::TempDir, tempfile::TempDir) {
    let (servers, clients) = (scratch(), scratch());
    std::fs::write(clients.path().join("job.fio"), JOBS).expect("written");
    (servers, clients)
}

#[test]
fn clients_see_what_fio_shows() {
    fathom_only!();
    let fio = require!(reference());
    if program::version(&fio) < Some((3, 41)) {
        skip!("the installed fio is older than 3.41, whose documents have fewer keys");
    }
    let (there, here) = directories();
    // In each format: fio's client and server, then ours.
    for format in ["normal", "json", "terse", "normal,json"] {
        let outputs: Vec<String> = [true, false]
            .into_iter()
            .map(|is_fathom| {
                let launch = |directory: &Path| match is_fathom {
                    true => Launch::fathom(directory),
                    false => Launch::of(&fio, directory),
                };
                let servers =
                    ["127.0.0.1", "127.0.0.2"].map(|host| start(launch(there.path()), host, is_fathom));
                let mut client =
                    launch(here.path()).words("--eta=never").argument(format!("--output-format={format}"));
                for (host, server) in ["127.0.0.1", "127.0.0.2"].iter().zip(&servers) {
                    client = client.argument(format!("--client={host},{}", server.port)).argument("job.fio");
                }
                client.run().expect_clean().stdout
            })
            .collect();
        let [ours, theirs] = &outputs[..] else { panic!("two outputs") };
        if format.contains("json") {
            let keys = |text: &str| -> Vec<String> {
                let lines = text.lines().filter_map(|line| line.trim().split_once("\" :"));
                // fio has these two since 3.42.
                let is_new =
                    |key: &String| key.contains("latency_target_ns") || key.contains("latency_window_us");
                lines.map(|(key, _)| key.to_owned()).filter(|key| !is_new(key)).collect()
            };
            assert_eq!(keys(ours), keys(theirs), "{format}");
        }
        if format.contains("normal") {
            let lines = |text: &str| -> Vec<String> {
                let text = text.split("\n{").next().unwrap_or("");
                let start = |line: &str| line.split([':', '=', '|']).next().unwrap_or("").trim().to_owned();
                let names = text.lines().filter(|line| !line.starts_with("  ") && !line.starts_with("   "));
                let mut names: Vec<String> = names.map(start).collect();
                // Servers answer in any order.
                names.sort();
                names
            };
            assert_eq!(lines(ours), lines(theirs), "{format}\n{ours}\n{theirs}");
            let lines = |text: &str| -> std::collections::BTreeSet<String> {
                let block = text
                    .split("\nAll clients: ")
                    .nth(1)
                    .and_then(|rest| rest.split("\n{").next())
                    .unwrap_or("");
                let start = |line: &str| line.split(['(', ':', '=']).next().unwrap_or("").trim().to_owned();
                // Which latencies occurred differs from run to run, and fio omits the percentiles if jobs of
                // one direction precede those of another.
                let is_same = |start: &String| {
                    start != "lat" && !start.contains("percentiles") && !start.starts_with('|')
                };
                block.lines().map(start).filter(is_same).collect()
            };
            assert_eq!(lines(ours), lines(theirs), "{format}\n{ours}\n{theirs}");
        }
        if format == "terse" {
            let fields = |text: &str| -> Vec<usize> {
                text.lines()
                    .filter(|line| line.starts_with("3;"))
                    .map(|line| line.split(';').count())
                    .collect()
            };
            assert_eq!(fields(ours), fields(theirs));
        }
    }
}

#[test]
fn a_server_is_safe_unless_told_otherwise() {
    fathom_only!();
    let directory = scratch();
    let refused = Launch::fathom(directory.path()).words("--server=0.0.0.0,1").run();
    assert_eq!(refused.code(), 1);
    assert!(refused.stderr.contains("or --insecure if that is intended"), "{}", refused.stderr);
    for words in ["--server=127.0.0.1,99999", "--server=no-such-host.invalid,1", "--server --client=x"] {
        let wrong = Launch::fathom(directory.path()).words(words).run();
        assert_eq!(wrong.code(), 1, "{words}: {}", wrong.stderr);
    }
    let server = fathom_server(directory.path(), "127.0.0.1");
    let second =
        Launch::fathom(directory.path()).argument(format!("--server=127.0.0.1,{}", server.port)).run();
    assert_eq!(second.code(), 1, "one server is one server: {}", second.stderr);
    assert!(second.stderr.contains("fio: bind: Address already in use"), "{}", second.stderr);
    server.running.signal("TERM");
    assert_eq!(server.running.finish().code(), 0);
}

#[test]
fn a_server_runs_in_the_background_of_its_pid_file() {
    fathom_only!();
    let directory = scratch();
    let (pid_file, socket) = (directory.path().join("pid"), directory.path().join("socket"));
    let start = || {
        let launch = Launch::fathom(directory.path()).argument(format!("--server=sock:{}", socket.display()));
        launch.argument(format!("--daemonize={}", pid_file.display())).run()
    };
    let started = start().expect_clean();
    assert_eq!(started.stdout, "");
    let text = std::fs::read_to_string(&pid_file).expect("a pid");
    let pid: u32 = text.trim().parse().expect("a number");
    let again = start();
    assert!(again.stdout.contains("exists and server appears alive"), "{}", again.stdout);
    std::fs::write(directory.path().join("job.fio"), JOBS).expect("written");
    let client = Launch::fathom(directory.path()).argument(format!("--client=sock:{}", socket.display()));
    let finished = client.words("job.fio --output-format=json").run().expect_clean();
    let document = json::document(&finished.stdout);
    assert_eq!(document["client_stats"][0]["hostname"], socket.display().to_string());
    assert_eq!(json::integer(&document["client_stats"][0], "port"), 8765);
    processes::signal(pid, "TERM");
    super::wait_until("the end of the server", || !processes::runs(pid));
    super::wait_until("no files", || !pid_file.exists() && !socket.exists());
    std::fs::create_dir(&pid_file).expect("in the way");
    let failed = start();
    assert_eq!(failed.code(), 1, "no pid file, no server: {}", failed.stderr);
    assert!(failed.stderr.contains("fio: failed opening pid file"), "{}", failed.stderr);
}

fn client(directory: &Path, server: &Server, words: &str) -> Finished {
    Launch::fathom(directory).argument(format!("--client=127.0.0.1,{}", server.port)).words(words).run()
}

#[test]
fn files_of_clients_are_told_apart() {
    fathom_only!();
    let (there, here) = directories();
    std::fs::create_dir(there.path().join("d")).expect("a directory");
    let server = fathom_server(there.path(), "127.0.0.1");
    let text = "[global]\nsize=4k\nrw=write\n[plain]\n[dir]\ndirectory=d\n[listed]\ndirectory=d\nfilename=x\n\
                [off]\ndirectory=d\nunique_filename=0\n[fmt]\nfilename_format=$jobname.$clientuid\n";
    std::fs::write(here.path().join("files.fio"), text).expect("written");
    client(here.path(), &server, "files.fio").expect_clean();
    for name in ["plain.0.0", "d/127.0.0.1.dir.0.0", "d/127.0.0.1.x", "d/off.0.0", "fmt.127.0.0.1"] {
        assert!(there.path().join(name).exists(), "{name}");
    }
    // The server's own job file; a missing file, or one that must not be written, is an error.
    std::fs::write(there.path().join("own.fio"), JOBS).expect("written");
    let own = client(here.path(), &server, "--remote-config=own.fio --output-format=json").expect_clean();
    assert_eq!(json::document(&own.stdout)["client_stats"].as_array().map(Vec::len), Some(3));
    let missing = client(here.path(), &server, "--remote-config=missing.fio");
    assert_eq!(missing.code(), 1, "{}{}", missing.stdout, missing.stderr);
    let readonly = client(here.path(), &server, "--readonly files.fio");
    assert_eq!(readonly.code(), 1, "{}", readonly.stdout);
}

#[test]
fn triggers_run_once_and_states_come_back() {
    fathom_only!();
    let (there, here) = directories();
    let servers = ["127.0.0.1", "127.0.0.2"].map(|host| fathom_server(there.path(), host));
    let text = "[v]\nfilename=f.${HOST}\nsize=1m\nrw=randwrite\nrate_iops=50\nverify=crc32c\ntime_based=1\nruntime=60\n";
    std::fs::write(here.path().join("v.fio"), text).expect("written");
    let mut launch = Launch::fathom(here.path());
    for (host, server) in ["127.0.0.1", "127.0.0.2"].iter().zip(&servers) {
        launch = launch.argument(format!("--client={host},{}", server.port));
    }
    let finished = launch
        .words("v.fio --trigger-timeout=2")
        .argument("--trigger-remote=echo there >>remote")
        .argument("--trigger=echo here >>own")
        .run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert_eq!(std::fs::read_to_string(here.path().join("own")).expect("it ran"), "here\n");
    assert_eq!(std::fs::read_to_string(there.path().join("remote")).expect("it ran"), "there\nthere\n");
    for host in ["127.0.0.1", "127.0.0.2"] {
        assert!(here.path().join(format!("{host}-v-0-verify.state")).exists());
    }
}

#[test]
fn fios_server_and_client_are_told_what_they_talk_to() {
    fathom_only!();
    let fio = require!(reference());
    let (there, here) = directories();
    super::agents::keys(here.path(), "own");
    let server = start(Launch::of(&fio, there.path()), "127.0.0.1", false);
    let of_server = "it is fio's server and not an agent of fathom";
    for words in [
        format!("--hosts=127.0.0.1:{}", server.port),
        format!("--hosts=127.0.0.1:{} --keys=own/controller.keys", server.port),
        format!("--client=127.0.0.1,{}", server.port),
    ] {
        let refused = Launch::fathom(here.path()).words(&words).words("job.fio").run();
        assert!(refused.code() > 0 && refused.stderr.contains(of_server), "{words}: {}", refused.stderr);
    }
    for words in ["", "--keys=own/agent.keys"] {
        let agent = super::agents::listen(here.path(), words);
        let port = agent.address.rsplit(':').next().expect("a port");
        let asked = Launch::of(&fio, here.path())
            .argument(format!("--client=127.0.0.1,{port}"))
            .words("job.fio")
            .run();
        assert!(
            asked.stdout.contains("does not speak fio's protocol"),
            "{words}: {}{}",
            asked.stdout,
            asked.stderr
        );
    }
}

#[test]
fn what_happens_to_a_server_is_told() {
    fathom_only!();
    let (there, here) = directories();
    let server = fathom_server(there.path(), "127.0.0.1");
    let gone = free_port();
    // A missing one: the other runs, and the exit code reports it.
    let launch = Launch::fathom(here.path()).argument(format!("--client=127.0.0.1,{gone}"));
    let finished = launch.argument(format!("--client=127.0.0.2,{}", server.port)).words("job.fio").run();
    assert_eq!(finished.code(), 1, "{}", finished.stdout);
    assert!(finished.stderr.contains("127.0.0.1 does not take part: "), "{}", finished.stderr);
    let bad = client(here.path(), &server, "--bogus=1 job.fio");
    assert_eq!(bad.code(), 1);
    std::fs::write(here.path().join("fails.fio"), "[x]\nfilename=/proc/none/x\nsize=4k\nrw=read\n")
        .expect("written");
    let failed = client(here.path(), &server, "fails.fio");
    assert_eq!(failed.code(), 1);
    assert!(failed.stdout.contains("client <127.0.0.1>: exited with error 1"), "{}", failed.stdout);
    // Nothing precedes the machine-readable report.
    std::fs::write(
        here.path().join("notes.fio"),
        "[x]\nfilename=/proc/none/x\nsize=4k\nrw=read\nlog_avg_msec=5\n",
    )
    .expect("written");
    for format in ["json", "json+", "terse"] {
        let failed = client(here.path(), &server, &format!("--eta=never --output-format={format} notes.fio"));
        let is_alone = match format {
            "terse" => failed.stdout.lines().all(|line| line.starts_with("3;") || line == "All clients"),
            _ => serde_json::from_str::<serde_json::Value>(&failed.stdout).is_ok(),
        };
        assert!(is_alone, "{format}: {}", failed.stdout);
        for told in ["client <127.0.0.1>: exited with error 1", "log_avg_msec has no effect", "/proc/none/x"]
        {
            assert!(failed.stderr.contains(told), "{format}: {told}: {}", failed.stderr);
        }
    }
    let unbuilt = client(here.path(), &server, "--output-format=csv job.fio");
    assert_eq!((unbuilt.code(), unbuilt.stdout.as_str()), (1, ""));
    assert!(unbuilt.stderr.contains("csv is not built for --client"), "{}", unbuilt.stderr);
    // fio's client prints the figures so far, and the server continues.
    if let Ok(fio) = reference() {
        let other = Launch::of(&fio, here.path()).argument(format!("--client=127.0.0.1,{}", server.port));
        let refused = other.words("job.fio").run();
        assert_ne!(refused.code(), 0, "{}", refused.stdout);
        assert!(
            refused.stdout.contains("which does not speak fio's protocol; call fathom --client"),
            "{}",
            refused.stdout
        );
    }
    client(here.path(), &server, "job.fio").expect_clean();
}
