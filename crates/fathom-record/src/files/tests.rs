//! Follows made-up events of threads that do not exist, so that /proc knows nothing of them.

use super::calls::{ARGUMENTS, RULES};
use super::follow::Follower;
use super::kernel::Event;
use super::look::{Behind, Found, Looked};
use fathom_trace::files::{Call, CallEnd, FileKind, Item, Operation};
use proptest::prelude::*;

/// Larger than any id.
const TID: u32 = 1 << 30;

struct Machine {
    follower: Follower,
    time_ns: u64,
}

impl Machine {
    fn new() -> Machine {
        Machine { follower: Follower::new(false), time_ns: 1000 }
    }

    fn event(&mut self, tid: u32, event: Event) {
        self.time_ns += 10;
        self.follower.take(self.time_ns, tid, event, |_| Looked::default());
    }

    fn rule(name: &str) -> u16 {
        RULES.iter().position(|rule| rule.name == name).expect("a call") as u16
    }

    fn call(&mut self, tid: u32, name: &str, arguments: &[u64], result: i64) {
        self.enter(tid, name, arguments);
        self.event(tid, Event::Exit(Machine::rule(name), result));
    }

    fn enter(&mut self, tid: u32, name: &str, arguments: &[u64]) {
        let mut all = [0; ARGUMENTS];
        all[..arguments.len()].copy_from_slice(arguments);
        self.event(tid, Event::Enter(Machine::rule(name), all));
    }

    /// Opens a file of this inode.
    fn open(&mut self, tid: u32, inode: u64, flags: i32, descriptor: i64) {
        let mut arguments = [0; ARGUMENTS];
        arguments[2] = flags as u64;
        self.event(tid, Event::Enter(Machine::rule("openat"), arguments));
        self.time_ns += 10;
        let found = Found {
            kind: FileKind::Regular,
            device: libc::makedev(8, 1),
            inode,
            born: None,
            size: 1000,
            name: Vec::new(),
        };
        let looked = Looked { behind: Some(Behind::File(Box::new(found))), ..Looked::default() };
        self.follower.take(self.time_ns, tid, Event::Exit(Machine::rule("openat"), descriptor), |_| looked);
    }

    /// The calls on files: operation, file, offset, result.
    fn calls(&mut self) -> Vec<(Operation, u32, Option<u64>, i64)> {
        let mut items = Vec::new();
        self.follower.flush(self.time_ns, true, &mut items);
        let call = |item| match item {
            Item::Call(Call { operation, file, offset, end: CallEnd::Known(_, result), .. }) => {
                Some((operation, file, offset, result))
            }
            _ => None,
        };
        items.into_iter().filter_map(call).collect()
    }
}

use Operation::{Close, Open, Read, Sync, Write};

#[test]
fn positions_move_on() {
    let mut machine = Machine::new();
    machine.open(TID, 7, 0, 3);
    machine.call(TID, "read", &[3, 0, 512], 512);
    machine.call(TID, "read", &[3, 0, 512], 100);
    machine.call(TID, "pread64", &[3, 0, 512, 4096], 512);
    machine.call(TID, "lseek", &[3, 50, 0], 50);
    machine.call(TID, "write", &[3, 0, 10], 10);
    machine.call(TID, "preadv2", &[3, 0, 1, u64::MAX, 0, 0], 5);
    machine.call(TID, "fsync", &[3], 0);
    machine.call(TID, "close", &[3], 0);
    assert_eq!(
        machine.calls(),
        [
            (Open, 1, None, 3),
            (Read, 1, Some(0), 512),
            (Read, 1, Some(512), 100),
            (Read, 1, Some(4096), 512),
            (Write, 1, Some(50), 10),
            (Read, 1, Some(60), 5),
            (Sync, 1, None, 0),
            (Close, 1, None, 0),
        ]
    );
}

#[test]
fn appends_go_to_the_end() {
    let mut machine = Machine::new();
    machine.open(TID, 7, libc::O_APPEND, 3);
    machine.open(TID, 7, 0, 4);
    machine.call(TID, "write", &[3, 0, 10], 10);
    machine.call(TID, "pwrite64", &[4, 0, 10, 5000], 10);
    machine.call(TID, "pwrite64", &[3, 0, 10, 0], 10);
    machine.call(TID, "ftruncate", &[4, 100], 0);
    machine.call(TID, "write", &[3, 0, 1], 1);
    let offsets: Vec<_> =
        machine.calls().into_iter().filter(|call| call.0 == Write).map(|call| call.2).collect();
    assert_eq!(offsets, [Some(1000), Some(5000), Some(5010), Some(100)]);
}

#[test]
fn copies_of_descriptors_share_their_position() {
    let mut machine = Machine::new();
    machine.open(TID, 7, libc::O_CLOEXEC, 3);
    machine.call(TID, "dup2", &[3, 1], 1);
    machine.call(TID, "fcntl", &[3, libc::F_DUPFD_CLOEXEC as u64, 10], 10);
    machine.call(TID, "close", &[3], 0);
    machine.event(TID, Event::Fork { child: TID + 1, flags: 0 });
    machine.call(TID + 1, "write", &[1, 0, 10], 10);
    machine.event(TID + 1, Event::Exec { before: TID + 1, program: None });
    machine.call(TID + 1, "write", &[1, 0, 10], 10);
    // Closed by exec, but not in the parent.
    machine.call(TID + 1, "write", &[10, 0, 10], -9);
    machine.call(TID, "write", &[10, 0, 10], 10);
    let writes: Vec<_> = machine.calls().into_iter().filter(|call| call.0 == Write).collect();
    assert_eq!(writes, [0, 10, 20].map(|offset| (Write, 1, Some(offset), 10)));
    assert_eq!(machine.follower.counts().unresolved, 1);
}

#[test]
fn threads_share_descriptors_and_processes_do_not() {
    let mut machine = Machine::new();
    let thread = (libc::CLONE_FILES | libc::CLONE_THREAD) as u64;
    machine.open(TID, 7, 0, 3);
    machine.event(TID, Event::Fork { child: TID + 1, flags: thread });
    machine.event(TID, Event::Fork { child: TID + 2, flags: 0 });
    machine.open(TID + 1, 8, 0, 4);
    machine.call(TID, "pread64", &[4, 0, 1, 0], 1);
    machine.call(TID + 2, "close", &[3], 0);
    machine.call(TID, "pread64", &[3, 0, 1, 0], 1);
    machine.call(TID + 2, "pread64", &[4, 0, 1, 0], -9);
    let reads: Vec<_> =
        machine.calls().into_iter().filter(|call| call.0 == Read).map(|call| call.1).collect();
    assert_eq!(reads, [2, 1]);
    // Unshared, and closed in one of them by a range.
    machine.call(TID + 1, "close_range", &[0, u64::from(u32::MAX), 2], 0);
    machine.call(TID, "pread64", &[4, 0, 1, 0], 1);
    assert_eq!(machine.calls(), [(Close, 1, None, 0), (Close, 2, None, 0), (Read, 2, Some(0), 1)]);
}

#[test]
fn what_is_not_a_file_is_left_out() {
    let mut machine = Machine::new();
    machine.event(TID, Event::Exit(Machine::rule("socket"), 3));
    machine.call(TID, "write", &[3, 0, 10], 10);
    machine.call(TID, "close", &[3], 0);
    machine.call(TID, "copy_file_range", &[3, 0, 4, 0, 10], -9);
    assert_eq!(machine.calls(), []);
}

#[test]
fn copies_read_and_write() {
    let mut machine = Machine::new();
    machine.open(TID, 7, 0, 3);
    machine.open(TID, 8, 0, 4);
    machine.call(TID, "copy_file_range", &[3, 0, 4, 0, 4096], 1000);
    machine.call(TID, "copy_file_range", &[3, 0, 4, 0, 4096], 0);
    machine.call(TID, "sendfile64", &[4, 3, 77, 10], 10);
    let moved: Vec<_> = machine.calls().into_iter().filter(|call| call.0 != Open).collect();
    assert_eq!(
        moved,
        [
            (Read, 1, Some(0), 1000),
            (Write, 2, Some(0), 1000),
            (Read, 1, Some(1000), 0),
            (Read, 1, None, 10),
            (Write, 2, Some(1000), 10),
        ]
    );
    assert_eq!(machine.follower.counts().sums.unplaced, 1);
}

#[test]
fn requests_of_rings_are_placed_by_the_file_system() {
    let mut machine = Machine::new();
    machine.open(TID, 7, 0, 3);
    let place = |inode, offset| Event::Place { device: 8 << 20 | 1, inode, offset, length: Some(512) };
    for (request, offset) in [(100, 0), (200, 8192)] {
        machine.event(TID, Event::Submit { request, opcode: 22 });
        machine.event(TID, Event::RingFile { request, descriptor: 3 });
        machine.event(TID, place(9, 5));
        machine.event(TID, place(7, offset));
        machine.event(TID, place(7, 1));
    }
    machine.event(TID, Event::Submit { request: 300, opcode: 23 });
    machine.event(TID, Event::Punt { request: 300 });
    machine.event(TID, place(7, 4096));
    for request in [200, 100, 300, 400] {
        machine.event(TID, Event::Complete { request, result: 512 });
    }
    let calls = machine.calls();
    assert_eq!(
        calls[1..],
        [(Read, 1, Some(0), 512), (Read, 1, Some(8192), 512), (Write, 0, None, 512)],
        "a request of a kernel thread has no place"
    );
}

#[test]
fn a_file_that_was_gone_is_found_behind_a_copy_of_its_descriptor() {
    // The descriptors of this process stand for those of the thread.
    let own = std::process::id();
    let file = std::fs::File::open("/proc/self/exe").expect("there");
    let descriptor = i64::from(std::os::fd::AsRawFd::as_raw_fd(&file));
    let mut machine = Machine::new();
    machine.time_ns = fathom_sys::clock::monotonic_ns();
    machine.follower.add_process(own);
    machine.event(own, Event::Fork { child: own, flags: 0 });
    machine.call(own, "openat", &[0, 0, 0], 999);
    machine.call(own, "dup2", &[999, descriptor as u64], descriptor);
    machine.call(own, "close", &[999], 0);
    machine.call(own, "read", &[descriptor as u64, 0, 512], 512);
    machine.follower.search_unknown(machine.time_ns, false);
    machine.time_ns = fathom_sys::clock::monotonic_ns() + 1;
    machine.follower.search_unknown(machine.time_ns, false);
    let calls = machine.calls();
    let id = calls[0].1;
    assert_eq!(calls.iter().map(|call| call.1).collect::<Vec<_>>(), [id; 3]);
    machine.follower.search_unknown(u64::MAX, true);
    assert_eq!(machine.follower.counts().unknown_files, 0);
}

proptest! {
    #[test]
    fn any_order_of_events_is_followed(events in prop::collection::vec((0u32..3, 0usize..RULES.len(), prop::array::uniform6(0u64..6), -3i64..8, 0u8..9), 0..200)) {
        let mut machine = Machine::new();
        for (thread, rule, arguments, result, kind) in events {
            let (tid, request) = (TID + thread, arguments[0]);
            machine.event(tid, match kind {
                0..3 => Event::Enter(rule as u16, arguments),
                3..5 => Event::Exit(rule as u16, result),
                5 => Event::Fork { child: TID + (arguments[0] % 3) as u32, flags: arguments[1] << 8 },
                6 => Event::Exec { before: TID + (arguments[0] % 3) as u32, program: None },
                7 => Event::Submit { request, opcode: arguments[1] as u8 * 11 },
                _ => Event::Complete { request, result },
            });
        }
        let mut items = Vec::new();
        machine.follower.flush(machine.time_ns, true, &mut items);
        let mut times = items.iter().filter_map(|item| match item {
            Item::Call(call) => Some(call.time_ns),
            _ => None,
        });
        prop_assert!(times.try_fold(0, |last, time| (last <= time).then_some(time)).is_some());
    }
}
