//! The environment of a result: date, machine and versions.

use super::programs::{Program, Programs};
use std::thread::available_parallelism;

/// Date, machine and versions, one line each.
pub(crate) fn describe(programs: &Programs) -> Vec<String> {
    let cores = available_parallelism().map_or(1, usize::from);
    vec![
        format!("Date: {} UTC", jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M")),
        format!("CPU: {} ({cores} cores)", processor()),
        format!("Kernel: Linux {}", first_word_of("/proc/sys/kernel/osrelease")),
        format!("Load average at the start: {}", first_word_of("/proc/loadavg")),
        format!("fio: {}", programs.version(Program::Fio)),
        format!("fathom: {}", env!("CARGO_PKG_VERSION")),
    ]
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        text.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(':'));
    model.map_or_else(|| "unknown".to_owned(), |(_, model)| model.trim().to_owned())
}

fn first_word_of(path: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}
