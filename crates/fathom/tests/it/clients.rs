//! Third-party programs that read fio's output: they must not notice which program wrote it.

use crate::support::devices::LoopDevice;
use crate::support::program::{Finished, Launch, path};
use crate::support::{MIB, file_of, scratch, wait_until};
use std::path::{Path, PathBuf};

/// Where `bench-fio` and `fio-plot` are installed.
fn fio_plot() -> Result<PathBuf, String> {
    let directory = std::env::var_os("FATHOM_TEST_FIO_PLOT").map(PathBuf::from);
    let found = directory.filter(|directory| directory.join("bench-fio").exists());
    found.ok_or_else(|| "the Python package fio-plot is not installed (scripts/set-up.sh does it)".to_owned())
}

/// Runs one of its programs in `directory`, with the program under test as `fio`.
fn client(bin: &Path, name: &str, directory: &Path, words: &str) -> Finished {
    let link = directory.join("bin");
    if !link.exists() {
        std::fs::create_dir(&link).expect("a directory");
        std::os::unix::fs::symlink(path(), link.join("fio")).expect("a link");
    }
    let search = format!("PATH={}:{}:/usr/bin:/bin", link.display(), bin.display());
    Launch::of(Path::new("env"), directory)
        .argument(search)
        .argument("MPLBACKEND=Agg")
        .argument(format!("MPLCONFIGDIR={}", directory.display()))
        .argument(bin.join(name))
        .words(words)
        .timeout(std::time::Duration::from_secs(180))
        .run()
}

/// The name of a file to measure. bench-fio leaves a job file in /tmp under this name, so concurrent runs
/// need different names.
struct Target(String);

impl Target {
    fn new(name: &str) -> Target {
        Target(format!("fathom-{name}-{}", std::process::id()))
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(format!("/tmp/{}-tmpjobfile.fio", self.0));
    }
}

#[test]
fn bench_fio_runs_a_sweep_and_fio_plot_draws_it() {
    let bin = require!(fio_plot());
    let directory = scratch();
    let target = Target::new("swept");
    file_of(directory.path(), &target.0, 16 * MIB);
    let words = "--target NAME --type file --size 16M --mode randread randrw --rwmixread 75 --output out --iodepth 1 4 \
                 --numjobs 1 2 --runtime 2 --engine libaio --direct 0 --destructive --time-based --loginterval 200 --quiet";
    let sweep = client(&bin, "bench-fio", directory.path(), &words.replace("NAME", &target.0));
    assert_eq!(sweep.code(), 0, "{}{}", sweep.stdout, sweep.stderr);
    let results = directory.path().join("out").join(&target.0).join("4k");
    for name in ["randread-4-2.json", "randread-iodepth-4-numjobs-2_lat.2.log"] {
        assert!(results.join(name).exists(), "{name}: {}{}", sweep.stdout, sweep.stderr);
    }
    let charts = [
        "-i out/NAME/4k -L -r randread -t iops",
        "-i out/NAME/4k -l -r randread",
        "-i out/NAME/4k -N -r randread -d 4",
        "-i out/NAME/4k -H -r randread -d 4 -n 1",
        "-i out/NAME/4k -g -r randread -t bw iops lat -d 1 4 -n 1 2",
        "-i out/NAME/4k -g -r randread -t slat clat -d 4 -n 2",
        "-i out/NAME/4k out/NAME/4k -C -r randread",
        "-i out/NAME/randrw75/4k -l -r randrw -f read",
        "-i out/NAME/randrw75/4k -g -r randrw -t bw iops lat -d 4 -n 2 -f read write",
    ];
    for (number, words) in charts.iter().enumerate() {
        let words = format!("{} -T title -o chart{number}.png", words.replace("NAME", &target.0));
        let chart = client(&bin, "fio-plot", directory.path(), &words);
        let image = std::fs::read(directory.path().join(format!("chart{number}.png"))).unwrap_or_default();
        assert!(image.starts_with(b"\x89PNG"), "{words}: {}{}", chart.stdout, chart.stderr);
    }
}

#[test]
fn bench_fio_runs_on_a_server() {
    let bin = require!(fio_plot());
    fathom_only!();
    let directory = scratch();
    let target = Target::new("served");
    file_of(directory.path(), &target.0, MIB);
    // It looks for servers only on their default port.
    let server = Launch::fathom(directory.path()).words("--server=127.0.0.1,8765").start();
    wait_until("a server listens on the port", || std::net::TcpStream::connect("127.0.0.1:8765").is_ok());
    // A server reports an occupied port with a short delay.
    std::thread::sleep(std::time::Duration::from_millis(500));
    if let Some(line) = server.errors().lines().find(|line| line.contains("Address already in use")) {
        skip!("{line}");
    }
    std::fs::write(directory.path().join("host.list"), "127.0.0.1\n").expect("written");
    let words = format!(
        "--target {} --type file --size 1M --mode randread --output out --iodepth 1 2 --numjobs 1 --runtime 1 --engine \
         psync --direct 0 --time-based --quiet --remote host.list --remote-checks",
        directory.path().join(&target.0).display()
    );
    let sweep = client(&bin, "bench-fio", directory.path(), &words);
    assert_eq!(sweep.code(), 0, "{}{}", sweep.stdout, sweep.stderr);
    let mut results = Vec::new();
    find_json(&directory.path().join("out"), &mut results);
    assert_eq!(results.len(), 2, "{results:?}: {}{}", sweep.stdout, sweep.stderr);
    for path in results {
        let text = std::fs::read_to_string(&path).expect("a result");
        let document = crate::support::json::document(&text);
        let first = &document["client_stats"][0];
        assert!(crate::support::json::integer(first, "read/total_ios") > 0, "{}: {text}", path.display());
    }
}

fn find_json(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => find_json(&path, found),
            path if path.extension().is_some_and(|extension| extension == "json") => found.push(path),
            _ => {}
        }
    }
}

/// The crate requires these options in the global section, and all optional members.
#[test]
fn the_crate_fio_results_reads_the_json() {
    let device = require!(LoopDevice::new(4 * MIB));
    let directory = scratch();
    let words = format!(
        "--output-format=json --filename={} --size=1M --cpus_allowed=0 --cpus_allowed_policy=split --ioscheduler=none \
         --direct=1 --rw=randrw --bs=4k --ioengine=libaio --iodepth=4 --runtime=10 --numjobs=2 --name=job",
        device.path().display()
    );
    let finished = Launch::fathom(directory.path()).words(&words).run().expect_clean();
    let result: fio_results::FioResult =
        serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {}", finished.stdout));
    assert_eq!(result.jobs.len(), 2);
    assert!(result.jobs.iter().all(|job| job.read.total_ios + job.write.total_ios == 256), "{result:?}");
}
