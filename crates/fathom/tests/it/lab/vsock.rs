//! Sockets between virtual machines, over the loopback of one: all engines, fio as the peer, and mistakes.

use super::device;
use crate::sockets::ways::Way;
use crate::sockets::with_fio;
use crate::support::program::{Launch, reference};
use std::path::Path;

#[test]
fn both_sides_of_every_engine() {
    require!(device("vsock"));
    let way = Way::of_virtual_machines(46_085);
    for engine in ["net", "net --thread", "netsplice", "net_uring --iodepth=4"] {
        way.check_both_sides(engine);
    }
    way.check_answers("net");
}

#[test]
fn fio_at_the_other_end() {
    require!(device("vsock"));
    let fio = require!(reference());
    // In fio only readers listen, and above 32,767 on another port than configured.
    let way = Way::of_virtual_machines(5_000).where_readers_wait();
    with_fio::check_understood(&fio, &way);
    with_fio::check_answers(&fio, &way);
}

#[test]
fn nobody_there_is_told_as_by_fio() {
    require!(device("vsock"));
    let fio = require!(reference());
    let words = "--name=a --ioengine=net --protocol=vsock --rw=write --size=4k --port=7";
    // A loopback without a listener, and a machine that does not exist.
    for machine in [1, 4711] {
        let said = |launch: Launch| {
            let finished = launch.words(words).words(&format!("--hostname={machine}")).run();
            assert_eq!(finished.code(), 1, "{}{}", finished.stdout, finished.stderr);
            let error = finished.stdout.lines().find_map(|line| line.split_once("func="));
            error.unwrap_or_else(|| panic!("{}", finished.stdout)).1.to_owned()
        };
        let place = Path::new("/tmp");
        assert_eq!(said(Launch::fathom(place)), said(Launch::of(&fio, place)), "{machine}");
    }
}
