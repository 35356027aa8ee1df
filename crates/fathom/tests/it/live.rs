//! `--live` on terminals of several sizes: the display, the effect of keys and signals, and that the terminal
//! is restored.

use crate::support::program::{self, Launch};
use crate::support::terminal::{OnTerminal, Picture};
use crate::support::{MIB, file_of, processes, scratch, skip};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const SMALL: (u16, u16) = (40, 12);
const ORDINARY: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (200, 60);

/// Two jobs that run until they are stopped.
const LONG: &str = "--eta-interval=250 --ioengine=null --size=1g --bs=4k --time_based --runtime=600 --rate_iops=2000 \
                    --name=alpha --rw=randread --name=beta --rw=write --numjobs=2";

/// Enters and leaves the alternate screen.
const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

#[track_caller]
fn start_with(size: (u16, u16), environment: &[(&str, &str)], words: &str) -> OnTerminal {
    OnTerminal::start(&program::path(), Path::new("/"), size, environment, &format!("--live {words}"), None)
}

#[track_caller]
fn start(size: (u16, u16), words: &str) -> OnTerminal {
    start_with(size, &[], words)
}

/// True once both jobs of [`LONG`] have figures.
fn has_figures(picture: &Picture) -> bool {
    let runs = |start: &str, state: &str| {
        let words = picture.words(start);
        let rate = words.iter().find(|word| word.ends_with("B/s"));
        words.iter().any(|word| word == state) && rate.is_some_and(|rate| rate != "0B/s")
    };
    picture.is_alternate
        && runs("alpha", "randread")
        && runs("beta", "write")
        && picture.words("p50").len() > 1
}

/// Common properties of a screen of any size, with plausible figures.
#[track_caller]
fn check(picture: &Picture) {
    let text = picture.text();
    for start in ["read ", "write ", "p50 ", "queue ", "job ", "alpha ", "beta "] {
        assert_eq!(picture.count(start), 1, "{start:?} on\n{text}");
    }
    assert!(!picture.is_wrapped && !picture.has_cursor, "{text}");
    for direction in ["read", "write"] {
        let words = picture.words(direction);
        let [_, rate, iops, word, ..] = &words[..] else { panic!("{text}") };
        assert!(rate.ends_with("B/s") && rate != "0B/s" && word == "IOPS", "{text}");
        let iops: f64 = iops.trim_end_matches('k').parse().expect("a number");
        assert!(iops > 0.0, "{text}");
    }
    let words = picture.words("queue");
    assert_eq!(words[2..4], ["of".to_owned(), "3".to_owned()], "{text}");
    assert!(picture.words("job").iter().any(|title| title == "p99"), "{text}");
}

/// The output after the terminal was restored, which must have happened.
#[track_caller]
fn printed_after(terminal: &OnTerminal) -> String {
    let picture = terminal.picture();
    assert!(!picture.is_alternate && picture.has_cursor, "{}", picture.text());
    assert!(terminal.has_usual_keys());
    let transcript = terminal.transcript();
    let (before, after) = transcript.rsplit_once(LEAVE).expect("the screen was left");
    assert_eq!(before.matches(ENTER).count(), before.matches(LEAVE).count() + 1, "{transcript:?}");
    assert!(!after.contains(ENTER), "{transcript:?}");
    after.to_owned()
}

/// The report of [`LONG`] must follow.
#[track_caller]
fn check_report(terminal: &OnTerminal) {
    let report = printed_after(terminal);
    for line in ["alpha: (groupid=0, jobs=1): err= 0", "Run status group 0 (all jobs):", "  WRITE: bw="] {
        assert!(report.contains(line), "{report}");
    }
}

#[test]
fn what_is_shown_on_terminals_of_three_sizes() {
    fathom_only!();
    require!(skip::tool("setsid"));
    for size in [SMALL, ORDINARY, LARGE] {
        let mut terminal = start(size, LONG);
        let picture = terminal.wait_for("figures", has_figures);
        check(&picture);
        let has_headings = picture.text().contains("── completion latency");
        assert_eq!(has_headings, size != SMALL, "{}", picture.text());
        assert_eq!(picture.words("job").iter().any(|title| title == "clones"), size != SMALL);
        terminal.press("q");
        assert_eq!(terminal.wait_for_end(), 128);
        check_report(&terminal);
        assert!(terminal.transcript().contains("fio: terminating on signal 2"));
    }
}

#[test]
fn other_sizes_while_it_runs_leave_nothing_behind() {
    fathom_only!();
    require!(skip::tool("setsid"));
    let mut terminal = start(LARGE, LONG);
    terminal.wait_for("figures", has_figures);
    for (width, height) in [ORDINARY, SMALL, (20, 4), (1, 1), LARGE, SMALL, (120, 30)] {
        terminal.resize(width, height);
        let fits = |picture: &Picture| {
            let first = picture.rows.first().cloned().unwrap_or_default();
            // The end of the first row is at the edge of the screen.
            let is_full = first.ends_with("? help") && first.chars().count() == usize::from(width);
            width < SMALL.0 || is_full && has_figures(picture)
        };
        let picture = terminal.wait_for("the new size", fits);
        if width >= SMALL.0 {
            check(&picture);
            let full = picture.rows.iter().rposition(|row| !row.is_empty()).unwrap_or(0);
            let last = &picture.rows[full];
            let is_job = last.starts_with("beta ") || last.starts_with("fio-3.42");
            assert!(is_job, "{last:?} on\n{}", picture.text());
        }
    }
    terminal.signal("TERM");
    assert_eq!(terminal.wait_for_end(), 128);
    check_report(&terminal);
}

/// Colour codes in the escape sequences that set text attributes.
fn colours(transcript: &str) -> Vec<u32> {
    let sequences = transcript.split("\x1b[").skip(1).filter_map(|rest| {
        let end = rest.find(|character: char| !character.is_ascii_digit() && character != ';')?;
        rest[end..].starts_with('m').then(|| rest[..end].split(';').filter_map(|code| code.parse().ok()))
    });
    sequences.flatten().filter(|code| (30..50).contains(code) || (90..108).contains(code)).collect()
}

#[test]
fn colours_only_where_they_are_wanted() {
    fathom_only!();
    require!(skip::tool("setsid"));
    let environments =
        [[("TERM", "xterm-256color")], [("NO_COLOR", "1")], [("TERM", "xterm-mono")], [("TERM", "dumb")]];
    for (index, environment) in environments.into_iter().enumerate() {
        let mut terminal = start_with(ORDINARY, &environment, LONG);
        let picture = terminal.wait_for("figures", has_figures);
        check(&picture);
        assert_eq!(picture.text().is_ascii(), environment == [("TERM", "dumb")], "{}", picture.text());
        terminal.press("q");
        terminal.wait_for_end();
        let found = colours(&terminal.transcript());
        assert_eq!(found.is_empty(), index > 0, "{environment:?}: {found:?}");
    }
}

#[test]
fn a_run_that_ends_by_itself() {
    fathom_only!();
    require!(skip::tool("setsid"));
    let words = "--eta-interval=250 --name=short --ioengine=null --size=1g --bs=4k --time_based --runtime=2 \
                 --rate_iops=1000 --rw=read";
    let mut terminal = start(ORDINARY, words);
    assert_eq!(terminal.wait_for_end(), 0);
    let report = printed_after(&terminal);
    assert!(report.contains("short: (groupid=0, jobs=1): err= 0"), "{report}");
    let transcript = terminal.transcript();
    let shown = transcript.split(ENTER).nth(1).and_then(|rest| rest.split(LEAVE).next()).unwrap_or_default();
    assert!(shown.contains("short"), "{shown:?}");
}

#[test]
fn whatever_signal_ends_it_gives_the_terminal_back() {
    fathom_only!();
    require!(skip::tool("setsid"));
    for (signal, code) in [("INT", 128), ("TERM", 128), ("QUIT", 131), ("HUP", 129)] {
        let mut terminal = start(ORDINARY, LONG);
        terminal.wait_for("figures", has_figures);
        terminal.signal(signal);
        assert_eq!(terminal.wait_for_end(), code, "{signal}");
        if code == 128 {
            check_report(&terminal);
        } else {
            printed_after(&terminal);
        }
    }
}

#[test]
fn ctrl_c_as_it_is_typed() {
    fathom_only!();
    require!(skip::tool("setsid"));
    let mut terminal = start(ORDINARY, LONG);
    terminal.wait_for("figures", has_figures);
    terminal.press("\x03");
    assert_eq!(terminal.wait_for_end(), 128);
    check_report(&terminal);
}

#[test]
fn ctrl_z_lends_the_terminal_out() {
    fathom_only!();
    require!(skip::tool("setsid"));
    let mut terminal = start(ORDINARY, LONG);
    terminal.wait_for("figures", has_figures);
    let program = terminal.pid();
    for _ in 0..2 {
        terminal.press("\x1a");
        terminal.wait_for("the other screen", |picture| !picture.is_alternate && picture.has_cursor);
        while processes::state(program) != Some('T') {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(terminal.has_usual_keys());
        processes::signal(program, "CONT");
        let picture = terminal.wait_for("the view", |picture| has_figures(picture) && !picture.has_cursor);
        check(&picture);
        assert!(!terminal.has_usual_keys());
    }
    terminal.press("q");
    assert_eq!(terminal.wait_for_end(), 128);
    check_report(&terminal);
}

#[test]
fn a_held_view_holds_neither_the_run_nor_its_end() {
    fathom_only!();
    require!(skip::tool("setsid"));
    let directory = scratch();
    let words = format!("--live --output=report {LONG}");
    let mut terminal = OnTerminal::start(&program::path(), directory.path(), ORDINARY, &[], &words, None);
    terminal.wait_for("figures", has_figures);
    assert!(!terminal.has_usual_keys());
    terminal.press("?");
    terminal.wait_for("help", |picture| picture.text().contains("stop the run"));
    terminal.press("?p");
    let held = terminal.wait_for("a held view", |picture| {
        picture.rows[0].contains("PAUSED") && !picture.text().contains("stop the run")
    });
    // Two intervals later the display is unchanged, and the run has progressed.
    std::thread::sleep(std::time::Duration::from_millis(600));
    assert_eq!(terminal.picture().rows[1..], held.rows[1..]);
    let time = |picture: &Picture| picture.words("fathom").get(1).cloned();
    terminal.press("p");
    let later = terminal.wait_for("a later moment", |picture| {
        !picture.text().contains("PAUSED") && has_figures(picture) && time(picture) != time(&held)
    });
    check(&later);
    terminal.press("p");
    terminal.wait_for("a held view", |picture| picture.rows[0].contains("PAUSED"));
    terminal.press("q");
    assert_eq!(terminal.wait_for_end(), 128);
    // With `--output`, the terminal shows the run, and the report is not printed there.
    let after = printed_after(&terminal);
    assert!(!after.contains("Run status"), "{after}");
    let report = std::fs::read_to_string(directory.path().join("report")).expect("the report is written");
    assert!(report.contains("Run status group 0 (all jobs):"), "{report}");
}

#[test]
fn jobs_that_find_no_room_are_scrolled_to() {
    fathom_only!();
    require!(skip::tool("setsid"));
    let jobs: String = (10..30).map(|number| format!(" --name=job{number} --rw=read")).collect();
    let words =
        format!("--ioengine=null --size=1g --bs=4k --time_based --runtime=600 --rate_iops=100 {jobs}");
    let mut terminal = start(SMALL, &words);
    let first = terminal.wait_for("the first jobs", |picture| picture.count("job10 ") == 1);
    assert_eq!(first.count("job29 "), 0, "{}", first.text());
    terminal.press(&"\x1b[6~".repeat(20));
    let last = terminal.wait_for("the last job", |picture| picture.count("job29 ") == 1);
    assert_eq!(last.count("job10 "), 0, "{}", last.text());
    terminal.press("\x1b[A");
    terminal
        .wait_for("the last but one", |picture| picture.count("job28 ") == 1 && picture.count("job29 ") == 0);
    terminal.press("q");
    assert_eq!(terminal.wait_for_end(), 128);
    printed_after(&terminal);
}

/// The disk with a directory, by its kernel name.
fn device_below(directory: &Path) -> Result<String, String> {
    let number = std::fs::metadata(directory).map_err(|error| error.to_string())?.dev();
    let link = format!("/sys/dev/block/{}:{}", libc::major(number), libc::minor(number));
    let mut found = std::fs::canonicalize(link)
        .map_err(|_| format!("no block device that the kernel shows is below {}", directory.display()))?;
    if found.join("partition").exists() {
        found.pop();
    }
    Ok(found.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

#[test]
fn devices_layout_and_messages() {
    fathom_only!();
    require!(skip::tool("setsid"));
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let device = require!(device_below(directory.path()));
    let words = "--live --eta-interval=250 --directory=. --size=1m --bs=4k --rw=randwrite --time_based --runtime=600 \
                 --rate_iops=500 --fsync=50 --name=new --name=old --filename=data";
    let mut terminal = OnTerminal::start(&program::path(), directory.path(), ORDINARY, &[], words, None);
    let picture = terminal.wait_for("the device", |picture| {
        let words = picture.words(&device);
        words.get(1).is_some_and(|word| word == "util")
            && picture.words("new").iter().any(|word| word == "randwrite")
    });
    let text = picture.text();
    assert!(text.contains("new: Laying out IO file (1 file / 1MiB)"), "{text}");
    terminal.press("q");
    assert_eq!(terminal.wait_for_end(), 128);
    let report = printed_after(&terminal);
    assert!(report.contains("Disk stats (read/write):"), "{report}");
    // The message is also on the normal screen.
    let outside: String =
        terminal.transcript().split(LEAVE).map(|part| part.split(ENTER).next().unwrap_or("")).collect();
    assert!(outside.contains("new: Laying out IO file (1 file / 1MiB)\r\n"), "{outside}");
}

#[test]
fn a_job_that_fails_is_marked_and_reports_in_between_are_printed() {
    fathom_only!();
    require!(skip::tool("setsid"));
    let words =
        format!("{LONG} --name=broken --ioengine=sync --filename=/dev/full --size=1m --rw=write --numjobs=1");
    let mut terminal = start(ORDINARY, &words);
    let is_marked = |picture: &Picture| picture.words("!broken").iter().any(|word| word == "failed");
    terminal.wait_for("the failed job", is_marked);
    terminal.signal("USR1");
    while !terminal.transcript().contains("Run status group 0") {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    terminal.wait_for("the view again", |picture| picture.is_alternate && is_marked(picture));
    terminal.press("q");
    assert_eq!(terminal.wait_for_end(), 128);
    check_report(&terminal);
}

#[test]
fn keys_come_from_the_terminal_when_jobs_come_from_standard_input() {
    fathom_only!();
    require!(skip::tool("setsid"));
    let directory = scratch();
    let jobs = directory.path().join("jobs");
    let text = "[alpha]\nioengine=null\nsize=1g\nrw=randread\nrate_iops=100\ntime_based\nruntime=600\n";
    std::fs::write(&jobs, text).expect("written");
    let program = program::path();
    let mut terminal = OnTerminal::start(&program, directory.path(), ORDINARY, &[], "--live -", Some(&jobs));
    terminal.wait_for("the job", |picture| picture.words("alpha").iter().any(|word| word == "randread"));
    terminal.press("q");
    assert_eq!(terminal.wait_for_end(), 128);
    printed_after(&terminal);
}

#[test]
fn it_is_refused_where_it_would_show_nothing() {
    fathom_only!();
    let finished = Launch::fathom(Path::new("/")).words("--live --name=a --ioengine=null --size=4k").run();
    assert_eq!((finished.code(), finished.stdout.as_str()), (1, ""));
    assert!(finished.stderr.starts_with("fathom: --live: standard output is not a terminal; --eta=always "));
    require!(skip::tool("setsid"));
    let mut terminal = start(ORDINARY, "--eta=never --name=a --ioengine=null --size=4k");
    assert_eq!(terminal.wait_for_end(), 1);
    let transcript = terminal.transcript();
    assert!(transcript.contains("fathom: --live: it replaces the progress line"), "{transcript}");
    assert!(!transcript.contains(ENTER), "{transcript:?}");
}

/// Environment variable that makes the next test act as the panicking program.
const PANICS: &str = "FATHOM_TEST_PANICS_ON_TERMINAL";

/// Not a separate test: the program of [`a_panic_gives_the_terminal_back`].
#[test]
fn panics_on_a_terminal() {
    if std::env::var_os(PANICS).is_none() {
        return;
    }
    std::panic::set_hook(Box::new(|_| {
        fathom_live::restore();
        eprintln!("told");
    }));
    let look = fathom_live::Look { colours: true, unicode: true };
    let live = fathom_live::LiveTerminal::take_over(look).expect("a terminal");
    assert!(live.input().is_none(), "this is the panic");
}

#[test]
fn a_panic_gives_the_terminal_back() {
    fathom_only!();
    require!(skip::tool("setsid"));
    let own = std::env::current_exe().expect("the path of the tests");
    let words = "--exact live::panics_on_a_terminal --nocapture";
    let mut terminal = OnTerminal::start(&own, Path::new("/"), ORDINARY, &[(PANICS, "1")], words, None);
    assert_eq!(terminal.wait_for_end(), 101);
    let after = printed_after(&terminal);
    assert!(after.contains("told"), "{after}");
}
