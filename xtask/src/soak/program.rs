//! Runs fathom with a time limit.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum time of a run on a working machine, even under load.
const PATIENCE: Duration = Duration::from_secs(180);

/// The program under test.
pub(crate) struct Program(PathBuf);

/// The output of a run, and its exit status.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) status: ExitStatus,
}

impl Finished {
    pub(crate) fn is_success(&self) -> bool {
        self.status.success()
    }

    /// All the information a person needs to understand the run.
    pub(crate) fn told(&self, words: &str) -> String {
        let start = |text: &str| text.chars().take(4000).collect::<String>();
        format!(
            "  {words}\n  {}\n  stderr: {}\n  stdout: {}",
            self.status,
            start(&self.stderr),
            start(&self.stdout)
        )
    }
}

/// A run in progress.
pub(crate) struct Running {
    child: Child,
    pipes: [JoinHandle<String>; 2],
    words: String,
}

impl Program {
    pub(crate) fn new(path: &Path) -> Result<Program, String> {
        match path.exists() {
            true => Ok(Program(path.to_path_buf())),
            false => Err(format!("soak: {} is missing; cargo build --release makes it", path.display())),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Starts it in a directory.
    pub(crate) fn start(&self, directory: &Path, words: &str) -> Result<Running, String> {
        let mut command = Command::new(&self.0);
        command.args(words.split_whitespace());
        Running::of(command, directory, words)
    }

    /// Starts it below a shell that has set limits for it.
    pub(crate) fn start_limited(
        &self,
        directory: &Path,
        limit: &str,
        words: &str,
    ) -> Result<Running, String> {
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("{limit} && exec \"$0\" \"$@\""))
            .arg(&self.0)
            .args(words.split_whitespace());
        Running::of(command, directory, &format!("{limit}; {words}"))
    }

    /// Runs it to completion.
    pub(crate) fn run(&self, directory: &Path, words: &str) -> Result<Finished, String> {
        self.start(directory, words)?.finish()
    }
}

impl Running {
    fn of(mut command: Command, directory: &Path, words: &str) -> Result<Running, String> {
        command.current_dir(directory).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("  {words}: cannot be started: {error}"))?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let pipes = [collect(stdout), collect(stderr)];
        Ok(Running { child, pipes, words: words.to_owned() })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end; the error means that the run does not end.
    pub(crate) fn finish(mut self) -> Result<Finished, String> {
        let begun = Instant::now();
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if begun.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(2)),
                Ok(None) => {
                    // The program's children die with it.
                    let _ = self.child.kill();
                    let _ = self.child.wait();
                    return Err(format!("  {}: still running after {} s", self.words, PATIENCE.as_secs()));
                }
                Err(error) => return Err(format!("  {}: {error}", self.words)),
            }
        };
        let [stdout, stderr] = self.pipes.map(|pipe| pipe.join().unwrap_or_default());
        Ok(Finished { stdout, stderr, status })
    }
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // The output up to then is worth reporting.
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
