//! Which runs are comparable: those with the same fingerprint. The fingerprint of a job is a digest of the options
//! that decide what load it puts on the storage, under their canonical names and with numbers in one form. The
//! fingerprint of a run is that of its jobs with their names, in order.
//!
//! Left out are: seeds; targets and logs (which device was tested is a property of the run, and the question is often how
//! devices differ); servers; what is measured and printed; descriptions; secrets. Options that slow the job down
//! when they measure (`gtod_reduce`, `disable_lat`) are kept.

use fathom_spec::definition::{Category, Kind, Names, OptionDef, TimeUnit};
use fathom_spec::registry::find_job_option;
use sha2::{Digest, Sha256};

/// Length of a fingerprint in hexadecimal digits.
const DIGITS: usize = 16;

/// Options without effect on the load that their category does not tell.
const WITHOUT_EFFECT: [&str; 7] =
    ["name", "description", "comm", "unlink", "unlink_each_loop", "write_iolog", "randseed"];

/// Options of measurement that change how fast the job is.
const WITH_EFFECT: [&str; 5] =
    ["gtod_reduce", "disable_lat", "disable_clat", "disable_slat", "disable_bw_measurement"];

/// A log that is replayed is a target for the parser, but it is the load itself.
const LOADS: [&str; 2] = ["read_iolog", "merge_blktrace_file"];

/// Fingerprint of a job with these options.
pub fn of_job(options: &[(String, String)]) -> String {
    let mut kept: Vec<(String, String)> =
        options.iter().filter_map(|(name, value)| normal(name, value)).collect();
    kept.sort();
    let mut digest = Sha256::new();
    for (name, value) in &kept {
        digest.update(format!("{name}={value}\n"));
    }
    hexadecimal(&digest.finalize(), DIGITS)
}

/// Fingerprint of a run: names and fingerprints of its jobs.
pub(crate) fn of_run<'a>(jobs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut digest = Sha256::new();
    for (name, fingerprint) in jobs {
        digest.update(format!("{fingerprint} {name}\n"));
    }
    hexadecimal(&digest.finalize(), DIGITS)
}

/// The first digits of a digest.
pub(crate) fn hexadecimal(bytes: &[u8], digits: usize) -> String {
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).take(digits).map(digit).collect()
}

fn digit(value: u8) -> char {
    char::from_digit(u32::from(value), 16).unwrap_or('0')
}

/// True if the value must not be kept: a password or a key.
pub(crate) fn is_secret(name: &str) -> bool {
    find_job_option(name).is_some_and(|option| option.secret)
}

/// The option in one form; `None` if it has no effect on the load.
fn normal(name: &str, value: &str) -> Option<(String, String)> {
    let Some(option) = find_job_option(name) else {
        // An option that this version does not know may have any effect.
        return Some((name.to_owned(), value.trim().to_owned()));
    };
    let is_measurement = option.category == Category::Measurement && !WITH_EFFECT.contains(&option.name);
    let is_place = matches!(option.names, Names::Planned | Names::Remote) && !LOADS.contains(&option.name);
    let is_left_out = is_measurement || is_place || option.secret || WITHOUT_EFFECT.contains(&option.name);
    (!is_left_out).then(|| (option.name.to_owned(), normal_value(option, value.trim())))
}

/// Sizes in bytes, times in µs, flags as 0 or 1; everything else as written.
fn normal_value(option: &OptionDef, value: &str) -> String {
    match option.kind {
        Kind::Bool | Kind::Flag if value.is_empty() => "1".to_owned(),
        Kind::Size | Kind::Int | Kind::Range => {
            let is_part = |letter: char| matches!(letter, ',' | '-' | ':');
            let part = |part: &str| size(part).map_or(part.to_owned(), |bytes| bytes.to_string());
            let mut text = String::new();
            for piece in value.split_inclusive(is_part) {
                let end = piece.strip_suffix(is_part);
                text.push_str(&part(end.unwrap_or(piece)));
                text.extend(end.and_then(|_| piece.chars().last()));
            }
            text
        }
        Kind::Time => time(value, &option.unit).map_or(value.to_owned(), |us| format!("{us}us")),
        _ => value.to_owned(),
    }
}

/// Bytes of a size such as `4k`, `1MiB` or `0x10`; `None` if it has another form, such as a percentage.
fn size(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    let (number, suffix) = split_number(&lower)?;
    let power = match suffix.strip_suffix("ib").or(suffix.strip_suffix('b')).unwrap_or(suffix) {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    number.checked_mul(1u64.checked_shl(10 * power)?)
}

/// µs of a time such as `30`, `30s` or `1m`; `None` if it has another form.
fn time(text: &str, unit: &TimeUnit) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let (number, suffix) = split_number(&lower)?;
    let us = match (suffix, unit) {
        ("", TimeUnit::Seconds) => 1_000_000,
        ("", _) => return None,
        ("us" | "usec", _) => 1,
        ("ms" | "msec", _) => 1000,
        ("s" | "sec", _) => 1_000_000,
        ("m", _) => 60_000_000,
        ("h", _) => 3_600_000_000,
        ("d", _) => 86_400_000_000,
        _ => return None,
    };
    number.checked_mul(us)
}

fn split_number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    Some((number.parse().ok()?, suffix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(options: &[(&str, &str)]) -> String {
        let owned: Vec<(String, String)> =
            options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        of_job(&owned)
    }

    const BASE: [(&str, &str); 4] = [("rw", "randread"), ("bs", "4k"), ("runtime", "60"), ("direct", "1")];

    fn with(more: &[(&str, &str)]) -> String {
        of(&[&BASE[..], more].concat())
    }

    #[test]
    fn the_same_load_has_the_same_fingerprint() {
        let same = [
            of(&[("direct", ""), ("runtime", "60s"), ("blocksize", "4096"), ("rw", "randread")]),
            of(&[("runtime", "1m"), ("direct", "1"), ("bs", "4KiB"), ("readwrite", "randread")]),
            with(&[("filename", "/dev/nvme0n1")]),
            with(&[
                ("directory", "/mnt"),
                ("randseed", "5"),
                ("write_bw_log", "here"),
                ("log_avg_msec", "5"),
            ]),
            with(&[("percentile_list", "99:99.9"), ("group_reporting", ""), ("description", "x")]),
        ];
        for fingerprint in &same {
            assert_eq!(fingerprint, &of(&BASE));
        }
    }

    #[test]
    fn another_load_has_another_fingerprint() {
        let others = [
            of(&BASE[..3]),
            with(&[("iodepth", "4")]),
            with(&[("gtod_reduce", "1")]),
            with(&[("read_iolog", "a.log")]),
            with(&[("option_of_next_year", "1")]),
            with(&[("rate", "4m")]),
            with(&[("size", "50%")]),
            with(&[("size", "51%")]),
        ];
        let mut all: Vec<&String> = others.iter().collect();
        let base = of(&BASE);
        all.push(&base);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), others.len() + 1);
    }

    #[test]
    fn values_have_one_form() {
        let form = |name: &str, value: &str| normal(name, value).map(|(_, value)| value);
        assert_eq!(form("bs", "4k,8k").as_deref(), Some("4096,8192"));
        assert_eq!(form("bsrange", "1k-4k").as_deref(), Some("1024-4096"));
        assert_eq!(form("size", "50%").as_deref(), Some("50%"));
        assert_eq!(form("runtime", "2h").as_deref(), Some("7200000000us"));
        assert_eq!(form("filename", "x"), None);
    }

    proptest! {
        #[test]
        fn order_does_not_matter_and_nothing_panics(
            options in prop::collection::vec(("[a-z_]{1,10}", "\\PC{0,12}"), 0..8), shift in 0usize..8,
        ) {
            let mut turned = options.clone();
            turned.rotate_left(shift % options.len().max(1));
            prop_assert_eq!(of_job(&options), of_job(&turned));
        }
    }
}
