//! Conditions on runs: `NAME=VALUE`, where the name is one of the names below or a tag.

use crate::Error;
use crate::value::Value;
use std::collections::BTreeMap;

/// Properties of runs, and the SQL that selects the runs that have the value `{}`.
const PROPERTIES: [(&str, &str); 11] = [
    (
        "host",
        "run.id IN (SELECT run_id FROM run_host WHERE host_id IN (SELECT id FROM host WHERE name = {}))",
    ),
    (
        "kernel",
        "run.id IN (SELECT run_id FROM run_host WHERE host_id IN (SELECT id FROM host WHERE kernel = {}))",
    ),
    (
        "device",
        "run.id IN (SELECT run_id FROM run_device WHERE device_id IN (SELECT id FROM device WHERE name = {}))",
    ),
    (
        "model",
        "run.id IN (SELECT run_id FROM run_device WHERE device_id IN (SELECT id FROM device WHERE model = {}))",
    ),
    (
        "firmware",
        "run.id IN (SELECT run_id FROM run_device WHERE device_id IN (SELECT id FROM device WHERE firmware = {}))",
    ),
    (
        "serial",
        "run.id IN (SELECT run_id FROM run_device WHERE device_id IN (SELECT id FROM device WHERE serial = {}))",
    ),
    ("file_system", "run.id IN (SELECT run_id FROM run_file_system WHERE kind = {})"),
    ("job", "run.id IN (SELECT run_id FROM job WHERE name = {})"),
    ("verdict", "run.verdict = {}"),
    ("program", "run.program = {}"),
    (
        "fingerprint",
        "(run.fingerprint = {} OR run.id IN (SELECT run_id FROM job JOIN workload ON workload.id = workload_id WHERE workload.fingerprint = {}))",
    ),
];

const TAG: &str = "run.id IN (SELECT run_id FROM tag WHERE name = {} AND value = {})";

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    name: String,
    value: String,
}

impl Condition {
    /// Parses `NAME=VALUE`. `tag.NAME=VALUE` is a tag even if a property has the name.
    pub fn parse(text: &str) -> Result<Condition, Error> {
        match text.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                Ok(Condition { name: name.trim().to_owned(), value: value.to_owned() })
            }
            _ => {
                let known: Vec<&str> = PROPERTIES.iter().map(|(name, _)| *name).collect();
                Err(Error::Condition {
                    text: text.to_owned(),
                    why: format!("expected NAME=VALUE; names are {}, and those of tags", known.join(", ")),
                })
            }
        }
    }

    /// False if the condition names what a job was on, and the job with these attributes was on another one.
    pub(crate) fn allows(&self, attributes: &BTreeMap<String, String>) -> bool {
        let is_of_several = self.name == "host" && attributes.contains_key("hosts");
        !is_of_several && attributes.get(&self.name).is_none_or(|found| *found == self.value)
    }

    /// True if a property of runs has this name, so that a tag of the name needs `tag.` before it.
    pub fn is_property(name: &str) -> bool {
        PROPERTIES.iter().any(|(own, _)| *own == name)
    }
}

/// The condition of a WHERE clause, whose values are appended to `values`.
pub(crate) fn sql(conditions: &[Condition], values: &mut Vec<Value>) -> String {
    let mut add = |text: &String| {
        values.push(text.into());
        format!("${}", values.len())
    };
    let all: Vec<String> = conditions
        .iter()
        .map(|condition| {
            let property = PROPERTIES.iter().find(|(name, _)| *name == condition.name);
            match property {
                Some((_, sql)) => sql.replace("{}", &add(&condition.value)),
                None => {
                    let name = condition.name.strip_prefix("tag.").unwrap_or(&condition.name).to_owned();
                    TAG.replacen("{}", &add(&name), 1).replacen("{}", &add(&condition.value), 1)
                }
            }
        })
        .collect();
    match all.is_empty() {
        true => "1 = 1".to_owned(),
        false => all.join(" AND "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_parameters() {
        let conditions = ["host=a'; DROP TABLE run; --", "tag.host=b", "color=c=d"];
        let conditions: Vec<Condition> =
            conditions.iter().map(|text| Condition::parse(text).expect("parses")).collect();
        let mut values = Vec::new();
        let sql = sql(&conditions, &mut values);
        assert!(!sql.contains("DROP") && sql.contains("FROM host WHERE name = $1)"), "{sql}");
        assert!(
            sql.contains("name = $2 AND value = $3") && sql.contains("name = $4 AND value = $5"),
            "{sql}"
        );
        assert_eq!(values.len(), 5);
        assert_eq!(values[4], Value::from("c=d"));
        assert!(Condition::parse("nothing").is_err() && Condition::parse("=x").is_err());
    }
}
