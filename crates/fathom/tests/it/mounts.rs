//! Network and FUSE file systems: the jobs of a published benchmark, the mount in the report, the layers that
//! `explain` and `quick` identify, and daemons that die or stop.

use crate::support::program::{Finished, Launch, reference};
use crate::support::servers::Server;
use crate::support::{KIB, MIB, json, processes, scratch, skip};
use crate::verdicts::is_told;
use serde_json::Value;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// Time limit of a report, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// A mount of a file system, and its expected description in the report.
struct Mount {
    server: Server,
    kind: &'static str,
    source: &'static str,
    transport: &'static str,
    daemon: &'static str,
    /// Name of the daemon in the server script.
    tag: &'static str,
}

/// The test has its own network, so that other tests cause no traffic in it.
const ALONE: (&str, &str) = ("OWN_NETWORK", "1");

impl Mount {
    fn sshfs() -> Result<Mount, String> {
        let server = start("sshfs", &[ALONE])?;
        let (kind, source, transport) = ("fuse.sshfs", "@127.0.0.1:", "SSH");
        Ok(Mount { server, kind, source, transport, daemon: "sshfs", tag: "sshfs" })
    }

    fn rclone() -> Result<Mount, String> {
        let server = start("rclone-mount", &[ALONE, ("CACHE", "writes")])?;
        let (kind, source, transport) = ("fuse.rclone", "dav:", "the protocol of its remote");
        Ok(Mount { server, kind, source, transport, daemon: "rclone", tag: "mount" })
    }

    fn s3fs() -> Result<Mount, String> {
        all_servers()?;
        let server = start("s3fs", &[ALONE])?;
        let (kind, source, transport) = ("fuse.s3fs", "s3fs", "HTTP");
        Ok(Mount { server, kind, source, transport, daemon: "s3fs", tag: "s3fs" })
    }

    /// Its server uses the machine's own name as an address, which does not exist in a private network.
    fn gluster() -> Result<Mount, String> {
        all_servers()?;
        let server = start("gluster-mount", &[])?;
        let (kind, source, transport) = ("fuse.glusterfs", ":vol", "GlusterFS");
        Ok(Mount { server, kind, source, transport, daemon: "glusterfs", tag: "glusterfs" })
    }

    fn directory(&self) -> &Path {
        Path::new(self.server.value("MOUNT"))
    }

    fn daemon_process(&self) -> u32 {
        self.server.pid(self.tag)
    }

    fn launch(&self, words: &str) -> Launch {
        Launch::fathom(self.directory()).words("--output-format=json").words(words)
    }

    #[track_caller]
    fn run(&self, words: &str) -> Value {
        json::document(&self.launch(words).run().expect_clean().stdout)
    }

    /// A file on the mount that has not been read yet.
    #[track_caller]
    fn lay_out(&self, bytes: u64) {
        self.run(&format!("--name=made --filename=fiotest --rw=write --bs=1m --size={bytes} --end_fsync=1"));
    }
}

fn start(name: &str, variables: &[(&str, &str)]) -> Result<Server, String> {
    skip::root()?;
    Server::start(name, variables)
}

/// `Ok` if tests with servers that take long to install or build are enabled.
fn all_servers() -> Result<(), String> {
    match std::env::var("FATHOM_TEST_SERVERS").as_deref() {
        Ok("all") => Ok(()),
        _ => Err("only with FATHOM_TEST_SERVERS=all".to_owned()),
    }
}

/// The jobs of the benchmark, with 16 MiB instead of 10 GiB: the preparation, random reads with direct I/O,
/// sequential reads. Each comes with its number of I/Os and their size.
fn published_jobs() -> Vec<(String, u64, u64)> {
    let job = "--randrepeat=1 --name=test --filename=fiotest --iodepth=1 --size=16m";
    let mut jobs = vec![(format!("{job} --bs=128k"), 16 * MIB / (128 * KIB), 128 * KIB)];
    for (size, bytes) in [("4k", 4 * KIB), ("128k", 128 * KIB), ("2m", 2 * MIB)] {
        // The smallest blocks would be too slow.
        let io_size = if bytes < 128 * KIB { MIB } else { 16 * MIB };
        jobs.push((
            format!("{job} --bs={size} --readwrite=randread --io_size={io_size} -direct=1"),
            io_size / bytes,
            bytes,
        ));
    }
    for (size, bytes) in [("4k", 4 * KIB), ("128k", 128 * KIB), ("2m", 2 * MIB)] {
        jobs.push((format!("{job} --bs={size} --readwrite=read"), 16 * MIB / bytes, bytes));
    }
    jobs
}

#[track_caller]
fn check_published_jobs(mount: &Mount) {
    let fio = reference().ok();
    for (words, ios, block) in published_jobs() {
        let document = mount.run(&words);
        let job = json::job(&document, "test");
        let counts =
            |job: &Value| ["io_bytes", "total_ios", "short_ios"].map(|key| json::integer(&job["read"], key));
        let [bytes, total, short] = counts(job);
        assert_eq!((bytes, total, short), (ios * block, ios, 0), "{words}");
        check_host(mount, &document);
        if let Some(fio) = &fio {
            let finished =
                Launch::of(fio, mount.directory()).words("--output-format=json").words(&words).run();
            let of_fio = json::document(&finished.stdout);
            assert_eq!(counts(json::job(&of_fio, "test")), [bytes, total, short], "{words}");
        }
    }
    let length = std::fs::metadata(mount.directory().join("fiotest")).expect("it was laid out").len();
    assert_eq!(length, 16 * MIB);
    check_round_trip(mount);
}

/// The report's description of the mount.
#[track_caller]
fn check_host(mount: &Mount, document: &Value) {
    let systems = document["fathom host"]["file_systems"].as_array().expect("a list");
    let [system] = systems.as_slice() else { panic!("one mount, but {systems:?}") };
    let text = |key: &str| system[key].as_str().unwrap_or_default();
    assert_eq!((text("kind"), text("transport")), (mount.kind, mount.transport), "{system}");
    assert!(text("source").contains(mount.source), "{system}");
    assert_eq!(text("directory"), mount.directory().to_string_lossy(), "{system}");
    assert!(text("options").contains("user_id=0"), "{system}");
    assert_eq!(system["daemon"]["name"], mount.daemon, "{system}");
    assert_eq!(json::integer(&system["daemon"], "process"), u64::from(mount.daemon_process()));
    let [moved] = document["fathom mounts"].as_array().expect("a list").as_slice() else {
        panic!("{document}")
    };
    for key in ["daemon", "interfaces"] {
        assert!(moved[key]["read_bytes"].is_u64() && moved[key]["write_bytes"].is_u64(), "{moved}");
    }
}

/// Data written through the mount is read back, and is on the server.
#[track_caller]
fn check_round_trip(mount: &Mount) {
    let checked = "--name=test --filename=checked --bs=64k --size=4m --verify=crc32c";
    mount.run(&format!("{checked} --rw=randwrite --direct=1"));
    let document = mount.run(&format!("{checked} --rw=randread --verify_only"));
    let report = &document["fathom verify"][0];
    assert_eq!((json::integer(report, "checked_bytes"), json::integer(report, "wrong_blocks")), (4 * MIB, 0));
    // Another process changes a byte on the mount, in place: rclone may be uploading the file.
    let path = mount.directory().join("checked");
    let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).expect("it can be opened");
    let mut byte = [0];
    file.read_exact_at(&mut byte, 64 * KIB + 99).expect("it can be read");
    file.write_all_at(&[byte[0] ^ 1], 64 * KIB + 99).expect("it can be written");
    drop(file);
    let finished = mount.launch(&format!("{checked} --rw=randread --verify_only --verify_dump=0")).run();
    assert_eq!(finished.code(), 1, "{}{}", finished.stdout, finished.stderr);
    assert!(finished.stderr.contains("offset 65536"), "{}", finished.stderr);
}

#[test]
fn the_published_jobs_on_sshfs() {
    fathom_only!();
    check_published_jobs(&require!(Mount::sshfs()));
}

#[test]
fn the_published_jobs_on_rclone() {
    fathom_only!();
    let mount = require!(Mount::rclone());
    check_published_jobs(&mount);
    let document = mount.run("--name=test --filename=fiotest --bs=1m --rw=read");
    let daemon = document["fathom host"]["file_systems"][0]["daemon"]["options"].to_string();
    assert!(daemon.contains("vfs-cache-mode=writes"), "{daemon}");
}

#[test]
fn the_published_jobs_on_s3fs() {
    fathom_only!();
    check_published_jobs(&require!(Mount::s3fs()));
}

#[test]
fn the_published_jobs_on_gluster() {
    fathom_only!();
    check_published_jobs(&require!(Mount::gluster()));
}

/// In sequence on one mount: cached data, uncached data.
#[test]
fn the_page_cache_is_told_from_the_network() {
    fathom_only!();
    let mount = require!(Mount::sshfs());
    let results = scratch();
    mount.lay_out(16 * MIB);
    let file = mount.directory().join("fiotest");
    let told = |words: &str, verdict: &str, sentences: &[&str]| {
        let job =
            format!("--filename={} --size=16m --bs=4k --time_based --runtime=1 {words}", file.display());
        is_told(results.path(), None, &job, verdict, sentences)
    };
    let cache = "The page cache of this machine answered";
    told(
        "--rw=randread --pre_read=1 --invalidate=0",
        cache,
        &[
            "Its files were on fuse.sshfs",
            "over SSH, served by sshfs",
            "between the kernel and sshfs went only",
            "direct=1 bypasses",
        ],
    );
    let direct = told(
        "--rw=randread --direct=1",
        "The queue depth was the bottleneck",
        &["round trip from the kernel to sshfs", "the network interfaces received", "-o direct_io"],
    );
    assert!(!direct.contains(cache), "{direct}");
}

#[test]
fn the_cache_of_a_client_is_told_from_the_network() {
    fathom_only!();
    let mount = require!(Mount::rclone());
    let results = scratch();
    // Written data stays in rclone's cache.
    mount.lay_out(16 * MIB);
    let job = format!(
        "--filename={} --size=16m --bs=128k --rw=randread --direct=1 --time_based --runtime=1",
        mount.directory().join("fiotest").display()
    );
    is_told(
        results.path(),
        None,
        &job,
        "A cache of the file system on this machine answered",
        &[
            "rclone decides what direct I/O means",
            "--vfs-cache-mode=off",
            "with cache-dir vfs-cache-mode=writes",
        ],
    );
}

#[test]
fn quick_says_what_it_measures() {
    fathom_only!();
    let results = scratch();
    let quick = |mount: &Mount| {
        let save = results.path().join("quick.json");
        let words = format!(
            "quick --force --size=16m --time=200ms --save={} {}",
            save.display(),
            mount.directory().display()
        );
        let finished = Launch::fathom(results.path()).words(&words).run().expect_clean();
        let shown = Launch::fathom(results.path())
            .words(&format!("show --width=400 {}", save.display()))
            .run()
            .expect_clean();
        assert!(shown.stdout.contains(&format!("served by {}", mount.daemon)), "{}", shown.stdout);
        // Lines may be broken anywhere.
        finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let sshfs = require!(Mount::sshfs());
    let text = quick(&sshfs);
    assert!(
        text.contains("the figures are those of sshfs, the network (SSH) and the server together"),
        "{text}"
    );
    assert!(!text.contains("cached:") && !text.contains("no block device counters"), "{text}");
    let rclone = require!(Mount::rclone());
    let text = quick(&rclone);
    assert!(
        text.contains("cached: the jobs' reads moved") && text.contains("--vfs-cache-mode=off"),
        "{text}"
    );
    for mount in [sshfs, rclone] {
        // The kernel notifies a client asynchronously that a file is closed.
        let is_empty = || std::fs::read_dir(mount.directory()).expect("it can be read").next().is_none();
        let until = std::time::Instant::now() + LIMIT;
        while !is_empty() {
            assert!(std::time::Instant::now() < until, "{} is not empty", mount.directory().display());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn quick_on_gluster_leaves_nothing_behind() {
    fathom_only!();
    let mount = require!(Mount::gluster());
    let finished =
        Launch::fathom(mount.directory()).words("quick --size=16m --time=200ms").run().expect_clean();
    assert!(finished.stdout.contains("GlusterFS"), "{}", finished.stdout);
    assert_eq!(std::fs::read_dir(mount.directory()).expect("it can be read").count(), 0);
}

#[test]
fn pages_name_the_mount() {
    fathom_only!();
    let mount = require!(Mount::sshfs());
    let results = scratch();
    let result = results.path().join("result.json");
    let job = format!("--output={} --name=test --filename=fiotest --size=1m --rw=read", result.display());
    mount.launch(&job).run().expect_clean();
    let page = Launch::fathom(results.path()).words("report result.json -o -").run().expect_clean().stdout;
    let facts =
        page.split("file system</dt>").nth(1).unwrap_or_default().split("</dd>").next().unwrap_or_default();
    assert!(
        facts.contains("fuse.sshfs")
            && facts.contains("over SSH, served by sshfs")
            && facts.contains("user_id=0"),
        "{facts}"
    );
    let shown =
        Launch::fathom(results.path()).words("show --summary --width=400 result.json").run().expect_clean();
    assert!(shown.stdout.contains(", on fuse.sshfs ("), "{}", shown.stdout);
}

/// A symbolic link elsewhere does not hide the file system.
#[test]
fn links_are_followed_to_the_mount() {
    fathom_only!();
    let mount = require!(Mount::sshfs());
    let elsewhere = scratch();
    std::os::unix::fs::symlink(mount.directory(), elsewhere.path().join("link")).expect("a link can be made");
    let words = "--output-format=json --name=test --filename=link/fiotest --size=1m --rw=read";
    let finished = Launch::fathom(elsewhere.path()).words(words).run().expect_clean();
    check_host(&mount, &json::document(&finished.stdout));
}

/// A long job on the mount, together with one on a healthy file.
fn going_on(mount: &Mount) -> Launch {
    mount.launch(
        "--output-format=normal,json --patience=1s --eta=never --time_based --runtime=5 --bs=4k --size=1m --name=remote \
         --filename=fiotest --rw=randread --direct=1 --rate_iops=500 --name=local --filename=/dev/zero --rw=read --direct=0 \
         --rate_iops=200",
    )
}

#[track_caller]
fn check_local_job(finished: &Finished) -> Value {
    assert!(finished.elapsed < LIMIT, "ended after {:?}", finished.elapsed);
    assert_eq!(finished.code(), 1, "{}{}", finished.stdout, finished.stderr);
    let document = json::document(&finished.stdout);
    assert_eq!(json::integer(json::job(&document, "local"), "error"), 0);
    document
}

#[test]
fn a_daemon_that_dies_ends_the_job_with_its_error() {
    fathom_only!();
    let mount = require!(Mount::sshfs());
    mount.lay_out(MIB);
    let running = going_on(&mount).start();
    running.wait_for_sleeps(300);
    processes::signal(mount.daemon_process(), "KILL");
    let finished = running.finish();
    let document = check_local_job(&finished);
    let error = json::integer(json::job(&document, "remote"), "error") as i32;
    // The I/Os in flight, and later ones.
    assert!([libc::ENOTCONN, libc::ECONNABORTED].contains(&error), "{error}: {}", finished.stderr);
    let named = ["Transport endpoint is not connected", "Software caused connection abort"];
    assert!(named.iter().any(|name| finished.stderr.contains(name)), "{}", finished.stderr);
    assert_eq!(document["fathom host"]["file_systems"][0]["kind"], "fuse.sshfs");
}

/// A stopped process that is continued at the end.
struct Stopped(u32);

impl Drop for Stopped {
    fn drop(&mut self) {
        processes::signal(self.0, "CONT");
    }
}

#[test]
fn a_daemon_that_stops_is_named_as_stuck_io() {
    fathom_only!();
    let mount = require!(Mount::sshfs());
    mount.lay_out(MIB);
    let running = going_on(&mount).start();
    running.wait_for_sleeps(300);
    let stopped = Stopped(mount.daemon_process());
    processes::signal(stopped.0, "STOP");
    let finished = running.finish();
    let document = check_local_job(&finished);
    assert_ne!(json::integer(json::job(&document, "remote"), "error"), 0);
    let notes = document["fathom notes"].to_string();
    assert!(notes.contains("remote") && notes.contains("stuck: 1 I/O does not return"), "{notes}");
    // The report nevertheless describes the mount.
    let system = &document["fathom host"]["file_systems"][0];
    assert_eq!(
        (&system["kind"], &system["daemon"]["name"]),
        (&"fuse.sshfs".into(), &"sshfs".into()),
        "{system}"
    );
}
