//! The engine `nfs` on a real server: nfs-ganesha.

use crate::shipped_examples::run_with;
use crate::support::program::{Finished, Launch, header_format_of, reference};
use crate::support::servers::{Server, jobs_of_servers};
use crate::support::{KIB, MIB, json, processes, scratch, skip};
use std::ops::Deref;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A server of an empty folder. There is one at a time: they share the machine's port mapper, which is
/// started and stopped with them.
struct Ganesha {
    server: Server,
    _alone: MutexGuard<'static, ()>,
}

impl Deref for Ganesha {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

static ALONE: Mutex<()> = Mutex::new(());

fn server() -> Result<Ganesha, String> {
    skip::root()?;
    // Files are removed even if a test fails, so that they do not affect the next one.
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let server = Server::start("nfs", &[])?;
    // The engine needs the library; a run without a server tests for it.
    let finished = launch("nfs://127.0.0.1/x?nfsport=1&mountport=1", "--rw=read").run();
    match finished.stderr.contains("is not installed") {
        true => Err(finished.stderr.trim().to_owned()),
        false => Ok(Ganesha { server, _alone: alone }),
    }
}

fn launch(url: &str, words: &str) -> Launch {
    Launch::fathom(Path::new("/"))
        .words("--name=a --ioengine=nfs --output-format=json")
        .argument(format!("--nfs_url={url}"))
        .words(words)
}

/// A successful run; returns its result.
#[track_caller]
fn run(url: &str, words: &str) -> serde_json::Value {
    json::document(&launch(url, words).run().expect_clean().stdout)
}

/// A failing run; returns its error message.
#[track_caller]
fn complaint(url: &str, words: &str) -> String {
    let Finished { stderr, status, stdout, .. } = launch(url, words).run();
    assert_eq!(status.code(), Some(1), "{stdout}{stderr}");
    stderr
}

/// Content on the server under a name.
#[track_caller]
fn content(server: &Server, name: &str) -> Vec<u8> {
    std::fs::read(server.file("export").join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn what_is_written_lies_on_the_server() {
    let server = require!(server());
    let url = server.value("NFS_URL");
    run(
        url,
        "--filename=f --rw=write --bs=64k --offset=64k --size=128k --iodepth=4 --buffer_pattern=0xfa7403 --end_fsync=1",
    );
    let found = content(&server, "f");
    assert_eq!(found.len() as u64, 192 * KIB);
    let pattern = [0xfa, 0x74, 0x03];
    let is_pattern =
        |block: &[u8]| block.iter().zip(pattern.iter().cycle()).all(|(found, wanted)| found == wanted);
    assert!(
        found[..64 << 10].iter().all(|byte| *byte == 0) && found[64 << 10..].chunks(64 << 10).all(is_pattern)
    );

    // Existing data stays, and a job appends after it.
    run(url, "--filename=/f --rw=write --bs=64k --size=64k --file_append=1 --buffer_pattern=0xff");
    let longer = content(&server, "f");
    assert_eq!((&longer[..found.len()], longer.len() as u64), (&found[..], 256 * KIB));
    assert!(longer[found.len()..].iter().all(|byte| *byte == 0xff));
}

#[test]
fn files_are_laid_out_and_removed_there() {
    let server = require!(server());
    let url = server.value("NFS_URL");
    let document = run(url, "--rw=randread --nrfiles=2 --size=1m --bs=4k --iodepth=8");
    assert_eq!(json::integer(json::job(&document, "a"), "read/io_bytes"), MIB);
    let [first, second] = ["a.0.0", "a.0.1"].map(|name| content(&server, name));
    assert!(
        first.len() as u64 == MIB / 2 && second.len() == first.len() && first != second,
        "they have different content"
    );
    assert!(first.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)));

    run(url, "--rw=randrw --size=256k --bs=4k --loops=2 --unlink_each_loop=1 --unlink=1 --filename=gone");
    assert!(!server.file("export").join("gone").exists());
    let said = complaint(url, "--rw=read --size=1m --filename=none --allow_file_create=0");
    assert!(
        said.contains("file creation disallowed") && !server.file("export").join("none").exists(),
        "{said}"
    );
    // Without a size, files are read as they are.
    let document = run(url, "--rw=read --bs=64k --filename=a.0.0");
    assert_eq!(json::integer(json::job(&document, "a"), "read/io_bytes"), MIB / 2);
}

#[test]
fn data_is_verified_at_every_depth_and_a_changed_byte_is_found() {
    let server = require!(server());
    let url = server.value("NFS_URL");
    for words in [
        "--iodepth=1 --bs=4k --verify=crc32c",
        "--iodepth=16 --bs=4k --verify=crc32c --nconnect=3",
        "--iodepth=33 --bsrange=512-300k --verify=md5 --thread",
        "--iodepth=4 --bs=1000 --verify=crc32c --fsync=16 --sync=1",
        "--iodepth=4 --bs=2m --size=8m --verify=xxhash --fdatasync=2",
        "--iodepth=8 --bs=4k --verify=crc32c --io_submit_mode=offload --end_fsync=1",
        "--iodepth=4 --bs=4k --verify=crc32c --nrfiles=4 --openfiles=2 --fsync_on_close=1",
    ] {
        let document = run(url, &format!("--rw=randwrite --size=2m {words}"));
        assert!(json::integer(json::job(&document, "a"), "read/total_ios") > 0, "{words}");
    }
    run(url, "--filename=v --rw=write --bs=4k --size=2m --verify=crc32c --do_verify=0 --end_fsync=1");
    let mut bytes = content(&server, "v");
    bytes[MIB as usize + 2000] ^= 1;
    std::fs::write(server.file("export").join("v"), bytes).expect("the file");
    let said = complaint(url, "--filename=v --rw=read --bs=4k --size=2m --verify=crc32c --iodepth=16");
    assert!(said.contains("offset 1048576"), "{said}");
}

#[test]
fn fathom_checks_what_fio_wrote() {
    let fio = require!(reference());
    let help = Launch::of(&fio, Path::new("/")).words("--enghelp=nfs").run();
    if !help.stdout.contains("nfs_url") {
        skip!("this fio has no nfs engine");
    }
    let server = require!(server());
    let words = "--name=a --ioengine=nfs --rw=write --bs=4k --size=1m --verify=crc32c --filename=shared";
    let url = format!("--nfs_url={}", server.value("NFS_URL"));
    let directory = scratch();
    let written = Launch::of(&fio, directory.path()).words(words).argument(&url).words("--do_verify=0").run();
    assert_eq!(written.code(), 0, "{}{}", written.stdout, written.stderr);
    let check = Launch::fathom(directory.path()).words(words).argument(&url).words(header_format_of(&fio));
    check.words("--verify_only --iodepth=8").run().expect_clean();
}

#[test]
fn what_cannot_be_had_is_said() {
    let server = require!(server());
    let url = server.value("NFS_URL");
    for (url, words, part) in [
        (url.replace("/export?", "/nope?"), "--rw=read --size=1m", "Permission denied"),
        (
            "nfs://127.0.0.1/x?nfsport=1&mountport=1".to_owned(),
            "--rw=read --size=1m",
            "fathom: job a: nfs://127.0.0.1/x",
        ),
        (format!("{url}&version=4"), "--rw=read --size=1m", "version=4 is not supported"),
        ("ftp://host/x".to_owned(), "--rw=read --size=1m", "it looks like nfs://server/exported/folder"),
        (url.to_owned(), "--rw=read --size=1m --filename=no/folder", "no/folder: No such file or directory"),
        (url.to_owned(), "--rw=trim --size=1m", "Operation not supported (NFS 3 has no trims)"),
        (url.to_owned(), "--rw=read --filename=empty", "you need to specify size="),
    ] {
        let said = complaint(&url, words);
        assert!(said.contains(part), "{url} {words}: {said}");
    }
    let none = Launch::fathom(scratch().path()).words("--name=a --ioengine=nfs --rw=read --size=1m").run();
    assert_eq!(
        (none.code(), none.stderr.as_str()),
        (1, "fathom: job a: nfs: nfs_url is a required parameter\n")
    );
    std::fs::create_dir(server.file("export").join("folder")).expect("a folder");
    let said = complaint(url, "--rw=read --size=1m --filename=folder");
    assert!(said.contains("is not a regular file"), "{said}");
}

#[test]
fn a_server_that_goes_ends_the_job() {
    let server = require!(server());
    let words = "--rw=randread --bs=4k --size=1m --iodepth=8 --time_based --runtime=120";
    let running = launch(server.value("NFS_URL"), words).start();
    running.wait_for_sleeps(200);
    processes::signal(server.pid("ganesha"), "KILL");
    let finished = running.finish();
    assert_eq!(finished.code(), 1, "{}{}", finished.stdout, finished.stderr);
    assert!(finished.elapsed < Duration::from_secs(100), "{:?}", finished.elapsed);
    assert!(finished.stderr.contains("io_u error on file a.0.0"), "{}", finished.stderr);
    assert!(!finished.stderr.contains("Bad address"), "no address is wrong: {}", finished.stderr);
}

/// Checks that the library reconnects and repeats all I/Os in flight, regardless of the length of the server's
/// absence.
#[test]
fn a_server_that_is_started_again_loses_no_io() {
    let mut server = require!(server());
    let url = format!("{}&autoreconnect=-1", server.value("NFS_URL"));
    let words = "--rw=randwrite --bs=4k --size=2m --iodepth=8 --rate_iops=150 --verify=crc32c --nconnect=2";
    let running = launch(&url, words).start();
    running.wait_for_sleeps(100);
    server.server.stop();
    std::thread::sleep(Duration::from_millis(1500));
    server.server.start_again().expect("the server starts again");
    let document = json::document(&running.finish().expect_clean().stdout);
    let job = json::job(&document, "a");
    assert_eq!(json::integer(job, "write/io_bytes"), 2 * MIB);
    assert_eq!(json::integer(job, "read/io_bytes"), 2 * MIB, "all of it is verified");
    assert!(json::integer(job, "write/lat_ns/max") > 1_000_000_000, "the gap is in the latencies");
    let said = complaint(&url.replace("-1", "often"), "--rw=read --size=4k");
    assert!(said.contains("autoreconnect= is a number"), "{said}");
}

#[test]
fn a_server_that_hangs_is_named() {
    let server = require!(server());
    let words = "--rw=randread --bs=4k --size=1m --iodepth=4 --time_based --runtime=3 --patience=500ms";
    let running = launch(server.value("NFS_URL"), words).start();
    running.wait_for_sleeps(200);
    processes::signal(server.pid("ganesha"), "STOP");
    let finished = running.finish();
    processes::signal(server.pid("ganesha"), "CONT");
    assert_ne!(finished.code(), 0);
    assert!(finished.elapsed < Duration::from_secs(50), "{:?}", finished.elapsed);
    let document = json::document(&finished.stdout);
    let notes = document["fathom notes"].as_array().expect("notes");
    assert!(notes.iter().any(|note| note.as_str().is_some_and(|note| note.contains("offset"))), "{notes:?}");
}

#[test]
fn the_example_that_fio_ships() {
    let server = require!(server());
    run_with("nfs", &[("nfs://127.0.0.1/nfs", server.value("NFS_URL"))], |launch| launch);
}

#[test]
fn the_jobs_of_the_page() {
    let server = require!(server());
    let words = [("nfs://server/export/folder", server.value("NFS_URL")), ("--size=1g", "--size=4m")];
    for job in jobs_of_servers("NFS", &words) {
        job.run(&[]);
    }
}
