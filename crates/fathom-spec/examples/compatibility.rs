//! Prints docs/compatibility.md from the option declarations.

use std::io::Write;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(fathom_spec::compatibility_markdown().as_bytes())
}
