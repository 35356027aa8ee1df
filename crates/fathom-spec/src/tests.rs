//! Tests whole invocations: the results of a command line and its job files.

use fathom_stats::{Direction, PerDirection};
use proptest::prelude::*;

use crate::testing::MemorySource;
use crate::value::{Rw, SizeSpec};
use crate::{Eta, GlobalSection, JobSpec, Origin, Outcome, RunSpec, Stream, parse, registry};

fn words(arguments: &str) -> Vec<String> {
    arguments.split_whitespace().map(str::to_owned).collect()
}

fn outcome(arguments: &str, source: &MemorySource) -> Outcome {
    parse("fio", &words(arguments), source)
}

fn run_with(arguments: &str, source: &MemorySource) -> RunSpec {
    match outcome(arguments, source) {
        Outcome::Run(run) => *run,
        other => panic!("{arguments}: {other:?}"),
    }
}

fn run(arguments: &str) -> RunSpec {
    run_with(arguments, &MemorySource::default())
}

/// Exit status, and the lines of both streams.
fn reply(arguments: &str, source: &MemorySource) -> (u8, Vec<String>, Vec<String>) {
    match outcome(arguments, source) {
        Outcome::Run(_) => panic!("{arguments} was accepted"),
        Outcome::Exit(reply) => {
            let of = |stream: Stream| {
                let wanted = reply.messages.iter().filter(|message| message.stream == stream);
                wanted.flat_map(|message| message.text.split('\n')).map(str::to_owned).collect()
            };
            (reply.exit, of(Stream::Stdout), of(Stream::Stderr))
        }
        other => panic!("{arguments}: {other:?}"),
    }
}

fn names(run: &RunSpec) -> Vec<&str> {
    run.jobs.iter().map(|job| job.name.as_str()).collect()
}

#[test]
fn names_open_jobs_and_globals_change_defaults() {
    let run = run("--bs=8k --name=a --size=1m --name=global --bs=16k --name=b --direct=1");
    assert_eq!(names(&run), ["a", "b"]);
    assert_eq!(run.jobs[0].block_size.bs, PerDirection::all(8192));
    assert_eq!(run.jobs[1].block_size.bs, PerDirection::all(16384));
    assert_eq!(run.jobs[0].size.size, Some(SizeSpec::Bytes(1 << 20)));
    assert_eq!(run.jobs[1].size.size, None);
    assert_eq!(run.global_options, [("bs".to_owned(), "16k".to_owned())]);
    let written = |job: &JobSpec| job.written.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(written(&run.jobs[0]), ["name", "size"]);
    assert_eq!(written(&run.jobs[1]), ["name", "direct"]);
    assert!(run.jobs[0].is_set("bs") && !run.jobs[1].is_set("size"));
}

#[test]
fn dashes_abbreviations_and_separate_values() {
    let run = run("-name=a -rw randwrite --iodepth_batch_s=4 --ioengine libaio --iodepth 8 --thread");
    let job = &run.jobs[0];
    assert_eq!(job.io_type.rw.rw, Rw::RandWrite);
    assert_eq!(job.depth.iodepth_batch, 4);
    assert!(job.threads.thread);
    assert_eq!(job.origin, Origin::CommandLine);
}

#[test]
fn a_value_is_swallowed_whatever_it_looks_like() {
    let (exit, _, errors) = reply("--name=a --rw --size=4k", &MemorySource::default());
    assert_eq!((exit, errors[0].as_str()), (1, "fio: failed parsing rw=--size=4k"));
}

#[test]
fn getopt_complains_in_its_own_words() {
    let source = MemorySource::default();
    let (exit, _, errors) = reply("--bogus", &source);
    assert_eq!(exit, 1);
    assert_eq!(
        errors,
        [
            "fio: unrecognized option '--bogus'",
            "fio: unrecognized option '--bogus'",
            "Did you mean bs?",
            "fathom: command line: option bogus: there is no such option; did you mean bs?",
        ]
    );
    let (_, _, errors) = reply("--siz=4k", &source);
    assert_eq!(errors[0], "fio: option '--siz=4k' is ambiguous; possibilities: '--size' '--size'");
    assert_eq!(errors[1..3], ["fio: unrecognized option '--siz=4k'", "Did you mean size?"]);
    let (_, _, errors) = reply("--size", &source);
    assert_eq!(errors[0], "fio: option '--size' requires an argument");
    let (_, _, errors) = reply("--readonly=1", &source);
    assert_eq!(errors[0], "fio: option '--readonly' doesn't allow an argument");
    let (_, _, errors) = reply("--name=", &source);
    assert_eq!(errors[0], "fio: option name requires an argument");
}

#[test]
fn private_options_follow_their_engine() {
    let run = run("--ioengine=io_uring --hipri --name=a --sqthread_poll --size=1m");
    let job = &run.jobs[0];
    assert!(job.private.io_uring.hipri && job.private.io_uring.sqthread_poll);
    assert!(!job.private.pvsync2.hipri);
    let (_, _, errors) = reply("--hipri --ioengine=io_uring --name=a", &MemorySource::default());
    assert!(errors.last().is_some_and(|line| line.contains("ioengine has to come before")), "{errors:?}");
}

#[test]
fn sections_inherit_and_keep_their_place() {
    let text = "[global]\nbs=8k\n[a]\nsize=1m\n[global-more]\nrw=write\n[b]\nbs=4k\nname=c\n";
    let run = run_with("job.fio", &MemorySource::with_file("job.fio", text));
    assert_eq!(names(&run), ["a", "c"]);
    assert_eq!((run.jobs[0].io_type.rw.rw, run.jobs[1].io_type.rw.rw), (Rw::Read, Rw::Write));
    assert_eq!(
        (run.jobs[0].block_size.bs[Direction::Read], run.jobs[1].block_size.bs[Direction::Read]),
        (8192, 4096)
    );
    assert_eq!(run.jobs[1].origin, Origin::File { path: "job.fio".into(), line: 7 });
    assert_eq!(run.jobs[0].written, [("size".to_owned(), "1m".to_owned())]);
    assert_eq!(run.global_options.len(), 2);
    let option = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let section = |first_job, options| GlobalSection { first_job, options };
    assert_eq!(run.global_sections, [section(0, option("bs", "8k")), section(1, option("rw", "write"))]);
}

#[test]
fn global_sections_without_a_job_between_are_one() {
    let sections = |text: &str| {
        let run = run_with("job.fio", &MemorySource::with_file("job.fio", text));
        run.global_sections
            .into_iter()
            .map(|section| (section.first_job, section.options))
            .collect::<Vec<_>>()
    };
    let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let jobs = "[a]\nsize=1m\n";
    let one = sections(&format!("[global]\nbs=8k\n[global]\nrw=read\n{jobs}"));
    assert_eq!(one, [(0, vec![option("bs", "8k"), option("rw", "read")])]);
    // A repeated option may have a different meaning than before.
    let two =
        sections(&format!("[global]\nioengine=libaio\nuserspace_reap\n[global]\nioengine=null\n{jobs}"));
    assert_eq!(two.len(), 2, "{two:?}");
}

#[test]
fn the_place_of_engine_and_kb_base_is_irrelevant() {
    let text = "[a]\nsize=8k\nuserspace_reap\nioengine=libaio\nkb_base=1000\n";
    let run = run_with("job.fio", &MemorySource::with_file("job.fio", text));
    assert!(run.jobs[0].private.libaio.userspace_reap);
    assert_eq!(run.jobs[0].size.size, Some(SizeSpec::Bytes(8000)));
    let order: Vec<&str> = run.jobs[0].written.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(order, ["kb_base", "size", "ioengine", "userspace_reap"]);
}

#[test]
fn every_mistake_of_a_section_is_reported() {
    let text = "[a]\nbogus=1\nbs=abc\nhipri\n[b]\nbs=x\n";
    let (exit, _, errors) = reply("job.fio", &MemorySource::with_file("job.fio", text));
    assert_eq!(exit, 1);
    assert_eq!(errors[0], "fio: failed parsing bs=abc");
    assert_eq!(errors[1..3], ["Bad option <bogus=1>", "Did you mean bs?"]);
    assert!(errors.contains(&"fio: job a dropped".to_owned()));
    let ours: Vec<&String> = errors.iter().filter(|line| line.starts_with("fathom: job.fio:")).collect();
    assert_eq!(ours.len(), 3);
    assert!(errors[errors.len() - 3..].iter().all(|line| line.starts_with("fathom: ")));
    assert!(!errors.iter().any(|line| line.contains("bs=x")));
}

#[test]
fn further_files_wait_and_start_from_scratch() {
    let mut source = MemorySource::with_file("one", "[a]\n[b]\n");
    source.files.insert("two".into(), "[c]\n[d]\n".to_owned());
    let run = run_with("--bs=8k --name=z one two", &source);
    assert_eq!(names(&run), ["z", "a", "b", "c", "d"]);
    let stonewalls: Vec<bool> = run.jobs.iter().map(|job| job.threads.stonewall).collect();
    assert_eq!(stonewalls, [false, false, false, true, false]);
    let sizes: Vec<u64> = run.jobs.iter().map(|job| job.block_size.bs[Direction::Read]).collect();
    assert_eq!(sizes, [8192, 8192, 8192, 4096, 4096]);
}

#[test]
fn standard_input_is_a_job_file() {
    let run = run_with("-", &MemorySource::with_file("-", "[a]\n"));
    assert_eq!(run.jobs[0].origin, Origin::File { path: "-".into(), line: 1 });
}

#[test]
fn sections_can_be_chosen() {
    let source = MemorySource::with_file("job.fio", "[global]\nbs=8k\n[a]\n[b]\n[c]\n");
    let run = run_with("--section=a --section=c job.fio", &source);
    assert_eq!(names(&run), ["a", "c"]);
    assert_eq!(run.jobs[0].block_size.bs[Direction::Read], 8192);
    let (exit, out, errors) = reply("--section=z job.fio", &source);
    assert_eq!((exit, out[0].as_str(), errors[0].as_str()), (1, "fio-3.42", "No job(s) defined"));
    assert_eq!(reply("--section=global job.fio", &source).2[0], "fio: can't use global as only section");
}

#[test]
fn program_options_are_kept() {
    let run =
        run("--output=x --output-format=json,normal --eta=never --eta-newline=500ms --readonly --name=a");
    assert_eq!(run.program.output.as_deref(), Some(std::path::Path::new("x")));
    assert_eq!(run.program.formats, ["json", "normal"]);
    assert_eq!(run.program.eta, Eta::Never);
    assert_eq!(run.program.eta_newline, Some(std::time::Duration::from_millis(500)));
    assert!(run.program.readonly && !run.program.parse_only && !run.program.live);
    let run = self::run("--live --name=a");
    assert!(run.program.live && run.program.eta == Eta::Auto);
}

#[test]
fn forms_of_the_report_are_known_by_name_and_alias() {
    let formats = |words: &str| run(&format!("{words} --name=a")).program.formats;
    assert!(formats("").is_empty());
    assert_eq!(formats("--output-format=json,minimal"), ["json", "terse"]);
    assert_eq!(formats("--minimal"), ["terse"]);
    assert_eq!(formats("--append-terse"), ["normal", "terse"]);
    assert_eq!(formats("--output-format=lines,lines"), ["lines"]);
    let errors = |words: &str| reply(&format!("{words} --name=a"), &MemorySource::default()).2;
    let unknown = errors("--output-format=json,yaml");
    assert_eq!(unknown[0], "fio: invalid output format yaml");
    assert!(unknown[2].ends_with("expected normal, terse, json or lines"), "{unknown:?}");
    for mixed in ["--output-format=lines,json", "--output-format=lines --append-terse"] {
        let errors = errors(mixed);
        assert!(errors[1].ends_with("lines cannot be combined: it is all lines"), "{errors:?}");
    }
}

#[test]
fn writing_is_refused_under_readonly() {
    let (exit, out, errors) = reply("--readonly --name=a --rw=trimwrite", &MemorySource::default());
    assert_eq!(exit, 1);
    assert_eq!(errors[0], "fio: job <a> has write or trim bit set, but fio is in read-only mode");
    assert_eq!(errors[1], "Correct format for offending option");
    assert!(out[0].starts_with("        valid values: read "));
    for late in ["--name=a --rw=write --readonly", "--rw=randtrim --name=a --readonly"] {
        let (exit, _, errors) = reply(late, &MemorySource::default());
        assert_eq!(exit, 1);
        assert_eq!(
            errors[0],
            "fio: trim and write operations are not allowed with the --readonly parameter."
        );
    }
    assert_eq!(run("--name=a --rw=randread --readonly").jobs[0].io_type.rw.rw, Rw::RandRead);
}

#[test]
fn a_misspelt_word_brings_the_nearest_one() {
    let (exit, _, errors) = reply("--name=a --rw=ranread", &MemorySource::default());
    assert_eq!(exit, 1);
    assert!(errors[1].ends_with("; did you mean randread?"), "{errors:?}");
}

#[test]
fn help_shows_values_and_defaults() {
    for (option, lines) in [
        ("profile", &["        valid values: tiobench ", "                    : act "][..]),
        ("percentage_random", &["             default: 100,100,100\n"]),
        ("recover_zbd_write_error", &["             default: no default\n"]),
        ("write_zone_remainder", &["             default: no default\n"]),
    ] {
        let (exit, text, _) = reply(&format!("--cmdhelp={option}"), &MemorySource::default());
        assert_eq!(exit, 0);
        let text = text.join("\n");
        assert!(lines.iter().all(|line| text.contains(line)), "{option}: {text}");
        assert!(!text.contains("not built"), "{option}");
    }
}

#[test]
fn what_is_not_built_is_refused_by_name() {
    let source = MemorySource::default();
    for (arguments, text) in [
        ("--name=a --gpu_dev_id=1", "option gpu_dev_id=1 is"),
        ("--name=a --mem=cudamalloc", "option mem=cudamalloc is"),
        ("--name=a --ioengine=solarisaio", "option ioengine=solarisaio is"),
        ("--memcpytest", "option --memcpytest is"),
    ] {
        let (exit, _, errors) = reply(arguments, &source);
        assert_eq!(exit, 1, "{arguments}");
        let expected =
            format!("fathom: command line: {text} known but not built yet; see docs/compatibility.md");
        assert_eq!(errors, [expected], "{arguments}");
    }
    assert!(!run("--name=a --verify=0 --do_verify=1").jobs[0].needs_fio_sequence());
    assert!(run("--name=a --random_generator=lfsr").jobs[0].needs_fio_sequence());
}

#[test]
fn engines_that_cannot_be_tried_say_what_they_need() {
    let source = MemorySource::default();
    for (engine, needed) in [
        ("libblkio", "the library libblkio"),
        ("xnvme", "the library xNVMe"),
        ("dfs", "a DAOS server"),
        ("ime_psync", "DDN's Infinite Memory Engine"),
        ("ime_psyncv", "DDN's Infinite Memory Engine"),
        ("ime_aio", "DDN's Infinite Memory Engine"),
        ("libcufile", "an NVIDIA GPU"),
        ("libhipfile", "an AMD GPU"),
    ] {
        let (exit, _, errors) = reply(&format!("--name=a --ioengine={engine}"), &source);
        assert_eq!(exit, 1, "{engine}");
        assert!(errors[0].contains(needed), "{errors:?}");
        assert!(errors[0].ends_with("ioengine=external:PATH, docs/external.md"), "{errors:?}");
    }
}

#[test]
fn removed_options_are_errors_and_idle_ones_are_not() {
    let source = MemorySource::default();
    let (exit, out, errors) = reply("--name=a --rwmixcycle=2", &source);
    assert_eq!((exit, out[0].as_str()), (1, "Option rwmixcycle is deprecated"));
    assert_eq!(errors[0], "fio: failed parsing rwmixcycle=2");
    assert_eq!(run("--name=a --verifysort=1").messages[0].text, "Option verifysort is deprecated");
}

#[test]
fn nothing_to_run_shows_the_usage() {
    let source = MemorySource::with_file("empty", "[global]\nbs=4k\n");
    for arguments in ["", "empty", "--bs=4k"] {
        let (exit, out, errors) = reply(arguments, &source);
        assert_eq!(exit, 1);
        assert_eq!(out[..2], ["fio-3.42", "fio [options] [job options] <job file(s)>"]);
        assert_eq!(errors[..2], ["No job(s) defined", ""]);
    }
    assert_eq!(reply("--parse-only empty", &source).0, 0);
    // The list of options would hide the line that says what to do.
    let Outcome::Exit(own) = parse("fathom", &words("empty"), &source) else { panic!("there is no job") };
    assert!(own.exit == 1 && own.messages.iter().all(|message| message.stream == Stream::Stderr), "{own:?}");
}

#[test]
fn job_files_can_be_shown_as_command_lines() {
    let text = "[global]\nrw=randread\nthread\n[a]\ndescription=hi there\nblocksize=8k\n[b c]\n";
    let (exit, out, errors) = reply("--showcmd job.fio", &MemorySource::with_file("job.fio", text));
    assert_eq!((exit, errors.len()), (0, 0));
    assert_eq!(out, ["fio --rw=randread --thread --name=a --description=\"hi there\" --bs=8k --name=b c "]);
    let source = MemorySource::with_file("job.fio", text);
    let Outcome::Exit(own) = parse("/bin/fathom", &words("--showcmd job.fio"), &source) else {
        panic!("it is shown")
    };
    assert!(own.messages[0].text.starts_with("fathom --rw=randread "), "{own:?}");
}

/// The expected output is what fio 3.41 prints for the same files.
#[test]
fn options_are_shown_in_the_order_of_fio() {
    let shown = |text: &str| {
        let (exit, out, errors) = reply("--showcmd job.fio", &MemorySource::with_file("job.fio", text));
        assert_eq!((exit, errors.len()), (0, 0), "{errors:?}");
        out.join("\n")
    };
    let a = "[a]\nbs=4k\nfilename=x\nfilename_format=y\ncpuload=50\nioengine=cpuio\nunit_base=0\nkb_base=1024\n\
             cpus_allowed_policy=shared\nlockfile=none\n";
    assert_eq!(
        shown(a),
        "fio --name=a --unit_base=0 --kb_base=1024 --cpus_allowed_policy=shared --lockfile=none --bs=4k --ioengine=cpuio \
         --filename=x --filename_format=y --cpuload=50 "
    );
    let globals =
        "[global]\nbs=4k\n[global]\nfilename=x\nsize=4k\n[a]\nrw=read\n[global]\nbs=8k\n[b]\nrw=write\n";
    assert_eq!(
        shown(globals),
        "fio --bs=4k --bs=4k --size=4k --filename=x --name=a --rw=read --bs=4k --size=4k --filename=x --bs=8k --name=b --rw=write "
    );
    assert_eq!(shown("[a]\nsize=4k\nfilename=${NOT_SET}data\n"), "fio --name=a --size=4k --filename=data ");
    assert_eq!(
        shown("[a]\ndirectory=/not/here\nioengine=cpp_null\nsize=1m\n"),
        "fio --name=a --directory=/not/here --ioengine=cpp_null --size=1m "
    );
}

#[test]
fn results_can_be_sent_elsewhere() {
    let run = run("--ioengine=io_uring --name=a --rw=randrw:8 --bssplit=4k/50:8k --percentile_list=50:99.9");
    let text = serde_json::to_string(&run).unwrap();
    assert_eq!(serde_json::from_str::<RunSpec>(&text).unwrap(), run);
}

/// A line of a job file: a section, an option, an include, or anything else.
const JOB_FILE_LINE: &str = "(\\[[a-z]{0,6}\\]?|[a-z_]{1,8}( ?= ?\\PC{0,8})?|include \\PC{0,4}|\\PC{0,9})";

proptest! {
    #[test]
    fn no_command_line_panics(
        arguments in proptest::collection::vec("(-{0,3}[a-z_]{0,8}(=\\PC{0,8})?|\\PC{0,8})", 0..6)
    ) {
        parse("fio", &arguments, &MemorySource::default());
    }

    #[test]
    fn no_option_on_the_command_line_panics(
        picks in proptest::collection::vec((0usize..400, "[-0-9a-z:,/%.]{0,10}"), 0..8)
    ) {
        let known: Vec<&str> = registry::job_options().map(|option| option.name).collect();
        let mut arguments = vec!["--name=a".to_owned()];
        arguments.extend(picks.iter().map(|(at, value)| format!("--{}={value}", known[at % known.len()])));
        parse("fio", &arguments, &MemorySource::default());
    }

    #[test]
    fn no_job_file_panics(
        lines in proptest::collection::vec(JOB_FILE_LINE, 0..12)
    ) {
        let source = MemorySource::with_file("job.fio", &lines.join("\n"));
        outcome("job.fio", &source);
        outcome("--showcmd job.fio", &source);
    }
}
