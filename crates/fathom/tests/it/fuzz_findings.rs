//! Earlier findings of the fuzzer, and its initial inputs, must not break anything.

#[path = "../../../../fuzz/src/targets.rs"]
#[allow(unreachable_pub, dead_code)]
mod targets;

#[path = "../../../../fuzz/src/seeds.rs"]
#[allow(unreachable_pub, dead_code)]
mod seeds;

use crate::support::scratch;
use std::path::Path;

/// Tries each file of a directory, if there is one; returns their number.
fn try_all(directory: &Path, try_it: fn(&[u8])) -> usize {
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let try_one = |path: std::path::PathBuf| {
        eprintln!("{}", path.display());
        try_it(&std::fs::read(&path).expect("it can be read"));
    };
    paths.map(try_one).count()
}

#[test]
fn every_target_takes_its_seeds() {
    let directory = scratch();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    seeds::write(&root, directory.path()).expect("seeds can be written");
    for &(name, try_it) in targets::TARGETS {
        assert!(try_all(&directory.path().join(name), try_it) > 0, "{name} has no seeds");
    }
}

#[test]
fn findings_stay_mended() {
    let findings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/findings");
    for &(name, try_it) in targets::TARGETS {
        // Every target must handle invalid input.
        [&b""[..], b"\0", b"[a]\n", b"{\"jobs\":[{}]}", &[0xff; 300]].iter().for_each(|bytes| try_it(bytes));
        try_all(&findings.join(name), try_it);
    }
}
