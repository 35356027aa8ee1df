//! SPDX licence expressions: names joined by `OR`, `AND` and `WITH`, with parentheses. Older packages write `/` for `OR`.

/// True if the expression can be met with licences that `allowed` accepts.
pub(crate) fn is_satisfied(expression: &str, allowed: impl Fn(&str) -> bool) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut reader = Reader { words: spaced.split_whitespace().collect(), at: 0, allowed: &allowed };
    let satisfied = reader.alternatives()?;
    match reader.peek() {
        None => Ok(satisfied),
        Some(word) => Err(format!("`{word}` was not expected")),
    }
}

struct Reader<'a> {
    words: Vec<&'a str>,
    at: usize,
    allowed: &'a dyn Fn(&str) -> bool,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).copied()
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.peek() == Some(word);
        self.at += usize::from(is_next);
        is_next
    }

    fn alternatives(&mut self) -> Result<bool, String> {
        let mut satisfied = self.all_of()?;
        while self.take("OR") {
            satisfied |= self.all_of()?;
        }
        Ok(satisfied)
    }

    fn all_of(&mut self) -> Result<bool, String> {
        let mut satisfied = self.licence()?;
        while self.take("AND") {
            satisfied &= self.licence()?;
        }
        Ok(satisfied)
    }

    fn licence(&mut self) -> Result<bool, String> {
        if self.take("(") {
            let satisfied = self.alternatives()?;
            return if self.take(")") { Ok(satisfied) } else { Err("a `)` is missing".to_owned()) };
        }
        let name = self.name()?;
        if self.take("WITH") {
            let exception = self.name()?;
            return Ok((self.allowed)(&format!("{name} WITH {exception}")));
        }
        Ok((self.allowed)(name))
    }

    fn name(&mut self) -> Result<&'a str, String> {
        match self.peek() {
            None => Err("a licence is missing".to_owned()),
            Some("OR" | "AND" | "WITH" | "(" | ")") => Err("a licence is missing".to_owned()),
            Some(name) => {
                self.at += 1;
                Ok(name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn satisfied(expression: &str) -> Result<bool, String> {
        is_satisfied(expression, |name| name == "A" || name == "B WITH X")
    }

    #[test]
    fn operators_bind_as_in_spdx() {
        assert_eq!(satisfied("A"), Ok(true));
        assert_eq!(satisfied("C"), Ok(false));
        assert_eq!(satisfied("A OR C AND C"), Ok(true));
        assert_eq!(satisfied("(A OR C) AND C"), Ok(false));
        assert_eq!(satisfied("C/A"), Ok(true));
        assert_eq!(satisfied("B"), Ok(false));
        assert_eq!(satisfied("B WITH X"), Ok(true));
        assert_eq!(satisfied("A AND B WITH X"), Ok(true));
    }

    #[test]
    fn nonsense_is_an_error() {
        for expression in ["", "A OR", "AND A", "(A", "A)", "A A", "A WITH", "()"] {
            assert!(satisfied(expression).is_err(), "{expression}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(expression in "[AC ()/ORDWITHN]{0,40}") {
            let _ = satisfied(&expression);
        }

        #[test]
        fn one_allowed_alternative_is_enough(names in prop::collection::vec("[AC]", 1..8)) {
            let any = names.iter().any(|name| name == "A");
            let all = names.iter().all(|name| name == "A");
            prop_assert_eq!(satisfied(&names.join(" OR ")), Ok(any));
            prop_assert_eq!(satisfied(&names.join(" AND ")), Ok(all));
        }
    }
}
