//! Servers for testing engines: started by the scripts in `scripts/servers`, each in its own directory, and
//! stopped at the end.

use super::program::Launch;
use super::scratch;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A running server.
pub(crate) struct Server {
    script: PathBuf,
    variables: Vec<(String, String)>,
    printed: String,
    directory: tempfile::TempDir,
}

impl Server {
    /// Starts a server with these variables; the error gives the reason why this machine has none.
    pub(crate) fn start(name: &str, variables: &[(&str, &str)]) -> Result<Server, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/servers").join(name);
        let variables =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut server = Server { script, variables, printed: String::new(), directory: scratch() };
        server.start_again()?;
        Ok(server)
    }

    /// Starts a server with large packages or a slow start, which only `make test-servers` uses.
    pub(crate) fn start_large(name: &str, variables: &[(&str, &str)]) -> Result<Server, String> {
        match std::env::var("FATHOM_TEST_SERVERS").as_deref() {
            Ok("all") => Server::start(name, variables),
            _ => Err(format!("{name} is started by make test-servers alone")),
        }
    }

    /// Restarts it at the same address after [`stop`](Server::stop).
    pub(crate) fn start_again(&mut self) -> Result<(), String> {
        let output = self
            .command("start")
            .stderr(Stdio::piped())
            .output()
            .map_err(|error| format!("{}: {error}", self.script.display()))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        self.printed = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(())
    }

    /// Ends it.
    pub(crate) fn stop(&self) {
        let stopped = self.command("stop").stdout(Stdio::null()).status();
        assert!(stopped.is_ok_and(|status| status.success()), "{} does not stop", self.script.display());
    }

    fn command(&self, word: &str) -> Command {
        let mut command = Command::new(&self.script);
        command.arg(word).arg(self.directory.path()).stdin(Stdio::null());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs another action of its script.
    #[track_caller]
    pub(crate) fn ask(&self, word: &str, arguments: &[&str]) {
        let done = self.command(word).args(arguments).stdout(Stdio::null()).status();
        assert!(done.is_ok_and(|status| status.success()), "{} does not {word}", self.script.display());
    }

    /// The value that it printed under this key at its start.
    #[track_caller]
    pub(crate) fn value(&self, key: &str) -> &str {
        let mut lines = self.printed.lines().filter_map(|line| line.split_once('='));
        let found = lines.find(|(name, _)| *name == key);
        found.unwrap_or_else(|| panic!("{} prints no {key}: {}", self.script.display(), self.printed)).1
    }

    /// A file in its directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The process recorded under this name.
    #[track_caller]
    pub(crate) fn pid(&self, tag: &str) -> u32 {
        let text = std::fs::read_to_string(self.file(&format!("{tag}.pid"))).expect("the server's pid");
        text.split_whitespace().next().and_then(|pid| pid.parse().ok()).expect("a number")
    }
}

/// The jobs in a section of docs/servers.md: its commands and its job files. They name the reader's servers, so
/// a test replaces `words` by the addresses of its own; each of the words must be present.
#[track_caller]
pub(crate) fn jobs_of_servers(section: &str, words: &[(&str, &str)]) -> Vec<Job> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/servers.md");
    let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("docs/servers.md: {error}"));
    let (_, rest) = page.split_once(&format!("\n## {section}\n")).expect("a section of the page");
    let text = rest.split("\n## ").next().unwrap_or_default().to_owned();
    let put = |text: String, (word, other): &(&str, &str)| {
        assert!(text.contains(word), "{section} has no {word}");
        text.replace(word, other)
    };
    let text = words.iter().fold(text, put).replace("\\\n", " ");
    let mut jobs = Vec::new();
    for block in text.split("```").skip(1).step_by(2) {
        match block.split_once('\n') {
            Some(("sh", lines)) => {
                let commands = lines.lines().filter_map(|line| line.strip_prefix("fathom --name="));
                jobs.extend(commands.map(|words| Job::Command(format!("--name={words}"))));
            }
            Some(("ini", lines)) => jobs.push(Job::File(lines.to_owned())),
            _ => {}
        }
    }
    jobs
}

/// A job of a page.
pub(crate) enum Job {
    /// The arguments of its command.
    Command(String),
    /// The text of its file.
    File(String),
}

impl Job {
    /// Runs it, which must succeed, in its own directory.
    #[track_caller]
    pub(crate) fn run(&self, variables: &[(&str, &str)]) {
        let directory = scratch();
        let launch = Launch::fathom(directory.path());
        let launch = variables.iter().fold(launch, |launch, (name, value)| launch.variable(name, value));
        match self {
            // Quotes are for the reader's shell.
            Job::Command(words) => {
                words.split_whitespace().fold(launch, |launch, word| launch.argument(word.replace('\'', "")))
            }
            Job::File(text) => {
                std::fs::write(directory.path().join("job.fio"), text).expect("the job");
                launch.words("job.fio")
            }
        }
        .run()
        .expect_clean();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A test that has already failed has more important information than a server that does not stop.
        let _ = self.command("stop").stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}
