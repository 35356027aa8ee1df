//! Checks that multi-buffer checksums change neither the written data nor the findings of a check.

use fathom_verify::check::{Reading, check, check_with};
use fathom_verify::draft::Drafts;
use fathom_verify::header::HeaderFormat;
use fathom_verify::method::Method;
use fathom_verify::rule::Rule;
use fathom_verify::stamp::{Write, stamp};
use fathom_verify::sums::Sums;
use proptest::prelude::*;

fn rules() -> impl Strategy<Value = Rule> {
    let method = prop::sample::select(vec![Method::Md5, Method::Sha512, Method::Sha256, Method::Crc32c]);
    let format = prop::sample::select(vec![HeaderFormat::Current, HeaderFormat::First]);
    let interval = prop::sample::select(vec![None, Some(512), Some(1000)]);
    let header_offset = prop::sample::select(vec![0, 0, 200]);
    (method, format, interval, header_offset).prop_map(|(method, format, interval, header_offset)| Rule {
        method,
        format,
        interval,
        header_offset,
        pattern: None,
        pattern_interval: 0,
        checks_seed: true,
        checks_number: true,
    })
}

fn write(number: usize, seed: u64) -> Write {
    Write { seed, offset: number as u64 * 4096, number: number as u64, thread: 1, time: (1, 2) }
}

proptest! {
    /// Returns writes: most have one length and predicted seeds, but some do not.
    #[test]
    fn writes(
        rule in rules(),
        writes in prop::collection::vec((prop::bool::weighted(0.95), prop::bool::weighted(0.95)), 1..60),
    ) {
        let mut drafts = Drafts::default();
        for (number, &(is_usual, is_foreseen)) in writes.iter().enumerate() {
            let seed = if is_foreseen { number as u64 } else { 1 << 40 };
            let (write, length) = (write(number, seed), if is_usual { 2048 } else { 1536 });
            let (mut alone, mut drafted) = (vec![1; length], vec![1; length]);
            stamp(&rule, &mut alone, &write);
            let mut later = seed;
            drafts.stamp(&rule, &mut drafted, &write, || { later += 1; later });
            prop_assert!(alone == drafted, "write {number}");
        }
    }

    /// Returns reads of which some bytes are corrupted.
    #[test]
    fn reads(
        rule in rules(),
        lengths in prop::collection::vec(prop::sample::select(vec![2048usize, 1536, 300]), 1..20),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..6),
    ) {
        let writes: Vec<Write> = (0..lengths.len()).map(|number| write(number, number as u64)).collect();
        let mut blocks: Vec<Vec<u8>> = lengths.iter().map(|&length| vec![0; length]).collect();
        for (block, write) in blocks.iter_mut().zip(&writes) {
            stamp(&rule, block, write);
        }
        for (block, byte) in damage {
            let block = block.get_mut(&mut blocks);
            *byte.get_mut(block) ^= 1;
        }
        let data: Vec<(&[u8], usize)> = blocks.iter().map(|block| (block.as_slice(), block.len())).collect();
        let sums = Sums::of_reads(&rule, &data);
        for ((block, write), sums) in blocks.iter_mut().zip(&writes).zip(&sums) {
            let reading = Reading::new(write.offset, Some(write), block.len());
            let alone = check_with(&rule, block, &reading, false, &Sums::default());
            prop_assert_eq!(&check_with(&rule, block, &reading, false, sums), &alone);
            prop_assert_eq!(&check(&rule, block, &reading, false), &alone);
        }
    }
}
