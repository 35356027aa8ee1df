//! The page of `fathom serve` in a browser, from end to end: with the keyboard alone, several viewers, lost connections,
//! small screens, dark mode, a screen reader.

use crate::support::browser::Browser;
use crate::support::scratch;
use crate::support::served::{Served, takes_long};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A long job with little I/O.
const LONG: &str = "[slow]\nfilename=x\nsize=1m\nrw=read\nrate_iops=50\nruntime=600\ntime_based\n";

/// The page sent requests only to its own server, and logged no errors except those with these words.
#[track_caller]
pub(crate) fn check_silence(browser: &Browser, served: &Served, expected: &[&str]) {
    let own = format!("http://127.0.0.1:{}/", served.port);
    for event in &browser.events {
        let parameters = &event["params"];
        let is_expected = expected.iter().any(|words| parameters.to_string().contains(words));
        match event["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                assert!(url.starts_with(&own) || url.starts_with("data:"), "the page asks for {url}");
            }
            "Runtime.exceptionThrown" | "Log.entryAdded" | "Runtime.consoleAPICalled" if !is_expected => {
                panic!("{parameters}")
            }
            _ => {}
        }
    }
}

#[track_caller]
fn enter(browser: &mut Browser, served: &Served) {
    browser.open_url(&served.url);
    browser.wait_until("!document.getElementById('view-write').hidden");
}

fn text_of(browser: &mut Browser, selector: &str) -> String {
    let text = browser.value(&format!("document.querySelector({}).textContent", json!(selector)));
    text.as_str().unwrap_or_default().to_owned()
}

/// Moves to an element by Tab.
#[track_caller]
fn tab_to(browser: &mut Browser, id: &str) {
    for _ in 0..60 {
        if browser.value("document.activeElement.id") == id {
            return;
        }
        browser.press("Tab", 9);
    }
    panic!("Tab never comes to {id}");
}

fn press_enter(browser: &mut Browser) {
    for kind in ["keyDown", "keyUp"] {
        let event = json!({ "type": kind, "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r" });
        browser.call("Input.dispatchKeyEvent", event);
    }
}

/// Replaces the job file.
fn write_job(browser: &mut Browser, job: &str) {
    tab_to(browser, "job");
    browser.value("document.getElementById('job').select()");
    browser.type_text(job);
}

#[test]
fn a_job_is_written_checked_run_and_stopped_with_the_keyboard_alone() {
    fathom_only!();
    let mut browser = require!(Browser::start());
    let directory = scratch();
    let served = Served::start(directory.path(), "");
    enter(&mut browser, &served);
    assert_eq!(browser.value("location.search"), "", "the token is not left in the address");
    assert_eq!(browser.value("document.cookie"), "", "no script reads the cookie");
    // Options and their values are completed, and explained.
    write_job(&mut browser, "[slow]\nfilename=x\nsize=1m\nrate_iops=50\nruntime=600\ntime_based\niodept");
    browser.wait_until("!document.getElementById('completions').hidden");
    browser.press("ArrowDown", 40);
    let active = browser.value(
        "document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).textContent",
    );
    assert!(active.as_str().is_some_and(|text| text.starts_with("iodepth")), "{active}");
    press_enter(&mut browser);
    browser.type_text("zk\nrw=randr");
    browser.press("ArrowDown", 40);
    press_enter(&mut browser);
    let job = browser.value("document.getElementById('job').value");
    assert!(job.as_str().is_some_and(|text| text.ends_with("iodepth=zk\nrw=randread")), "{job}");
    assert!(text_of(&mut browser, "#option-help").contains("rw"));
    // A mistake leads to its line.
    tab_to(&mut browser, "check");
    press_enter(&mut browser);
    browser.wait_until("document.querySelector('#found .bad a') !== null");
    assert!(text_of(&mut browser, "#found .bad").contains("Line 7"));
    browser.value("document.querySelector('#found .bad a').focus()");
    press_enter(&mut browser);
    let chosen = "(t => t.value.slice(t.selectionStart, t.selectionEnd))(document.getElementById('job'))";
    assert_eq!(browser.value(chosen), "iodepth=zk");
    browser.type_text("iodepth=2");
    tab_to(&mut browser, "check");
    press_enter(&mut browser);
    browser.wait_until("document.querySelector('#found dl') !== null");
    let found = text_of(&mut browser, "#found");
    assert!(found.contains("at most 10 min") && found.contains("is made and filled"), "{found}");
    // It runs, is watched, and is stopped.
    tab_to(&mut browser, "run");
    press_enter(&mut browser);
    let line = "document.querySelector('#chart-iops svg[role=img] .line.s0').getAttribute('d')";
    browser.wait_until(&format!("!document.getElementById('view-run').hidden && document.querySelector('#chart-iops svg[role=img]') !== null && {line}.split('L').length >= 3"));
    assert!(text_of(&mut browser, "#jobs").contains("slow"));
    browser.wait_until("document.getElementById('run-state').textContent.includes('is running')");
    browser.value("document.querySelector('#chart-iops svg[role=img]').focus()");
    browser.press("ArrowRight", 39);
    assert!(text_of(&mut browser, "#chart-iops .told").contains("read "), "a chart tells its values");
    browser.value("document.getElementById('content').focus()");
    // A response from before the end arrives after the event that reports it: the page does not go back.
    let told = "document.getElementById('run-state').textContent.includes('was stopped')";
    browser.value(&format!(
        "(async ask => {{
            const id = document.getElementById('run-state').textContent.split(',')[0];
            const described = await (await ask('api/runs/' + id)).json();
            window.fetch = async (path, options) => {{
                const response = await ask(path, options);
                if (options.method === 'GET') response.json = async () => {{
                    while (!{told}) await new Promise(again => setTimeout(again, 10));
                    setTimeout(() => window.hasAnswered = true);
                    return described;
                }};
                return response;
            }};
            window.isPrepared = true;
        }})(window.fetch), 0"
    ));
    browser.wait_until("window.isPrepared === true");
    tab_to(&mut browser, "stop");
    press_enter(&mut browser);
    browser.wait_until("window.hasAnswered === true");
    assert!(browser.value(told) == true, "{}", text_of(&mut browser, "#run-state"));
    browser.wait_until("document.querySelector('#run-links a') !== null");
    check_silence(&browser, &served, &[]);
    // The result opens, and has no network access.
    let result = browser.value("document.querySelector('#run-links a').href");
    browser.open_url(result.as_str().expect("an address"));
    assert!(
        browser
            .value("document.querySelectorAll('figure.chart').length")
            .as_u64()
            .is_some_and(|charts| charts > 2)
    );
    assert_eq!(browser.value("self.origin"), "null");
    check_silence(&browser, &served, &[]);
}

#[test]
fn two_runs_are_compared_and_one_is_opened_again() {
    fathom_only!();
    require!(takes_long());
    let mut browser = require!(Browser::start());
    let directory = scratch();
    let served = Served::start(directory.path(), "");
    for depth in [1, 4] {
        let run = served.start_job(&format!(
            "[a]\nioengine=null\nsize=1g\nrw=read\niodepth={depth}\nrate_iops=2000\nruntime=1\ntime_based\n"
        ));
        served.wait_for(&run, "done");
    }
    enter(&mut browser, &served);
    browser.value("location.hash = '#runs'");
    browser.wait_until("document.querySelectorAll('#list input').length === 2");
    assert_eq!(browser.value("document.getElementById('compare').disabled"), true);
    browser.value("document.querySelectorAll('#list input').forEach(box => box.click())");
    assert_eq!(browser.value("document.getElementById('compare').disabled"), false);
    browser
        .value("window.open = url => { document.title = new URL(url, location).href }; document.getElementById('compare').click()");
    let address = browser.value("document.title");
    let address = address.as_str().expect("an address").to_owned();
    browser.value("document.querySelector('#list a').click()");
    browser.wait_until("document.querySelectorAll('#run-links a').length > 2");
    browser.value(
        "[...document.querySelectorAll('#run-links a')].find(a => a.textContent.startsWith('Open')).click()",
    );
    browser.wait_until("!document.getElementById('view-write').hidden");
    assert!(
        browser
            .value("document.getElementById('job').value")
            .as_str()
            .is_some_and(|text| text.contains("iodepth=4"))
    );
    browser.open_url(&address);
    assert!(
        browser
            .value("document.querySelectorAll('table tbody tr').length")
            .as_u64()
            .is_some_and(|rows| rows >= 3)
    );
    check_silence(&browser, &served, &[]);
    // A failed comparison is a page, too.
    browser.open_url(&address.replace("a=", "a=missing"));
    assert!(text_of(&mut browser, "body").contains("A comparison takes two runs with results"));
}

#[test]
fn quick_and_a_sweep_run_from_their_forms() {
    fathom_only!();
    require!(takes_long());
    let mut browser = require!(Browser::start());
    let directory = scratch();
    let served = Served::start(directory.path(), "");
    enter(&mut browser, &served);
    browser.value("location.hash = '#quick'");
    browser.wait_until("!document.getElementById('of-quick').hidden");
    browser.value(
        "document.getElementById('size').value = '16m'; document.getElementById('time').value = '200ms'",
    );
    browser.value("document.getElementById('check').click()");
    browser.wait_until("document.querySelector('#found pre') !== null");
    let plan = text_of(&mut browser, "#found pre");
    assert!(plan.contains("A new file in ") && plan.contains("Nothing that exists is touched"), "{plan}");
    browser.value("document.getElementById('run').click()");
    browser.wait_until("document.getElementById('run-state').textContent.includes('done')");
    browser.wait_until("!document.getElementById('answer').hidden");
    assert!(
        text_of(&mut browser, "#answer").contains("sequential 1 MiB"),
        "the grid is on the page of the run"
    );
    browser.value("location.hash = '#sweep'");
    browser.wait_until("!document.getElementById('of-sweep').hidden");
    write_job(
        &mut browser,
        "[a]\nioengine=null\nsize=1g\nrw=read\nrate_iops=1000\nruntime=300ms\ntime_based\n",
    );
    browser.value("document.querySelector('.vary-values').value = '1,2'; document.getElementById('repeats').value = '2'");
    browser.value("document.getElementById('check').click()");
    browser.wait_until("document.querySelector('#found pre') !== null");
    assert!(text_of(&mut browser, "#found pre").contains("2 cells, 4 runs"));
    browser.value("document.getElementById('run').click()");
    browser.wait_until("document.getElementById('run-state').textContent.includes('done') && document.getElementById('run-title').textContent.startsWith('sweep')");
    assert!(text_of(&mut browser, "#messages").contains("run 4 of 4"));
    check_silence(&browser, &served, &[]);
}

/// Forwards connections, which can be cut.
struct Wire {
    port: u16,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Wire {
    fn to(port: u16) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let own = listener.local_addr().expect("an address").port();
        let open: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let kept = Arc::clone(&open);
        std::thread::spawn(move || {
            for browser in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                for (from, to) in [(&browser, &server), (&server, &browser)] {
                    let (mut from, mut to) =
                        (from.try_clone().expect("a copy"), to.try_clone().expect("a copy"));
                    kept.lock().expect("nobody panics").push(from.try_clone().expect("a copy"));
                    std::thread::spawn(move || {
                        let mut bytes = [0; 4096];
                        while let Ok(count @ 1..) = from.read(&mut bytes) {
                            if to.write_all(&bytes[..count]).is_err() {
                                break;
                            }
                        }
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Wire { port: own, open }
    }

    fn cut(&self) {
        for stream in self.open.lock().expect("nobody panics").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Two viewers of one run. The connection of one is cut, and it misses nothing and sees nothing twice. Then
/// the server is killed: the run continues, and is found again.
#[test]
fn viewers_see_the_same_whatever_happens_to_connection_and_server() {
    fathom_only!();
    require!(takes_long());
    let (mut one, mut other) = (require!(Browser::start()), require!(Browser::start()));
    let directory = scratch();
    let mut served = Served::start(directory.path(), "");
    let run = served.start_job(LONG);
    let wire = Wire::to(served.port);
    enter(&mut other, &served);
    one.open_url(&served.url.replace(&served.port.to_string(), &wire.port.to_string()));
    one.wait_until("!document.getElementById('view-write').hidden");
    let points = "(document.querySelector('#chart-iops svg[role=img] .line.s0')?.getAttribute('d') ?? '').split(/[ML]/).length - 1";
    for browser in [&mut one, &mut other] {
        browser.value(&format!("location.hash = '#run/{run}'"));
        browser.wait_until(&format!("{points} >= 2"));
    }
    for _ in 0..2 {
        let before = one.value(points).as_u64().expect("a number");
        wire.cut();
        one.wait_until(&format!("{points} >= {}", before + 2));
    }
    assert_eq!(text_of(&mut one, "#connection"), "");
    served.post(&format!("/api/runs/{run}/stop"), &json!({}));
    let mut drawn = Vec::new();
    for browser in [&mut one, &mut other] {
        browser.wait_until("document.getElementById('run-state').textContent.includes('was stopped')");
        drawn.push(
            browser.value("document.querySelector('#chart-iops svg[role=img] .line.s0').getAttribute('d')"),
        );
    }
    assert_eq!(drawn[0], drawn[1], "both have drawn the same");
    let events = std::fs::read_to_string(served.results.join("runs").join(&run).join("events.jsonl"));
    let ticks = events.expect("events").lines().filter(|line| line.contains("\"tick\"")).count();
    assert_eq!(other.value(points), json!(ticks));

    let run = served.start_job(LONG);
    other.value(&format!("location.hash = '#run/{run}'"));
    other.wait_until(&format!(
        "{points} >= 1 && document.getElementById('run-state').textContent.includes('is running')"
    ));
    served.running.signal("KILL");
    served.running.finish_in_time().expect("it was killed");
    other.wait_until("document.getElementById('connection').textContent.includes('The run goes on')");
    let again = Served::start(directory.path(), &format!("--port={}", served.port));
    other.wait_until("document.getElementById('connection').textContent.includes('was restarted')");
    enter(&mut other, &again);
    other.value("location.hash = '#runs'");
    other.wait_until("document.getElementById('list').textContent.includes('is running')");
    other.value("document.querySelector('#list a').click()");
    other.wait_until(&format!("{points} >= 3"));
    other.value("document.getElementById('stop').click()");
    other.wait_until("document.getElementById('run-state').textContent.includes('was stopped')");
}

#[test]
fn what_would_be_lost_is_typed_not_clicked() {
    fathom_only!();
    require!(takes_long());
    let mut browser = require!(Browser::start());
    let directory = scratch();
    let served = Served::start(directory.path(), "");
    std::fs::write(served.results.join("targets/theirs"), vec![1; 65536]).expect("a file");
    enter(&mut browser, &served);
    write_job(&mut browser, "[a]\nfilename=theirs\nsize=64k\nrw=write\n");
    browser.value("document.getElementById('run').click()");
    browser.wait_until("!document.getElementById('confirm').hidden");
    assert!(text_of(&mut browser, "#found").contains("its data may be lost"));
    assert_eq!(browser.value("document.activeElement.id"), "confirm-0");
    press_enter(&mut browser);
    browser.wait_until("!document.getElementById('problem').hidden");
    assert_eq!(served.get("/api/runs").json(), json!([]));
    browser.type_text("theirs");
    press_enter(&mut browser);
    browser.wait_until("document.getElementById('run-state').textContent.includes('done')");
    check_silence(&browser, &served, &["428"]);
}

/// The lowest contrast of any text of the page with its background.
pub(crate) const CONTRAST: &str = "(() => { const light = c => { const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => { x /= 255; \
    return x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4 }); return .2126 * v[0] + .7152 * v[1] + .0722 * v[2] }; \
    const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; \
    if (!/, 0\\)/.test(c)) return c } return 'rgb(255,255,255)' }; \
    const found = [...document.querySelectorAll('main *, header *')].filter(e => e.checkVisibility() && \
    [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && !e.closest('svg, [disabled], noscript')); \
    return Math.min(...found.map(e => { const [a, b] = [light(getComputedStyle(e).color), light(ground(e))]; \
    return (Math.max(a, b) + .05) / (Math.min(a, b) + .05) })) })()";

/// Screen readers, phones, 400 % zoom, dark mode: on all views.
#[test]
fn everyone_can_use_the_page() {
    fathom_only!();
    require!(takes_long());
    let mut browser = require!(Browser::start());
    let directory = scratch();
    let served = Served::start(directory.path(), "");
    let run = served.start_job("[a-job-with-a-rather-long-name-that-does-not-fit]\nioengine=null\nsize=1g\nrw=randrw\nruntime=1500ms\ntime_based\nrate_iops=1000\n");
    served.wait_for(&run, "done");
    enter(&mut browser, &served);
    for view in ["#job", "#quick", "#sweep", "#runs", &format!("#run/{run}")] {
        browser.value(&format!("location.hash = {}", json!(view)));
        let id = match view.split('/').next() {
            Some("#runs") => "runs",
            Some("#run") => "run",
            _ => "write",
        };
        browser.wait_until(&format!("!document.getElementById('view-{id}').hidden"));
        match view {
            "#job" | "#sweep" => {
                browser.value("document.getElementById('check').click()");
                browser.wait_until("document.querySelector('#found dl') !== null");
            }
            "#runs" => browser.wait_until("document.querySelector('#list table') !== null"),
            view if view.starts_with("#run/") => browser.wait_until("document.querySelector('#jobs table') !== null && document.querySelector('#run-links a') !== null"),
            _ => {}
        }
        // Every field, button, link and chart has a name, and heading levels are consecutive.
        let tree = browser.call("Accessibility.getFullAXTree", json!({}));
        for node in tree["nodes"].as_array().expect("nodes") {
            let role = node["role"]["value"].as_str().unwrap_or_default();
            let is_named = node["name"]["value"].as_str().is_some_and(|name| !name.trim().is_empty());
            let needs_name = [
                "textbox",
                "button",
                "link",
                "checkbox",
                "spinbutton",
                "image",
                "img",
                "progressbar",
                "combobox",
                "log",
                "navigation",
            ];
            let is_ignored = node["ignored"] == true;
            assert!(is_ignored || is_named || !needs_name.contains(&role), "{view}: {node}");
        }
        let levels = browser.value("[...document.querySelectorAll('h1,h2,h3')].filter(h => h.checkVisibility()).map(h => +h.tagName[1])");
        let levels: Vec<u64> = levels.as_array().expect("levels").iter().filter_map(Value::as_u64).collect();
        assert!(levels[0] == 1 && levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{view}: {levels:?}");
        // A phone, and a desktop at 400 %: the page never scrolls sideways, and touch targets are large
        // enough.
        for width in [360, 320] {
            let metrics = json!({ "width": width, "height": 640, "deviceScaleFactor": 1, "mobile": false });
            browser.call("Emulation.setDeviceMetricsOverride", metrics);
            let needed = browser.value("document.documentElement.scrollWidth");
            assert!(needed.as_u64().is_some_and(|needed| needed <= width), "{view}: {needed} of {width}");
            let small = browser.value("[...document.querySelectorAll('button')].filter(b => b.checkVisibility() && b.getBoundingClientRect().height < 24).length");
            assert_eq!(small, 0, "{view}");
        }
        browser.call("Emulation.clearDeviceMetricsOverride", json!({}));
        for scheme in ["light", "dark"] {
            let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
            browser.call("Emulation.setEmulatedMedia", features);
            let least = browser.value(CONTRAST);
            assert!(least.as_f64().is_some_and(|ratio| ratio >= 4.5), "{view}, {scheme}: {least}");
        }
    }
    check_silence(&browser, &served, &[]);
}
