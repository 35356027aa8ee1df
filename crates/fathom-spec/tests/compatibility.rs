//! The page in docs that the declarations make.

use fathom_spec::compatibility_markdown;

#[test]
fn the_page_in_docs_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/compatibility.md");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == compatibility_markdown(&fathom_report::declarations()),
        "docs/compatibility.md is out of date; regenerate it with\n\
         cargo run -p fathom-spec --example compatibility > docs/compatibility.md"
    );
}
