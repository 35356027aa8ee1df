//! The options of this program, and the fathom options that it refuses.

use fathom_report::Chosen;
use fathom_spec::{Eta, ProgramOptions};
use std::path::PathBuf;

/// Additional text of `--help`.
pub(crate) const HELP: &str = "\
Of fathom-mpi alone (mpirun -n RANKS fathom-mpi [option...] [jobfile...]):
  --snapshots=DIR       Every rank writes its report so far to DIR once a second, in case one of them dies
  --report-of=DIR       Print the report of what a run has left in DIR (without mpirun; with --output, --output-format)";

/// Options that fathom does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// `--snapshots`.
    pub snapshots: Option<PathBuf>,
    /// `--report-of`.
    pub report_of: Option<PathBuf>,
}

/// Removes these options from a command line; the rest are fathom's. The error is a line for the user.
pub fn own_options(words: Vec<String>) -> Result<(Own, Vec<String>), String> {
    let (mut own, mut left) = (Own::default(), Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let (name, value) = word.split_once('=').map_or((&*word, None), |(name, value)| (name, Some(value)));
        let place = match name.strip_prefix("--").or_else(|| name.strip_prefix('-')) {
            Some("snapshots") => &mut own.snapshots,
            Some("report-of") => &mut own.report_of,
            _ => {
                left.push(word);
                continue;
            }
        };
        let value = value.map(str::to_owned).or_else(|| words.next()).filter(|value| !value.is_empty());
        let Some(value) = value else {
            return Err(format!("fathom-mpi: option {name}: expected a directory"));
        };
        *place = Some(PathBuf::from(value));
    }
    Ok((own, left))
}

/// The reason why a run of ranks does not support an option; a line for the user.
pub(crate) fn refusal(program: &ProgramOptions, formats: &Chosen) -> Option<String> {
    const RANKS: &str = "the hosts of a run are the ranks that mpirun or srun starts";
    const SILENT: &str =
        "ranks do not communicate while jobs run; --snapshots=DIR saves their results so far";
    let usual = ProgramOptions::default();
    const JUDGED: &str =
        "there is no verdict for MPI runs; fathom explain judges the JSON that --output has saved";
    let refusals: [(&str, bool, &str); 23] = [
        ("hosts", !program.hosts.is_empty(), RANKS),
        ("wait-for-hosts", program.wait_for_hosts > 0, RANKS),
        ("join-address", program.join_address.is_some(), RANKS),
        ("remote-shell", program.remote_shell.is_some(), RANKS),
        ("remote-program", program.remote_program.is_some(), RANKS),
        ("push", program.push, RANKS),
        ("keys", program.keys.is_some(), RANKS),
        ("host-timeout", program.host_timeout.is_some(), "MPI ends all ranks when one is lost"),
        ("on-host-loss", program.on_host_loss != usual.on_host_loss, "MPI ends all ranks when one is lost"),
        ("client", !program.clients.is_empty(), RANKS),
        ("remote-config", program.remote_config.is_some(), RANKS),
        ("server", program.server.is_some(), RANKS),
        ("daemonize", program.daemonize.is_some(), RANKS),
        ("live", program.live, SILENT),
        ("status-interval", program.status_interval.is_some(), SILENT),
        ("metrics", !program.metrics.is_empty(), SILENT),
        ("otlp", program.otlp.is_some(), SILENT),
        ("trigger", program.trigger != usual.trigger, SILENT),
        ("trigger-remote", program.trigger_remote.is_some(), SILENT),
        ("merge-blktrace-only", program.merge_blktrace_only, "it runs no jobs; fathom merges traces"),
        ("verdict", program.verdict, JUDGED),
        ("require", program.require.is_some(), JUDGED),
        ("output-format", formats.every().is_some(), SILENT),
    ];
    let (name, _, reason) = refusals.into_iter().find(|(_, is_asked, _)| *is_asked)?;
    Some(format!("fathom-mpi: --{name} is not for runs of MPI ranks: {reason}"))
}

/// A note on an option without effect; a line for the user.
pub(crate) fn without_effect(program: &ProgramOptions) -> Option<&'static str> {
    (program.eta == Eta::Always).then_some(
        "fathom-mpi: --eta=always: there is no progress line, because ranks do not communicate while jobs run",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn own_options_are_taken_wherever_they_stand() {
        let (own, left) =
            own_options(words("--output=o --snapshots=a b.fio --report-of b -x")).expect("fine");
        assert_eq!((own.snapshots, own.report_of), (Some("a".into()), Some("b".into())));
        assert_eq!(left, words("--output=o b.fio -x"));
        assert!(own_options(words("b.fio --snapshots")).is_err());
        assert!(own_options(words("--snapshots= b.fio")).is_err());
    }

    #[test]
    fn what_is_not_built_is_refused_by_name() {
        let formats = |name: &str| Chosen::new(&[name.to_owned()], 3);
        let refused = |program: &ProgramOptions| refusal(program, &formats("json"));
        assert_eq!(refused(&ProgramOptions::default()), None);
        let live = ProgramOptions { live: true, ..ProgramOptions::default() };
        assert!(refused(&live).is_some_and(|line| line.contains("--live ")));
        let hosts = ProgramOptions { hosts: vec!["a".to_owned()], ..ProgramOptions::default() };
        assert!(refused(&hosts).is_some_and(|line| line.contains("--hosts ")));
        let lines = refusal(&ProgramOptions::default(), &formats("jsonl"));
        assert!(lines.is_some_and(|line| line.contains("--output-format ")));
    }
}
