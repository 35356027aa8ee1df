//! Checks that the verifier raises no false alarms and detects all damage.

use crate::drawn::{awkward_device, failing_device, words};
use fathom_run::unit::Operation;
use fathom_testing::behaviour::{Behaviour, Damage};
use fathom_testing::run::run;
use proptest::prelude::*;

/// Jobs that check their writes, including overwritten ones.
fn verifying_job() -> impl Strategy<Value = String> {
    let direction = words(&["write", "randwrite", "randrw", "rw", "trimwrite", "write:8k"]);
    let method = words(&[
        "crc32c",
        "md5",
        "pattern --verify_pattern=%o",
        "xxhash",
        "sha256",
        "meta",
        "pattern_hdr --verify_pattern=0xabcdef",
    ]);
    let lengths =
        words(&["--bs=4k", "--bs=8k --verify_interval=4k", "--bsrange=4k-16k", "--bssplit=4k/60:12k/40"]);
    let depth = words(&["--iodepth=1", "--iodepth=4", "--iodepth=16", "--iodepth=16 --iodepth_batch=4"]);
    let amount = words(&[
        "--size=256k",
        "--size=128k --loops=2",
        "--size=128k --io_size=300k",
        "--size=128k --time_based --runtime=8ms",
        "--size=240k --nrfiles=3",
        "--size=256k --norandommap",
    ]);
    let more = words(&[
        "",
        "",
        "--verify_backlog=8",
        "--verify_backlog=5 --verify_backlog_batch=3",
        "--trim_percentage=30 --trim_verify_zero=1 --trim_backlog=6",
        "--experimental_verify=1",
        "--verify_async=2",
        "--fdatasync=9",
        "--serialize_overlap=1",
        "--percentage_random=40",
        "--random_distribution=zipf:1.3",
        "--verify_backlog=6 --trim_percentage=20",
        "--offset=16k --offset_align=4k",
        "--rate_iops=30000 --rate_process=poisson",
        "--do_verify=0",
        "--verify_policy=fsynced --fdatasync=7",
        "--verify_header_seed=0 --verify_write_sequence=0",
        "--bs_unaligned=1",
        "--file_service_type=zipf:1.3 --nrfiles=2",
        "--iodepth_batch_complete_min=4 --iodepth_low=2",
    ]);
    (direction, method, lengths, depth, amount, more).prop_map(
        |(direction, method, lengths, depth, amount, more)| {
            format!("--rw={direction} --verify={method} {lengths} {depth} {amount} {more}")
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    #[test]
    fn no_false_alarm(words in verifying_job(), device in awkward_device()) {
        let run = run(&words, device);
        prop_assert!(!run.hung);
        prop_assert_eq!(run.block().error(), None, "{:?}", run.messages);
        prop_assert!(run.stuck().is_empty());
    }

    /// The effect of a failed I/O is unknown.
    #[test]
    fn no_false_alarm_where_ios_fail(words in verifying_job(), device in failing_device()) {
        let device = Behaviour { failing: Vec::new(), ..device };
        let run = run(&format!("{words} --continue_on_error=io"), device);
        prop_assert!(!run.hung);
        prop_assert!(run.stuck().is_empty());
        let alarms: Vec<&str> = run.errors().into_iter().filter(|line| line.contains("verify")).collect();
        prop_assert!(alarms.is_empty(), "{:?}", alarms);
        let code = run.block().error().map(|(code, _)| code);
        prop_assert_ne!(code, Some(libc::EILSEQ), "{:?}", run.messages);
    }

    #[test]
    fn nothing_is_missed(
        device in awkward_device(),
        depth in 1u32..17,
        method in words(&["crc32c", "md5", "xxhash", "sha3-256", "pattern --verify_pattern=%o"]),
        direction in words(&["write", "randwrite", "randrw", "rw"]),
        lengths in words(&["--bs=4k", "--bs=8k --verify_interval=4k", "--bsrange=4k-16k", "--bs=1k"]),
        more in words(&[
            "",
            "--verify_backlog=4",
            "--verify_backlog=9 --verify_backlog_batch=2",
            "--verify_async=2",
            "--experimental_verify=1",
            "--iodepth_batch=3",
            "--nrfiles=3",
            "--fdatasync=5",
            "--rate_iops=20000",
            "--verify_fatal=1",
        ]),
        number in 0u64..63,
        damage in prop::sample::select(vec![Damage::Dropped, Damage::BitFlipped, Damage::Torn, Damage::Misplaced]),
    ) {
        // The continuation of a short write is a separate write.
        let device = Behaviour { damaged: vec![(number, damage)], short_permille: 0, ..device };
        let words = format!("--rw={direction} --verify={method} {lengths} --size=256k --iodepth={depth} {more}");
        let run = run(&words, device);
        prop_assert!(!run.hung);
        let writes = run.record.served.iter().filter(|io| io.operation == Operation::Write).count() as u64;
        let code = run.block().error().map(|(code, _)| code);
        prop_assert_eq!(code, (writes > number).then_some(libc::EILSEQ), "{:?}", run.messages);
    }
}
