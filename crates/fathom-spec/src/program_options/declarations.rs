//! Every option of the program itself.

use std::path::PathBuf;
use std::time::Duration;

use super::Values::{Formats, Words};
use super::program_options;
use crate::debug::DebugOptions;
use crate::hosts::OnHostLoss;
use crate::spec::{Eta, IdleProfile, Requirement, Trigger};

program_options! {
    /// Options of the program itself.
    pub struct ProgramOptions, table ALL;

    /// Write a line per event of these classes; help lists them
    "debug" Required "=classes" => debug(debug: DebugOptions);
    /// Check the jobs without running them
    "parse-only" None "" => flag(parse_only: bool);
    /// Merge block traces without running jobs
    "merge-blktrace-only" None "" => flag(merge_blktrace_only: bool);
    /// Write the report and all messages to a file
    "output" Required "=file" => path(output: Option<PathBuf>);
    /// Log the total bandwidth of all jobs
    "bandwidth-log" Optional "[=prefix]" => bandwidth_log(
        /// The value is the prefix of the files.
        bandwidth_log: Option<String>
    );
    /// Print the terse report
    "minimal" None "" => minimal();
    /// Report formats: {formats}
    "output-format" Required "=list" { values: Formats } => formats(
        /// Names of formats; empty for the format for people.
        formats: Vec<String>
    );
    /// Version of the terse format, 2 to 5
    "terse-version" Required "=number" { values: Words(&["2", "3", "4", "5"]) }
        => terse_version(terse_version: u32 = 3);
    /// Print the version
    "version" None "" => version();
    /// Print this text
    "help" None "" => help();
    /// Check that the clocks of all CPUs agree
    "cpuclock-test" None "" => test_clock();
    /// Measure the speed of the checksum functions
    "crctest" Optional "[=list]" => time_checksums();
    /// Explain a job option, or list all of them
    "cmdhelp" Optional "[=option]" => command_help();
    /// List the engines, or explain the options of one
    "enghelp" Optional "[=engine[,option]]" => engine_help();
    /// Print a job file as a command line
    "showcmd" None "" => flag(show_command: bool);
    /// Show the progress line: always, never or auto
    "eta" Required "=when" { values: Words(&["always", "never", "auto"]) } => eta(eta: Eta = Eta::Auto);
    /// Start a new progress line at this interval
    "eta-newline" Required "=time" => eta_newline(eta_newline: Option<Duration>);
    /// Show the run live on the whole terminal
    "live" None "" => flag(live: bool);
    /// Print the full report at this interval
    "status-interval" Required "=time" => status_interval(status_interval: Option<Duration>);
    /// Record where the time of the I/Os goes: above the block layer, in the queue, the device, the completion
    "layers" None "" => flag(layers: bool);
    /// After the report, list the reasons to doubt its figures
    "verdict" None "" => flag(verdict: bool);
    /// Exit with 125 unless nothing is wrong with the figures (sound), or doubtful (no-doubts)
    "require" Required "=what" { values: Words(&["sound", "no-doubts"]) } => require(require: Option<Requirement>);
    /// Add the result to this store of fathom history (default that of FATHOM_HISTORY, or the user's)
    "history" Optional "[=store]" => text(
        /// Empty for the default store.
        history: Option<String>
    );
    /// Serve metrics to Prometheus on a port or an address, or in a .prom file; may be repeated
    "metrics" Required "=where" => metrics(
        /// As written.
        metrics: Vec<String>
    );
    /// Wait after the run, for this long at most, until the last metrics have been read three times
    "metrics-linger" Required "=time" => metrics_linger(metrics_linger: Duration = Duration::ZERO);
    /// Send metrics and a trace to an OpenTelemetry collector (default that of OTEL_EXPORTER_OTLP_ENDPOINT)
    "otlp" Optional "[=url]" => text(
        /// Empty for the endpoint in the environment.
        otlp: Option<String>
    );
    /// Write metrics to InfluxDB, or anything that accepts its line protocol (default that of INFLUX_HOST)
    "influx" Optional "[=url]" => text(
        /// Empty for that of the environment.
        influx: Option<String>
    );
    /// Repeat the run at this interval, until a signal ends it
    "every" Required "=time" => some_time(
        /// From the start of one run to that of the next.
        every: Option<Duration>
    );
    /// Give up on I/O that makes no progress for this long (default 30s; 10s after Ctrl-C)
    "patience" Required "=time" => some_time(
        /// Counted from the end of the job; `None` for the default.
        patience: Option<Duration>
    );
    /// Refuse every job that writes or trims
    "readonly" None "" => flag(readonly: bool);
    /// Run only this section; may be repeated
    "section" Required "=name" => section(
        /// Empty to run all sections.
        sections: Vec<String>
    );
    /// Accepted; there is no memory pool to size
    "alloc-size" Required "=kb" => nothing();
    /// Treat warnings about jobs as errors
    "warnings-fatal" None "" => flag(warnings_fatal: bool);
    /// Accepted; the limit of 4096 clones is fixed
    "max-jobs" Required "=number" => nothing();
    /// Run the jobs on these hosts together: a,b  node[1-8]  GROUP:a,b  @file
    "hosts" Required "=list" => hosts(
        /// As written; several lists are combined.
        hosts: Vec<String>
    );
    /// Keys for reaching agents that listen, or for agents that join: controller.keys from fathom keys
    "keys" Required "=file" => path(keys: Option<PathBuf>);
    /// Run the jobs on this many hosts, whose agents connect to the controller
    "wait-for-hosts" Required "=number" => number_of_hosts(wait_for_hosts: u32 = 0);
    /// Where agents join: HOST:PORT (default :8766)
    "join-address" Required "=address" => text(join_address: Option<String>);
    /// How to run a command on a host: ssh, kubectl exec -i {host} --, ...
    "remote-shell" Required "=command" => text(remote_shell: Option<String>);
    /// The program on the hosts (default fathom)
    "remote-program" Required "=path" => text(remote_program: Option<String>);
    /// Send this program to the hosts first, and remove it afterwards
    "push" None "" => flag(push: bool);
    /// What to do with the other hosts when one is lost
    "on-host-loss" Required "=what" { values: Words(&["continue", "stop"]) }
        => on_host_loss(on_host_loss: OnHostLoss);
    /// A host that is silent for this long is lost (default 60s)
    "host-timeout" Required "=time" => host_timeout(host_timeout: Option<Duration>);
    /// Wait for jobs from clients
    "server" Optional "[=address]" => server(server: Option<String>);
    /// Allow other machines to reach a server without keys
    "insecure" None "" => flag(insecure: bool);
    /// Wait for jobs in the background
    "daemonize" Required "=file" => path(
        /// The file gets the process ID.
        daemonize: Option<PathBuf>
    );
    /// Run the jobs on a server
    "client" Required "=host" => client(clients: Vec<String>);
    /// Run a job file on the server
    "remote-config" Required "=file" => path(remote_config: Option<PathBuf>);
    /// Report CPU idleness: system, percpu; or calibrate
    "idle-prof" Required "=how" { values: Words(&["system", "percpu", "calibrate"]) }
        => idle_profile(idleness: Option<IdleProfile>);
    /// Print a compressed log
    "inflate-log" Required "=file" => inflate_log();
    /// Stop the jobs when this file appears, then run the trigger
    "trigger-file" Required "=file" => trigger_file(
        /// Filled by all options of the trigger.
        trigger: Trigger
    );
    /// Stop the jobs after this time, then run the trigger
    "trigger-timeout" Required "=time" => trigger_timeout();
    /// Command to run after a trigger has stopped the jobs
    "trigger" Required "=command" => trigger_command();
    /// Trigger command to run on the servers
    "trigger-remote" Required "=command" => text(trigger_remote: Option<String>);
    /// Directory for state files and logs
    "aux-path" Required "=dir" => path(aux_path: Option<PathBuf>);
    /// Add the terse format to the report
    "append-terse" None "" { hidden: true } => append_terse();
    /// Removed; use the job options for latency logs
    "latency-log" Required "" { hidden: true } => latency_log();
    /// Measure the speed of memory copies
    "memcpytest" Optional "" { built: false, hidden: true } => refuse();
    /// Run a built-in workload
    "profile" Required "" { hidden: true } => profile(profile: Option<String>);
    /// Interval between progress lines
    "eta-interval" Required "=time" { hidden: true } => eta_interval(eta_interval: Duration = Duration::from_secs(1));
}
