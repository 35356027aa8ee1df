//! `--metrics`, `--otlp` and `--influx`: the exported figures of a run, during it and afterwards.

mod collector;
mod faults;
mod influx;
mod otlp;
mod prometheus;
mod text;

use crate::support::program::Running;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A job at a rate that any machine reaches.
const QUIET: &str = "--name=quiet --ioengine=null --size=1g --rw=randrw --rate_iops=500 --time_based";

/// The response to a request: its status and its text.
fn get(address: &str, path: &str) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Ok((status, body.to_owned()))
}

/// The address printed by a run with `--metrics=127.0.0.1:0`.
#[track_caller]
fn address_of(running: &Running) -> String {
    running.wait_for_message("/metrics");
    let said = running.errors();
    let start = said.find("http://").expect("an address") + "http://".len();
    said[start..].split('/').next().expect("an address").to_owned()
}

/// The series of a text: name and labels as written, and the value.
fn series(text: &str) -> Vec<(&str, f64)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit_once(' ').map(|(name, value)| (name, value.parse().expect("a number"))))
        .map(|series| series.expect("a name and a value"))
        .collect()
}

/// The value of one series.
#[track_caller]
fn value(text: &str, name: &str) -> f64 {
    let found = series(text).into_iter().find(|(own, _)| *own == name);
    found.unwrap_or_else(|| panic!("no {name} in {text}")).1
}
