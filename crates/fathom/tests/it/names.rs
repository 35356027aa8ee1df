//! The engines that create, inspect and remove names: each I/O is one call, the result matches the calls, and nothing else is
//! touched.

use crate::support::devices::{self, Mounted};
use crate::support::program::{Finished, Launch};
use crate::support::trace::Trace;
use crate::support::{KIB, MIB, file_of, json, scratch, skip};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

const DEPTHS: [&str; 2] = ["--iodepth=1", "--iodepth=8"];

fn words(engine: &str, more: &str) -> String {
    format!(
        "--output-format=normal,json --name=a --ioengine={engine} --nrfiles=20 --filesize=4k --bs=4k {more}"
    )
}

fn run(directory: &Path, engine: &str, more: &str) -> Finished {
    Launch::fathom(directory).words(&words(engine, more)).run()
}

/// Names in a directory.
fn count(directory: &Path) -> usize {
    fs::read_dir(directory).expect("a directory").count()
}

fn ios(finished: &Finished, direction: &str) -> u64 {
    let document = json::document(&finished.stdout);
    json::integer(json::job(&document, "a"), &format!("{direction}/total_ios"))
}

/// True if the kernel or a filter forbids io_uring, so that there is no depth.
fn lacks_rings(finished: &Finished) -> bool {
    finished.stderr.contains("io_queue_init") || finished.stderr.contains("io_uring of this kernel")
}

#[track_caller]
fn all_engines_on(directory: &Path) {
    for depth in DEPTHS {
        for (engine, left) in [
            ("filecreate", 20),
            ("filestat", 20),
            ("filedelete", 0),
            ("dircreate", 20),
            ("dirstat", 20),
            ("dirdelete", 0),
        ] {
            let place = tempfile::tempdir_in(directory).expect("a directory");
            let finished = run(place.path(), engine, depth);
            if lacks_rings(&finished) {
                skip!("{}", finished.stderr.trim());
            }
            let finished = finished.expect_clean();
            assert_eq!((ios(&finished, "read"), count(place.path())), (20, left), "{engine} {depth}");
            let are_directories = fs::read_dir(place.path())
                .expect("a directory")
                .all(|entry| entry.expect("an entry").file_type().expect("a type").is_dir());
            assert!(left == 0 || are_directories == engine.starts_with("dir"), "{engine} {depth}");
        }
    }
}

#[test]
fn on_ext4() {
    all_engines_on(require!(Mounted::new("ext4", 16 * MIB)).path());
}

#[test]
fn on_xfs() {
    all_engines_on(require!(Mounted::new("xfs", 300 * MIB)).path());
}

#[test]
fn on_btrfs() {
    all_engines_on(require!(Mounted::new("btrfs", 128 * MIB)).path());
}

#[test]
fn in_memory() {
    all_engines_on(require!(Mounted::memory(16 * MIB)).path());
}

#[test]
fn modes_and_lengths_are_those_of_fio() {
    let directory = scratch();
    run(directory.path(), "filecreate", "").expect_clean();
    let made = fs::metadata(directory.path().join("a.0.7")).expect("a file");
    assert_eq!((made.len(), made.permissions().mode() & 0o7777), (0, 0o600));
    let directory = scratch();
    run(directory.path(), "dircreate", "").expect_clean();
    assert_eq!(
        fs::metadata(directory.path().join("a.0.7")).expect("a directory").permissions().mode() & 0o7777,
        0
    );
    let directory = scratch();
    run(directory.path(), "filestat", "--filesize=8k").expect_clean();
    assert_eq!(fs::metadata(directory.path().join("a.0.7")).expect("a file").len(), 8 * KIB);
}

#[test]
fn each_io_is_one_call_of_its_kind() {
    for (engine, words, call, flag) in [
        ("filecreate", "", "openat", "O_CREAT|O_NOFOLLOW"),
        ("filestat", "--stat_type=stat", "newfstatat", ", 0)"),
        ("filestat", "--stat_type=lstat", "newfstatat", "AT_SYMLINK_NOFOLLOW"),
        ("filestat", "--stat_type=statx", "statx", "STATX_ALL"),
        ("dirstat", "--stat_type=statx", "statx", "STATX_ALL"),
        ("filedelete", "", "unlinkat", ", 0)"),
        ("dircreate", "", "mkdirat", ", 000)"),
        ("dirdelete", "", "unlinkat", "AT_REMOVEDIR"),
    ] {
        let directory = scratch();
        // Names in an open directory cannot be confused with those accessed before the run.
        let words = format!("{} --directory={} {words}", self::words(engine, ""), directory.path().display());
        let trace = require!(Trace::of(directory.path(), call, &words));
        let calls = trace.calls.iter().filter(|line| line.contains("\"a.0.") && line.contains(flag));
        assert_eq!(calls.count(), 20, "{words}: {:?}", trace.calls);
    }
}

#[test]
fn files_longer_than_a_block_are_one_operation_each() {
    let directory = scratch();
    let finished = run(directory.path(), "filedelete", "--filesize=64k --rw=write").expect_clean();
    assert_eq!((ios(&finished, "write"), count(directory.path())), (20, 0));
}

#[test]
fn the_report_has_operations_and_no_more_latencies_than_fio() {
    let directory = scratch();
    let finished = run(directory.path(), "filecreate", "").expect_clean();
    assert!(finished.stdout.contains("    creates  : ") && finished.stdout.contains("/s, 20 in all\n"));
    let document = json::document(&finished.stdout);
    let job = json::job(&document, "a");
    assert_eq!(json::integer(job, "read/clat_ns/N"), 20);
    assert_eq!(json::integer(job, "read/lat_ns/N"), 0);
}

#[test]
fn clones_loops_and_time() {
    for more in ["--numjobs=3", "--numjobs=3 --thread", "--numjobs=3 --thread --iodepth=8"] {
        let directory = scratch();
        let finished = run(directory.path(), "filecreate", more);
        if lacks_rings(&finished) {
            skip!("{}", finished.stderr.trim());
        }
        finished.expect_clean();
        assert_eq!(count(directory.path()), 60, "{more}");
    }
    for (engine, more, expected) in [
        ("filestat", "--loops=3", 60),
        // Created again for each loop.
        ("filedelete", "--loops=3 --unlink_each_loop=1", 60),
        ("filecreate", "--loops=3 --unlink_each_loop=1", 60),
        ("dircreate", "--loops=3 --unlink_each_loop=1", 60),
        ("dirdelete", "--loops=3 --unlink_each_loop=1", 60),
        ("filestat", "--number_ios=7", 7),
        ("filestat", "--io_size=400k", 100),
        ("filestat", "--rw=randread --file_service_type=random", 20),
        ("filestat", "--openfiles=3", 20),
    ] {
        let directory = scratch();
        let finished = run(directory.path(), engine, more).expect_clean();
        assert_eq!(ios(&finished, "read"), expected, "{engine} {more}");
    }
    let directory = scratch();
    let finished = run(directory.path(), "dirstat", "--time_based --runtime=1").expect_clean();
    assert!(ios(&finished, "read") > 20);
}

#[test]
fn what_can_be_done_once_is_done_once() {
    for (engine, errno, said) in [
        ("filedelete", 2, "removed once"),
        ("dirdelete", 2, "removed once"),
        ("dircreate", 17, "exists already"),
    ] {
        for depth in DEPTHS {
            let directory = scratch();
            let finished = run(directory.path(), engine, &format!("--loops=2 {depth}"));
            if lacks_rings(&finished) {
                skip!("{}", finished.stderr.trim());
            }
            assert_eq!(finished.code(), 1, "{engine} {depth}");
            let call = if engine == "dircreate" { "open" } else { "delete" };
            let line = format!("err={errno}/file:engines/fileoperations.c, func={call}(a.0.");
            assert!(finished.stdout.contains(&line), "{engine} {depth}: {}", finished.stdout);
            assert!(finished.stderr.contains(said), "{engine} {depth}: {}", finished.stderr);
            let document = json::document(&finished.stdout);
            let done = json::integer(json::job(&document, "a"), "read/clat_ns/N");
            assert_eq!(done, 20, "{engine} {depth}");
        }
    }
}

#[test]
fn what_lies_in_the_way_stays_and_is_told() {
    let of = |engine: &str, prepare: &dyn Fn(&Path), said: &str| {
        let directory = scratch();
        prepare(directory.path());
        let before = count(directory.path());
        let finished = run(directory.path(), engine, "");
        assert_ne!(finished.code(), 0, "{engine}: {said}");
        assert!(finished.stderr.contains(said), "{engine}: {}", finished.stderr);
        (directory, before)
    };
    let is_full = |place: &Path| {
        fs::create_dir(place.join("a.0.3")).expect("a directory");
        file_of(&place.join("a.0.3"), "precious", 1);
    };
    let (directory, before) = of("dirdelete", &is_full, "is not empty");
    assert!(directory.path().join("a.0.3/precious").exists());
    assert_eq!(count(directory.path()), before, "nothing is made for what does not run");
    let is_link = |place: &Path| {
        fs::create_dir(place.join("elsewhere")).expect("a directory");
        symlink("elsewhere", place.join("a.0.3")).expect("a link");
    };
    let (directory, _) = of("dirdelete", &is_link, "is a symbolic link");
    assert!(directory.path().join("elsewhere").is_dir() && directory.path().join("a.0.3").is_symlink());
    let leads_out = |place: &Path| symlink("made-elsewhere", place.join("a.0.3")).expect("a link");
    let (directory, _) = of("filecreate", &leads_out, "is a symbolic link");
    assert!(!directory.path().join("made-elsewhere").exists());
    let is_file = |place: &Path| drop(file_of(place, "a.0.3", 5));
    for engine in ["dirdelete", "dirstat"] {
        let (directory, _) = of(engine, &is_file, "is not a directory");
        assert_eq!(fs::metadata(directory.path().join("a.0.3")).expect("a file").len(), 5);
    }
    let is_directory = |place: &Path| fs::create_dir(place.join("a.0.3")).expect("a directory");
    for engine in ["filecreate", "filedelete"] {
        let (directory, _) = of(engine, &is_directory, "is a directory");
        assert!(directory.path().join("a.0.3").is_dir());
    }
    let (directory, _) = of("dircreate", &is_directory, "a directory of that name exists already");
    assert!(directory.path().join("a.0.3").is_dir());
}

#[test]
fn only_links_are_removed_not_what_they_lead_to() {
    let directory = scratch();
    let target = file_of(directory.path(), "precious", 100);
    symlink("precious", directory.path().join("a.0.3")).expect("a link");
    run(directory.path(), "filedelete", "").expect_clean();
    assert_eq!(fs::metadata(target).expect("it is there").len(), 100);
    assert_eq!(count(directory.path()), 1);
}

#[test]
fn neighbours_stay() {
    for engine in ["filedelete", "dirdelete"] {
        let directory = scratch();
        let own = file_of(directory.path(), "a.0.99", 10);
        run(directory.path(), engine, "").expect_clean();
        assert!(own.exists() && count(directory.path()) == 1, "{engine}");
    }
}

#[test]
fn what_is_made_is_removed_again() {
    for engine in ["filecreate", "filestat", "dircreate", "dirstat"] {
        let directory = scratch();
        run(directory.path(), engine, "--unlink=1").expect_clean();
        assert_eq!(count(directory.path()), 0, "{engine}");
    }
}

#[test]
fn nothing_changes_under_readonly() {
    for engine in ["filecreate", "filedelete", "dircreate", "dirdelete"] {
        let directory = scratch();
        file_of(directory.path(), "a.0.0", 4 * KIB);
        let finished = Launch::fathom(directory.path()).words("--readonly").words(&words(engine, "")).run();
        assert_eq!(finished.code(), 1, "{engine}");
        assert!(finished.stderr.contains("--readonly forbids"), "{engine}: {}", finished.stderr);
        assert_eq!(count(directory.path()), 1, "{engine}");
    }
}

#[test]
fn file_systems_that_are_full_or_closed_say_so() {
    let full = require!(Mounted::new("ext4", 16 * MIB));
    let named = file_of(full.path(), "named", 1);
    // A loop device of 16 MiB has a few thousand inodes.
    let finished = Launch::fathom(full.path()).words(&words("filecreate", "--nrfiles=20000")).run();
    assert_eq!(finished.code(), 1);
    assert!(
        finished.stdout.contains("err=28/file:engines/fileoperations.c, func=open("),
        "{}",
        finished.stdout
    );
    assert!(finished.stderr.contains("no inode left"), "{}", finished.stderr);
    require!(full.make_read_only());
    let finished = Launch::fathom(full.path())
        .words(&words("filedelete", "--filename=named --nrfiles=1 --filesize=1 --bs=1"))
        .run();
    assert_eq!(finished.code(), 1);
    assert!(
        finished.stdout.contains("func=delete(named), error=Read-only file system"),
        "{}",
        finished.stdout
    );
    assert!(named.exists());
}

/// Regular files and directories below a directory.
fn below(directory: &Path) -> (usize, usize) {
    let mut found = (0, 0);
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            let inner = below(&path);
            found = (found.0 + inner.0, found.1 + inner.1 + 1);
        } else {
            found.0 += 1;
        }
    }
    found
}

#[test]
fn trees_have_the_shape_that_is_asked_for() {
    let shape = "--name=a --bs=4k --filesize=4k --tree_files=5 --tree_width=3 --tree_depth=2";
    for depth in DEPTHS {
        // 13 directories of the tree.
        for (engine, files, directories) in [
            ("filecreate", 65, 13),
            ("filedelete", 0, 13),
            ("dircreate", 0, 78),
            ("filestat", 65, 13),
            ("psync", 65, 13),
        ] {
            let directory = scratch();
            let words = format!("{shape} --ioengine={engine} {depth} --output-format=normal,json");
            let finished = Launch::fathom(directory.path()).words(&words).run();
            if lacks_rings(&finished) {
                skip!("{}", finished.stderr.trim());
            }
            assert_eq!(finished.code(), 0, "{engine} {depth}: {}", finished.stderr);
            assert_eq!(ios(&finished, "read"), 65, "{engine} {depth}");
            assert_eq!(below(directory.path()), (files, directories), "{engine} {depth}");
            let first = fs::metadata(directory.path().join("a.0.tree/d1/d4")).expect("a directory");
            assert_eq!(first.permissions().mode() & 0o777, 0o700);
        }
    }
    let directory = scratch();
    let words = format!(
        "{shape} --ioengine=filecreate --numjobs=2 --unlink=1 --directory={}",
        directory.path().display()
    );
    Launch::fathom(directory.path()).words(&words).run().expect_clean();
    assert_eq!(below(directory.path()), (0, 0));
}

#[test]
fn no_tree_is_made_in_what_is_of_others() {
    let shape =
        "--name=a --bs=4k --filesize=4k --ioengine=filecreate --tree_files=5 --tree_width=3 --tree_depth=2";
    let refused = |prepare: &dyn Fn(&Path), said: &str| {
        let directory = scratch();
        prepare(directory.path());
        let finished = Launch::fathom(directory.path()).words(shape).run();
        assert_eq!(finished.code(), 1, "{said}");
        assert!(finished.stderr.contains(said), "{said}: {}", finished.stderr);
        directory
    };
    let is_link = |place: &Path| {
        fs::create_dir(place.join("elsewhere")).expect("a directory");
        symlink("elsewhere", place.join("a.0.tree")).expect("a link");
    };
    let directory = refused(&is_link, "exists and is not a directory");
    assert_eq!(count(&directory.path().join("elsewhere")), 0);
    let is_open = |place: &Path| {
        fs::create_dir(place.join("a.0.tree")).expect("a directory");
        fs::set_permissions(place.join("a.0.tree"), fs::Permissions::from_mode(0o777)).expect("a mode");
    };
    let directory = refused(&is_open, "other users may write to");
    assert_eq!(below(directory.path()), (0, 1));
    // A tree of an earlier run is reused, and other files in it stay.
    let directory = scratch();
    Launch::fathom(directory.path()).words(shape).run().expect_clean();
    let own = file_of(&directory.path().join("a.0.tree/d2"), "own", 3);
    Launch::fathom(directory.path()).words(shape).words("--unlink=1").run().expect_clean();
    assert!(own.exists());
    assert_eq!(below(directory.path()), (1, 2));
}

/// A file system frozen until drop.
struct Frozen<'a>(&'a Path);

impl Frozen<'_> {
    fn of(place: &Path) -> Result<Frozen<'_>, String> {
        skip::tool("fsfreeze")?;
        devices::run("fsfreeze", &["-f", place.to_str().ok_or("the path is text")?]).map(|_| Frozen(place))
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        let _ = devices::run("fsfreeze", &["-u", &self.0.to_string_lossy()]);
    }
}

#[test]
fn what_is_stuck_is_named() {
    fathom_only!();
    let mounted = require!(Mounted::new("ext4", 16 * MIB));
    for (depth, said) in [
        ("--iodepth=1", "1 I/O does not return: create a.0."),
        ("--iodepth=4", "4 I/Os do not return: create a.0."),
    ] {
        let frozen = require!(Frozen::of(mounted.path()));
        let more = format!("{depth} --patience=500ms --time_based --runtime=1");
        let finished = run(mounted.path(), "filecreate", &more);
        drop(frozen);
        if lacks_rings(&finished) {
            skip!("{}", finished.stderr.trim());
        }
        assert_eq!(finished.code(), 1, "{depth}");
        assert!(finished.stdout.contains(said), "{depth}: {}", finished.stdout);
    }
}
