//! Earlier findings of the fuzzer, and its initial inputs, must not break anything.

#[path = "../../../../fuzz/src/targets.rs"]
#[allow(unreachable_pub, dead_code)]
mod targets;

use std::path::Path;

#[test]
fn findings_stay_mended() {
    let findings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/findings");
    for (name, try_it) in targets::TARGETS {
        // Every target must handle invalid input.
        [&b""[..], b"\0", b"[a]\n", b"{\"jobs\":[{}]}", &[0xff; 300]].iter().for_each(|bytes| try_it(bytes));
        let Ok(entries) = std::fs::read_dir(findings.join(name)) else { continue };
        for entry in entries {
            let path = entry.expect("an entry").path();
            let bytes = std::fs::read(&path).expect("it can be read");
            eprintln!("{}", path.display());
            try_it(&bytes);
        }
    }
}
