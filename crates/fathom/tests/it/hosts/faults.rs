//! Hosts that die, stop, send garbage or never answer, and controllers that die: there is a report that names
//! missing hosts, and no process is left behind.

use super::{QUIET, agent_of, host, over, wait_until};
use crate::support::program::{Launch, Running};
use crate::support::{json, processes, scratch};
use std::time::Duration;

/// Waits until a host's agent runs jobs; returns its process.
#[track_caller]
fn working_agent(running: &Running, host: &str) -> u32 {
    let mut found = 0;
    wait_until("an agent with a worker", || {
        found = agent_of(running, host).unwrap_or(0);
        // A worker that sleeps between I/Os has started.
        let workers = processes::descendants(found);
        found != 0 && workers.iter().any(|&worker| processes::sleeps(worker) > 600)
    });
    found
}

#[test]
fn what_a_host_had_counted_survives_it() {
    fathom_only!();
    let directory = scratch();
    let running =
        over(directory.path(), "x,y").words(QUIET).words("--runtime=12 --output-format=json").start();
    let agent = working_agent(&running, "x");
    processes::signal(agent, "KILL");
    let finished = running.finish();
    assert_eq!(finished.code(), 1, "{}", finished.stderr);
    assert!(finished.stderr.contains("fathom: host x is lost: "), "{}", finished.stderr);
    let document = json::document(&finished.stdout);
    let (lost, whole) = (host(&document, "x"), host(&document, "y"));
    assert_eq!((lost["state"].as_str(), whole["state"].as_str()), (Some("lost"), Some("whole")), "{lost}");
    let ios = |host| json::integer(json::job(host, "quiet"), "read/total_ios");
    assert!((100..6000).contains(&ios(lost)), "its last snapshot: {}", ios(lost));
    assert!(ios(whole) > 4000, "the other went on: {}", ios(whole));
    assert_eq!(json::integer(json::job(&document, "quiet"), "read/total_ios"), ios(lost) + ios(whole));
    let notes = document["fathom notes"].to_string();
    assert!(notes.contains("x"), "a note says what is missing: {notes}");
}

#[test]
fn the_others_stop_where_that_is_wanted() {
    fathom_only!();
    let directory = scratch();
    let running = over(directory.path(), "x,y")
        .words("--on-host-loss=stop")
        .words(QUIET)
        .words("--runtime=120 --time_based --output-format=json")
        .start();
    processes::signal(working_agent(&running, "y"), "KILL");
    let finished = running.finish();
    assert!(finished.elapsed < Duration::from_secs(60), "{:?}", finished.elapsed);
    assert!(finished.stderr.contains("as --on-host-loss=stop says"), "{}", finished.stderr);
    let document = json::document(&finished.stdout);
    assert_eq!(host(&document, "x")["state"], "whole", "it was stopped in order");
}

#[test]
fn a_host_that_is_silent_is_given_up_and_stops_by_itself() {
    fathom_only!();
    let directory = scratch();
    let running = over(directory.path(), "x,y")
        .words("--host-timeout=3")
        .words(QUIET)
        .words("--runtime=10 --output-format=json")
        .start();
    let agent = working_agent(&running, "x");
    processes::signal(agent, "STOP");
    let finished = running.finish();
    assert!(finished.stderr.contains("host x is lost: it has been silent for"), "{}", finished.stderr);
    let document = json::document(&finished.stdout);
    assert_eq!(host(&document, "y")["state"], "whole");
    processes::signal(agent, "CONT");
    wait_until("its end", || !processes::runs(agent));
}

#[test]
fn hosts_that_never_answer_as_agents_are_told_and_left_out() {
    fathom_only!();
    let directory = scratch();
    let script = directory.path().join("shell");
    // Simulates failed logins.
    let text = "#!/bin/sh\nhost=$1; shift\ncase $host in\n\
                refuses) echo 'Permission denied (publickey).' >&2; exit 255 ;;\n\
                chats) echo 'Welcome!'; exec cat ;;\n\
                other) echo 'fathom-agent 999 9.9'; exec cat ;;\n\
                lies) echo 'fathom-agent 5 0.1.0'; printf '\\377\\377\\377\\377\\000'; exec cat ;;\n\
                garbles) echo 'fathom-agent 5 0.1.0'; printf '\\003\\000\\000\\000\\000checksumabc'; exec cat ;;\n\
                greets) echo 'Last login: today'; exec \"$@\" ;;\n\
                *) exec \"$@\" ;;\nesac\n";
    std::fs::write(&script, text).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).expect("executable");
    let finished = Launch::fathom(directory.path())
        .words("--hosts=refuses,chats,other,lies,garbles,greets,plain --host-timeout=10")
        .argument(format!("--remote-shell={}", script.display()))
        .argument(format!("--remote-program={}", crate::support::program::path().display()))
        .words("--name=a --ioengine=null --size=64k --rw=read --output-format=json")
        .run();
    assert_eq!(finished.code(), 5, "{}", finished.stderr);
    for (name, reason) in [
        ("refuses", "Permission denied (publickey)"),
        ("chats", "has not answered in"),
        ("other", "they are incompatible"),
        ("lies", "it announces a frame of 4294967295 bytes"),
        ("garbles", "its data was changed on the way"),
    ] {
        let line = format!("fathom: host {name} does not take part: ");
        let told = finished.stderr.lines().find(|told| told.starts_with(&line));
        assert!(told.is_some_and(|told| told.contains(reason)), "{name}: {}", finished.stderr);
    }
    let document = json::document(&finished.stdout);
    assert_eq!(json::integer(json::job(&document, "a"), "read/io_bytes"), 2 * 65536, "the others ran");
    assert_eq!(host(&document, "greets")["state"], "whole");
    assert_eq!(host(&document, "lies")["state"], "never began");
}

#[test]
fn an_interrupted_run_reports_and_leaves_nothing() {
    fathom_only!();
    let directory = scratch();
    let running = over(directory.path(), "x,y")
        .words(QUIET)
        .words("--runtime=120 --time_based --output-format=json")
        .start();
    let agents = [working_agent(&running, "x"), working_agent(&running, "y")];
    let all: Vec<u32> =
        agents.iter().flat_map(|&agent| processes::descendants(agent)).chain(agents).collect();
    running.signal("INT");
    let finished = running.finish();
    assert_eq!(finished.code(), 128, "{}", finished.stderr);
    assert!(finished.elapsed < Duration::from_secs(60));
    let document = json::document(&finished.stdout);
    assert!(json::integer(json::job(&document, "quiet"), "read/total_ios") > 1000, "{document}");
    assert_eq!(
        finished.stderr.matches("terminating on signal 2").count(),
        1,
        "said once: {}",
        finished.stderr
    );
    wait_until("the end of all processes", || !all.iter().any(|&pid| processes::runs(pid)));
}

#[test]
fn a_controller_that_is_killed_takes_its_agents_with_it() {
    fathom_only!();
    let directory = scratch();
    let running = over(directory.path(), "x,y").words(QUIET).words("--runtime=120 --time_based").start();
    let agents = [working_agent(&running, "x"), working_agent(&running, "y")];
    let all: Vec<u32> =
        agents.iter().flat_map(|&agent| processes::descendants(agent)).chain(agents).collect();
    running.signal("KILL");
    wait_until("the end of all processes", || !all.iter().any(|&pid| processes::runs(pid)));
}

#[test]
fn what_is_wrong_on_one_host_is_told_with_its_name() {
    fathom_only!();
    let directory = scratch();
    std::fs::create_dir(directory.path().join("x")).expect("a directory");
    let text = "[a]\ndirectory=${HOST}\nsize=64k\nrw=write\n";
    std::fs::write(directory.path().join("job.fio"), text).expect("written");
    let finished = over(directory.path(), "x,y").words("job.fio --output-format=json").run();
    assert_eq!(finished.code(), 1, "{}", finished.stderr);
    assert!(finished.stderr.contains("<y> "), "{}", finished.stderr);
    assert!(
        finished.stderr.contains(
            "host y does not take part: its jobs cannot be run there: job.fio:2: option directory=y: "
        ),
        "{}",
        finished.stderr
    );
    let document = json::document(&finished.stdout);
    assert_eq!(json::integer(json::job(&document, "a"), "write/io_bytes"), 65536);
    // A mistake common to all hosts is found before any of them is contacted.
    let mistake = over(directory.path(), "x,y").words("--name=a --rw=sideways").run();
    assert_eq!(mistake.code(), 1);
    assert!(!mistake.stderr.contains("<x>") && mistake.stderr.contains("rw=sideways"), "{}", mistake.stderr);
    let readonly = over(directory.path(), "x").words("--readonly job.fio").run();
    assert_eq!(readonly.code(), 1);
    assert!(
        !directory.path().join("x/a.0.0.x").exists() && readonly.stderr.contains("--readonly"),
        "{}",
        readonly.stderr
    );
}

/// A shell that runs the agent of `host` through this command, and all others unchanged.
fn shell_with(directory: &std::path::Path, host: &str, before: &str) -> String {
    let script = directory.join("shell");
    let text =
        format!("#!/bin/sh\nhost=$1; shift\n[ $host != {host} ] || exec {before} \"$@\"\nexec \"$@\"\n");
    std::fs::write(&script, text).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).expect("executable");
    format!("--remote-shell={}", script.display())
}

#[test]
fn a_clock_that_is_hours_ahead_is_known() {
    fathom_only!();
    let ahead = "unshare --time --monotonic 5000 --fork";
    let tried = Launch::of(std::path::Path::new("/bin/sh"), std::path::Path::new("/"));
    if tried.argument("-c").argument(format!("{ahead} true")).run().code() != 0 {
        skip!("no time namespaces here");
    }
    let directory = scratch();
    let finished = Launch::fathom(directory.path())
        .words("--hosts=x,y")
        .argument(shell_with(directory.path(), "x", ahead))
        .argument(format!("--remote-program={}", crate::support::program::path().display()))
        .words(QUIET)
        .words("--runtime=2 --output-format=json")
        .run();
    let document = json::document(&finished.expect_clean().stdout);
    let ahead = host(&document, "x");
    for when in ["before", "after"] {
        let clock = &ahead["clock"][when];
        let offset = clock["offset_ns"].as_i64().expect("an offset");
        let bound = json::integer(clock, "bound_ns");
        assert!(offset.abs_diff(5_000_000_000_000) <= bound, "{clock}");
    }
    // Its jobs nevertheless started together with the other host's.
    let overlap = &document["fathom hosts"]["overlap"];
    let seconds = (json::integer(overlap, "end_ms") - json::integer(overlap, "begin_ms")) as f64 / 1e3;
    assert!(seconds > 1.0, "{overlap}");
    let iops = overlap["read"]["iops"].as_f64().expect("a rate");
    assert!((600.0..1500.0).contains(&iops), "two hosts at 500: {overlap}");
}

#[test]
fn a_second_interrupt_waits_for_nothing() {
    fathom_only!();
    let directory = scratch();
    let running = over(directory.path(), "x,y")
        .words(QUIET)
        .words("--runtime=120 --time_based --output-format=json")
        .start();
    let agents = [working_agent(&running, "x"), working_agent(&running, "y")];
    // A stopped agent cannot stop its jobs either.
    processes::signal(agents[0], "STOP");
    running.signal_and_see("INT");
    std::thread::sleep(Duration::from_millis(1500));
    running.signal("INT");
    let finished = running.finish();
    assert_eq!(finished.code(), 128, "{}", finished.stderr);
    assert!(finished.stderr.contains("host x is lost: it did not stop"), "{}", finished.stderr);
    let document = json::document(&finished.stdout);
    assert_eq!(host(&document, "y")["state"], "whole");
    processes::signal(agents[0], "CONT");
    wait_until("its end", || !agents.iter().any(|&agent| processes::runs(agent)));
}

#[test]
fn a_disk_that_is_full_on_one_host_is_its_own_affair() {
    fathom_only!();
    let directory = scratch();
    for name in ["x", "y"] {
        std::fs::create_dir(directory.path().join(name)).expect("a directory");
    }
    std::os::unix::fs::symlink("/dev/full", directory.path().join("x/f")).expect("a link");
    let text = "[a]\nfilename=${HOST}/f\nsize=64k\nrw=write\n";
    std::fs::write(directory.path().join("job.fio"), text).expect("written");
    let finished = over(directory.path(), "x,y").words("job.fio --output-format=json").run();
    assert_eq!(finished.code(), 1, "{}", finished.stderr);
    let document = json::document(&finished.stdout);
    let job = |name: &str| json::job(host(&document, name), "a").clone();
    assert_eq!(json::integer(&job("x"), "error"), 28, "no space left: {}", finished.stderr);
    assert_eq!(json::integer(&job("y"), "write/io_bytes"), 65536);
    assert_eq!(json::integer(json::job(&document, "a"), "error"), 28, "the sum has it, too");
}
