//! The engine `libhdfs` on a real file system: a name node and a data node in one JVM.

use crate::shipped_examples::run_with;
use crate::support::program::{Finished, Launch};
use crate::support::servers::{Server, jobs_of_servers};
use crate::support::{MIB, json, processes};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn server() -> Result<Server, String> {
    Server::start_large("hdfs", &[])
}

fn launch(server: &Server, words: &str) -> Launch {
    Launch::fathom(Path::new("/"))
        .words("--name=a --output-format=json --ioengine=libhdfs --namenode=127.0.0.1 --hdfsdirectory=/bench")
        .argument(format!("--port={}", server.value("HDFS_PORT")))
        .words(words)
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

/// A response of the server's own web interface.
#[track_caller]
fn web(server: &Server, path: &str) -> Vec<u8> {
    let url = format!("{}/bench{path}", server.value("WEBHDFS"));
    let output = Command::new("curl").args(["-sL", "-m", "20", &url]).output().expect("curl");
    assert!(output.status.success(), "{url}");
    output.stdout
}

/// The files in the job's folder, with their lengths.
fn files(server: &Server) -> Vec<(String, u64)> {
    let answer: serde_json::Value = serde_json::from_slice(&web(server, "?op=LISTSTATUS")).expect("JSON");
    let list = answer["FileStatuses"]["FileStatus"].as_array().cloned().unwrap_or_default();
    let file = |entry: &serde_json::Value| {
        (entry["pathSuffix"].as_str().unwrap_or_default().to_owned(), entry["length"].as_u64().unwrap_or(0))
    };
    list.iter().map(file).collect()
}

#[test]
fn chunks_are_written_read_verified_and_removed() {
    let server = require!(server());
    for words in [
        "--rw=write --bs=4k --size=3m --verify=crc32c --iodepth=8",
        "--rw=randwrite --bs=1m --size=6m --verify=md5 --iodepth=4 --nrfiles=2 --single_instance=0",
        "--rw=randwrite --bs=64k --chunk_size=64k --size=2m --verify=crc32c --iodepth=7 --thread --numjobs=2 --sync=1",
        "--rw=write --bs=10000 --chunk_size=500000 --size=2000000 --verify=crc32c --fsync=16 --end_fsync=1 --hdfs_use_direct=1",
    ] {
        let job = run(&server, &format!("{words} --unlink=1"));
        assert!(json::integer(&job, "write/total_ios") > 0, "{words}");
        assert_eq!(files(&server), [], "{words}");
    }

    // Each chunk is a file, the last one as long as it was written.
    run(&server, "--rw=write --bs=256k --size=2560k --filename=seen --buffer_pattern=0xfa7403 --iodepth=4");
    assert_eq!(files(&server), [("seen_0".into(), MIB), ("seen_1".into(), MIB), ("seen_2".into(), MIB / 2)]);
    let found = web(&server, "/seen_2?op=OPEN");
    let pattern = [0xfa, 0x74, 0x03];
    let is_pattern =
        |block: &[u8]| block.iter().zip(pattern.iter().cycle()).all(|(found, wanted)| found == wanted);
    assert!(found.len() as u64 == MIB / 2 && found.chunks(256 << 10).all(is_pattern));
    // Without a size, the file is read as it is; trims remove whole chunks.
    let job = run(&server, "--rw=randread --bs=4k --filename=seen --iodepth=16");
    assert_eq!(json::integer(&job, "read/io_bytes"), 5 * MIB / 2);
    run(&server, "--rw=trim --bs=1m --size=1m --offset=1m --filename=seen");
    assert_eq!(files(&server), [("seen_0".into(), MIB), ("seen_2".into(), MIB / 2)]);
    run(&server, "--rw=write --bs=1m --size=1m --filename=seen --unlink=1");
    assert_eq!(files(&server), []);

    // Missing data to be read is laid out, after the existing data.
    run(&server, "--rw=write --bs=256k --size=1280k --filename=laid --buffer_pattern=0xfa7403");
    let job = run(&server, "--rw=randread --bs=4k --size=3m --filename=laid --iodepth=8");
    assert_eq!(json::integer(&job, "read/io_bytes"), 3 * MIB);
    let second = web(&server, "/laid_1?op=OPEN");
    assert!(
        second.len() as u64 == MIB && is_pattern(&second[..256 << 10]) && !is_pattern(&second[256 << 10..])
    );
}

#[test]
fn what_cannot_be_had_is_said() {
    let server = require!(server());
    for (words, part) in [
        (
            "--rw=randwrite --bs=4k --size=8m",
            "cannot be changed, and a chunk is written from its first byte on",
        ),
        ("--rw=write --bs=12k --size=8m", "chunk_size=1048576 has to be a multiple of the block size"),
        ("--rw=trim --bs=4k --size=1m", "trims remove whole chunks"),
        ("--rw=read --filename=none", "you need to specify size="),
        ("--rw=read --size=1m --filename=none --allow_file_create=0", "file creation disallowed"),
        ("--rw=read --size=1m --port=9", "does a name node listen there"),
        ("--rw=read --size=1m --namenode=nohost.invalid", "nohost.invalid"),
    ] {
        let said = complaint(&server, words);
        assert!(said.contains(part), "{words}: {said}");
    }
    run(&server, "--rw=write --bs=64k --size=256k --chunk_size=64k --filename=other");
    let said = complaint(&server, "--rw=read --filename=other");
    assert!(said.contains("its chunks are not of chunk_size=1048576"), "{said}");
}

#[test]
fn a_server_that_hangs_is_named_and_one_that_goes_ends_the_job() {
    let server = require!(server());
    let words = "--rw=randread --bs=4k --size=4m --iodepth=4 --time_based";
    let running = launch(&server, &format!("{words} --runtime=3 --patience=500ms")).start();
    std::thread::sleep(Duration::from_secs(3));
    processes::signal(server.pid("hdfs"), "STOP");
    let finished = running.finish();
    processes::signal(server.pid("hdfs"), "CONT");
    assert_ne!(finished.code(), 0);
    assert!(finished.elapsed < Duration::from_secs(25), "{:?}", finished.elapsed);
    let document = json::document(&finished.stdout);
    let notes = document["fathom notes"].as_array().expect("notes");
    assert!(notes.iter().any(|note| note.as_str().is_some_and(|note| note.contains("offset"))), "{notes:?}");

    let running = launch(&server, &format!("{words} --runtime=60")).start();
    std::thread::sleep(Duration::from_secs(3));
    processes::signal(server.pid("hdfs"), "KILL");
    let finished = running.finish();
    assert_eq!(finished.code(), 1, "{}{}", finished.stdout, finished.stderr);
    assert!(finished.elapsed < Duration::from_secs(45), "{:?}", finished.elapsed);
    assert!(finished.stderr.contains("io_u error on file a.0.0"), "{}", finished.stderr);
}

#[test]
fn the_jobs_of_the_page_and_the_example_that_fio_ships() {
    let server = require!(server());
    let port = server.value("HDFS_PORT");
    let node = format!("--namenode=127.0.0.1 --port={port}");
    let words = [("--namenode=server --port=9000", node.as_str()), ("--size=4g", "--size=4m")];
    for job in jobs_of_servers("Hadoop", &words) {
        job.run(&[]);
    }
    // The name node is given as in releases before 3.
    let node = format!("namenode=127.0.0.1\nport={port}\nsize=1m");
    run_with("libhdfs", &[("filename=dfs-perftest-base.dfs-perftest-base,9000", &node)], |launch| launch);
}
