//! `steadystate`: when a workload counts as steady.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{OptionValue, ParseContext, ValueError, parse_choice, parse_float, parse_time, parse_whole};
use crate::declare::choices;
use crate::definition::OptionDef;
use crate::value::TimeUnit;

choices! {
    /// The criterion.
    pub enum SteadyCriterion {
        /// Largest deviation of the I/O rate from its mean
        Iops = "iops",
        /// Slope of the I/O rate
        IopsSlope = "iops_slope",
        /// Largest deviation of the bandwidth from its mean
        Bandwidth = "bw",
        /// Slope of the bandwidth
        BandwidthSlope = "bw_slope",
        /// Largest deviation of the completion latency from its mean
        Latency = "lat",
        /// Slope of the completion latency
        LatencySlope = "lat_slope",
    }
}

/// Criterion and limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SteadyState {
    /// The observed figure.
    pub criterion: SteadyCriterion,
    /// Maximum deviation or slope: percent of the mean, or I/Os, bytes or nanoseconds.
    pub limit: f64,
    /// True if the limit is in percent of the mean.
    pub percent: bool,
}

impl fmt::Display for SteadyState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let latency = matches!(self.criterion, SteadyCriterion::Latency | SteadyCriterion::LatencySlope);
        let unit = match (self.percent, latency) {
            (true, _) => "%",
            (false, true) => "us",
            (false, false) => "",
        };
        let limit = if latency && !self.percent { self.limit / 1000.0 } else { self.limit };
        write!(formatter, "{}:{limit}{unit}", self.criterion)
    }
}

impl OptionValue for SteadyState {
    fn unset() -> Self {
        SteadyState { criterion: SteadyCriterion::IopsSlope, limit: 0.01, percent: true }
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let criterion: SteadyCriterion = parse_choice(text, definition, context)?;
        let Some((_, limit)) = text.split_once(':').filter(|(_, limit)| !limit.trim().is_empty()) else {
            context.complain("fio: steadystate threshold must be specified in addition to criterion");
            return Err(ValueError::new("a limit after the criterion, such as iops:100 or bw_slope:0.3%"));
        };
        // Text after a percent sign is ignored, because templates of other programs write two.
        *self = match limit.trim().split_once('%') {
            Some((percent, _)) => {
                let limit = parse_float(percent).ok_or_else(|| {
                    context.complain("fio: could not parse steadystate threshold percentage");
                    ValueError::new("a percentage such as 0.3%")
                })?;
                SteadyState { criterion, limit, percent: true }
            }
            None => SteadyState { criterion, limit: parse_limit(criterion, limit, context)?, percent: false },
        };
        Ok(())
    }
}

fn parse_limit(
    criterion: SteadyCriterion,
    text: &str,
    context: &mut ParseContext<'_>,
) -> Result<f64, ValueError> {
    let (name, limit) = match criterion {
        SteadyCriterion::Iops | SteadyCriterion::IopsSlope => ("IOPS", parse_float(text)),
        SteadyCriterion::Bandwidth | SteadyCriterion::BandwidthSlope => {
            ("BW", parse_whole(text, context.kb_base).map(|whole| whole.value as f64))
        }
        SteadyCriterion::Latency | SteadyCriterion::LatencySlope => {
            ("latency", parse_time(text, TimeUnit::Microseconds).map(|time| time.as_nanos() as f64))
        }
    };
    limit.filter(|limit| *limit >= 0.0).ok_or_else(|| {
        context.complain(format!("fio: steadystate {name} threshold postfix parsing failed"));
        ValueError::new("a limit that is a number, such as iops:100, bw:1m or lat:50us")
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{parse, parse_noting};
    use super::*;

    #[test]
    fn limits_are_numbers_or_percentages() {
        let state = SteadyState { criterion: SteadyCriterion::BandwidthSlope, limit: 0.3, percent: true };
        assert_eq!(parse("bw_slope:0.3%"), Ok(state));
        for (text, printed) in
            [("iops:60%%", "iops:60%"), ("bw:60%%", "bw:60%"), ("iops_slope:0.3%%", "iops_slope:0.3%")]
        {
            assert_eq!(parse::<SteadyState>(text).unwrap().to_string(), printed);
        }
        let state = SteadyState { criterion: SteadyCriterion::Latency, limit: 50_000.0, percent: false };
        assert_eq!(parse("lat:50us"), Ok(state));
        for text in ["iops:100", "bw:1048576", "lat_slope:7us", "iops_slope:0.5%"] {
            let state: SteadyState = parse(text).unwrap();
            assert_eq!(state.to_string(), text);
        }
    }

    #[test]
    fn missing_and_wrong_limits_get_different_errors() {
        assert_eq!(
            parse_noting::<SteadyState>("iops").1,
            ["fio: steadystate threshold must be specified in addition to criterion"]
        );
        assert_eq!(
            parse_noting::<SteadyState>("iops:x%").1,
            ["fio: could not parse steadystate threshold percentage"]
        );
        assert_eq!(
            parse_noting::<SteadyState>("iops:x").1,
            ["fio: steadystate IOPS threshold postfix parsing failed"]
        );
    }
}
