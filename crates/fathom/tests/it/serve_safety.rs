//! `fathom serve` and foreign data: files created or modified by others, files in use, data on servers; and
//! that runs are done once, one at a time.

use crate::support::devices::LoopDevice;
use crate::support::program::Launch;
use crate::support::served::{Answer, Served, takes_long};
use crate::support::{MIB, file_of, processes, scratch};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A server whose jobs may use the files of a directory, which relative names refer to.
fn server(words: &str) -> (TempDir, TempDir, Served) {
    let (directory, data) = (scratch(), scratch());
    let served = Served::start(directory.path(), &format!("--allow-path={} {words}", data.path().display()));
    (directory, data, served)
}

fn start(served: &Served, job: &str) -> Answer {
    served.post("/api/runs", &json!({ "kind": "job", "job": job }))
}

/// The run is not started unless these names are typed.
#[track_caller]
fn is_asked_for(served: &Served, job: &str, names: &[&str]) {
    let answer = start(served, job);
    assert_eq!((answer.status, &answer.json()["to_confirm"]), (428, &json!(names)), "{job}: {answer:?}");
}

#[track_caller]
fn is_refused(served: &Served, job: &str, words: &str) {
    let answer = start(served, job);
    assert!(answer.status == 422 && answer.problem().contains(words), "{job}: {answer:?}");
}

#[track_caller]
fn runs(served: &Served, job: &str, state: &str) -> PathBuf {
    let run = served.start_job(job);
    served.wait_for(&run, state);
    served.results.join("runs").join(run)
}

fn document(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("it can be read")).expect("JSON")
}

#[test]
fn what_is_removed_or_grows_is_asked_for() {
    fathom_only!();
    let (_directory, data, served) = server("");
    let pre = file_of(data.path(), "pre", 4096);
    let before = std::fs::read(&pre).expect("it can be read");
    for option in ["unlink=1", "unlink_each_loop=1\nloops=2"] {
        let job = format!("[a]\nrw=read\nsize=4k\nfilename=pre\n{option}\n");
        is_asked_for(&served, &job, &["pre"]);
        let found = served.post("/api/check", &json!({ "kind": "job", "job": job })).json();
        assert_eq!(found["forecast"]["targets"][0]["is_removed"], true, "{found}");
    }
    is_asked_for(&served, "[a]\nrw=read\nsize=64k\nfilename=pre\n", &["pre"]);
    is_asked_for(&served, "[a]\nrw=read\nsize=4k\noffset=4k\nfilename=pre\n", &["pre"]);
    runs(&served, "[a]\nrw=read\nsize=4k\nfilename=pre\n", "done");
    assert!(std::fs::read(&pre).expect("it can be read") == before, "it is as it was");
    // With the name typed, the request is granted.
    let job = "[a]\nrw=read\nsize=64k\nfilename=pre\nunlink=1\n";
    let run = served.start_run(&json!({ "kind": "job", "job": job, "confirm": ["pre"] }));
    served.wait_for(&run, "done");
    assert!(!pre.exists());
}

/// A run's own files are identified by the file, not by the name.
#[test]
fn what_others_put_where_a_run_was_is_asked_for() {
    fathom_only!();
    let (_directory, data, served) = server("");
    let job = |name: &str, more: &str| format!("[a]\nfilename={name}\nsize=64k\nbs=4k\nrw=write\n{more}\n");
    // The run creates no file, ...
    runs(&served, &job("x", "allow_file_create=0"), "failed");
    // ... it removes its file, ...
    runs(&served, &job("y", "unlink=1"), "done");
    // ... or its file counts as its own until another program modifies it.
    for _ in 0..3 {
        runs(&served, &job("z", ""), "done");
    }
    for name in ["x", "y", "z"] {
        let theirs = file_of(data.path(), name, 64 << 10);
        let before = std::fs::read(&theirs).expect("it can be read");
        is_asked_for(&served, &job(name, ""), &[name]);
        assert!(std::fs::read(&theirs).expect("it can be read") == before, "{name}");
    }
    // A killed run does not record its files.
    let run =
        served.start_job("[a]\nfilename=w\nsize=64k\nrw=write\nrate_iops=20\nruntime=600\ntime_based\n");
    served.events(&run, None, 1);
    let pid = document(&served.results.join("runs").join(&run).join("process.json"))["pid"].as_u64();
    processes::signal(pid.and_then(|pid| u32::try_from(pid).ok()).expect("a pid"), "KILL");
    served.wait_for(&run, "lost");
    is_asked_for(&served, &job("w", ""), &["w"]);
    let quick = json!({ "kind": "quick", "directory": data.path(), "size": "16m", "time": "100ms" });
    let quick = served.start_run(&quick);
    served.wait_for(&quick, "done");
    let folder = served.results.join("runs").join(&quick);
    assert!(!folder.join("made.json").exists());
    assert_eq!(document(&folder.join("request.json"))["makes"], json!([]));
}

/// Including the backing file of a device.
#[test]
fn files_in_use_are_refused_whatever_is_typed() {
    fathom_only!();
    let (_directory, data, served) = server("");
    let backing = file_of(data.path(), "backing", MIB);
    let before = std::fs::read(&backing).expect("it can be read");
    let device = require!(LoopDevice::on_file(&backing));
    let _claim = {
        use std::os::unix::fs::OpenOptionsExt;
        let mut options = std::fs::OpenOptions::new();
        options.read(true).custom_flags(libc::O_EXCL).open(device.path()).expect("it opens")
    };
    let job = |more: &str| format!("[a]\nfilename=backing\nsize=64k\nbs=4k\n{more}\n");
    for more in ["rw=write", "rw=trim", "rw=read\nunlink=1", "rw=read\nsize=2m"] {
        let request = json!({ "kind": "job", "job": job(more), "confirm": ["backing"] });
        let answer = served.post("/api/runs", &request);
        assert!(answer.status == 422 && answer.problem().contains("is in use"), "{more}: {answer:?}");
    }
    is_refused(&served, &job("rw=write\nallow_mounted_write=1"), "allow_mounted_write= is refused");
    let sweep = json!({ "kind": "sweep", "job": job("rw=read"), "vary": ["allow_mounted_write=0,1"], "confirm": ["backing"] });
    assert_eq!(served.post("/api/runs", &sweep).status, 422);
    runs(&served, &job("rw=read"), "done");
    assert!(std::fs::read(&backing).expect("it can be read") == before);
}

#[test]
fn logs_replace_nothing() {
    fathom_only!();
    let (_directory, data, served) = server("");
    let log = data.path().join("prec_bw.1.log");
    std::fs::write(&log, "precious").expect("it can be written");
    let prefix = data.path().join("prec").display().to_string();
    for option in ["write_bw_log", "write_lat_log", "write_iops_log"] {
        let job = format!("[a]\nfilename=x\nsize=64k\nrw=write\n{option}={prefix}\n");
        is_refused(&served, &job, "logs and states are kept in the folder of their run");
    }
    assert_eq!(std::fs::read_to_string(&log).ok().as_deref(), Some("precious"));
    // The logs of a sweep are in its folder, too.
    let job = "[a]\nfilename=x\nsize=64k\nrw=write\nwrite_bw_log=mine\n";
    let sweep = json!({ "kind": "sweep", "job": job, "vary": ["bs=4k"], "repeats": 1 });
    let sweep = served.start_run(&sweep);
    served.wait_for(&sweep, "done");
    assert!(served.results.join("runs").join(&sweep).join("mine_bw.1.log").exists());
}

#[test]
fn devices_have_their_own_names_and_pipes_are_refused() {
    fathom_only!();
    let (directory, data) = (scratch(), scratch());
    let words = format!("--allow-path={}", data.path().display());
    let fifo = data.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.is_ok_and(|status| status.success()));
    let _socket = std::os::unix::net::UnixListener::bind(data.path().join("socket")).expect("a socket");
    {
        let served = Served::start(directory.path(), &words);
        for name in ["fifo", "socket"] {
            for rw in ["read", "write"] {
                is_refused(
                    &served,
                    &format!("[a]\nfilename={name}\nsize=4k\nrw={rw}\n"),
                    "pipes and sockets",
                );
            }
        }
    }
    let device = require!(LoopDevice::new(MIB));
    let link = data.path().join("link");
    std::os::unix::fs::symlink(device.path(), &link).expect("a link");
    let name = device.text();
    let other = scratch();
    let served = Served::start(other.path(), &format!("{words} --allow-device={name}"));
    let job = "[a]\nfilename=link\nsize=64k\nrw=write\n";
    is_asked_for(&served, job, &[name]);
    let by_link = json!({ "kind": "job", "job": job, "confirm": ["link", link] });
    assert_eq!(served.post("/api/runs", &by_link).status, 428);
    let run = served.start_run(&json!({ "kind": "job", "job": job, "confirm": [name] }));
    served.wait_for(&run, "done");
}

#[test]
fn what_lies_on_servers_is_asked_for_by_its_name() {
    fathom_only!();
    let (_directory, data, served) = server("--allow-network");
    let uri = "nbd://localhost:1/disk";
    let nbd = |rw: &str| format!("[a]\nioengine=nbd\nuri={uri}\nsize=64k\nrw={rw}\n");
    let http = |more: &str| {
        format!("[a]\nioengine=http\nhttp_host=localhost:1\nfilename=/one:/two\nsize=64k\n{more}\n")
    };
    is_asked_for(&served, &nbd("randwrite"), &[uri]);
    is_asked_for(&served, &http("rw=write"), &["/one", "/two"]);
    for job in [nbd("read"), http("rw=read")] {
        let found = served.post("/api/check", &json!({ "kind": "job", "job": job })).json();
        assert_eq!(found["forecast"]["to_confirm"], json!([]), "{found}");
    }
    let file = file_of(data.path(), "pem", 10).display().to_string();
    is_refused(&served, &http(&format!("rw=read\nhttp_ca={file}")), "http_ca= is refused");
    let both = format!("rw=read\nhttp_cert={file}\nhttp_key={file}");
    is_refused(&served, &http(&both), "http_cert= is refused");
    is_refused(
        &served,
        &format!("[a]\nioengine=rados\nconf={file}\nsize=64k\nrw=read\n"),
        "conf= is refused",
    );
}

#[test]
fn peers_are_reached_where_that_is_allowed() {
    fathom_only!();
    let job = |more: &str| format!("[a]\nioengine=net\nsize=64k\n{more}\n");
    let (_directory, _data, closed) = server("");
    for more in [
        "rw=write\nhostname=127.0.0.1\nport=1",
        "rw=read\nlisten\nport=1",
        "rw=read\nprotocol=unix\nhostname=s",
    ] {
        is_refused(&closed, &job(more), "without --allow-network");
    }
    let (_directory, data, open) = server("--allow-network");
    let outside = "/run/fathom-outside.sock";
    for rw in ["read", "write"] {
        let more = format!("rw={rw}\nprotocol=unix\nhostname={outside}");
        is_refused(&open, &job(&more), "was not started with --allow-path");
        let more = format!("rw={rw}\nprotocol=unix\nfilename={outside}");
        is_refused(&open, &job(&more), "was not started with --allow-path");
    }
    let socket = data.path().join("socket").display().to_string();
    let both = format!(
        "[global]\nioengine=net\nsize=64k\nprotocol=unix\nhostname={socket}\n[one]\nrw=read\n[two]\nrw=write\n"
    );
    runs(&open, &both, "done");
}

/// A folder of an accepted run whose process was never started.
fn folder_without_process(served: &Served, like: &Path, id: &str, accepted_ms: u64) -> PathBuf {
    let folder = served.results.join("runs").join(id);
    std::fs::create_dir(&folder).expect("a folder");
    let mut request = document(&like.join("request.json"));
    request["accepted_ms"] = json!(accepted_ms);
    std::fs::write(folder.join("request.json"), request.to_string()).expect("it can be written");
    folder
}

#[test]
fn runs_are_done_once_and_starts_are_not_waited_for_for_ever() {
    fathom_only!();
    let (directory, _data, served) = server("");
    let job = "[a]\nioengine=null\nsize=64k\nrw=read\n";
    let done = runs(&served, job, "done");
    let now = document(&done.join("request.json"))["accepted_ms"].as_u64().expect("a time");
    for (id, at) in [("a-past", now - 3_600_000), ("a-future", now + 3_600_000)] {
        let folder = folder_without_process(&served, &done, id, at);
        std::fs::write(folder.join("stderr.txt"), "first\nlast words\n\n").expect("it can be written");
        assert_eq!(served.state(id), "lost");
        let described = served.get(&format!("/api/runs/{id}")).json();
        assert_eq!(described["run"]["last_words"], "last words", "{described}");
        let stopped = served.post(&format!("/api/runs/{id}/stop"), &json!({}));
        assert!(stopped.status == 409 && stopped.problem().contains("is over"), "{stopped:?}");
    }
    runs(&served, job, "done");
    // Neither completed requests nor abandoned ones.
    let before = std::fs::read(done.join("ended.json")).expect("it can be read");
    for folder in [&done, &served.results.join("runs/a-past"), &served.results.join("runs/a-future")] {
        let again =
            Launch::fathom(directory.path()).words(&format!("serve --work={}", folder.display())).run();
        assert_eq!(again.code(), 1);
        assert!(again.stderr.contains("it is not run again"), "{}", again.stderr);
    }
    assert!(std::fs::read(done.join("ended.json")).is_ok_and(|after| after == before));
    let starting = folder_without_process(&served, &done, "b-now", u64::MAX);
    let mut request = document(&starting.join("request.json"));
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
    request["accepted_ms"] = json!(u64::try_from(clock.as_millis()).expect("a time"));
    std::fs::write(starting.join("request.json"), request.to_string()).expect("it can be written");
    let stopped = served.post("/api/runs/b-now/stop", &json!({}));
    assert!(stopped.status == 409 && stopped.problem().contains("is starting"), "{stopped:?}");
}

/// Checks that no run starts while processes of another run exist, regardless of how they were started.
#[test]
fn runs_do_not_overlap() {
    fathom_only!();
    require!(takes_long());
    let (_directory, _data, served) = server("");
    let lock = std::fs::File::create(served.results.join("runs/lock")).expect("a lock");
    lock.try_lock().expect("it is free");
    let folder = runs(&served, "[a]\nfilename=x\nsize=64k\nrw=write\n", "failed");
    let end = document(&folder.join("ended.json"));
    assert!(end["problem"].as_str().is_some_and(|text| text.contains("another run")), "{end}");
}

#[test]
fn events_may_be_long_broken_and_about_many_jobs() {
    fathom_only!();
    let (_directory, _data, served) = server("");
    let global =
        "[global]\nioengine=null\nsize=1g\nrw=read\nrate_iops=5\ntime_based\nruntime=2500ms\nthread\n";
    let sections: String = (0..205).map(|number| format!("[j{number}]\n")).collect();
    let run = served.start_job(&format!("{global}{sections}"));
    served.wait_for(&run, "done");
    let events = served.events(&run, None, usize::MAX);
    let tick = events.iter().map(|sent| &sent.data).find(|data| data["event"] == "tick").expect("a tick");
    assert_eq!(tick["jobs"].as_array().map(Vec::len), Some(200), "{tick}");
    assert_eq!(tick["further_jobs"], 5, "{tick}");
    let path = served.results.join("runs").join(&run).join("events.jsonl");
    let mut bytes = std::fs::read(&path).expect("it can be read");
    bytes.extend(format!("{{\"text\":\"{}\"}}\n", "x".repeat(600 << 10)).into_bytes());
    bytes.extend(b"{\"text\":\"\xc3\"}\n{\"text\":\"last\"}\n");
    std::fs::write(&path, bytes).expect("it can be written");
    let all = served.events(&run, None, usize::MAX);
    assert_eq!(all.len(), events.len() + 3);
    assert_eq!(all[all.len() - 3].data["text"], "\u{fffd}");
    assert_eq!(all[all.len() - 2].data["text"], "last");
    // From a given event on, all later ones are sent.
    assert_eq!(served.events(&run, Some(&all[all.len() - 4].id), usize::MAX), all[all.len() - 3..]);
}

#[test]
fn sweeps_of_too_many_jobs_are_refused() {
    fathom_only!();
    require!(takes_long());
    let (_directory, _data, served) = server("");
    let values: Vec<String> = (1..=1500).map(|depth| depth.to_string()).collect();
    let job = "[a]\nioengine=null\nsize=1m\nrw=read\nnumjobs=100\n";
    let vary = format!("iodepth={}", values.join(","));
    let answer = served.post("/api/check", &json!({ "kind": "sweep", "job": job, "vary": [vary] }));
    let text = answer.json()["mistakes"][0]["text"].as_str().unwrap_or_default().to_owned();
    assert!(text.contains("too many for this page"), "{answer:?}");
}
