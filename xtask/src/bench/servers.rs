//! Engines that talk to servers: the same jobs run alternately with fio and with fathom on the servers of `scripts/servers`.

use super::programs::{Programs, jobs_in};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A server, and the arguments that select it.
struct Case {
    name: &'static str,
    script: &'static str,
    variables: &'static [(&'static str, &'static str)],
    /// Words of the job, in which `{KEY}` stands for what the server printed under that key.
    words: &'static str,
}

const CASES: &[Case] = &[
    Case {
        name: "NBD, nbdkit, TCP",
        script: "nbdkit",
        variables: &[],
        words: "--ioengine=nbd --uri={NBD_URI} --size=64m",
    },
    Case {
        name: "NBD, nbdkit, Unix socket",
        script: "nbdkit",
        variables: &[],
        words: "--ioengine=nbd --uri={NBD_UNIX_URI} --size=64m",
    },
    Case {
        name: "NBD, qemu-nbd",
        script: "qemu-nbd",
        variables: &[],
        words: "--ioengine=nbd --uri={NBD_URI} --size=64m",
    },
    Case {
        name: "NFS 3, Ganesha",
        script: "nfs",
        variables: &[],
        words: "--ioengine=nfs --nfs_url={NFS_URL} --filename=data --size=64m",
    },
    Case {
        name: "iSCSI, tgt",
        script: "tgt",
        variables: &[],
        words: "--ioengine=libiscsi --filename={ISCSI_URL} --size=64m",
    },
    Case {
        name: "rados, memstore",
        script: "ceph",
        variables: &[("AUTH", "cephx")],
        words: "--ioengine=rados --pool=rbd --clientname=admin --conf={CEPH_CONF} --filename=data --size=64m",
    },
    Case {
        name: "rbd, memstore, cache on",
        script: "ceph",
        variables: &[("AUTH", "cephx")],
        words: "--ioengine=rbd --pool=rbd --clientname=admin --rbdname=img --size=64m",
    },
    Case {
        name: "gfapi",
        script: "gluster",
        variables: &[],
        words: "--ioengine=gfapi --volume=vol --brick={GLUSTER_HOST} --filename=data --size=64m",
    },
    Case {
        name: "gfapi_async",
        script: "gluster",
        variables: &[],
        words: "--ioengine=gfapi_async --volume=vol --brick={GLUSTER_HOST} --filename=data --size=64m",
    },
    Case {
        name: "WebDAV, Apache",
        script: "webdav",
        variables: &[],
        words: "--ioengine=http --http_host={DAV_HOST} --filename=/open/data --size=4m",
    },
    Case {
        name: "S3, s3s-fs",
        script: "s3",
        variables: &[],
        words: "--ioengine=http --http_mode=s3 --http_host={S3_HOST} --http_s3_region=us-east-1 --filename=/bucket/data --size=4m",
    },
    Case {
        name: "S3, Ceph's gateway",
        script: "ceph",
        variables: &[("RGW", "1")],
        words: "--ioengine=http --http_mode=s3 --http_host={S3_HOST} --http_s3_region=us-east-1 --filename=/bucket/data --size=4m",
    },
    Case {
        name: "HDFS",
        script: "hdfs",
        variables: &[],
        words: "--ioengine=libhdfs --namenode=127.0.0.1 --port={HDFS_PORT} --size=16m",
    },
];

/// Runs the cases whose names contain `only`, and prints a table.
pub(super) fn run(
    repository: &Path,
    programs: &Programs,
    rounds: usize,
    only: Option<&str>,
) -> Result<(), String> {
    println!(
        "| server | 4 KiB | depth | fio | fathom | ratio | CPU of fio | of fathom |\n|---|---|---:|---:|---:|---:|---:|---:|"
    );
    for case in CASES.iter().filter(|case| only.is_none_or(|only| case.name.contains(only))) {
        let server = match Server::start(repository, case, programs) {
            Ok(server) => server,
            Err(reason) => {
                println!("| {} | skipped: {reason} | | | | | | |", case.name);
                continue;
            }
        };
        fill(programs, &server, case);
        // HDFS cannot write blocks at random.
        for pattern in ["randread", if case.script == "hdfs" { "write" } else { "randwrite" }] {
            for depth in [1, 16] {
                let row = measure(programs, &server, case, pattern, depth, rounds)?;
                println!("| {} | {pattern} | {depth} | {row} |", case.name);
            }
        }
    }
    Ok(())
}

/// A running server.
struct Server {
    script: PathBuf,
    directory: PathBuf,
    keys: BTreeMap<String, String>,
}

impl Server {
    fn start(repository: &Path, case: &Case, programs: &Programs) -> Result<Server, String> {
        let script = repository.join("scripts/servers").join(case.script);
        // Socket paths have a short maximum length.
        let directory = programs.scratch().join(case.script);
        let mut command = Command::new(&script);
        command.arg("start").arg(&directory).env("INSTALL", "1").stdin(Stdio::null());
        command.envs(case.variables.iter().copied());
        let started = command.output().map_err(|error| format!("{}: {error}", script.display()))?;
        if !started.status.success() {
            return Err(String::from_utf8_lossy(&started.stderr).trim().to_owned());
        }
        let printed = String::from_utf8_lossy(&started.stdout).into_owned();
        let pair = |line: &str| line.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        Ok(Server { script, directory, keys: printed.lines().filter_map(pair).collect() })
    }

    fn words(&self, case: &Case) -> Vec<String> {
        // In filename=, colons separate names, so they are escaped.
        let escaped = |key: &str, value: &String| match key {
            "ISCSI_URL" => value.replace(':', "\\:"),
            _ => value.clone(),
        };
        let fill = |word: &str| {
            let fill = |word: String, (key, value): (&String, &String)| {
                word.replace(&format!("{{{key}}}"), &escaped(key, value))
            };
            self.keys.iter().fold(word.to_owned(), fill)
        };
        case.words.split_whitespace().map(fill).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new(&self.script).arg("stop").arg(&self.directory).stdout(Stdio::null()).status();
    }
}

/// Result of a run: I/Os per second, and CPU use in percent.
#[derive(Clone, Copy)]
struct Figures {
    rate: f64,
    processor: f64,
}

/// Fills the target once so that both programs read the same data. A failure shows up in the measurement.
fn fill(programs: &Programs, server: &Server, case: &Case) {
    let mut words = vec!["--name=a".to_owned()];
    words.extend(server.words(case));
    words.extend(["--rw=write", "--bs=4k", "--iodepth=16", "--output-format=json"].map(str::to_owned));
    let _ = figures(&programs.fathom_program(), &words, server, programs);
}

fn measure(
    programs: &Programs,
    server: &Server,
    case: &Case,
    pattern: &str,
    depth: u32,
    rounds: usize,
) -> Result<String, String> {
    let mut words = vec!["--name=a".to_owned()];
    words.extend(server.words(case));
    words.extend([format!("--rw={pattern}"), "--bs=4k".to_owned(), format!("--iodepth={depth}")]);
    words.extend(["--time_based", "--runtime=2", "--output-format=json"].map(str::to_owned));
    let fio = programs.fios().into_iter().find(|fio| figures(fio, &words, server, programs).is_ok());
    let (mut of_fio, mut of_fathom) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        if let Some(fio) = &fio {
            of_fio.push(figures(fio, &words, server, programs)?);
        }
        of_fathom.push(figures(&programs.fathom_program(), &words, server, programs)?);
    }
    let fathom = middle(&mut of_fathom);
    let thousands =
        |rate: f64| if rate < 10_000.0 { format!("{rate:.0}") } else { format!("{:.1} k", rate / 1000.0) };
    Ok(match of_fio.is_empty() {
        true => format!("– | {} | – | – | {:.0} %", thousands(fathom.rate), fathom.processor),
        false => {
            let fio = middle(&mut of_fio);
            let ratio = fathom.rate / fio.rate;
            format!(
                "{} | {} | {ratio:.2}x | {:.0} % | {:.0} %",
                thousands(fio.rate),
                thousands(fathom.rate),
                fio.processor,
                fathom.processor
            )
        }
    })
}

/// The median of an odd number of runs.
fn middle(runs: &mut [Figures]) -> Figures {
    runs.sort_by(|first, second| first.rate.total_cmp(&second.rate));
    runs.get(runs.len() / 2).copied().unwrap_or(Figures { rate: f64::NAN, processor: f64::NAN })
}

/// One run of one program.
fn figures(
    program: &Path,
    words: &[String],
    server: &Server,
    programs: &Programs,
) -> Result<Figures, String> {
    let mut command = Command::new(program);
    command.args(words).current_dir(programs.scratch()).stdin(Stdio::null()).envs(&server.keys);
    // In the environment, because every user can see command lines.
    for (variable, key) in [("AWS_ACCESS_KEY_ID", "S3_KEYID"), ("AWS_SECRET_ACCESS_KEY", "S3_KEY")] {
        command.envs(server.keys.get(key).map(|value| (variable, value)));
    }
    let ended = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
    if !ended.status.success() {
        return Err(format!("{}: {}", program.display(), String::from_utf8_lossy(&ended.stderr).trim()));
    }
    let jobs = jobs_in(&String::from_utf8_lossy(&ended.stdout))?;
    let job = jobs.first().ok_or("the report contains no job")?;
    let sum =
        |keys: [&str; 2], key: &str| keys.iter().filter_map(|part| job[*part][key].as_f64()).sum::<f64>();
    let processor = ["usr_cpu", "sys_cpu"].iter().filter_map(|key| job[*key].as_f64()).sum();
    match sum(["read", "write"], "iops") {
        rate if rate > 0.0 => Ok(Figures { rate, processor }),
        _ => Err(format!("{}: the report contains no I/O", program.display())),
    }
}
