//! Every option of the program.

use std::path::PathBuf;
use std::time::Duration;

use super::Values::{Formats, Words};
use super::program_options;
use crate::debug::DebugOptions;
use crate::spec::{Eta, IdleProfile, Trigger};

program_options! {
    /// Options of the program itself.
    pub struct ProgramOptions, table ALL;

    /// Write a line about each event of these classes; help lists them
    "debug" Required "=classes" => debug(debug: DebugOptions);
    /// Check the jobs and run nothing
    "parse-only" None "" => flag(parse_only: bool);
    /// Merge block traces and run nothing
    "merge-blktrace-only" None "" => flag(merge_blktrace_only: bool);
    /// Write the report and all messages to a file
    "output" Required "=file" => path(output: Option<PathBuf>);
    /// Log the bandwidth of all jobs together
    "bandwidth-log" Optional "[=prefix]" => bandwidth_log(
        /// The value is the prefix of the files.
        bandwidth_log: Option<String>
    );
    /// Report in the terse form
    "minimal" None "" => minimal();
    /// Forms of the report: {formats}
    "output-format" Required "=list" { values: Formats } => formats(
        /// Their names; none stands for the form for people.
        formats: Vec<String>
    );
    /// Version of the terse form, 2 to 5
    "terse-version" Required "=number" { values: Words(&["2", "3", "4", "5"]) }
        => terse_version(terse_version: u32 = 3);
    /// Print the version
    "version" None "" => version();
    /// Print this text
    "help" None "" => help();
    /// Check that the clocks of all CPUs agree
    "cpuclock-test" None "" => test_clock();
    /// Time the checksum functions
    "crctest" Optional "[=list]" => time_checksums();
    /// Explain a job option, or list all of them
    "cmdhelp" Optional "[=option]" => command_help();
    /// List the engines, or explain the options of one
    "enghelp" Optional "[=engine[,option]]" => engine_help();
    /// Print a job file as a command line
    "showcmd" None "" => flag(show_command: bool);
    /// Show the progress line: always, never or auto
    "eta" Required "=when" { values: Words(&["always", "never", "auto"]) } => eta(eta: Eta = Eta::Auto);
    /// Keep a progress line on the screen every so often
    "eta-newline" Required "=time" => eta_newline(eta_newline: Option<Duration>);
    /// Show the run on the whole terminal while it goes on
    "live" None "" => flag(live: bool);
    /// Print the whole report every so often
    "status-interval" Required "=time" => status_interval(status_interval: Option<Duration>);
    /// Give up on I/O that makes no progress for this long (30s; 10s after Ctrl-C)
    "patience" Required "=time" => patience(
        /// Counted from the end of its job; `None` for the usual time.
        patience: Option<Duration>
    );
    /// Refuse every job that writes or trims
    "readonly" None "" => flag(readonly: bool);
    /// Run only this section; may be given several times
    "section" Required "=name" => section(
        /// Empty means all.
        sections: Vec<String>
    );
    /// Accepted; there is no memory pool to size
    "alloc-size" Required "=kb" => nothing();
    /// Treat warnings about jobs as errors
    "warnings-fatal" None "" => flag(warnings_fatal: bool);
    /// Accepted; the ceiling of 4096 clones is fixed
    "max-jobs" Required "=number" => nothing();
    /// Wait for jobs from clients
    "server" Optional "[=address]" { built: false } => refuse();
    /// Wait for jobs in the background
    "daemonize" Required "=file" { built: false } => refuse();
    /// Run the jobs on a server
    "client" Required "=host" { built: false } => refuse();
    /// Run a job file that the server has
    "remote-config" Required "=file" { built: false } => refuse();
    /// Report how idle the CPUs were: system, percpu; or calibrate
    "idle-prof" Required "=how" { values: Words(&["system", "percpu", "calibrate"]) }
        => idle_profile(idleness: Option<IdleProfile>);
    /// Print a compressed log
    "inflate-log" Required "=file" => inflate_log();
    /// End the jobs when this file appears, and run the trigger
    "trigger-file" Required "=file" => trigger_file(
        /// The field is what all options of the trigger set.
        trigger: Trigger
    );
    /// End the jobs after this time, and run the trigger
    "trigger-timeout" Required "=time" => trigger_timeout();
    /// What runs when the jobs have ended like this
    "trigger" Required "=command" => trigger_command();
    /// The trigger, on the servers
    "trigger-remote" Required "=command" { built: false } => refuse();
    /// Directory for state files and logs
    "aux-path" Required "=dir" => path(aux_path: Option<PathBuf>);
    /// Add the terse form to the report
    "append-terse" None "" { hidden: true } => append_terse();
    /// Removed; jobs have options for latency logs
    "latency-log" Required "" { hidden: true } => latency_log();
    /// Time memory copies
    "memcpytest" Optional "" { built: false, hidden: true } => refuse();
    /// Run a built-in workload
    "profile" Required "" { hidden: true } => profile(profile: Option<String>);
    /// Time between two progress lines
    "eta-interval" Required "=time" { hidden: true } => eta_interval(eta_interval: Duration = Duration::from_secs(1));
}
