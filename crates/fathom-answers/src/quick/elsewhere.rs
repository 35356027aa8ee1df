//! `quick` on other machines, whose directories this machine cannot examine. Each host creates a file with a
//! unique name in the directory and removes it by that name at the end.

use super::grid::Setting;
use super::progress::Progress;
use super::{Ended, Failure, Runner, as_option, measure as fill_and_test, run_text, usable_engine};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;

/// The name of the file on each host, as a job option.
pub(super) fn file_in(directory: &Path) -> String {
    // The number is random, because the system seeds each hasher randomly.
    let number = RandomState::new().build_hasher().finish();
    let name = format!("fathom-quick-{number:016x}-${{HOST_INDEX}}.data");
    as_option(&directory.join(name))
}

/// Fills the files, runs all tests, and removes the files, like [`super::measure`].
pub(super) fn measure(
    setting: &mut Setting,
    runner: &mut dyn Runner,
    progress: &mut Progress<'_>,
) -> Result<Vec<Ended>, Failure> {
    let measured = measure_on_hosts(setting, runner, progress);
    progress.begin("removing the files");
    let text =
        format!("[remove]\nfilename={}\nrw=write\nbs=4k\nsize=4k\nunlink=1\nioengine=psync\n", setting.file);
    let removed = run_text(&text, runner, progress);
    let measured = measured?;
    if removed?.failed_jobs > 0 {
        progress.messages.push(format!("fathom quick: not every {} could be removed", setting.file));
    }
    Ok(measured)
}

fn measure_on_hosts(
    setting: &mut Setting,
    runner: &mut dyn Runner,
    progress: &mut Progress<'_>,
) -> Result<Vec<Ended>, Failure> {
    for direct in [true, false] {
        setting.direct = direct;
        if let Some(engine) = usable_engine(setting, runner)? {
            setting.engine = engine;
            let hosts = runner.hosts();
            return fill_and_test(setting, hosts, runner, progress);
        }
    }
    Err(Failure::new(format!("no host can create and read a file {}; see the messages above", setting.file)))
}
