//! Run code reads plans, not options, and plans do not depend on the run.

use crate::tree::{File, Tree};

/// The crate that plans and runs.
const RUN: &str = "crates/fathom-run/src/";

/// The directory of the plan as data.
const MODEL: &str = "crates/fathom-run/src/plan/model/";

/// Words by which code accesses options.
const WORDS: [&str; 3] = ["JobSpec", "is_set(", "job_of("];

/// The files that may use some of these words, by path prefix below [`RUN`].
const MAY_READ: [(&str, &[&str]); 6] = [
    // The builders turn options into plans.
    ("plan/build/", &WORDS),
    // Engines and storages have private options, and a plan holds the jobs for them.
    ("plan/model/mod.rs", &["JobSpec", "job_of("]),
    ("engine.rs", &["JobSpec"]),
    ("storage/mod.rs", &["JobSpec"]),
    ("worker/setup.rs", &["job_of("]),
    ("worker/files.rs", &["job_of("]),
];

/// Parts of the same crate that the model may use.
const BELOW_MODEL: [&str; 2] = ["crate::random", "crate::plan::model"];

/// Places that read options instead of a plan, and parts of the model that depend on the run.
pub(crate) fn check(tree: &Tree) -> Vec<String> {
    tree.files.iter().filter(|file| file.has_extension("rs")).flat_map(broken_in).collect()
}

fn broken_in(file: &File) -> Vec<String> {
    let name = file.name();
    let Some(own) = name.strip_prefix(RUN) else { return Vec::new() };
    let is_model = name.starts_with(MODEL);
    let may = |word: &str| {
        MAY_READ.iter().any(|(place, allowed)| own.starts_with(place) && allowed.contains(&word))
    };
    let mut broken = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        let place = format!("{name}:{}", number + 1);
        for word in WORDS.iter().filter(|word| line.contains(**word) && !may(word)) {
            broken.push(format!(
                "{place}: `{word}` reads options; add to the plan what is needed (plan/build)"
            ));
        }
        if is_model && line.contains("crate::") && !BELOW_MODEL.iter().any(|below| line.contains(below)) {
            broken.push(format!("{place}: the model of the plan depends on nothing of the run"));
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_builders_read_options() {
        let tree = Tree::of(&[
            (
                "crates/fathom-run/src/plan/build/pace.rs",
                "fn pace(job: &JobSpec) {\n    job.is_set(\"rate\");\n}\n",
            ),
            ("crates/fathom-run/src/supervisor/live.rs", "let job = plan.job_of(worker);\n"),
            ("crates/fathom-run/src/worker/pace.rs", "use x;\nfn of(job: &JobSpec) {}\n"),
            ("crates/fathom-run/src/worker/setup.rs", "plan.job_of(worker);\njob.is_set(\"rate\");\n"),
            ("crates/fathom-spec/src/spec.rs", "pub struct JobSpec;\n"),
        ]);
        let places: Vec<String> =
            check(&tree).iter().filter_map(|text| Some(text.split_once(": ")?.0.to_owned())).collect();
        assert_eq!(
            places,
            [
                "crates/fathom-run/src/supervisor/live.rs:1",
                "crates/fathom-run/src/worker/pace.rs:2",
                "crates/fathom-run/src/worker/setup.rs:2"
            ]
        );
    }

    #[test]
    fn the_model_depends_on_nothing_of_the_run() {
        let text = "use crate::random::Seeds;\nuse crate::unit::Unit;\n";
        let tree = Tree::of(&[("crates/fathom-run/src/plan/model/pace.rs", text)]);
        assert_eq!(
            check(&tree),
            [
                "crates/fathom-run/src/plan/model/pace.rs:2: the model of the plan depends on nothing of the run"
            ]
        );
    }
}
