//! Every engine of the program does what an engine has to do.

use fathom_engines::ENGINES;
use fathom_run::EngineEntry;
use fathom_testing::conformance::{Subject, check};

fn subject(engine: &EngineEntry, words: &str) -> Subject {
    let definition = engine.definition;
    Subject {
        words: format!("--ioengine={} {words}", definition.name),
        engine: *engine,
        open: fathom_engines::open,
        keeps_files_open: definition.maps_files || words.contains("registerfiles=1"),
    }
}

/// The engine with these words of the command line does all it must, or is not to be had here, which is said.
fn try_engine(engine: &EngineEntry, words: &str) {
    if let Err(reason) = check(&subject(engine, words)) {
        fathom_skip::record(&reason);
    }
}

#[test]
fn engines() {
    for engine in ENGINES.iter().filter(|engine| !engine.definition.one_thread) {
        let words = if engine.definition.is_background() { "--cpuload=50 --cpuchunks=10us" } else { "" };
        try_engine(engine, words);
    }
    for (name, words) in [("libaio", "--userspace_reap"), ("pvsync2", "--nowait=0")] {
        try_engine(fathom_engines::find(name).expect("an engine"), words);
    }
}

#[test]
fn engines_with_threads_that_submit() {
    // The ring of io_uring belongs to one thread.
    for engine in
        ENGINES.iter().filter(|engine| engine.definition.has_files() && !engine.definition.one_thread)
    {
        try_engine(engine, "--io_submit_mode=offload");
    }
}

#[test]
fn rings() {
    let engine = fathom_engines::find("io_uring").expect("an engine");
    let options = [
        "",
        "--registerfiles=1",
        "--registerfiles=0",
        "--nonvectored=0",
        "--sqthread_poll=1",
        "--force_async=2",
    ];
    options.into_iter().for_each(|words| try_engine(engine, words));
}
