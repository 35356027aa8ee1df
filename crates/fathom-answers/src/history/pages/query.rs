//! What the address of a page asks, within limits.

use fathom_command::Failure;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Maximum number of conditions.
const MOST_CONDITIONS: usize = 20;
/// Maximum number of figures.
const MOST_FIGURES: usize = 10;
/// Maximum length of a text, in bytes.
const MOST_TEXT: usize = 500;

/// What a page is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryQuery {
    /// Conditions, as `--where` takes them.
    pub conditions: Vec<String>,
    /// Figures, as `--figure` takes them; empty for the usual ones.
    pub figures: Vec<String>,
    /// The smallest change that counts; empty for the usual one.
    pub smallest: String,
    /// What a fleet is divided by: `model`, `serial` or `host`; empty for the usual one.
    pub by: String,
    /// Number of a run.
    pub number: String,
    /// Number of runs before the first of a list.
    pub skip: u64,
}

impl HistoryQuery {
    /// Reads the part of an address after its question mark. Names that are not known are left out.
    pub fn parse(text: &str) -> HistoryQuery {
        let mut query = HistoryQuery::default();
        for (name, value) in text.split('&').filter_map(|pair| pair.split_once('=')) {
            let value = value.replace('+', " ");
            let value = percent_decode_str(&value).decode_utf8_lossy().trim().to_owned();
            match name {
                _ if value.is_empty() => {}
                "where" => query.conditions.push(value),
                "figure" => {
                    let all = value.split(',').map(str::trim).filter(|figure| !figure.is_empty());
                    query.figures.extend(all.map(str::to_owned));
                }
                "smallest" => query.smallest = value,
                "by" => query.by = value,
                "number" => query.number = value,
                // Any number is accepted: one beyond the last run shows none.
                "skip" => query.skip = value.parse().unwrap_or(0),
                _ => {}
            }
        }
        query
    }

    /// Refuses what no person asks.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let too_many = |count: usize, most: usize, what: &str| {
            let text = || Failure::new(format!("{count} {what}; at most {most} are possible"));
            if count > most { Err(text()) } else { Ok(()) }
        };
        too_many(self.conditions.len(), MOST_CONDITIONS, "conditions")?;
        too_many(self.figures.len(), MOST_FIGURES, "figures")?;
        let texts =
            self.conditions.iter().chain(&self.figures).chain([&self.smallest, &self.by, &self.number]);
        match texts.map(String::len).max() {
            Some(length) if length > MOST_TEXT => Err(Failure::new(format!(
                "a condition or figure of {length} bytes; at most {MOST_TEXT} are possible"
            ))),
            _ => Ok(()),
        }
    }

    /// The address of a page with the same conditions and figures.
    pub(super) fn address(&self, page: &str, skip: u64) -> String {
        let conditions = self.conditions.iter().map(|text| ("where", text));
        let figures = self.figures.iter().map(|text| ("figure", text));
        let rest = [("smallest", &self.smallest), ("by", &self.by)];
        let rest = rest.into_iter().filter(|(_, text)| !text.is_empty());
        let pair =
            |(name, text): (&str, &String)| format!("{name}={}", utf8_percent_encode(text, NON_ALPHANUMERIC));
        let mut pairs: Vec<String> = conditions.chain(figures).chain(rest).map(pair).collect();
        pairs.extend((skip > 0).then(|| format!("skip={skip}")));
        let mark = if pairs.is_empty() { "" } else { "?" };
        format!("{page}{mark}{}", pairs.join("&"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        let query =
            HistoryQuery::parse("where=tag.a%3D%3Cb%3E+c&where=&figure=iops,+read.p99&skip=100&x=1&by=host");
        assert_eq!(query.conditions, ["tag.a=<b> c"]);
        assert_eq!((query.figures.join(" "), query.skip), ("iops read.p99".to_owned(), 100));
        let address = query.address("history", 50);
        assert!(address.starts_with("history?where=tag%2Ea%3D%3Cb%3E%20c&figure=iops"), "{address}");
        let again = HistoryQuery::parse(address.split_once('?').expect("a query").1);
        assert_eq!(again, HistoryQuery { skip: 50, ..query });
        assert_eq!(HistoryQuery::default().address("history", 0), "history");
    }

    #[test]
    fn long_questions_are_refused() {
        assert!(HistoryQuery::parse(&"where=a%3Db&".repeat(20)).check().is_ok());
        for text in [
            "where=a%3Db&".repeat(21),
            format!("figure=a,{}", "b,".repeat(20)),
            format!("where={}", "a".repeat(501)),
        ] {
            assert!(HistoryQuery::parse(&text).check().is_err(), "{text}");
        }
        assert_eq!(HistoryQuery::parse("skip=99999999999999999999999").skip, 0);
    }
}
