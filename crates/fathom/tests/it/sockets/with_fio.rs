//! fio as the peer, in both roles.

use super::ways::{Way, ways};
use super::{wait_until_bound, wait_until_it_listens};
use crate::support::program::{Finished, Launch, Running, reference};
use crate::support::{json, scratch};
use std::path::Path;

fn launch(fio: &Path, is_fathom: bool) -> Launch {
    let directory = Path::new("/tmp");
    let launch = if is_fathom { Launch::fathom(directory) } else { Launch::of(fio, directory) };
    launch.words("--name=a --bs=4k --size=32k")
}

/// Waits until the listener is ready.
fn wait_until_it_is_there(way: &Way, first: &mut Running) {
    match way.name {
        "udp" | "udpv6" => {
            let port = way.waits.rsplit("--port=").next().and_then(|port| port.parse().ok()).expect("a port");
            wait_until_bound(port, if way.name == "udp" { "udp" } else { "udp6" });
        }
        _ => wait_until_it_listens(first),
    }
}

/// Runs a fathom and a fio against each other; both must transfer everything.
#[track_caller]
fn meet_fio(fio: &Path, way: &Way, fathom_waits: bool, (waiting, beginning): (&str, &str)) {
    let launch_of = |is_fathom: bool, engine: &str, words: &str| {
        let engine = if is_fathom { engine } else { "net" };
        launch(fio, is_fathom)
            .words(&format!("--ioengine={engine} --verify_state_save=0 --verify=crc32c --output-format=json"))
            .words(words)
    };
    let engine = if way.has_datagrams() { "net" } else { "net_uring --iodepth=4" };
    let mut first = launch_of(fathom_waits, engine, &format!("--rw={waiting} {}", way.waits)).start();
    wait_until_it_is_there(way, &mut first);
    let second = launch_of(!fathom_waits, "net", &format!("--rw={beginning} {}", way.begins)).run();
    let check = |finished: &Finished, is_fathom: bool| {
        let name = format!("{}, fathom waits: {fathom_waits}, {waiting}; fathom: {is_fathom}", way.name);
        if is_fathom || !way.fio_fails_at_its_end() {
            assert_eq!(finished.code(), 0, "{name}: {}{}", finished.stdout, finished.stderr);
        }
        let document = json::document(&finished.stdout);
        let moved = json::total(&document, "read/io_bytes") + json::total(&document, "write/io_bytes");
        assert_eq!(moved, 32 << 10, "{name}");
    };
    // The first may wait forever if the second failed, so the second is checked first.
    check(&second, !fathom_waits);
    check(&first.finish(), fathom_waits);
}

#[test]
fn fio_is_understood_in_both_roles() {
    let fio = require!(reference());
    let folder = scratch();
    for way in ways(folder.path()) {
        check_understood(&fio, &way);
    }
}

#[test]
fn fio_answers_and_is_answered() {
    let fio = require!(reference());
    let folder = scratch();
    for way in ways(folder.path()).into_iter().filter(|way| way.name.starts_with("tcp") || way.name == "udp")
    {
        check_answers(&fio, &way);
    }
}

/// Both read and write, whichever side listens.
#[track_caller]
pub(crate) fn check_understood(fio: &Path, way: &Way) {
    for fathom_waits in [true, false] {
        for roles in way.roles() {
            meet_fio(fio, way, fathom_waits, *roles);
        }
    }
}

/// Both respond, whichever side listens.
#[track_caller]
pub(crate) fn check_answers(fio: &Path, way: &Way) {
    let (waits, begins) = (&way.waits, &way.begins);
    for fathom_waits in [true, false] {
        let of = |is_fathom: bool| launch(fio, is_fathom).words("--ioengine=net --pingpong");
        let mut first = of(fathom_waits).words(&format!("--rw=read {waits}")).start();
        wait_until_it_is_there(way, &mut first);
        let second = of(!fathom_waits).words(&format!("--rw=write {begins}")).run();
        let check = |finished: Finished, is_fathom: bool| {
            if is_fathom || !way.fio_fails_at_its_end() {
                finished.expect_clean();
            }
        };
        check(second, !fathom_waits);
        check(first.finish(), fathom_waits);
    }
}
