//! The store in a database of a real PostgreSQL, which the tests start in a separate directory.

use crate::{made, sqlite};
use fathom_history::{Access, Error, Place, Store};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A server that ends with the test. Its socket is in its directory.
struct Server {
    directory: TempDir,
    process: std::process::Child,
}

impl Server {
    /// Starts a server, or says why there is none.
    fn start() -> Option<Server> {
        let Some(programs) = programs() else {
            fathom_skip::record("PostgreSQL is not installed");
            return None;
        };
        let user = user_of("postgres");
        let is_root =
            fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
        let Some((uid, gid)) = user.filter(|_| is_root) else {
            fathom_skip::record("the server runs as user postgres, which only root can start");
            return None;
        };
        let directory = tempfile::Builder::new().prefix("fathom-pg").tempdir_in("/tmp").expect("a directory");
        chown(directory.path(), Some(uid), Some(gid)).expect("given away");
        let as_user = |program: &str| {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
            command.arg(programs.join(program)).current_dir(directory.path());
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command
        };
        let made = as_user("initdb").args(["-D", "data", "--auth=trust", "-U", "me", "-N"]).status();
        assert!(made.expect("runs").success());
        let socket = directory.path().display().to_string();
        let process = as_user("postgres")
            .args(["-D", "data", "-k", &socket, "-c", "listen_addresses=", "-c", "fsync=off"])
            .spawn()
            .expect("starts");
        let server = Server { directory, process };
        let started = Instant::now();
        while !server.directory.path().join(".s.PGSQL.5432").exists() || server.client("postgres").is_none() {
            assert!(started.elapsed() < Duration::from_secs(30), "the server does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(server)
    }

    fn client(&self, database: &str) -> Option<postgres::Client> {
        let mut config = postgres::Config::new();
        config.host_path(self.directory.path()).user("me").dbname(database);
        config.connect(postgres::NoTls).ok()
    }

    fn url(&self, database: &str) -> String {
        let host = self.directory.path().display().to_string().replace('/', "%2F");
        format!("postgres://me@{host}/{database}")
    }

    fn place(&self, database: &str) -> Place {
        Place::parse(OsStr::new(&self.url(database))).expect("a place")
    }

    fn database(&self, name: &str) -> Place {
        self.client("postgres")
            .expect("connects")
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .expect("made");
        self.place(name)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its children end with it.
        let _ = Command::new("kill").args(["-INT", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}

fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    versions
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .find(|path| path.join("initdb").exists())
}

fn user_of(name: &str) -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
    let fields: Vec<&str> = line.split(':').collect();
    Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
}

#[test]
fn a_server_behaves() {
    let Some(server) = Server::start() else { return };
    sqlite::behaves(&server.database("one"));
    // Many writers, of which some add the same runs, begin with an empty database.
    let place = server.database("two");
    let writers: Vec<_> = (0..6u64)
        .map(|writer| {
            let place = place.clone();
            std::thread::spawn(move || {
                let mut store = Store::open(&place, Access::Write).expect("opens");
                (0..20).for_each(|number| {
                    store.add(&made::record(writer / 2 * 1000 + number)).expect("added");
                });
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().expect("ends"));
    let mut store = Store::open(&place, Access::Read).expect("opens");
    assert_eq!(store.list(&[], 1, 0).expect("listed").total, 60);
    // The view has a time that people and Grafana read.
    let mut client = server.client("two").expect("connects");
    let row =
        client.query_one("SELECT begun_utc::text, kernel FROM fathom.runs ORDER BY begun_ms LIMIT 1", &[]);
    assert!(row.expect("a row").get::<_, String>(0).starts_with("2023-11-1"));
    client.batch_execute("UPDATE fathom.schema_version SET version = 99").expect("updated");
    assert!(matches!(Store::open(&place, Access::Write), Err(Error::Newer { found: 99, .. })));
    let error = Store::open(&server.place("none"), Access::Write).err().expect("refused").to_string();
    assert!(error.contains("\"none\" does not exist"), "{error}");
}
