//! Host names with ranges of numbers: `node[1-3,7]`, `rack[1-2]-node[01-16]`.

use thiserror::Error;

/// Why a name with brackets is not a valid range.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RangeError {
    /// `node[1-3`
    #[error("{0:?} has a [ without its ]")]
    Open(String),
    /// `node1]`
    #[error("{0:?} has a ] without its [")]
    Closed(String),
    /// `node[a-c]`, `node[]`
    #[error("[{part}] in {name:?} is not a range: expected numbers, such as [1-3,7] or [01-16]")]
    NoNumbers {
        /// The whole name.
        name: String,
        /// The text between the brackets.
        part: String,
    },
    /// `node[3-1]`
    #[error("{range} in {name:?} counts down: the first number of a range is the smaller one")]
    Down {
        /// The whole name.
        name: String,
        /// The range.
        range: String,
    },
    /// `node[1-016]`, `node[001-16]`
    #[error(
        "{range} in {name:?} has zeros before one number that do not fit the other: write both with the same digits"
    )]
    Widths {
        /// The whole name.
        name: String,
        /// The range.
        range: String,
    },
    /// The name stands for more hosts than a run can have.
    #[error("{name:?} names {count} hosts: expected at most {most}")]
    TooMany {
        /// The whole name.
        name: String,
        /// Number of names for which it stands.
        count: u128,
        /// Maximum number of names.
        most: usize,
    },
}

/// Maximum number of digits in a number.
const MOST_DIGITS: usize = 18;

/// A part of a name.
enum Piece<'a> {
    /// Itself.
    Text(&'a str),
    /// Alternatives in a pair of brackets.
    Numbers(Vec<Numbers>),
}

/// Consecutive numbers, padded with zeros to a number of digits.
struct Numbers {
    first: u64,
    last: u64,
    width: usize,
}

/// Expands a list to the names for which it stands, in order: `a,node[1-2]` is a, node1, node2. The number in
/// the last brackets changes fastest. A name stands for at most `most` names.
pub(super) fn expand(list: &str, most: usize) -> Result<Vec<String>, RangeError> {
    let mut names = Vec::new();
    for name in names_of(list).filter(|name| !name.is_empty()) {
        let pieces = pieces(name)?;
        let count = pieces.iter().map(Piece::count).fold(1u128, u128::saturating_mul);
        if count > most as u128 {
            return Err(RangeError::TooMany { name: name.to_owned(), count, most });
        }
        let mut own = vec![String::new()];
        for piece in &pieces {
            own = own
                .iter()
                .flat_map(|begun| piece.texts().map(move |text| format!("{begun}{text}")))
                .collect();
        }
        names.append(&mut own);
    }
    Ok(names)
}

/// Splits names at commas outside of brackets.
fn names_of(list: &str) -> impl Iterator<Item = &str> {
    let mut is_inside = false;
    list.split(move |letter| {
        is_inside = match letter {
            '[' => true,
            ']' => false,
            _ => is_inside,
        };
        letter == ',' && !is_inside
    })
    .map(str::trim)
}

fn pieces(name: &str) -> Result<Vec<Piece<'_>>, RangeError> {
    let mut pieces = Vec::new();
    let mut rest = name;
    // An IP address in brackets is a name: `[::1]:8766`, `root@[fe80::1]`.
    let start = name.find('@').map_or(0, |at| at + 1);
    if let Some(inside) = name[start..].strip_prefix('[')
        && let Some(length) = inside.find(']')
        && inside[..length].contains(':')
    {
        let end = start + length + 2;
        pieces.push(Piece::Text(&name[..end]));
        rest = &name[end..];
    }
    while let Some(open) = rest.find(['[', ']']) {
        if rest[open..].starts_with(']') {
            return Err(RangeError::Closed(name.to_owned()));
        }
        let inside = &rest[open + 1..];
        let Some(length) = inside.find(']') else { return Err(RangeError::Open(name.to_owned())) };
        pieces.push(Piece::Text(&rest[..open]));
        let ranges = inside[..length].split(',');
        pieces.push(Piece::Numbers(
            ranges.map(|range| numbers(name, &inside[..length], range)).collect::<Result<_, _>>()?,
        ));
        rest = &inside[length + 1..];
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

fn numbers(name: &str, part: &str, range: &str) -> Result<Numbers, RangeError> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let number = |text: &str| {
        let is_number =
            (1..=MOST_DIGITS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u64>().ok().filter(|_| is_number)
    };
    let is_padded = |text: &str| text.len() > 1 && text.starts_with('0');
    match (number(first), number(last)) {
        (Some(low), Some(high)) if low > high => {
            Err(RangeError::Down { name: name.to_owned(), range: range.to_owned() })
        }
        (Some(low), Some(high)) => {
            // `01-100` continues with three digits, as in other programs that have such lists.
            let fits = first.len() == last.len() || (!is_padded(last) && first.len() < last.len());
            match fits {
                true => Ok(Numbers { first: low, last: high, width: first.len() }),
                false => Err(RangeError::Widths { name: name.to_owned(), range: range.to_owned() }),
            }
        }
        _ => Err(RangeError::NoNumbers { name: name.to_owned(), part: part.to_owned() }),
    }
}

impl Piece<'_> {
    fn count(&self) -> u128 {
        match self {
            Piece::Text(_) => 1,
            Piece::Numbers(numbers) => {
                numbers.iter().map(|numbers| u128::from(numbers.last - numbers.first) + 1).sum()
            }
        }
    }

    fn texts(&self) -> Box<dyn Iterator<Item = String> + '_> {
        match self {
            Piece::Text(text) => Box::new(std::iter::once((*text).to_owned())),
            Piece::Numbers(numbers) => Box::new(numbers.iter().flat_map(|Numbers { first, last, width }| {
                (*first..=*last).map(move |number| format!("{number:0width$}"))
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(list: &str, expected: &str) {
        let names = expand(list, 1000).unwrap_or_else(|error| panic!("{list}: {error}"));
        assert_eq!(names.join(" "), expected, "{list}");
    }

    #[test]
    fn numbers_take_the_place_of_brackets() {
        check("node[1-3,7]", "node1 node2 node3 node7");
        check("node[08-11]", "node08 node09 node10 node11");
        check("n[98-101],x", "n98 n99 n100 n101 x");
        check("n[099-100]", "n099 n100");
        check("n[09-010]x,n[0-1]".replace("010", "10").as_str(), "n09x n10x n0 n1");
        check("r[1-2]n[1,3]", "r1n1 r1n3 r2n1 r2n3");
        check("[1-2].rack:8766,root@[5].rack", "1.rack:8766 2.rack:8766 root@5.rack");
        check("a, b,,c", "a b c");
    }

    #[test]
    fn addresses_in_brackets_are_names() {
        check("[::1]:9000,root@[fe80::1]", "[::1]:9000 root@[fe80::1]");
        check("[fe80::1%eth0]", "[fe80::1%eth0]");
    }

    #[test]
    fn what_is_not_a_range_is_refused_with_its_reason() {
        let refused = |list: &str| expand(list, 1000).expect_err("refused").to_string();
        assert_eq!(refused("a,node[1-3"), "\"node[1-3\" has a [ without its ]");
        assert_eq!(refused("node1-3]"), "\"node1-3]\" has a ] without its [");
        for list in [
            "n[]",
            "n[a-c]",
            "n[1-]",
            "n[-3]",
            "n[1,,2]",
            "n[1-2-3]",
            "n[1 ]",
            "n[+1]",
            "n[9999999999999999999]",
        ] {
            assert!(refused(list).contains("is not a range: expected numbers"), "{list}: {}", refused(list));
        }
        assert!(refused("n[3-1]").starts_with("3-1 in \"n[3-1]\" counts down"), "{}", refused("n[3-1]"));
        for list in ["n[1-010]", "n[001-10]", "n[0001-1000,001-02]"] {
            assert!(refused(list).contains("write both with the same digits"), "{list}: {}", refused(list));
        }
        assert_eq!(refused("n[1-9]x[1-999]"), "\"n[1-9]x[1-999]\" names 8991 hosts: expected at most 1000");
        assert!(refused("[0-999999999999999999][0-999999999999999999]").contains("expected at most"));
    }

    proptest! {
        #[test]
        fn a_range_names_each_number_once_in_order(first in 0u64..200, more in 0u64..200, zeros in 0usize..4) {
            let width = first.to_string().len() + zeros;
            let last = first + more;
            prop_assume!(zeros == 0 || last.to_string().len() <= width);
            let (low, high) = (format!("{first:0width$}"), format!("{last:0width$}"));
            let names = expand(&format!("n[{low}-{high}]"), 1000).expect("a range");
            prop_assert_eq!(names.len() as u64, more + 1);
            for (name, number) in names.iter().zip(first..=last) {
                prop_assert_eq!(name, &format!("n{number:0width$}"));
            }
        }

        #[test]
        fn any_text_is_names_or_refused(text in "[\\[\\],0-9a:@-]{0,30}") {
            if let Ok(names) = expand(&text, 100) {
                prop_assert!(names.iter().all(|name| !name.is_empty()));
            }
        }
    }
}
