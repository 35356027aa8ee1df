//! Communication between the ranks of a job, under the launcher of the MPI in use. `FATHOM_MPIRUN` names
//! another command. This program is both the test and, restarted with the name of a check, each of its ranks.

#![allow(clippy::print_stdout, reason = "it is the runner of its tests")]

mod support;

use fathom_mpi::communicator::{Ranks, Refusal};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Exceeds the maximum length of an MPI message, so that several are needed.
const LONG: usize = (40 << 20) + 3;

/// A check: its name, its function on each rank, and the numbers of ranks.
type Check = (&'static str, fn(&Ranks), &'static [usize]);

const CHECKS: [Check; 5] = [
    ("bytes_of_rank_0_reach_all", bytes_of_rank_0_reach_all, &[1, 2, 3, 8, 13]),
    ("long_ones_go_in_parts", long_ones_go_in_parts, &[3]),
    ("bytes_are_merged_in_order", bytes_are_merged_in_order, &[1, 2, 3, 8, 13]),
    ("rank_0_gets_the_bytes_of_each", rank_0_gets_the_bytes_of_each, &[1, 2, 7]),
    ("who_waits_uses_no_processor", who_waits_uses_no_processor, &[3]),
];

fn bytes_of_rank_0_reach_all(ranks: &Ranks) {
    for sent in [Vec::new(), vec![7], (0..100_000).map(|at| at as u8).collect::<Vec<u8>>()] {
        let mut bytes = if ranks.rank() == 0 { sent.clone() } else { vec![1, 2, 3] };
        ranks.broadcast(&mut bytes);
        assert_eq!(bytes, sent);
    }
}

fn long_ones_go_in_parts(ranks: &Ranks) {
    let sent: Vec<u8> = (0..LONG).map(|at| (at / 1000) as u8).collect();
    let mut bytes = if ranks.rank() == 0 { sent.clone() } else { Vec::new() };
    ranks.broadcast(&mut bytes);
    assert!(bytes == sent);
    let sum = |one: Vec<u8>, other: Vec<u8>| one.iter().zip(other).map(|(a, b)| a.wrapping_add(b)).collect();
    if let Some(merged) = ranks.reduce(bytes, sum) {
        assert!(merged.iter().eq(sent.iter().map(|byte| byte.wrapping_mul(3)).collect::<Vec<u8>>().iter()));
    }
}

fn bytes_are_merged_in_order(ranks: &Ranks) {
    let own = format!("{} ", ranks.rank()).into_bytes();
    let all = ranks.reduce(own, |before, after| [before, after].concat());
    let expected: String = (0..ranks.size()).map(|rank| format!("{rank} ")).collect();
    assert_eq!(all, (ranks.rank() == 0).then(|| expected.into_bytes()));
}

fn rank_0_gets_the_bytes_of_each(ranks: &Ranks) {
    let row = |rank: usize| vec![rank as u8; rank * 100];
    let rows = ranks.gather(&row(ranks.rank()));
    assert_eq!(rows, (ranks.rank() == 0).then(|| (0..ranks.size()).map(row).collect()));
}

fn who_waits_uses_no_processor(ranks: &Ranks) {
    let late = Duration::from_secs(2);
    ranks.barrier();
    let (start, used) = (Instant::now(), processor_time());
    if ranks.rank() == 0 {
        std::thread::sleep(late);
    }
    ranks.barrier();
    assert!(start.elapsed() > late - Duration::from_millis(200), "{:?}", start.elapsed());
    let used = processor_time() - used;
    assert!(used < late / 5, "{used:?}");
}

/// CPU time of this thread.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel's account");
    Duration::from_nanos(text.split_whitespace().next().expect("a figure").parse().expect("a number"))
}

/// A rank that is wrongly alone.
fn alone_among_others() {
    let refused = Ranks::enter().err().expect("a refusal");
    assert_eq!(refused, Refusal::OtherMpi { started: 4, variable: "SLURM_STEP_NUM_TASKS" });
}

fn main() -> ExitCode {
    let check = std::env::var("FATHOM_MPI_CHECK").ok();
    match check.as_deref() {
        None => run_all(),
        Some("alone_among_others") => {
            alone_among_others();
            ExitCode::SUCCESS
        }
        Some(name) => {
            let (_, check, _) = CHECKS.iter().find(|(own, _, _)| *own == name).expect("a check");
            let ranks = Ranks::enter().expect("the ranks");
            let wanted = std::env::var("FATHOM_MPI_SIZE").expect("the number of ranks");
            assert_eq!(ranks.size().to_string(), wanted);
            check(&ranks);
            ExitCode::SUCCESS
        }
    }
}

/// Runs all checks with the output of `cargo test`.
fn run_all() -> ExitCode {
    let Some(launcher) = support::launcher() else {
        support::skip("ranks", "no mpirun that belongs to this MPI");
        return ExitCode::SUCCESS;
    };
    let (mut passed, mut failed) = (0, 0);
    let mut count = |name: &str, went_well: bool| {
        println!("test {name} ... {}", if went_well { "ok" } else { "FAILED" });
        *(if went_well { &mut passed } else { &mut failed }) += 1;
    };
    for (name, _, sizes) in CHECKS {
        for size in sizes {
            let mut command = Command::new(&launcher[0]);
            command.args(&launcher[1..]).args(["-n", &size.to_string()]).arg(own_path());
            command.env("FATHOM_MPI_SIZE", size.to_string());
            count(&format!("{name}_{size}"), runs(command, name));
        }
    }
    let mut alone = Command::new(own_path());
    alone.env("SLURM_STEP_NUM_TASKS", "4");
    count("alone_among_others", runs(alone, "alone_among_others"));
    let result = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {result}. {passed} passed; {failed} failed; 0 ignored");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn runs(mut command: Command, name: &str) -> bool {
    let output =
        command.env("FATHOM_MPI_CHECK", name).stdin(Stdio::null()).output().expect("it can be started");
    if !output.status.success() {
        print!("{}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
    }
    output.status.success()
}

fn own_path() -> std::path::PathBuf {
    std::env::current_exe().expect("the path of this program")
}
