//! The engine `http` on a real WebDAV server: Apache.

use crate::shipped_examples::run_with;
use crate::support::program::{Finished, Launch};
use crate::support::servers::Server;
use crate::support::{json, processes, wait_until};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn server() -> Result<Server, String> {
    Server::start("webdav", &[])
}

/// A job on the folder without a password, using the object `obj` unless it names another.
fn launch(server: &Server, words: &str) -> Launch {
    let name = if words.contains("--filename=") { "" } else { "--filename=/open/obj" };
    Launch::fathom(Path::new("/"))
        .words("--name=a --ioengine=http --output-format=json --size=64k --bs=16k")
        .words(name)
        .argument(format!("--http_host={}", server.value("DAV_HOST")))
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
    assert_eq!(status.code(), Some(1), "{stdout}{stderr}");
    stderr
}

fn folder(server: &Server) -> PathBuf {
    server.file("www/open")
}

/// Names and contents of the objects.
fn objects(server: &Server) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder(server)).expect("the server's folder");
    let mut found: Vec<(String, Vec<u8>)> = entries
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, std::fs::read(&path).expect("an object"))
        })
        .collect();
    found.sort();
    found
}

fn names(server: &Server) -> Vec<String> {
    objects(server).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn each_block_is_an_object() {
    let server = require!(server());
    let job = run(&server, "--rw=randwrite --iodepth=4 --buffer_pattern=0xfa7403");
    assert_eq!(names(&server), ["obj_0_16384", "obj_16384_16384", "obj_32768_16384", "obj_49152_16384"]);
    let pattern = [0xfa, 0x74, 0x03];
    for (name, content) in objects(&server) {
        assert_eq!(content.len(), 16384, "{name}");
        assert!(content.iter().zip(pattern.iter().cycle()).all(|(found, wanted)| found == wanted), "{name}");
    }
    let counts = &job["fathom engine"]["counts"];
    assert_eq!((&counts["status 201"], &counts["bytes sent"]), (&4.into(), &65536.into()), "{job}");
    assert_eq!(job["fathom engine"]["times_ns"]["put"]["N"], 4);

    run(&server, "--rw=randtrim");
    assert_eq!(names(&server), [""; 0]);
    run(&server, "--rw=write --bs=32k --http_object_name=/open/%n-%2h");
    assert!(names(&server)[0].starts_with("0-") && names(&server).len() == 2, "{:?}", names(&server));
}

#[test]
fn what_was_written_is_verified_and_what_was_changed_is_found() {
    let server = require!(server());
    for words in ["--iodepth=1", "--iodepth=8 --thread", "--iodepth=4 --http_connections=2"] {
        run(&server, &format!("{words} --rw=randwrite --bs=4k --verify=crc32c"));
    }
    let path = folder(&server).join("obj_8192_4096");
    let mut content = std::fs::read(&path).expect("an object");
    content[100] ^= 1;
    std::fs::write(&path, content).expect("the object is written");
    let said = complaint(&server, "--rw=read --bs=4k --verify=crc32c --iodepth=4");
    assert!(said.contains("8192"), "{said}");
}

#[test]
fn another_server_of_webdav_keeps_objects_as_well() {
    let server = require!(Server::start("webdav-rclone", &[]));
    let job = format!(
        "[global]\nioengine=http\nhttp_host={}\nhttp_user=fathom\nhttp_pass=${{PASSWORD}}\nsize=64k\nbs=16k\nstonewall\n\
         [written]\nrw=randwrite\niodepth=8\nverify=crc32c\nfilename=/obj\n[made]\nrw=randread\niodepth=16\nfilename=/made\n\
         [gone]\nrw=trim\nfilename=/obj\n",
        server.value("DAV_HOST")
    );
    let path = server.file("job.fio");
    std::fs::write(&path, job).expect("a job file");
    let launch = Launch::fathom(Path::new("/")).argument(path.display().to_string());
    launch.variable("PASSWORD", server.value("DAV_PASS")).run().expect_clean();
    // The server holds data back for some seconds before it appears in its folder.
    let names = || -> Vec<String> {
        let left = std::fs::read_dir(server.file("data")).expect("the server's folder").flatten();
        left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    wait_until("the server has put down what it has", || names().len() >= 4);
    let names = names();
    assert!(names.len() == 4 && names.iter().all(|name| name.starts_with("made_")), "{names:?}");
}

#[test]
fn what_is_read_is_made_first_and_what_is_there_stays() {
    let server = require!(server());
    run(&server, "--rw=randread --iodepth=4");
    let made = objects(&server);
    assert_eq!(made.len(), 4);
    run(&server, "--rw=read");
    assert_eq!(objects(&server), made);
    let said = complaint(&server, "--rw=read --filename=/open/other --allow_file_create=0");
    assert!(said.contains("allow_file_create=0"), "{said}");

    // One object, read in ranges.
    let job =
        run(&server, "--rw=randread --filename=/open/large --size=1m --http_object_mode=range --iodepth=4");
    assert_eq!(std::fs::metadata(folder(&server).join("large")).expect("the object").len(), 1 << 20);
    assert_eq!(job["fathom engine"]["counts"]["status 206"], 64);
    assert_eq!(job["read"]["io_bytes"], 1 << 20);
    let said = complaint(&server, "--rw=read --filename=/open/large --size=2m --http_object_mode=range");
    assert!(said.contains("an object cannot be extended"), "{said}");
    let said = complaint(&server, "--rw=write --filename=/open/large --size=1m --http_object_mode=range");
    assert!(said.contains("cannot be changed in part"), "{said}");
    run(&server, "--rw=write --filename=/open/large --size=1m --bs=1m --http_object_mode=range --verify=md5");
}

#[test]
fn as_many_requests_are_under_way_as_the_depth_says() {
    let server = require!(server());
    let job = run(&server, "--rw=randread --iodepth=16 --iodepth_batch=16 --size=1m --bs=4k");
    assert_eq!(job["fathom engine"]["counts"]["connections"], 16, "{job}");
    let few = run(&server, "--rw=randread --iodepth=16 --size=1m --bs=4k --http_connections=2");
    assert_eq!(few["fathom engine"]["counts"]["connections"], 2);
    let mixed = run(&server, "--rw=randread --size=1m --bs=4k --http_reads=get/60:head/30:list/10");
    let count = |name: &str| mixed["fathom engine"]["times_ns"][name]["N"].as_u64().expect("a count");
    assert_eq!((count("get"), count("head"), count("list")), (154, 77, 25));
}

#[test]
fn what_goes_wrong_is_said() {
    let server = require!(server());
    run(&server, "--rw=write");
    std::fs::remove_file(folder(&server).join("obj_16384_16384")).expect("an object");
    // The first and the last object exist, so none are created.
    let said = complaint(&server, "--rw=read");
    assert!(said.contains("GET /open/obj_16384_16384 was answered with HTTP 404 Not Found"), "{said}");
    let job = run_with_errors(&server, "--rw=read --continue_on_error=all");
    assert_eq!(job["total_err"], 1);
    std::fs::write(folder(&server).join("obj_16384_16384"), "short").expect("the object is written");
    let said = complaint(&server, "--rw=read");
    assert!(said.contains("received 5 of 16384 bytes"), "{said}");
    assert!(complaint(&server, "--rw=write --filename=/nowhere/obj").contains("HTTP 409"));
    assert!(complaint(&server, "--rw=write --filename=obj").contains("begin with a slash"));
    assert!(complaint(&server, "--rw=write --http_host=127.0.0.1:9").contains("Connection refused"));
    assert!(complaint(&server, "--rw=write --http_reads=get/50").contains("must be 100"));
    let said = complaint(&server, "--rw=write --http_mode=s3 --filename=/b/o");
    assert!(said.contains("AWS_ACCESS_KEY_ID"), "{said}");
}

#[track_caller]
fn run_with_errors(server: &Server, words: &str) -> serde_json::Value {
    json::document(&launch(server, words).run().stdout)["jobs"][0].clone()
}

#[test]
fn passwords_are_used_and_never_shown() {
    let server = require!(server());
    let password = server.value("DAV_PASS");
    let job = format!(
        "[a]\nioengine=http\nfilename=/dav/obj\nsize=64k\nbs=16k\nrw=write\nhttp_user=fathom\nhttp_pass=${{PASSWORD}}\n\
         http_verbose=2\nhttp_host={}\n",
        server.value("DAV_HOST")
    );
    let path = server.file("job.fio");
    std::fs::write(&path, job).expect("a job file");
    let launch = |given: &str| {
        Launch::fathom(Path::new("/"))
            .words("--output-format=normal,json")
            .argument(path.display().to_string())
            .variable("PASSWORD", given)
            .run()
    };
    let finished = launch(password);
    let (stdout, stderr) = (&finished.stdout, &finished.stderr);
    assert!(finished.status.success(), "{stdout}{stderr}");
    assert!(stdout.contains("> authorization: (hidden)") && stdout.contains("(hidden)"), "{stdout}");
    // Basic authentication contains the password in another encoding.
    for secret in [password, "ZmF0aG9tOnNlY3JldA=="] {
        assert!(!stdout.contains(secret) && !stderr.contains(secret), "{stdout}{stderr}");
    }
    let refused = launch("wrong");
    assert!(
        refused.stderr.contains("HTTP 401") && refused.stderr.contains("credentials"),
        "{}",
        refused.stderr
    );
}

#[test]
fn the_server_of_a_secured_connection_must_be_trusted() {
    let server = require!(server());
    let host = format!("--http_host={} --rw=write", server.value("DAV_TLS_HOST"));
    let trusted = format!("{host} --https=on --http_ca={}", server.value("DAV_CA"));
    let job = run(&server, &format!("{trusted} --iodepth=4 --verify=crc32c"));
    assert!(job["fathom engine"]["times_ns"]["TLS handshake"]["N"].as_u64() >= Some(1), "{job}");
    run(&server, &format!("{host} --https=insecure"));
    let said = complaint(&server, &format!("{host} --https=on"));
    assert!(said.contains("certificate") && said.contains("http_ca="), "{said}");
}

#[test]
fn requests_share_a_connection_of_http_2() {
    let server = require!(server());
    let secured = format!(
        "--http_host={} --https=insecure --iodepth=16 --size=1m --bs=4k",
        server.value("DAV_TLS_HOST")
    );
    for words in [secured.as_str(), "--http_version=2 --iodepth=16 --size=1m --bs=4k --http_host=DAV"] {
        let words = words.replace("DAV", server.value("DAV_HOST"));
        let job = run(&server, &format!("{words} --rw=randwrite --verify=crc32c"));
        let counts = &job["fathom engine"]["counts"];
        assert_eq!((&counts["connections"], &counts["status 200"]), (&1.into(), &256.into()), "{job}");
    }
    let old = run(&server, &format!("{secured} --rw=randread --iodepth_batch=16 --http_version=1.1"));
    assert_eq!(old["fathom engine"]["counts"]["connections"], 16);
}

#[test]
fn the_example_that_fio_ships() {
    let server = require!(server());
    let host = format!("http_host={}", server.value("DAV_HOST"));
    run_with("http-webdav", &[("http_host=localhost", &host), ("/dav/", "/open/")], |launch| launch);
    assert_eq!(names(&server), [""; 0]);
}

/// A server that answers the reads of a job with these responses in sequence, and closes the connection after
/// those with that flag. Returns its address. Requests for the length are answered with four bytes.
fn scripted(answers: Vec<(&'static str, bool)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address").to_string();
    let answers = Arc::new(Mutex::new(VecDeque::from(answers)));
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let answers = Arc::clone(&answers);
            std::thread::spawn(move || serve(stream, &answers));
        }
    });
    address
}

fn serve(mut stream: TcpStream, answers: &Mutex<VecDeque<(&'static str, bool)>>) {
    while let Some(head) = read_head(&mut stream) {
        let (answer, closes) = match head.starts_with(b"HEAD") {
            true => ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", false),
            false => answers.lock().expect("no panic").pop_front().expect("no more requests than answers"),
        };
        if stream.write_all(answer.as_bytes()).is_err() || closes {
            return;
        }
    }
}

/// The head of a request without a body; `None` at the end of the connection.
fn read_head(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return None,
        }
    }
    Some(head)
}

const FOUR: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd";
const BUSY: &str = "HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\n\r\n";

/// Two reads of four bytes.
fn of_script(address: &str, words: &str) -> Finished {
    Launch::fathom(Path::new("/"))
        .words("--name=a --ioengine=http --output-format=json --filename=/o --bs=4 --size=8 --rw=read")
        .argument(format!("--http_host={address}"))
        .words(words)
        .run()
}

#[test]
fn a_busy_server_is_asked_again_if_the_job_says_so() {
    let retried = scripted(vec![(FOUR, false), (BUSY, false), (BUSY, false), (FOUR, false)]);
    let finished = of_script(&retried, "--http_retries=2 --http_retry_pause=1ms").expect_clean();
    let job = json::document(&finished.stdout)["jobs"][0].clone();
    let counts = &job["fathom engine"]["counts"];
    assert_eq!((&counts["retries"], &counts["status 503"]), (&2.into(), &2.into()), "{job}");
    let refused = scripted(vec![(FOUR, false), (BUSY, false)]);
    let finished = of_script(&refused, "");
    assert_eq!(finished.status.code(), Some(1));
    assert!(finished.stderr.contains("HTTP 503"), "{}", finished.stderr);
}

#[test]
fn a_connection_that_was_closed_meanwhile_is_no_error_and_one_that_breaks_off_is() {
    let closing = scripted(vec![(FOUR, true), (FOUR, true)]);
    let finished = of_script(&closing, "--thinktime=50ms");
    // A busy machine may send the second request before it sees that the connection is closed.
    let is_known = finished.stderr.is_empty() || finished.stderr.ends_with("; sent again\n");
    assert!(finished.status.code() == Some(0) && is_known, "{}", finished.stderr);
    let job = json::document(&finished.stdout)["jobs"][0].clone();
    assert!(job["fathom engine"]["counts"]["connections closed by the server"].as_u64() >= Some(1), "{job}");
    for broken in [
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab",
        "nonsense\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
    ] {
        let finished = of_script(&scripted(vec![(FOUR, false), (broken, true)]), "");
        assert_eq!(finished.status.code(), Some(1), "{broken:?}: {}", finished.stdout);
        assert!(finished.stderr.contains("io_u error on file /o"), "{broken:?}: {}", finished.stderr);
    }
}

/// Answers every read in two pieces, holding the second one back until the first is acknowledged.
fn answer_in_pieces(mut stream: TcpStream) {
    while let Some(head) = read_head(&mut stream) {
        let first: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n";
        let is_read = head.starts_with(b"GET");
        if stream.write_all(first).is_err() || is_read && stream.write_all(&[7; 4096]).is_err() {
            return;
        }
    }
}

#[test]
fn acknowledgements_are_not_delayed_where_the_job_says_so() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            std::thread::spawn(move || answer_in_pieces(stream));
        }
    });
    let reads = |quick: u32| {
        let words = format!(
            "--name=a --ioengine=http --output-format=json --http_host={address} --filename=/o --size=256k --bs=4k --rw=randread \
             --http_quickack={quick}"
        );
        let finished = Launch::fathom(Path::new("/")).words(&words).run();
        assert_eq!(finished.code(), 0, "{}", finished.stderr);
        let job = json::document(&finished.stdout)["jobs"][0].clone();
        (job["read"]["clat_ns"]["percentile"]["50.000000"].as_u64().expect("a median"), finished.stderr)
    };
    let (delayed, advice) = reads(0);
    if delayed < 30_000_000 {
        // Kernels acknowledge immediately for a while, and may be configured to do so always.
        skip!(
            "this kernel does not delay acknowledgements here: half of the reads took {delayed} ns or less"
        );
    }
    assert!(advice.contains("http_quickack=1 shows its speed without that"), "{advice}");
    let (quick, advice) = reads(1);
    assert!(quick < delayed / 2, "{quick} ns with http_quickack=1, {delayed} ns without");
    assert!(!advice.contains("shows its speed without that"), "{advice}");
}

/// Answers with blocks, and records the request heads.
fn answer_and_keep(mut stream: TcpStream, heads: &Mutex<Vec<String>>) {
    while let Some(head) = read_head(&mut stream) {
        let body: &[u8] = if head.starts_with(b"GET") { &[7; 4096] } else { &[] };
        heads.lock().expect("no panic").push(String::from_utf8_lossy(&head).into_owned());
        let answer = [b"HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n", body].concat();
        if stream.write_all(&answer).is_err() {
            return;
        }
    }
}

/// S3 settings that a job leaves unset come from the environment, as with the AWS tools; the job's own take
/// precedence.
#[test]
fn the_environment_names_server_and_region_of_s3() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let heads = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heads);
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let kept = Arc::clone(&kept);
            std::thread::spawn(move || answer_and_keep(stream, &kept));
        }
    });
    let url = format!("http://{address}/");
    let run = |variables: &[(&str, &str)], words: &str| {
        heads.lock().expect("no panic").clear();
        let job = "--name=a --ioengine=http --http_mode=s3 --filename=/b/o --size=4k --bs=4k --rw=read --output-format=json";
        let launch = Launch::fathom(Path::new("/")).words(job).words(words);
        let keys = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret")];
        let launch =
            keys.iter().chain(variables).fold(launch, |launch, (name, value)| launch.variable(name, value));
        launch.run()
    };
    for (variables, words, region) in [
        (&[("AWS_ENDPOINT_URL", url.as_str()), ("AWS_REGION", "eu-west-9")][..], "", "eu-west-9"),
        (
            &[
                ("AWS_ENDPOINT_URL_S3", &url),
                ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
                ("AWS_DEFAULT_REGION", "x"),
            ],
            "",
            "x",
        ),
        (&[("AWS_ENDPOINT_URL", &url), ("AWS_REGION", "eu-west-9")], "--http_s3_region=own", "own"),
    ] {
        run(variables, words).expect_clean();
        let heads = heads.lock().expect("no panic").join("\n");
        assert!(heads.contains(&format!("/{region}/s3/aws4_request")), "{variables:?} {words}: {heads}");
    }
    let refused = run(&[("AWS_ENDPOINT_URL", &url)], "--http_host=127.0.0.1:1");
    assert!(refused.stderr.contains("127.0.0.1:1: Connection refused"), "{}", refused.stderr);
    let refused = run(&[("AWS_ENDPOINT_URL", &url)], "--http_s3_keyid=mine");
    assert!(refused.stderr.contains("http_s3_keyid= is set and http_s3_key= is not"), "{}", refused.stderr);
    assert!(heads.lock().expect("no panic").is_empty(), "no request is made with half a pair");
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("its address").to_string();
    for words in ["--https=insecure --rw=write", "--rw=read"] {
        let finished = of_script(&address, &format!("{words} --http_connect_limit=300ms"));
        assert_eq!(finished.status.code(), Some(1), "{}", finished.stdout);
        assert!(finished.stderr.contains("no answer within"), "{}", finished.stderr);
    }
}

#[test]
fn a_server_that_hangs_is_reported_in_time() {
    let server = require!(server());
    run(&server, "--rw=write");
    let running =
        launch(&server, "--rw=randread --time_based --runtime=2 --iodepth=4 --patience=500ms").start();
    running.wait_for_sleeps(200);
    let daemon = server.pid("apache");
    let stopped: Vec<u32> = processes::descendants(daemon).into_iter().chain([daemon]).collect();
    stopped.iter().for_each(|&pid| processes::signal(pid, "STOP"));
    let finished = running.finish();
    stopped.iter().for_each(|&pid| processes::signal(pid, "CONT"));
    assert_ne!(finished.code(), 0);
    assert!(finished.elapsed < Duration::from_secs(50), "{:?}", finished.elapsed);
    let document = json::document(&finished.stdout);
    let notes = document["fathom notes"].as_array().expect("notes");
    assert!(notes.iter().any(|note| note.as_str().is_some_and(|note| note.contains("offset"))), "{notes:?}");
}

#[test]
fn a_server_that_ends_is_named() {
    let server = require!(server());
    run(&server, "--rw=write");
    let running = launch(&server, "--rw=randread --time_based --runtime=100 --iodepth=4").start();
    running.wait_for_sleeps(200);
    server.stop();
    let finished = running.finish();
    assert_eq!(finished.status.code(), Some(1));
    assert!(finished.stderr.contains(server.value("DAV_HOST")), "{}", finished.stderr);
}
