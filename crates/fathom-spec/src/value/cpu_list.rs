//! Lists of CPU numbers.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::number_range::number_range;
use super::{OptionValue, ParseContext, ValueError, parse_whole};
use crate::definition::OptionDef;

/// CPU numbers in ascending order, without duplicates.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CpuList(pub Vec<u32>);

impl fmt::Display for CpuList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpus: Vec<String> = self.0.iter().map(u32::to_string).collect();
        formatter.write_str(&cpus.join(","))
    }
}

fn expected() -> ValueError {
    ValueError::new("CPU numbers and ranges such as 0,2-5")
}

impl OptionValue for CpuList {
    fn unset() -> Self {
        CpuList::default()
    }

    fn assign(
        &mut self,
        text: &str,
        _: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let last = context.source.configured_cpus().saturating_sub(1);
        let mut cpus = Vec::new();
        for part in text.split([',', ':']).map(str::trim).filter(|part| !part.is_empty()) {
            let range = number_range(part).ok_or_else(expected)?;
            if *range.end() > last {
                let first = (*range.start()).max(last.saturating_add(1));
                context.complain(format!("fio: CPU {first} too large (max={last})"));
                return Err(ValueError::new(format!("CPU numbers up to {last}")));
            }
            cpus.extend(range);
        }
        if cpus.is_empty() {
            return Err(expected());
        }
        cpus.sort_unstable();
        cpus.dedup();
        *self = CpuList(cpus);
        Ok(())
    }
}

impl CpuList {
    /// The CPUs whose bits are set.
    pub fn from_mask(mask: u64) -> Self {
        CpuList((0..64).filter(|cpu| mask >> cpu & 1 == 1).collect())
    }
}

/// Refuses the number of a CPU that the machine does not have.
pub(crate) fn check_cpu_number(text: &str, context: &mut ParseContext<'_>) -> Result<(), ValueError> {
    let last = context.source.configured_cpus().saturating_sub(1);
    match parse_whole(text, context.kb_base) {
        Some(whole) if whole.value > i128::from(last) => {
            context.complain(format!("fio: CPU {} too large (max={last})", whole.value));
            Err(ValueError::new(format!("a CPU number up to {last}")))
        }
        _ => Ok(()),
    }
}

/// Refuses masks with CPUs that the machine does not have.
pub(crate) fn check_cpu_mask(text: &str, context: &mut ParseContext<'_>) -> Result<(), ValueError> {
    let last = context.source.configured_cpus().saturating_sub(1);
    let mask = parse_whole(text, context.kb_base).and_then(|whole| u64::try_from(whole.value).ok());
    if mask == Some(0) {
        return Err(ValueError::new("bits for the CPUs that the job may use, at least one"));
    }
    let CpuList(cpus) = CpuList::from_mask(mask.unwrap_or(0));
    match cpus.into_iter().find(|cpu| *cpu > last) {
        None => Ok(()),
        Some(cpu) => {
            context.complain(format!("fio: CPU {cpu} too large (max={last})"));
            Err(ValueError::new(format!("bits for CPU numbers up to {last}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{parse, parse_noting};
    use super::*;

    #[test]
    fn ranges_and_single_cpus_mix() {
        assert_eq!(parse("5,0-2,1"), Ok(CpuList(vec![0, 1, 2, 5])));
        for text in ["", "x", "3-1", "1-", ","] {
            assert!(parse::<CpuList>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn cpus_the_machine_lacks_are_named() {
        let (result, notes) = parse_noting::<CpuList>("70000");
        assert!(result.is_err());
        assert_eq!(notes, ["fio: CPU 70000 too large (max=65535)"]);
    }

    #[test]
    fn masks_are_lists_in_bits() {
        assert_eq!(CpuList::from_mask(0b1011), CpuList(vec![0, 1, 3]));
        let mut context = ParseContext::new(&super::super::NoSource);
        assert!(check_cpu_mask("0xff", &mut context).is_ok());
        assert!(check_cpu_mask("0", &mut context).is_err());
    }

    proptest! {
        #[test]
        fn printing_parses_back(cpus in proptest::collection::btree_set(0u32..65536, 1..20)) {
            let list = CpuList(cpus.into_iter().collect());
            prop_assert_eq!(parse(&list.to_string()), Ok(list));
        }

        #[test]
        fn no_text_panics(text in "[-0-9,x ]*") {
            let _ = parse::<CpuList>(&text);
        }
    }
}
