//! Parts that all pages share: the frame of a self-contained file, and lists.

use fathom_command::printer::harmless;
use maud::{Markup, PreEscaped, html};
use std::borrow::Cow;

/// The styles of the page. The chart styles come first, because the others override their colours for dark mode
/// and paper.
pub(crate) const STYLE: &str = concat!(include_str!("assets/chart.css"), include_str!("assets/style.css"));
/// The cursor of the charts.
pub(crate) const SCRIPT: &str = include_str!("assets/cursor.js");

/// An id in the page, and the name of what it links to.
pub(crate) type Link = (String, String);

/// A self-contained page around a body.
pub(crate) fn shell(title: &str, links: &[Link], body: &Markup) -> String {
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                title { (title) }
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
                    script-src 'unsafe-inline'; img-src data:";
                link rel="icon" href="data:,";
                style { "\n" (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#content" { "Skip to the results" }
                header { h1 { (title) } }
                nav aria-label="Results" { ul {
                    @for (id, name) in links { li { a href={ "#" (id) } { (name) } } }
                } }
                main id="content" { (body) }
                footer { p {
                    "Made by fathom. Everything is in this file. Focus a chart and use the arrow keys, Home and End to step \
                     through its values, Escape to leave; its figures are in a table below."
                } }
                script { "\n" (PreEscaped(SCRIPT)) }
            }
        }
    };
    // Each line is made harmless, because file names can contain anything and a page may be read in a terminal.
    let lines: Vec<Cow<'_, str>> = page.0.split('\n').map(harmless).collect();
    lines.join("\n") + "\n"
}

/// Sentences as a list; empty without sentences.
pub(crate) fn sentences<T: AsRef<str>>(told: impl IntoIterator<Item = T>) -> Markup {
    let mut told = told.into_iter().peekable();
    html! { @if told.peek().is_some() { ul.notes { @for sentence in told { li { (sentence.as_ref()) } } } } }
}

/// Facts with their labels.
pub(crate) fn list<N: AsRef<str>>(facts: &[(N, String)]) -> Markup {
    html! { dl.facts { @for (name, value) in facts { dt { (name.as_ref()) } dd { (value) } } } }
}
