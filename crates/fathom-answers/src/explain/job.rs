//! Describes a job in a sentence, from its options.

use crate::evidence::Evidence;
use crate::evidence::asked::{Asked, AskedWorkload};
use fathom_spec::engines::{EngineDef, StorageKind};

/// A sentence such as
/// `4 processes read 4 KiB at random offsets, 32 in flight each, bypassing the page cache, with libaio.`
pub(super) fn sentence(evidence: &Evidence<'_>) -> String {
    let option = |name: &str| evidence.run.option(evidence.job, name);
    let asked = &evidence.asked;
    let clones = asked.clones as u32;
    let kind = if evidence.run.is_set(evidence.job, "thread") { "thread" } else { "process" };
    let who = match (clones, kind) {
        (1, kind) if evidence.run.hosts.is_some() => format!("On each host, one {kind}"),
        (1, kind) => format!("One {kind}"),
        (count, kind) if evidence.run.hosts.is_some() => {
            format!("On each host, {count} {}", if kind == "process" { "processes" } else { "threads" })
        }
        (count, "process") => format!("{count} processes"),
        (count, kind) => format!("{count} {kind}s"),
    };
    let engine = asked.definition;
    if asked.engine == "exec" {
        let program = option("program").unwrap_or("a program");
        let s = if clones == 1 { "s" } else { "" };
        return format!("{who} run{s} {program} next to the other jobs, with the engine exec.");
    }
    if engine.is_some_and(EngineDef::is_background) {
        let load = option("cpuload").unwrap_or("100").trim_end_matches('%');
        let s = if clones == 1 { "s" } else { "" };
        return format!("{who} keep{s} CPUs busy for {load} % of the time (cpuload), with the engine cpuio.");
    }
    let block_size = option("bs").or_else(|| option("blocksize")).unwrap_or("4k");
    let mut parts = vec![format!("{who} {}", deed(asked, block_size, clones == 1))];
    let depth = evidence.depth_asked() / evidence.clones();
    parts.push(match (evidence.is_synchronous(), depth > 1.0) {
        (true, _) => "one at a time".to_owned(),
        (false, true) => format!("up to {depth} in flight{}", if clones > 1 { " each" } else { "" }),
        (false, false) => "one in flight".to_owned(),
    });
    match engine.map_or(StorageKind::Files, |engine| engine.storage) {
        StorageKind::None => {}
        StorageKind::Server | StorageKind::Volume => parts.push("on a server".to_owned()),
        StorageKind::Files if evidence.is_direct() => {
            parts.push("bypassing the page cache (direct)".to_owned());
        }
        StorageKind::Files => parts.push("through the page cache".to_owned()),
    }
    parts.push(format!("with the engine {}", asked.engine));
    if let Some(runtime) = option("runtime").or_else(|| option("timeout")) {
        let based = evidence.run.is_set(evidence.job, "time_based");
        let unit = if runtime.ends_with(|letter: char| letter.is_ascii_digit()) { " s" } else { "" };
        parts.push(format!("for {}{runtime}{unit}", if based { "" } else { "at most " }));
    }
    parts.join(", ") + "."
}

fn deed(asked: &Asked<'_>, block_size: &str, is_one: bool) -> String {
    let s = if is_one { "s" } else { "" };
    let verb = match asked.workload {
        AskedWorkload::Read => format!("read{s}"),
        AskedWorkload::Write => format!("write{s}"),
        AskedWorkload::Trim => format!("trim{s}"),
        AskedWorkload::TrimWrite => format!("trim{s} and then write{s}"),
        AskedWorkload::Mixed | AskedWorkload::Other => format!("read{s} and write{s}"),
    };
    let place = if asked.is_random { "at random offsets" } else { "sequentially" };
    format!("{verb} blocks of {block_size} {place}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_become_sentences() {
        let text = r#"{"fio version":"fio-3.42","global options":{"ioengine":"libaio","direct":"1"},"jobs":[
            {"jobname":"a","job options":{"rw":"randwrite","bs":"4K","numjobs":"10","iodepth":"16","group_reporting":""}},
            {"jobname":"b","job options":{"ioengine":"psync","direct":"0","runtime":"30","thread":"1"}},
            {"jobname":"c","job options":{"ioengine":"nbd","direct":"0"}}]}"#;
        let run = fathom_results::parse(text, "text").expect("reads");
        assert_eq!(
            sentence(&Evidence::of(&run, 0)),
            "10 processes write blocks of 4K at random offsets, up to 16 in flight each, bypassing the page cache (direct), with the \
             engine libaio."
        );
        assert_eq!(
            sentence(&Evidence::of(&run, 1)),
            "One thread reads blocks of 4k sequentially, one at a time, through the page cache, with the engine psync, \
             for at most 30 s."
        );
        assert_eq!(
            sentence(&Evidence::of(&run, 2)),
            "One process reads blocks of 4k sequentially, one in flight, on a server, with the engine nbd."
        );
    }
}
