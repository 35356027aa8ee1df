//! The block sizes of a job, whose shares are whole percents.

use super::whole_percents;
use crate::sizes::Sizes;

/// Maximum number of block sizes per job.
const MOST_SIZES: usize = 16;
/// Share of the requests from which a size is listed by itself.
const COMMON: f64 = 0.02;
/// Sizes between common ones are joined until they have this share of the requests, or of the bytes.
const JOINED: f64 = 0.08;
/// Error of the mean size, relative to it, at which the largest sizes become a separate job.
const LARGEST_ERROR: f64 = 0.03;
/// Share of the requests that the largest sizes of such a job have at most.
const RARE: f64 = 0.05;
/// Block sizes of devices are multiples of this; those of files may be any.
pub(super) const SECTOR: u64 = 512;

/// Block sizes that one job can have.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeClass {
    /// Suffix of the job's name.
    pub suffix: &'static str,
    /// Its share of the requests.
    pub share: f64,
    /// Its share of the bytes.
    pub share_of_bytes: f64,
    /// Block sizes.
    pub sizes: BlockSizes,
}

/// Block sizes in bytes with their shares in percent, which add up to 100.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockSizes(pub Vec<(u32, u32)>);

impl BlockSizes {
    /// The mean size.
    pub fn mean(&self) -> f64 {
        self.0.iter().map(|(size, percent)| f64::from(*size) * f64::from(*percent) / 100.0).sum()
    }

    /// The smallest size.
    pub fn smallest(&self) -> u64 {
        self.0.iter().map(|size| u64::from(size.0)).min().unwrap_or(SECTOR)
    }

    /// The largest size.
    pub fn largest(&self) -> u64 {
        self.0.iter().map(|size| u64::from(size.0)).max().unwrap_or(SECTOR)
    }
}

/// Requests and bytes of neighbouring sizes.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    requests: f64,
    bytes: f64,
}

impl Group {
    /// The mean size, as a multiple of `unit`.
    fn size(&self, unit: u64) -> u32 {
        let units = (self.bytes / self.requests.max(1.0) / unit as f64).round().max(1.0);
        let largest = u32::MAX - u32::MAX % unit as u32;
        u32::try_from((units as u64).saturating_mul(unit)).unwrap_or(largest)
    }
}

/// One class; two where rare large requests have many of the bytes, which whole percents of the requests cannot express.
pub(super) fn classes(sizes: &Sizes, unit: u64) -> Vec<SizeClass> {
    let groups = groups(sizes);
    let class = |suffix, some: &[Group]| class(suffix, some, &groups, unit);
    let all = class("", &groups);
    let mean = sizes.bytes() as f64 / sizes.requests().max(1) as f64;
    if (all.sizes.mean() / mean - 1.0).abs() <= LARGEST_ERROR {
        return vec![all];
    }
    let total: f64 = groups.iter().map(|group| group.requests).sum();
    let mut above = 0.0;
    let is_rare = |group: &&Group| {
        above += group.requests;
        above <= total * RARE
    };
    let rare = groups.iter().rev().take_while(is_rare).count();
    match rare {
        0 => vec![all],
        rare if rare == groups.len() => vec![all],
        rare => {
            let (usual, large) = groups.split_at(groups.len() - rare);
            vec![class("", usual), class("-large", large)]
        }
    }
}

fn class(suffix: &'static str, groups: &[Group], all: &[Group], unit: u64) -> SizeClass {
    let sum = |groups: &[Group], of: fn(&Group) -> f64| groups.iter().map(of).sum::<f64>();
    let (requests, bytes) = (sum(groups, |group| group.requests), sum(groups, |group| group.bytes));
    let shares: Vec<f64> = groups.iter().map(|group| group.requests / requests.max(1.0)).collect();
    let sizes = groups.iter().map(|group| group.size(unit)).zip(whole_percents(&shares));
    SizeClass {
        suffix,
        share: requests / sum(all, |group| group.requests).max(1.0),
        share_of_bytes: bytes / sum(all, |group| group.bytes).max(1.0),
        sizes: BlockSizes(sizes.filter(|size| size.1 > 0).collect()),
    }
}

/// Common sizes each by itself, and the others joined with their neighbours, by size.
fn groups(sizes: &Sizes) -> Vec<Group> {
    let (requests, bytes) = (sizes.requests().max(1) as f64, sizes.bytes().max(1) as f64);
    // More sizes are joined, the more there are.
    let mut common = COMMON;
    loop {
        let (mut groups, mut joined): (Vec<Group>, Group) = (Vec::new(), Group::default());
        for (&size, &count) in &sizes.counts {
            let own = Group { requests: count as f64, bytes: f64::from(size) * count as f64 };
            if own.requests >= common * requests {
                groups.extend((joined.requests > 0.0).then(|| std::mem::take(&mut joined)));
                groups.push(own);
                continue;
            }
            joined.requests += own.requests;
            joined.bytes += own.bytes;
            let most = JOINED * common / COMMON;
            if joined.requests >= most * requests || joined.bytes >= most * bytes {
                groups.push(std::mem::take(&mut joined));
            }
        }
        groups.extend((joined.requests > 0.0).then_some(joined));
        if groups.len() <= MOST_SIZES {
            return groups;
        }
        common *= 1.5;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sizes(counts: &[(u32, u64)]) -> Sizes {
        Sizes {
            counts: counts.iter().copied().collect(),
            alignment: vec![counts.iter().map(|count| count.1).sum()],
        }
    }

    #[test]
    fn a_few_sizes_are_kept_as_they_are() {
        let found = classes(&sizes(&[(4096, 600), (8192, 250), (65_536, 150)]), SECTOR);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].sizes.0, [(4096, 60), (8192, 25), (65_536, 15)]);
    }

    #[test]
    fn rare_large_requests_are_a_class_of_their_own() {
        let found = classes(&sizes(&[(4096, 99_700), (8 << 20, 300)]), SECTOR);
        assert_eq!(found.len(), 2);
        assert_eq!(found[1].sizes.0, [(8 << 20, 100)]);
        assert!((found[1].share - 0.003).abs() < 1e-9 && found[1].share_of_bytes > 0.8, "{found:?}");
    }

    proptest! {
        #[test]
        fn shares_add_up_and_the_mean_is_kept(counts in prop::collection::btree_map(1u32..40_000, 1u64..10_000, 1..300)) {
            let counts: Vec<(u32, u64)> = counts.into_iter().map(|(sectors, count)| (sectors * 512, count)).collect();
            let sizes = sizes(&counts);
            let found = classes(&sizes, SECTOR);
            let mean = sizes.bytes() as f64 / sizes.requests() as f64;
            prop_assert!((found.iter().map(|class| class.share).sum::<f64>() - 1.0).abs() < 1e-9);
            prop_assert!(found.iter().all(|class| class.sizes.0.iter().map(|size| size.1).sum::<u32>() == 100));
            prop_assert!(found.iter().all(|class| class.sizes.0.len() <= MOST_SIZES));
            let whole: f64 = found.iter().map(|class| class.share * class.sizes.mean()).sum();
            prop_assert!((whole / mean - 1.0).abs() < 0.15, "{whole} of {mean}: {found:?}");
        }
    }
}
