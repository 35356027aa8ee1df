//! Compares complete screens of one run in three sizes with `tests/golden`, and checks arbitrary screens of
//! arbitrary runs.
//!
//! `UPDATE_GOLDEN=1 cargo test -p fathom-live` rewrites the files; review the differences before committing
//! them.

use fathom_live::{Key, Look, View};
use fathom_stats::live::{LiveDetails, LiveDisk, LiveHost, LiveJob, LivePercentiles, LiveTick, RunState};
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;
use std::path::PathBuf;

const COLOURFUL: Look = Look { colours: true, unicode: true };
const PLAIN: Look = Look { colours: false, unicode: false };

const RANDOM_READ: RunState = RunState::Reading { sequential: false };
const WRITE: RunState = RunState::Writing { sequential: true };

fn percentiles(p50_ns: u64) -> Option<LivePercentiles> {
    Some(LivePercentiles { p50_ns, p99_ns: p50_ns * 3, p99_9_ns: p50_ns * 11 })
}

fn jobs(step: u64) -> Vec<LiveJob> {
    let names = ["readers", "log", "nightly-backup-of-everything", "checker", "late", "later"];
    let states = [
        vec![RANDOM_READ, RANDOM_READ, RunState::Ramping, RunState::Reaped],
        vec![WRITE],
        vec![RunState::Failed],
        vec![RunState::Verifying, RunState::Verifying],
        vec![RunState::NotStarted],
        vec![RunState::NotStarted],
    ];
    let read_iops = [250_000 + step * 1_000, 0, 0, 1_200, 0, 0];
    let write_iops = [0, 31_500, 0, 0, 0, 0];
    (0..names.len())
        .map(|job| {
            let iops: [u64; 3] = [read_iops[job], write_iops[job], 0];
            let works = iops != [0; 3];
            LiveJob {
                name: names[job].into(),
                states: states[job].clone(),
                bytes_per_second: iops.map(|iops| iops * 4096).into(),
                iops: iops.into(),
                latency: if works { percentiles(80_000 + 1_000 * step) } else { None },
                in_flight: if works { 31 } else { 0 },
                asked_depth: if works { 32 } else { 0 },
                errors: if job == 2 { 1 } else { 0 },
                ..LiveJob::default()
            }
        })
        .collect()
}

/// Returns the view of a one-minute run after 24 seconds.
fn view(look: Look) -> View {
    view_of(&[], look)
}

/// Returns ten hosts: one with a long tail, one with errors, and one that was lost.
fn hosts() -> Vec<LiveHost> {
    let host = |index: u64| LiveHost {
        name: format!("storage-{index}"),
        state: if index == 7 { "lost" } else { "running" }.into(),
        bytes_per_second: [(30_000 - index) * 4096, 0, 0].into(),
        iops: [30_000 - index, 0, 0].into(),
        latency: if index == 7 {
            None
        } else {
            percentiles(if index == 4 { 900_000 } else { 80_000 + index })
        },
        in_flight: 32,
        errors: if index == 2 { 3 } else { 0 },
        silent_ms: if index == 7 { 12_345 } else { 100 * index },
    };
    (0..10).map(host).collect()
}

fn view_of(hosts: &[LiveHost], look: Look) -> View {
    let mut view = View::new(look);
    view.add_message("readers: Laying out IO file (1 file / 1024MiB)");
    for step in 0..24 {
        let tick = LiveTick {
            running: 7,
            percent_done: Some(step as f64 / 0.6),
            eta_seconds: Some(60 - step),
            estimate_known: true,
            kb_base: 1024,
            unit_base: 8,
            ..LiveTick::default()
        };
        let disk = |name: &str, is_member, share: u64| LiveDisk {
            name: name.into(),
            is_member,
            util_percent: 99.5,
            iops: [251_200 / share, 31_500 / share],
            bytes_per_second: [1_028_915_200 / share, 129_024_000 / share],
        };
        let details = LiveDetails {
            elapsed_ns: step * 1_000_000_000,
            interval_ns: 1_000_000_000,
            latency: percentiles(80_000 + 3_000 * (step % 5)),
            jobs: jobs(step),
            disks: vec![disk("md0", false, 1), disk("nvme0n1", true, 2), disk("nvme1n1", true, 2)],
            hosts: hosts.to_vec(),
            ..LiveDetails::default()
        };
        view.advance(&tick, &details);
    }
    view.add_message("\nfio: pid=4711, err=28/file:io_u.c, func=io_u error, error=No space left on device\n");
    view
}

fn screen(view: &View, width: u16, height: u16) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    view.draw(&mut buffer);
    buffer
}

fn text(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let row: String = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect();
        text += row.trim_end();
        text.push('\n');
    }
    text
}

#[track_caller]
fn compare(name: &str, view: &View, width: u16, height: u16) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let made = text(&screen(view, width, height));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &made).expect("the golden file can be written");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(made == golden, "{name} differs; now it is\n{made}");
}

#[test]
fn an_ordinary_terminal() {
    compare("80x24.txt", &view(COLOURFUL), 80, 24);
}

#[test]
fn a_large_terminal() {
    compare("200x60.txt", &view(COLOURFUL), 200, 60);
}

#[test]
fn a_small_terminal() {
    compare("40x12.txt", &view(COLOURFUL), 40, 12);
}

#[test]
fn several_hosts_on_terminals_of_each_size() {
    let view = view_of(&hosts(), COLOURFUL);
    for (name, width, height) in
        [("80x24-hosts.txt", 80, 24), ("200x60-hosts.txt", 200, 60), ("40x12-hosts.txt", 40, 12)]
    {
        compare(name, &view, width, height);
    }
}

#[test]
fn without_colours_and_other_characters() {
    let view = view(PLAIN);
    compare("80x24-plain.txt", &view, 80, 24);
    let screen = screen(&view, 80, 24);
    assert!(text(&screen).is_ascii());
    assert!(screen.content.iter().all(|cell| (cell.fg, cell.bg) == (Color::Reset, Color::Reset)));
}

#[test]
fn colours_say_nothing_that_words_do_not() {
    let coloured = text(&screen(&view(COLOURFUL), 120, 40));
    let grey = text(&screen(&view(Look { colours: false, ..COLOURFUL }), 120, 40));
    assert_eq!(coloured, grey);
    assert!(grey.contains("\n!nightly"), "{grey}");
}

#[test]
fn before_anything_is_known() {
    compare("80x24-first.txt", &View::new(COLOURFUL), 80, 24);
}

#[test]
fn the_keys_are_shown_and_hidden() {
    let mut view = view(COLOURFUL);
    let before = screen(&view, 80, 24);
    view.press(Key::Help, 24);
    compare("80x24-help.txt", &view, 80, 24);
    view.press(Key::Help, 24);
    assert_eq!(screen(&view, 80, 24), before);
}

#[test]
fn a_held_view_stands_still_and_then_catches_up() {
    let mut view = view(COLOURFUL);
    view.press(Key::Pause, 24);
    let held = text(&screen(&view, 80, 24));
    assert!(held.contains("PAUSED"), "{held}");
    view.advance(&LiveTick::default(), &LiveDetails::default());
    view.add_message("something new");
    assert_eq!(text(&screen(&view, 80, 24)), held);
    view.press(Key::Pause, 24);
    let now = text(&screen(&view, 80, 24));
    assert!(!now.contains("PAUSED") && now.contains("something new"), "{now}");
}

#[test]
fn jobs_are_scrolled_from_the_first_to_the_last() {
    let mut view = view(COLOURFUL);
    let first_line = |view: &View| {
        let text = text(&screen(view, 40, 12));
        let mut lines = text.lines().skip_while(|line| !line.starts_with("job "));
        (lines.next().unwrap_or("").to_owned(), lines.next().unwrap_or("").to_owned())
    };
    let title = |view: &View| first_line(view).0.split_whitespace().nth(1).unwrap_or("").to_owned();
    let before = title(&view);
    assert_eq!(before, "1-4/6");
    for (key, expected) in [
        (Key::Up, "1-4/6"),
        (Key::Down, "2-5/6"),
        (Key::PageDown, "3-6/6"),
        (Key::Down, "3-6/6"),
        (Key::Up, "2-5/6"),
        (Key::PageUp, "1-4/6"),
    ] {
        view.press(key, 12);
        assert_eq!(title(&view), expected, "after {key:?}");
    }
    assert!(first_line(&view).1.starts_with("readers"));
}

fn any_job() -> impl Strategy<Value = LiveJob> {
    let states =
        prop::collection::vec(prop_oneof![Just(RANDOM_READ), Just(WRITE), Just(RunState::Killed)], 0..5);
    let figures = (any::<[u64; 3]>(), any::<[u64; 3]>(), any::<u64>(), any::<u32>(), any::<u32>());
    (".{0,30}", states, figures, any::<bool>()).prop_map(|(name, states, figures, has_latency)| {
        let (bytes, iops, ns, now, asked) = figures;
        LiveJob {
            name,
            states,
            // Values are reduced because sums over jobs must not overflow.
            bytes_per_second: bytes.map(|value| value >> 4).into(),
            iops: iops.map(|value| value >> 4).into(),
            latency: has_latency.then_some(LivePercentiles { p50_ns: 0, p99_ns: ns >> 8, p99_9_ns: ns }),
            in_flight: now.into(),
            asked_depth: asked.into(),
            errors: now.into(),
            ..LiveJob::default()
        }
    })
}

proptest! {
    /// Checks that no size of the screen and no figures cause a panic, output outside the screen, or control
    /// characters.
    #[test]
    fn any_run_on_any_screen(
        jobs in prop::collection::vec(any_job(), 0..8), width in 0u16..140, height in 0u16..50,
        percent in prop::option::of(any::<f64>()), seconds in prop::option::of(any::<u64>()), util in any::<f64>(),
        disks in 0usize..4, message in ".{0,60}", keys in prop::collection::vec(0usize..7, 0..6), ticks in 1usize..4,
        plain in any::<bool>(),
    ) {
        let mut view = View::new(if plain { PLAIN } else { COLOURFUL });
        let disk = LiveDisk {
            name: "sda\t".into(), is_member: true, util_percent: util, iops: [u64::MAX >> 1; 2],
            bytes_per_second: [u64::MAX >> 1; 2],
        };
        let details = LiveDetails {
            elapsed_ns: u64::MAX, interval_ns: u64::MAX, latency: jobs.first().and_then(|job| job.latency),
            hosts: jobs.iter().map(|job| LiveHost {
                name: job.name.clone(), state: message.clone(), bytes_per_second: job.bytes_per_second, iops: job.iops,
                latency: job.latency, in_flight: job.in_flight, errors: job.errors, silent_ms: job.in_flight,
            }).skip(disks).collect(),
            jobs, disks: vec![disk; disks], ..LiveDetails::default()
        };
        let tick = LiveTick { percent_done: percent, eta_seconds: seconds, ..LiveTick::default() };
        for _ in 0..ticks {
            view.advance(&tick, &details);
            view.add_message(&message);
        }
        for key in keys {
            let all = [Key::Stop, Key::Pause, Key::Help, Key::Up, Key::Down, Key::PageUp, Key::PageDown];
            view.press(all[key], height);
        }
        let buffer = screen(&view, width, height);
        let control = buffer.content.iter().find(|cell| cell.symbol().chars().any(char::is_control));
        prop_assert!(control.is_none(), "{control:?}");
    }
}
