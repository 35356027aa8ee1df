//! The answer of a comparison in one sentence: what is slower, what is faster, and what these results cannot show.

use super::change;
use super::matching::{Matched, Pair};
use crate::measures::{Comparison, ComparisonVerdict, Figure};

/// Maximum number of jobs that are named, and of figures of a single job; more are counted instead.
const MOST_NAMED: usize = 3;

/// How B compares with A in the figures of a job and a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Slower,
    Faster,
    /// Slower in some figures, faster in others.
    Mixed,
    /// No figure differs beyond chance.
    Same,
    /// The measurements of one side vary too much for an answer.
    Scattered,
    /// The figures do not support an answer.
    Unknown,
    /// The figures of one side are wrong.
    Refused,
}

/// The complete answer.
pub(super) fn sentence(matched: &Matched) -> String {
    let judged: Vec<(&Pair, Standing)> = matched
        .pairs
        .iter()
        .filter(|pair| figures(pair).next().is_some())
        .map(|pair| (pair, standing(pair)))
        .collect();
    match judged.as_slice() {
        [] => "No answer: only the CPU time of these results can be compared.".to_owned(),
        [(pair, standing)] => of_one(pair, *standing),
        several => of_several(several),
    }
}

/// The figures on which the answer is based. CPU time is left out, because it is a cost, not a speed.
fn figures(pair: &Pair) -> impl Iterator<Item = &Comparison> {
    pair.comparisons.iter().filter(|comparison| comparison.figure != Figure::ProcessorTime)
}

fn standing(pair: &Pair) -> Standing {
    let has = |wanted: ComparisonVerdict| figures(pair).any(|comparison| comparison.verdict() == wanted);
    match (has(ComparisonVerdict::Worse), has(ComparisonVerdict::Better)) {
        (true, true) => Standing::Mixed,
        (true, false) => Standing::Slower,
        (false, true) => Standing::Faster,
        (false, false) if has(ComparisonVerdict::Refused) => Standing::Refused,
        (false, false)
            if has(ComparisonVerdict::NotDistinguishable) || has(ComparisonVerdict::Unresolved) =>
        {
            Standing::Same
        }
        (false, false) if has(ComparisonVerdict::Scattered) => Standing::Scattered,
        (false, false) => Standing::Unknown,
    }
}

/// The changes beyond chance, such as `bandwidth -12.0 %, p99 +30.1 %`. Changes of IOPS are listed only if the
/// bandwidth has not changed.
fn changes(pair: &Pair, most: usize) -> String {
    let is_real = |comparison: &&Comparison| {
        matches!(comparison.verdict(), ComparisonVerdict::Worse | ComparisonVerdict::Better)
    };
    let real: Vec<&Comparison> = figures(pair).filter(is_real).collect();
    let has_bandwidth = real.iter().any(|comparison| comparison.figure == Figure::Bandwidth);
    let told = real.iter().filter(|comparison| !has_bandwidth || comparison.figure != Figure::Iops);
    let told = told.take(most).map(|comparison| {
        format!("{} {}", comparison.figure.heading(), change::plain_in_percent(comparison))
    });
    told.collect::<Vec<String>>().join(", ")
}

fn of_one(pair: &Pair, standing: Standing) -> String {
    let (title, changes) = (pair.title(), changes(pair, MOST_NAMED));
    match standing {
        Standing::Slower => format!("B is slower than A ({title}): {changes}."),
        Standing::Faster => format!("B is faster than A ({title}): {changes}."),
        Standing::Mixed => {
            format!("B is faster than A in some figures, slower in others ({title}): {changes}.")
        }
        Standing::Same => format!("No difference between A and B beyond chance ({title})."),
        Standing::Scattered => {
            format!("No answer: the measurements of a side scatter too much ({title}).")
        }
        Standing::Unknown => {
            format!(
                "No answer: too little data to tell a difference from chance ({title}); repeat the runs, or make them longer."
            )
        }
        Standing::Refused => format!("No answer: the figures of a side are wrong ({title})."),
    }
}

fn of_several(judged: &[(&Pair, Standing)]) -> String {
    let of = |wanted: Standing| -> Vec<&Pair> {
        judged.iter().filter(|(_, standing)| *standing == wanted).map(|(pair, _)| *pair).collect()
    };
    let all = judged.len();
    let real = [
        (Standing::Slower, "slower than A"),
        (Standing::Faster, "faster than A"),
        (Standing::Mixed, "faster than A in some figures and slower in others"),
    ];
    let mut parts: Vec<String> = real
        .iter()
        .filter_map(|(standing, words)| {
            let own = of(*standing);
            (!own.is_empty()).then(|| format!("B is {words} in {} of {all}: {}", own.len(), named(&own)))
        })
        .collect();
    let rest = [
        (Standing::Same, "no difference beyond chance"),
        (Standing::Scattered, "no answer, because the measurements of a side scatter too much,"),
        (Standing::Unknown, "no answer, because of too little data,"),
        (Standing::Refused, "no answer, because the figures of a side are wrong,"),
    ];
    parts.extend(rest.iter().filter_map(|(standing, words)| {
        let count = of(*standing).len();
        (count > 0).then(|| match count == all {
            true => format!("{words} in any of {all}"),
            false => format!("{words} in {count} of {all}"),
        })
    }));
    let text = parts.join("; ");
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

fn named(pairs: &[&Pair]) -> String {
    let each = pairs.iter().take(MOST_NAMED).map(|pair| format!("{} ({})", pair.title(), changes(pair, 1)));
    let more = pairs.len().saturating_sub(MOST_NAMED);
    let rest = (more > 0).then(|| format!("and {more} more"));
    each.chain(rest).collect::<Vec<String>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::comparison::{Sample, compare};

    fn pair(job: &str, figures: &[(Figure, &[f64], &[f64])]) -> Pair {
        let samples = |values: &[f64]| values.iter().map(|&value| Sample::of(value)).collect::<Vec<Sample>>();
        let comparisons = figures
            .iter()
            .map(|(figure, a, b)| compare(*figure, &samples(a), &samples(b)).expect("values"))
            .collect();
        Pair {
            job: job.to_owned(),
            name: job.to_owned(),
            direction: Some("read"),
            comparisons,
            histograms: None,
            max_ns: [0.0; 2],
            supposes_independence: false,
        }
    }

    const STEADY: &[f64] = &[1000.0, 1010.0, 990.0];
    const LESS: &[f64] = &[800.0, 810.0, 790.0];

    fn told(pairs: Vec<Pair>) -> String {
        sentence(&Matched { pairs, ..Matched::default() })
    }

    #[test]
    fn one_job_is_answered_with_its_figures() {
        let both = &[(Figure::Bandwidth, STEADY, LESS), (Figure::Iops, STEADY, LESS)][..];
        assert_eq!(told(vec![pair("a", both)]), "B is slower than A (a, read): bandwidth -20.0 %.");
        let mixed = &[(Figure::Bandwidth, LESS, STEADY), (Figure::LatencyMean, LESS, STEADY)][..];
        let words = "B is faster than A in some figures, slower in others (a, read): bandwidth +25.0 %, mean lat +25.0 %.";
        assert_eq!(told(vec![pair("a", mixed)]), words);
        let same = &[(Figure::Iops, STEADY, STEADY), (Figure::ProcessorTime, STEADY, LESS)][..];
        assert_eq!(told(vec![pair("a", same)]), "No difference between A and B beyond chance (a, read).");
        let one = &[(Figure::Iops, &STEADY[..1], &LESS[..1])][..];
        assert!(told(vec![pair("a", one)]).starts_with("No answer: too little data"));
        let wild = &[(Figure::Iops, &[1.0, 500.0, 3.0][..], &[2.0, 900.0, 4.0][..])][..];
        assert!(
            told(vec![pair("a", wild)]).starts_with("No answer: the measurements of a side scatter too much")
        );
    }

    #[test]
    fn several_jobs_are_counted_and_the_first_are_named() {
        let slow = |job: &str| pair(job, &[(Figure::Iops, STEADY, LESS)]);
        let same = |job: &str| pair(job, &[(Figure::Iops, STEADY, STEADY)]);
        let text = told(vec![slow("a"), slow("b"), slow("c"), slow("d"), same("e")]);
        let words = "B is slower than A in 4 of 5: a, read (IOPS -20.0 %), b, read (IOPS -20.0 %), c, read (IOPS -20.0 %), \
                     and 1 more; no difference beyond chance in 1 of 5.";
        assert_eq!(text, words);
        assert_eq!(told(vec![same("a"), same("b")]), "No difference beyond chance in any of 2.");
        let one = |job: &str| pair(job, &[(Figure::Iops, &STEADY[..1], &LESS[..1])]);
        assert_eq!(told(vec![one("a"), one("b")]), "No answer, because of too little data, in any of 2.");
    }
}
