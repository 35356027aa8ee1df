//! A headless Chromium, driven through its debugging pipe: messages of the DevTools protocol, each ended by a zero byte.

use super::{PATIENCE, skip};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    session: String,
    last_id: u64,
    /// Events that arrived while waiting for replies.
    pub(crate) events: Vec<Value>,
    directory: tempfile::TempDir,
}

impl Browser {
    /// Starts it with an empty page; returns the reason if there is no Chromium.
    pub(crate) fn start() -> Result<Browser, String> {
        skip::tool("chromium")?;
        let directory = super::scratch();
        let (commands, answers) = (directory.path().join("commands"), directory.path().join("answers"));
        let made = Command::new("mkfifo").arg(&commands).arg(&answers).status().expect("mkfifo runs");
        assert!(made.success());
        let complaints = File::create(directory.path().join("complaints")).expect("a file is made");
        // Chromium exits once the other ends of its pipes are closed.
        let child = Command::new("sh")
            .arg("-c")
            .arg(
                "exec chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-dev-shm-usage \
                  --user-data-dir=\"$3\" --remote-debugging-pipe about:blank 3<\"$1\" 4>\"$2\"",
            )
            .arg("sh")
            .args([&commands, &answers, &directory.path().join("profile")])
            .env("HOME", directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(complaints)
            .spawn()
            .expect("sh runs");
        // In the order in which the shell opens them.
        let to = OpenOptions::new().write(true).open(&commands).expect("the pipe opens");
        let from = BufReader::new(File::open(&answers).expect("the pipe opens"));
        let (session, events) = (String::new(), Vec::new());
        let mut browser = Browser { child, to, from, session, last_id: 0, events, directory };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached =
            browser.call("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        browser.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Log", "Network", "Accessibility"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Ok(browser)
    }

    /// Calls a method and returns its result.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("the browser listens");
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let message = self.next_message();
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.events.push(message);
        }
        panic!("{method}: no answer");
    }

    fn next_message(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).expect("the browser answers");
        if bytes.pop() != Some(0) {
            let complaints = std::fs::read_to_string(self.directory.path().join("complaints"));
            panic!("the browser is gone, {:?}: {complaints:?}", self.child.try_wait());
        }
        serde_json::from_slice(&bytes)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&bytes)))
    }

    /// Opens a file and waits until it is loaded.
    #[track_caller]
    pub(crate) fn open(&mut self, file: &Path) {
        self.open_url(&format!("file://{}", file.display()));
    }

    /// Does the same for a URL.
    #[track_caller]
    pub(crate) fn open_url(&mut self, url: &str) {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": url }));
        let is_loaded =
            |events: &[Value]| events.iter().any(|event| event["method"] == "Page.loadEventFired");
        let began = Instant::now();
        while !is_loaded(&self.events) {
            assert!(began.elapsed() < PATIENCE, "the page does not load");
            let message = self.next_message();
            self.events.push(message);
        }
    }

    /// The value of a JavaScript expression in the page.
    #[track_caller]
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let answer =
            self.call("Runtime.evaluate", json!({ "expression": expression, "returnByValue": true }));
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Waits until an expression in the page is true.
    #[track_caller]
    pub(crate) fn wait_until(&mut self, expression: &str) {
        let began = Instant::now();
        while self.value(expression) != true {
            let shown = || "document.body.innerText".to_owned();
            assert!(began.elapsed() < PATIENCE, "{expression}: {}", self.value(&shown()));
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }

    /// Types text into the focused element.
    pub(crate) fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// Presses and releases a key.
    pub(crate) fn press(&mut self, key: &str, code: u32) {
        for kind in ["rawKeyDown", "keyUp"] {
            let event = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            self.call("Input.dispatchKeyEvent", event);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        super::processes::kill_tree(self.child.id());
        // A process that has already gone is fine.
        let _ = self.child.wait();
    }
}
