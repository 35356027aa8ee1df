//! The store on a server of PostgreSQL, which wants a password.

use super::{history, results, whole_runs};
use crate::support::program::Launch;
use crate::support::{scratch, skip, wait_until};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A server with the user `me`, whose password is `s3cret`. Its socket and its data are in a separate directory.
struct Server {
    directory: tempfile::TempDir,
    process: Child,
}

impl Server {
    fn start() -> Result<Server, String> {
        skip::root()?;
        skip::tool("setpriv")?;
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
        let socket = directory.path().display().to_string();
        let process = as_user(&programs.join("postgres"), directory.path())
            .args(["-D", "data", "-k", &socket, "-c", "listen_addresses="])
            .spawn()
            .expect("starts");
        let server = Server { directory, process };
        let log =
            || fs::read_to_string(server.directory.path().join("data/postmaster.pid")).unwrap_or_default();
        wait_until("the server is ready", || log().lines().any(|line| line.trim() == "ready"));
        Ok(server)
    }

    fn url(&self, database: &str) -> String {
        format!(
            "postgres://me@{}/{database}",
            self.directory.path().display().to_string().replace('/', "%2F")
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
    fs::write(&passwords, "localhost:5432:postgres:me:s3cret\n").expect("written");
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
