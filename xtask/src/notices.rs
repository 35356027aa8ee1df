//! The licences of all parts of the program, as a text that is shipped with it.

use crate::metadata::{Metadata, Package};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// A shipped artifact: a package, and the directory of its workspace relative to the repository.
const PROGRAM: (&str, &str) = ("fathom-io", ".");
const JVM_LIBRARY: (&str, &str) = ("fathom-jvm-native", "bindings/jvm/native");

/// Prints the notices of the program as built for a platform, or those of the library in the jar.
pub(crate) fn run(repository: &Path, platform: &str, of_jar: bool) -> Result<(), String> {
    let (package, directory) = if of_jar { JVM_LIBRARY } else { PROGRAM };
    let directory = repository.join(directory);
    let metadata = Metadata::read(&directory)?;
    print!("{}", text(&metadata.shipped_with(package, &directory, platform)?, platform)?);
    Ok(())
}

/// Each licence text once, after the names of the packages that it covers.
fn text(packages: &[&Package], platform: &str) -> Result<String, String> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut without = Vec::new();
    for package in packages.iter().filter(|package| !package.is_own) {
        let licence = package.licence.as_deref().unwrap_or("licence not stated");
        let named = format!("{} {} ({licence})", package.name, package.version);
        let files = licence_texts(&package.directory)?;
        if files.is_empty() {
            without.push(named.clone());
        }
        for text in files {
            texts.entry(text).or_default().push(named.clone());
        }
    }
    let mut notices = String::from(
        "fathom is under the MIT licence or the Apache License 2.0, at your choice. What is built of it also contains the packages named\n\
         below, under their own licences, and parts of Rust's standard library (MIT OR Apache-2.0, Copyright The Rust Project Contributors).\n",
    );
    if platform.ends_with("musl") {
        notices.push_str("It contains the C library musl (MIT, Copyright 2005-2020 Rich Felker, et al.).\n");
    }
    for package in without {
        let _ = writeln!(notices, "\n{package}: its package has no licence text.");
    }
    let mut by_name: Vec<(String, String)> =
        texts.into_iter().map(|(text, packages)| (packages.join("\n"), text)).collect();
    by_name.sort();
    for (packages, text) in by_name {
        let _ = write!(notices, "\n{}\n{packages}\n\n{}\n", "-".repeat(80), text.trim());
    }
    Ok(notices)
}

/// The licence files of a package, normalized for trailing white space.
fn licence_texts(directory: &Path) -> Result<Vec<String>, String> {
    const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if !NAMES.iter().any(|start| name.starts_with(start)) || !entry.path().is_file() {
            continue;
        }
        let bytes = std::fs::read(entry.path()).map_err(failed)?;
        let lines: Vec<String> =
            String::from_utf8_lossy(&bytes).lines().map(|line| line.trim_end().to_owned()).collect();
        texts.push(lines.join("\n").trim_matches('\n').to_owned());
    }
    texts.sort();
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_package_of_the_program_is_named_and_each_text_stands_once() {
        let repository = crate::repository();
        let metadata = Metadata::read(&repository).expect("cargo knows");
        let packages =
            metadata.shipped_with("fathom-io", &repository, "x86_64-unknown-linux-gnu").expect("cargo knows");
        let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
        assert!(names.contains(&"ring") && names.contains(&"io-uring"), "{names:?}");
        // Packages that only tests need are not shipped.
        assert!(!names.contains(&"fuser") && !names.contains(&"proptest"), "{names:?}");
        let text = text(&packages, "x86_64-unknown-linux-gnu").expect("files are read");
        for package in packages.iter().filter(|package| !package.is_own) {
            assert!(text.contains(&format!("{} {} (", package.name, package.version)), "{}", package.name);
        }
        // The text of the Apache licence is shared by many packages.
        assert!(text.matches("Version 2.0, January 2004").count() < packages.len() / 2);
        assert!(!text.contains("the C library musl"));
    }
}
