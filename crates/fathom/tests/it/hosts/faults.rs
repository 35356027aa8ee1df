//! Hosts that die, stop, answer nonsense or never answer; controllers that die: there is a report, it says who is missing, and no
//! process is left.

use super::{QUIET, agent_of, host, over, wait_until};
use crate::support::program::{Launch, Running};
use crate::support::{json, processes, scratch};
use std::time::Duration;

/// Waits until the agent of a host runs jobs; its process.
#[track_caller]
fn working_agent(running: &Running, host: &str) -> u32 {
    let mut found = 0;
    wait_until("an agent with a worker", || {
        found = agent_of(running, host).unwrap_or(0);
        // A worker that sleeps between I/Os has begun.
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
        over(directory.path(), "x,y").words(QUIET).words("--runtime=6 --output-format=json").start();
    let agent = working_agent(&running, "x");
    processes::signal(agent, "KILL");
    let finished = running.finish();
    assert_eq!(finished.code(), 1, "{}", finished.stderr);
    assert!(finished.stderr.contains("fathom: host x is lost: "), "{}", finished.stderr);
    let document = json::document(&finished.stdout);
    let (lost, whole) = (host(&document, "x"), host(&document, "y"));
    assert_eq!((lost["state"].as_str(), whole["state"].as_str()), (Some("lost"), Some("whole")), "{lost}");
    let ios = |host| json::integer(json::job(host, "quiet"), "read/total_ios");
    assert!((100..3000).contains(&ios(lost)), "its last snapshot: {}", ios(lost));
    assert!(ios(whole) > 2000, "the other went on: {}", ios(whole));
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
        .words("--runtime=4 --output-format=json")
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
    // Stands for the ways in which a login fails.
    let text = "#!/bin/sh\nhost=$1; shift\ncase $host in\n\
                refuses) echo 'Permission denied (publickey).' >&2; exit 255 ;;\n\
                chats) echo 'Welcome!'; exec cat ;;\n\
                other) echo 'fathom-agent 999 9.9'; exec cat ;;\n\
                lies) echo 'fathom-agent 1 0.1.0'; printf '\\377\\377\\377\\377\\000'; exec cat ;;\n\
                garbles) echo 'fathom-agent 1 0.1.0'; printf '\\003\\000\\000\\000\\000abc'; exec cat ;;\n\
                greets) echo 'Last login: today'; exec \"$@\" ;;\n\
                *) exec \"$@\" ;;\nesac\n";
    std::fs::write(&script, text).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).expect("executable");
    let finished = Launch::fathom(directory.path())
        .words("--hosts=refuses,chats,other,lies,garbles,greets,plain --host-timeout=3")
        .argument(format!("--remote-shell={}", script.display()))
        .argument(format!("--remote-program={}", crate::support::program::path().display()))
        .words("--name=a --ioengine=null --size=64k --rw=read --output-format=json")
        .run();
    assert_eq!(finished.code(), 5, "{}", finished.stderr);
    for (name, reason) in [
        ("refuses", "Permission denied (publickey)"),
        ("chats", "has not answered in"),
        ("other", "they do not understand each other"),
        ("lies", "it announces 4294967295 bytes at once"),
        ("garbles", "it sends what cannot be read"),
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
        finished.stderr.contains("host y does not take part: its jobs cannot be run there"),
        "{}",
        finished.stderr
    );
    let document = json::document(&finished.stdout);
    assert_eq!(json::integer(json::job(&document, "a"), "write/io_bytes"), 65536);
    // A mistake that every host would find is found before any is asked.
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
