//! Options of engines outside this crate. They are declared as data, and a job stores their values by name.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::definition::{Groups, Kind, OptionDef, Status, group, group_mut};
use crate::value::{OptionValue, ParseContext, ValueError, default_value, no_such_choice};

/// A value of such an option.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Value {
    /// Of [`Kind::Int`].
    Number(i64),
    /// Of [`Kind::Size`].
    Bytes(u64),
    /// Of [`Kind::Bool`] and [`Kind::Flag`].
    Switch(bool),
    /// Of [`Kind::Time`].
    Time(Duration),
    /// A value of any other kind: a word, or text that the engine parses itself.
    Text(String),
}

/// Values that a job sets for options of outside engines. Options without a value have their defaults.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OutsideOptions(BTreeMap<String, Value>);

impl OutsideOptions {
    /// The value of an option of [`Kind::Int`]; 0 if it has no default.
    pub fn number(&self, option: &OptionDef) -> i64 {
        match self.0.get(option.name) {
            Some(Value::Number(number)) => *number,
            _ => default_value(option),
        }
    }

    /// The value of an option of [`Kind::Size`]; 0 if it has no default.
    pub fn bytes(&self, option: &OptionDef) -> u64 {
        match self.0.get(option.name) {
            Some(Value::Bytes(bytes)) => *bytes,
            _ => default_value(option),
        }
    }

    /// The value of an option of [`Kind::Bool`] or [`Kind::Flag`]; off if it has no default.
    pub fn switch(&self, option: &OptionDef) -> bool {
        match self.0.get(option.name) {
            Some(Value::Switch(is_on)) => *is_on,
            _ => default_value(option),
        }
    }

    /// The value of an option of [`Kind::Time`]; zero if it has no default.
    pub fn time(&self, option: &OptionDef) -> Duration {
        match self.0.get(option.name) {
            Some(Value::Time(time)) => *time,
            _ => default_value(option),
        }
    }

    /// The value of any other option; empty if it has no default.
    pub fn text<'a>(&'a self, option: &'a OptionDef) -> &'a str {
        match self.0.get(option.name) {
            Some(Value::Text(text)) => text,
            _ => option.default.unwrap_or(""),
        }
    }
}

impl OptionDef {
    /// An option of an outside engine. Default, bounds, words and unit are fields to fill in; they work as for
    /// all other options.
    pub const fn of_engine(engine: &'static str, name: &'static str, kind: Kind, help: &'static str) -> Self {
        OptionDef {
            name,
            engine,
            kind,
            help,
            status: Status::Built,
            set,
            is_default: |job, option| !group::<OutsideOptions>(job).0.contains_key(option.name),
            ..OptionDef::BLANK
        }
    }
}

fn set(
    job: &mut dyn Groups,
    text: &str,
    option: &OptionDef,
    context: &mut ParseContext<'_>,
) -> Result<(), ValueError> {
    let value = match option.kind {
        Kind::Int => Value::Number(read(text, option, context)?),
        Kind::Size => Value::Bytes(read(text, option, context)?),
        Kind::Bool | Kind::Flag => Value::Switch(read(text, option, context)?),
        Kind::Time => Value::Time(read(text, option, context)?),
        Kind::Choice if !option.choices.iter().any(|choice| choice.name == text) => {
            return Err(no_such_choice(option, text, context));
        }
        _ => Value::Text(text.to_owned()),
    };
    group_mut::<OutsideOptions>(job).0.insert(option.name.to_owned(), value);
    Ok(())
}

fn read<T: OptionValue>(
    text: &str,
    option: &OptionDef,
    context: &mut ParseContext<'_>,
) -> Result<T, ValueError> {
    let mut value = T::unset();
    value.assign(text, option, context)?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{Bounds, Choice};
    use crate::engines::{self, EngineDef};
    use crate::spec::JobSpec;
    use crate::testing::MemorySource;
    use crate::value::TimeUnit;
    use crate::{Outcome, Rejected, Review, parse};

    const WINDOW: OptionDef = OptionDef {
        default: Some("4"),
        bounds: Bounds::between(1.0, 64.0),
        ..OptionDef::of_engine("tape", "tape_window", Kind::Int, "Blocks that one command moves")
    };
    const STRIPE: OptionDef = OptionDef::of_engine("tape", "tape_stripe", Kind::Size, "Bytes of a stripe");
    const REWIND: OptionDef = OptionDef::of_engine("tape", "tape_rewind", Kind::Flag, "Rewind at the end");
    const PATIENCE: OptionDef = OptionDef {
        unit: TimeUnit::Milliseconds,
        ..OptionDef::of_engine("tape", "tape_patience", Kind::Time, "Longest wait for the drive")
    };
    const SPEED: OptionDef = OptionDef {
        default: Some("slow"),
        choices: &[Choice { name: "slow", help: "Quietly" }, Choice { name: "fast", help: "At full speed" }],
        ..OptionDef::of_engine("tape", "tape_speed", Kind::Choice, "Speed of the drive")
    };
    static TAPE: EngineDef = EngineDef::new("tape", "a suitable drive")
        .built()
        .synchronous()
        .with_options(&[WINDOW, STRIPE, REWIND, PATIENCE, SPEED])
        .with_rules(&[check_stripe]);

    fn check_stripe(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
        match job.private.outside.bytes(&STRIPE) % 512 {
            0 => Ok(()),
            _ => Err(review.refuse_in_our_words(&job.origin, format!("job {}: half a sector", job.name))),
        }
    }

    fn outcome(words: &str) -> Outcome {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let mut source = MemorySource::with_file("a.fio", "[a]\ntape_window=8\nioengine=tape\nsize=1m\n");
        source.engines = [engines::ALL, &[&TAPE]].concat();
        parse("fathom", &words, &source)
    }

    fn job(words: &str) -> JobSpec {
        match outcome(words) {
            Outcome::Run(mut run) => run.jobs.remove(0),
            other => panic!("{words}: {other:?}"),
        }
    }

    fn lines(words: &str) -> Vec<String> {
        match outcome(words) {
            Outcome::Exit(reply) => reply.messages.into_iter().map(|message| message.text).collect(),
            other => panic!("{words}: {other:?}"),
        }
    }

    #[test]
    fn values_are_typed_and_have_defaults() {
        let options = job("--name=a --ioengine=tape --size=1m").private.outside;
        assert_eq!((options.number(&WINDOW), options.bytes(&STRIPE), options.switch(&REWIND)), (4, 0, false));
        assert_eq!((options.time(&PATIENCE), options.text(&SPEED)), (Duration::ZERO, "slow"));
        let given =
            job("--name=a --ioengine=tape --size=1m --tape_window=9 --tape_stripe=64k --tape_rewind \
                         --tape_patience=7 --tape_speed=fast");
        let options = &given.private.outside;
        assert_eq!(
            (options.number(&WINDOW), options.bytes(&STRIPE), options.switch(&REWIND)),
            (9, 65536, true)
        );
        assert_eq!((options.time(&PATIENCE), options.text(&SPEED)), (Duration::from_millis(7), "fast"));
        assert!(given.is_set("tape_window"));
        let sent: JobSpec = serde_json::from_str(&serde_json::to_string(&given).unwrap()).unwrap();
        assert_eq!(sent, given);
    }

    #[test]
    fn they_may_come_before_their_engine_in_a_job_file_and_be_abbreviated() {
        assert_eq!(job("a.fio").private.outside.number(&WINDOW), 8);
        assert_eq!(job("--name=a --ioengine=tape --size=1m --tape_w=9").private.outside.number(&WINDOW), 9);
        assert_eq!(
            job("--ioengine=tape --tape_window=5 --name=a --size=1m").private.outside.number(&WINDOW),
            5
        );
    }

    #[test]
    fn what_they_are_declared_to_be_is_checked() {
        let lines_of = |option: &str| lines(&format!("--name=a --ioengine=tape {option}")).join("\n");
        assert!(lines_of("--tape_window=65").contains("tape_window: max value out of range: 65 (64 max)"));
        let refused = lines_of("--tape_speed=fats");
        assert!(refused.contains("did you mean fast?") && refused.contains("At full speed"), "{refused}");
        assert!(lines_of("--tape_stripe=1000").contains("job a: half a sector"));
        assert!(lines_of("--tape_patience=soon").contains("fio: failed parsing tape_patience=soon"));
    }

    #[test]
    fn they_belong_to_their_engine() {
        let refused = lines("--name=a --tape_window=4").join("\n");
        assert!(
            refused.contains("only jobs with ioengine tape have this option, this one uses psync"),
            "{refused}"
        );
        assert!(lines("--enghelp").join("\n").contains("\n\ttape"));
        assert!(lines("--enghelp=tape").join("\n").contains("tape_stripe             : Bytes of a stripe"));
        assert!(lines("--enghelp=tape,tape_window").join("\n").contains("range: min=1, max=64"));
        assert!(lines("--name=a --ioengine=tapes").join("\n").contains("did you mean tape?"));
        assert_eq!(job("--name=a --ioengine=tape --iodepth=8 --size=1m").depth.iodepth, 1);
    }
}
