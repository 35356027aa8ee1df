//! The store on a server of PostgreSQL, which wants a password.

use super::{history, results, whole_runs};
use crate::support::program::Launch;
use crate::support::served::Served;
use crate::support::{scratch, skip, wait_until};
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

/// A server with the user `me`, whose password is `s3cret`. Its socket and its data are in a separate directory.
struct Server {
    directory: tempfile::TempDir,
    process: Child,
    /// Port on 127.0.0.1, with TLS.
    port: u16,
}

impl Server {
    fn start() -> Result<Server, String> {
        skip::root()?;
        skip::tool("setpriv")?;
        skip::tool("openssl")?;
        let versions = fs::read_dir("/usr/lib/postgresql").map_err(|_| "PostgreSQL is not installed")?;
        let mut programs = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
        let programs =
            programs.find(|path| path.join("initdb").exists()).ok_or("PostgreSQL is not installed")?;
        let (uid, gid) = numbers_of("postgres").ok_or("there is no user postgres")?;
        let directory = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").expect("a directory");
        fs::write(directory.path().join("password"), "s3cret\n").expect("written");
        for path in [directory.path(), &directory.path().join("password")] {
            chown(path, Some(uid), Some(gid)).expect("given away");
        }
        let made = as_user(&programs.join("initdb"), directory.path())
            .args(["-D", "data", "--auth=scram-sha-256", "--pwfile=password", "-U", "me", "-N"])
            .status();
        assert!(made.expect("starts").success(), "initdb");
        let words = "req -x509 -newkey rsa:2048 -nodes -subj /CN=db -addext subjectAltName=DNS:localhost";
        let certified = as_user(Path::new("openssl"), &directory.path().join("data"))
            .args(words.split(' '))
            .args(["-keyout", "server.key", "-out", "server.crt"])
            .status();
        assert!(certified.expect("starts").success(), "openssl");
        let socket = directory.path().display().to_string();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("has one").port();
        drop(listener);
        let process = as_user(&programs.join("postgres"), directory.path())
            .args(["-D", "data", "-k", &socket, "-p", &port.to_string(), "-c", "ssl=on"])
            .args(["-c", "listen_addresses=127.0.0.1"])
            .spawn()
            .expect("starts");
        let server = Server { directory, process, port };
        let log =
            || fs::read_to_string(server.directory.path().join("data/postmaster.pid")).unwrap_or_default();
        wait_until("the server is ready", || log().lines().any(|line| line.trim() == "ready"));
        Ok(server)
    }

    fn url(&self, database: &str) -> String {
        format!(
            "postgres://me@{}:{}/{database}",
            self.directory.path().display().to_string().replace('/', "%2F"),
            self.port
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-INT", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}

fn as_user(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=postgres", "--regid=postgres", "--clear-groups"])
        .arg(program)
        .current_dir(directory);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn numbers_of(user: &str) -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.split(':').next() == Some(user))?;
    let mut numbers = line.split(':').skip(2);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[test]
fn writers_share_a_server_and_passwords_stay_secret() {
    fathom_only!();
    let server = require!(Server::start());
    let directory = scratch();
    let at = directory.path();
    results(&at.join("old"), 30);
    let url = server.url("postgres");
    let passwords: PathBuf = at.join("pgpass");
    fs::write(&passwords, format!("localhost:{}:postgres:me:s3cret\n", server.port)).expect("written");
    let mode = |mode: u32| fs::set_permissions(&passwords, fs::Permissions::from_mode(mode)).expect("set");
    let file = passwords.display().to_string();
    let with_file = |words: &str| -> Launch {
        history(at, words).variable("FATHOM_HISTORY", &url).variable("PGPASSFILE", &file)
    };
    mode(0o644);
    let open = with_file("list").run();
    assert!(open.code() == 1 && open.stderr.contains("chmod 600"), "{}", open.stderr);
    mode(0o600);
    let none = with_file("list").run();
    assert!(none.code() == 1 && none.stderr.contains("no history there yet"), "{}", none.stderr);
    // Several writers begin with an empty database and add the same runs.
    let writers: Vec<_> = (0..4).map(|_| with_file("import old").start()).collect();
    for writer in writers {
        writer.finish().expect_clean();
    }
    let listed = with_file("list --format=json").run().expect_clean().stdout;
    assert!(listed.contains("\"total\": 30,"), "{listed}");
    // A killed writer leaves nothing, and no lock.
    let killed = with_file("import old").start();
    killed.signal("KILL");
    drop(killed);
    with_file("rm 1").run().expect_clean();
    let password =
        |text: &str| history(at, "list").variable("FATHOM_HISTORY", &url).variable("PGPASSWORD", text).run();
    assert_eq!(password("s3cret").code(), 0);
    let wrong = password("wr0ng");
    assert!(
        wrong.stderr.contains("password authentication failed") && wrong.stderr.contains("~/.pgpass"),
        "{}",
        wrong.stderr
    );
    assert!(!wrong.stderr.contains("wr0ng"), "{}", wrong.stderr);
    // The other store is untouched by all this.
    assert_eq!(whole_runs(at, "history.db"), 0);
    let gone = server.url("postgres");
    drop(server);
    let gone = history(at, "list").variable("FATHOM_HISTORY", &gone).variable("PGPASSWORD", "s3cret").run();
    assert!(gone.code() == 1 && gone.stderr.contains("No such file"), "{}", gone.stderr);
}

#[test]
fn a_network_carries_neither_passwords_nor_figures_in_plain_text() {
    fathom_only!();
    let server = require!(Server::start());
    let directory = scratch();
    let at = directory.path();
    results(&at.join("old"), 20);
    let root = server.directory.path().join("data/server.crt");
    let of = |port: u16| format!("postgres://me@localhost:{port}/postgres?channel_binding=require");
    let with = |words: &str, mode: &str, password: &str| -> Launch {
        history(at, words)
            .variable("FATHOM_HISTORY", &of(server.port))
            .variable("PGSSLMODE", mode)
            .variable("PGSSLROOTCERT", &root.display().to_string())
            .variable("PGPASSWORD", password)
    };
    let writers: Vec<_> = (0..2).map(|_| with("import old", "verify-full", "s3cret").start()).collect();
    for writer in writers {
        writer.finish().expect_clean();
    }
    // The password is bound to the certificate, for which there must be one.
    for (mode, password, told) in [
        ("verify-full", "wr0ng", "password authentication failed"),
        ("disable", "s3cret", "channel binding"),
        ("sometimes", "s3cret", "PGSSLMODE=sometimes: this is not one of disable, prefer, require"),
    ] {
        let refused = with("list", mode, password).run();
        assert!(refused.code() == 1 && refused.stderr.contains(told), "{mode}: {}", refused.stderr);
        assert!(!refused.stderr.contains(password), "{}", refused.stderr);
    }
    let run = Launch::fathom(at)
        .argument(format!("--history={}&sslmode=verify-full&sslrootcert={}", of(server.port), root.display()))
        .words("--name=x --ioengine=null --size=1m --rw=read");
    run.variable("PGPASSWORD", "s3cret").run().expect_clean();
    // A relay reads what passes.
    let (port, seen) = overheard(server.port);
    let through =
        |mode: &str| with("list --format=json", mode, "s3cret").variable("FATHOM_HISTORY", &of(port)).run();
    let listed = through("verify-full").expect_clean().stdout;
    assert!(listed.contains("\"total\": 21,"), "{listed}");
    let reads = |word: &str| {
        let seen = seen.lock().expect("whole");
        seen.windows(word.len()).any(|part| part == word.as_bytes())
    };
    assert!(!reads("verdict") && !reads("SELECT"), "the relay could read the statements");
    let open = with("list", "disable", "s3cret")
        .variable("FATHOM_HISTORY", &of(port).replace("channel_binding=require", "channel_binding=disable"));
    open.run().expect_clean();
    assert!(reads("verdict") && reads("SELECT"), "the relay could read nothing");
}

/// A port that leads to another one, and what has passed there.
fn overheard(target: u16) -> (u16, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("has one").port();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let of_threads = Arc::clone(&seen);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.expect("a connection");
            let server = TcpStream::connect(("127.0.0.1", target)).expect("connects");
            let ends = [&client, &server].map(|end| end.try_clone().expect("a socket"));
            let [client_end, server_end] = ends;
            for (mut from, mut to) in [(client, server_end), (server, client_end)] {
                let seen = Arc::clone(&of_threads);
                std::thread::spawn(move || {
                    let mut bytes = [0; 65_536];
                    while let Ok(count @ 1..) = from.read(&mut bytes) {
                        seen.lock().expect("whole").extend_from_slice(&bytes[..count]);
                        if to.write_all(&bytes[..count]).is_err() {
                            break;
                        }
                    }
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        }
    });
    (port, seen)
}

/// `fathom serve` with a store on a server.
#[test]
fn pages_of_a_server_never_have_its_password() {
    fathom_only!();
    let server = require!(Server::start());
    let directory = scratch();
    let at = directory.path();
    let url = server.url("postgres");
    let launch = Launch::fathom(at).variable("FATHOM_HISTORY", &url).variable("PGPASSWORD", "s3cret");
    let served = Served::start_as(launch, at, "--history");
    let run = served.start_job("[a]\nioengine=null\nsize=1m\nrw=read\n");
    served.wait_for(&run, "done");
    let pages =
        ["/history", "/history-run?number=1", "/history-changes", "/history-fleet?by=host", "/api/place"];
    let all = || pages.map(|path| served.get(path).body);
    let [list, own, ..] = all();
    assert!(
        list.contains("Runs 1 to 1 of 1") && own.contains(&format!("api/runs/{run}/page")),
        "{list}{own}"
    );
    drop(server);
    let bodies = all();
    assert!(bodies[0].contains("role=\"alert\"") && bodies[0].contains("No such file"), "{}", bodies[0]);
    let kept = served.results.join("runs").join(&run);
    let files =
        fs::read_dir(kept).expect("a folder").map(|entry| fs::read_to_string(entry.expect("a file").path()));
    for text in bodies.into_iter().chain(files.map(Result::unwrap_or_default)) {
        assert!(!text.contains("s3cret"), "{text}");
    }
}
