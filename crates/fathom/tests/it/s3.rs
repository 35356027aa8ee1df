//! The engine `http` on real object stores: S3 of s3s-fs in `make test`; S3 and Swift of Ceph's gateway, and
//! moto's S3, in `make test-servers`.

use crate::support::program::{Finished, Launch};
use crate::support::servers::{Server, jobs_of_servers};
use crate::support::{KIB, MIB, json};
use std::path::Path;

const SECRET: &str = "fathomsecret";

/// The available servers; the error gives the reason why there are none.
fn servers() -> Result<Vec<(&'static str, Server)>, String> {
    let mut found = vec![("s3s-fs", Server::start("s3", &[])?)];
    for (name, script, variables) in [("Ceph", "ceph", &[("RGW", "1")][..]), ("moto", "s3-moto", &[])] {
        match Server::start_large(script, variables) {
            Ok(server) => found.push((name, server)),
            Err(_) if std::env::var_os("FATHOM_TEST_SERVERS").is_none() => {}
            Err(reason) => return Err(reason),
        }
    }
    Ok(found)
}

/// A job on the bucket, of the object `obj` unless it names one.
fn launch(server: &Server, words: &str) -> Launch {
    let name = format!("--filename=/{}/obj", server.value("S3_BUCKET"));
    let name = if words.contains("--filename=") { String::new() } else { name };
    Launch::fathom(Path::new("/"))
        .variable("AWS_ACCESS_KEY_ID", server.value("S3_KEYID"))
        .variable("AWS_SECRET_ACCESS_KEY", SECRET)
        .words("--name=a --ioengine=http --http_mode=s3 --output-format=json --size=256k --bs=16k")
        .argument(format!("--http_host={}", server.value("S3_HOST")))
        .argument(format!("--http_s3_region={}", server.value("S3_REGION")))
        .words(&name)
        .words(words)
}

/// A successful run; returns its job.
#[track_caller]
fn run(server: &Server, words: &str) -> serde_json::Value {
    json::document(&launch(server, words).run().expect_clean().stdout)["jobs"][0].clone()
}

/// A failing run; returns its error message.
#[track_caller]
fn complaint(launch: Launch) -> String {
    let Finished { stderr, status, stdout, .. } = launch.run();
    assert_eq!(status.code(), Some(1), "{stdout}{stderr}");
    assert!(!stderr.contains(SECRET) && !stdout.contains(SECRET));
    stderr
}

#[test]
fn blocks_are_verified_at_every_depth() {
    for (name, server) in require!(servers()) {
        for words in [
            "--rw=write --iodepth=1 --verify=crc32c",
            "--rw=randwrite --iodepth=16 --verify=md5 --http_object_name=/bucket/%2h/%n",
            "--rw=randwrite --bs=4k --iodepth=7 --verify=crc32c --thread --numjobs=2 --filename=/bucket/t --offset_increment=256k",
            "--rw=randwrite --iodepth=4 --verify=xxhash --http_checksum=sha256 --http_connections=2 --fsync=3 --end_fsync=1",
        ] {
            let job = run(&server, words);
            assert!(json::integer(&job, "write/total_ios") > 0, "{name} {words}");
        }
        // Missing objects that a job reads are created first; deletes and listings are separate operations.
        let job = run(&server, "--rw=randread --filename=/bucket/made --iodepth=8");
        assert_eq!(json::integer(&job, "read/io_bytes"), 256 * KIB, "{name}");
        // This server cannot list objects while they are deleted: it answers 500.
        let mixes = match name {
            "s3s-fs" => ["get/70:head/30", "get/60:list/40"],
            _ => ["get/60:head/30:list/10", "get/60:list/40"],
        };
        let writes = if name == "s3s-fs" { "put" } else { "put/80:delete/20" };
        for reads in mixes {
            let words = "--rw=randrw --filename=/bucket/mixed --iodepth=4 --size=1m --norandommap";
            let said =
                run(&server, &format!("{words} --http_reads={reads} --http_writes={writes}")).to_string();
            for share in reads.split(':').chain(writes.split(':')) {
                let operation = share.split('/').next().unwrap_or(share);
                assert!(said.contains(&format!("\"{operation}\"")), "{name}: {operation} in {said}");
            }
        }
        run(&server, "--rw=trim --filename=/bucket/made --iodepth=8");
        let said = complaint(launch(&server, "--rw=read --filename=/bucket/made --allow_file_create=0"));
        assert!(said.contains("No such file or directory"), "{name}: {said}");
    }
}

#[test]
fn large_objects_go_up_in_parts_and_come_back_in_ranges() {
    for (name, server) in require!(servers()) {
        let parts = "--http_object_mode=range --bs=5m --size=15m --filename=/bucket/large";
        run(&server, &format!("{parts} --rw=write --iodepth=3 --buffer_pattern=0xfa7403"));
        let job = run(
            &server,
            "--http_object_mode=range --filename=/bucket/large --size=15m --bs=64k --rw=randread --iodepth=16",
        );
        assert_eq!(json::integer(&job, "read/io_bytes"), 15 * MIB, "{name}");
        run(&server, &format!("{parts} --rw=write --iodepth=2 --verify=crc32c"));
        // Large blocks are uploaded in parts.
        run(
            &server,
            "--rw=write --bs=16m --size=16m --http_part_size=6m --http_parts=2 --verify=crc32c --filename=/bucket/cut",
        );
        if name == "s3s-fs" {
            let cut = std::fs::metadata(Path::new(server.value("S3_DATA")).join("cut_0_16777216"));
            assert_eq!(cut.expect("the object").len(), 16 * MIB);
        }
        // An upload with missing blocks leaves no object behind.
        let said = launch(&server, &format!("{parts}2 --rw=write --io_size=5m")).run();
        assert!(said.stderr.contains("not all of its blocks were written"), "{name}: {}", said.stderr);
        let said = complaint(launch(
            &server,
            "--http_object_mode=range --filename=/bucket/large2 --size=15m --bs=5m --rw=read --allow_file_create=0",
        ));
        assert!(said.contains("No such file or directory"), "{name}: {said}");
    }
}

#[test]
fn wrong_keys_and_buckets_are_named() {
    for (name, server) in require!(servers()) {
        // moto does not check signatures.
        if name != "moto" {
            let said = complaint(launch(&server, "--rw=write").variable("AWS_SECRET_ACCESS_KEY", "wrong"));
            assert!(said.contains("403"), "{name}: {said}");
            let said = complaint(launch(&server, "--rw=write").variable("AWS_ACCESS_KEY_ID", "nobody"));
            assert!(said.contains("403"), "{name}: {said}");
        }
        // This one creates buckets on demand.
        if name != "s3s-fs" {
            let said = complaint(launch(&server, "--rw=write --filename=/nobucket/obj"));
            assert!(said.contains("404") && said.contains("NoSuchBucket"), "{name}: {said}");
        }
        let said = complaint(launch(&server, "--rw=read --filename=/nobucket/obj --allow_file_create=0"));
        assert!(said.contains("No such file or directory"), "{name}: {said}");
    }
}

#[test]
fn swift_keeps_what_s3_shows() {
    let server = require!(Server::start_large("ceph", &[("RGW", "1")]));
    let swift = |words: &str| {
        Launch::fathom(Path::new("/"))
            .variable("OS_AUTH_TOKEN", server.value("SWIFT_TOKEN"))
            .words("--name=a --ioengine=http --http_mode=swift --output-format=json --size=256k --bs=16k")
            .argument(format!("--http_host={}", server.value("SWIFT_HOST")))
            .argument(format!("--filename={}/swift", server.value("SWIFT_PATH")))
            .words(words)
    };
    swift("--rw=randwrite --iodepth=8 --verify=crc32c --http_checksum=md5").run().expect_clean();
    // The same blocks, through the other interface.
    run(&server, "--rw=read --filename=/bucket/swift --verify=crc32c --iodepth=8 --allow_file_create=0");
    swift("--rw=trim --iodepth=4").run().expect_clean();
    let said = complaint(swift("--rw=read --allow_file_create=0"));
    assert!(said.contains("No such file or directory"), "{said}");
    let said = complaint(swift("--rw=write").variable("OS_AUTH_TOKEN", "AUTH_wrong"));
    assert!(said.contains("401") || said.contains("403"), "{said}");
}

#[test]
fn the_job_of_the_page() {
    let server = require!(Server::start("s3", &[]));
    let words = [
        ("--https=on", "--https=off"),
        ("s3.eu-central-1.amazonaws.com", server.value("S3_HOST")),
        ("--size=64m", "--size=2m"),
    ];
    for job in jobs_of_servers("Objects over HTTP", &words) {
        job.run(&[("AWS_ACCESS_KEY_ID", server.value("S3_KEYID")), ("AWS_SECRET_ACCESS_KEY", SECRET)]);
    }
}
