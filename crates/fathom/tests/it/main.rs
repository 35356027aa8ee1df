//! The program as its users run it: jobs in, reports, files and system calls out.
//!
//! Everything goes through the executable. `FATHOM_TEST_PROGRAM` names another one to try the tests on, such as
//! an installed fio; tests of what fio does not promise are skipped then. What a machine cannot do (no root, no
//! strace) is skipped with a line that says so, and the lines are collected in the file named by
//! `FATHOM_SKIP_LOG`.

#![forbid(unsafe_code)]

#[macro_use]
mod support;

mod accuracy;
mod accuracy_queues;
mod bad_input;
mod ceph;
mod clients;
mod company;
mod compare;
mod crash_consistency;
mod curve;
mod debug_lines;
mod descriptors;
mod effects_calls;
mod effects_content;
mod effects_coverage;
mod effects_engine_options;
mod effects_files;
mod effects_holding;
mod effects_host;
mod effects_in_use;
mod effects_offsets;
mod effects_order;
mod effects_pacing;
mod effects_precondition;
mod effects_rates;
mod effects_sizes;
mod effects_space;
mod effects_surroundings;
mod effects_zoned;
mod effects_zones;
mod explain;
mod extremes;
mod fuzz_findings;
mod gluster;
mod guide;
mod hdfs;
mod hosts;
mod http;
mod hung;
mod hung_fs;
mod idleness;
mod interrupted;
mod intervals;
mod invariants;
mod iscsi;
mod judged;
mod killed;
mod latency_target;
mod ledgers;
mod live;
mod logs;
mod long_names;
mod manual;
mod metrics;
mod mounts;
mod names;
mod nbd;
mod nfs;
mod open_loop;
mod parse_only;
mod printed;
mod priorities;
mod profiles;
mod pts;
mod published_scripts;
mod quick;
mod recording_disk;
mod replay;
mod replay_traces;
mod report_page;
mod report_stream;
mod s3;
mod same;
mod same_reports;
mod seeds_files;
mod seeds_groups;
mod seeds_randrw;
mod sequences;
mod serve;
mod serve_attacks;
mod serve_page;
mod serve_safety;
mod servers;
mod shipped_examples;
mod show;
mod slow;
mod stalled_readers;
mod starved;
mod steady_state;
mod sweep;
mod sweep_file_systems;
mod tools;
mod triggers;
mod verdicts;
mod verify;
mod verify_passes;
mod verify_random;
