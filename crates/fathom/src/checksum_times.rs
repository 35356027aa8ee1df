//! `--crctest`: measures the checksum functions on this machine.

use crate::output::Output;
use fathom_run::random::file_hash;
use fathom_verify::checksum::checksum;
use fathom_verify::content::fill_random;
use fathom_verify::method::Method;
use std::hash::Hasher;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Size of the block that is hashed repeatedly.
const BLOCK: usize = 128 << 10;
/// Time for each function.
const TIME: Duration = Duration::from_millis(300);

/// Prints a line for each of these functions.
pub(crate) fn run(names: &[String]) -> ExitCode {
    let mut block = vec![0; BLOCK];
    fill_random(&mut block, 0x8989);
    let mut output = Output::terminal();
    for name in names {
        let rate = mebibytes_per_second(name, &block);
        output.line(&format!("{name}:\t\t{rate:>8.2} MiB/sec"));
    }
    ExitCode::SUCCESS
}

fn mebibytes_per_second(name: &str, block: &[u8]) -> f64 {
    let method = Method::of_word(name);
    let hash = |block: &[u8]| match (method, name) {
        (Some(method), _) => {
            black_box(checksum(method, black_box(block)));
        }
        (None, "jhash") => {
            black_box(file_hash(black_box(block)));
        }
        (None, "fnv") => {
            let mut hasher = fnv::FnvHasher::default();
            hasher.write(black_box(block));
            black_box(hasher.finish());
        }
        (None, _) => {
            // Reading from memory never fails.
            let _ = black_box(murmur3::murmur3_32(&mut black_box(block), 0));
        }
    };
    hash(block);
    let (start, mut blocks) = (Instant::now(), 0u32);
    while start.elapsed() < TIME {
        hash(block);
        blocks += 1;
    }
    f64::from(blocks) * BLOCK as f64 / f64::from(1 << 20) / start.elapsed().as_secs_f64()
}
