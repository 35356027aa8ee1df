//! Limits of response times: `p99<2ms`, `read:p99.9<500us`, `mean<1ms`.

use crate::figures;
use fathom_command::Failure;
use fathom_stats::Direction;
use std::fmt;

/// An upper limit on a response time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Objective {
    /// The direction; `None` for all I/O.
    pub(crate) direction: Option<Direction>,
    pub(crate) figure: ResponseFigure,
    pub(crate) limit_ns: f64,
    /// The limit as the user wrote it.
    pub(crate) text: String,
}

/// A figure of response times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ResponseFigure {
    Percentile(f64),
    Mean,
    Max,
}

/// Units of time, with longer names first.
const UNITS: [(&str, f64); 6] = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("μs", 1e3), ("ms", 1e6), ("s", 1e9)];

impl Objective {
    /// Parses `[read:|write:|trim:]FIGURE<TIME`, with a unit.
    pub(crate) fn parse(text: &str) -> Result<Objective, Failure> {
        let wrong = || {
            Failure::new(format!(
                "--slo: `{text}` is not a limit of a response time; write for example p99<2ms, read:p99.9<500us or mean<1ms"
            ))
        };
        let (subject, limit) = text.split_once('<').ok_or_else(wrong)?;
        let (direction, figure) = match subject.trim().split_once(':') {
            Some((word, figure)) => (Some(Direction::from_word(word.trim()).ok_or_else(wrong)?), figure),
            None => (None, subject),
        };
        let figure = ResponseFigure::parse(figure.trim()).ok_or_else(wrong)?;
        let limit_ns = parse_time(limit.trim_start_matches('=').trim()).ok_or_else(wrong)?;
        Ok(Objective { direction, figure, limit_ns, text: text.trim().to_owned() })
    }
}

impl ResponseFigure {
    fn parse(text: &str) -> Option<ResponseFigure> {
        match text {
            "mean" | "avg" => Some(ResponseFigure::Mean),
            "max" => Some(ResponseFigure::Max),
            _ => {
                let percent: f64 = text.strip_prefix('p')?.parse().ok()?;
                (percent > 0.0 && percent < 100.0).then_some(ResponseFigure::Percentile(percent))
            }
        }
    }
}

fn parse_time(text: &str) -> Option<f64> {
    let (number, unit) = UNITS.iter().find_map(|(name, ns)| {
        let number = text.strip_suffix(name)?.trim();
        // `5ms` ends with `s` as well, so the number before the unit must end with a digit.
        number.ends_with(|last: char| last.is_ascii_digit() || last == '.').then_some((number, ns))
    })?;
    let time = number.parse::<f64>().ok()? * unit;
    (time.is_finite() && time > 0.0).then_some(time)
}

impl fmt::Display for Objective {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(direction) = self.direction {
            write!(formatter, "{}:", direction.word())?;
        }
        match self.figure {
            ResponseFigure::Percentile(percent) => write!(formatter, "p{percent}")?,
            ResponseFigure::Mean => formatter.write_str("mean")?,
            ResponseFigure::Max => formatter.write_str("max")?,
        }
        write!(formatter, "<{}", figures::duration(self.limit_ns).replace(' ', ""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn limits_are_read() {
        for (text, shown) in [
            ("p99<2ms", "p99<2.00ms"),
            (" read:p99.9 < 500us", "read:p99.9<500µs"),
            ("write:mean<=1s", "write:mean<1.00s"),
            ("max<250 ns", "max<250ns"),
        ] {
            let read = Objective::parse(text).expect("a limit");
            assert_eq!(read.to_string(), shown);
        }
        assert_eq!(Objective::parse("p50<1.5ms").expect("a limit").limit_ns, 1.5e6);
        for wrong in [
            "",
            "p99",
            "p99<",
            "p99<2",
            "p99<2x",
            "p100<1s",
            "p0<1s",
            "scan:p9<1s",
            "p99>2ms",
            "p99<-1ms",
            "<1s",
        ] {
            assert!(Objective::parse(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[a-z:0-9.<>=µ -]{0,16}") {
            let _ = Objective::parse(&text);
        }
    }
}
