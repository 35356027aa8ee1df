//! Checks that earlier findings of the fuzzer, and its initial inputs, cause no error.

#[path = "../../../../fuzz/src/targets.rs"]
#[allow(unreachable_pub, dead_code)]
mod targets;

#[path = "../../../../fuzz/src/seeds.rs"]
#[allow(unreachable_pub, dead_code)]
mod seeds;

use crate::support::scratch;
use std::path::{Path, PathBuf};

/// The files of a directory, if there is one.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

#[test]
fn every_target_takes_its_seeds() {
    let directory = scratch();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    seeds::write(&root, directory.path()).expect("seeds can be written");
    for &(name, try_it) in targets::TARGETS {
        let seeds = files(&directory.path().join(name));
        assert!(!seeds.is_empty(), "{name} has no seeds");
        for path in seeds {
            eprintln!("{}", path.display());
            try_it(&std::fs::read(&path).expect("it can be read"));
        }
    }
}

#[test]
fn findings_stay_mended() {
    let findings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/findings");
    for &(name, try_it) in targets::TARGETS {
        // Every target must handle invalid input.
        [&b""[..], b"\0", b"[a]\n", b"{\"jobs\":[{}]}", &[0xff; 300]].iter().for_each(|bytes| try_it(bytes));
        for path in files(&findings.join(name)) {
            eprintln!("{}", path.display());
            try_it(&std::fs::read(&path).expect("it can be read"));
        }
    }
}
