//! The documentation as its readers use it: every command on the user pages is run in the order of the page.

use crate::support::page::{self, Command, Commands, Step};
use crate::support::program::{self, Launch};
use crate::support::terminal::OnTerminal;
use crate::support::{scratch, skip};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A command of the documentation takes seconds, but this machine may be busy.
const LIMIT: Duration = Duration::from_secs(300);
const TERMINAL: (u16, u16) = (80, 24);
/// Enters the alternate screen.
const OWN_SCREEN: &str = "\x1b[?1049h";

/// The environment of a page's reader: a directory, and `fathom` in `PATH`.
struct Reader {
    page: &'static str,
    /// Contains the two directories below.
    scratch: tempfile::TempDir,
    directory: PathBuf,
    programs: PathBuf,
}

impl Reader {
    fn new(page: &'static str) -> Reader {
        let scratch = scratch();
        let [directory, programs] = ["work", "bin"].map(|name| scratch.path().join(name));
        for path in [&directory, &programs] {
            std::fs::create_dir(path).expect("a directory can be made");
        }
        std::os::unix::fs::symlink(program::path(), programs.join("fathom")).expect("a link can be made");
        Reader { page, scratch, directory, programs }
    }

    /// The shell's exit status and all output of the command.
    #[track_caller]
    fn type_in(&self, command: &str) -> (i32, String) {
        let path = std::env::var("PATH").unwrap_or_default();
        let finished = Launch::of(Path::new("/usr/bin/env"), &self.directory)
            .argument(format!("PATH={}:{path}", self.programs.display()))
            .argument("LC_ALL=C.UTF-8")
            // Each command has another shell, so what a page exports is gone; and the user's own history is not theirs.
            .argument(format!("FATHOM_HISTORY={}", self.directory.join("history.db").display()))
            .words("/bin/sh -c")
            .argument(command)
            .timeout(LIMIT)
            .run();
        (finished.code(), finished.stdout + &finished.stderr)
    }

    /// Runs the command on a terminal, for views that need one.
    #[track_caller]
    fn type_in_on_terminal(&self, command: &str) -> (i32, String) {
        let words = command.split(" # ").next().unwrap_or_default().trim_end();
        let words = words.strip_prefix("fathom ").expect("only fathom needs a terminal");
        assert!(!words.contains(['"', '\'', '$', '*', '|']), "these words need a shell: {words}");
        let program = self.programs.join("fathom");
        let mut terminal = OnTerminal::start(&program, &self.directory, TERMINAL, &[], words, None);
        let code = terminal.wait_for_end();
        let transcript = terminal.transcript();
        assert!(transcript.contains(OWN_SCREEN), "{words}: there was no view in\n{transcript}");
        (code, transcript)
    }

    #[track_caller]
    fn follow(&self, command: &Command, line: usize) -> String {
        let (code, output) = match command.text.contains("--live") {
            true => self.type_in_on_terminal(&command.text),
            false => self.type_in(&command.text),
        };
        let place = format!("{}:{line}: {}", self.page, command.text);
        assert_eq!(code, command.exit_code, "{place}\n{output}");
        if let Some(file) = &command.writes {
            let length = std::fs::metadata(self.directory.join(file)).map(|file| file.len());
            assert!(length.is_ok_and(|length| length > 0), "{place}: there is no {file}\n{output}");
        }
        output
    }

    /// Runs a block; its output must have the shape shown on the page.
    #[track_caller]
    fn follow_all(&self, block: &Commands) {
        for command in &block.first {
            let (code, output) = self.type_in(command);
            assert_eq!(code, 0, "{}:{}: {command}\n{output}", self.page, block.line);
        }
        let output: String = block.commands.iter().map(|command| self.follow(command, block.line)).collect();
        let shape = page::shape(&output);
        for line in &block.shown {
            let fixed = page::fixed_part(line);
            assert!(
                shape.contains(&fixed),
                "{}:{}: the page shows\n{line}\nand nothing says {fixed:?} in\n{output}",
                self.page,
                block.line
            );
        }
    }

    /// Files left by the commands are mentioned on the page, so that the reader can remove them.
    fn check_what_is_left(&self, text: &str) {
        let entries = std::fs::read_dir(&self.directory).expect("the directory can be read");
        for entry in entries {
            let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            assert!(text.contains(&name), "{} does not speak of the file {name} that it leaves", self.page);
        }
    }
}

/// The machine has what the jobs on a page need.
fn suits(reader: &Reader, text: &str) -> Result<(), String> {
    let asked = |words| text.contains(words);
    let engine = if asked("io_uring") { "io_uring" } else { "psync" };
    let direct = u8::from(asked("direct=1"));
    let words =
        format!("--name=probe --filename=probe --size=4k --rw=read --ioengine={engine} --direct={direct}");
    let finished = Launch::fathom(reader.scratch.path()).words(&words).run();
    match finished.code() {
        0 => Ok(()),
        _ => Err(format!("{engine} with direct={direct} cannot be used here: {}", finished.stderr.trim())),
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reports what is skipped, bypassing the capture of the test runner.
fn tell(text: &str) {
    // A closed standard error must not turn a skip into a failure.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

macro_rules! pages {
    ($($name:ident: $path:literal,)*) => {
        /// The pages whose commands are run.
        const PAGES: &[&str] = &[$($path),*];

        $(#[test]
        fn $name() {
            fathom_only!();
            let text = std::fs::read_to_string(repository().join($path)).expect("the page is there");
            let reader = Reader::new($path);
            require!(suits(&reader, &text));
            let mut tried = 0;
            for step in page::steps(&text) {
                match step {
                    Step::File { name, content } => {
                        std::fs::write(reader.directory.join(name), content).expect("a file can be written");
                    }
                    Step::Commands(block) => {
                        if let Some(Err(reason)) = block.needs.as_deref().map(skip::tool) {
                            fathom_skip::record(&format!("{}:{}: {reason}", $path, block.line));
                            continue;
                        }
                        reader.follow_all(&block);
                        tried += block.commands.len();
                    }
                    Step::NotRun { line, reason } => tell(&format!("NOT RUN {}:{line}: {reason}\n", $path)),
                }
            }
            assert!(tried > 0, "{} has no command that a test can run", $path);
            reader.check_what_is_left(&text);
        })*
    };
}

pages! {
    readme: "README.md",
    the_guide: "docs/guide.md",
    quick: "docs/quick.md",
    report_and_show: "docs/report.md",
    explain: "docs/explain.md",
    verdict: "docs/verdict.md",
    compare: "docs/compare.md",
    history: "docs/history.md",
    sweep: "docs/sweep.md",
    curve: "docs/curve.md",
    pts: "docs/pts.md",
    live: "docs/live.md",
    metrics: "docs/metrics.md",
    serve: "docs/serve.md",
    storage_servers: "docs/servers.md",
    networks: "docs/network.md",
    pipes_programs_extents: "docs/local.md",
    network_file_systems: "docs/mounts.md",
    many_hosts: "docs/hosts.md",
}

#[test]
fn every_page_of_a_command_is_tried() {
    let docs = std::fs::read_dir(repository().join("docs")).expect("there is documentation");
    let names = docs.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let of_commands = [
        "guide", "quick", "report", "explain", "verdict", "compare", "sweep", "curve", "pts", "live",
        "metrics", "serve",
    ];
    let pages = names.filter(|name| of_commands.iter().any(|command| name.starts_with(command)));
    for page in pages.map(|name| format!("docs/{name}")) {
        assert!(
            PAGES.contains(&page.as_str()),
            "the commands of {page} are tried nowhere; add it to the list"
        );
    }
}

#[test]
fn the_first_run_leaves_a_page_and_nothing_else() {
    fathom_only!();
    require!(skip::tool("cargo"));
    let directory = scratch();
    let finished = Launch::of(Path::new("/usr/bin/env"), directory.path())
        .argument(format!("FATHOM_RUN_PROGRAM={}", program::path().display()))
        .argument(format!("CARGO_TARGET_DIR={}", directory.path().display()))
        .argument(repository().join("scripts/run.sh"))
        .words("--size=16m --time=100ms")
        .timeout(LIMIT)
        .run();
    assert_eq!(finished.code(), 0, "{}{}", finished.stdout, finished.stderr);
    let page = directory.path().join("quick.html");
    let last = finished.stdout.lines().last().unwrap_or_default();
    assert!(last.ends_with(&format!("xdg-open {}", page.display())), "{}", finished.stdout);
    let text = std::fs::read_to_string(page).expect("the page is there");
    assert!(text.contains("How fast is this disk?") && text.contains("read-rand-4k-d32"));
    assert!(!text.contains(&directory.path().join("quick.").display().to_string()), "names what is gone");
    assert_eq!(std::fs::read_dir(directory.path()).map(Iterator::count).ok(), Some(1));
}
