//! The engine `libiscsi` on a real target: tgt.

use crate::shipped_examples::run_with;
use crate::support::program::{Finished, Launch};
use crate::support::servers::{Server, jobs_of_servers};
use crate::support::{MIB, json, processes};
use std::time::Duration;

/// A target with a unit backed by a file of 4 MiB.
fn target(more: &[(&str, &str)]) -> Result<Server, String> {
    let variables: Vec<(&str, &str)> = [("SIZE", "4M")].iter().chain(more).copied().collect();
    let server = Server::start("tgt", &variables)?;
    // The engine needs the library; a run without a target tests for it.
    let finished = launch("iscsi://127.0.0.1:1/iqn.a:b/1", "--rw=read").run();
    match finished.stderr.contains("is not installed") {
        true => Err(finished.stderr.trim().to_owned()),
        false => Ok(server),
    }
}

fn launch(url: &str, words: &str) -> Launch {
    Launch::fathom(std::path::Path::new("/"))
        .words("--name=a --ioengine=libiscsi --output-format=json")
        .argument(format!("--filename={}", url.replace(':', "\\:")))
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

#[test]
fn what_is_written_lies_behind_the_target() {
    let server = require!(target(&[]));
    let url = server.value("ISCSI_URL");
    run(url, "--rw=write --bs=64k --offset=1m --size=1m --iodepth=8 --buffer_pattern=0xfa7403 --end_fsync=1");
    let content = std::fs::read(server.file("disk")).expect("the disk");
    let pattern = [0xfa, 0x74, 0x03];
    let written = &content[MIB as usize..2 * MIB as usize];
    let is_pattern =
        |block: &[u8]| block.iter().zip(pattern.iter().cycle()).all(|(found, wanted)| found == wanted);
    assert!(written.chunks(64 << 10).all(is_pattern));
    let around = content[..MIB as usize].iter().chain(&content[2 * MIB as usize..]);
    assert!(around.into_iter().all(|byte| *byte == 0), "nothing else is touched");

    // Trims discard the first half, and a repeated block overwrites the second.
    run(url, "--rw=trim --bs=64k --offset=1m --size=512k");
    run(url, "--rw=write --bs=64k --offset=1536k --size=512k --write_mode=same --buffer_pattern=0xff");
    let content = std::fs::read(server.file("disk")).expect("the disk");
    let (trimmed, same) = content[MIB as usize..2 * MIB as usize].split_at(512 << 10);
    assert!(trimmed.iter().all(|byte| *byte == 0) && same.iter().all(|byte| *byte == 0xff));
}

#[test]
fn data_is_verified_at_every_depth_and_a_changed_byte_is_found() {
    let server = require!(target(&[]));
    let url = server.value("ISCSI_URL");
    for words in [
        "--iodepth=1 --bs=4k --verify=crc32c",
        "--iodepth=16 --bs=4k --verify=crc32c --sessions=3",
        "--iodepth=33 --bsrange=512-96k --verify=md5 --thread",
        "--iodepth=4 --bs=4k --verify=crc32c --fsync=16 --sync=1",
        "--iodepth=8 --bs=256k --verify=xxhash",
        "--iodepth=8 --bs=4k --verify=crc32c --io_submit_mode=offload --end_fsync=1",
    ] {
        let document = run(url, &format!("--rw=randwrite --size=2m {words}"));
        assert!(json::integer(json::job(&document, "a"), "read/total_ios") > 0, "{words}");
    }
    run(url, "--rw=write --bs=4k --size=2m --verify=crc32c --do_verify=0 --end_fsync=1");
    let mut content = std::fs::read(server.file("disk")).expect("the disk");
    content[MIB as usize + 2000] ^= 1;
    std::fs::write(server.file("disk"), content).expect("the disk");
    let said = complaint(url, "--rw=read --bs=4k --size=2m --verify=crc32c --iodepth=16");
    assert!(said.contains("offset 1048576"), "{said}");
}

#[test]
fn sizes_and_blocks_are_those_of_the_unit() {
    let server = require!(target(&[("BLOCK", "4096")]));
    let url = server.value("ISCSI_URL");
    for (words, bytes) in [("", 4 * MIB), ("--size=1g", 4 * MIB), ("--offset=1m --size=50%", 2 * MIB)] {
        let document = run(url, &format!("--rw=read --bs=64k {words}"));
        assert_eq!(json::integer(json::job(&document, "a"), "read/io_bytes"), bytes, "{words}");
    }
    let said = complaint(url, "--rw=read --bs=512");
    assert!(said.contains("the unit has blocks of 4096 bytes, and I/Os must be whole blocks"), "{said}");
}

#[test]
fn passwords_come_from_the_environment_alone() {
    let server = require!(target(&[("CHAP", "1")]));
    let url = server.value("ISCSI_URL_PLAIN");
    let with = |user: &str, password: &str| {
        launch(url, "--rw=read --size=1m --bs=64k")
            .variable("LIBISCSI_CHAP_USERNAME", user)
            .variable("LIBISCSI_CHAP_PASSWORD", password)
            .run()
    };
    let finished = with("fathom", "fathomsecret").expect_clean();
    assert!(!finished.stdout.contains("fathomsecret"), "{}", finished.stdout);
    for finished in [with("fathom", "wrongwrongwrong"), with("nobody", "fathomsecret"), with("", "")] {
        assert_eq!(finished.code(), 1);
        assert!(finished.stderr.contains("Authentication failure"), "{}", finished.stderr);
    }
    assert!(with("fathom", "").stderr.contains("set the environment variable LIBISCSI_CHAP_PASSWORD"));
    let said = complaint(server.value("ISCSI_URL"), "--rw=read");
    assert!(said.contains("LIBISCSI_CHAP_PASSWORD") && !said.contains("fathomsecret"), "{said}");
}

#[test]
fn what_cannot_be_had_is_said() {
    let server = require!(target(&[]));
    let url = server.value("ISCSI_URL");
    let unit_of = |unit: &str| format!("{}/{unit}", url.rsplit_once('/').expect("a unit").0);
    for (url, part) in [
        (unit_of("7"), "LOGICAL_UNIT_NOT_SUPPORTED"),
        (url.replace(":disk", ":nope"), "Target not found"),
        (
            "iscsi://127.0.0.1:1/iqn.a:b/1".to_owned(),
            "127.0.0.1:1: Connection refused; no iSCSI target listens there",
        ),
        ("a".to_owned(), "a is not a URL of iSCSI"),
    ] {
        let said = complaint(&url, "--rw=read --size=1m");
        assert!(said.contains(part), "{url}: {said}");
    }
    let said = complaint(url, "--rw=write --write_mode=same --verify=md5");
    assert!(said.contains("cannot be verified"), "{said}");
}

#[test]
fn a_target_that_goes_ends_the_job() {
    let server = require!(target(&[]));
    let words = "--rw=randread --bs=4k --iodepth=8 --time_based --runtime=120";
    let running = launch(server.value("ISCSI_URL"), words).start();
    running.wait_for_sleeps(200);
    processes::signal(server.pid("tgtd"), "KILL");
    let finished = running.finish();
    assert_eq!(finished.code(), 1);
    assert!(finished.elapsed < Duration::from_secs(100), "{:?}", finished.elapsed);
    assert!(finished.stderr.contains("Cannot send after transport endpoint shutdown"), "{}", finished.stderr);
}

#[test]
fn a_target_that_hangs_is_named() {
    let server = require!(target(&[]));
    let words = "--rw=randread --bs=4k --iodepth=4 --time_based --runtime=2 --patience=500ms";
    let running = launch(server.value("ISCSI_URL"), words).start();
    running.wait_for_sleeps(200);
    processes::signal(server.pid("tgtd"), "STOP");
    let finished = running.finish();
    processes::signal(server.pid("tgtd"), "CONT");
    assert_ne!(finished.code(), 0);
    assert!(finished.elapsed < Duration::from_secs(50), "{:?}", finished.elapsed);
    let document = json::document(&finished.stdout);
    let notes = document["fathom notes"].as_array().expect("notes");
    assert!(notes.iter().any(|note| note.as_str().is_some_and(|note| note.contains("offset"))), "{notes:?}");
}

#[test]
fn the_example_that_fio_ships() {
    let server = require!(target(&[]));
    let url = server.value("ISCSI_URL").replace(':', "\\:");
    let example = "iscsi\\://127.0.0.1/iqn.2016-02.com.fio\\:system\\:fio/1";
    run_with("libiscsi", &[(example, &url)], |launch| launch);
}

#[test]
fn the_jobs_of_the_page() {
    let server = require!(target(&[]));
    let url = server.value("ISCSI_URL").replace(':', "\\:");
    let words = [
        ("iscsi\\://192.0.2.1\\:3260/iqn.2026-01.org.example\\:disk/1", url.as_str()),
        ("iscsi\\://192.0.2.1/iqn.2026-01.org.example\\:disk/1", url.as_str()),
    ];
    for job in jobs_of_servers("iSCSI", &words) {
        job.run(&[]);
    }
}
