//! `exec_prerun` and `exec_postrun`: user commands before and after a clone's I/O.

use super::{GivenUp, WorkerContext};
use crate::cause::Cause;
use crate::message::Message;
use crate::region::Stage;
use fathom_errors::plain;
use fathom_sys::{Errno, shell};
use std::fs::File;

/// Runs the command before the I/O. Fails if the clone must not run afterwards.
pub(super) fn before(context: &WorkerContext<'_>) -> Result<(), GivenUp> {
    match &context.worker_plan().command_before {
        Some(command) => run(context, command, "prerun"),
        None => Ok(()),
    }
}

/// Runs the command after the I/O. Its exit status does not affect the job.
pub(super) fn after(context: &WorkerContext<'_>) {
    if let Some(command) = &context.worker_plan().command_after {
        context.set_stage(Stage::PostRun);
        let _ = run(context, command, "postrun");
    }
}

fn run(context: &WorkerContext<'_>, command: &str, when: &str) -> Result<(), GivenUp> {
    let name = &context.worker_plan().name;
    let cause = if when == "prerun" { Cause::EXEC_PRERUN } else { Cause::EXEC_POSTRUN };
    let path = format!("{name}.{when}.txt");
    context.messages.send(&Message::Output(format!("{name} : Saving output of {when} in {path}")));
    let output = match File::create(&path) {
        Ok(output) => output,
        Err(error) => {
            context.messages.send(&Message::Error(format!(
                "fathom: job {name}: the output of exec_{when} cannot be saved in {path}: {error}",
                error = plain(&error)
            )));
            return Err(context.fail(Errno::from(error), cause));
        }
    };
    // Stopping a run ends only the pre-run command: the post-run command is part of the run even if the run was
    // stopped.
    let stopped = || when == "prerun" && context.block().should_stop();
    match shell::run(command, &output, stopped) {
        Ok(status) if status.success() => Ok(()),
        Ok(_) if stopped() => Err(GivenUp),
        Ok(status) => {
            let consequence = if when == "prerun" { "; the job does not run" } else { "" };
            context.messages.send(&Message::Error(format!(
                "fathom: job {name}: exec_{when} ended with {status}{consequence}; see {path}"
            )));
            Err(GivenUp)
        }
        Err(error) => Err(context.fail(Errno::from(error), cause)),
    }
}
