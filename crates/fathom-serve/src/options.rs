//! The options that the editor knows: names, values and help, from their declarations.

use fathom_spec::definition::{Kind, OptionDef, Status};
use fathom_spec::{engines, registry};
use serde_json::{Value, json};

/// Returns all options as one document.
pub(crate) fn document() -> String {
    let private = engines::ALL.iter().filter(|engine| engine.built).flat_map(|engine| engine.options);
    let options = registry::job_options()
        .chain(private)
        .filter(|option| {
            option.kind != Kind::Deprecated && option.status == Status::Built && !option.unlisted
        })
        .map(of_option);
    json!({ "options": options.collect::<Vec<Value>>() }).to_string()
}

fn of_option(option: &OptionDef) -> Value {
    let values: Vec<Value> = match option.kind {
        _ if option.name == "ioengine" => {
            let built = engines::ALL.iter().filter(|engine| engine.built);
            built.map(|engine| json!([engine.name, engine.summary])).collect()
        }
        Kind::Bool => vec![json!(["0", "no"]), json!(["1", "yes"])],
        _ => option.choices.iter().map(|choice| json!([choice.name, choice.help])).collect(),
    };
    json!({
        "name": option.name,
        "aliases": option.aliases,
        "kind": option.kind.description(),
        "needs_value": option.needs_value(),
        "default": option.default,
        "category": option.category.title(),
        "engine": option.engine,
        "summary": option.summary(),
        "details": option.details(),
        "values": values,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn options_come_with_help_and_values() {
        let document: serde_json::Value = serde_json::from_str(&super::document()).expect("JSON");
        let options = document["options"].as_array().expect("options");
        let find = |name: &str| options.iter().find(|option| option["name"] == name).expect("the option");
        assert!(
            find("rw")["values"]
                .as_array()
                .is_some_and(|values| values.iter().any(|one| one[0] == "randread"))
        );
        assert!(
            find("ioengine")["values"]
                .as_array()
                .is_some_and(|values| values.iter().any(|one| one[0] == "io_uring"))
        );
        assert!(options.iter().all(|option| option["summary"].as_str().is_some_and(|text| !text.is_empty())));
    }
}
