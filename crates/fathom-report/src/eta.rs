//! The status line of a run: `Jobs: 1 (f=1): [W(1)][75.0%][w=1025KiB/s][w=256 IOPS][eta 00m:01s]`.

use crate::scale::{Base, Scale, scaled};
use fathom_stats::PerDirection;
use fathom_stats::live::{LiveTick, RunState};

/// Number of significant digits in a status line.
const FIGURES: u32 = 4;

/// Formats the status line at one instant, without padding or line end.
pub fn status_line(tick: &LiveTick) -> String {
    let scale = Scale::new(tick.kb_base, tick.unit_base, FIGURES);
    let mut line = format!("Jobs: {} (f={})", tick.running, tick.open_files);
    if tick.rate_limit_bytes > 0 || tick.rate_min_bytes > 0 {
        // Limits are given in bytes, so they are shown in bytes even if rates are shown in bits.
        let limits = Scale { bits: false, ..scale };
        line += &format!(", {}-{}", limits.rate(tick.rate_min_bytes), limits.rate(tick.rate_limit_bytes));
    } else if tick.rate_limit_iops > 0 || tick.rate_min_iops > 0 {
        line += &format!(", {}-{} IOPS", tick.rate_min_iops, tick.rate_limit_iops);
    }
    if tick.estimate_known {
        let rates = bracket(&tick.bytes_per_second, |rate| scale.rate(rate), "");
        let iops = bracket(&tick.iops, |iops| scaled(iops.into(), FIGURES, Base::Decimal, ""), " IOPS");
        let percent = percent(tick);
        let eta = time_to_go(tick.eta_seconds);
        line += &format!(": [{}][{percent}]{rates}{iops}[eta {eta}]", states(&tick.states));
    }
    line
}

/// Pads `line` with spaces so that it covers a previous line of `previous_length` characters.
pub fn padded(line: &str, previous_length: usize) -> String {
    format!("{line:previous_length$}")
}

/// Formats one letter per worker; repeats are shortened to `X(n)`, joined by commas.
fn states(states: &[RunState]) -> String {
    states
        .chunk_by(|a, b| a.letter() == b.letter())
        .map(|run| format!("{}({})", run[0].letter(), run.len()))
        .collect::<Vec<_>>()
        .join(",")
}

fn percent(tick: &LiveTick) -> String {
    let working = |state: &&RunState| !matches!(state, RunState::NotStarted | RunState::Reaped);
    let mut workers = tick.states.iter().filter(working).peekable();
    let all_ramp = workers.peek().is_some() && workers.all(|state| *state == RunState::Ramping);
    match tick.percent_done {
        Some(percent) if percent.is_finite() && !all_ramp => format!("{percent:3.1}%"),
        _ => "-.-%".into(),
    }
}

/// Formats the non-zero figures in brackets; empty if all are zero.
fn bracket(figures: &PerDirection<u64>, text: impl Fn(u64) -> String, suffix: &str) -> String {
    let shown: Vec<String> = figures
        .iter()
        .filter(|&(_, &figure)| figure > 0)
        .map(|(direction, &figure)| format!("{}={}", &direction.word()[..1], text(figure)))
        .collect();
    if shown.is_empty() { String::new() } else { format!("[{}{suffix}]", shown.join(",")) }
}

/// Formats the remaining time as `01d:02h:03m:04s`, with days and hours only if non-zero; `--` if unknown.
pub fn time_to_go(seconds: Option<u64>) -> String {
    let Some(seconds) = seconds else {
        return "--".into();
    };
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let mut text = String::new();
    if days > 0 {
        text += &format!("{days:02}d:");
    }
    if days > 0 || hours > 0 {
        text += &format!("{hours:02}h:");
    }
    text + &format!("{:02}m:{:02}s", seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick() -> LiveTick {
        LiveTick {
            running: 1,
            open_files: 1,
            states: vec![RunState::Writing { sequential: true }],
            kb_base: 1024,
            unit_base: 8,
            ..Default::default()
        }
    }

    #[test]
    fn rate_limited_write() {
        let mut tick = LiveTick { rate_limit_bytes: 1 << 20, ..tick() };
        assert_eq!(status_line(&tick), "Jobs: 1 (f=1), 0B/s-1024KiB/s");
        tick.estimate_known = true;
        tick.percent_done = Some(75.0);
        tick.bytes_per_second = PerDirection::new([0, 1025 << 10, 0]);
        tick.iops = PerDirection::new([0, 256, 0]);
        tick.eta_seconds = Some(1);
        assert_eq!(
            status_line(&tick),
            "Jobs: 1 (f=1), 0B/s-1024KiB/s: [W(1)][75.0%][w=1025KiB/s][w=256 IOPS][eta 00m:01s]"
        );
        tick.percent_done = Some(100.0);
        tick.bytes_per_second = PerDirection::new([0, 1023 << 10, 0]);
        tick.iops = PerDirection::new([0, 255, 0]);
        tick.eta_seconds = Some(0);
        assert_eq!(
            status_line(&tick),
            "Jobs: 1 (f=1), 0B/s-1024KiB/s: [W(1)][100.0%][w=1023KiB/s][w=255 IOPS][eta 00m:00s]"
        );
    }

    #[test]
    fn limits_in_iops() {
        let tick = LiveTick { rate_limit_iops: 300, rate_min_iops: 10, ..tick() };
        assert_eq!(status_line(&tick), "Jobs: 1 (f=1), 10-300 IOPS");
    }

    #[test]
    fn several_directions() {
        let tick = LiveTick {
            running: 3,
            open_files: 3,
            states: vec![RunState::Mixed { sequential: true }; 3],
            estimate_known: true,
            percent_done: Some(75.0),
            bytes_per_second: PerDirection::new([3072 << 10, 3072 << 10, 0]),
            iops: PerDirection::new([768, 768, 0]),
            eta_seconds: Some(1),
            ..tick()
        };
        assert_eq!(
            status_line(&tick),
            "Jobs: 3 (f=3): [M(3)][75.0%][r=3072KiB/s,w=3072KiB/s][r=768,w=768 IOPS][eta 00m:01s]"
        );
    }

    #[test]
    fn states_are_grouped() {
        let mut list = vec![RunState::Reaped; 2];
        list.push(RunState::Reading { sequential: true });
        list.extend([RunState::NotStarted; 3]);
        assert_eq!(states(&list), "_(2),R(1),P(3)");
    }

    #[test]
    fn unknown_estimates_and_idle_brackets() {
        let tick = LiveTick { estimate_known: true, ..tick() };
        assert_eq!(status_line(&tick), "Jobs: 1 (f=1): [W(1)][-.-%][eta --]");
    }

    #[test]
    fn no_percentage_while_all_ramp() {
        let tick = LiveTick {
            estimate_known: true,
            percent_done: Some(5.0),
            states: vec![RunState::Ramping],
            ..tick()
        };
        assert!(status_line(&tick).contains("[/(1)][-.-%]"));
    }

    #[test]
    fn long_times() {
        assert_eq!(time_to_go(Some(3_661)), "01h:01m:01s");
        assert_eq!(time_to_go(Some(90_061)), "01d:01h:01m:01s");
        assert_eq!(time_to_go(Some(4_294_967_294)), "49710d:06h:28m:14s");
    }

    #[test]
    fn padding_covers_the_previous_line() {
        assert_eq!(padded("ab", 5), "ab   ");
        assert_eq!(padded("abcdef", 5), "abcdef");
    }

    #[test]
    fn bits() {
        let tick = LiveTick {
            rate_limit_bytes: 3 << 20,
            rate_min_bytes: 1 << 20,
            estimate_known: true,
            bytes_per_second: PerDirection::new([1_000_000, 0, 0]),
            kb_base: 1000,
            unit_base: 1,
            ..tick()
        };
        assert_eq!(
            status_line(&tick),
            "Jobs: 1 (f=1), 1049kB/s-3146kB/s: [W(1)][-.-%][r=8000kbit/s][eta --]"
        );
    }
}
