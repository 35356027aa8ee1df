//! The terminal of a view: acquired, drawn on, and always restored. Keys still send signals, so Ctrl-C and
//! Ctrl-Z work as usual. Output printed during the view goes to the normal screen line by line, so that it is
//! not lost if the program is killed.

use crate::keys::{Key, KeyReader};
use crate::look::Look;
use crate::view::View;
use fathom_stats::live::{LiveDetails, LiveTick};
use fathom_sys::Errno;
use fathom_sys::terminal::{Mode, read_typed, size};
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::style::{ResetColor, SetAttribute, force_color_output};
use ratatui::crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use std::io::{self, BufWriter, IsTerminal, Stdout};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Mutex;

/// Size assumed for a terminal of unknown size, such as a serial line.
const SIZE_UNTOLD: (u16, u16) = (80, 24);
/// Size of the output buffer in bytes. The largest common screen fits, so one write suffices.
const SCREEN_BYTES: usize = 1 << 16;

/// The terminal in use and its previous mode.
static TAKEN: Mutex<Option<(RawFd, Mode)>> = Mutex::new(None);

/// Restores the terminal if it is in use: normal screen, cursor, keys.
pub fn restore() {
    let taken = match TAKEN.try_lock() {
        Ok(mut taken) => taken.take(),
        Err(std::sync::TryLockError::Poisoned(poisoned)) => poisoned.into_inner().take(),
        // If the lock is held, another caller is restoring the terminal.
        Err(std::sync::TryLockError::WouldBlock) => None,
    };
    if let Some((terminal, mode)) = taken {
        // An error is ignored, because a terminal that no longer exists needs no restoring.
        let _ = execute!(io::stdout(), ResetColor, Show, LeaveAlternateScreen);
        let _ = mode.apply(terminal);
    }
}

/// A view on the terminal of standard output.
pub struct LiveTerminal {
    view: View,
    screen: Screen,
    /// Source of key presses: standard input, or the terminal of standard output if standard input is not a
    /// terminal.
    input: Option<RawFd>,
    keys: KeyReader,
}

type Screen = Terminal<CrosstermBackend<BufWriter<Stdout>>>;

impl LiveTerminal {
    /// Takes control of the terminal. Fails if standard output is not a terminal.
    pub fn take_over(look: Look) -> Result<LiveTerminal, Errno> {
        let stdout = io::stdout();
        let stdin = io::stdin();
        let input = if stdin.is_terminal() { stdin.as_raw_fd() } else { stdout.as_raw_fd() };
        // The library's default depends on the environment, but on fewer of its variables than `Look`, so it is
        // replaced.
        force_color_output(look.colours);
        take(input)?;
        let screen = screen(area())?;
        let mut live =
            LiveTerminal { view: View::new(look), screen, input: Some(input), keys: KeyReader::default() };
        live.draw();
        Ok(live)
    }

    /// Returns the source of key presses; `None` once no more keys can arrive.
    pub fn input(&self) -> Option<RawFd> {
        self.input
    }

    /// Reads keys and applies them to the view; returns true if one of them stops the run.
    pub fn take_keys(&mut self) -> bool {
        let mut bytes = [0; 64];
        let Some(Ok(count)) = self.input.map(|input| read_typed(input, &mut bytes)) else {
            self.input = None;
            return false;
        };
        let keys = self.keys.read(&bytes[..count]);
        if keys.is_empty() {
            return false;
        }
        let height = area().height;
        keys.iter().for_each(|&key| self.view.press(key, height));
        self.draw();
        keys.contains(&Key::Stop)
    }

    /// Shows the figures of a new tick.
    pub fn advance(&mut self, tick: &LiveTick, details: &LiveDetails) {
        self.view.advance(tick, details);
        self.draw();
    }

    /// Shows a message, and runs `print`, which writes the message to the normal screen.
    pub fn message(&mut self, text: &str, print: impl FnOnce()) {
        self.view.add_message(text);
        self.aside(print);
    }

    /// Runs `print` on the normal screen.
    pub fn aside(&mut self, print: impl FnOnce()) {
        let _ = execute!(io::stdout(), ResetColor, LeaveAlternateScreen);
        print();
        let _ = execute!(io::stdout(), EnterAlternateScreen);
        self.redraw();
    }

    /// Redraws everything after a change of size or after other output on the terminal.
    pub fn redraw(&mut self) {
        if let Ok(screen) = screen(area()) {
            self.screen = screen;
        }
        self.draw();
    }

    /// Takes control of the terminal again after [`restore`] or after the program was suspended.
    pub fn resume(&mut self) {
        if let Some(input) = self.input {
            // An error is ignored, because the view also works without reading single keys.
            let _ = take(input);
        }
        self.redraw();
    }

    /// Draws the changes.
    fn draw(&mut self) {
        let view = &self.view;
        // An error is ignored, because the next tick draws again.
        let _ = self.screen.draw(|frame| view.draw(frame.buffer_mut()));
    }
}

impl Drop for LiveTerminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Switches to the alternate screen, hides the cursor, and reads individual keys.
fn take(input: RawFd) -> Result<(), Errno> {
    let mut taken = TAKEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let before = match &*taken {
        Some((_, mode)) => mode.clone(),
        None => Mode::of(input)?,
    };
    let single_keys = before.with_single_keys();
    *taken = Some((input, before));
    single_keys.apply(input)?;
    execute!(io::stdout(), EnterAlternateScreen, Hide).map_err(Errno::from)
}

/// Returns the area of the whole terminal.
fn area() -> Rect {
    let (width, height) = size(io::stdout().as_raw_fd()).unwrap_or(SIZE_UNTOLD);
    Rect::new(0, 0, width, height)
}

/// Creates an empty screen of this size. The size is fixed because automatic detection may start processes.
fn screen(area: Rect) -> Result<Screen, Errno> {
    execute!(io::stdout(), SetAttribute(ratatui::crossterm::style::Attribute::Reset), Clear(ClearType::All))
        .map_err(Errno::from)?;
    let backend = CrosstermBackend::new(BufWriter::with_capacity(SCREEN_BYTES, io::stdout()));
    Terminal::with_options(backend, TerminalOptions { viewport: Viewport::Fixed(area) }).map_err(Errno::from)
}
