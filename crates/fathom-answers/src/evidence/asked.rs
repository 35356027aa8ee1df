//! The requested workload of a job, as far as checks and explanations need it. Results contain options as
//! written; they are parsed only here, with the grammar of the job language.

use fathom_results::RunResult;
use fathom_results::model::JobResult;
use fathom_spec::engines::{self, EngineDef};
use fathom_spec::value::{self, TimeUnit};

/// The engine of a job that does not name one.
const DEFAULT_ENGINE: &str = "psync";

/// Kind of workload, with or without random offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskedWorkload {
    Read,
    Write,
    Trim,
    /// Reads and writes.
    Mixed,
    /// Each trim is followed by a write to the same blocks.
    TrimWrite,
    /// A value of `rw` that is unknown here.
    Other,
}

/// `thinktime`: pauses between I/Os.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Thinking<'a> {
    /// The option as the user wrote it.
    pub(crate) written: &'a str,
    /// Length of a pause, s.
    pub(crate) pause: f64,
    /// Number of I/Os between two pauses, if set.
    pub(crate) blocks: Option<f64>,
    /// Duration of I/O between two pauses: as the user wrote it, and in s.
    pub(crate) io_time: Option<(&'a str, f64)>,
}

/// The options of a job whose values matter here. Of all other options, only the presence matters.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    /// Name of the job's engine.
    pub(crate) engine: &'a str,
    /// The engine's declaration; `None` for an unknown engine.
    pub(crate) definition: Option<&'static EngineDef>,
    /// Kind of the job's workload.
    pub(crate) workload: AskedWorkload,
    /// True if the job uses random offsets.
    pub(crate) is_random: bool,
    /// Number of clones (`numjobs`), at least 1.
    pub(crate) clones: f64,
    /// Queue depth of a clone, at least 1, regardless of whether the engine has a queue.
    pub(crate) depth: f64,
    /// `direct`, or `buffered=0`.
    pub(crate) is_direct: bool,
    /// Verification method of the job; `None` without verification.
    pub(crate) verification: Option<&'a str>,
    /// Number of bytes of each clone; `None` if it uses a file or device wholly, or a percentage of it.
    pub(crate) size: Option<f64>,
    /// Percentage of reads in the mix.
    pub(crate) read_share: f64,
    /// Limits in bytes per second for reads, writes and trims; a single limit applies to all of them. Empty
    /// without a limit.
    pub(crate) rate: Vec<Option<f64>>,
    /// Limits in I/Os per second, in the same form.
    pub(crate) rate_iops: Vec<Option<f64>>,
    /// Its pauses.
    pub(crate) thinking: Option<Thinking<'a>>,
    /// Number of cycles spent busy after each I/O.
    pub(crate) think_cycles: Option<f64>,
    /// How the job's writes are made durable (`sync`).
    pub(crate) write_sync: Option<&'a str>,
}

impl<'a> Asked<'a> {
    pub(crate) fn of(run: &'a RunResult, job: &'a JobResult) -> Asked<'a> {
        let text = |name: &str| run.option(job, name);
        let kb_base = if text("kb_base").map(str::trim) == Some("1000") { 1000 } else { 1024 };
        let amount = |name: &str| value::parse_amount(text(name)?, kb_base);
        let amounts = |name: &str| match text(name) {
            Some(text) => text.split(',').map(|part| value::parse_amount(part, kb_base)).collect(),
            None => Vec::new(),
        };
        let engine = text("ioengine").unwrap_or(DEFAULT_ENGINE);
        let (workload, is_random) = workload_of(text("rw").or_else(|| text("readwrite")).unwrap_or("read"));
        let is_direct = match text("buffered") {
            Some(value) if text("direct").is_none() => value.trim() == "0",
            _ => run.is_set(job, "direct"),
        };
        let named =
            |name: &str, none: &[&str]| text(name).map(str::trim).filter(|value| !none.contains(value));
        let is_share = text("size").is_some_and(|size| size.contains('%'));
        let write_share = amount("rwmixwrite").map(|share| 100.0 - share);
        Asked {
            engine,
            definition: engines::find(engine),
            workload,
            is_random,
            clones: amount("numjobs").unwrap_or(1.0).max(1.0),
            depth: amount("iodepth").unwrap_or(1.0).max(1.0),
            is_direct,
            verification: named("verify", &["", "0", "none", "null"]),
            size: amount("size").filter(|&size| size > 0.0 && !is_share),
            read_share: amount("rwmixread").or(write_share).unwrap_or(50.0),
            rate: amounts("rate"),
            rate_iops: amounts("rate_iops"),
            thinking: thinking_of(&text, amount("thinktime_blocks")),
            think_cycles: amount("thinkcycles").filter(|&cycles| cycles > 0.0),
            write_sync: named("sync", &["0", "none"]),
        }
    }
}

fn workload_of(written: &str) -> (AskedWorkload, bool) {
    let word = written.split(':').next().unwrap_or_default();
    let workload = match word.trim_start_matches("rand") {
        "read" => AskedWorkload::Read,
        "write" => AskedWorkload::Write,
        "trim" => AskedWorkload::Trim,
        "rw" | "readwrite" => AskedWorkload::Mixed,
        "trimwrite" => AskedWorkload::TrimWrite,
        _ => AskedWorkload::Other,
    };
    (workload, word.starts_with("rand"))
}

fn thinking_of<'a>(text: &impl Fn(&str) -> Option<&'a str>, blocks: Option<f64>) -> Option<Thinking<'a>> {
    let seconds = |text: &str, unit| value::parse_time(text, unit).map(|time| time.as_secs_f64());
    let written = text("thinktime")?;
    let pause = seconds(written, TimeUnit::Microseconds).filter(|&pause| pause > 0.0)?;
    let io_time = text("thinktime_iotime")
        .and_then(|text| Some((text, seconds(text, TimeUnit::Seconds)?)))
        .filter(|(_, time)| *time > 0.0);
    Some(Thinking { written, pause, blocks, io_time })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<T>(options: &str, look: impl FnOnce(Asked<'_>) -> T) -> T {
        let text =
            format!(r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"a","job options":{{{options}}}}}]}}"#);
        let run = fathom_results::parse(&text, "text").expect("reads");
        look(Asked::of(&run, &run.jobs[0]))
    }

    #[test]
    fn a_job_without_options_has_the_usual_ones() {
        with("", |asked| {
            assert_eq!(
                (asked.engine, asked.workload, asked.is_random),
                ("psync", AskedWorkload::Read, false)
            );
            assert_eq!((asked.clones, asked.depth, asked.read_share), (1.0, 1.0, 50.0));
            assert_eq!((asked.is_direct, asked.verification, asked.size), (false, None, None));
            assert!(asked.rate.is_empty() && asked.thinking.is_none() && asked.write_sync.is_none());
        });
    }

    #[test]
    fn values_are_read_by_the_grammar_of_jobs() {
        let options = r#""rw":"randtrimwrite:4","buffered":"0","size":"2k","kb_base":"1000","rwmixwrite":"30","rate":"1m,","verify":"md5","sync":"dsync""#;
        with(options, |asked| {
            assert_eq!(
                (asked.workload, asked.is_random, asked.is_direct),
                (AskedWorkload::TrimWrite, true, true)
            );
            assert_eq!((asked.size, asked.read_share), (Some(2000.0), 70.0));
            assert_eq!(asked.rate, [Some(1e6), None]);
            assert_eq!((asked.verification, asked.write_sync), (Some("md5"), Some("dsync")));
        });
        with(r#""size":"50%","direct":"0","buffered":"0","verify":"none""#, |asked| {
            assert_eq!((asked.size, asked.is_direct, asked.verification), (None, false, None));
        });
        with(r#""rw":"shuffle","iodepth":"0""#, |asked| {
            assert_eq!((asked.workload, asked.depth), (AskedWorkload::Other, 1.0));
        });
    }
}
