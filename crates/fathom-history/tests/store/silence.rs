//! Servers that stop, or die, while a run is added. Nothing waits for ever, and nothing is half stored.

use crate::made;
use crate::running::{Server, signal};
use fathom_history::{Access, Error, Place, Store};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// What a relay does with COMMIT.
const PASS: u8 = 0;
const LOSE_ANSWER: u8 = 1;
const LOSE_COMMIT: u8 = 2;
const CUT_AFTER: u8 = 3;
/// From the first INSERT on, nothing passes.
const STOP: u8 = 4;

/// A socket between the store and the server that loses what a test wants it to lose.
struct Relay {
    directory: tempfile::TempDir,
    fate: Arc<AtomicU8>,
}

impl Relay {
    fn start(server: &Server) -> Relay {
        let name = format!(".s.PGSQL.{}", server.port);
        let directory = tempfile::tempdir_in("/tmp").expect("a directory");
        let listener = UnixListener::bind(directory.path().join(&name)).expect("listens");
        let target = server.directory.path().join(&name);
        let fate = Arc::new(AtomicU8::new(PASS));
        let of_threads = Arc::clone(&fate);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                relay(&client.expect("a connection"), &target, &of_threads);
            }
        });
        Relay { directory, fate }
    }

    /// The database behind the relay, whose server ends statements after this time.
    fn place(&self, server: &Server, database: &str, ms: u64) -> Place {
        limited(self.directory.path(), server, database, ms)
    }
}

fn limited(directory: &Path, server: &Server, database: &str, ms: u64) -> Place {
    let host = directory.display().to_string().replace('/', "%2F");
    let options = format!("options=-c%20statement_timeout%3D{ms}&connect_timeout=2");
    let url = format!("postgres://me@{host}:{}/{database}?{options}", server.port);
    Place::parse(url.as_ref()).expect("parses")
}

fn relay(client: &UnixStream, target: &PathBuf, fate: &Arc<AtomicU8>) {
    let server = UnixStream::connect(target).expect("connects");
    let copy = |mut from: UnixStream, mut to: UnixStream, is_of_client: bool| {
        let fate = Arc::clone(fate);
        std::thread::spawn(move || {
            let mut is_lost = false;
            let mut bytes = [0; 65_536];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                let has = |word: &[u8]| bytes[..count].windows(word.len()).any(|part| part == word);
                let now = fate.load(Ordering::SeqCst);
                if is_of_client && (now == LOSE_COMMIT && has(b"COMMIT") || now == STOP && has(b"INSERT")) {
                    is_lost = true;
                }
                if !is_of_client && matches!(now, LOSE_ANSWER | CUT_AFTER) && has(b"COMMIT") {
                    // The tag of the answer.
                    is_lost = true;
                    if now == CUT_AFTER {
                        let _ = to.shutdown(Shutdown::Both);
                    }
                }
                if !is_lost && to.write_all(&bytes[..count]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
        });
    };
    copy(client.try_clone().expect("a socket"), server.try_clone().expect("a socket"), true);
    copy(server, client.try_clone().expect("a socket"), false);
}

fn runs(server: &Server, database: &str) -> u64 {
    let mut store = Store::open(&server.place(database), Access::Read).expect("opens");
    store.list(&[], 1, 0).expect("listed").total
}

/// Waits until the server has no connection of a store.
fn wait_until_alone(server: &Server) {
    let mut client = server.client("postgres").expect("connects");
    let begun = Instant::now();
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'fathom'";
    while client.query_one(sql, &[]).expect("a row").get::<_, i64>(0) > 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "connections of stores remain");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The process of the server that serves the store.
fn served_by(server: &Server) -> u32 {
    let mut client = server.client("postgres").expect("connects");
    let sql = "SELECT pid FROM pg_stat_activity WHERE application_name = 'fathom'";
    client.query_one(sql, &[]).expect("a row").get::<_, i32>(0).unsigned_abs()
}

#[test]
fn a_server_that_stops_is_given_up() {
    let Some(server) = Server::start() else { return };
    server.database("stops");
    let place = limited(server.directory.path(), &server, "stops", 1000);
    let mut store = Store::open(&place, Access::Write).expect("opens");
    store.add(&made::record(1)).expect("added");
    let process = served_by(&server);
    signal("STOP", process);
    let begun = Instant::now();
    let error = store.add(&made::record(2)).expect_err("no answer");
    let told = error.to_string();
    assert!(matches!(error, Error::Silent { seconds: 6, .. }), "{told}");
    assert!(told.contains("has not answered for 6 s") && told.contains("check the server"), "{told}");
    // The next one does not wait again.
    assert!(matches!(store.add(&made::record(3)), Err(Error::Silent { .. })));
    drop(store);
    let took = begun.elapsed();
    assert!(took >= Duration::from_secs(6) && took < Duration::from_secs(9), "{took:?}");
    signal("CONT", process);
    wait_until_alone(&server);
    assert_eq!(runs(&server, "stops"), 1);
    // All of it stops, so that connections get no answer either.
    server.signal("STOP");
    let begun = Instant::now();
    let error = Store::open(&place, Access::Read).err().expect("no answer");
    assert!(matches!(error, Error::Silent { seconds: 2, .. }), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    server.signal("CONT");
    assert_eq!(runs(&server, "stops"), 1);
}

#[test]
fn a_run_is_stored_as_a_whole_or_not_at_all() {
    let Some(server) = Server::start() else { return };
    let relay = Relay::start(&server);
    server.database("half");
    let place = relay.place(&server, "half", 500);
    let mut number = 0;
    let mut add = |fate: u8| {
        number += 1;
        let mut store = Store::open(&place, Access::Write).expect("opens");
        relay.fate.store(fate, Ordering::SeqCst);
        let error = store.add(&made::record(number)).expect_err("no answer");
        relay.fate.store(PASS, Ordering::SeqCst);
        drop(store);
        wait_until_alone(&server);
        let mut store = Store::open(&place, Access::Write).expect("opens");
        let is_stored = !store.add(&made::record(number)).expect("added").is_new;
        assert_eq!(store.list(&[], 1, 0).expect("listed").total, number);
        (error, is_stored)
    };
    let (error, is_stored) = add(STOP);
    assert!(matches!(error, Error::Silent { .. }) && !is_stored, "{error}");
    for (fate, is_there) in [(LOSE_ANSWER, true), (LOSE_COMMIT, false), (CUT_AFTER, true)] {
        let (error, is_stored) = add(fate);
        let told = error.to_string();
        assert!(matches!(error, Error::Uncertain { .. }), "{told}");
        assert!(
            told.contains("may or may not be there") && told.contains("no run is stored twice"),
            "{told}"
        );
        assert_eq!(is_stored, is_there, "{told}");
    }
}

#[test]
fn writers_that_wait_are_not_taken_for_silence() {
    let Some(server) = Server::start() else { return };
    server.database("locked");
    let mut store = Store::open(&limited(server.directory.path(), &server, "locked", 60_000), Access::Write)
        .expect("opens");
    let mut other = server.client("locked").expect("connects");
    // 6 s are longer than the server's limit on a statement and this side's, if the lock counted as one.
    other.batch_execute("BEGIN; SELECT pg_advisory_xact_lock(112568750862189)").expect("locked");
    let release = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(6));
        other.batch_execute("COMMIT").expect("released");
        other
    });
    let hurried = limited(server.directory.path(), &server, "locked", 300);
    let mut hurried = Store::open(&hurried, Access::Write).expect("opens");
    let begun = Instant::now();
    hurried.add(&made::record(2)).expect("added");
    assert!(begun.elapsed() > Duration::from_secs(4), "it did not wait");
    store.add(&made::record(1)).expect("added");
    // A writer that keeps the lock: 30 s, as for a file, and a message about writers.
    let mut other = release.join().expect("ends");
    other.batch_execute("BEGIN; SELECT pg_advisory_xact_lock(112568750862189)").expect("locked");
    let begun = Instant::now();
    let error = hurried.add(&made::record(3)).expect_err("locked");
    assert!(matches!(error, Error::Locked { seconds: 30, .. }), "{error}");
    assert!(begun.elapsed() > Duration::from_secs(29), "{:?}", begun.elapsed());
    other.batch_execute("COMMIT").expect("released");
    hurried.add(&made::record(3)).expect("added");
}

#[test]
fn a_server_that_dies_leaves_nothing_half_stored() {
    let Some(server) = Server::start() else { return };
    server.database("dies");
    let place = server.place("dies");
    let mut store = Store::open(&place, Access::Write).expect("opens");
    store.add(&made::record(0)).expect("added");
    drop(store);
    let mut added = 1;
    for round in 1..6 {
        let mut store = Store::open(&place, Access::Write).expect("opens");
        let process = served_by(&server);
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(40 + 17 * round));
            signal(if round % 2 == 0 { "TERM" } else { "KILL" }, process);
        });
        let error = (1..).find_map(|number| match store.add(&made::record(round * 1000 + number)) {
            Ok(_) => {
                added += 1;
                None
            }
            Err(error) => Some(error),
        });
        killer.join().expect("ends");
        let error = error.expect("it died");
        let told = error.to_string();
        assert!(!told.contains("run may"), "{told}");
        // After SIGKILL of one of its processes, all of the server starts again.
        let begun = Instant::now();
        while server.client("dies").is_none() {
            assert!(begun.elapsed() < Duration::from_secs(30), "the server does not come back");
            std::thread::sleep(Duration::from_millis(50));
        }
        let there = runs(&server, "dies");
        let most = if matches!(error, Error::Uncertain { .. }) { added + 1 } else { added };
        assert!((added..=most).contains(&there), "{there} of {added}: {told}");
        added = there;
        let mut client = server.client("dies").expect("connects");
        let halves =
            "SELECT count(*) FROM fathom.runs WHERE run_id NOT IN (SELECT run_id FROM fathom.figures)
            OR run_id NOT IN (SELECT run_id FROM fathom.histogram)";
        assert_eq!(client.query_one(halves, &[]).expect("a row").get::<_, i64>(0), 0);
    }
}

#[test]
fn a_writer_that_stops_does_not_keep_others_waiting() {
    let Some(server) = Server::start() else { return };
    server.database("sleeps");
    let place = server.place("sleeps");
    let mut store = Store::open(&place, Access::Write).expect("opens");
    store.add(&made::record(1)).expect("added");
    let mut client = server.client("sleeps").expect("connects");
    let settings = |client: &mut postgres::Client, name: &str| -> String {
        client.query_one(&format!("SHOW {name}"), &[]).expect("a row").get(0)
    };
    assert_eq!(settings(&mut client, "idle_in_transaction_session_timeout"), "0");
    // An administrator's own limits stay.
    client.batch_execute("ALTER ROLE me SET idle_in_transaction_session_timeout = '1s'").expect("set");
    let relay = Relay::start(&server);
    let stops = relay.place(&server, "sleeps", 60_000);
    let fate = Arc::clone(&relay.fate);
    let waits = std::thread::spawn(move || {
        let mut stopped = Store::open(&stops, Access::Write).expect("opens");
        fate.store(STOP, Ordering::SeqCst);
        stopped.add(&made::record(2))
    });
    std::thread::sleep(Duration::from_millis(500));
    let begun = Instant::now();
    store.add(&made::record(3)).expect("added");
    let took = begun.elapsed();
    assert!(took > Duration::from_millis(200) && took < Duration::from_secs(5), "{took:?}");
    let error = waits.join().expect("ends").expect_err("ended by the server").to_string();
    // The reason is lost if the relay has also lost the end of the statement before.
    let told = ["idle-in-transaction timeout", "the server closed the connection; its log says why"];
    assert!(told.iter().any(|why| error.contains(why)), "{error}");
}
