//! Cargo's metadata on the workspace and all its dependencies.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A package of the dependency graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
    /// Its licence as an SPDX expression, if it states one.
    pub(crate) licence: Option<String>,
    /// True for packages of this workspace.
    pub(crate) is_own: bool,
    /// Names of the packages that its shipped code needs, which excludes those for tests and build scripts.
    pub(crate) needs: Vec<String>,
    /// Names of the packages that only its tests and examples need.
    pub(crate) tests_need: Vec<String>,
    /// Path of its manifest.
    pub(crate) directory: PathBuf,
}

/// All packages.
pub(crate) struct Metadata {
    /// All packages in cargo's order.
    pub(crate) packages: Vec<Package>,
}

impl Metadata {
    /// Asks cargo.
    pub(crate) fn read(repository: &Path) -> Result<Metadata, String> {
        // For every platform if the registry is reachable, otherwise for this one, whose packages are available
        // locally.
        let text = ask(repository, &[]).or_else(|_| ask(repository, &["--filter-platform", &host()?]))?;
        let value: Value =
            serde_json::from_slice(&text).map_err(|error| format!("cargo metadata: {error}"))?;
        let packages = value["packages"].as_array().ok_or("cargo metadata: no packages")?;
        Ok(Metadata { packages: packages.iter().map(package).collect() })
    }

    /// The packages whose code is part of a package built for a platform (`x86_64-unknown-linux-musl`), by
    /// name. `directory` is the workspace from which this was read.
    pub(crate) fn shipped_with(
        &self,
        package: &str,
        directory: &Path,
        platform: &str,
    ) -> Result<Vec<&Package>, String> {
        let words = [
            "tree",
            "--locked",
            "-p",
            package,
            "-e",
            "normal,no-proc-macro",
            "--prefix=none",
            "--target",
            platform,
        ];
        let text = String::from_utf8_lossy(&cargo(directory, &words)?).into_owned();
        // Lines like `ring v0.17.14 (*)`.
        let named: BTreeSet<(&str, &str)> = text
            .lines()
            .filter_map(|line| {
                let mut words = line.split(' ');
                Some((words.next()?, words.next()?.strip_prefix('v')?))
            })
            .collect();
        let is_in = |package: &&Package| named.contains(&(package.name.as_str(), package.version.as_str()));
        let mut found: Vec<&Package> = self.packages.iter().filter(is_in).collect();
        found.sort_by_key(|package| (&package.name, &package.version));
        match found.len() == named.len() {
            true => Ok(found),
            false => Err(format!(
                "cargo tree names {} packages, cargo metadata {} of them",
                named.len(),
                found.len()
            )),
        }
    }
}

fn ask(repository: &Path, filter: &[&str]) -> Result<Vec<u8>, String> {
    let words = ["metadata", "--format-version=1", "--locked", "--all-features"];
    cargo(repository, &[&words, filter].concat())
}

/// Output of cargo.
fn cargo(repository: &Path, words: &[&str]) -> Result<Vec<u8>, String> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let failed = |why: &dyn std::fmt::Display| format!("cargo {}: {why}", words[0]);
    let answer =
        Command::new(program).current_dir(repository).args(words).output().map_err(|error| failed(&error))?;
    match answer.status.success() {
        true => Ok(answer.stdout),
        false => Err(failed(&String::from_utf8_lossy(&answer.stderr).trim())),
    }
}

fn host() -> Result<String, String> {
    let told = Command::new("rustc").arg("-vV").output().map_err(|error| format!("rustc -vV: {error}"))?;
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc -vV names no host".to_owned())
}

fn package(value: &Value) -> Package {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    let of_kind = |kind: Value| {
        let all = value["dependencies"].as_array().into_iter().flatten();
        let named = all.filter(|needed| needed["kind"] == kind).filter_map(|needed| needed["name"].as_str());
        named.map(str::to_owned).collect()
    };
    let manifest = PathBuf::from(text("manifest_path").unwrap_or_default());
    Package {
        name: text("name").unwrap_or_default(),
        version: text("version").unwrap_or_default(),
        licence: text("license"),
        is_own: value["source"].is_null(),
        needs: of_kind(Value::Null),
        tests_need: of_kind("dev".into()),
        directory: manifest.parent().map(Path::to_owned).unwrap_or_default(),
    }
}
