//! The engine `nbd` on real servers: nbdkit with its filters, qemu-nbd and nbd-server.

use crate::shipped_examples::run_with;
use crate::support::program::{Finished, Launch, reference};
use crate::support::servers::Server;
use crate::support::{MIB, json, processes, scratch, wait_until};
use std::time::Duration;

/// An nbdkit with these variables.
fn nbdkit(variables: &[(&str, &str)]) -> Result<Server, String> {
    Server::start("nbdkit", variables)
}

/// A server that keeps its data in a file, and the name of the file.
fn on_file(more: &[(&str, &str)]) -> Result<(Server, std::path::PathBuf), String> {
    let variables: Vec<(&str, &str)> =
        [("PLUGIN", "file"), ("SIZE", "4M")].iter().chain(more).copied().collect();
    let server = nbdkit(&variables)?;
    let disk = server.file("disk");
    Ok((server, disk))
}

fn launch(uri: &str, words: &str) -> Launch {
    Launch::fathom(std::path::Path::new("/"))
        .words("--name=a --ioengine=nbd --output-format=json")
        .argument(format!("--uri={uri}"))
        .words(words)
}

/// A successful run; returns its result.
#[track_caller]
fn run(uri: &str, words: &str) -> serde_json::Value {
    json::document(&launch(uri, words).run().expect_clean().stdout)
}

/// A failing run; returns its error message.
#[track_caller]
fn complaint(uri: &str, words: &str) -> String {
    let Finished { stderr, status, stdout, .. } = launch(uri, words).run();
    assert_eq!(status.code(), Some(1), "{stdout}{stderr}");
    stderr
}

/// Logged requests of a kind.
fn logged(server: &Server, word: &str) -> usize {
    let log = std::fs::read_to_string(server.file("log")).expect("the server's log");
    log.lines()
        .filter(|line| line.contains(&format!(" {word} ")) && !line.contains(&format!("...{word}")))
        .count()
}

#[test]
fn what_is_written_lies_behind_the_server() {
    let (server, disk) = require!(on_file(&[]));
    run(
        server.value("NBD_URI"),
        "--rw=write --bs=64k --offset=1m --size=1m --iodepth=8 --buffer_pattern=0xfa7403",
    );
    let content = std::fs::read(&disk).expect("the disk");
    let pattern = [0xfa, 0x74, 0x03];
    let is_pattern =
        |block: &[u8]| block.iter().zip(pattern.iter().cycle()).all(|(found, wanted)| found == wanted);
    assert!(content[MIB as usize..2 * MIB as usize].chunks(64 << 10).all(is_pattern));
    let around = content[..MIB as usize].iter().chain(&content[2 * MIB as usize..]);
    assert!(around.into_iter().all(|byte| *byte == 0), "nothing else is touched");

    // Zeroes written by the server, and trims.
    run(server.value("NBD_UNIX_URI"), "--rw=write --bs=64k --offset=1m --size=512k --write_mode=zeroes");
    run(server.value("NBD_UNIX_URI"), "--rw=trim --bs=64k --offset=1536k --size=256k");
    let content = std::fs::read(&disk).expect("the disk");
    assert!(content[MIB as usize..(MIB + 768 * 1024) as usize].iter().all(|byte| *byte == 0));
    assert!(is_pattern(&content[(MIB + 768 * 1024) as usize..(MIB + 832 * 1024) as usize]));
}

#[test]
fn data_is_verified_at_every_depth_and_a_changed_byte_is_found() {
    let (server, disk) = require!(on_file(&[]));
    let rows = [
        ("NBD_URI", "--iodepth=1 --bs=4k --verify=crc32c"),
        ("NBD_URI", "--iodepth=16 --bs=4k --verify=crc32c --connections=4"),
        ("NBD_UNIX_URI", "--iodepth=33 --bsrange=512-96k --verify=md5 --thread"),
        ("NBD_UNIX_URI", "--iodepth=4 --bs=1000 --verify=crc32c --fsync=16"),
        ("NBD_UNIX_URI", "--iodepth=8 --bs=256k --verify=xxhash --nrfiles=1 --loops=2"),
        ("NBD_URI", "--iodepth=16 --bs=4k --verify=crc32c --io_submit_mode=offload --end_fsync=1"),
        ("NBD_URI", "--iodepth=8 --bs=4k --verify=crc32c --write_mode=zeroes"),
        ("NBD_URI", "--iodepth=8 --bs=4k --verify=crc32c --write_mode=zeroes --io_submit_mode=offload"),
    ];
    for (uri, words) in rows {
        let document = run(server.value(uri), &format!("--rw=randwrite --size=2m {words}"));
        assert!(json::integer(json::job(&document, "a"), "read/total_ios") > 0, "{words}");
    }
    run(server.value("NBD_URI"), "--rw=write --bs=4k --size=2m --verify=crc32c --do_verify=0");
    let mut content = std::fs::read(&disk).expect("the disk");
    content[MIB as usize + 2000] ^= 1;
    std::fs::write(&disk, content).expect("the disk");
    let said = complaint(server.value("NBD_URI"), "--rw=read --bs=4k --size=2m --verify=crc32c --iodepth=16");
    assert!(said.contains("verify failed at file a.0.0 offset 1048576"), "{said}");
}

#[test]
fn fio_and_fathom_read_what_the_other_wrote() {
    let fio = require!(reference());
    let help = Launch::of(&fio, std::path::Path::new("/")).words("--enghelp=nbd").run();
    if !help.stdout.contains("uri") {
        skip!("this fio has no nbd engine");
    }
    let (server, _) = require!(on_file(&[]));
    let words = format!(
        "--name=a --ioengine=nbd --uri={} --rw=randwrite --bs=4k --size=2m --iodepth=8 --verify=crc32c --randseed=7",
        server.value("NBD_URI")
    );
    let header = crate::support::program::header_format_of(&fio);
    let directory = scratch();
    let run = |program: Launch, phase: &str| {
        let finished = program.words(&words).words(phase).run();
        assert_eq!(finished.code(), 0, "{phase}: {}{}", finished.stdout, finished.stderr);
    };
    run(Launch::of(&fio, directory.path()), "--do_verify=0");
    run(Launch::fathom(directory.path()).words(header), "--verify_only");
    run(Launch::fathom(directory.path()).words(header), "--do_verify=0 --randseed=9");
    run(Launch::of(&fio, directory.path()), "--verify_only --randseed=9");
}

#[test]
fn sizes_are_those_of_the_export() {
    let server = require!(nbdkit(&[("SIZE", "3M")]));
    let bytes = |words: &str| {
        let document = run(server.value("NBD_URI"), &format!("--rw=read --bs=64k {words}"));
        json::integer(json::job(&document, "a"), "read/io_bytes")
    };
    assert_eq!(bytes(""), 3 * MIB);
    assert_eq!(bytes("--size=1g"), 3 * MIB, "it ends where the export ends");
    assert_eq!(bytes("--offset=1m"), 2 * MIB);
    assert_eq!(bytes("--offset=2m --size=2m"), MIB);
    assert_eq!(bytes("--size=50%"), 3 * MIB / 2);
    let said = complaint(server.value("NBD_URI"), "--rw=read --offset=4m");
    assert!(said.contains("valid offset"), "{said}");
}

#[test]
fn every_sync_is_a_flush_and_durable_writes_carry_fua() {
    let (server, _) = require!(on_file(&[("LOG", "1")]));
    let uri = server.value("NBD_URI");
    for (words, flushes) in
        [("--fsync=4", 3), ("--fdatasync=4", 3), ("--end_fsync=1", 1), ("--fsync_on_close=1", 1), ("", 0)]
    {
        let before = logged(&server, "Flush");
        run(uri, &format!("--rw=write --bs=4k --size=64k {words}"));
        assert_eq!(logged(&server, "Flush") - before, flushes, "{words}");
    }
    assert_eq!(logged(&server, "fua=1"), 0);
    run(uri, "--rw=write --bs=4k --size=64k --sync=dsync");
    assert_eq!(logged(&server, "fua=1"), 16);
}

#[test]
fn connections_are_those_asked_for() {
    let server = require!(nbdkit(&[("LOG", "1"), ("SIZE", "1M")]));
    // A server whose export is neither probed nor opened twice: some servers serve one client, and some exit
    // when it disconnects.
    for (words, connections) in
        [("", 1), ("--numjobs=2", 2), ("--connections=3 --iodepth=6", 3), ("--thread --nrfiles=2", 1)]
    {
        let before = logged(&server, "Connect");
        run(server.value("NBD_UNIX_URI"), &format!("--rw=randread --bs=4k {words}"));
        assert_eq!(logged(&server, "Connect") - before, connections, "{words}");
    }
    // The server may notice after the client has gone.
    wait_until("all take leave", || logged(&server, "Disconnect") == 7);
}

#[test]
fn what_cannot_be_had_is_said() {
    let server = require!(nbdkit(&[("READONLY", "1"), ("SIZE", "1M")]));
    let uri = server.value("NBD_URI");
    let gone = uri.replace("nbd://127.0.0.1", "nbd://127.0.0.2");
    for (uri, words, part) in [
        (uri, "--rw=write", "fathom: job a: the export is read-only"),
        (gone.as_str(), "--rw=read", "Connection refused; no NBD server listens there"),
        (
            "nbd+unix:///?socket=/nowhere",
            "--rw=read",
            "/nowhere: No such file or directory; no NBD server listens there",
        ),
        ("127.0.0.1", "--rw=read", "uri=127.0.0.1 is not a URI"),
        ("nbds://127.0.0.1:1/?tls-psk-file=/x", "--rw=read", "not supported"),
    ] {
        let said = complaint(uri, words);
        assert!(said.contains(part), "{uri} {words}: {said}");
    }
    let none = Launch::fathom(scratch().path()).words("--name=a --ioengine=nbd --rw=read").run();
    assert_eq!((none.code(), none.stderr.as_str()), (1, "fio: nbd: uri parameter was not specified\n"));
    for (words, part) in [
        ("--rw=write --file_append=1", "can't append"),
        (
            "--rw=write --write_mode=zeroes --verify=md5 --verify_only",
            "verify_only does not know which blocks are zeroes",
        ),
    ] {
        let said = complaint(uri, words);
        assert!(said.contains(part), "{words}: {said}");
    }
    // A read-only job may use any number of connections; a writing one needs the server's permission.
    let server = require!(nbdkit(&[
        ("FILTERS", "--filter=multi-conn"),
        ("ARGS", "multi-conn-mode=disable"),
        ("SIZE", "1M")
    ]));
    run(server.value("NBD_URI"), "--rw=read --connections=2");
    let said = complaint(server.value("NBD_URI"), "--rw=write --connections=2");
    assert!(said.contains("multi-conn"), "{said}");
}

#[test]
fn servers_of_all_kinds() {
    for name in ["qemu-nbd", "nbd-server"] {
        let server = require!(Server::start(name, &[("SIZE", "4M")]));
        let uri = server.value("NBD_URI");
        let document = run(uri, "--rw=randwrite --bs=4k --iodepth=16 --verify=crc32c --end_fsync=1");
        assert_eq!(json::integer(json::job(&document, "a"), "write/io_bytes"), 4 * MIB, "{name}");
        let said = complaint(&uri.replace("/disk", "/nope"), "--rw=read");
        assert!(said.contains("nope: the server has no such export"), "{name}: {said}");
    }
}

#[test]
fn tls_trusts_those_it_is_told_to() {
    let server = require!(nbdkit(&[("TLS", "1"), ("SIZE", "2M")]));
    let uri = server.value("NBD_URI");
    let document = run(uri, "--rw=randwrite --bsrange=4k-256k --size=2m --iodepth=16 --verify=crc32c");
    assert!(json::integer(json::job(&document, "a"), "write/io_bytes") > MIB);
    let (plain, _) = uri.split_once('?').expect("parameters");
    for (uri, part) in [
        (plain.to_owned(), "invalid peer certificate: UnknownIssuer"),
        (format!("{uri}&tls-hostname=elsewhere"), "invalid peer certificate: certificate not valid for name"),
        (plain.replace("nbds:", "nbd:"), "the server wants TLS: use nbds://"),
        (format!("{plain}?tls-certificates=/nowhere"), "/nowhere/ca-cert.pem"),
    ] {
        let said = complaint(&uri, "--rw=read --size=1m");
        assert!(said.contains(part), "{uri}: {said}");
    }
    run(&format!("{plain}?tls-verify-peer=false"), "--rw=read --size=1m");
}

#[test]
fn errors_of_the_server_are_named() {
    let server = require!(nbdkit(&[
        ("FILTERS", "--filter=error"),
        ("ARGS", "error-pread=ENOSPC error-pread-rate=100%"),
        ("SIZE", "1M")
    ]));
    let said = complaint(server.value("NBD_URI"), "--rw=read --bs=4k");
    assert!(
        said.contains("fio: io_u error on file a.0.0: No space left on device: read offset=0, buflen=4096"),
        "{said}"
    );
    let server = require!(nbdkit(&[
        ("FILTERS", "--filter=error"),
        ("ARGS", "error=EIO error-rate=10%"),
        ("SIZE", "1M")
    ]));
    let words = "--rw=randread --bs=4k --iodepth=16 --continue_on_error=all";
    let document = json::document(&launch(server.value("NBD_URI"), words).run().stdout);
    let job = json::job(&document, "a");
    assert!(json::integer(job, "total_err") > 0 && json::integer(job, "read/total_ios") > 100);
}

#[test]
fn a_server_that_goes_ends_the_job() {
    let server = require!(nbdkit(&[("SIZE", "1M")]));
    let words = "--rw=randread --bs=4k --iodepth=8 --time_based --runtime=120";
    let running = launch(server.value("NBD_URI"), words).start();
    running.wait_for_sleeps(200);
    processes::signal(server.pid("tcp"), "KILL");
    let finished = running.finish();
    assert_eq!(finished.code(), 1);
    assert!(finished.elapsed < Duration::from_secs(100), "{:?}", finished.elapsed);
    let line = "fio: io_u error on file a.0.0: Cannot send after transport endpoint shutdown (127.0.0.1:";
    assert!(finished.stderr.contains(line), "{}", finished.stderr);
    let document = json::document(&finished.stdout);
    assert_eq!(json::integer(json::job(&document, "a"), "error"), 108);
}

#[test]
fn a_connection_that_comes_back_loses_no_io() {
    let (mut server, _) = require!(on_file(&[]));
    let words = "--rw=randwrite --bs=4k --size=4m --iodepth=8 --rate_iops=400 --verify=crc32c --reconnect=60";
    let running = launch(server.value("NBD_URI"), words).start();
    running.wait_for_sleeps(200);
    server.stop();
    std::thread::sleep(Duration::from_millis(500));
    server.start_again().expect("the server starts again");
    let finished = running.finish().expect_clean();
    let document = json::document(&finished.stdout);
    let job = json::job(&document, "a");
    assert_eq!(json::integer(job, "write/io_bytes"), 4 * MIB);
    assert_eq!(json::integer(job, "read/io_bytes"), 4 * MIB, "all of it is verified");
    assert!(json::integer(job, "write/lat_ns/max") > 500_000_000, "the gap is in the latencies");
    assert!(
        finished.stderr.contains("the connection was lost (the server ")
            && finished.stderr.contains(") and back after "),
        "{}",
        finished.stdout
    );

    // A connection that does not come back ends the job when the time is up.
    let words = "--rw=randread --bs=4k --iodepth=8 --time_based --runtime=60 --reconnect=1";
    let running = launch(server.value("NBD_URI"), words).start();
    running.wait_for_sleeps(200);
    server.stop();
    let finished = running.finish();
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("not back after 1s"), "{}", finished.stderr);
}

#[test]
fn a_server_that_hangs_is_named() {
    let server = require!(nbdkit(&[("SIZE", "1M")]));
    let words = "--rw=randread --bs=4k --iodepth=4 --time_based --runtime=2 --patience=500ms";
    let running = launch(server.value("NBD_URI"), words).start();
    running.wait_for_sleeps(200);
    processes::signal(server.pid("tcp"), "STOP");
    let finished = running.finish();
    processes::signal(server.pid("tcp"), "CONT");
    assert_ne!(finished.code(), 0);
    assert!(finished.elapsed < Duration::from_secs(50), "{:?}", finished.elapsed);
    let document = json::document(&finished.stdout);
    let notes = document["fathom notes"].as_array().expect("notes");
    assert!(notes.iter().any(|note| note.as_str().is_some_and(|note| note.contains("offset"))), "{notes:?}");
}

#[test]
fn the_example_that_fio_ships() {
    let server = require!(nbdkit(&[("SIZE", "8M")]));
    let socket = server.value("NBD_UNIX_URI").replace("nbd+unix:///?socket=", "");
    run_with("nbd", &[], |launch| launch.variable("unixsocket", &socket));
}
