//! The engines `gfapi` and `gfapi_async` on a real volume of one brick.

use crate::shipped_examples::run_with;
use crate::support::program::{Finished, Launch, header_format_of, reference};
use crate::support::servers::{Server, jobs_of_servers};
use crate::support::{KIB, MIB, json, processes, scratch, skip};
use std::ops::Deref;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The volume of a server. There is one at a time: its daemon's port is fixed.
struct Gluster {
    server: Server,
    _alone: MutexGuard<'static, ()>,
}

impl Deref for Gluster {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

static ALONE: Mutex<()> = Mutex::new(());

fn volume() -> Result<Gluster, String> {
    skip::root()?;
    // Files are removed even if a test fails, so that they do not affect the next one.
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let server = Server::start_large("gluster", &[])?;
    // The engines need the library; a run without a volume shows whether it is installed.
    let finished = launch(&server, "gfapi", "--volume=none --rw=read --size=1m").run();
    match finished.stderr.contains("is not installed") {
        true => Err(finished.stderr.trim().to_owned()),
        false => Ok(Gluster { server, _alone: alone }),
    }
}

fn launch(server: &Server, engine: &str, words: &str) -> Launch {
    let volume = if words.contains("--volume=") { "" } else { "--volume=vol" };
    let brick = format!("--brick={}", server.value("GLUSTER_HOST"));
    let brick = if words.contains("--brick=") { String::new() } else { brick };
    let engine = format!("--name=a --output-format=json --ioengine={engine} {volume} {brick}");
    Launch::fathom(Path::new("/")).words(&engine).words(words)
}

/// A successful run; returns its job.
#[track_caller]
fn run(server: &Server, engine: &str, words: &str) -> serde_json::Value {
    json::document(&launch(server, engine, words).run().expect_clean().stdout)["jobs"][0].clone()
}

/// A failing run; returns its error message.
#[track_caller]
fn complaint(server: &Server, engine: &str, words: &str) -> String {
    let Finished { stderr, status, stdout, .. } = launch(server, engine, words).run();
    assert_eq!(status.code(), Some(1), "{words}: {stdout}{stderr}");
    stderr
}

/// Content on the brick under a name.
#[track_caller]
fn content(server: &Server, name: &str) -> Vec<u8> {
    let path = Path::new(server.value("GLUSTER_DATA")).join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn data_is_verified_at_every_depth_and_lies_on_the_brick() {
    let server = require!(volume());
    for engine in ["gfapi", "gfapi_async"] {
        for words in [
            "--bs=4k --verify=crc32c --iodepth=16",
            "--bsrange=512-60k --verify=md5 --iodepth=7 --thread --numjobs=3 --single-instance=1 --fsync=5 --fdatasync=3",
            "--bs=4k --verify=crc32c --iodepth=8 --nrfiles=4 --openfiles=2 --fsync_on_close=1 --direct=1",
            "--bs=1000 --verify=crc32c --iodepth=4 --io_submit_mode=offload --end_fsync=1 --sync=1",
            "--bs=1m --size=8m --verify=xxhash --iodepth=4",
        ] {
            let job = run(&server, engine, &format!("--rw=randwrite --size=2m {words}"));
            assert!(json::integer(&job, "write/total_ios") > 0, "{engine} {words}");
        }
        run(
            &server,
            engine,
            "--filename=seen --rw=write --bs=64k --size=1m --buffer_pattern=0xfa7403 --iodepth=4",
        );
        let found = content(&server, "seen");
        let pattern = [0xfa, 0x74, 0x03];
        let is_pattern =
            |block: &[u8]| block.iter().zip(pattern.iter().cycle()).all(|(found, wanted)| found == wanted);
        assert!(found.len() as u64 == MIB && found.chunks(64 << 10).all(is_pattern), "{engine}");
        run(&server, engine, "--filename=seen --rw=trim --bs=64k --size=128k --iodepth=4");
        let trimmed = content(&server, "seen");
        assert!(
            trimmed[..128 << 10].iter().all(|byte| *byte == 0) && trimmed[128 << 10..] == found[128 << 10..]
        );

        run(&server, engine, "--filename=v --rw=write --bs=4k --size=1m --verify=crc32c --do_verify=0");
        run(
            &server,
            engine,
            "--filename=v --rw=write --bs=512 --size=512 --offset=514k --buffer_pattern=0xff",
        );
        let said = complaint(
            &server,
            engine,
            "--filename=v --rw=read --bs=4k --size=1m --verify=crc32c --iodepth=8",
        );
        assert!(said.contains("offset 524288"), "{said}");
    }
}

#[test]
fn files_are_laid_out_and_removed_there() {
    let server = require!(volume());
    for engine in ["gfapi", "gfapi_async"] {
        let job = run(&server, engine, "--rw=randread --nrfiles=2 --size=1m --bs=4k --iodepth=8");
        assert_eq!(json::integer(&job, "read/io_bytes"), MIB);
        let [first, second] = ["a.0.0", "a.0.1"].map(|name| content(&server, name));
        assert!(first.len() as u64 == MIB / 2 && second.len() == first.len() && first != second);
        assert!(first.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)));
        // Without a size, files are read as they are, and a job appends at their end.
        let job = run(&server, engine, "--rw=read --bs=64k --filename=/a.0.0");
        assert_eq!(json::integer(&job, "read/io_bytes"), MIB / 2);
        run(&server, engine, "--rw=write --bs=64k --size=64k --filename=a.0.0 --file_append=1");
        let longer = content(&server, "a.0.0");
        assert!(longer.len() as u64 == 576 * KIB && longer[..first.len()] == first[..]);
        run(
            &server,
            engine,
            "--rw=randrw --size=256k --bs=4k --loops=2 --unlink_each_loop=1 --unlink=1 --filename=gone",
        );
        assert!(!Path::new(server.value("GLUSTER_DATA")).join("gone").exists());
        run(&server, engine, "--rw=read --size=64k --filename=a.0.0:a.0.1 --unlink=1");
    }
}

#[test]
fn what_cannot_be_had_is_said() {
    let server = require!(volume());
    for (words, part) in [
        ("--volume=none --rw=read --size=1m", "volume none of"),
        ("--brick=127.0.0.1:9 --rw=read --size=1m", "does glusterd run there"),
        ("--brick=127.0.0.1:x --rw=read --size=1m", "x is not a port"),
        ("--rw=read --size=1m --filename=no/folder", "no/folder: No such file or directory"),
        ("--rw=read --filename=none --size=1m --allow_file_create=0", "file creation disallowed"),
        ("--rw=read --filename=empty", "you need to specify size="),
    ] {
        for engine in ["gfapi", "gfapi_async"] {
            let said = complaint(&server, engine, words);
            assert!(said.contains(part), "{engine} {words}: {said}");
        }
    }
    let none = Launch::fathom(Path::new("/")).words("--name=a --ioengine=gfapi --rw=read --size=1m").run();
    assert!(none.code() == 1 && none.stderr.contains("volume= does not name a volume"), "{}", none.stderr);
    std::fs::create_dir(Path::new(server.value("GLUSTER_DATA")).join("folder")).expect("a folder");
    let said = complaint(&server, "gfapi", "--rw=read --size=1m --filename=folder");
    assert!(said.contains("is not a regular file"), "{said}");
}

#[test]
fn a_brick_that_hangs_is_named_and_one_that_goes_ends_the_job() {
    let server = require!(volume());
    let brick = || {
        let folder = server.file("run/vols/vol");
        let mut files = std::fs::read_dir(folder).expect("the daemon's files").flatten();
        let file = files.find(|file| file.path().extension().is_some_and(|end| end == "pid")).expect("a pid");
        let text = std::fs::read_to_string(file.path()).expect("a number");
        text.trim().parse::<u32>().expect("a number")
    };
    let words = "--rw=randread --bs=4k --size=1m --iodepth=4 --time_based --direct=1";
    for engine in ["gfapi", "gfapi_async"] {
        let running = launch(&server, engine, &format!("{words} --runtime=3 --patience=500ms")).start();
        std::thread::sleep(Duration::from_secs(2));
        processes::signal(brick(), "STOP");
        let finished = running.finish();
        processes::signal(brick(), "CONT");
        assert_ne!(finished.code(), 0);
        assert!(finished.elapsed < Duration::from_secs(20), "{:?}", finished.elapsed);
        let document = json::document(&finished.stdout);
        let notes = document["fathom notes"].as_array().expect("notes");
        let is_place = |note: &serde_json::Value| note.as_str().is_some_and(|note| note.contains("offset"));
        assert!(notes.iter().any(is_place), "{notes:?}");
    }
    let running = launch(&server, "gfapi_async", &format!("{words} --runtime=60")).start();
    std::thread::sleep(Duration::from_secs(2));
    processes::signal(brick(), "KILL");
    let finished = running.finish();
    assert_eq!(finished.code(), 1, "{}{}", finished.stdout, finished.stderr);
    assert!(finished.elapsed < Duration::from_secs(40), "{:?}", finished.elapsed);
    assert!(finished.stderr.contains("io_u error on file a.0.0"), "{}", finished.stderr);
}

#[test]
fn fathom_checks_what_fio_wrote() {
    let fio = require!(reference());
    let help = Launch::of(&fio, Path::new("/")).words("--enghelp=gfapi").run();
    if !help.stdout.contains("volume") {
        skip!("this fio has no gfapi engine");
    }
    let server = require!(volume());
    let directory = scratch();
    let words = format!(
        "--name=a --ioengine=gfapi --volume=vol --brick={} --rw=write --bs=4k --size=1m --verify=crc32c --filename=shared",
        server.value("GLUSTER_HOST")
    );
    let written = Launch::of(&fio, directory.path()).words(&words).words("--do_verify=0").run();
    if written.stdout.contains("err=-5") {
        skip!("this fio connects with no volume: its library lacks its translators");
    }
    assert_eq!(written.code(), 0, "{}{}", written.stdout, written.stderr);
    let check = Launch::fathom(directory.path()).words(&words).words(header_format_of(&fio));
    check.words("--verify_only").run().expect_clean();
}

#[test]
fn the_jobs_of_the_page_and_the_example_that_fio_ships() {
    let server = require!(volume());
    let host = server.value("GLUSTER_HOST");
    let brick = format!("--brick={host}");
    for job in jobs_of_servers("Gluster", &[("--brick=server", &brick), ("--size=1g", "--size=4m")]) {
        job.run(&[]);
    }
    run_with("gfapi", &[("brick=localhost", &format!("brick={host}"))], |launch| launch);
}
