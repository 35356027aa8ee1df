//! The engines `rados` and `rbd` on a real cluster: a Ceph monitor and an object storage daemon.

use crate::shipped_examples::run_with;
use crate::support::program::{Finished, Launch, header_format_of, reference};
use crate::support::servers::{Server, jobs_of_servers};
use crate::support::{KIB, MIB, json, processes, scratch};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A cluster with a pool `rbd` that contains a 256 MiB image `img`.
fn cluster() -> Result<Server, String> {
    let server = Server::start_large("ceph", &[("AUTH", "cephx")])?;
    // The engines need the libraries; a run without an image shows whether they are installed.
    let finished = launch(&server, "--ioengine=rbd --rw=read").run();
    match finished.stderr.contains("is not installed") {
        true => Err(finished.stderr.trim().to_owned()),
        false => Ok(server),
    }
}

fn launch(server: &Server, words: &str) -> Launch {
    // Engine options must follow the engine.
    let pool = if words.contains("--pool=") { "" } else { "--pool=rbd" };
    Launch::fathom(Path::new("/"))
        .variable("CEPH_CONF", server.value("CEPH_CONF"))
        .words("--name=a --output-format=json")
        .words(words)
        .words(pool)
}

/// A successful run; returns its job.
#[track_caller]
fn run(server: &Server, words: &str) -> serde_json::Value {
    json::document(&launch(server, words).run().expect_clean().stdout)["jobs"][0].clone()
}

/// A failing run; returns its error message.
#[track_caller]
fn complaint(server: &Server, words: &str) -> String {
    let Finished { stderr, status, stdout, .. } = launch(server, words).run();
    assert_eq!(status.code(), Some(1), "{words}: {stdout}{stderr}");
    stderr
}

/// Output of one of the cluster's own tools.
#[track_caller]
fn tool(server: &Server, words: &str) -> Vec<u8> {
    let mut words = words.split_whitespace();
    let mut command = Command::new(words.next().expect("a tool"));
    let output = command.args(words).env("CEPH_CONF", server.value("CEPH_CONF")).output().expect("the tool");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn images(server: &Server) -> Vec<String> {
    String::from_utf8_lossy(&tool(server, "rbd ls")).lines().map(str::to_owned).collect()
}

fn objects(server: &Server) -> Vec<String> {
    let listed = tool(server, "rados -p rbd ls");
    let names = String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect::<Vec<_>>();
    names.into_iter().filter(|name| !name.starts_with("rbd_")).collect()
}

#[test]
fn data_of_objects_and_images_is_verified_and_lies_there() {
    let server = require!(cluster());
    for words in [
        "--iodepth=1 --bs=4k --verify=crc32c",
        "--iodepth=16 --bs=4k --verify=md5 --nrfiles=3 --busy_poll=1",
        "--iodepth=7 --bsrange=512-60k --verify=crc32c --thread --numjobs=2 --fsync=5 --fdatasync=3",
        "--iodepth=4 --bs=1000 --verify=crc32c --io_submit_mode=offload --end_fsync=1",
        "--iodepth=4 --bs=512k --verify=xxhash --fsync_on_close=1 --size=4m",
    ] {
        for engine in
            ["--ioengine=rados", "--ioengine=rbd --rbdname=img", "--ioengine=rbd --rbdname=img --rbd_cache=0"]
        {
            // Clones and files share an image, so they find each other's blocks.
            let words = match engine.contains("rbd") {
                true => words
                    .replace("--nrfiles=3", "")
                    .replace("--numjobs=2", "--numjobs=2 --offset_increment=2m"),
                false => words.to_owned(),
            };
            let job = run(&server, &format!("{engine} --rw=randwrite --size=2m {words}"));
            assert!(json::integer(&job, "write/total_ios") > 0, "{engine} {words}");
        }
    }

    run(&server, "--ioengine=rados --filename=seen --rw=write --bs=64k --size=1m --buffer_pattern=0xfa7403");
    let found = tool(&server, "rados -p rbd get seen -");
    let pattern = [0xfa, 0x74, 0x03];
    assert_eq!(found.len() as u64, MIB);
    let is_pattern =
        |block: &[u8]| block.iter().zip(pattern.iter().cycle()).all(|(found, wanted)| found == wanted);
    assert!(found.chunks(64 << 10).all(is_pattern));

    // The content of an image is exported by its own tool after a flush at the end.
    run(&server, "--ioengine=rbd --rbdname=img --rw=write --bs=64k --size=1m --buffer_pattern=0xfa7403");
    let found = tool(&server, "rbd export --no-progress img -");
    assert_eq!(found.len() as u64, 256 * MIB);
    assert!(found[..MIB as usize].chunks(64 << 10).all(is_pattern));

    // A modified byte is found.
    run(&server, "--ioengine=rados --filename=v --rw=write --bs=4k --size=1m --verify=crc32c --do_verify=0");
    run(
        &server,
        "--ioengine=rados --filename=v --rw=write --bs=512 --size=512 --offset=514k --buffer_pattern=0xff",
    );
    let said = complaint(
        &server,
        "--ioengine=rados --filename=v --rw=read --bs=4k --size=1m --verify=crc32c --iodepth=8",
    );
    assert!(said.contains("offset 524288"), "{said}");
}

#[test]
fn objects_are_made_as_files_are() {
    let server = require!(cluster());
    let job = run(&server, "--ioengine=rados --rw=randread --bs=4k --size=1m --nrfiles=2 --iodepth=8");
    assert_eq!(json::integer(&job, "read/io_bytes"), MIB);
    assert_eq!(objects(&server).len(), 2);
    let first = tool(&server, "rados -p rbd get a.0.0 -");
    assert!(
        first.len() as u64 == MIB / 2 && first.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0))
    );
    // Without a size, images are read as they are.
    let job = run(&server, "--ioengine=rados --rw=read --bs=4k --filename=a.0.1");
    assert_eq!(json::integer(&job, "read/io_bytes"), MIB / 2);
    // Trims leave zeroes.
    run(&server, "--ioengine=rados --rw=trim --bs=64k --size=128k --filename=a.0.0");
    let trimmed = tool(&server, "rados -p rbd get a.0.0 -");
    assert!(trimmed[..128 << 10].iter().all(|byte| *byte == 0) && trimmed[128 << 10..] == first[128 << 10..]);

    run(&server, "--ioengine=rados --rw=write --bs=64k --size=256k --filename=grown --touch_objects=0");
    assert_eq!(tool(&server, "rados -p rbd get grown -").len() as u64, 256 * KIB);
    run(
        &server,
        "--ioengine=rados --rw=randrw --bs=4k --size=256k --filename=gone --loops=2 --unlink_each_loop=1 --unlink=1",
    );
    assert!(!objects(&server).contains(&"gone".to_owned()));
    run(&server, "--ioengine=rados --rw=write --bs=4k --size=64k --filename=elsewhere --namespace=space");
    assert!(!objects(&server).contains(&"elsewhere".to_owned()));
    assert_eq!(tool(&server, "rados -p rbd -N space ls"), b"elsewhere\n");
}

#[test]
fn images_are_made_on_demand_and_no_other_is_ever_removed() {
    let server = require!(cluster());
    let words =
        "--ioengine=rbd --rbdname=made --rbd_create=1 --bs=64k --size=4m --offset_increment=4m --numjobs=2";
    run(&server, &format!("{words} --rw=randread --iodepth=4"));
    run(&server, &format!("{words} --rw=randread --iodepth=4 --create_serialize=0"));
    run(&server, &format!("{words} --rw=randwrite --verify=crc32c --thread"));
    run(&server, &format!("{words} --rw=randwrite --loops=2 --unlink_each_loop=1 --numjobs=1"));
    assert_eq!(images(&server), ["img"]);
    run(&server, "--ioengine=rbd --rbdname=img --rbd_create=1 --unlink=1 --rw=randwrite --bs=4k --size=64k");
    assert_eq!(images(&server), ["img"]);
    // An object left by a killed run is used as it is, and removed.
    let running = launch(&server, &format!("{words} --rw=randread --time_based --runtime=60")).start();
    std::thread::sleep(Duration::from_secs(4));
    running.signal("KILL");
    drop(running);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(images(&server), ["img", "made"]);
    // The monitor considers a client dead after half a minute of silence.
    let mut left = 30;
    while images(&server).len() > 1 && left > 0 {
        run(&server, &format!("{words} --rw=randread --numjobs=1"));
        std::thread::sleep(Duration::from_secs(3));
        left -= 1;
    }
    assert_eq!(images(&server), ["img"]);

    let job = "[a]\nioengine=rbd\npool=rbd\nrbdname=secret\nrbd_create=1\nrw=randwrite\nverify=crc32c\nsize=4m\nbs=64k\n\
               rbd_encryption_format=luks2\nrbd_encryption_passphrase=${PASSPHRASE}\n";
    let directory = scratch();
    std::fs::write(directory.path().join("job.fio"), job).expect("the job");
    let finished = Launch::fathom(directory.path())
        .variable("CEPH_CONF", server.value("CEPH_CONF"))
        .variable("PASSPHRASE", "open-sesame")
        .words("--output-format=normal,json job.fio")
        .run()
        .expect_clean();
    assert!(
        finished.stdout.contains("(hidden)") && !finished.stdout.contains("open-sesame"),
        "{}",
        finished.stdout
    );
    assert_eq!(images(&server), ["img"]);
}

#[test]
fn what_cannot_be_had_is_said() {
    let server = require!(cluster());
    let (rados, rbd) = ("--ioengine=rados --rw=read --size=1m", "--ioengine=rbd --rw=read");
    for (words, part) in [
        (format!("{rados} --pool=nope"), "pool=nope: No such file or directory"),
        (format!("{rados} --clientname=nobody"), "is the keyring that of this user"),
        (format!("{rados} --conf=/no/ceph.conf"), "/no/ceph.conf: No such file or directory"),
        ("--ioengine=rados --rw=write --bs=1m --size=200m".to_owned(), "osd_max_object_size"),
        (format!("{rados} --filename=missing --allow_file_create=0"), "file creation disallowed"),
        (rbd.to_owned(), "rbdname= does not name an image"),
        (format!("{rbd} --rbdname=nope"), "rbdname=nope: No such file or directory"),
        (format!("{rbd} --rbdname=img --rbd_encryption_format=luks1"), "is the image of this format"),
        (format!("{rbd} --rbdname=img --rbd_encryption_format=rot13"), "luks1 and luks2 are known"),
        (format!("{rbd} --rbdname=img --offset=300m"), "valid offset"),
        (format!("{rbd} --rbdname=new --rbd_create=1"), "you need to specify size="),
    ] {
        let said = complaint(&server, &words);
        assert!(said.contains(part), "{words}: {said}");
    }
    assert_eq!(images(&server), ["img"]);
    // I/O stops at the end of an image.
    let job = run(&server, "--ioengine=rbd --rbdname=img --rw=read --bs=1m --offset=200m --size=1g");
    assert_eq!(json::integer(&job, "read/io_bytes"), 56 * MIB);
    let job = run(&server, "--ioengine=rbd --rbdname=img --rw=read --bs=1m --size=25%");
    assert_eq!(json::integer(&job, "read/io_bytes"), 64 * MIB);
}

#[test]
fn a_daemon_that_hangs_is_named_and_one_that_comes_back_goes_on() {
    let server = require!(cluster());
    let daemon = server.pid("osd");
    for engine in ["--ioengine=rados", "--ioengine=rbd --rbdname=img"] {
        let words = format!("{engine} --rw=randread --bs=4k --size=1m --iodepth=4 --time_based");
        let running = launch(&server, &format!("{words} --runtime=3 --patience=500ms")).start();
        std::thread::sleep(Duration::from_secs(2));
        processes::signal(daemon, "STOP");
        let finished = running.finish();
        processes::signal(daemon, "CONT");
        assert_ne!(finished.code(), 0, "{}", finished.stdout);
        assert!(finished.elapsed < Duration::from_secs(20), "{:?}", finished.elapsed);
        let document = json::document(&finished.stdout);
        let notes = document["fathom notes"].as_array().expect("notes");
        let is_place = |note: &serde_json::Value| note.as_str().is_some_and(|note| note.contains("offset"));
        assert!(notes.iter().any(is_place), "{notes:?}");

        let running = launch(&server, &format!("{words} --runtime=6")).start();
        std::thread::sleep(Duration::from_secs(2));
        processes::signal(daemon, "STOP");
        std::thread::sleep(Duration::from_secs(2));
        processes::signal(daemon, "CONT");
        let document = json::document(&running.finish().expect_clean().stdout);
        assert!(
            json::integer(&document["jobs"][0], "read/clat_ns/max") > 1_500_000_000,
            "the gap is a latency"
        );
    }
}

#[test]
fn fathom_checks_what_fio_wrote() {
    let fio = require!(reference());
    let help = Launch::of(&fio, Path::new("/")).words("--enghelp=rados").run();
    if !help.stdout.contains("clustername") {
        skip!("this fio has no rados engine");
    }
    let server = require!(cluster());
    let conf = server.value("CEPH_CONF");
    let words = "--pool=rbd --rw=write --bs=4k --size=1m --verify=crc32c --clientname=admin";
    let directory = scratch();
    for (engine, of_fio) in [
        ("--name=a --ioengine=rados", format!("--conf={conf}")),
        ("--name=a --ioengine=rbd --rbdname=img", String::new()),
    ] {
        let launched =
            Launch::of(&fio, directory.path()).variable("CEPH_CONF", conf).words(engine).words(words);
        let written = launched.words(&of_fio).words("--do_verify=0").run();
        assert_eq!(written.code(), 0, "{}{}", written.stdout, written.stderr);
        let check =
            Launch::fathom(directory.path()).words(engine).words(words).argument(format!("--conf={conf}"));
        check.words(header_format_of(&fio)).words("--verify_only --iodepth=8").run().expect_clean();
    }
}

#[test]
fn the_jobs_of_the_page_and_the_examples_that_fio_ships() {
    let server = require!(cluster());
    let conf = server.value("CEPH_CONF");
    tool(&server, "rbd create disk --size 64M");
    tool(&server, "rbd create fio_test --size 16M");
    tool(&server, "rbd create secret --size 64M");
    let passphrase = server.file("passphrase");
    std::fs::write(&passphrase, "open-sesame").expect("a passphrase");
    tool(&server, &format!("rbd encryption format secret luks2 {}", passphrase.display()));
    for job in jobs_of_servers("Ceph", &[("--pool=bench", "--pool=rbd"), ("--size=64m", "--size=4m")]) {
        job.run(&[("CEPH_CONF", conf), ("PASSPHRASE", "open-sesame")]);
    }
    let conf_word = format!("conf={conf}");
    run_with("rados", &[("pool=rados", "pool=rbd"), ("conf=/etc/ceph/ceph.conf", &conf_word)], |launch| {
        launch
    });
    run_with("rbd", &[("rbdname=fio_test", "rbdname=fio_test")], |launch| launch.variable("CEPH_CONF", conf));
}
