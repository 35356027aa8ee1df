//! A real InfluxDB, which stores the points of a run.

use super::get;
use crate::support::program::Launch;
use crate::support::servers::Server;
use crate::support::{json, scratch};
use serde_json::Value;

/// The response to a query, whose spaces are escaped.
#[track_caller]
fn ask(database: &str, query: &str) -> Value {
    let escaped: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let (status, text) = get(database, &format!("/query?db=fathom&q={escaped}")).expect("an answer");
    assert_eq!(status, 200, "{query}: {text}");
    let document = text.find('{').zip(text.rfind('}')).map(|(from, to)| &text[from..=to]);
    serde_json::from_str(document.unwrap_or("")).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn influxdb_keeps_the_figures_of_a_run() {
    fathom_only!();
    let server = require!(Server::start_large("influxdb", &[("INSTALL", "1")]));
    let (database, directory) = (server.value("INFLUXDB"), scratch());
    let finished = Launch::fathom(directory.path())
        .words("--name=a,b=c --ioengine=null --size=1m --rw=randrw --output-format=json")
        .argument(format!("--influx=http://{database}/write?db=fathom"))
        .run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let job = json::document(&finished.stdout);
    let series = &ask(
        database,
        "SELECT last(ios), last(io_bytes) FROM fathom_job WHERE job_name = 'a,b=c' AND direction = 'read'",
    )["results"][0]["series"][0]["values"][0];
    let read = json::job(&job, "a,b=c");
    assert_eq!(series[1].as_u64(), Some(json::integer(read, "read/total_ios") as u64), "{series}");
    assert_eq!(series[2].as_u64(), Some(json::integer(read, "read/io_bytes") as u64), "{series}");
    let verdict = &ask(database, "SELECT last(verdict) FROM fathom")["results"][0]["series"][0];
    assert!(verdict["values"][0][1].is_number(), "{verdict}");
}

#[test]
fn a_database_that_is_missing_is_said_and_the_run_goes_on() {
    fathom_only!();
    let server = require!(Server::start_large("influxdb", &[("INSTALL", "1")]));
    let directory = scratch();
    let run = |place: String| {
        Launch::fathom(directory.path())
            .words("--name=a --ioengine=null --size=1m --output-format=json")
            .argument(place)
            .run()
    };
    let address = server.value("INFLUXDB");
    let finished = run(format!("--influx=http://{address}/write?db=other"));
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(
        finished.stderr.contains(&format!("InfluxDB at http://{address}/write: 404")),
        "{}",
        finished.stderr
    );
    let finished = run(format!("--influx=http://me:secret@{address}/write?db=fathom"));
    assert_eq!(finished.code(), 1, "{}", finished.stderr);
    assert!(finished.stderr.contains("set INFLUX_TOKEN"), "{}", finished.stderr);
    assert!(!finished.stderr.contains("secret"), "{}", finished.stderr);
}
