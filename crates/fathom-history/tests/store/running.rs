//! A real PostgreSQL, which the tests start in a separate directory.

use fathom_history::Place;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Who may connect: everybody named `me`; others over TCP with TLS, without it, or with a certificate.
const WHO: &str = "local all all trust
host all me all trust
hostssl all encrypted all trust
hostnossl all open all trust
hostssl all certified all cert
";

/// A server that ends with the test. Its socket is in its directory.
pub(crate) struct Server {
    pub(crate) directory: TempDir,
    pub(crate) process: std::process::Child,
    /// Port on 127.0.0.1 and ::1.
    pub(crate) port: u16,
}

impl Server {
    /// Starts a server, or says why there is none.
    pub(crate) fn start() -> Option<Server> {
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
        fs::write(directory.path().join("data/pg_hba.conf"), WHO).expect("written");
        let socket = directory.path().display().to_string();
        // Tests run in parallel, and the socket has the name of the port.
        let port =
            std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("has one").port();
        let process = as_user("postgres")
            .args(["-D", "data", "-k", &socket, "-p", &port.to_string(), "-c", "fsync=off"])
            .args(["-c", "listen_addresses=127.0.0.1,::1"])
            .spawn()
            .expect("starts");
        let server = Server { directory, process, port };
        let started = Instant::now();
        while server.client("postgres").is_none() {
            assert!(started.elapsed() < Duration::from_secs(30), "the server does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(server)
    }

    pub(crate) fn client(&self, database: &str) -> Option<postgres::Client> {
        let mut config = postgres::Config::new();
        config.host_path(self.directory.path()).port(self.port).user("me").dbname(database);
        config.connect(postgres::NoTls).ok()
    }

    pub(crate) fn url(&self, database: &str) -> String {
        let host = self.directory.path().display().to_string().replace('/', "%2F");
        format!("postgres://me@{host}:{}/{database}", self.port)
    }

    pub(crate) fn place(&self, database: &str) -> Place {
        Place::parse(OsStr::new(&self.url(database))).expect("a place")
    }

    /// A place over TCP. `what` is what follows the host.
    pub(crate) fn over_tcp(&self, user: &str, host: &str, what: &str) -> Result<Place, String> {
        let url = format!("postgres://{user}@{host}:{}/{what}", self.port);
        Place::parse(OsStr::new(&url)).map_err(|error| error.to_string())
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(name, self.process.id());
    }

    pub(crate) fn database(&self, name: &str) -> Place {
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
        let own = self.process.id();
        self.signal("INT");
        // A test may have stopped some of them.
        let children = fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
        for process in children.split_whitespace().chain([own.to_string().as_str()]) {
            let _ = Command::new("kill").args(["-CONT", process]).stderr(Stdio::null()).status();
        }
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

pub(crate) fn signal(name: &str, process: u32) {
    let sent = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "kill -{name}");
}
