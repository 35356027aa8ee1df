//! The commands, each of which answers one question: how fast is this disk, which setting is best, is it slower
//! than yesterday, what does this result mean. They use the same job files, run loop and results as ordinary
//! jobs. Each command is one folder and one entry in the list [`COMMANDS`]. Commands that run jobs do so
//! through a [`Runner`], which the program implements; commands that read results do so with `fathom-results`.

#![forbid(unsafe_code)]
mod bars;
mod base_job;
mod characterize;
mod checks;
mod columns;
mod compare;
mod curve;
mod device;
mod evidence;
mod explain;
mod figures;
mod fsync_check;
mod hardware;
mod history;
mod hosts;
mod job_text;
mod judgement;
mod keeper;
mod loads;
mod measures;
mod model;
mod output;
mod pts;
mod quick;
mod record;
mod rehearse;
mod report;
mod results_file;
mod runner;
mod running;
mod shapes;
mod show;
mod sweep;
mod table;

pub use history::pages::{
    HISTORY_SCRIPT, HISTORY_STYLE, HistoryContent, HistoryPage, HistoryQuery, history_page,
};
pub use judgement::{Judged, judge};
pub use keeper::Keeper;
pub use runner::{Ended, Runner, Target, Watch};

use fathom_command::{Failure, Streams};
use std::ffi::OsString;

/// Entry point of a command: takes its arguments, output streams, and the runner of jobs; returns the exit code.
pub type CommandMain = fn(&[OsString], &mut Streams<'_>, &mut dyn Runner) -> Result<u8, Failure>;

/// A command for people.
pub struct Command {
    /// The command word after `fathom`.
    pub name: &'static str,
    /// Synopsis of the command's arguments, for the list of commands.
    pub arguments: &'static str,
    /// The question that the command answers, on one line.
    pub summary: &'static str,
    /// Output of `fathom NAME --help`.
    pub help: &'static str,
    /// Entry point.
    pub run: CommandMain,
}

/// All commands, in the order in which users see them listed.
pub const COMMANDS: &[Command] = &[
    quick::COMMAND,
    fsync_check::COMMAND,
    sweep::COMMAND,
    curve::COMMAND,
    record::COMMAND,
    characterize::COMMAND,
    model::COMMAND,
    rehearse::COMMAND,
    pts::COMMAND,
    compare::COMMAND,
    report::COMMAND,
    show::COMMAND,
    explain::COMMAND,
    history::COMMAND,
];

/// The command of this name.
pub fn by_name(word: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name == word)
}

impl Command {
    /// Runs the command and returns the exit code. A closed output pipe is not a failure.
    pub fn run(&self, words: &[OsString], streams: &mut Streams<'_>, runner: &mut dyn Runner) -> u8 {
        let name = format!("fathom {}", self.name);
        fathom_command::call(&name, Some(self.help), words, streams, |words, streams| {
            (self.run)(words, streams, runner)
        })
    }
}
