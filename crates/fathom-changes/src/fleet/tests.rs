//! Made fleets, whose slow drives are known.

use super::*;
use fathom_stats::split_mix::split_mix;

struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        ((split_mix(&mut self.0) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Student's t with three or more degrees of freedom.
    fn student(&mut self, degrees: u32) -> f64 {
        let squares: f64 = (0..degrees).map(|_| self.normal().powi(2)).sum();
        self.normal() / (squares / f64::from(degrees)).sqrt()
    }
}

/// What a fleet is made of.
#[derive(Clone, Copy, Debug)]
struct Made {
    drives: usize,
    bad: usize,
    /// How much slower bad drives are, in deviations between healthy ones.
    slower: f64,
    /// Degrees of freedom of the healthy drives; 0: normal.
    tail: u32,
}

/// Makes a fleet: two figures that vary together, one to four runs, drives apart by 3 % and runs by 2 %.
fn fleet(made: Made, seed: u64) -> Vec<Sample> {
    let mut random = Random(seed);
    let mut samples = Vec::new();
    for drive in 0..made.drives {
        let slower = if drive < made.bad { made.slower } else { 0.0 };
        let own = if made.tail == 0 { random.normal() } else { random.student(made.tail) };
        for (figure, worse, sign) in [("iops", Worse::Down, -1.0), ("p99", Worse::Up, 1.0)] {
            let level = 0.03 * (0.8 * own + 0.6 * random.normal() + slower);
            let runs = 1 + (random.uniform() * 4.0) as usize;
            let values = (0..runs).map(|_| 500.0 * (sign * level + 0.02 * random.normal()).exp()).collect();
            let (group, figure) = ("model X".to_owned(), figure.to_owned());
            samples.push(Sample { drive: format!("{drive:04}"), group, figure, worse, values });
        }
    }
    samples
}

/// Mean share of healthy drives among those found, and share of the bad ones that are found.
fn measured(made: Made, fleets: u64) -> (f64, f64) {
    let limits = Limits { smallest: 0.0, ..Limits::default() };
    let (mut false_share, mut found) = (0.0, 0.0);
    for seed in 0..fleets {
        let outliers = judge(&fleet(made, seed * 77 + 5), &limits).outliers;
        let is_bad = |outlier: &&Outlier| outlier.drive.parse::<usize>().expect("a number") < made.bad;
        let right = outliers.iter().filter(is_bad).count() as f64;
        false_share += (outliers.len() as f64 - right) / outliers.len().max(1) as f64;
        found += right / made.bad.max(1) as f64;
    }
    (false_share / fleets as f64, found / fleets as f64)
}

#[test]
fn false_discoveries_are_as_rare_as_promised() {
    for bad in [0, 5, 20, 50] {
        let made = Made { drives: 1_000, bad, slower: 8.0, tail: 0 };
        let (false_share, power) = measured(made, 40);
        println!("{made:?}: false discoveries {false_share:.3}, power {power:.3}");
        assert!(false_share <= 0.05, "{made:?}: {false_share}");
        assert!(bad == 0 || power > 0.98, "{made:?}: {power}");
    }
}

#[test]
fn heavy_tails_are_no_slow_drives() {
    for (tail, bad) in [(5, 0), (5, 20), (3, 0), (3, 20)] {
        let made = Made { drives: 1_000, bad, slower: 8.0, tail };
        let (false_share, power) = measured(made, 20);
        println!("{made:?}: false discoveries {false_share:.3}, power {power:.3}");
        assert!(false_share <= 0.15, "{made:?}: {false_share}");
    }
}

#[test]
fn power_grows_with_the_distance() {
    for (drives, slower, least) in [(1_000, 5.0, 0.5), (1_000, 6.0, 0.8), (100, 6.0, 0.7), (24, 8.0, 0.7)] {
        let made = Made { drives, bad: drives / 50 + 1, slower, tail: 0 };
        let (false_share, power) = measured(made, 20_000 / drives as u64);
        println!("{made:?}: false discoveries {false_share:.3}, power {power:.3}");
        assert!(false_share <= 0.07 && power > least, "{made:?}: {false_share} {power}");
    }
}

#[test]
fn the_worst_drive_is_first_with_its_figure_and_effect() {
    let mut samples = fleet(Made { drives: 60, bad: 0, slower: 0.0, tail: 0 }, 9);
    let mut slow = |drive: &str, by: f64| {
        let of_drive = samples.iter_mut().filter(|sample| sample.drive == drive && sample.figure == "iops");
        of_drive.for_each(|sample| sample.values.iter_mut().for_each(|value| *value *= by));
    };
    slow("0007", 0.8);
    slow("0042", 0.62);
    let found = judge(&samples, &Limits::default());
    let drives: Vec<&str> = found.outliers.iter().map(|outlier| outlier.drive.as_str()).collect();
    assert_eq!((drives, found.judged), (vec!["0042", "0007"], 60));
    let worst = &found.outliers[0];
    assert_eq!(worst.figure, "iops");
    assert!((worst.relative + 0.38).abs() < 0.06 && worst.q_value < 0.001, "{worst:?}");
    assert!(worst.interval.is_some_and(|interval| interval.contains(worst.relative)), "{worst:?}");
}

#[test]
fn few_siblings_are_listed_and_not_judged() {
    let samples = fleet(Made { drives: FEWEST_SIBLINGS - 1, bad: 1, slower: 50.0, tail: 0 }, 3);
    let found = judge(&samples, &Limits::default());
    assert_eq!((found.outliers.len(), found.judged, found.siblings.len()), (0, 0, 2));
    assert!(found.siblings.iter().all(|siblings| siblings.spread.is_none()));
    assert_eq!(judge(&[], &Limits::default()), Fleet::default());
}

#[test]
fn groups_are_compared_with_themselves_and_fast_drives_are_none() {
    let mut samples = fleet(Made { drives: 40, bad: 0, slower: 0.0, tail: 0 }, 4);
    let mut others = samples.clone();
    for sample in &mut others {
        sample.group = "model Y".to_owned();
        sample.values.iter_mut().for_each(|value| *value *= 3.0);
    }
    samples.extend(others);
    samples[0].values = vec![5_000.0; 3];
    samples[1].values = vec![f64::NAN, 0.0, -1.0];
    assert_eq!(judge(&samples, &Limits::default()).outliers, []);
}
