//! Reasons to refuse jobs received from other machines. Agents and the web page allow different jobs, but
//! refuse them in the same way.

use fathom_run::plan::WorkerPlan;
use fathom_spec::definition::Names;
use fathom_spec::engines::{self, net};
use fathom_spec::{JobSpec, registry};
use std::path::{Path, PathBuf};

/// Options whose values name an external resource of this kind, from the declarations of all options.
fn options_that_name(what: Names) -> impl Iterator<Item = &'static str> {
    let of_engines = engines::ALL.iter().flat_map(|engine| engine.options);
    let all = registry::job_options().chain(of_engines);
    all.filter(move |option| option.names == what).map(|option| option.name)
}

/// True for paths below /dev, except for shared memory files.
pub fn is_device(real: &Path) -> bool {
    real.starts_with("/dev") && !real.starts_with("/dev/shm")
}

/// True for a path that equals one of these, or is below one of them.
pub fn is_among(real: &Path, allowed: &[PathBuf], is_device: bool) -> bool {
    allowed.iter().any(|own| match own.canonicalize() {
        Ok(own) if is_device => real == own,
        Ok(own) => real.starts_with(own),
        Err(_) => false,
    })
}

/// Refusals of the options that name such a resource, for each job that sets them.
pub fn refusals(job: &JobSpec, names: Names, what: &str) -> Vec<String> {
    let set = options_that_name(names).filter(|name| job.is_set(name));
    set.map(|name| format!("job {}: {name}= is refused: {what}", job.name)).collect()
}

/// True for a worker whose engine exchanges data with other programs.
pub fn has_peers(worker: &WorkerPlan) -> bool {
    engines::find(&worker.engine).is_some_and(|engine| engine.has_peers)
}

/// Refusals of a worker's peers. The path of a Unix socket must be allowed too, because a socket gives access
/// to other programs on this machine.
pub fn refusals_of_peers(
    (worker, job): (&WorkerPlan, &JobSpec),
    is_allowed: bool,
    refusal_of_path: impl Fn(&Path) -> Option<String>,
    who: &str,
) -> Vec<String> {
    if !is_allowed {
        let (name, engine) = (&worker.name, &worker.engine);
        return vec![format!(
            "job {name}: ioengine={engine} connects to others: {who} was started without --allow-network"
        )];
    }
    let refused = net::socket_path(job).and_then(|path| refusal_of_path(&path));
    refused.map(|reason| format!("job {}: {reason}", worker.name)).into_iter().collect()
}

/// True for an engine that runs programs or is loaded from a file.
pub fn runs_programs(job: &JobSpec) -> bool {
    job.engine.ioengine.name == "exec" || job.engine.ioengine.external.is_some()
}

/// The refusal by `who` of a path that resolves to `real`, unless it is below one of these paths or is one of
/// these devices.
pub fn refusal_of_place(
    path: &Path,
    real: &Path,
    is_device: bool,
    (paths, devices): (&[PathBuf], &[PathBuf]),
    who: &str,
) -> Option<String> {
    let (allowed, option) = match is_device {
        true => (devices, "--allow-device"),
        false => (paths, "--allow-path"),
    };
    let is_allowed = is_among(real, allowed, is_device);
    (!is_allowed).then(|| {
        format!("{} is refused: the {who} was not started with {option}={}", path.display(), real.display())
    })
}

/// The resolved path, even if its last component does not exist yet.
pub fn leads_to(path: &Path) -> Option<PathBuf> {
    if let Ok(real) = path.canonicalize() {
        return Some(real);
    }
    // A dangling symbolic link would create its target, so it is refused.
    if path.is_symlink() {
        return None;
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(parent.canonicalize().ok()?.join(path.file_name()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_options_name_comes_from_their_declarations() {
        for (what, some) in [
            (Names::Program, "exec_prerun"),
            (Names::File, "read_iolog"),
            (Names::File, "mem"),
            (Names::ClientFile, "http_ca"),
            (Names::Setting, "uid"),
        ] {
            assert!(options_that_name(what).any(|name| name == some), "{some}");
        }
    }
}
