//! What an agent protects from controllers and from strangers: files, variables, memory, connections.

use super::agents::{NULL, controller, keys, listen};
use crate::support::program::{self, Finished, Launch};
use crate::support::{scratch, skip};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

/// A directory that agents allow, and a forbidden one with a secret in it.
struct Places {
    all: tempfile::TempDir,
    open: std::path::PathBuf,
    closed: std::path::PathBuf,
}

const SECRET: &str = "root:$6$topsecret:19000";

fn places() -> Places {
    let all = scratch();
    let (open, closed) = (all.path().join("open"), all.path().join("closed"));
    std::fs::create_dir(&open).expect("a directory");
    std::fs::create_dir(&closed).expect("a directory");
    std::fs::write(closed.join("secret"), format!("{SECRET}\n")).expect("written");
    std::fs::write(open.join("ours"), format!("[{SECRET}]\nbogus_{SECRET}=1\n")).expect("written");
    std::os::unix::fs::symlink(closed.join("secret"), open.join("link")).expect("a link");
    Places { all, open, closed }
}

#[test]
fn a_restricted_agent_quotes_no_file_of_its_host() {
    fathom_only!();
    let places = places();
    let agent = listen(places.all.path(), &format!("--allow-path={}", places.open.display()));
    let client = |words: &str| {
        let (_, port) = agent.address.rsplit_once(':').expect("a port");
        Launch::fathom(places.all.path()).argument(format!("--client=127.0.0.1,{port}")).words(words).run()
    };
    let (open, closed) = (places.open.display(), places.closed.display());
    let mut answers = Vec::new();
    for path in [
        format!("{closed}/secret"),
        format!("{open}/../closed/secret"),
        format!("{open}/link"),
        format!("{open}/ours"),
        format!("{closed}/missing"),
        format!("{closed}"),
    ] {
        let refused = client(&format!("--remote-config={path}"));
        assert_eq!(refused.code(), 1, "{path}: {}{}", refused.stdout, refused.stderr);
        let texts = format!("{}{}", refused.stdout, refused.stderr);
        assert!(!texts.contains("topsecret"), "{path}: {texts}");
        answers.push(texts.replace(&path, ""));
    }
    // The existence of such a file is not revealed either.
    assert_eq!(answers[0], answers[4], "there and not there");
    std::fs::write(places.open.join("good.fio"), "[a]\nioengine=null\nsize=64k\n").expect("written");
    client(&format!("--remote-config={open}/good.fio")).expect_clean();
    agent.running.signal("TERM");
    let ended = agent.running.finish();
    assert!(ended.stderr.contains("topsecret"), "its own log says what was wrong: {}", ended.stderr);
}

#[test]
fn files_that_jobs_name_come_from_the_controller_or_are_refused() {
    fathom_only!();
    let places = places();
    let (open, closed) = (places.open.display().to_string(), places.closed.display().to_string());
    let agent = listen(&places.open, &format!("--allow-path={open} --allow-network"));
    let run =
        |words: &str| controller(&places.closed, &agent.address, &format!("--name=a --rw=write {words}"));
    // Content of a pattern file on both sides, and bytes that are not text.
    std::fs::write(places.closed.join("pattern"), [0xff, 0, 0x80, b'x']).expect("written");
    std::fs::write(places.open.join("pattern"), b"other").expect("written");
    run("--size=64 --bs=64 --filename=p --buffer_pattern='pattern'").expect_clean();
    let written = std::fs::read(places.open.join("p")).expect("it was written");
    assert_eq!(written[..8], [0xff, 0, 0x80, b'x', 0xff, 0, 0x80, b'x']);
    for (words, reason) in [
        (format!("--ioengine=http --http_ca={closed}/secret"), "http_ca=: "),
        (format!("--ioengine=http --http_cert={closed}/secret --http_key={closed}/secret"), "http_cert=: "),
        (format!("--ioengine=nbd --uri=nbd+unix:///?socket={closed}/s"), "uri=: "),
        (format!("--ioengine=nbd --uri=nbds://localhost/?tls-certificates={closed}"), "uri=: "),
        (format!("--filename=f --read_iolog={closed}/secret"), "read_iolog= is refused"),
        (format!("--filename=f --mem=mmap:{closed}/m"), "mem= is refused"),
        (format!("--filename=f --verify=crc32c --verify_ledger={closed}/l"), "verify_ledger= is refused"),
    ] {
        let refused = run(&format!("--size=64k {words}"));
        assert_eq!(refused.code(), 1, "{words}: {}", refused.stderr);
        assert!(refused.stderr.contains(reason), "{words}: {}", refused.stderr);
        assert!(!refused.stderr.contains("topsecret"), "{words}: {}", refused.stderr);
    }
}

/// The variables of an agent may be secret, and a controller could put one into the name of a job.
#[test]
fn variables_of_an_agent_stay_there() {
    fathom_only!();
    let places = places();
    std::fs::write(
        places.open.join("job.fio"),
        "[a]\ndescription=${FATHOM_TEST_SECRET}\nioengine=null\nsize=4k\n",
    )
    .expect("written");
    let mut agent = Launch::fathom(places.all.path())
        .words("agent --listen=127.0.0.1:0")
        .argument(format!("--allow-path={}", places.open.display()))
        .variable("FATHOM_TEST_SECRET", SECRET)
        .start();
    let (text, _) = agent.wait_for_output(|text| text.contains('\n'));
    let port = text.trim().rsplit(':').next().expect("a port").to_owned();
    let client = Launch::fathom(places.all.path()).argument(format!("--client=127.0.0.1,{port}"));
    let finished = client.argument(format!("--remote-config={}/job.fio", places.open.display())).run();
    let texts = format!("{}{}", finished.stdout, finished.stderr);
    assert!(!texts.contains("topsecret"), "{texts}");
}

#[test]
fn silent_connections_keep_no_controller_out() {
    fathom_only!();
    let directory = scratch();
    let directory = directory.path();
    keys(directory, "own");
    let agent = listen(directory, "--keys=own/agent.keys");
    // More connections than the limit, some of which begin like TLS.
    let crowd: Vec<TcpStream> = (0..700)
        .filter_map(|number| {
            let mut socket = TcpStream::connect(&agent.address).ok()?;
            if number % 2 == 0 {
                // A TLS record that is never completed.
                let _ = socket.write_all(&[0x16, 3, 1, 2, 0, 1]);
            }
            Some(socket)
        })
        .collect();
    assert!(crowd.len() > 600, "{}", crowd.len());
    for _ in 0..3 {
        let good = controller(directory, &agent.address, &format!("--keys=own/controller.keys {NULL}"));
        assert_eq!(good.code(), 0, "{}", good.stderr);
    }
    drop(crowd);
    agent.running.signal("TERM");
    assert_eq!(agent.running.finish().code(), 0);
}

#[test]
fn without_keys_an_agent_takes_no_more_than_jobs_need() {
    fathom_only!();
    let directory = scratch();
    let agent = listen(directory.path(), "");
    let mut socket = TcpStream::connect(&agent.address).expect("it listens");
    let length = 256_u32 << 20;
    socket.write_all(&[&length.to_le_bytes()[..], &[0; 9]].concat()).expect("sent");
    let piece = vec![0; 1 << 20];
    let taken = (0..128).take_while(|_| socket.write_all(&piece).is_ok()).count();
    assert!(taken < 64, "{taken} MiB");
    // Longer files yield a message that says what to do.
    std::fs::write(directory.path().join("pattern"), vec![7; 20 << 20]).expect("written");
    let long = controller(directory.path(), &agent.address, &format!("{NULL} --buffer_pattern='pattern'"));
    assert_eq!(long.code(), 1, "{}", long.stderr);
    assert!(long.stderr.contains("give --keys=FILE on both sides"), "{}", long.stderr);
}

/// Runs as a user without other groups and capabilities; the error says why that is impossible.
fn as_user(directory: &Path, id: u32, words: &str) -> Result<Finished, String> {
    let own = directory.join("program");
    if !own.exists() {
        std::fs::copy(program::path(), &own).map_err(|error| error.to_string())?;
    }
    let ids = format!("--reuid={id} --regid={id} --clear-groups --inh-caps=-all");
    let finished = Launch::of(Path::new("setpriv"), directory)
        .words(&ids)
        .argument(own.display().to_string())
        .words(words)
        .run();
    match finished.stderr.contains("setpriv: ") {
        true => Err(finished.stderr),
        false => Ok(finished),
    }
}

#[test]
fn without_keys_other_users_of_the_machine_are_refused() {
    fathom_only!();
    require!(skip::root());
    require!(skip::tool("setpriv"));
    let directory = tempfile::tempdir().expect("a directory");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o777)).expect("permissions");
    let agent = listen(directory.path(), "");
    let socket = directory.path().join("socket");
    let mut server =
        Launch::fathom(directory.path()).argument(format!("--server=sock:{}", socket.display())).start();
    server.wait_for_output(|text| text.contains('\n'));
    std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o777)).expect("permissions");
    let client = format!("--client=sock:{} --name=a --ioengine=null --size=64k", socket.display());
    for words in &[format!("--hosts={} {NULL}", agent.address), client] {
        let refused = require!(as_user(directory.path(), 65534, words));
        assert_eq!(refused.code(), 1, "{}{}", refused.stdout, refused.stderr);
        assert!(refused.stderr.contains("belongs to user 65534"), "{}", refused.stderr);
        Launch::fathom(directory.path()).words(words).run().expect_clean();
    }
    // Another user's agent serves its own user, and root.
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|own| own.local_addr()).expect("a port").port();
    let own = directory.path().join("program");
    let mut theirs = Launch::of(Path::new("setpriv"), directory.path())
        .words("--reuid=65534 --regid=65534 --clear-groups --inh-caps=-all")
        .argument(own.display().to_string())
        .argument("agent")
        .argument(format!("--listen=127.0.0.1:{port}"))
        .start();
    theirs.wait_for_output(|text| text.contains('\n'));
    let words = format!("--hosts=127.0.0.1:{port} {NULL}");
    assert_eq!(require!(as_user(directory.path(), 65534, &words)).code(), 0);
    Launch::fathom(directory.path()).words(&words).run().expect_clean();
    let third = require!(as_user(directory.path(), 65533, &words));
    assert!(
        third.code() == 1 && third.stderr.contains("only user 65534 and root are served"),
        "{}",
        third.stderr
    );
    for running in [agent.running, server, theirs] {
        running.signal("TERM");
        running.finish();
    }
}

/// Once a process has closed its socket, the kernel's table lists it as root's.
#[test]
fn a_socket_that_is_closed_is_not_roots() {
    fathom_only!();
    let directory = scratch();
    let agent = listen(directory.path(), "");
    let mut served = 0;
    for _ in 0..50 {
        let mut socket = TcpStream::connect(&agent.address).expect("it listens");
        let _ = socket.shutdown(std::net::Shutdown::Write);
        let mut text = String::new();
        let _ = socket.read_to_string(&mut text);
        served += usize::from(text.contains("is closed already"));
    }
    assert!(served > 0, "some were closed before they were looked at");
    let good = controller(directory.path(), &agent.address, NULL);
    assert_eq!(good.code(), 0, "{}", good.stderr);
}
