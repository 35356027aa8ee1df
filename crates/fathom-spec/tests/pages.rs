//! Checks that the generated pages in docs match the declarations.

use fathom_spec::{compatibility_markdown, engines_markdown, options_markdown};

#[track_caller]
fn is_current(page: &str, example: &str, generated: &str) {
    let path = format!("{}/../../docs/{page}", env!("CARGO_MANIFEST_DIR"));
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == generated,
        "docs/{page} is out of date; regenerate it with\n\
         cargo run -p fathom-spec --example {example} > docs/{page}"
    );
}

#[test]
fn the_page_of_compatibility_is_current() {
    is_current("compatibility.md", "compatibility", &compatibility_markdown(&fathom_report::declarations()));
}

#[test]
fn the_pages_of_reference_are_current() {
    is_current("options.md", "reference options", &options_markdown(&fathom_report::declarations()));
    is_current("engines.md", "reference engines", &engines_markdown());
}
