//! `fathom serve`: runs that are started, observed, stopped and found again over HTTP.

use crate::support::devices::LoopDevice;
use crate::support::program::Launch;
use crate::support::served::Served;
use crate::support::{MIB, file_of, processes, scratch};
use serde_json::{Value, json};

/// A long job with little I/O.
const LONG: &str = "[a]\nfilename=x\nsize=1m\nrw=read\nrate_iops=50\nruntime=600\ntime_based\n";
/// A short one.
const SHORT: &str = "[a]\nfilename=x\nsize=1m\nrw=randread\nruntime=2500ms\ntime_based\nrate_iops=500\n";

fn of_kind<'a>(events: &'a [crate::support::served::Sent], kind: &str) -> Vec<&'a Value> {
    events.iter().map(|sent| &sent.data).filter(|data| data["event"] == kind).collect()
}

#[test]
fn a_job_is_checked_run_and_kept() {
    fathom_only!();
    let directory = scratch();
    let served = Served::start(directory.path(), "");
    let wrong = served.post("/api/check", &json!({ "kind": "job", "job": "[a]\nrw=read\nbs=zk\n" })).json();
    assert_eq!(wrong["mistakes"][0]["line"], 3, "{wrong}");
    let found = served.post("/api/check", &json!({ "kind": "job", "job": SHORT })).json();
    assert_eq!(found["mistakes"], json!([]), "{found}");
    let forecast = &found["forecast"];
    assert_eq!((&forecast["makes"], &forecast["writes_at_most"]), (&json!(MIB), &json!(0)), "{found}");
    assert_eq!(
        (&forecast["seconds_at_most"], &forecast["targets"][0]["kind"]),
        (&json!(2.5), &json!("new file"))
    );
    assert!(!served.results.join("targets/x").exists(), "a check makes nothing");

    let run = served.start_job(SHORT);
    let second = served.post("/api/runs", &json!({ "kind": "job", "job": SHORT }));
    assert_eq!(second.status, 409, "{second:?}");
    assert!(second.problem().contains("two at a time"), "{second:?}");
    let events = served.events(&run, None, usize::MAX);
    assert!(of_kind(&events, "tick").len() >= 2, "{events:?}");
    let ticks = of_kind(&events, "tick");
    assert!(ticks.iter().any(|tick| tick["iops"][0].as_u64().is_some_and(|iops| iops > 0)), "{ticks:?}");
    let last = events.last().expect("events");
    assert_eq!((&*last.kind, &last.data["state"]), ("end", &json!("done")));
    assert_eq!(std::fs::metadata(served.results.join("targets/x")).map(|file| file.len()).ok(), Some(MIB));
    let result: Value = served.get(&format!("/api/runs/{run}/files/result.json")).json();
    let ios = result["jobs"][0]["read"]["total_ios"].as_u64().expect("I/Os");
    assert!((500..3000).contains(&ios), "{ios}");
    let page = served.get(&format!("/api/runs/{run}/page"));
    assert!(page.status == 200 && page.body.contains("<figure "), "{}", page.head);
    assert!(page.head.contains("content-security-policy: sandbox "), "{}", page.head);
    let kept = served.results.join("runs").join(&run);
    assert_eq!(std::fs::read_to_string(kept.join("job.fio")).ok().as_deref(), Some(SHORT));
}

/// After a reconnection every event was received exactly once; the same for another viewer.
#[test]
fn events_have_neither_gaps_nor_doubles() {
    fathom_only!();
    let directory = scratch();
    let served = Served::start(directory.path(), "");
    let run = served.start_job(SHORT);
    let mut events = served.events(&run, None, 1);
    while events.last().is_some_and(|sent| sent.kind != "end") {
        let last = events.last().map(|sent| sent.id.clone());
        let more = served.events(&run, last.as_deref(), 1);
        assert!(!more.is_empty() && events.len() < 100, "there is an end: {events:?}");
        events.extend(more);
    }
    assert_eq!(events, served.events(&run, None, usize::MAX));
    let text = std::fs::read_to_string(served.results.join("runs").join(&run).join("events.jsonl"));
    let lines: Vec<Value> =
        text.expect("events").lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let told: Vec<Value> =
        events.iter().filter(|sent| sent.kind == "message").map(|sent| sent.data.clone()).collect();
    assert_eq!(told, lines);
    // The number belongs to another run, so all events are sent again, and the page is notified.
    let odd = served.events(&run, Some("3"), usize::MAX);
    assert_eq!((&*odd[0].kind, odd.len()), ("restart", events.len() + 1));
}

#[test]
fn a_run_outlives_its_server_and_is_found_again() {
    fathom_only!();
    let directory = scratch();
    let first = Served::start(directory.path(), "");
    let run = first.start_job(LONG);
    let seen = first.events(&run, None, 2);
    let process = first.results.join("runs").join(&run).join("process.json");
    let process: Value =
        serde_json::from_str(&std::fs::read_to_string(process).expect("a process")).expect("JSON");
    let pid = u32::try_from(process["pid"].as_u64().expect("a number")).expect("a pid");
    let taken = Launch::fathom(directory.path()).words("serve --results=results --port=0").run();
    assert_eq!(taken.code(), 1);
    assert!(taken.stderr.contains("another fathom serve keeps its runs here"), "{}", taken.stderr);
    first.running.signal("KILL");
    let mut first = first;
    assert_eq!(first.running.finish_in_time().expect("it was killed").code(), 137);
    assert!(processes::runs(pid), "the run goes on");
    let second = Served::start(directory.path(), "");
    assert_eq!(second.state(&run), "running");
    assert_eq!(second.post("/api/runs", &json!({ "kind": "job", "job": SHORT })).status, 409);
    // The page of the first server continues where it was.
    let more = second.events(&run, seen.last().map(|sent| &*sent.id), 2);
    assert_eq!(second.events(&run, None, 4), [seen, more].concat());
    let stopped = second.post(&format!("/api/runs/{run}/stop"), &json!({}));
    assert_eq!(stopped.json()["sent"], "SIGINT");
    second.wait_for(&run, "stopped");
    let result = second.get(&format!("/api/runs/{run}/files/result.json")).json();
    assert!(result["jobs"][0]["read"]["total_ios"].as_u64().is_some_and(|ios| ios > 0));
    assert_eq!(second.post(&format!("/api/runs/{run}/stop"), &json!({})).status, 409);
    assert!(!processes::runs(pid), "nothing is left of it");
}

/// Ctrl-C ends the server but not its run; a killed run is distinguished from one that ended.
#[test]
fn runs_that_are_killed_are_lost() {
    fathom_only!();
    let directory = scratch();
    let mut first = Served::start(directory.path(), "");
    let run = first.start_job(LONG);
    first.wait_for(&run, "running");
    first.running.signal("INT");
    let finished = first.running.finish_in_time().expect("it ends");
    assert_eq!(finished.code(), 0);
    assert!(finished.stderr.contains(&format!("run {run} continues")), "{}", finished.stderr);
    let second = Served::start(directory.path(), "");
    assert_eq!(second.state(&run), "running");
    let process = second.results.join("runs").join(&run).join("process.json");
    let process: Value =
        serde_json::from_str(&std::fs::read_to_string(process).expect("a process")).expect("JSON");
    processes::signal(u32::try_from(process["pid"].as_u64().expect("a number")).expect("a pid"), "KILL");
    second.wait_for(&run, "lost");
    let events = second.events(&run, None, usize::MAX);
    assert_eq!(events.last().map(|sent| sent.data["state"].clone()), Some(json!("lost")));
    // A lost run does not prevent the next one from starting.
    let next = second.start_job(SHORT);
    second.wait_for(&next, "done");
}

#[test]
fn quick_and_sweeps_run_and_are_compared() {
    fathom_only!();
    let directory = scratch();
    let served = Served::start(directory.path(), "");
    let targets = served.results.join("targets").display().to_string();
    let quick = json!({ "kind": "quick", "directory": targets, "size": "16m", "time": "100ms" });
    let found = served.post("/api/check", &quick).json();
    assert!(found["text"].as_str().is_some_and(|text| text.contains("[fill]")), "{found}");
    let quick = served.start_run(&quick);
    served.wait_for(&quick, "done");
    assert!(
        std::fs::read_dir(&targets).is_ok_and(|mut left| left.next().is_none()),
        "nothing is left behind"
    );
    let job = "[a]\nioengine=null\nsize=1g\nrw=read\ntime_based\nruntime=200ms\n";
    let sweep = json!({ "kind": "sweep", "job": job, "vary": ["rate_iops=500,2000"], "repeats": 2 });
    let found = served.post("/api/check", &sweep).json();
    assert!(found["text"].as_str().is_some_and(|text| text.contains("2 cells, 4 runs")), "{found}");
    let sweep = served.start_run(&sweep);
    let events = served.events(&sweep, None, usize::MAX);
    let told: Vec<&str> =
        of_kind(&events, "message").iter().filter_map(|event| event["text"].as_str()).collect();
    assert!(told.iter().any(|text| text.starts_with("run 4 of 4")), "{told:?}");
    for run in [&quick, &sweep] {
        let page = served.get(&format!("/api/runs/{run}/page"));
        assert!(page.status == 200 && page.body.contains("</html>"), "{page:?}");
    }
    let page = served.get(&format!("/compare?a={quick}&b={quick}"));
    assert!(page.status == 200 && page.body.contains("Comparison: "), "{}", page.head);
    assert_eq!(served.get(&format!("/compare?a={quick}&b=../lock")).status, 404);
}

/// Checks that a device's data is overwritten only if its name was typed, regardless of the name by which the
/// job accesses it.
#[test]
fn devices_are_overwritten_only_by_their_names() {
    fathom_only!();
    let device = require!(LoopDevice::new(8 * MIB));
    let directory = scratch();
    let name = device.text().to_owned();
    let served = Served::start(directory.path(), &format!("--allow-device={name}"));
    let job = |rw: &str| format!("[a]\nfilename={name}\nsize=1m\nbs=4k\nrw={rw}\nbuffer_pattern=0xaa\n");
    let found = served.post("/api/check", &json!({ "kind": "job", "job": job("write") })).json();
    let target = &found["forecast"]["targets"][0];
    assert_eq!((&target["kind"], &target["size"]), (&json!("device"), &json!(8 * MIB)), "{found}");
    assert_eq!(found["forecast"]["to_confirm"], json!([name]));
    let before = device.contents();
    for confirm in [json!([]), json!(["/dev/null"]), json!([format!("{name} ")])] {
        let request = json!({ "kind": "job", "job": job("write"), "confirm": confirm });
        let answer = served.post("/api/runs", &request);
        assert_eq!((answer.status, &answer.json()["to_confirm"]), (428, &json!([name])), "{answer:?}");
    }
    let read = json!({ "kind": "sweep", "job": job("read"), "vary": ["rw=read,write"], "repeats": 1 });
    let answer = served.post("/api/runs", &read);
    assert_eq!((answer.status, &answer.json()["to_confirm"]), (428, &json!([name])), "{answer:?}");
    let run = served.start_job(&job("read"));
    served.wait_for(&run, "done");
    assert!(device.contents() == before, "reads change nothing");
    let run = served.start_run(&json!({ "kind": "job", "job": job("write"), "confirm": [name] }));
    served.wait_for(&run, "done");
    assert!(device.contents()[..MIB as usize].iter().all(|&byte| byte == 0xaa));
    // Even then it is refused if the device is in use.
    let _claim = {
        use std::os::unix::fs::OpenOptionsExt;
        std::fs::OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&name).expect("it opens")
    };
    let request = json!({ "kind": "job", "job": job("write"), "confirm": [name] });
    let answer = served.post("/api/runs", &request);
    assert!(answer.status == 422 && answer.problem().contains("in use"), "{answer:?}");
}

/// Files created by others are protected like devices; those of earlier runs need no confirmation.
#[test]
fn files_of_others_are_overwritten_only_by_their_names() {
    fathom_only!();
    let directory = scratch();
    let data = scratch();
    let theirs = file_of(data.path(), "theirs", MIB);
    let words = format!("--allow-path={}", data.path().display());
    let served = Served::start(directory.path(), &words);
    let job = |name: &str| format!("[a]\nfilename={name}\nsize=64k\nbs=4k\nrw=write\n");
    let before = std::fs::read(&theirs).expect("it can be read");
    let answer = served.post("/api/runs", &json!({ "kind": "job", "job": job("theirs") }));
    assert_eq!((answer.status, &answer.json()["to_confirm"]), (428, &json!(["theirs"])), "{answer:?}");
    assert!(std::fs::read(&theirs).expect("it can be read") == before);
    for _ in 0..2 {
        let run = served.start_job(&job("ours"));
        served.wait_for(&run, "done");
    }
    assert_eq!(std::fs::metadata(data.path().join("ours")).map(|file| file.len()).ok(), Some(64 << 10));
}
