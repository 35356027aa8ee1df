//! `fathom serve` against unauthorized clients, and against jobs that access forbidden files.

use crate::support::program::Launch;
use crate::support::served::{Served, takes_long};
use crate::support::{PATIENCE, scratch};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

const JOB: &str = "[a]\nioengine=null\nsize=1m\nrw=read\n";

#[test]
fn only_browsers_that_were_let_in_are_served() {
    fathom_only!();
    let directory = scratch();
    let served = Served::start(directory.path(), "");
    let (host, cookie) = (served.host(), format!("Cookie: {}", served.cookie));
    let origin = format!("Origin: http://localhost:{}", served.port);
    let json_type = "Content-Type: application/json";
    let body = json!({ "kind": "job", "job": JOB }).to_string();
    let refused = |method: &str, path: &str, headers: &[&str]| {
        let answer = served.ask(method, path, headers, if method == "POST" { &body } else { "" });
        assert!(matches!(answer.status, 403 | 415), "{method} {path} {headers:?}: {answer:?}");
    };
    // No cookie, a wrong one, or a wrong token.
    for path in
        ["/", "/assets/main.js", "/api/runs", "/api/options", "/api/runs/x/events", "/compare?a=1&b=2"]
    {
        refused("GET", path, &[&host]);
        refused("GET", path, &[&host, &format!("Cookie: fathom-{}=wrong", served.port)]);
    }
    // Another program on this machine gets no cookie for a path that it cannot know; even with a cookie, it
    // would need that path.
    let given = served.let_in().head;
    let line = given.lines().find(|line| line.starts_with("set-cookie: ")).expect("a cookie");
    assert!(line.ends_with(&format!("HttpOnly; SameSite=Strict; Path={}/", served.place)), "{line}");
    assert!(served.place.len() > 30, "{}", served.place);
    for path in ["/api/runs", "/x/api/runs", &*format!("{}x/api/runs", served.place)] {
        let asked = format!("GET {path} HTTP/1.1\r\n{host}\r\n{cookie}\r\n\r\n");
        let answer = served.send(&asked);
        assert_eq!(answer.status, 403, "{path}: {answer:?}");
        assert!(
            answer.head.contains("connection: close"),
            "who is not known keeps no connection: {answer:?}"
        );
    }
    for path in ["/?token=", "/?token=wrong", "/?x=1", "/?token"] {
        refused("GET", path, &[&host, &cookie]);
    }
    // Names that another name server points here, and requests of other pages.
    for other in ["Host: example.org", "Host: localhost.example.org", "Host: 192.0.2.1", "Host: "] {
        refused("GET", "/api/runs", &[other, &cookie]);
    }
    refused("GET", "/api/runs", &[&host, "Host: example.org", &cookie]);
    refused("GET", "http://example.org/api/runs", &[&host, &cookie]);
    for site in ["cross-site", "same-site", "none\r\nSec-Fetch-Site: none"] {
        refused("GET", "/api/runs", &[&host, &cookie, &format!("Sec-Fetch-Site: {site}")]);
    }
    for other in ["Origin: http://example.org", "Origin: null", "Origin: http://localhost:1", "X: "] {
        refused("POST", "/api/runs", &[&host, &cookie, other, json_type]);
    }
    refused("POST", "/api/runs", &[&host, &cookie, &origin, "Content-Type: text/plain"]);
    assert_eq!(served.get("/api/runs").json(), json!([]), "nothing was run");
    assert_eq!(served.post("/api/runs", &json!({ "kind": "job", "job": JOB })).status, 201);
}

#[test]
fn no_path_leads_out_of_the_runs() {
    fathom_only!();
    let directory = scratch();
    let served = Served::start(directory.path(), "");
    let run = served.start_job(JOB);
    served.wait_for(&run, "done");
    let paths = [
        "/assets/../api/options/..",
        "/assets/%2e%2e/lock",
        "/api/runs/../files/lock",
        "/api/runs/..%2flock",
        "/api/runs/%2e%2e/files/job.fio",
    ];
    let own = format!("/api/runs/{run}/files");
    let names =
        ["../job.fio", "request.json", "process.json", "..%2f..%2flock", "job.fio%00", "/etc/passwd", ""];
    for path in paths.iter().map(|path| (*path).to_owned()).chain(names.map(|name| format!("{own}/{name}"))) {
        assert_eq!(served.get(&path).status, 404, "{path}");
    }
    assert_eq!(served.get(&format!("{own}/job.fio")).body, JOB);
    for method in ["DELETE", "PUT", "OPTIONS", "TRACE"] {
        let headers = [
            served.host(),
            format!("Cookie: {}", served.cookie),
            format!("Origin: http://localhost:{}", served.port),
        ];
        let headers: Vec<&str> =
            headers.iter().map(String::as_str).chain(["Content-Type: application/json"]).collect();
        assert_eq!(served.ask(method, &format!("/api/runs/{run}"), &headers, "").status, 404, "{method}");
    }
}

/// Checks that jobs that access other targets are refused before any I/O, also by the run's process.
#[test]
fn jobs_touch_nothing_that_was_not_allowed() {
    fathom_only!();
    let directory = scratch();
    let outside = scratch();
    let out = outside.path().display().to_string();
    let served = Served::start(directory.path(), "");
    std::os::unix::fs::symlink(outside.path(), served.results.join("targets/link")).expect("a link");
    let secret = outside.path().join("secret");
    std::fs::write(&secret, "top secret\n").expect("a file");
    let jobs = [
        format!("filename={out}/new"),
        "filename=link/new".to_owned(),
        "filename=../runs/new".to_owned(),
        "filename=../lock".to_owned(),
        format!("directory={out}"),
        "filename=/dev/null".to_owned(),
        format!("exec_prerun=touch {out}/new"),
        format!("exec_postrun=touch {out}/new"),
        format!("ioengine=exec\nprogram=touch\narguments={out}/new"),
        format!("ioengine=external:{out}/engine.so"),
        format!("write_bw_log={out}/new"),
        format!("write_iolog={out}/new"),
        format!("read_iolog={out}/secret"),
        format!("replay_redirect={out}/secret"),
        format!("merge_blktrace_file={out}/new"),
        format!("buffer_pattern='{out}/secret'"),
        format!("include {out}/secret"),
        format!("opendir={out}"),
        format!("mem=mmaphuge:{out}/new"),
        format!("verify=crc32c\nverify_ledger={out}/new"),
        "ioengine=nbd\nuri=nbd://localhost".to_owned(),
        "cgroup=x".to_owned(),
        "uid=0".to_owned(),
        "ioscheduler=none".to_owned(),
    ];
    for job in &jobs {
        let text = format!("[a]\nsize=64k\nrw=write\n{job}\n");
        let answer = served.post("/api/runs", &json!({ "kind": "job", "job": text }));
        assert_eq!(answer.status, 422, "{job}: {answer:?}");
        assert!(!answer.body.contains("top secret"), "{answer:?}");
    }
    // A harmless job turned into others by a sweep.
    for vary in [
        format!("filename=x,{out}/new"),
        format!("exec_prerun=true,touch {out}/new"),
        "directory=link".to_owned(),
    ] {
        let request = json!({ "kind": "sweep", "job": "[a]\nfilename=x\nsize=64k\nrw=write\n", "vary": [vary], "repeats": 1 });
        let answer = served.post("/api/runs", &request);
        assert_eq!(answer.status, 422, "{vary}: {answer:?}");
    }
    let quick = served.post("/api/runs", &json!({ "kind": "quick", "directory": out, "size": "16m" }));
    assert_eq!(quick.status, 422, "{quick:?}");
    // Values that look like options or commands are treated as plain values.
    for directory in ["--size=1g", "-h"] {
        assert_eq!(served.post("/api/runs", &json!({ "kind": "quick", "directory": directory })).status, 422);
    }
    let left: Vec<_> = std::fs::read_dir(outside.path()).expect("a directory").flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(served.get("/api/runs").json(), json!([]), "nothing was run");
    // The server's environment variables are not available to jobs.
    let text = "[a]\nioengine=null\nsize=1m\nrw=read\ndescription=home${HOME}\n";
    let run = served.start_job(text);
    served.wait_for(&run, "done");
    let home = std::env::var("HOME").unwrap_or_default();
    let result = served.get(&format!("/api/runs/{run}/files/result.json"));
    assert!(!result.body.contains(&format!("home{home}\"")) || home.is_empty(), "{home}");
}

/// Logs and states of a job are in the folder of its run.
#[test]
fn logs_lie_with_their_run() {
    fathom_only!();
    let directory = scratch();
    let served = Served::start(directory.path(), "");
    let run = served.start_job(
        "[a]\nfilename=x\nsize=64k\nrw=write\nverify=crc32c\nverify_state_save=1\nwrite_bw_log=mine\n",
    );
    served.wait_for(&run, "done");
    let names: Vec<String> = std::fs::read_dir(served.results.join("runs").join(&run))
        .expect("a folder")
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    assert!(names.iter().any(|name| name == "mine_bw.1.log"), "{names:?}");
    assert!(names.iter().any(|name| name.ends_with("-verify.state")), "{names:?}");
}

#[test]
fn large_requests_and_nonsense_are_refused() {
    fathom_only!();
    let directory = scratch();
    let served = Served::start(directory.path(), "");
    let job = "x".repeat(2 << 20);
    assert_eq!(served.post("/api/check", &json!({ "kind": "job", "job": job })).status, 413);
    let head = format!(
        "POST {}/api/check HTTP/1.1\r\n{}\r\nCookie: {}\r\nOrigin: http://localhost:{}\r\nContent-Type: application/json\r\n",
        served.place,
        served.host(),
        served.cookie,
        served.port
    );
    let chunk = format!("{:x}\r\n{}\r\n", 64 << 10, "x".repeat(64 << 10));
    let chunked =
        format!("{head}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n{}0\r\n\r\n", chunk.repeat(20));
    assert!(
        matches!(served.send(&chunked).status, 413 | 0),
        "the connection may be cut before the answer is read"
    );
    let headers = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(64 << 10));
    assert!(matches!(served.send(&headers).status, 431 | 0));
    for nonsense in ["\0\0\0\0\r\n\r\n", "GET / HTTP/9\r\n\r\n", "\r\n\r\n\r\n", "GET /\r\n\r\n"] {
        let status = served.send(nonsense).status;
        assert!(status == 0 || status >= 400, "{nonsense:?}: {status}");
    }
    for document in ["", "{", "[]", "{\"kind\":\"x\"}", "{\"kind\":\"job\",\"words\":[\"--output=/x\"]}"] {
        let wrong =
            format!("{head}Content-Length: {}\r\nConnection: close\r\n\r\n{document}", document.len());
        assert_eq!(served.send(&wrong).status, 400, "{document}");
    }
    let deep = "[a]\n".to_owned() + &"(".repeat(100_000);
    let answer =
        served.post("/api/check", &json!({ "kind": "job", "job": format!("[a]\nrw=read\nsize={deep}") }));
    assert_eq!(answer.status, 200, "{}", answer.head);
    assert_ne!(answer.json()["mistakes"], json!([]));
    let many = served.post(
        "/api/check",
        &json!({ "kind": "job", "job": "[a]\nrw=read\nioengine=null\nsize=1m\nnumjobs=100000\n" }),
    );
    assert_ne!(many.json()["mistakes"], json!([]), "{many:?}");
}

/// Idle clients occupy connections for a while; then others get them.
#[test]
fn slow_clients_are_let_go() {
    fathom_only!();
    require!(takes_long());
    let directory = scratch();
    let served = Served::start(directory.path(), "");
    let mut slow: Vec<_> = (0..140)
        .map(|_| {
            let mut stream = served.connect();
            // The server may have closed excess connections.
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: local");
            stream
        })
        .collect();
    let began = Instant::now();
    while served.get("/api/place").status != 200 {
        assert!(began.elapsed() < PATIENCE, "no other client is served");
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    let mut bytes = Vec::new();
    let _ = slow[0].read_to_end(&mut bytes);
    assert!(!String::from_utf8_lossy(&bytes).contains(" 200 "));
}

#[test]
fn others_cannot_reach_it_and_its_files_are_for_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    fathom_only!();
    let directory = scratch();
    for address in ["0.0.0.0", "[::]:8767", "192.0.2.1:80"] {
        let finished = Launch::fathom(directory.path()).words(&format!("serve --listen={address}")).run();
        assert_eq!(finished.code(), 1, "{address}");
        assert!(
            finished.stderr.contains("is refused: anyone who can reach this address"),
            "{}",
            finished.stderr
        );
    }
    let served = Served::start(directory.path(), "--listen=127.0.0.2:0");
    assert!(served.url.starts_with("http://127.0.0.2:"), "{}", served.url);
    let mode = std::fs::metadata(&served.results).map(|found| found.permissions().mode() & 0o777);
    assert_eq!(mode.ok(), Some(0o700));
    let _: Value = served.get("/api/place").json();
}

#[test]
fn a_results_directory_that_others_can_write_to_is_refused() {
    fathom_only!();
    let directory = scratch();
    let path = |part: &str| directory.path().join("results").join(part);
    std::fs::create_dir_all(path("runs")).expect("a directory");
    let told = || {
        let finished = Launch::fathom(directory.path()).words("serve --results=results --port=0").run();
        assert_ne!(finished.code(), 0);
        finished.stderr
    };
    let open = |part: &str, mode: u32| {
        std::fs::set_permissions(path(part), std::fs::Permissions::from_mode(mode)).expect("a mode");
    };
    open("runs", 0o777);
    assert!(told().contains("runs can be written by others"), "{}", told());
    open("runs", 0o700);
    std::fs::create_dir(directory.path().join("elsewhere")).expect("a directory");
    std::fs::remove_dir_all(path("targets")).expect("it was made");
    std::os::unix::fs::symlink(directory.path().join("elsewhere"), path("targets")).expect("a link");
    assert!(told().contains("targets is not a directory"), "{}", told());
}
