//! Normal reports with their figures taken out, so that two of them can be compared line by line.
//!
//! What stays: the labels and their order, the kind of every figure (a count, an amount, a rate, a number with
//! this many decimals), and the blanks at the start of a line. Details that vary between runs are folded: the
//! choice of nsec, usec or msec, the width of a percentile table, the latency buckets that were hit, and the
//! presence of samples, which need a long enough run.

/// Differences between fio 3.33 and 3.42 in otherwise equal lines.
const RELEASES: [(&str, &str); 4] = [
    ("; 0 zone resets", ""),
    ("fsync/fdatasync/sync_file_range:", "fsync/fdatasync/sync_file_range/syncfs:"),
    ("target=0, window=0,", "target=0.00ns, window=0.00ns,"),
    // 3.33 has no sectors in its disk lines.
    (" sectors=N/N,", ""),
];

/// The lines of a normal report without its figures.
pub(crate) fn of(report: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in report.lines() {
        let Some(line) = shape_of_line(line) else { continue };
        // Any number of folded blocks becomes one line.
        if !(lines.last() == Some(&line) && is_folded(&line)) {
            lines.push(line);
        }
    }
    lines
}

fn is_folded(line: &str) -> bool {
    line == "     | PERCENTILES" || line == "  lat (TIME)   : SHARES"
}

fn shape_of_line(line: &str) -> Option<String> {
    if line.starts_with("fio-") || line.starts_with("fathom ") {
        return Some("VERSION".into());
    }
    if line.starts_with("     |") {
        return Some("     | PERCENTILES".into());
    }
    if line.starts_with("  lat (nsec)   :")
        || line.starts_with("  lat (usec)   :")
        || line.starts_with("  lat (msec)   :")
    {
        return Some("  lat (TIME)   : SHARES".into());
    }
    // Samples exist from half a second on, so their presence in a short run is random.
    if line.starts_with("   bw (") || line.starts_with("   iops        :") {
        return None;
    }
    let mut text = without_time_of_day(line);
    for (old, new) in &RELEASES[..3] {
        text = text.replace(old, new);
    }
    text = figures_out(&text);
    if text.starts_with("     latency   : target=") {
        // Bare numbers before fio 3.42.
        text = text
            .replace("N.NN", "N")
            .replace("Nns", "N")
            .replace("Nus", "N")
            .replace("Nms", "N")
            .replace("Ns", "N");
    }
    let (sectors, nothing) = RELEASES[3];
    text = text.replace(sectors, nothing);
    for unit in ["(nsec)", "(usec)", "(msec)"] {
        text = text.replace(unit, "(TIME)");
    }
    Some(text)
}

/// Removes everything after the process ID in the first line of a block.
fn without_time_of_day(line: &str) -> String {
    match (line.contains("(groupid="), line.find(": pid=")) {
        (true, Some(end)) => format!("{}: pid=PID: CTIME", &line[..end]),
        _ => line.into(),
    }
}

/// Replaces every figure by its kind. Digits within words are kept.
fn figures_out(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let before = &rest[..start];
        text += before;
        let in_word = before.chars().last().or(text.chars().last()).is_some_and(char::is_alphabetic);
        let figure_end =
            rest[start..].find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len() - start);
        let figure = &rest[start..start + figure_end];
        rest = &rest[start + figure_end..];
        if in_word {
            text += figure;
            continue;
        }
        // Right-aligned columns have varying numbers of spaces.
        while text.ends_with("= ") {
            text.pop();
        }
        let scaled = ["min=", "max=", "IOPS="].iter().any(|label| text.ends_with(label));
        rest = push_kind(&mut text, figure, rest, scaled);
    }
    text + rest
}

/// Appends the kind of a figure followed by `rest`; returns the text after its unit.
fn push_kind<'a>(text: &mut String, figure: &str, rest: &'a str, scaled: bool) -> &'a str {
    let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let unit_end = letters + if rest[letters..].starts_with("/s") { 2 } else { 0 };
    let (unit, after) = rest.split_at(unit_end);
    if unit.ends_with("B/s") || unit.ends_with("bit/s") {
        *text += "RATE";
        return after;
    }
    if unit.ends_with('B') && unit.len() <= 3 {
        *text += "SIZE";
        return after;
    }
    if scaled || matches!(unit, "k" | "M" | "G") {
        *text += "COUNT";
        return rest.strip_prefix(['k', 'M', 'G']).unwrap_or(rest);
    }
    match figure.split_once('.') {
        Some((_, decimals)) => *text += &format!("N.{}", "N".repeat(decimals.len())),
        None => text.push('N'),
    }
    rest
}

#[test]
fn labels_stay_and_figures_go() {
    assert_eq!(
        figures_out("  read: IOPS=13.5k, BW=842MiB/s (883MB/s)(16.0MiB/19msec)"),
        "  read: IOPS=COUNT, BW=RATE (RATE)(SIZE/Nmsec)"
    );
    assert_eq!(
        figures_out("    clat (nsec): min=612, max=4556.1k, avg=107280.82, stdev= 0.00"),
        "    clat (nsec): min=COUNT, max=COUNT, avg=N.NN, stdev=N.NN"
    );
    assert_eq!(figures_out("  cpu          : usr=5.60%, ctx=4099"), "  cpu          : usr=N.NN%, ctx=N");
    assert_eq!(figures_out("job4k: (g=0): bs=(R) 4096B-64.0KiB"), "job4k: (g=N): bs=(R) SIZE-SIZE");
}

#[test]
fn releases_and_chance_are_folded() {
    let old = "fio-3.33\n\na: (groupid=0, jobs=1): err= 0: pid=1: Sat Nov 21 02:04:52 2026\n  write: IOPS=1, BW=1B/s (1B/s)(1B/1msec); 0 zone resets\n    clat (usec): min=1, max=2, avg= 3.00, stdev=12.00\n     |  1.00th=[    3],\n     | 99.99th=[  269]\n   bw (  KiB/s): min=1\n  lat (usec)   : 4=91.02%\n  lat (usec)   : 250=0.10%\n     latency   : target=0, window=0, percentile=100.00%, depth=1\n  vda: ios=0/0, merge=0/0, ticks=0/0, in_queue=0, util=0.00%";
    let new = "fio-3.42\n\na: (groupid=0, jobs=1): err= 0: pid=22222: Sun Nov  1 02:04:52 2026\n  write: IOPS=13.5k, BW=1.25MiB/s (1MB/s)(1B/1msec)\n    clat (nsec): min=1.5k, max=2, avg=33.00, stdev= 2.00\n     |  1.00th=[    3], 99.99th=[  269]\n  lat (nsec)   : 4=91.02%\n     latency   : target=0.00ns, window=0.00ns, percentile=100.00%, depth=1\n  vda: ios=10/0, sectors=80/0, merge=0/0, ticks=1/0, in_queue=1, util=0.10%";
    assert_eq!(of(old), of(new));
    assert_ne!(of(old), of(&new.replace("clat", "slat")));
    assert_ne!(of(old), of(&new.replace("avg=33.00", "avg=33.000")));
}
