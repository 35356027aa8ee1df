//! Looks codes up in the tables of the documentation: findings of the verdict, and kinds of damage.

/// The page with a row for each check.
const VERDICT: &str = include_str!("../../../../docs/verdict.md");
/// The page with a row for each kind of damaged block.
const VERIFY: &str = include_str!("../../../../docs/verify.md");

/// What a page says about a code such as `reads-missing` or `torn`; `None` if the code has no row.
pub(super) fn explain(word: &str) -> Option<String> {
    let code = word.trim().to_lowercase();
    finding(&code).or_else(|| damage(&code))
}

fn finding(code: &str) -> Option<String> {
    match row(VERDICT, code)?.map(without_markup).collect::<Vec<String>>().as_slice() {
        [severity, compared, limits, advice] => Some(format!(
            "{code}, a finding of the verdict ({severity}): it examines {compared}.\n  * Limits: {limits}.\n  * What to do: {advice}.\n"
        )),
        _ => None,
    }
}

fn damage(code: &str) -> Option<String> {
    match row(VERIFY, code)?.map(without_markup).collect::<Vec<String>>().as_slice() {
        [meaning] => Some(format!("{code}, a kind of damage that verify finds: {meaning}.\n")),
        _ => None,
    }
}

/// The cells of the row with this code, after the cell with the code.
fn row<'a>(page: &'a str, code: &str) -> Option<impl Iterator<Item = &'a str> + use<'a>> {
    let start = format!("| `{code}` | ");
    let line = page.lines().find(|line| line.starts_with(&start))?;
    Some(line[start.len()..].trim_end().trim_end_matches('|').split(" | ").map(str::trim))
}

/// The text of a cell: links are replaced by their text, and backticks are removed.
fn without_markup(cell: &str) -> String {
    let mut text = String::new();
    let mut rest = cell;
    while let Some((before, link)) = rest.split_once('[') {
        text.push_str(before);
        match link.split_once("](").and_then(|(words, after)| Some((words, after.split_once(')')?.1))) {
            Some((words, after)) => {
                text.push_str(words);
                rest = after;
            }
            None => {
                text.push('[');
                rest = link;
            }
        }
    }
    (text + rest).replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks;

    #[test]
    fn each_finding_has_its_row() {
        for code in checks::CHECKS.iter().map(|check| check.code) {
            let text =
                explain(code).unwrap_or_else(|| panic!("{code} has no row of five cells in docs/verdict.md"));
            assert!(text.starts_with(code) && !text.contains(['`', '[']), "{text}");
        }
        assert_eq!(explain("iodepth"), None);
    }

    #[test]
    fn each_damage_has_its_row() {
        for kind in ["stale", "torn", "misdirected"] {
            assert!(explain(kind).is_some_and(|text| text.starts_with(kind)), "{kind}");
        }
    }

    #[test]
    fn links_become_their_words() {
        assert_eq!(without_markup("see [mounts](mounts.md) or `a[0]`"), "see mounts or a[0]");
    }
}
