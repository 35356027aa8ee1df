//! The message tree: a binomial tree with rank 0 at the root, in which each rank is lower than its descendants, and the ranks
//! of a subtree are contiguous. Data goes up or down in as many steps as the number of ranks has bits.

/// The parent of this rank.
pub(super) fn parent(rank: usize) -> Option<usize> {
    (rank != 0).then(|| rank & (rank - 1))
}

/// The children of this rank, in order.
pub(super) fn children(rank: usize, size: usize) -> Vec<usize> {
    let steps = (0..usize::BITS).map(|bit| 1 << bit).take_while(|step| rank & step == 0);
    steps.map(|step| rank | step).take_while(|child| *child < size).collect()
}

/// The bytes, preceded by their length.
pub(super) fn framed(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64).to_le_bytes(), bytes].concat()
}

/// Splits a sequence of [`framed`] messages.
pub(super) fn unframed(mut all: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while let Some((length, rest)) = all.split_first_chunk() {
        let (bytes, rest) = rest.split_at(rest.len().min(u64::from_le_bytes(*length) as usize));
        found.push(bytes.to_vec());
        all = rest;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_is_the_child_of_its_parent_alone() {
        for size in 1..200 {
            for rank in 0..size {
                let of: Vec<usize> =
                    (0..size).filter(|other| children(*other, size).contains(&rank)).collect();
                assert_eq!(of, Vec::from_iter(parent(rank)), "rank {rank} of {size}");
            }
        }
    }

    /// The ranks of a subtree in merge order.
    fn below(rank: usize, size: usize) -> Vec<usize> {
        let parts = children(rank, size).into_iter().flat_map(|child| below(child, size));
        std::iter::once(rank).chain(parts).collect()
    }

    #[test]
    fn parts_are_merged_in_the_order_of_ranks() {
        for size in 1..200 {
            assert_eq!(below(0, size), Vec::from_iter(0..size));
        }
    }

    #[test]
    fn nobody_waits_for_more_than_a_few() {
        assert_eq!(children(0, 1000).len(), 10);
        assert!((1..1000).all(|rank| children(rank, 1000).len() < 10));
    }

    #[test]
    fn frames_come_out_as_they_went_in() {
        let rows: [&[u8]; 4] = [b"one", b"", &[0; 300], b"four"];
        let all: Vec<u8> = rows.iter().flat_map(|row| framed(row)).collect();
        assert_eq!(unframed(&all), rows);
        assert_eq!(unframed(&[]), Vec::<Vec<u8>>::new());
    }
}
