//! `exec`: runs a program alongside jobs that do I/O. Each "I/O" waits a few milliseconds for the program to
//! end, which also ends the job.

use fathom_run::engine::{Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::files::FileError;
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::companion::Companion;
use fathom_sys::{Errno, file, pipe};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// Duration of one wait, after which the loop checks its orders and the time.
const STRETCH: Duration = Duration::from_millis(50);

/// Maximum length of an output line in bytes; longer lines are passed on in parts.
const LONGEST_LINE: usize = 1 << 16;
/// Number of bytes that a program may print before it blocks until the next poll.
const PIPE_BYTES: i32 = 1 << 20;

pub(crate) struct Exec {
    job: String,
    /// The words of the command: the program and its arguments.
    words: Vec<String>,
    /// Files for the program's standard output and standard error.
    output: Option<[String; 2]>,
    grace: Duration,
    program: Option<Companion>,
    /// Exit status of the program, if it ended by itself.
    ended: Option<ExitStatus>,
    /// True if the program had to be killed.
    is_killed: bool,
    /// Output of the program, unless it is redirected to files. A worker has no terminal, so the output is sent
    /// as messages of the worker.
    printed: Option<Printed>,
}

/// Output received from a program so far.
struct Printed {
    pipe: OwnedFd,
    /// Bytes received after the last complete line.
    rest: Vec<u8>,
}

impl Printed {
    /// All complete lines received so far; once the program is over, also a partial one.
    fn lines(&mut self, is_over: bool) -> Vec<String> {
        let mut bytes = [0u8; 4096];
        let pipe = self.pipe.as_raw_fd();
        // SAFETY: the array is ours.
        while let Ok(count @ 1..) = unsafe { pipe::empty(pipe, (bytes.as_mut_ptr(), bytes.len())) } {
            self.rest.extend_from_slice(&bytes[..count]);
        }
        let end = match self.rest.iter().rposition(|&byte| byte == b'\n') {
            _ if is_over => self.rest.len(),
            Some(last) => last + 1,
            None if self.rest.len() > LONGEST_LINE => self.rest.len(),
            None => 0,
        };
        let whole: Vec<u8> = self.rest.drain(..end).collect();
        String::from_utf8_lossy(&whole).lines().map(str::to_owned).collect()
    }
}

impl EngineType for Exec {
    const DEFINITION: &'static EngineDef = &engines::exec::DEFINITION;

    fn new(setup: &Setup<'_>) -> Result<Exec, SetupError> {
        let options = &setup.job.private.exec;
        let mut words = vec![options.program.clone().unwrap_or_default()];
        words.extend(options.words(setup.job));
        let job = setup.job.name.clone();
        // Each clone has its own files, so that clones do not overwrite each other's.
        let base = if setup.clone == 0 { job.clone() } else { format!("{job}.{}", setup.clone) };
        let output = options.std_redirect.then(|| [format!("{base}.stdout"), format!("{base}.stderr")]);
        let grace = Duration::from_secs(u64::from(options.grace_time));
        Ok(Exec { job, words, output, grace, program: None, ended: None, is_killed: false, printed: None })
    }
}

impl Engine for Exec {
    fn may_be_over(&self) -> bool {
        true
    }

    fn meet(&mut self, _stopped: &dyn Fn() -> bool, say: &dyn Fn(&str)) -> Result<(), FileError> {
        if self.program.is_some() {
            return Ok(());
        }
        let (job, command) = (&self.job, self.words.join(" "));
        let output = match &self.output {
            Some([output, errors]) => {
                say(&format!("{job} : Saving output of {command} : stdout={output} stderr={errors}"));
                (self.file(output)?, self.file(errors)?)
            }
            None => {
                say(&format!("{job} : Running {command}"));
                let name = Exec::DEFINITION.name;
                let (pipe, ends) = lines().map_err(|errno| FileError::of_engine(name, "pipe", errno))?;
                self.printed = Some(Printed { pipe, rest: Vec::new() });
                ends
            }
        };
        let started = Companion::start(&self.words, output).map_err(|errno| {
            let program = &self.words[0];
            FileError::of_engine(Exec::DEFINITION.name, "execvp", errno).with_message(format!(
                "fathom: job {job}: {program} cannot be run ({errno}): program= is a path, or a name to be found in PATH; it is not passed to a shell"
            ))
        })?;
        self.program = Some(started);
        Ok(())
    }

    fn queue(&mut self, _slot: u32, io: &Io) -> Queued {
        match &mut self.program {
            Some(program) => self.ended = program.wait(STRETCH),
            None => std::thread::sleep(STRETCH),
        }
        Queued::Done(i64::from(io.length()))
    }

    fn is_over(&mut self) -> Option<Result<(), FileError>> {
        let status = self.ended?;
        if status.success() {
            return Some(Ok(()));
        }
        let (job, program) = (&self.job, &self.words[0]);
        let more = match &self.output {
            Some([_, errors]) => format!("; see {errors}"),
            None => String::new(),
        };
        let errno = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        Some(Err(FileError {
            errno,
            text: Some(format!("file:fathom, func=exec, error={program} ended with {status}")),
            message: Some(format!("fathom: job {job}: {program} ended with {status}{more}")),
        }))
    }

    fn end(&mut self) {
        if let Some(program) = &mut self.program {
            self.is_killed = program.end(self.grace);
        }
        self.program = None;
    }

    fn remarks(&mut self) -> Vec<String> {
        let is_over = self.program.is_none();
        let mut lines = self.printed.as_mut().map_or_else(Vec::new, |printed| printed.lines(is_over));
        let is_killed = std::mem::take(&mut self.is_killed) && !self.grace.is_zero();
        let line = || {
            let (job, program, seconds) = (&self.job, &self.words[0], self.grace.as_secs());
            format!(
                "note: {job}: {program} was killed, because it had not ended {seconds} s after SIGTERM (grace_time)"
            )
        };
        lines.extend(is_killed.then(line));
        lines
    }
}

/// Creates a pipe for both output streams of a program; its reading end does not block.
fn lines() -> Result<(OwnedFd, (File, File)), Errno> {
    let (reader, writer) = pipe::pipe()?;
    pipe::widen(&writer, PIPE_BYTES)?;
    file::set_nonblocking(reader.as_raw_fd())?;
    let other = writer.try_clone()?;
    Ok((reader, (File::from(writer), File::from(other))))
}

impl Exec {
    fn file(&self, path: &str) -> Result<File, FileError> {
        File::create(path).map_err(|error| {
            let errno = Errno::from(error);
            FileError::of_engine(Exec::DEFINITION.name, "open", errno).with_message(format!(
                "fathom: job {}: what the program prints cannot be saved in {path} ({errno}); std_redirect=0 prints it here",
                self.job
            ))
        })
    }
}
