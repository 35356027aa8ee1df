//! Compares the statistics with those of SciPy and NumPy, which `scripts/set-up.sh` installs for the tests.

use fathom_stats::inference::{difference, effect, median, ranks};
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Figures like those of runs: with and without ties, few and many, with small and large variation.
const RECORDED: [(&str, &[f64], &[f64]); 6] = [
    ("three runs", &[14301.2, 14288.9, 14410.5], &[169488.69, 169391.59, 170012.4]),
    ("close", &[577.4, 576.1, 572.9, 580.3, 569.8], &[579.2, 571.3, 583.6, 576.9, 581.0, 574.4]),
    (
        "latencies",
        &[1074.0, 1029.0, 1106.0, 1139.0, 988.0, 1188.0, 938.0, 1254.0, 881.0],
        &[115.0, 124.0, 109.0, 135.0, 102.0, 147.0, 97.0, 169.0, 90.0, 192.0],
    ),
    ("equal ones", &[24.0, 26.0, 24.0, 29.0, 24.0, 30.0], &[26.0, 26.0, 29.0, 30.0, 36.0, 46.0, 24.0]),
    ("an odd one", &[884.8, 884.4, 885.1, 883.9, 336.9], &[884.9, 884.1, 885.3, 884.0, 885.7]),
    ("one and several", &[417.0], &[350.1, 351.7, 349.4, 352.2]),
];

const SCRIPT: &str = include_str!("scipy/figures.py");

/// Returns SciPy's results for the recorded figures, with one object per pair.
fn figures_of_scipy(python: &PathBuf) -> Vec<Value> {
    let mut child = Command::new(python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", python.display()));
    let pairs: Vec<Value> =
        RECORDED.iter().map(|(_, first, second)| json!({"first": first, "second": second})).collect();
    let mut input = child.stdin.take().expect("piped");
    input.write_all(json!(pairs).to_string().as_bytes()).expect("python reads");
    drop(input);
    let output = child.wait_with_output().expect("python ends");
    assert!(output.status.success(), "python failed");
    serde_json::from_slice(&output.stdout).expect("the script prints JSON")
}

/// Returns our results under the same names; null if they are undefined.
fn figures_of_ours(first: &[f64], second: &[f64]) -> Value {
    let logarithms = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
    let rank = ranks::mann_whitney(first, second);
    let welch = difference::welch(&logarithms(first), &logarithms(second));
    let shift = ranks::shift(first, second);
    let interval = median::interval(second);
    json!({
        "median": median::median(second),
        "quantile": median::quantile(second, 0.9),
        "interval_low": interval.map(|interval| interval.low),
        "interval_high": interval.map(|interval| interval.high),
        "u": rank.map(|rank| rank.u),
        "u_p": rank.map(|rank| rank.p_value),
        "welch": welch.map(|welch| welch.value),
        "welch_p": welch.map(|welch| welch.p_value),
        "welch_low": welch.map(|welch| welch.interval.low),
        "welch_high": welch.map(|welch| welch.interval.high),
        "shift": shift.map(|shift| shift.value),
        "hedges": effect::hedges_g(first, second),
        "cliff": effect::cliffs_delta(first, second),
    })
}

#[test]
fn figures_are_those_of_scipy() {
    let python = std::env::var_os("FATHOM_TEST_SCIPY").map(|bin| PathBuf::from(bin).join("python3"));
    let Some(python) = python.filter(|python| python.exists()) else {
        let reason = "NumPy and SciPy are not installed (scripts/set-up.sh does it)";
        return fathom_skip::record(reason);
    };
    let theirs = figures_of_scipy(&python);
    assert_eq!(theirs.len(), RECORDED.len());
    for ((name, first, second), theirs) in RECORDED.iter().zip(theirs) {
        let ours = figures_of_ours(first, second);
        for (figure, theirs) in theirs.as_object().expect("an object") {
            let ours = &ours[figure];
            match (ours.as_f64(), theirs.as_f64()) {
                (Some(own), Some(their)) => {
                    let slack = 1e-9 * their.abs().max(1e-3);
                    assert!((own - their).abs() <= slack, "{name}: {figure}: {own}, SciPy has {their}");
                }
                (own, their) => assert_eq!(own, their, "{name}: {figure}"),
            }
        }
    }
}
