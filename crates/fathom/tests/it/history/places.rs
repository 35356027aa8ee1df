//! Each host and each drive of a run has its own series.

use super::{document, history};
use crate::support::devices::LoopDevice;
use crate::support::program::{self, Launch};
use crate::support::{MIB, scratch};
use serde_json::Value;
use std::path::Path;

/// Label of the host, name of the host and names of the devices of each job of run 1.
fn places(at: &Path) -> Vec<[String; 3]> {
    let run = &document(history(at, "show 1 --format=json").run())[0];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let place = |job: &Value| {
        let host =
            job["on_host"].as_u64().map_or(&Value::Null, |index| &run["hosts"][index as usize]["name"]);
        let devices = job["devices"].as_array().expect("a list");
        let names: Vec<String> = devices.iter().map(text).collect();
        if let (Some(index), [only]) = (job["on_device"].as_u64(), names.as_slice()) {
            assert_eq!(run["devices"][index as usize]["name"], only.as_str(), "{run}");
        }
        [text(&job["host"]), text(host), names.join("+")]
    };
    run["jobs"].as_array().expect("jobs").iter().map(place).collect()
}

#[test]
fn each_drive_of_a_run_has_its_series() {
    fathom_only!();
    let (a, b) = (require!(LoopDevice::new(MIB)), require!(LoopDevice::new(MIB)));
    let name = |device: &LoopDevice| device.text().trim_start_matches("/dev/").to_owned();
    let directory = scratch();
    let at = directory.path();
    let words = "--rw=randread --ioengine=psync --size=1m --group_reporting";
    Launch::fathom(at)
        .argument("--history=history.db")
        .words(words)
        .words(&format!("--name=x --filename={}", a.text()))
        .words(&format!("--name=x --new_group --filename={}", b.text()))
        .words(&format!("--name=both --new_group --filename={}:{}", a.text(), b.text()))
        .run();
    let devices: Vec<String> = places(at).into_iter().map(|[_, _, devices]| devices).collect();
    let mut both = [name(&a), name(&b)];
    both.sort();
    assert_eq!(devices, [name(&a), name(&b), both.join("+")]);
    let changes = |words: &str| history(at, &format!("changes --figure=iops {words}")).run().stdout;
    let all = changes("");
    for device in [name(&a), name(&b)] {
        assert!(all.contains("iops of x (read) on ") && all.contains(&format!(" on {device}:")), "{all}");
        let one = changes(&format!("--where=device={device}"));
        assert_eq!(one.lines().count(), 1, "{one}");
        assert!(one.contains("iops of x (read): not enough runs"), "{one}");
    }
}

#[test]
fn each_host_of_a_run_has_its_series() {
    fathom_only!();
    let directory = scratch();
    let at = directory.path();
    let hosts = |hosts: &str, store: &str| {
        Launch::fathom(at)
            .argument(format!("--hosts={hosts}"))
            .argument("--remote-shell=env FATHOM_TEST_HOST={host}")
            .argument(format!("--remote-program={}", program::path().display()))
            .argument(format!("--history={store}"))
            .words("--name=x --ioengine=null --size=1m --rw=randread")
            .run()
    };
    assert_eq!(hosts("a,b", "history.db").code(), 0);
    let found = places(at);
    let labels: Vec<&str> = found.iter().map(|[label, _, _]| label.as_str()).collect();
    assert_eq!(labels, ["", "a", "b"], "all hosts together, and each");
    assert_eq!(found[0][1], "");
    assert!(!found[1][1].is_empty() && found[1][1] == found[2][1], "both are this machine: {found:?}");
    let all = history(at, "changes --figure=iops").run().stdout;
    assert!(all.contains("iops of x (read) on 2 hosts: not enough runs"), "{all}");
    let one = history(at, &format!("changes --figure=iops --where=host={}", found[1][1])).run().stdout;
    assert!(!one.contains("hosts") && one.lines().count() == 2, "{one}");
    // A single host is the whole run.
    std::fs::remove_file(at.join("history.db")).expect("removed");
    assert_eq!(hosts("a", "history.db").code(), 0);
    assert_eq!(places(at).len(), 1);
}
