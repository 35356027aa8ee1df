//! `ioengine=external:PATH`: the engines of `examples/external`, and libraries with every kind of error.

use crate::support::program::{Finished, Launch};
use crate::support::{json, scratch, skip};
use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn build(compiler: &str, words: &str, source: &Path, library: &Path) -> Result<(), String> {
    skip::tool(compiler)?;
    let finished = Launch::of(Path::new(compiler), &repository())
        .words(words)
        .argument("-o")
        .argument(library)
        .argument(source)
        .run();
    assert_eq!(finished.code(), 0, "{}: {}", source.display(), finished.stderr);
    Ok(())
}

/// Builds an engine in C.
fn c_engine(source: &Path, library: &Path) -> Result<(), String> {
    build("cc", "-shared -fPIC -O2 -Wall -Wextra -Werror -Iinclude", source, library)
}

pub(crate) fn example(name: &str, directory: &Path) -> Result<(), String> {
    c_engine(&repository().join("examples/external").join(name).with_extension("c"), &directory.join("e.so"))
}

/// An engine whose parts are inserted into a frame; `more` comes first in the structure.
fn made(directory: &Path, functions: &str, fields: &str) -> Result<(), String> {
    let source = directory.join("made.c");
    let text = format!(
        "#include \"fathom_engine.h\"\n#include <unistd.h>\n#include <stdio.h>\n#include <errno.h>\n\
         static int open_(const struct fathom_setup *s, void **t) {{ (void)s, (void)t; return 0; }}\n\
         static void close_(void *t) {{ (void)t; }}\n\
         static int64_t now(void *t, const struct fathom_io *io) {{ (void)t; return io->length; }}\n\
         static int64_t later(void *t, const struct fathom_io *io) {{ (void)t, (void)io; return FATHOM_PENDING; }}\n\
         int64_t (*used[])(void *, const struct fathom_io *) = {{ now, later }};\n\
         {functions}\n\
         static const struct fathom_engine engine = {{ .version = FATHOM_ENGINE_VERSION, .open = open_, .close = close_, {fields} }};\n\
         const struct fathom_engine *fathom_engine(uint32_t v) {{ return v == 1 ? &engine : 0; }}\n"
    );
    fs::write(&source, text).expect("written");
    build("cc", "-shared -fPIC -Iinclude -Wno-override-init", &source, &directory.join("e.so"))
}

fn run(directory: &Path, words: &str) -> Finished {
    Launch::fathom(directory)
        .words("--name=a --ioengine=external:./e.so --size=1m --bs=4k")
        .words(words)
        .run()
}

#[test]
fn data_of_files_is_moved_at_a_depth() {
    let directory = scratch();
    require!(example("late", directory.path()));
    for words in [
        "--rw=randwrite --verify=crc32c --iodepth=16",
        "--rw=randrw --verify=crc32c --iodepth=4 --iodepth_batch=4 --iodepth_batch_complete_min=2 --fsync=5",
        "--rw=randwrite --verify=crc32c --iodepth=8 --numjobs=3 --thread",
        "--rw=randwrite --verify=crc32c --iodepth=8 --numjobs=3 --end_fsync=1 --direct=1",
        "--rw=randrw --iodepth=4 --delay=1ms --rate_iops=500 --io_size=100k",
        "--rw=randwrite --verify=crc32c --iodepth=3 --io_submit_mode=offload",
        "--rw=randtrim --iodepth=4",
        "--rw=randwrite --filename=x:y --nrfiles=2 --openfiles=1 --verify=crc32c --iodepth=4",
    ] {
        run(directory.path(), words).expect_clean();
    }
    let finished =
        run(directory.path(), "--output-format=json --rw=read --iodepth=4 --delay=2ms --io_size=64k");
    let document = json::document(&finished.expect_clean().stdout);
    let least = json::integer(json::job(&document, "a"), "read/clat_ns/min");
    assert!(least >= 2_000_000, "the option reached the engine: {least} ns");
}

#[test]
fn targets_may_be_its_own_and_it_may_be_written_in_rust() {
    let directory = scratch();
    let source = repository().join("examples/external/memory.rs");
    require!(build(
        "rustc",
        "--edition 2024 -O --crate-type cdylib",
        &source,
        &directory.path().join("e.so")
    ));
    for words in [
        "--rw=randwrite --verify=crc32c",
        "--rw=randrw --verify=crc32c --numjobs=3 --thread --fsync=4",
        "--rw=randwrite --filename=x:y --size=2m --verify=sha1 --numjobs=2 --end_fsync=1",
        "--rw=randtrim",
        "--rw=write --size=8m --capacity=8m --verify=md5",
        "--rw=write --verify=crc32c --iodepth=4 --io_submit_mode=offload --verify_async=0 --do_verify=0",
    ] {
        run(directory.path(), words).expect_clean();
    }
    let finished = run(directory.path(), "--output-format=json --rw=write --size=2m").expect_clean();
    let document = json::document(&finished.stdout);
    let bytes = json::integer(json::job(&document, "a"), "write/io_bytes");
    assert_eq!(bytes, 1 << 20, "a target is as large as it is");
    let made = ["x", "y", "a.0.0", "a.1.0"].into_iter().find(|name| directory.path().join(name).exists());
    assert_eq!(made, None, "its targets are no files");
}

#[test]
fn the_least_engine_runs() {
    let directory = scratch();
    require!(example("null", directory.path()));
    for words in [
        "--rw=randrw",
        "--rw=randtrim",
        "--rw=write --numjobs=2 --thread --fsync=2",
        "--rw=read --size=1g --iodepth=8",
    ] {
        run(directory.path(), words).expect_clean();
    }
}

#[test]
fn options_are_explained_and_held_against_their_types() {
    let directory = scratch();
    require!(example("late", directory.path()));
    let help =
        |request: &str| Launch::fathom(directory.path()).argument(format!("--enghelp={request}")).run();
    let listed = help("external:./e.so").expect_clean().stdout;
    assert!(listed.contains("delay") && listed.contains("Time that every I/O takes"), "{listed}");
    let one = help("external:./e.so,refused").expect_clean().stdout;
    assert!(one.contains("A name of a file that must not be used"), "{one}");
    assert!(Launch::fathom(directory.path()).words("--enghelp").run().stdout.contains("external"));
    assert_eq!(help("external:./no.so").code(), 1);
    for (words, reason) in [
        ("--delai=1", "delai"),
        ("--delay=soon", "delay=soon"),
        ("--refused=data --filename=data", "data is refused: choose another file"),
    ] {
        let finished = run(directory.path(), &format!("{words} --rw=read"));
        assert_eq!(finished.code(), 1, "{words}: {}", finished.stdout);
        assert!(finished.stderr.contains(reason), "{words}: {}", finished.stderr);
    }
    fs::write(directory.path().join("job"), "[a]\nioengine=external:./e.so\ndelay=1us\nsize=64k\nrw=write\n")
        .expect("written");
    Launch::fathom(directory.path()).words("job").run().expect_clean();
}

#[test]
fn errors_have_a_number_and_a_text() {
    let directory = scratch();
    let explained = "static int64_t fails(void *t, const struct fathom_io *io) { (void)t; return io->offset < 65536 ? (int64_t)io->length : -ENODATA; }\n\
                     static const char *why(void *t, uint32_t s) { (void)t, (void)s; return \"the shelf is empty\"; }";
    require!(made(directory.path(), explained, ".queue = fails, .explain = why"));
    let finished = run(directory.path(), "--output-format=json --rw=write");
    assert_eq!(finished.code(), 1);
    let line = "No data available (the shelf is empty): write offset=65536, buflen=4096";
    assert!(finished.stderr.contains(line), "{}", finished.stderr);
    let document = json::document(&finished.stdout);
    assert_eq!(json::integer(json::job(&document, "a"), "error"), 61);
}

#[test]
fn libraries_that_are_none_are_refused_and_told_why() {
    let directory = scratch();
    let library = directory.path().join("e.so");
    let refusal = |reason: &str| {
        let finished = run(directory.path(), "--rw=read");
        assert_eq!(finished.code(), 1, "{reason}: {}", finished.stdout);
        assert!(finished.stderr.contains(reason), "{reason}: {}", finished.stderr);
    };
    refusal("invalid external ioengine path");
    fs::create_dir(&library).expect("a directory");
    refusal("is not a file");
    fs::remove_dir(&library).expect("empty");
    fs::write(&library, "text").expect("written");
    refusal("is not a shared object");
    let written = |text: &str| {
        fs::write(directory.path().join("t.c"), text).expect("written");
        c_engine(&directory.path().join("t.c"), &library)
    };
    require!(written("int x;"));
    refusal("exports no fathom_engine");
    require!(written("struct { int x; } ioengine;"));
    refusal("is an engine for fio (ioengine)");
    require!(written("void get_ioengine(void **e); void get_ioengine(void **e) { *e = 0; }"));
    refusal("docs/external.md");
    let engine = "#include \"fathom_engine.h\"\nconst struct fathom_engine *fathom_engine(uint32_t v)";
    require!(written(&format!("{engine} {{ (void)v; return 0; }}")));
    refusal("does not support version 1");
    require!(written(&format!(
        "{engine} {{ (void)v; static struct fathom_engine e = {{ .version = 7 }}; return &e; }}"
    )));
    refusal("uses version 7 of the interface");
    require!(made(directory.path(), "", ".queue = 0"));
    refusal("has no function queue");
    require!(made(directory.path(), "", ".queue = later, .capabilities = FATHOM_ASYNCHRONOUS"));
    refusal("has no function reap");
    require!(made(directory.path(), "", ".queue = now, .capabilities = 4096"));
    refusal("has capabilities that version 1 does not have: 0x1000");
    let option = "static const struct fathom_option o[] = {{ \"bs\", 0, \"mine\", FATHOM_INT, 0 }};";
    require!(made(directory.path(), option, ".queue = now, .options = o, .option_count = 1"));
    refusal("option bs has the name of an option of every job");
    let thread = "#include <pthread.h>\nstatic void *t(void *x) { pause(); return x; }\n\
                  __attribute__((constructor)) static void c(void) { pthread_t p; pthread_create(&p, 0, t, 0); }";
    require!(made(directory.path(), thread, ".queue = now"));
    refusal("starts a thread when it is loaded");
}

#[test]
fn broken_promises_are_errors() {
    let directory = scratch();
    require!(made(directory.path(), "", ".queue = later"));
    let finished = run(directory.path(), "--rw=write");
    assert!(
        finished.stderr.contains("a synchronous engine has answered FATHOM_PENDING"),
        "{}",
        finished.stderr
    );
    let wild = "static int wild(void *t, uint32_t min, uint32_t max, int64_t s, struct fathom_completion *c) \
                { (void)t, (void)min, (void)max, (void)s; c->slot = 77; c->result = 4096; return 1; }";
    require!(made(
        directory.path(),
        wild,
        ".queue = later, .reap = wild, .capabilities = FATHOM_ASYNCHRONOUS"
    ));
    let finished = run(directory.path(), "--rw=write --iodepth=4");
    assert_ne!(finished.code(), 0);
    let fault = "Protocol error (reap lists slot 77, in which no I/O is in flight)";
    assert!(finished.stderr.contains(fault), "{}", finished.stderr);
    let fails = "static int fails(void *t, uint32_t min, uint32_t max, int64_t s, struct fathom_completion *c) \
                 { (void)t, (void)min, (void)max, (void)s, (void)c; return -ENODEV; }";
    require!(made(
        directory.path(),
        fails,
        ".queue = later, .reap = fails, .capabilities = FATHOM_ASYNCHRONOUS"
    ));
    let finished = run(directory.path(), "--rw=write --iodepth=4");
    assert!(finished.stderr.contains("No such device (reap has failed)"), "{}", finished.stderr);
    let long = "static int64_t more(void *t, const struct fathom_io *io) { (void)t; return io->length + 1; }";
    require!(made(directory.path(), long, ".queue = more"));
    let finished = run(directory.path(), "--rw=write");
    assert!(finished.stderr.contains("an I/O of 4096 bytes has ended with 4097"), "{}", finished.stderr);
}

#[test]
fn one_that_hangs_is_named_as_stuck() {
    let directory = scratch();
    let hangs = "static int64_t hangs(void *t, const struct fathom_io *io) { (void)t; if (io->offset >= 8192) for (;;) pause(); return io->length; }";
    // It uses no device whose other traffic could count as progress.
    let own = ".size = big, .capabilities = FATHOM_OWN_TARGETS";
    require!(made(directory.path(), &format!("{BIG}{hangs}"), &format!(".queue = hangs, {own}")));
    let finished = run(directory.path(), "--rw=write --runtime=1 --patience=2s");
    assert_ne!(finished.code(), 0);
    let is_named = |text: &str, offset: &str| {
        text.lines().any(|line| line.starts_with("note: ") && line.contains(offset))
    };
    assert!(is_named(&finished.stdout, "offset=8192"), "{}", finished.stdout);
    let never = "static int never(void *t, uint32_t a, uint32_t b, int64_t s, struct fathom_completion *c) \
                 { (void)t, (void)a, (void)b, (void)s, (void)c; for (;;) pause(); }";
    let fields = format!(".queue = later, .reap = never, {own} | FATHOM_ASYNCHRONOUS");
    require!(made(directory.path(), &format!("{BIG}{never}"), &fields));
    let finished = run(directory.path(), "--rw=write --runtime=1 --patience=2s --iodepth=2");
    assert!(is_named(&finished.stdout, "offset=4096"), "{}", finished.stdout);
}

/// The size of targets without a limit.
const BIG: &str = "static int64_t big(const struct fathom_setup *s, const char *n) { (void)s, (void)n; return INT64_MAX; }\n";
