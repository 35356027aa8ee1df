//! Axes: positions of values, and tick labels.

use crate::figures;

/// Scale type of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    /// Linear, from 0 to a maximum.
    Linear { max: f64 },
    /// Linear, between two numbers: for marks and lines whose differences are small, never for areas and bars.
    Between { min: f64, max: f64 },
    /// Logarithmic.
    Logarithmic { min: f64, max: f64 },
    /// Percentiles, on which 90, 99 and 99.9 are equally spaced, so that the tail is visible.
    Percentile { min: f64, max: f64 },
}

impl Scale {
    /// A logarithmic scale for these values; it ends at powers of ten.
    pub(crate) fn logarithmic(values: impl Iterator<Item = f64>) -> Scale {
        let (mut low, mut high) = (f64::INFINITY, 0f64);
        for value in values.filter(|value| *value > 0.0) {
            (low, high) = (low.min(value), high.max(value));
        }
        if high == 0.0 {
            return Scale::Logarithmic { min: 1.0, max: 10.0 };
        }
        let min = 10f64.powf(low.log10().floor());
        let max = 10f64.powf(high.log10().ceil());
        Scale::Logarithmic { min, max: if max > min { max } else { min * 10.0 } }
    }

    /// A linear scale from 0 to a round number above these values.
    pub(crate) fn linear(values: impl Iterator<Item = f64>) -> Scale {
        let high = values.fold(0.0, f64::max);
        if high <= 0.0 {
            return Scale::Linear { max: 1.0 };
        }
        let step = round_step(high);
        Scale::Linear { max: (high / step).ceil() * step }
    }

    /// A linear scale around these values. It begins at 0 unless that would leave most of the chart empty.
    pub(crate) fn around(values: impl Iterator<Item = f64>) -> Scale {
        let (mut low, mut high) = (f64::INFINITY, 0f64);
        for value in values {
            (low, high) = (low.min(value), high.max(value));
        }
        if low < high / 2.0 || low >= high {
            return Scale::linear([high].into_iter());
        }
        let step = round_step(high - low);
        Scale::Between { min: (low / step).floor() * step, max: (high / step).ceil() * step }
    }

    /// A scale of percentiles over the range of the data.
    pub(crate) fn percentile(first: f64, last: f64) -> Scale {
        let max = last.max(99.0);
        Scale::Percentile { min: first.clamp(0.0, 90.0), max }
    }

    /// A linear scale that ends exactly at the last value, as used for time.
    pub(crate) fn up_to_last(values: impl Iterator<Item = f64>) -> Scale {
        let last = values.fold(0.0, f64::max);
        Scale::Linear { max: if last > 0.0 { last } else { 1.0 } }
    }

    /// Position of a value, from 0 to 1.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let share = match *self {
            Scale::Linear { max } => value / max,
            Scale::Between { min, max } => (value - min) / (max - min),
            Scale::Logarithmic { min, max } => (value.max(min) / min).log10() / (max / min).log10(),
            Scale::Percentile { min, max } => {
                (nines(value.clamp(min, max)) - nines(min)) / (nines(max) - nines(min))
            }
        };
        share.clamp(0.0, 1.0)
    }

    /// The values at which the axis has tick labels.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        match *self {
            Scale::Linear { max } => {
                let step = round_step(max);
                let count = (max / step + 1e-9).floor() as u32;
                (0..=count).map(|number| f64::from(number) * step).collect()
            }
            Scale::Between { min, max } => {
                let step = round_step(max - min);
                let count = ((max - min) / step + 1e-9).floor() as u32;
                (0..=count).map(|number| min + f64::from(number) * step).collect()
            }
            Scale::Logarithmic { min, max } => {
                let decades = (max / min).log10().round() as i32;
                (0..=decades).map(|power| min * 10f64.powi(power)).collect()
            }
            Scale::Percentile { min, max } => {
                let ticks = [0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999];
                ticks.into_iter().filter(|tick| (min..=max).contains(tick)).collect()
            }
        }
    }
}

/// Number of nines of a percentile, such as 1 for 90 and 2 for 99.
fn nines(percentile: f64) -> f64 {
    -((100.0 - percentile).max(1e-4) / 100.0).log10()
}

/// A step of 1, 2 or 5 times a power of ten that divides a range into four to ten parts.
fn round_step(range: f64) -> f64 {
    let power = 10f64.powf((range / 5.0).log10().floor());
    let factor = range / 5.0 / power;
    let step = if factor < 1.5 {
        1.0
    } else if factor < 3.5 {
        2.0
    } else {
        5.0
    };
    step * power
}

/// Unit of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// ns.
    Latency,
    /// Seconds since the start of the run.
    Seconds,
    /// Bytes per second.
    Bandwidth,
    /// Mebibytes per second.
    Mebibytes,
    /// I/Os per second, or a count.
    Count,
    /// Percent.
    Percent,
    /// Billions of bytes.
    Gigabytes,
    /// Row indices, for an axis without labels.
    Row,
}

impl Unit {
    /// A value with its unit.
    pub(crate) fn text(self, value: f64) -> String {
        match self {
            Unit::Latency => figures::duration(value),
            Unit::Seconds => format!("{} s", figures::three_figures(value)),
            Unit::Bandwidth => figures::bandwidth(value),
            Unit::Mebibytes => format!("{} MiB/s", figures::three_figures(value)),
            Unit::Count => figures::count(value),
            Unit::Percent => format!("{} %", plain(value)),
            Unit::Gigabytes => format!("{} GB", figures::three_figures(value)),
            Unit::Row => plain(value),
        }
    }

    /// A value as a tick label, without trailing zeros.
    pub(crate) fn tick(self, value: f64) -> String {
        match self {
            Unit::Latency => {
                let text = figures::duration(value);
                match text.split_once(' ') {
                    Some((number, unit)) => format!("{} {unit}", without_zeros(number)),
                    None => text,
                }
            }
            Unit::Seconds => plain(value),
            Unit::Bandwidth => plain(value / 1e6),
            Unit::Count => {
                let text = figures::count(value);
                let digits = text.trim_end_matches(['k', 'M', 'G']);
                format!("{}{}", without_zeros(digits), &text[digits.len()..])
            }
            Unit::Percent | Unit::Gigabytes | Unit::Mebibytes => plain(value),
            Unit::Row => String::new(),
        }
    }
}

/// A number with as few decimals as possible.
fn plain(value: f64) -> String {
    let rounded = (value * 1e5).round() / 1e5;
    format!("{rounded}")
}

fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_axes_end_at_round_numbers() {
        let scale = Scale::linear([3.0, 842.0].into_iter());
        assert_eq!(scale, Scale::Linear { max: 1000.0 });
        assert_eq!(scale.ticks(), [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0]);
        assert_eq!((scale.place(500.0), scale.place(2000.0)), (0.5, 1.0));
        assert_eq!(Scale::linear(std::iter::empty()), Scale::Linear { max: 1.0 });
    }

    #[test]
    fn small_differences_fill_an_axis_around_them() {
        let scale = Scale::around([101.0, 108.0, 104.0].into_iter());
        assert_eq!(scale, Scale::Between { min: 101.0, max: 108.0 });
        assert_eq!(scale.ticks().len(), 8);
        assert!((scale.place(104.5) - 0.5).abs() < 1e-9);
        assert_eq!(Scale::around([1.0, 9.0].into_iter()), Scale::linear([9.0].into_iter()), "from 0");
        assert_eq!(Scale::around([7.0, 7.0].into_iter()), Scale::linear([7.0].into_iter()));
    }

    #[test]
    fn logarithmic_axes_have_whole_decades() {
        let scale = Scale::logarithmic([0.0, 12_000.0, 3.4e6].into_iter());
        assert_eq!(scale, Scale::Logarithmic { min: 1e4, max: 1e7 });
        assert!((scale.place(1e5) - 1.0 / 3.0).abs() < 1e-9);
        let ticks: Vec<String> = scale.ticks().into_iter().map(|tick| Unit::Latency.tick(tick)).collect();
        assert_eq!(ticks, ["10 µs", "100 µs", "1 ms", "10 ms"]);
    }

    #[test]
    fn nines_are_equally_far_apart() {
        let scale = Scale::percentile(0.0, 99.99);
        let places: Vec<f64> = [90.0, 99.0, 99.9, 99.99].map(|value| scale.place(value)).to_vec();
        assert!((places[1] - 2.0 * places[0]).abs() < 1e-9 && (places[3] - 1.0).abs() < 1e-9, "{places:?}");
        assert_eq!(scale.ticks(), [0.0, 50.0, 90.0, 99.0, 99.9, 99.99]);
        let late = Scale::percentile(50.0, 99.0);
        assert_eq!((late.place(50.0), late.place(99.0), late.ticks()), (0.0, 1.0, vec![50.0, 90.0, 99.0]));
    }
}
