//! A program on its own terminal: its output is drawn on a screen, and keys and sizes are sent to it.

use super::{PATIENCE, processes};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Poll interval of the screen.
const POLL: Duration = Duration::from_millis(10);

/// The shell's output before the exit code of the program.
const END: &str = "the program has ended with ";

/// A program on a terminal. If dropped before its end, it is killed together with its descendants.
pub(crate) struct OnTerminal {
    child: Child,
    master: File,
    /// Kept open, so that the terminal outlives the program and can be examined.
    terminal: File,
    seen: Arc<Mutex<Seen>>,
}

/// The program's output.
struct Seen {
    bytes: Vec<u8>,
    parser: vt100::Parser,
}

/// A snapshot of a screen.
pub(crate) struct Picture {
    /// The rows, without trailing spaces.
    pub(crate) rows: Vec<String>,
    /// The program shows the alternate screen.
    pub(crate) is_alternate: bool,
    pub(crate) has_cursor: bool,
    /// True if a row continues on the next, as overlong rows do.
    pub(crate) is_wrapped: bool,
}

impl Picture {
    pub(crate) fn text(&self) -> String {
        self.rows.join("\n")
    }

    /// The words of the first row with this beginning; empty if there is none.
    pub(crate) fn words(&self, start: &str) -> Vec<String> {
        let row = self.rows.iter().find(|row| row.starts_with(start));
        row.map(|row| row.split_whitespace().map(str::to_owned).collect()).unwrap_or_default()
    }

    /// Number of rows with this beginning.
    pub(crate) fn count(&self, start: &str) -> usize {
        self.rows.iter().filter(|row| row.starts_with(start)).count()
    }
}

impl OnTerminal {
    /// Starts `program` with these arguments on a terminal of this size; `input` replaces the terminal as its
    /// standard input.
    pub(crate) fn start(
        program: &Path,
        directory: &Path,
        (width, height): (u16, u16),
        environment: &[(&str, &str)],
        words: &str,
        input: Option<&Path>,
    ) -> OnTerminal {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("a terminal can be made");
        grantpt(&master).expect("the terminal can be granted");
        unlockpt(&master).expect("the terminal can be unlocked");
        let terminal = File::from(ioctl_tiocgptpeer(&master, flags).expect("the terminal can be opened"));
        tcsetwinsize(&terminal, size(width, height)).expect("the terminal has a size");
        let stream = || Stdio::from(terminal.try_clone().expect("the terminal can be shared"));
        // The shell leads the session, so that the terminal still exists when the program has ended.
        let from = input.map_or(String::new(), |path| format!("< '{}'", path.display()));
        let script = format!("trap : INT QUIT TSTP; \"$0\" \"$@\" {from}; echo \"{END}$?\"; sleep 1000");
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--", "/bin/sh", "-c", &script]).arg(program).args(words.split_whitespace());
        command.env_remove("NO_COLOR").env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8");
        command.envs(environment.iter().copied()).current_dir(directory);
        command.stdin(stream()).stdout(stream()).stderr(stream());
        let child = command.spawn().expect("setsid can be run");
        let parser = vt100::Parser::new(some(height), some(width), 0);
        let seen = Arc::new(Mutex::new(Seen { bytes: Vec::new(), parser }));
        let master = File::from(master);
        collect(master.try_clone().expect("the terminal can be shared"), Arc::clone(&seen));
        OnTerminal { child, master, terminal, seen }
    }

    /// Process ID of the program.
    #[track_caller]
    pub(crate) fn pid(&self) -> u32 {
        *processes::descendants(self.child.id()).first().expect("the program runs")
    }

    pub(crate) fn signal(&self, name: &str) {
        processes::signal(self.pid(), name);
    }

    /// Types.
    pub(crate) fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Changes the size of the terminal, which notifies the program.
    pub(crate) fn resize(&mut self, width: u16, height: u16) {
        let mut seen = self.seen.lock().expect("no reader panics");
        seen.parser.screen_mut().set_size(some(height), some(width));
        tcsetwinsize(&self.terminal, size(width, height)).expect("the terminal has a size");
    }

    pub(crate) fn picture(&self) -> Picture {
        let seen = self.seen.lock().expect("no reader panics");
        let screen = seen.parser.screen();
        let (height, width) = screen.size();
        Picture {
            rows: screen.rows(0, width.get()).map(|row| row.trim_end().to_owned()).collect(),
            is_alternate: screen.alternate_screen(),
            has_cursor: !screen.hide_cursor(),
            is_wrapped: (0..height.get()).any(|row| screen.row_wrapped(row)),
        }
    }

    /// Everything written so far.
    pub(crate) fn transcript(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().expect("no reader panics").bytes).into_owned()
    }

    /// Waits until the screen satisfies the condition.
    #[track_caller]
    pub(crate) fn wait_for(&self, what: &str, condition: impl Fn(&Picture) -> bool) -> Picture {
        let started = Instant::now();
        loop {
            let picture = self.picture();
            if condition(&picture) {
                return picture;
            }
            assert!(started.elapsed() < PATIENCE, "{what} does not come; the screen is\n{}", picture.text());
            sleep(POLL);
        }
    }

    /// Waits until the program has ended; returns its exit code as reported by the shell.
    #[track_caller]
    pub(crate) fn wait_for_end(&mut self) -> i32 {
        let started = Instant::now();
        loop {
            let transcript = self.transcript();
            let told = transcript.rsplit_once(END).and_then(|(_, rest)| rest.split_once('\r'));
            if let Some((code, _)) = told {
                return code.parse().expect("a code");
            }
            assert!(started.elapsed() < PATIENCE, "no end; the screen is\n{}", self.picture().text());
            sleep(POLL);
        }
    }

    /// True if keys are echoed and delivered line by line, as shells expect.
    pub(crate) fn has_usual_keys(&self) -> bool {
        let mode = tcgetattr(&self.terminal).expect("a terminal has a mode").local_modes;
        mode.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            processes::kill_tree(self.child.id());
            let _ = self.child.wait();
        }
    }
}

/// Draws received output on the screen until the terminal is gone.
fn collect(mut master: File, seen: Arc<Mutex<Seen>>) {
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = master.read(&mut buffer) {
            let mut seen = seen.lock().expect("no other thread panics with it");
            seen.bytes.extend_from_slice(&buffer[..count]);
            seen.parser.process(&buffer[..count]);
        }
    });
}

fn size(width: u16, height: u16) -> Winsize {
    Winsize { ws_row: height, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 }
}

fn some(length: u16) -> NonZeroU16 {
    NonZeroU16::new(length).expect("no terminal is that small")
}
