//! The load in a sentence, as an expert would say it.

use super::trace::Characterized;
use crate::figures::{self, roughly};
use fathom_stats::Direction;
use fathom_workload::arrivals::Pace;
use fathom_workload::skew::{Model, Skew};
use fathom_workload::{DirectionProfile, Profile};

/// Minimum share of the requests, or of the bytes, at which a direction is mentioned.
const LEAST_SHARE: f64 = 0.02;
/// Minimum share of the requests at which one size represents all.
const ONE_SIZE: f64 = 0.6;
/// A direction is called sequential at this share of sequential requests or more, and random at the second share or less.
const SEQUENTIAL: f64 = 0.8;
const RANDOM: f64 = 0.2;
/// Arrivals count as bursty from this ratio of variance to mean at a scale.
const BURSTY: f64 = 10.0;

/// The whole sentence.
pub(crate) fn sentence(found: &Characterized) -> String {
    let profile = &found.profile;
    let mut parts = vec![requests(profile)];
    parts.extend(flushes(found));
    parts.extend(pace(profile));
    let mut text = parts.join("; ");
    if let Some(first) = text.get(..1) {
        text.replace_range(..1, &first.to_uppercase());
    }
    match &found.files {
        Some(_) => format!("Of files: {text}."),
        None => text + ".",
    }
}

/// `80 % random reads of 8 KiB, 20 % sequential writes of 64 KiB on 12 GiB with strong skew`.
fn requests(profile: &Profile) -> String {
    let share = |direction: &DirectionProfile| direction.requests as f64 / profile.requests.max(1) as f64;
    let of_bytes = |direction: &DirectionProfile| direction.bytes as f64 / profile.bytes.max(1) as f64;
    let is_told = |direction: &&DirectionProfile| share(direction).max(of_bytes(direction)) >= LEAST_SHARE;
    let mut told: Vec<&DirectionProfile> = profile.directions.iter().filter(is_told).collect();
    told.sort_by(|a, b| share(b).total_cmp(&share(a)));
    let is_alone = told.len() == 1;
    let phrase = |direction: &&DirectionProfile| {
        let amount = match is_alone {
            true => String::new(),
            false if share(direction) < 0.005 => "a few ".to_owned(),
            false => format!("{:.0} % ", share(direction) * 100.0),
        };
        format!("{amount}{}", of_direction(direction))
    };
    let mut text = told.iter().map(phrase).collect::<Vec<_>>().join(", ");
    if text.is_empty() {
        return "no requests with data".to_owned();
    }
    if profile.space.footprint > 0 {
        text.push_str(&format!(" on {}", figures::size(round_size(profile.space.footprint))));
    }
    // The skew is that of the busiest direction that has one.
    if let Some(words) = told.iter().find_map(|direction| direction.skew.as_ref().and_then(skew_words)) {
        text.push_str(&format!(" with {words}"));
    }
    text
}

/// `random reads of 8 KiB`.
fn of_direction(direction: &DirectionProfile) -> String {
    let sequential = direction.streams.sequential_requests as f64 / direction.requests.max(1) as f64;
    let pattern = match sequential {
        _ if direction.direction == Direction::Trim || direction.requests < 4 => "",
        share if share >= SEQUENTIAL => "sequential ",
        share if share <= RANDOM => "random ",
        _ => "partly sequential ",
    };
    format!("{pattern}{}s of {}", direction.direction.word(), sizes(direction))
}

/// `8 KiB`, or `4 KiB to 64 KiB`.
fn sizes(direction: &DirectionProfile) -> String {
    if let Some(&(size, share, _)) = direction.sizes.common(1).first()
        && share >= ONE_SIZE
    {
        return figures::size(u64::from(size));
    }
    let at = |share: f64| {
        let wanted = direction.requests as f64 * share;
        let mut sum = 0;
        let reached = direction.sizes.counts.iter().find(|(_, count)| {
            sum += **count;
            sum as f64 >= wanted
        });
        reached.map_or(0, |(size, _)| u64::from(*size))
    };
    match (at(0.1), at(0.9)) {
        (low, high) if low == high => figures::size(low),
        (low, high) => format!("{} to {}", figures::size(low), figures::size(high)),
    }
}

/// Two significant figures.
fn round_size(bytes: u64) -> u64 {
    // Below 100 units nothing is lost by whole numbers.
    let unit = 1024u64.pow((bytes.max(1).ilog2() / 10).min(5));
    match bytes / unit {
        whole if whole >= 10 => whole * unit,
        _ => bytes,
    }
}

/// `strong skew`; nothing for skew that cannot be told from chance.
pub(super) fn skew_words(skew: &Skew) -> Option<&'static str> {
    match (skew.model, skew.uniform_error) {
        (Model::Uniform, _) => None,
        (_, error) if error < 0.15 => Some("slight skew"),
        (_, error) if error < 0.4 => Some("skew"),
        _ => Some("strong skew"),
    }
}

fn flushes(found: &Characterized) -> Option<String> {
    let profile = &found.profile;
    let word = flush_word(found);
    let count = profile.flushes.flushes + profile.flushes.flushing_writes;
    if count < 2 || profile.seconds <= 0.0 {
        return None;
    }
    let rate = count as f64 / profile.seconds;
    Some(match rate >= 1.0 {
        true => {
            format!("{} {word}{} per second", roughly::count(rate), if word == "flush" { "es" } else { "s" })
        }
        false => format!("a {word} every {}", roughly::duration(1e9 / rate)),
    })
}

/// What makes data durable: programs sync files, and devices are flushed.
pub(super) fn flush_word(found: &Characterized) -> &'static str {
    if found.files.is_some() { "sync" } else { "flush" }
}

fn pace(profile: &Profile) -> Vec<String> {
    let mut told = Vec::new();
    let rate = profile.requests as f64 / profile.seconds.max(1e-9);
    let is_closed = profile.arrivals.pace == Pace::Closed;
    match profile.arrivals.kept_depth {
        depth if is_closed && depth < 1.5 => told.push("one at a time per program".to_owned()),
        depth if is_closed => told.push(format!("{} in flight per program", roughly::count(depth.round()))),
        _ if profile.seconds > 0.0 && profile.requests > 0 => {
            told.push(format!("{} per second", roughly::count(rate)))
        }
        _ => {}
    }
    let burstiest = profile.arrivals.dispersion.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    match &profile.cycle {
        Some(cycle) => told.push(format!("bursts every {}", roughly::duration(cycle.period_s * 1e9))),
        None if burstiest >= BURSTY && !is_closed => told.push("in bursts".to_owned()),
        None => {}
    }
    match told.is_empty() {
        true => Vec::new(),
        false => vec![told.join(", ")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_trace::Device;
    use fathom_trace::blktrace::{Event, code};
    use fathom_trace::events::Losses;
    use fathom_workload::Characterizer;

    /// The sentence of these requests, one per millisecond: code, sector, bytes.
    fn told(requests: impl Iterator<Item = (u32, u64, u32)>) -> String {
        let mut all = Characterizer::default();
        for (number, (code, sector, bytes)) in requests.enumerate() {
            let device = Device { major: 8, minor: 0 };
            let time_ns = number as u64 * 1_000_000;
            all.add(&Event { time_ns, sector, bytes, device, ..Event::of_code(code::QUEUE | code) }, b"");
        }
        let profile = all.finish();
        sentence(&Characterized {
            name: String::new(),
            profile,
            losses: Losses::default(),
            files: None,
            complaints: fathom_trace::Complaints::default(),
            cut_off: None,
        })
    }

    #[test]
    fn loads_in_a_sentence() {
        let random = |number: u64| number * 7919 % 65_521 * 64;
        assert_eq!(
            told((0..20_000).map(|number| (code::READ, random(number), 8192))),
            "Random reads of 8 KiB on 156 MiB; 1.0k per second."
        );
        assert_eq!(
            told((0..2_000).map(|number| (code::WRITE, number * 256, 131_072))),
            "Sequential writes of 128 KiB on 250 MiB; 1.0k per second."
        );
        let mixed = (0..20_000).map(|number| match number % 10 {
            0 => (code::WRITE, (1 << 30) + number / 10 * 8, 4096),
            1 => (code::FLUSH | code::WRITE, 0, 0),
            _ => (code::READ, random(number), 4096 << (number % 3)),
        });
        let text = told(mixed);
        assert!(
            text.starts_with("89 % random reads of 4 KiB to 16 KiB, 11 % sequential writes of 4 KiB on "),
            "{text}"
        );
        assert!(text.contains("; 100 flushes per second; "), "{text}");
        let flushes = (0..100).map(|_| (code::FLUSH | code::WRITE, 0, 0));
        assert_eq!(told(flushes), "No requests with data; 1.0k flushes per second.");
    }
}
