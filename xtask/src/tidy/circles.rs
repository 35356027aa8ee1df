//! Files of a crate that import each other in a circle can only be read together.
//!
//! An import is a path from `crate::` or `super::` anywhere in shipped code to the file that contains the
//! module. Paths to a module's own submodules do not count, since they are its parts: `worker/mod.rs` may use
//! `worker/arena.rs`, and that may use it.

use crate::tree::{File, Tree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

/// Maximum number of files in a circle.
const MOST_FILES: usize = 3;
/// Maximum number of circles in the workspace.
const MOST_CIRCLES: usize = 4;

/// The modules that a file name denotes; none for the root of a crate.
type Module = Vec<String>;

/// The files of a crate and their imports.
type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// Circles with too many files, and all circles if there are too many.
pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let circles = all(tree);
    let told = |circle: &(String, Vec<Module>)| {
        let files: Vec<String> = circle.1.iter().map(|module| module.join("/")).collect();
        format!("{}: {} files import each other: {}", circle.0, files.len(), files.join(", "))
    };
    let is_broken =
        |circle: &&(String, Vec<Module>)| circles.len() > MOST_CIRCLES || circle.1.len() > MOST_FILES;
    circles.iter().filter(is_broken).map(told).collect()
}

/// The circles of all crates, each with the crate's name.
fn all(tree: &Tree) -> Vec<(String, Vec<Module>)> {
    let mut crates: BTreeMap<String, Vec<(Module, &File)>> = BTreeMap::new();
    for file in tree.files.iter().filter(|file| file.has_extension("rs")) {
        if let Some((package, module)) = place_of(&file.path) {
            crates.entry(package).or_default().push((module, file));
        }
    }
    let of_crate = |(package, files): (String, Vec<(Module, &File)>)| {
        let known: BTreeSet<Module> = files.iter().map(|(module, _)| module.clone()).collect();
        let imports = files.into_iter().map(|(module, file)| {
            let imported = imports_of(&module, &file.text, &known);
            (module, imported)
        });
        circles_of(&imports.collect()).into_iter().map(move |circle| (package.clone(), circle))
    };
    crates.into_iter().flat_map(of_crate).collect()
}

/// The crate and module of a file, unless the file contains tests.
fn place_of(path: &Path) -> Option<(String, Module)> {
    let parts: Vec<&str> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let ["crates", package, "src", inside @ ..] = parts.as_slice() else { return None };
    let mut module: Module = inside.iter().map(|part| part.trim_end_matches(".rs").to_owned()).collect();
    if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        module.pop();
    }
    (!module.iter().any(|part| part == "tests")).then(|| ((*package).to_owned(), module))
}

/// The files imported by one file.
fn imports_of(module: &Module, text: &str, known: &BTreeSet<Module>) -> BTreeSet<Module> {
    paths_in(&shipped(text))
        .iter()
        .filter_map(|path| file_of(module, path, known))
        .filter(|file| !file.starts_with(module))
        .collect()
}

/// The shipped code: without comments, and without the tests at the end.
fn shipped(text: &str) -> String {
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let tests = code.windows(2).position(|lines| {
        lines[0].trim() == "#[cfg(test)]" && lines[1].contains("mod ") && lines[1].ends_with('{')
    });
    code[..tests.unwrap_or(code.len())].join("\n")
}

/// All paths that begin with `crate` or `super`; those in braces are expanded.
fn paths_in(code: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for (at, _) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        let before = code[..at].trim_end();
        let is_whole =
            !code[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':');
        // `pub(in crate::x)` restricts imports.
        let is_visibility = before.ends_with("(in");
        if is_whole && !is_visibility {
            read_path(&code[at..], &mut Vec::new(), &mut paths);
        }
    }
    paths
}

/// Parses one path or a tree of paths, and returns the rest.
fn read_path<'c>(code: &'c str, front: &mut Vec<String>, paths: &mut Vec<Vec<String>>) -> &'c str {
    let length = front.len();
    let mut rest = code.trim_start();
    loop {
        if let Some(list) = rest.strip_prefix('{') {
            rest = list;
            while !rest.trim_start().starts_with('}') && !rest.trim_start().is_empty() {
                let after = read_path(rest, front, paths).trim_start();
                // Everything except names and commas (`*`, `as x`) is skipped.
                let end = after.find([',', '}']).unwrap_or(after.len());
                rest = after[end..].strip_prefix(',').unwrap_or(&after[end..]);
            }
            rest = rest.trim_start().strip_prefix('}').unwrap_or_default();
            break;
        }
        let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
        front.push(rest[..end].to_owned());
        rest = &rest[end..];
        match rest.strip_prefix("::") {
            Some(next) => rest = next,
            None => {
                paths.push(front.clone());
                break;
            }
        }
    }
    front.truncate(length);
    rest
}

/// The file of the innermost module that a path names.
fn file_of(module: &Module, path: &[String], known: &BTreeSet<Module>) -> Option<Module> {
    let ups = path.iter().take_while(|name| *name == "super").count();
    let (start, names) = match path.first()?.as_str() {
        "crate" => (Vec::new(), &path[1..]),
        _ => (module[..module.len().checked_sub(ups)?].to_vec(), &path[ups..]),
    };
    let deepest = (0..=names.len()).map(|count| [&start, &names[..count]].concat());
    deepest.take_while(|file| known.contains(file)).last()
}

/// Groups of mutually reachable files: two files are in the same group if each imports the other, directly or
/// indirectly.
fn circles_of(imports: &Imports) -> Vec<Vec<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (module, reached_from(module, imports))).collect();
    let mut circles: Vec<Vec<Module>> = Vec::new();
    for (module, reaches) in &reached {
        if !reaches.contains(module) || circles.iter().any(|circle| circle.contains(module)) {
            continue;
        }
        let is_member = |other: &&&Module| reached.get(**other).is_some_and(|back| back.contains(module));
        circles.push(reaches.iter().filter(is_member).map(|other| (*other).clone()).collect());
    }
    circles
}

/// All direct and indirect imports of a file.
fn reached_from<'i>(module: &Module, imports: &'i Imports) -> BTreeSet<&'i Module> {
    let mut reached = BTreeSet::new();
    let mut to_follow = vec![module];
    while let Some(module) = to_follow.pop() {
        for next in imports.get(module).into_iter().flatten() {
            if reached.insert(next) {
                to_follow.push(next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (format!("crates/it/src/{path}"), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let joined =
            |circle: Vec<Module>| circle.iter().map(|module| module.join("/")).collect::<Vec<_>>().join(" ");
        all(&Tree::of(&files)).into_iter().map(|(_, circle)| joined(circle)).collect()
    }

    #[test]
    fn files_that_import_each_other_are_a_circle() {
        let found = circles(&[
            ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n"),
            ("a.rs", "use crate::b::{self, Thing};\n"),
            ("b.rs", "use crate::{c::{Other, More as Less}, d};\n"),
            ("c.rs", "fn f() { super::a::g(); }\n"),
            ("d.rs", "use crate::c::Other;\n"),
        ]);
        assert_eq!(found, ["a b c d"]);
    }

    #[test]
    fn one_direction_is_no_circle() {
        let found = circles(&[
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a.rs", "use crate::b::Thing;\n"),
            // Neither comments nor visibility nor tests count as imports.
            (
                "b.rs",
                "// crate::a::g\npub(in crate::a) fn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::a::g;\n}\n",
            ),
            ("c/tests.rs", "use crate::c;\n"),
            ("c/mod.rs", "#[cfg(test)]\nmod tests;\nuse crate::a::Thing;\n"),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn a_module_and_its_parts_are_one() {
        let found = circles(&[
            ("lib.rs", "mod a;\n"),
            ("a/mod.rs", "mod part;\nuse crate::a::part::Thing;\n"),
            ("a/part.rs", "use super::Whole;\nuse crate::a::other::X;\n"),
            ("a/other.rs", "use super::part::Thing;\n"),
        ]);
        assert_eq!(found, ["a/other a/part"]);
    }

    #[test]
    fn large_circles_and_too_many_are_told() {
        let ring = |count: usize| -> Vec<(String, String)> {
            let file = |index: usize| {
                (format!("crates/it/src/f{index}.rs"), format!("use crate::f{}::X;\n", (index + 1) % count))
            };
            std::iter::once(("crates/it/src/lib.rs".to_owned(), String::new()))
                .chain((0..count).map(file))
                .collect()
        };
        let told = |files: &[(String, String)]| {
            let files: Vec<(&str, &str)> =
                files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            check(&Tree::of(&files))
        };
        assert_eq!(told(&ring(MOST_FILES)), Vec::<String>::new());
        assert_eq!(told(&ring(4)), ["it: 4 files import each other: f0, f1, f2, f3"]);
        let pair = |index: usize| {
            [("lib", "lib"), ("a", "b"), ("b", "a")].map(|(one, other)| {
                (format!("crates/it{index}/src/{one}.rs"), format!("use super::{other}::X;\n"))
            })
        };
        let pairs: Vec<(String, String)> = (0..=MOST_CIRCLES).flat_map(pair).collect();
        assert_eq!(told(&pairs).len(), MOST_CIRCLES + 1);
    }
}
