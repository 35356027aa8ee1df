//! Control groups with CPU time limits, in either version, removed on drop.

use super::skip;
use std::path::{Path, PathBuf};

/// A group whose members, including those of its subgroups, may use part of a processor.
pub(crate) struct Quota {
    outer: PathBuf,
    inner: PathBuf,
}

impl Quota {
    /// Allowed ms of each 100.
    pub(crate) fn new(ms: u32) -> Result<Quota, String> {
        skip::root()?;
        let (root, is_v2) = hierarchy()?;
        let outer = root.join(format!("fathom-quota-{}-{ms}", std::process::id()));
        let quota = Quota { inner: outer.join("inner"), outer };
        let made = |error: std::io::Error| format!("{}: {error}", quota.outer.display());
        std::fs::create_dir(&quota.outer).map_err(made)?;
        let limit = |file: &str, text: String| {
            std::fs::write(quota.outer.join(file), text)
                .map_err(|error| format!("processors cannot be limited: {error}"))
        };
        match is_v2 {
            true => limit("cpu.max", format!("{} 100000", ms * 1000))?,
            false => limit("cpu.cfs_quota_us", (ms * 1000).to_string())?,
        }
        // Groups of version 2 contain either processes or groups.
        std::fs::create_dir(&quota.inner).map_err(made)?;
        Ok(quota)
    }

    /// The file to which a process writes its ID to join the inner group, which has no separate limit.
    pub(crate) fn members(&self) -> PathBuf {
        self.inner.join("cgroup.procs")
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        for group in [&self.inner, &self.outer] {
            let _ = std::fs::remove_dir(group);
        }
    }
}

fn hierarchy() -> Result<(PathBuf, bool), String> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").map_err(|error| error.to_string())?;
    let mut v1 = None;
    let mut v2 = None;
    for line in mounts.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [_, place, kind, options, ..] = fields[..] else { continue };
        let place = Path::new(place);
        if kind == "cgroup" && options.split(',').any(|option| option == "cpu") {
            v1 = Some((place.to_owned(), false));
        }
        let controls = std::fs::read_to_string(place.join("cgroup.subtree_control")).unwrap_or_default();
        if kind == "cgroup2" && controls.split_whitespace().any(|name| name == "cpu") {
            v2 = Some((place.to_owned(), true));
        }
    }
    v1.or(v2).ok_or_else(|| "no hierarchy of control groups limits processors here".into())
}
