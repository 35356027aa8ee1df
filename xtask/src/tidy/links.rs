//! Links between pages: what they name exists, and the site has every page of the documentation.

use crate::tree::{File, Tree};
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// The table of contents of the site.
const CONTENTS: &str = "docs/SUMMARY.md";

/// Relative links whose file or heading does not exist, and pages of docs that are missing from the table of contents.
pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let pages = || tree.files.iter().filter(|file| file.has_extension("md"));
    let headings: HashMap<&Path, Vec<String>> =
        pages().map(|page| (page.path.as_path(), anchors(&page.text))).collect();
    let mut broken: Vec<String> = pages().flat_map(|page| broken_in(page, tree, &headings)).collect();
    let contents: Vec<PathBuf> = match pages().find(|page| page.name() == CONTENTS) {
        Some(page) => links(&page.text).into_iter().map(|(_, link)| target(page, &link)).collect(),
        None => return broken,
    };
    let of_docs = pages().filter(|page| page.path.starts_with("docs") && page.name() != CONTENTS);
    for page in of_docs.filter(|page| !contents.contains(&page.path)) {
        broken.push(format!("{CONTENTS}: {} is missing from the table of contents", page.name()));
    }
    broken
}

fn broken_in(page: &File, tree: &Tree, headings: &HashMap<&Path, Vec<String>>) -> Vec<String> {
    let mut broken = Vec::new();
    for (line, link) in links(&page.text) {
        let place = format!("{}:{line}", page.name());
        let path = target(page, &link);
        let is_known = |file: &File| file.path == path || file.path.starts_with(&path);
        if !tree.files.iter().any(is_known) {
            broken.push(format!("{place}: {link}: there is no {}", path.display()));
            continue;
        }
        if let (Some((_, anchor)), Some(known)) = (link.split_once('#'), headings.get(path.as_path()))
            && !known.iter().any(|heading| heading == anchor)
        {
            broken.push(format!("{place}: {link}: {} has no heading of that name", path.display()));
        }
    }
    broken
}

/// The file that a link of a page names, from the root of the repository.
fn target(page: &File, link: &str) -> PathBuf {
    let file = link.split('#').next().unwrap_or_default();
    if file.is_empty() {
        return page.path.clone();
    }
    let mut path = page.path.parent().unwrap_or(Path::new("")).to_path_buf();
    for component in Path::new(file).components() {
        match component {
            Component::ParentDir if path.pop() => {}
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}

/// The lines outside of code blocks, numbered from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((index + 1, line))
    })
}

/// Relative links, with their lines.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        // Code in backticks may look like a link.
        let outside = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for rest in outside.split("](").skip(1) {
            let link = rest.split(')').next().unwrap_or_default();
            if !link.contains(':') && !link.is_empty() {
                found.push((number, link.to_owned()));
            }
        }
    }
    found
}

/// The anchors of the headings of a page: those that forges and mdBook agree on.
fn anchors(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let letters = title.trim().to_lowercase().replace(' ', "-");
        let anchor: String = letters
            .chars()
            .filter(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_'))
            .collect();
        let before = found.iter().filter(|known| **known == anchor).count();
        found.push(if before == 0 { anchor } else { format!("{anchor}-{before}") });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_links_and_missing_pages_are_found() {
        let tree = Tree::of(&[
            (
                "README.md",
                "# Top\n[a](docs/a.md#two-words) [b](docs/none.md) [c](https://x.org/y.md) `[d](e.md)`\n",
            ),
            ("docs/SUMMARY.md", "[a](a.md)\n[top](../README.md)\n"),
            (
                "docs/a.md",
                "# A\n## Two `words`\n[up](../README.md#top) [here](#none) [folder](../src)\n```\n[x](y.md)\n```\n",
            ),
            ("docs/b.md", "# B\n"),
            ("src/lib.rs", ""),
        ]);
        assert_eq!(
            check(&tree),
            [
                "README.md:2: docs/none.md: there is no docs/none.md",
                "docs/a.md:3: #none: docs/a.md has no heading of that name",
                "docs/SUMMARY.md: docs/b.md is missing from the table of contents",
            ]
        );
    }

    #[test]
    fn anchors_are_those_of_the_forges() {
        let text = "# `ioengine=splice`: through a pipe\n## Same\n## Same\n```\n# not this\n```\n";
        assert_eq!(anchors(text), ["ioenginesplice-through-a-pipe", "same", "same-1"]);
    }
}
