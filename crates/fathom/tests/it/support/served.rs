//! `fathom serve`, started and queried as by a browser, but byte by byte.

use super::PATIENCE;
use super::processes;
use super::program::{Launch, Running};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// `Ok` if slow tests are enabled.
pub(crate) fn takes_long() -> Result<(), String> {
    match std::env::var("FATHOM_TEST_SERVE").as_deref() {
        Ok("all") => Ok(()),
        _ => Err("make test-serve alone runs this".to_owned()),
    }
}

/// A server, and the cookie of an authorized client.
pub(crate) struct Served {
    pub(crate) running: Running,
    pub(crate) port: u16,
    /// The printed address, with the token.
    pub(crate) url: String,
    pub(crate) results: PathBuf,
    pub(crate) cookie: String,
    /// The secret folder that contains everything, with a leading slash.
    pub(crate) place: String,
}

/// The server's response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    fn read(text: &str) -> Answer {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The error message, as shown by the page.
    #[track_caller]
    pub(crate) fn problem(&self) -> String {
        self.json()["problem"].as_str().unwrap_or_default().to_owned()
    }
}

/// One server-sent event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sent {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) data: Value,
}

/// Runs outlive their server; those of a failed test must not.
impl Drop for Served {
    fn drop(&mut self) {
        for folder in std::fs::read_dir(self.results.join("runs")).into_iter().flatten().flatten() {
            let text = std::fs::read_to_string(folder.path().join("process.json")).unwrap_or_default();
            let process: Value = serde_json::from_str(&text).unwrap_or_default();
            let Some(pid) = process["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()) else { continue };
            let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if words.contains(&*folder.path().to_string_lossy()) {
                processes::kill_tree(pid);
            }
        }
    }
}

impl Served {
    /// Starts it in a directory, with its results in the subdirectory `results`, on any port unless the
    /// arguments name one.
    #[track_caller]
    pub(crate) fn start(directory: &Path, words: &str) -> Served {
        Served::start_as(Launch::fathom(directory), directory, words)
    }

    /// Does the same with a launch that has more in it, such as variables.
    #[track_caller]
    pub(crate) fn start_as(launch: Launch, directory: &Path, words: &str) -> Served {
        let is_told = words.contains("--port") || words.contains("--listen");
        let port = if is_told { "" } else { "--port=0" };
        let launch = launch.words("serve --results=results").words(port).words(words);
        let mut running = launch.timeout(PATIENCE * 10).start();
        let (text, _) = running.wait_for_output(|text| text.contains("Ctrl-C ends"));
        let url =
            text.split_whitespace().find(|word| word.starts_with("http://")).expect("an address").to_owned();
        let port = url.split([':', '/']).find_map(|part| part.parse().ok()).expect("a port");
        let mut served = Served {
            running,
            port,
            url,
            results: directory.join("results"),
            cookie: String::new(),
            place: String::new(),
        };
        let answer = served.let_in();
        assert_eq!(answer.status, 303, "{answer:?}");
        let cookie =
            answer.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
        served.cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        let location = answer.head.lines().find_map(|line| line.strip_prefix("location: ")).expect("a place");
        served.place = location.trim_end_matches('/').to_owned();
        served
    }

    /// The response to the address with the token.
    #[track_caller]
    pub(crate) fn let_in(&self) -> Answer {
        let path = self.url.split_once(&format!(":{}", self.port)).expect("a path").1;
        self.send(&format!("GET {path} HTTP/1.1\r\n{}\r\nConnection: close\r\n\r\n", self.host()))
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let host = self.url.trim_start_matches("http://").rsplit_once(&format!(":{}", self.port));
        let host = host.map_or("", |(host, _)| host).trim_matches(['[', ']']);
        let stream = TcpStream::connect((host, self.port)).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
        stream
    }

    /// Sends bytes unchanged.
    #[track_caller]
    pub(crate) fn send(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        // The server may respond and close before it has read everything.
        let _ = stream.write_all(request.as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        Answer::read(&String::from_utf8_lossy(&bytes))
    }

    /// A request with these headers in addition to those of every request. The path is relative to the server's
    /// folder, except for the path with the token.
    #[track_caller]
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let lines: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let length = body.len();
        let place = if path.starts_with("/?") || !path.starts_with('/') { "" } else { &*self.place };
        self.send(&format!(
            "{method} {place}{path} HTTP/1.1\r\n{lines}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        ))
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Answer {
        let (host, cookie) = (self.host(), format!("Cookie: {}", self.cookie));
        self.ask("GET", path, &[&host, &cookie, "Sec-Fetch-Site: same-origin"], "")
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, document: &Value) -> Answer {
        let (host, cookie) = (self.host(), format!("Cookie: {}", self.cookie));
        let origin = format!("Origin: http://localhost:{}", self.port);
        let headers =
            [&*host, &*cookie, &*origin, "Sec-Fetch-Site: same-origin", "Content-Type: application/json"];
        self.ask("POST", path, &headers, &document.to_string())
    }

    pub(crate) fn host(&self) -> String {
        format!("Host: localhost:{}", self.port)
    }

    /// Starts a job; returns the number of its run.
    #[track_caller]
    pub(crate) fn start_job(&self, job: &str) -> String {
        self.start_run(&json!({ "kind": "job", "job": job }))
    }

    #[track_caller]
    pub(crate) fn start_run(&self, request: &Value) -> String {
        let answer = self.post("/api/runs", request);
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["id"].as_str().expect("a number").to_owned()
    }

    #[track_caller]
    pub(crate) fn state(&self, run: &str) -> String {
        let answer = self.get(&format!("/api/runs/{run}")).json();
        answer["run"]["state"].as_str().expect("a state").to_owned()
    }

    /// Waits until a run has this state.
    #[track_caller]
    pub(crate) fn wait_for(&self, run: &str, state: &str) {
        let began = Instant::now();
        loop {
            let found = self.state(run);
            if found == state {
                return;
            }
            assert!(
                began.elapsed() < PATIENCE,
                "it is {found}: {}",
                self.get(&format!("/api/runs/{run}")).body
            );
            sleep(Duration::from_millis(50));
        }
    }

    /// The events of a run after a given one, until this many have arrived or the run has ended.
    #[track_caller]
    pub(crate) fn events(&self, run: &str, after: Option<&str>, most: usize) -> Vec<Sent> {
        let mut stream = self.connect();
        let last = after.map_or(String::new(), |id| format!("Last-Event-ID: {id}\r\n"));
        let request = format!(
            "GET {}/api/runs/{run}/events HTTP/1.0\r\n{}\r\nCookie: {}\r\n{last}\r\n",
            self.place,
            self.host(),
            self.cookie
        );
        stream.write_all(request.as_bytes()).expect("it listens");
        let mut lines = BufReader::new(stream).lines();
        let status = lines.next().expect("an answer").expect("an answer");
        assert!(status.contains("200"), "{status}");
        assert!(lines.by_ref().map_while(Result::ok).any(|line| line.is_empty()), "headers end");
        let mut events = Vec::new();
        let mut sent = Sent { id: String::new(), kind: "message".into(), data: Value::Null };
        while events.len() < most {
            let Some(Ok(line)) = lines.next() else { break };
            match line.split_once(": ") {
                Some(("id", id)) => sent.id = id.to_owned(),
                Some(("event", kind)) => sent.kind = kind.to_owned(),
                Some(("data", data)) => {
                    sent.data = serde_json::from_str(data).expect("JSON");
                    events.push(sent.clone());
                    sent.kind = "message".into();
                }
                _ => {}
            }
        }
        events
    }
}
