//! Verification errors: counted, reported, and saved to files.

use super::threads::Task;
use super::{StartOfPass, Verifier, Worker, WorkerContext};
use crate::cause::Cause;
use crate::message::Message;
use crate::plan::model::verify::VerifyPlan;
use crate::region::WorkerBlock;
use crate::storage::OpenFile;
use crate::verify::history::{History, Record, State};
use fathom_errors::plain;
use fathom_stats::samples::bump;
use fathom_sys::Errno;
use fathom_verify::check::{Fragment, Mismatch, Problem, check_fragment};
use fathom_verify::header::Header;
use fathom_verify::rule::Rule;
use fathom_verify::stamp::{Write, stamp};
use fathom_verify::verdict::{self, Suspect, Verdict, classify};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Maximum number of mismatches printed individually; the file lists more.
const MOST_TOLD: u64 = 100;
/// Maximum number of mismatches in the file.
const MOST_LISTED: u64 = 100_000;

/// The counters and the miscompare file of one worker.
pub(super) struct Findings<'a> {
    pub(super) block: &'a WorkerBlock,
    path: PathBuf,
    file: Option<File>,
    found: u64,
    /// Number of checked bytes that may come from memory; `None` if unknown.
    pub(super) in_memory: Option<u64>,
}

impl<'a> Findings<'a> {
    pub(super) fn new(context: &WorkerContext<'a>, plan: &VerifyPlan) -> Findings<'a> {
        Findings {
            block: context.block(),
            path: plan.miscompare_file.clone(),
            file: None,
            found: 0,
            in_memory: Some(0),
        }
    }

    /// Counts a checked read.
    pub(super) fn count(&mut self, bytes: u64) {
        self.count_source(bytes);
        bump(&self.block.verification.checked_reads, 1);
        bump(&self.block.verification.checked_bytes, bytes);
    }

    /// Adds a line to the file. The first line replaces the content of an earlier run.
    fn list(&mut self, line: &str) -> std::io::Result<()> {
        if self.found >= MOST_LISTED {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(File::create(&self.path)?),
        };
        writeln!(file, "{line}")
    }
}

/// The worker's record of its writes, in the form that the verdict needs.
struct Memory<'a> {
    history: &'a History,
    origin: Option<&'a StartOfPass>,
    files: &'a [OpenFile],
    file: u32,
    thread: u16,
}

impl verdict::History for Memory<'_> {
    fn earlier(&self, offset: u64, number: u64) -> Option<(Write, usize)> {
        let covers = |record: &&Record| {
            record.file == self.file
                && record.number < number
                && (record.offset..record.offset + u64::from(record.length)).contains(&offset)
        };
        let latest = self.history.all().filter(covers).max_by_key(|record| record.number)?;
        Some((latest.write(self.thread), latest.write_length as usize))
    }

    fn other_file(&self, number: u64, seed: u64) -> Option<String> {
        let file = self.origin?.file_of_write(number, seed)?;
        let is_another = file != self.file;
        self.files.get(file as usize).filter(|_| is_another).map(|file| file.name.clone())
    }
}

impl Worker<'_> {
    /// Reports wrong data.
    #[cold]
    pub(super) fn report_miscompare(
        &mut self,
        verifier: &mut Verifier<'_>,
        task: &Task,
        data: &mut [u8],
        mismatches: &[Mismatch],
    ) {
        verifier.findings.count(data.len() as u64);
        let file = self.files.list[task.file as usize].name.clone();
        for mismatch in mismatches {
            let verdict = self.verdict_on(verifier, task, data, mismatch);
            if verifier.findings.found < MOST_TOLD {
                for line in mismatch.lines(&verifier.plan.rule, &file, (task.offset, data.len())) {
                    self.context.messages.send(&Message::Error(line));
                }
                let sentence = verdict.sentence();
                self.context
                    .messages
                    .send(&Message::Error(format!("fathom: {file} offset {}: {sentence}", mismatch.offset)));
            } else if verifier.findings.found == MOST_TOLD {
                let path = verifier.findings.path.display().to_string();
                self.context.messages.send(&Message::Error(format!(
                    "fathom: job {}: more than {MOST_TOLD} blocks are wrong; all are listed in {path}",
                    self.plan.name
                )));
            }
            if verifier.plan.dumps {
                self.dump(verifier, task, data, mismatch, &file);
            }
            self.list_miscompare(verifier, task, mismatch, &verdict, &file, data);
            verifier.findings.found += 1;
        }
        self.miscompare_ends_job(verifier);
    }

    fn memory<'m>(&'m self, verifier: &'m Verifier<'_>, task: &Task) -> Memory<'m> {
        Memory {
            history: &verifier.history,
            // Regenerating a pass takes time, so it is done only for findings that are printed.
            origin: verifier.origin.as_deref().filter(|_| verifier.findings.found < MOST_TOLD),
            files: &self.files.list,
            file: task.file,
            thread: task.thread,
        }
    }

    fn verdict_on(&self, verifier: &Verifier<'_>, task: &Task, data: &[u8], mismatch: &Mismatch) -> Verdict {
        let memory = self.memory(verifier, task);
        if let Problem::Time { number, .. } = mismatch.problem {
            return Verdict::Stale { found_number: number, of_another_run: true };
        }
        if let Some(record) = task.known.record.filter(|record| record.state == State::Fragment) {
            return fragment_verdict(verifier.plan, task, &record, data);
        }
        let write = task.known.record.filter(|record| record.state == State::Written);
        let write = write.map(|record| (record.write(task.thread), record.write_length as usize));
        let suspect = Suspect {
            bytes: &data[mismatch.at..mismatch.at + mismatch.length],
            offset: mismatch.offset,
            expected: write.as_ref().map(|(write, length)| (write, *length)),
            thread: if task.known.record.is_some() { task.thread } else { 0 },
        };
        classify(&verifier.plan.rule, &suspect, &memory)
    }

    /// One line of JSON in the miscompare file.
    fn list_miscompare(
        &self,
        verifier: &mut Verifier<'_>,
        task: &Task,
        mismatch: &Mismatch,
        verdict: &Verdict,
        file: &str,
        data: &[u8],
    ) {
        bump(&self.block.verification.classes[verdict.index()], 1);
        let memory = self.memory(verifier, task);
        let number = task.known.record.map_or(0, |record| record.number);
        let earlier = verdict::History::earlier(&memory, mismatch.offset, number);
        let header_at = mismatch.at + verifier.plan.rule.header_offset as usize;
        let found = data
            .get(header_at..)
            .and_then(|bytes| Header::decode(bytes, verifier.plan.rule.format))
            .filter(|header| header.magic == fathom_verify::header::MAGIC);
        let line = serde_json::json!({
            "job": self.plan.name,
            "clone": self.plan.thread_number,
            "file": file,
            "offset": mismatch.offset,
            "length": mismatch.length,
            "method": verifier.plan.rule.method.word(),
            "verdict": verdict,
            "sentence": verdict.sentence(),
            "expected": task.known.record.map(|record| serde_json::json!({
                "write": record.number,
                "seed": record.seed,
                "issued_ns": record.time_ns,
                "trimmed": record.state == State::Trimmed,
            })),
            "earlier": earlier.map(|(write, length)| serde_json::json!({
                "write": write.number,
                "seed": write.seed,
                "offset": write.offset,
                "length": length,
            })),
            "header": found.map(|header| serde_json::json!({
                "write": header.number,
                "seed": header.seed,
                "offset": header.offset,
                "clone": header.thread,
                "issued_ns": header.time_ns(),
            })),
        });
        if let Err(error) = verifier.findings.list(&line.to_string()) {
            self.context.messages.send(&Message::Error(format!(
                "fathom: job {}: cannot write {}: {error}",
                self.plan.name,
                verifier.findings.path.display(),
                error = plain(&error)
            )));
        }
    }

    /// `verify_dump`: saves the actual and the expected block in the directory of the miscompare file.
    fn dump(&self, verifier: &Verifier<'_>, task: &Task, data: &[u8], mismatch: &Mismatch, file: &str) {
        let found = &data[mismatch.at..mismatch.at + mismatch.length];
        let rule = &verifier.plan.rule;
        let expected = match task.known.record {
            Some(record) => {
                let mut whole = vec![0; record.write_length as usize];
                if record.state == State::Written {
                    stamp(rule, &mut whole, &record.write(task.thread));
                }
                let at = record.into_write as usize + mismatch.at;
                Some(whole[at..(at + mismatch.length).min(whole.len())].to_vec())
            }
            None => expected_by_itself(rule, task, data, mismatch),
        };
        let parts: Vec<(&str, &[u8])> = match (mismatch.is_in_header(), &expected) {
            (true, _) => vec![("hdr_fail", found)],
            (false, Some(expected)) => vec![("received", found), ("expected", expected)],
            (false, None) => vec![("received", found)],
        };
        let base = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
        for (kind, bytes) in parts {
            let path =
                verifier.plan.miscompare_file.with_file_name(format!("{base}.{}.{kind}", mismatch.offset));
            let line = match std::fs::write(&path, bytes) {
                Ok(()) => format!("       {kind} data dumped as {}", path.display()),
                Err(error) => {
                    format!("fathom: cannot write {}: {error}", path.display(), error = plain(&error))
                }
            };
            self.context.messages.send(&Message::Error(line));
        }
    }

    fn miscompare_ends_job(&mut self, verifier: &Verifier<'_>) {
        let errno = Errno(libc::EILSEQ);
        let tolerance = &self.plan.errors.checks;
        if tolerance.goes_on || tolerance.errors.contains(&errno.0) {
            self.count_error(errno);
            self.stopping |= verifier.plan.is_fatal;
            return;
        }
        if self.block.error().is_none() {
            self.context.fail(errno, Cause::WRONG_BLOCK);
        }
        self.stopping |= verifier.plan.is_fatal;
    }
}

/// The expected content of an interval of unknown origin, derived from its own header or from the pattern.
fn expected_by_itself(rule: &Rule, task: &Task, data: &[u8], mismatch: &Mismatch) -> Option<Vec<u8>> {
    let mut whole = vec![0; data.len()];
    let range = mismatch.at..(mismatch.at + mismatch.length).min(whole.len());
    if !rule.method.has_header() {
        rule.fill(&mut whole, 0, task.offset);
        return Some(whole[range].to_vec());
    }
    let header = Header::decode(data[range.clone()].get(rule.header_offset as usize..)?, rule.format)?;
    let rule = Rule { format: header.format, ..rule.clone() };
    stamp(&rule, &mut whole, &header.write_at(task.offset));
    Some(whole[range].to_vec())
}

/// Verdict on a part of a write without a separate header.
fn fragment_verdict(plan: &VerifyPlan, task: &Task, record: &Record, data: &[u8]) -> Verdict {
    if data.iter().all(|&byte| byte == 0) {
        return Verdict::NeverWritten;
    }
    let write = (&record.write(task.thread), record.write_length as usize);
    match check_fragment(&plan.rule, data, task.offset, write) {
        Err(Fragment { first, last, bytes, .. }) => Verdict::Damaged {
            first: first as u64,
            last: last as u64,
            bytes: bytes as u64,
            zeroed: data[first..=last].iter().all(|&byte| byte == 0),
        },
        Ok(()) => Verdict::Unrecognised,
    }
}
