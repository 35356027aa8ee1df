//! Counts with their nouns.

/// Formats a count with its noun, in the singular or plural: `1 block`, `2 blocks`, `0 processes`.
pub fn counted(count: impl TryInto<u64>, noun: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    let ending = match count {
        1 => "",
        _ if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        assert_eq!([0_u64, 1, 2].map(|count| counted(count, "block")), ["0 blocks", "1 block", "2 blocks"]);
        assert_eq!([1_usize, 3].map(|count| counted(count, "process")), ["1 process", "3 processes"]);
    }
}
