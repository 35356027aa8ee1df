//! The `exec` engine and its options.

use crate::declare::options;
use crate::definition::{Bounds, Names};
use crate::diagnostic::Rejected;
use crate::engines::{BackgroundLoad, EngineDef, Review, have_no_end};
use crate::spec::JobSpec;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "exec";

/// `ioengine=exec`
pub const DEFINITION: EngineDef = EngineDef::new(ENGINE, "runs a program")
    .built()
    .synchronous()
    .without_files()
    .one_thread()
    .background(load)
    .with_options(TABLE)
    .with_rules(&[demand_a_program]);

options! {
    /// Options of the `exec` engine.
    pub struct ExecOptions in Engine, table TABLE;

    /// Program to run (required)
    Built Text program: Option<String>, { names: Names::Program, engine: ENGINE };

    /// Arguments of the program, separated by spaces; %r is the runtime in seconds, %n the job name
    Built Text arguments: Option<String>, { names: Names::Program, parent: Some("program"), engine: ENGINE };

    /// Seconds between SIGTERM and SIGKILL
    Built Int grace_time: u32 = "1", { parent: Some("program"), bounds: Bounds::at_least(0.0), engine: ENGINE };

    /// Redirect stdout and stderr to files
    Built Bool std_redirect: bool = "1", { parent: Some("program"), engine: ENGINE };
}

impl ExecOptions {
    /// The arguments of the program. They are not passed to a shell, so quotation marks are ordinary characters.
    pub fn words(&self, job: &JobSpec) -> Vec<String> {
        let seconds = job.time.runtime.as_secs().to_string();
        let text = self.arguments.as_deref().unwrap_or_default();
        text.split_whitespace().map(|word| expanded(word, &seconds, &job.name)).collect()
    }
}

/// A word with its `%r` and `%n` expanded.
fn expanded(word: &str, seconds: &str, name: &str) -> String {
    let mut whole = String::new();
    let mut rest = word;
    while let Some(place) = rest.find('%') {
        let (before, after) = rest.split_at(place);
        let (put, used) = match after.as_bytes().get(1) {
            Some(b'r') => (seconds, 2),
            Some(b'n') => (name, 2),
            _ => ("%", 1),
        };
        whole += before;
        whole += put;
        rest = &after[used..];
    }
    whole + rest
}

fn load(job: &JobSpec) -> BackgroundLoad {
    let options = &job.private.exec;
    let program = options.program.as_deref().unwrap_or_default();
    let arguments = options.arguments.as_deref().unwrap_or_default();
    let header = format!("{} : program={program}, arguments={arguments}", job.name);
    BackgroundLoad { header, follows_io: false }
}

/// Derives settings from the job's program: an unlimited run time.
fn demand_a_program(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if job.private.exec.program.as_deref().unwrap_or_default().trim().is_empty() {
        let problem = format!("job {}: ioengine=exec needs program=, the program to run", job.name);
        return Err(review.refuse_in_our_words(&job.origin, problem));
    }
    have_no_end(job);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::expanded;
    use crate::resolve::testing::{quiet_job, refusal};

    #[test]
    fn arguments_are_words_and_some_are_filled_in() {
        let job = quiet_job("--name=a --ioengine=exec --program=/bin/sleep --runtime=90 --arguments=%r");
        assert_eq!(job.private.exec.words(&job), ["90"]);
        assert_eq!(expanded("100%_%n-%%r%q%", "7", "a job"), "100%_a job-%7%q%");
    }

    #[test]
    fn a_program_is_needed() {
        assert!(refusal("--name=a --ioengine=exec").contains("needs program="));
    }
}
