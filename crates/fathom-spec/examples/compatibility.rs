//! Prints docs/compatibility.md from the option declarations.

use std::io::Write;

fn main() -> std::io::Result<()> {
    let page = fathom_spec::compatibility_markdown(&fathom_report::declarations());
    std::io::stdout().write_all(page.as_bytes())
}
