//! `fathom serve --history`: runs that are added, and the pages of the history, over HTTP and in a browser.

use crate::history::answers::nights;
use crate::history::{document, history};
use crate::serve_page::{CONTRAST, check_silence};
use crate::support::browser::Browser;
use crate::support::program::Launch;
use crate::support::scratch;
use crate::support::served::Served;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// The server with the store of [`history`].
#[track_caller]
fn served(directory: &Path) -> Served {
    Served::start(directory, "--history=history.db")
}

#[track_caller]
fn page(served: &Served, path: &str, status: u16) -> String {
    let answer = served.get(path);
    assert_eq!(answer.status, status, "{path}: {}", answer.body);
    assert!(answer.body.ends_with("</html>\n"), "{path}: {}", answer.body);
    answer.body
}

#[test]
fn runs_are_added_with_links_to_their_results() {
    fathom_only!();
    let directory = scratch();
    let data = scratch();
    // The working directory of the server is another one.
    let served = Served::start(
        directory.path(),
        &format!("--history=history.db --allow-path={}", data.path().display()),
    );
    assert!(page(&served, "/history", 200).contains("No run meets the conditions"));
    let text = "[a]\nioengine=null\nsize=1g\nrw=randread\ntime_based\nruntime=200ms\n";
    let job = served.start_job(text);
    served.wait_for(&job, "done");
    let targets = data.path().display().to_string();
    let quick =
        served.start_run(&json!({ "kind": "quick", "directory": targets, "size": "16m", "time": "100ms" }));
    served.wait_for(&quick, "done");
    let sweep = json!({ "kind": "sweep", "job": text, "vary": ["iodepth=1,2"], "repeats": 1 });
    let sweep = served.start_run(&sweep);
    served.wait_for(&sweep, "done");
    let listed = document(history(directory.path(), "list --format=json").run());
    assert_eq!(listed["total"], 4, "a job, quick, two cells of a sweep: {listed}");
    for (number, run) in [(1, &job), (2, &quick), (3, &sweep)] {
        let page = page(&served, &format!("/history-run?number={number}"), 200);
        assert!(page.contains(&format!("href=\"api/runs/{run}/page\"")), "{number}: {page}");
        assert!(page.contains("p99.9") && page.contains("Percentiles"), "{page}");
    }
    fs::remove_dir_all(served.results.join("runs").join(&job)).expect("removed");
    assert!(!page(&served, "/history-run?number=1", 200).contains("/page\""), "the result is gone");
    // A checked sweep, and a job that fails, add nothing.
    let listed = page(&served, "/history?where=job%3Da", 200);
    assert!(listed.contains("Runs 1 to 3 of 3"), "{listed}");
    assert_eq!(served.get("/api/place").json()["history"], "history.db");
}

#[test]
fn without_the_option_nothing_is_different() {
    fathom_only!();
    let directory = scratch();
    let launch = Launch::fathom(directory.path()).variable("FATHOM_HISTORY", "history.db");
    let served = Served::start_as(launch, directory.path(), "");
    for path in ["/history", "/history-run?number=1", "/history-changes", "/history-fleet"] {
        assert_eq!(served.get(path).status, 404, "{path}");
    }
    assert!(served.get("/api/place").json().get("history").is_none());
    let run = served.start_job("[a]\nioengine=null\nsize=1m\nrw=read\n");
    served.wait_for(&run, "done");
    assert!(!directory.path().join("history.db").exists());
}

#[test]
fn a_store_that_cannot_be_used_is_refused_at_the_start() {
    fathom_only!();
    let directory = scratch();
    fs::write(directory.path().join("notes.txt"), "not a history\n").expect("written");
    for (store, what) in [
        ("notes.txt", "this file is not a history of fathom; name another one with --history="),
        ("nowhere/history.db", "make the file and its directory writable"),
        ("postgres://me:hidden@db/x", "PGPASSFILE"),
    ] {
        let refused =
            Launch::fathom(directory.path()).words(&format!("serve --port=0 --history={store}")).run();
        assert!(refused.code() == 1 && refused.stderr.contains(what), "{}", refused.stderr);
        assert!(!refused.stderr.contains("hidden") && refused.stdout.is_empty(), "{}", refused.stderr);
    }
}

/// Texts in a store come from others: they are never HTML, and the browser is told to run no other script.
#[test]
fn texts_of_the_store_are_no_scripts() {
    fathom_only!();
    let directory = scratch();
    let evil = "<script>alert(1)</script>\" onload=alert(2) x='\u{202e}";
    for number in 0..12 {
        let result = json!({ "fio version": evil, "timestamp": 1_790_000_000 + number, "jobs": [{ "jobname": evil,
            "job options": { "rw": "read", "description": evil }, "error": 5, "read": { "io_bytes": 4096, "bw_bytes": 4096,
            "iops": 10 + number, "runtime": 100, "total_ios": 10, "clat_ns": { "min": 1, "max": 9, "mean": 2.0, "stddev": 1.0,
            "N": 10, "percentile": { "99.000000": 8 } } } }], "fathom host": { "name": evil, "kernel": evil, "processor": evil,
            "processors": 1, "memory_bytes": 1, "devices": [{ "name": evil, "model": evil, "firmware": evil, "serial": evil }],
            "file_systems": [{ "directory": evil, "kind": evil, "source": evil, "options": evil }] } });
        fs::write(directory.path().join("evil.json"), result.to_string()).expect("written");
        history(directory.path(), "add evil.json")
            .argument(format!("--tag=a={}", evil.replace('\u{202e}', "")))
            .run()
            .expect_clean();
    }
    let served = served(directory.path());
    let pages = [
        "/history",
        "/history-run?number=1",
        "/history-changes",
        "/history-fleet?by=host",
        "/history?where=%3Cscript%3Ealert(3)%3D1",
        "/history-changes?figure=%3Cscript%3E&smallest=%22%3E%3Cscript%3E",
        "/history-fleet?by=%3Cscript%3E",
        "/history-run?number=%3Cscript%3E",
    ];
    for path in pages {
        let answer = served.get(path);
        assert!(matches!(answer.status, 200 | 422), "{path}: {}", answer.status);
        assert_eq!(answer.body.matches("<script").count(), 1, "{path}: {}", answer.body);
        assert!(
            !answer.body.contains(" onload=alert(2) x='") || answer.body.contains("&quot; onload"),
            "{path}"
        );
        assert!(!answer.body.contains('\u{202e}'), "{path}");
        let policy =
            answer.head.lines().find(|line| line.starts_with("content-security-policy: ")).expect("a policy");
        assert!(
            policy.contains("default-src 'none'; script-src 'self'; ") && !policy.contains("unsafe"),
            "{policy}"
        );
        // The door is the same as that of all other pages.
        let (host, cookie) = (served.host(), format!("Cookie: {}", served.cookie));
        assert_eq!(served.ask("GET", path, &[&host, &cookie, "Sec-Fetch-Site: cross-site"], "").status, 403);
        assert_eq!(served.ask("GET", path, &[&host], "").status, 403);
        assert_eq!(served.post(path.split('?').next().unwrap_or_default(), &json!({})).status, 404);
    }
}

/// Every question gets a page, with the message of the command line if it has no answer.
#[test]
fn odd_questions_and_broken_stores_have_a_page() {
    fathom_only!();
    let directory = scratch();
    nights(directory.path(), 12, 100);
    let served = served(directory.path());
    let long = "a".repeat(600);
    let many = "where=a%3Db&".repeat(21);
    for (path, status, what) in [
        ("/history-run?number=99", 422, "there is no run 99"),
        ("/history-run", 422, "is not the number of a run"),
        ("/history-run?number=-1", 422, "is not the number of a run"),
        ("/history-run?number=99999999999999999999", 422, "is not the number of a run"),
        ("/history?skip=99999999", 200, "There are 12 runs, and none after the first 99999999"),
        ("/history?skip=18446744073709551615", 200, "There are 12 runs"),
        ("/history?skip=-1", 200, "Runs 1 to 12 of 12"),
        ("/history?where=nothing", 422, "expected NAME=VALUE"),
        ("/history?where=host%3D%FF%00", 200, "No run meets"),
        ("/history-changes?figure=nonsense", 422, "no run that meets the conditions has nonsense"),
        ("/history-changes?smallest=much", 422, "expected a change in percent"),
        ("/history-fleet", 422, "none of the runs has a serial number"),
        ("/history-fleet?by=x", 422, "expected model, serial or host"),
        (&*format!("/history?where=a%3D{long}"), 422, "at most 500 are possible"),
        (&*format!("/history?{many}"), 422, "21 conditions; at most 20"),
        (&*format!("/history?where=a%3D{}", "b".repeat(9000)), 422, "The address is too long"),
        ("/history-changes?where=build%3Dnone", 422, "no run that meets the conditions"),
    ] {
        let page = page(&served, path, status);
        assert!(page.contains(what), "{path}: {page}");
    }
    let changes = page(&served, "/history-changes?figure=p99,+iops", 200);
    assert!(changes.matches("<a href=\"history-run?number=7\" tabindex=\"-1\"").count() == 2, "{changes}");
    // Another version, garbage, nothing.
    let store = directory.path().join("history.db");
    let whole = fs::read(&store).expect("a store");
    let all = ["/history", "/history-run?number=1", "/history-changes", "/history-fleet"];
    let file = fs::OpenOptions::new().write(true).open(&store).expect("opens");
    file.write_all_at(&99u32.to_be_bytes(), 60).expect("written");
    for path in all {
        assert!(page(&served, path, 422).contains("schema version 99"), "{path}");
    }
    let mut damaged = whole.clone();
    damaged[4096..].fill(0x5a);
    fs::write(&store, damaged).expect("written");
    for path in all {
        let page = page(&served, path, 422);
        assert!(page.contains("role=\"alert\"") && page.contains("history.db"), "{path}: {page}");
    }
    fs::remove_file(&store).expect("removed");
    for path in all {
        assert!(page(&served, path, 422).contains("no history there yet"), "{path}");
    }
    fs::write(&store, whole).expect("written");
    assert!(
        page(&served, "/history", 200).contains("Runs 1 to 12 of 12"),
        "nothing was broken by the questions"
    );
}

/// Time for the next page to begin; the browser refuses a question that the end of a page interrupts.
const LOAD: Duration = Duration::from_millis(500);

/// Leaves the page with a script.
#[track_caller]
fn leave(browser: &mut Browser, script: &str) {
    browser.value(&format!("void setTimeout(() => {{ {script} }})"));
    std::thread::sleep(LOAD);
}

/// From the list to a run and back, with conditions, and from a mark to its run.
#[test]
fn everyone_can_use_the_pages_of_the_history() {
    fathom_only!();
    let mut browser = require!(Browser::start());
    let directory = scratch();
    nights(directory.path(), 60, 30);
    let served = served(directory.path());
    browser.open_url(&served.url);
    browser.wait_until("document.querySelector('nav a[href=history]') !== null");
    leave(&mut browser, "document.querySelector('nav a[href=history]').click()");
    let rows = "document.readyState === 'complete' && document.querySelectorAll('tbody tr').length";
    browser.wait_until(&format!("{rows} === 50"));
    leave(
        &mut browser,
        "[...document.querySelectorAll('main a')].find(a => a.textContent === 'Older').click()",
    );
    browser.wait_until(&format!("{rows} === 10"));
    leave(&mut browser, "history.back()");
    browser.wait_until(&format!("{rows} === 50"));
    browser.value("document.querySelector('input[name=where]').focus()");
    browser.type_text("build=6.12.11");
    leave(&mut browser, "document.querySelector('form').requestSubmit()");
    browser.wait_until(&format!("{rows} === 30"));
    leave(&mut browser, "document.querySelector('tbody th a').click()");
    browser.wait_until("document.readyState === 'complete' && document.querySelector('h3')?.textContent.startsWith('run 60:') === true");
    leave(&mut browser, "history.back()");
    browser.wait_until(&format!("{rows} === 30"));
    assert_eq!(browser.value("document.querySelector('input[name=where]').value"), "build=6.12.11");
    leave(
        &mut browser,
        "[...document.querySelectorAll('main nav a')].find(a => a.textContent === 'Changes').click()",
    );
    browser.wait_until(
        "document.readyState === 'complete' && document.querySelectorAll('.chart > svg a').length === 60",
    );
    assert!(
        browser.value("location.search").as_str().is_some_and(|text| text.contains("build")),
        "conditions are kept"
    );
    browser.value("document.querySelector('.chart > svg').focus()");
    browser.press("Home", 36);
    browser.press("Enter", 13);
    std::thread::sleep(LOAD);
    browser.wait_until("document.readyState === 'complete' && document.querySelector('h3')?.textContent.startsWith('run 31:') === true");
    let base = format!("http://127.0.0.1:{}{}", served.port, served.place);
    for path in ["/history", "/history-run?number=3", "/history-changes", "/history-fleet"] {
        check_silence(&browser, &served, &["422"]);
        browser.open_url(&format!("{base}{path}"));
        check_page(&mut browser, path);
    }
    check_silence(&browser, &served, &["422"]);
}

/// Names, headings, phones, 400 % zoom, contrast.
#[track_caller]
fn check_page(browser: &mut Browser, path: &str) {
    let tree = browser.call("Accessibility.getFullAXTree", json!({}));
    for node in tree["nodes"].as_array().expect("nodes") {
        let role = node["role"]["value"].as_str().unwrap_or_default();
        let is_named = node["name"]["value"].as_str().is_some_and(|name| !name.trim().is_empty());
        let needs_name = ["textbox", "button", "link", "combobox", "navigation"].contains(&role);
        assert!(node["ignored"] == true || is_named || !needs_name, "{path}: {node}");
    }
    let charts = "[...document.querySelectorAll('.chart > svg')].filter(s => !document.getElementById(s.getAttribute('aria-labelledby'))).length";
    assert_eq!(browser.value(charts), 0, "{path}");
    let levels = browser.value("[...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])");
    let levels: Vec<u64> = levels.as_array().expect("levels").iter().filter_map(Value::as_u64).collect();
    assert!(levels[0] == 1 && levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{path}: {levels:?}");
    for width in [360, 320] {
        let metrics = json!({ "width": width, "height": 640, "deviceScaleFactor": 1, "mobile": false });
        browser.call("Emulation.setDeviceMetricsOverride", metrics);
        let needed = browser.value("document.documentElement.scrollWidth");
        assert!(needed.as_u64().is_some_and(|needed| needed <= width), "{path}: {needed} of {width}");
    }
    browser.call("Emulation.clearDeviceMetricsOverride", json!({}));
    for scheme in ["light", "dark"] {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.call("Emulation.setEmulatedMedia", features);
        let least = browser.value(CONTRAST);
        assert!(least.as_f64().is_some_and(|ratio| ratio >= 4.5), "{path}, {scheme}: {least}");
    }
}
