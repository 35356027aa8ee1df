//! Tasks of the project: `tidy` checks the house rules, `bench` compares with an installed fio, `soak` makes
//! random runs, `verdicts` judges ordinary ones, `notices` lists the licences of shipped code, `words` draws a
//! sample of the prose.

#![forbid(unsafe_code)]
// A task prints for the person who runs it.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod chance;
mod metadata;
mod notices;
mod passages;
mod soak;
mod tidy;
mod tree;
mod verdicts;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo run -p xtask -- tidy
       cargo run --release -p xtask -- bench [--write|--servers|--instructions|--options] [--rounds=N] [--only=TEXT]
       cargo run --release -p xtask -- soak [--time=SECONDS] [--seed=N] [--rounds=N] [--only=KIND] [--directory=DIRECTORY]
       cargo run --release -p xtask -- verdicts [--runs=N] [--seed=N] [--directory=DIRECTORY]
       cargo run -p xtask -- notices PLATFORM [jar]
       cargo run -p xtask -- words [--sample=N] [--seed=N]

tidy    check the house rules of the repository
bench   compare target/dist/fathom with the installed fio, as a Markdown table; with --servers, engines that talk to servers; with
        --instructions, the cost of an I/O in a whole (virtual) machine; with --options, the cost that each option adds to an I/O
        --write     store the table in docs/performance.md
        --rounds=N  runs of each program per case (default 5)
        --only=TEXT only the cases whose name contains TEXT
        --program=PATH  another build of fathom
        --fio       with --options, also fio's figures, where there is a goal for them
soak    random runs of target/release/fathom: verification, interruptions, limits
        --time=SECONDS  for how long (default 600)
        --seed=N        the same runs again; a failed round prints its seed
        --rounds=N      no more rounds than these
        --program=PATH  another build of fathom
        --only=KIND     integrity, interruptions or limits
        --directory=D   where the files go (default: the directory for temporary files)
verdicts  ordinary runs of target/release/fathom, and how many are called wrong: 1 in 100 is too many
        --runs=N        how many (default 200)
        --seed=N        other runs
        --program=PATH  another build of fathom
        --directory=D   where the files go (default: the directory for temporary files)
notices print the licences of all that is in the program for a platform of Rust's (x86_64-unknown-linux-musl),
        or in the native library of the jar
words   a random sample of the comments, messages and paragraphs of the tree, to be judged by docs/style.md
        --sample=N      how many (default 120)
        --seed=N        the same sample again";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into()).collect();
    let result = match words.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        Some(("tidy", [])) => tidy::run(&repository()),
        Some(("soak", options)) => soak::run(&repository(), options),
        Some(("verdicts", options)) => verdicts::run(&repository(), options),
        Some(("notices", [platform])) => notices::run(&repository(), platform, false),
        Some(("notices", [platform, of])) if of == "jar" => notices::run(&repository(), platform, true),
        Some(("words", options)) => words::run(&repository(), options),
        Some(("bench", options)) => bench::run(&repository(), options),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository, where this crate was built.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}
