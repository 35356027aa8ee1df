//! Wall-clock times in the C library's format: `Sat Nov 21 00:31:16 2026`, in local time.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Formats a timestamp in milliseconds since the epoch as local time, without a newline.
pub fn ctime(timestamp_ms: u64) -> String {
    in_zone(timestamp_ms, TimeZone::system())
}

fn in_zone(timestamp_ms: u64, zone: TimeZone) -> String {
    // A clock beyond the year 9999 is wrong, so the epoch is shown.
    let moment = i64::try_from(timestamp_ms)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok())
        .unwrap_or(Timestamp::UNIX_EPOCH);
    moment.to_zoned(zone).strftime("%a %b %e %H:%M:%S %Y").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weekday_month_padded_day_time_year() {
        assert_eq!(in_zone(1_795_221_076_578, TimeZone::UTC), "Sat Nov 21 00:31:16 2026");
        assert_eq!(in_zone(1_793_923_209_000, TimeZone::UTC), "Fri Nov  6 00:00:09 2026");
    }

    #[test]
    fn an_impossible_clock_does_no_harm() {
        assert_eq!(in_zone(u64::MAX, TimeZone::UTC), "Thu Jan  1 00:00:00 1970");
    }
}
