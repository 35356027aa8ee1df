//! Results that `fio --client` collected from servers: every command that reads results accepts them.

use crate::support::program::{self, Finished, Launch, Running};
use crate::support::{MIB, PATIENCE, file_of, json, scratch};
use serde_json::Value;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

const JOBS: &str = "[global]\nfilename=data\nsize=4m\nioengine=libaio\niodepth=4\ntime_based=1\nruntime=1\n\
                    [reader]\nrw=randread\nbs=4k\nnumjobs=2\n\
                    [writer]\nrw=write\nbs=64k\nrate=1m\n";

/// A server in `directory`, and its address.
fn server(fio: &Path, directory: &Path) -> (Running, String) {
    // Requests for any port get a free one.
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let running = Launch::of(fio, directory).words(&format!("--server=127.0.0.1,{port}")).start();
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < PATIENCE, "the server does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    (running, format!("127.0.0.1,{port}"))
}

/// A command's explanation of a result, lines joined.
#[track_caller]
fn told(directory: &Path, words: &str) -> String {
    let Finished { stdout, .. } = Launch::fathom(directory).words(words).run().expect_clean();
    stdout.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// Write rate of the job `writer` on the server of this name, bytes per second: of its last entry, because
/// interim figures precede the final ones in one document.
#[track_caller]
fn written_a_second(document: &Value, server: &str) -> u64 {
    let jobs = document["client_stats"].as_array().expect("jobs of servers");
    let is_it = |job: &&Value| {
        let name = format!("{}:{}", job["hostname"].as_str().unwrap_or_default(), job["port"]);
        job["jobname"] == "writer" && name == server
    };
    json::integer(jobs.iter().rfind(is_it).expect("a writer"), "write/bw_bytes")
}

#[test]
fn results_of_servers_are_read() {
    fathom_only!();
    let fio = require!(program::reference());
    let directory = scratch();
    let directory = directory.path();
    file_of(directory, "data", 4 * MIB);
    std::fs::write(directory.join("jobs.fio"), JOBS).expect("can be written");
    let (_one, first) = server(&fio, directory);
    let (_two, second) = server(&fio, directory);
    // fio may complain about an interim report that contains only half of an I/O.
    let client =
        |words: &str| assert_eq!(Launch::of(&fio, directory).words(words).run().code(), 0, "{words}");
    client(&format!("--client={first} jobs.fio --output-format=json+ --output=one.json"));
    // Text precedes the document, which contains each server's jobs twice.
    client(&format!(
        "--client={first} jobs.fio --client={second} jobs.fio --output-format=normal,json+ --output=two.json --status-interval=1"
    ));

    let story = told(directory, "explain --all one.json");
    assert!(story.contains("A client ran it on 127.0.0.1."), "{story}");
    assert!(
        story.contains("Job reader: 2 processes read") && story.contains("Job writer: One process"),
        "{story}"
    );
    assert!(!story.contains("All clients"), "{story}");
    let story = told(directory, "explain --all two.json");
    let result = std::fs::read_to_string(directory.join("two.json")).expect("a result");
    // Documents of each second precede the last.
    let document = json::document(&result[result.rfind("\n{\n").unwrap_or_default()..]);
    for address in [&first, &second] {
        let name = address.replace(',', ":");
        assert_eq!(story.matches(&format!("Job reader on {name}:")).count(), 2, "{story}");
        let writer = story.split(&format!("Job writer on {name}:")).nth(1).unwrap_or_default();
        let of_writer = writer.split("Job ").next().unwrap_or_default();
        assert!(of_writer.contains("Verdict:"), "{story}");
        // On a busy machine a server may fall short of the rate.
        let has_met_it = written_a_second(&document, &name) * 100 >= 95 * MIB;
        assert_eq!(
            of_writer.contains("The job's own rate limit was the bottleneck"),
            has_met_it,
            "{of_writer}"
        );
    }
    assert!(!story.contains("All clients"), "{story}");

    let shown = told(directory, "show --summary two.json");
    // Doubts about the hosts are below the table.
    let table = shown.split("Verdict on the figures").next().unwrap_or_default();
    assert_eq!(table.matches("writer on 127.0.0.1:").count(), 2, "{shown}");
    let made = Launch::fathom(directory).words("report --output=page.html one.json two.json").run();
    assert_eq!(made.code(), 0, "{}", made.stderr);
    let page = std::fs::read_to_string(directory.join("page.html")).expect("a page");
    assert!(page.contains("<dt>servers</dt><dd>127.0.0.1:") && !page.contains("All clients"), "{page}");
    let compared = told(directory, "compare two.json two.json");
    assert!(compared.contains(&format!("writer on {}", first.replace(',', ":"))), "{compared}");
}
