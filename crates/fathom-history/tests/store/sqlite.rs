//! The store in a file of SQLite. What both databases have to do is in [`behaves`].

use crate::made;
use fathom_history::{Access, Condition, Error, FigureName, Place, Store};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) fn place(path: &Path) -> Place {
    Place::File { path: path.to_owned(), is_default: false }
}

fn open(path: &Path) -> Store {
    Store::open(&place(path), Access::Write).expect("opens")
}

fn conditions(texts: &[&str]) -> Vec<Condition> {
    texts.iter().map(|text| Condition::parse(text).expect("a condition")).collect()
}

/// What a store does, whatever its database.
pub(crate) fn behaves(place: &Place) {
    assert!(matches!(Store::open(place, Access::Read), Err(Error::Missing { .. })));
    assert!(matches!(Store::open(place, Access::Again), Err(Error::Gone { .. })));
    let mut store = Store::open(place, Access::Write).expect("opens");
    store.check().expect("can be written");
    assert_eq!(store.list(&[], 1, 0).expect("listed").total, 0);
    drop(store);
    let mut store = Store::open(place, Access::Again).expect("opens");
    let records: Vec<_> = (0..20).map(made::record).collect();
    let ids: Vec<i64> = records.iter().map(|record| store.add(record).expect("added").id).collect();
    // Idempotent; other tags are added to what is there.
    let mut again = records[3].clone();
    again.tags =
        BTreeMap::from([("hundred".to_owned(), "x".to_owned()), ("more".to_owned(), "y".to_owned())]);
    let added = store.add(&again).expect("added");
    assert_eq!((added.id, added.is_new), (ids[3], false));
    assert_eq!(store.run(ids[3]).expect("there").record.tags, again.tags);
    // Everything comes back.
    for (record, id) in records.iter().zip(&ids).skip(4) {
        let mut found = store.run(*id).expect("there").record;
        for (job, own) in found.jobs.iter_mut().zip(&record.jobs) {
            job.figures.sort_by(|one, other| (one.direction, &one.name).cmp(&(other.direction, &other.name)));
            let mut wanted = own.figures.clone();
            wanted.sort_by(|one, other| (one.direction, &one.name).cmp(&(other.direction, &other.name)));
            assert_eq!(job.figures, wanted);
            job.figures.clone_from(&own.figures);
        }
        assert_eq!(&found, record);
    }
    lists(&mut store);
    let figure = FigureName::parse("read.p99").expect("a figure");
    let series = store.series(&figure, &[]).expect("read");
    assert_eq!((series.len(), series[0].points.len()), (1, 20));
    assert_eq!((series[0].job.as_str(), series[0].direction), ("randread", "read"));
    assert!(series[0].points.windows(2).all(|pair| pair[0].begun_ms < pair[1].begun_ms));
    assert_eq!(series[0].points[7].value, 200_007.0);
    assert_eq!(series[0].points[7].attributes["kernel"], "Linux 6.12.0");
    assert_eq!(series[0].points[7].attributes["tag.hundred"], "0");
    for name in ["iops", "bw", "lat", "max", "cpu", "clat_stddev_ns", "p99.9"] {
        let figure = FigureName::parse(name).expect("a figure");
        assert_eq!(
            store.series(&figure, &conditions(&["host=lab3"])).expect("read")[0].points.len(),
            2,
            "{name}"
        );
    }
    // All or none.
    assert!(matches!(store.remove(&[ids[0], 9999]), Err(Error::NoRun { id: 9999, .. })));
    assert_eq!(store.list(&[], 5, 0).expect("listed").total, 20);
    let removed = store.remove(&[ids[0], ids[19]]).expect("removed");
    assert_eq!(removed.len(), 2);
    assert_eq!(store.list(&[], 5, 0).expect("listed").total, 18);
    assert!(store.run(ids[0]).is_err());
    // Numbers are not given again.
    assert!(store.add(&records[19]).expect("added").id > ids[19]);
}

fn lists(store: &mut Store) {
    let page = store.list(&[], 5, 2).expect("listed");
    assert_eq!((page.total, page.runs.len()), (20, 5));
    assert!(page.runs.windows(2).all(|pair| pair[0].begun_ms > pair[1].begun_ms));
    assert_eq!((page.runs[0].host.as_str(), page.runs[0].source.as_str()), ("lab7", "night-17.json"));
    for (texts, count) in [
        (&["host=lab3"][..], 2),
        (&["model=Disk 0", "kernel=Linux 6.12.0"], 7),
        (&["serial=S3"], 2),
        (&["serial=S3", "firmware=FW1"], 1),
        (&["hundred=x"], 1),
        (&["job=randread", "file_system=ext4", "device=nvme0n1", "program=fathom"], 20),
        (&["verdict=wrong"], 0),
        (&["color=red"], 0),
    ] {
        assert_eq!(store.list(&conditions(texts), 100, 0).expect("listed").total, count, "{texts:?}");
    }
    let fingerprint = format!("fingerprint={}", page.runs[0].fingerprint);
    assert_eq!(store.list(&conditions(&[&fingerprint]), 1, 0).expect("listed").total, 20);
}

#[test]
fn a_file_behaves() {
    let scratch = tempfile::tempdir().expect("a directory");
    behaves(&place(&scratch.path().join("history.db")));
}

#[test]
fn the_views_are_there_and_say_the_units() {
    let scratch = tempfile::tempdir().expect("a directory");
    let path = scratch.path().join("history.db");
    open(&path).add(&made::record(7)).expect("added");
    let reader = rusqlite::Connection::open(&path).expect("opens");
    let one = |sql: &str| reader.query_row(sql, [], |row| row.get::<_, String>(0)).expect(sql);
    assert_eq!(one("SELECT begun_utc FROM runs WHERE host = 'lab7'"), "2023-11-15T05:13:20Z");
    assert_eq!(one("SELECT name FROM jobs"), "randread");
    assert_eq!(one("SELECT CAST(value AS TEXT) FROM figures WHERE figure = 'iops'"), "100007.0");
    let p99 = "SELECT CAST(value_ns AS TEXT) FROM percentiles WHERE percent = 99 AND latency = 'clat'";
    assert_eq!(one(p99), "200007");
    assert_eq!(one("SELECT model FROM devices WHERE size_bytes > 0 AND read_bytes = 4096000"), "Disk 1");
    assert_eq!(one("SELECT kernel FROM hosts"), "Linux 6.12.0");
    assert_eq!(one("SELECT kind FROM file_systems"), "ext4");
    assert_eq!(one("SELECT value FROM tags WHERE name = 'hundred'"), "0");
    assert_eq!(one("SELECT CAST(count(*) AS TEXT) FROM findings"), "0");
}

#[test]
fn a_newer_schema_and_foreign_files_are_refused() {
    let scratch = tempfile::tempdir().expect("a directory");
    let path = scratch.path().join("history.db");
    open(&path).add(&made::record(1)).expect("added");
    let writer = rusqlite::Connection::open(&path).expect("opens");
    writer.pragma_update(None, "user_version", 99).expect("written");
    drop(writer);
    let before = fs::read(&path).expect("read");
    for access in [Access::Read, Access::Write] {
        let error = Store::open(&place(&path), access).err().expect("refused").to_string();
        assert!(error.contains("schema version 99"), "{error}");
    }
    assert_eq!(fs::read(&path).expect("read"), before);
    let other = scratch.path().join("other.db");
    rusqlite::Connection::open(&other)
        .and_then(|other| other.execute_batch("CREATE TABLE t (x)"))
        .expect("made");
    let text = scratch.path().join("text.db");
    fs::write(
        &text,
        "a text that is long enough to be no header of a database at all, and then some more".repeat(20),
    )
    .expect("written");
    for foreign in [&other, &text] {
        for access in [Access::Read, Access::Write] {
            assert!(
                matches!(Store::open(&place(foreign), access), Err(Error::Foreign { .. })),
                "{foreign:?}"
            );
        }
    }
    let nowhere = scratch.path().join("none/history.db");
    let error = Store::open(&place(&nowhere), Access::Write).err().expect("refused").to_string();
    assert!(error.contains("none is not a directory"), "{error}");
}

#[test]
fn two_writers_take_turns() {
    let scratch = tempfile::tempdir().expect("a directory");
    let path = scratch.path().join("history.db");
    let threads: Vec<_> = (0..4u64)
        .map(|writer| {
            let path = path.clone();
            std::thread::spawn(move || {
                for number in 0..25 {
                    // Half of the runs are those of another writer as well.
                    open(&path).add(&made::record(writer / 2 * 1000 + number)).expect("added");
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("ends"));
    assert_eq!(open(&path).list(&[], 1, 0).expect("listed").total, 50);
}

#[test]
fn a_read_only_file_can_be_read() {
    let scratch = tempfile::tempdir().expect("a directory");
    let path = scratch.path().join("history.db");
    open(&path).add(&made::record(1)).expect("added");
    // Only root can make a file that root cannot write.
    let set = |flag: &str| {
        Command::new("chattr").arg(flag).arg(&path).status().is_ok_and(|status| status.success())
    };
    if !set("+i") {
        fathom_skip::record("chattr +i is impossible here");
        return;
    }
    let mut store = open(&path);
    let (listed, checked, refused) = (store.list(&[], 9, 0), store.check(), store.add(&made::record(2)));
    assert!(set("-i"));
    assert_eq!(listed.expect("listed").total, 1);
    for refused in [checked, refused.map(|_| ())] {
        let error = refused.expect_err("read-only").to_string();
        assert!(error.contains("cannot be written"), "{error}");
    }
}

#[test]
fn a_lock_is_waited_for_and_then_told() {
    let scratch = tempfile::tempdir().expect("a directory");
    let path = scratch.path().join("history.db");
    let mut store = open(&path);
    let other = rusqlite::Connection::open(&path).expect("opens");
    other.execute_batch("BEGIN EXCLUSIVE").expect("locked");
    let holder = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_secs(1));
        other.execute_batch("COMMIT").expect("released");
        other
    });
    assert!(store.add(&made::record(1)).expect("added after a second").is_new);
    let other = holder.join().expect("ends");
    other.execute_batch("BEGIN EXCLUSIVE").expect("locked");
    let error = store.add(&made::record(2)).expect_err("locked").to_string();
    assert!(error.contains("kept the history locked for 20 s"), "{error}");
    other.execute_batch("COMMIT").expect("released");
    assert!(store.add(&made::record(2)).expect("added").is_new);
}
