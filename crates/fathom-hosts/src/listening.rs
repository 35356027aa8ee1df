//! A process that listens and has one process more for each controller that connects: jobs need a process with one thread, and
//! what happens to one controller's does not concern another's.

use crate::links::tcp::Listener;
use fathom_sys::process;
use fathom_sys::signal::SignalQueue;
use fathom_sys::socket::{Awaited, wait_for_any_of_many};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Longest time between two looks.
const LOOK: Duration = Duration::from_millis(250);
/// Controllers at a time.
const MOST_CONTROLLERS: usize = 64;

/// What becomes of runs when the process that listens is told to end. It waits for them in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtEnd {
    /// They are told to end, too.
    RunsAreStopped,
    /// They go on to their own end.
    RunsEndThemselves,
}

/// Listens until a signal ends it. `serve` gives the command that serves a connection on its standard input. `say` gets a line on
/// each one that cannot be served.
pub fn listen(
    listener: &Listener,
    signals: &SignalQueue,
    at_end: AtEnd,
    serve: &dyn Fn(&str) -> Command,
    say: &mut dyn FnMut(&str),
) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    let mut at_end = at_end;
    let mut children: Vec<Child> = Vec::new();
    let mut is_ending = false;
    loop {
        // What cannot be asked is gone.
        children.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        if signals.asked_to_end().is_some() {
            is_ending = true;
        }
        if is_ending && at_end == AtEnd::RunsAreStopped {
            at_end = AtEnd::RunsEndThemselves;
            children.iter().for_each(|child| process::kill(child.id(), libc::SIGTERM));
        }
        if is_ending && children.is_empty() {
            return Ok(());
        }
        while let Ok((socket, from)) = listener.accept() {
            if is_ending || children.len() >= MOST_CONTROLLERS {
                say(&format!(
                    "{from} was turned away: {MOST_CONTROLLERS} are served already, or the end has come"
                ));
                continue;
            }
            let mut command = serve(&from);
            match command.stdin(Stdio::from(socket.into_descriptor())).spawn() {
                Ok(child) => children.push(child),
                Err(error) => say(&format!("{from} cannot be served: no process: {error}")),
            }
        }
        let own = [listener.descriptor(), signals.descriptor()];
        let awaited: Vec<Awaited> =
            own.into_iter().map(|socket| Awaited { socket, to_send: false }).collect();
        wait_for_any_of_many(&awaited, LOOK);
    }
}
