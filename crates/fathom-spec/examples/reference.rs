//! Prints a reference page from the declarations: `options` for docs/options.md, `engines` for docs/engines.md.

use std::io::Write;

fn main() -> std::io::Result<()> {
    let page = match std::env::args().nth(1).as_deref() {
        Some("options") => fathom_spec::options_markdown(&fathom_report::declarations()),
        Some("engines") => fathom_spec::engines_markdown(),
        _ => return Err(std::io::Error::other("name the page: options or engines")),
    };
    std::io::stdout().write_all(page.as_bytes())
}
