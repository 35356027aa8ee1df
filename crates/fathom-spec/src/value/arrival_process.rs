//! `rate_process`: the times at which I/Os under a rate are due.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::time::parse_time;
use super::{OptionValue, ParseContext, ValueError, no_such_choice, parse_float};
use crate::definition::{Choice, OptionDef, TimeUnit};

/// Maximum coefficient of variation of gaps. With a larger one, only a very long run would reach its mean rate.
const LARGEST_VARIATION: f64 = 100.0;
/// Maximum number of steps of a rate that changes with time.
const MOST_STEPS: usize = 4096;
/// Maximum weight of a step.
const LARGEST_WEIGHT: f64 = 1e9;

/// The arrival process. The rate is the overall mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ArrivalProcess {
    /// Evenly.
    Linear,
    /// At random, as from many independent users.
    Poisson,
    /// In bursts, with pauses between them.
    OnOff {
        /// Length of a burst.
        busy: Duration,
        /// Length of the pause after it.
        idle: Duration,
        /// True if arrivals within a burst are random instead of evenly spaced.
        poisson: bool,
    },
    /// Gaps from a gamma distribution.
    Gamma {
        /// Standard deviation of the gaps divided by their mean: 0 means evenly spaced, 1 a Poisson process,
        /// larger values more bursty.
        variation: f64,
    },
    /// The rate changes with time.
    Steps {
        /// Length of a step.
        length: Duration,
        /// The rate of each step relative to the others; after the last step the first one follows.
        weights: Vec<f64>,
        /// Standard deviation of the gaps within a step, divided by their mean, as for `Gamma`.
        variation: f64,
    },
}

impl ArrivalProcess {
    /// The words with which the option's value starts.
    pub const CHOICES: &'static [Choice] = &[
        Choice { name: "linear", help: "Even" },
        Choice { name: "poisson", help: "Poisson process, as from many independent users" },
        Choice {
            name: "onoff",
            help: "Bursts, onoff:BUSY:IDLE[:poisson], such as onoff:100ms:1s; with open_loop",
        },
        Choice {
            name: "gamma",
            help: "Gaps from a gamma distribution of this coefficient of variation, gamma:CV; with open_loop",
        },
        Choice {
            name: "steps",
            help: "A rate that changes with time, steps:LENGTH:WEIGHT/WEIGHT/...[:poisson|:gamma:CV], such as steps:10s:1/3/2; with open_loop",
        },
    ];

    /// True if fio has this process as well; it then also paces closed loops.
    pub fn is_of_fio(&self) -> bool {
        matches!(self, ArrivalProcess::Linear | ArrivalProcess::Poisson)
    }
}

impl fmt::Display for ArrivalProcess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArrivalProcess::Linear => formatter.write_str("linear"),
            ArrivalProcess::Poisson => formatter.write_str("poisson"),
            ArrivalProcess::OnOff { busy, idle, poisson } => {
                write!(formatter, "onoff:{}us:{}us", busy.as_micros(), idle.as_micros())?;
                formatter.write_str(if *poisson { ":poisson" } else { "" })
            }
            ArrivalProcess::Gamma { variation } => write!(formatter, "gamma:{variation}"),
            ArrivalProcess::Steps { length, weights, variation } => {
                let weights: Vec<String> = weights.iter().map(f64::to_string).collect();
                write!(formatter, "steps:{}us:{}", length.as_micros(), weights.join("/"))?;
                match *variation {
                    0.0 => Ok(()),
                    1.0 => formatter.write_str(":poisson"),
                    variation => write!(formatter, ":gamma:{variation}"),
                }
            }
        }
    }
}

impl OptionValue for ArrivalProcess {
    fn unset() -> Self {
        ArrivalProcess::Linear
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let (name, arguments) = text.split_once(':').unwrap_or((text, ""));
        *self = match name {
            "linear" if arguments.is_empty() => ArrivalProcess::Linear,
            "poisson" if arguments.is_empty() => ArrivalProcess::Poisson,
            "onoff" => parse_onoff(arguments)?,
            "gamma" => ArrivalProcess::Gamma { variation: parse_variation(arguments)? },
            "steps" => parse_steps(arguments)?,
            _ => return Err(no_such_choice(definition, text, context)),
        };
        Ok(())
    }
}

fn parse_onoff(arguments: &str) -> Result<ArrivalProcess, ValueError> {
    let expected = || {
        ValueError::new(
            "bursts as onoff:BUSY:IDLE or onoff:BUSY:IDLE:poisson, such as onoff:100ms:1s, of 1 us or more each",
        )
    };
    let mut parts = arguments.split(':');
    let mut spell = || {
        let time = parts.next().and_then(|part| parse_time(part, TimeUnit::Seconds));
        time.filter(|time| time.as_micros() > 0).ok_or_else(expected)
    };
    let (busy, idle) = (spell()?, spell()?);
    let poisson = match (parts.next(), parts.next()) {
        (None, None) => false,
        (Some("poisson"), None) => true,
        _ => return Err(expected()),
    };
    Ok(ArrivalProcess::OnOff { busy, idle, poisson })
}

fn parse_steps(arguments: &str) -> Result<ArrivalProcess, ValueError> {
    let expected = || {
        ValueError::new(format!(
            "steps as steps:LENGTH:WEIGHT/WEIGHT/..., such as steps:10s:1/3/2, with :poisson or :gamma:CV for gaps that \
             differ; LENGTH is 1 us or more, weights are the rates of the steps relative to each other, up to {MOST_STEPS} of them, \
             not all 0"
        ))
    };
    let mut parts = arguments.splitn(3, ':');
    let length = parts.next().and_then(|part| parse_time(part, TimeUnit::Seconds));
    let length = length.filter(|length| length.as_micros() > 0).ok_or_else(expected)?;
    let weights = parts.next().unwrap_or_default().split('/').map(parse_float).collect::<Option<Vec<f64>>>();
    let is_usable = |weights: &Vec<f64>| {
        weights.len() <= MOST_STEPS
            && weights.iter().all(|weight| (0.0..=LARGEST_WEIGHT).contains(weight))
            && weights.iter().any(|weight| *weight > 0.0)
    };
    let weights = weights.filter(is_usable).ok_or_else(expected)?;
    let variation = match parts.next() {
        None => 0.0,
        Some("poisson") => 1.0,
        Some(gaps) => parse_variation(gaps.strip_prefix("gamma:").ok_or_else(expected)?)?,
    };
    Ok(ArrivalProcess::Steps { length, weights, variation })
}

fn parse_variation(text: &str) -> Result<f64, ValueError> {
    parse_float(text).filter(|variation| (0.0..=LARGEST_VARIATION).contains(variation)).ok_or_else(|| {
        ValueError::new(format!("a coefficient of variation from 0 to {LARGEST_VARIATION}, such as gamma:2"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::testing::{quiet_job, refusal};

    fn process(words: &str) -> ArrivalProcess {
        quiet_job(&format!("--name=a --rate_iops=10 --open_loop=1 --rate_process={words}")).rate.rate_process
    }

    #[test]
    fn processes_are_read() {
        assert_eq!(process("poisson"), ArrivalProcess::Poisson);
        let spells = |poisson| ArrivalProcess::OnOff {
            busy: Duration::from_millis(100),
            idle: Duration::from_secs(1),
            poisson,
        };
        assert_eq!(process("onoff:100ms:1"), spells(false));
        assert_eq!(process("onoff:100ms:1s:poisson"), spells(true));
        assert_eq!(process("gamma:2.5"), ArrivalProcess::Gamma { variation: 2.5 });
        let steps = |variation| ArrivalProcess::Steps {
            length: Duration::from_secs(10),
            weights: vec![1.0, 0.0, 2.5],
            variation,
        };
        assert_eq!(process("steps:10:1/0/2.5"), steps(0.0));
        assert_eq!(process("steps:10s:1/0/2.5:gamma:3"), steps(3.0));
        for text in [
            "linear",
            "poisson",
            "onoff:100000us:1000000us:poisson",
            "gamma:0.5",
            "steps:10000000us:1/0/2.5",
            "steps:1000us:7:poisson",
            "steps:500us:1/2:gamma:0.5",
        ] {
            assert_eq!(process(text).to_string(), text);
        }
    }

    #[test]
    fn what_is_no_process_is_refused() {
        for wrong in [
            "onoff",
            "onoff:1s",
            "onoff:0:1s",
            "onoff:1s:1s:even",
            "onoff:1s:1s:poisson:1",
            "gamma",
            "gamma:-1",
            "steps",
            "steps:1s",
            "steps:0:1/2",
            "steps:1s:0/0",
            "steps:1s:1/-2",
            "steps:1s:1//2",
            "steps:1s:1/2:even",
            "steps:1s:1/2:gamma",
            "steps:1s:1/2:gamma:200",
        ] {
            refusal(&format!("--name=a --rate_iops=10 --open_loop=1 --rate_process={wrong}"));
        }
        for wrong in ["gamma:nan", "gamma:1000", "linear:1", "poisson:2", "often"] {
            refusal(&format!("--name=a --rate_iops=10 --open_loop=1 --rate_process={wrong}"));
        }
    }
}
