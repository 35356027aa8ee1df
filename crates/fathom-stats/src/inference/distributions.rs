//! Distributions for tests and intervals.

use std::f64::consts::PI;

/// Number of steps of a bisection, which suffices for every bit of a number.
const HALVINGS: u32 = 200;

/// Computes the logarithm of the gamma function for x > 0. Source: C. Lanczos, "A precision approximation of
/// the gamma function", SIAM J. Numer. Anal. B 1 (1964), with g = 7 and nine terms; relative error about 1e-15.
pub(crate) fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return (PI / (PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let base = x + 7.5;
    let sum: f64 = TERMS[0]
        + TERMS.iter().enumerate().skip(1).map(|(index, term)| term / (x + index as f64)).sum::<f64>();
    0.5 * (2.0 * PI).ln() + (x + 0.5) * base.ln() - base + sum.ln()
}

/// Computes the regularized incomplete beta function of `x`. `rest` is 1 - x with the digits that a subtraction
/// would lose. Source: NIST Digital Library of Mathematical Functions, 8.17.22 (a continued fraction),
/// evaluated by Lentz's method.
fn incomplete_beta(a: f64, b: f64, x: f64, rest: f64) -> f64 {
    if x <= 0.0 || rest <= 0.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast below this point; above it, the complement is computed.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, rest, x);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * rest.ln()).exp() / a;
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut fraction, mut c, mut d) = (1.0, 1.0, 0.0);
    for step in 0..10_000 {
        let m = f64::from(step / 2);
        let term = match step {
            0 => 1.0,
            _ if step % 2 == 0 => m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            _ => -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        };
        d = 1.0 / away_from_zero(1.0 + term * d);
        c = away_from_zero(1.0 + term / c);
        let change = c * d;
        fraction *= change;
        if (change - 1.0).abs() < 1e-16 {
            break;
        }
    }
    (front * (fraction - 1.0)).clamp(0.0, 1.0)
}

/// Computes the cumulative distribution function of Student's t.
pub fn student_cdf(t: f64, degrees: f64) -> f64 {
    let square = t * t;
    let whole = degrees + square;
    let tail = 0.5 * incomplete_beta(degrees / 2.0, 0.5, degrees / whole, square / whole);
    if t < 0.0 { tail } else { 1.0 - tail }
}

/// Computes the quantile function of Student's t.
pub fn student_quantile(share: f64, degrees: f64) -> f64 {
    if share < 0.5 {
        return -student_quantile(1.0 - share, degrees);
    }
    by_halves(|t| student_cdf(t, degrees) < share)
}

/// Computes the cumulative distribution function of the standard normal distribution. Source: G. Marsaglia,
/// "Evaluating the normal distribution", Journal of Statistical Software 11 (2004); the tails by the continued
/// fraction DLMF 7.9.2.
pub fn normal_cdf(z: f64) -> f64 {
    let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
    if z.abs() > 5.0 {
        let fraction = (1..=60).rev().fold(z.abs(), |below, k| z.abs() + f64::from(k) / below);
        let tail = density / fraction;
        return if z < 0.0 { tail } else { 1.0 - tail };
    }
    let (mut term, mut sum, mut odd) = (z, z, 1.0);
    while term.abs() > 1e-18 {
        odd += 2.0;
        term *= z * z / odd;
        sum += term;
    }
    (0.5 + density * sum).clamp(0.0, 1.0)
}

/// Computes the quantile function of the standard normal distribution.
pub fn normal_quantile(share: f64) -> f64 {
    if share < 0.5 {
        return -normal_quantile(1.0 - share);
    }
    by_halves(|z| normal_cdf(z) < share)
}

/// Computes the probability of at most `successes` heads in `trials` tosses of a fair coin.
pub(crate) fn coin_cdf(successes: usize, trials: usize) -> f64 {
    let n = trials as f64;
    let chance = |k: usize| {
        let k = k as f64;
        (ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0) - n * std::f64::consts::LN_2).exp()
    };
    (0..=successes.min(trials)).map(chance).sum::<f64>().min(1.0)
}

/// Finds by bisection the point at or above 0 at which an ascending function reaches the target.
fn by_halves(is_below: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while is_below(high) && high < 1e100 {
        high *= 2.0;
    }
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        match is_below(middle) {
            true => low = middle,
            false => high = middle,
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn printed_tables() {
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 5e-4, "{found} for {wanted}");
        for (degrees, wanted) in [(1.0, 12.706), (2.0, 4.303), (4.0, 2.776), (10.0, 2.228), (120.0, 1.980)] {
            near(student_quantile(0.975, degrees), wanted);
        }
        near(normal_quantile(0.975), 1.9600);
        near(normal_quantile(0.005), -2.5758);
        near(ln_gamma(10.0), 362_880f64.ln());
        near(coin_cdf(1, 8), 9.0 / 256.0);
    }

    proptest! {
        #[test]
        fn quantiles_undo_shares(share in 0.001f64..0.999, degrees in 1.0f64..200.0) {
            prop_assert!((student_cdf(student_quantile(share, degrees), degrees) - share).abs() < 1e-10);
            prop_assert!((normal_cdf(normal_quantile(share)) - share).abs() < 1e-10);
        }

        #[test]
        fn the_normal_distribution_is_smooth_where_methods_meet(z in 4.9f64..5.1) {
            prop_assert!(normal_cdf(z) < normal_cdf(z + 0.01));
            prop_assert!((normal_cdf(z) + normal_cdf(-z) - 1.0).abs() < 1e-12);
        }
    }
}
