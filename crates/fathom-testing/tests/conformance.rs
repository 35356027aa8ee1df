//! Conformance of every engine of the program.

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

/// The engine selected by these arguments meets every requirement, or is skipped with a message because this
/// machine does not support it.
fn try_engine(engine: &EngineEntry, words: &str) {
    if let Err(reason) = check(&subject(engine, words)) {
        fathom_skip::record(&reason);
    }
}

#[test]
fn engines() {
    // Engines that need a special device or a peer are tested in fathom/tests/it/lab and in the tests of the
    // program.
    let needs_nothing = |engine: &&EngineEntry| {
        let engine = engine.definition;
        // Engines in shared objects have a separate test below.
        let is_loaded = engine.name == "external";
        !engine.one_thread && !engine.is_remote() && !engine.on_media && !engine.has_peers && !is_loaded
    };
    for engine in ENGINES.iter().filter(needs_nothing) {
        let words = if engine.definition.is_background() { "--cpuload=50 --cpuchunks=10us" } else { "" };
        try_engine(engine, words);
    }
    for (name, words) in [("libaio", "--userspace_reap"), ("pvsync2", "--nowait=0"), ("page_fault", "")] {
        try_engine(fathom_engines::find(name).expect("an engine"), words);
    }
}

#[test]
fn engines_with_threads_that_submit() {
    // The ring of io_uring belongs to one thread.
    let fits = |engine: &&EngineEntry| {
        let engine = engine.definition;
        engine.has_files() && !engine.one_thread && !engine.on_media && engine.name != "external"
    };
    for engine in ENGINES.iter().filter(fits) {
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

#[test]
fn engines_on_servers() {
    let directory = tempfile::tempdir().expect("a directory");
    let socket = directory.path().join("s");
    // The child ends with its parent, and stays in the foreground so that it can be terminated.
    let server = std::process::Command::new("nbdkit")
        .args(["--foreground", "--exit-with-parent", "--unix"])
        .arg(&socket)
        .args(["memory", "1M"])
        .spawn();
    let mut server = match server {
        Ok(server) => server,
        Err(error) => return fathom_skip::record(&format!("nbdkit: {error}")),
    };
    let begun = std::time::Instant::now();
    while std::os::unix::net::UnixStream::connect(&socket).is_err() {
        assert!(begun.elapsed().as_secs() < 60, "nbdkit does not listen");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let engine = fathom_engines::find("nbd").expect("an engine");
    let uri = format!("--uri=nbd+unix:///?socket={}", socket.display());
    for words in ["", "--connections=3", "--io_submit_mode=offload"] {
        try_engine(engine, &format!("{uri} {words}"));
    }
    server.kill().and_then(|()| server.wait()).expect("nbdkit ends");
}

#[test]
fn engines_that_are_loaded() {
    let directory = tempfile::tempdir().expect("a directory");
    let library = directory.path().join("late.so");
    let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let built = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-Iinclude", "-o"])
        .arg(&library)
        .arg("examples/external/late.c")
        .current_dir(repository)
        .status();
    match built {
        Ok(status) => assert!(status.success(), "the example does not build"),
        Err(error) => return fathom_skip::record(&format!("cc: {error}")),
    }
    let definition = fathom_engines::load(&library).expect("it can be loaded");
    let engine = fathom_engines::find(definition.name).expect("an engine");
    for words in ["", "--delay=10us", "--io_submit_mode=offload"] {
        try_engine(engine, words);
    }
}
