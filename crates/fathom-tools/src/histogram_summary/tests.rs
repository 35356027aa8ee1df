use super::*;
use std::fmt::Write as _;

/// A log whose lines have `count` I/Os in one bin each: time, direction, bin, count.
fn log(coarseness: u32, lines: &[(u64, u8, usize, u64)]) -> String {
    let mut text = String::new();
    for (time, direction, bin, count) in lines {
        let mut bins = vec![0; 1856 >> coarseness];
        bins[*bin] = *count;
        let bins: Vec<String> = bins.iter().map(u64::to_string).collect();
        let _ = writeln!(text, "{time}, {direction}, 4096, {}", bins.join(", "));
    }
    text
}

fn printed(main: crate::ToolMain, options: &str, logs: &[String]) -> String {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut words: Vec<OsString> = options.split_whitespace().map(OsString::from).collect();
    for (number, log) in logs.iter().enumerate() {
        let path = directory.path().join(format!("p_clat_hist.{number}.log"));
        std::fs::write(&path, log).expect("it can be written");
        words.push(path.into());
    }
    let (mut out, mut err) = (Vec::new(), Vec::new());
    match main(&words, &mut Streams { out: &mut out, err: &mut err }) {
        Ok(_) => String::from_utf8(out).expect("text"),
        Err(failure) => failure.to_string(),
    }
}

#[test]
fn windows_are_dealt_out_by_overlap() {
    // Windows are 800 ms long, so the second overlaps two intervals, the first of them by a quarter.
    let one = log(0, &[(800, 0, 100, 10), (1600, 0, 200, 8)]);
    let csv = printed(run, "--format=csv --percentiles=0,100 --unit=nsec", &[one]);
    // Bin 200 holds 288..292 ns.
    assert_eq!(
        csv,
        "end_ms,samples,mean,p0,p100\n1000,12,132.083,100.000,292.000\n2000,6,290.000,288.000,292.000\n\
         all,18,184.722,100.000,292.000\n"
    );
}

#[test]
fn the_unit_is_named() {
    let one = log(0, &[(500, 0, 110, 62)]);
    assert!(printed(run, "--percentiles=50", std::slice::from_ref(&one)).starts_with("Latencies in usec\n"));
    assert!(printed(run, "--unit=msec", std::slice::from_ref(&one)).starts_with("Latencies in msec\n"));
    assert!(printed(run, "--format=json --unit=nsec", &[one]).contains("\"unit\": \"nsec\""));
}

#[test]
fn logs_of_several_jobs_and_coarsenesses_merge() {
    let fine = log(0, &[(1000, 0, 130, 5)]);
    let coarse = log(6, &[(1000, 1, 2, 5)]);
    // Bin 130 is one of the 64 bins from 128 to 255 ns that are merged into bin 2 of the coarse log.
    let csv =
        printed(run, "--format=csv --percentiles=0,50,100 --unit=nsec", &[fine.clone(), coarse.clone()]);
    assert_eq!(csv.lines().nth(1), Some("1000,10,192.000,128.000,192.000,256.000"));
    let reads = printed(run, "--format=csv --percentiles=0 --unit=nsec --direction=read", &[fine, coarse]);
    assert_eq!(reads.lines().nth(1), Some("1000,5,133.000,132.000"));
}

#[test]
fn percentiles_as_fio_prints_them() {
    let one = log(0, &[(500, 0, 110, 62), (1000, 0, 490, 1)]);
    let text = printed(fio_programs::percentiles, "--", &[one]);
    assert!(text.starts_with("fio version = 3\nbucket groups = 29\nbucket bits = 6\n"), "{text}");
    assert!(
        text.ends_with(
            "\nmsec-since-start, samples, min, median, 95.0, 99.0, max, \n       0,       63, 0.11, 0.110508, 0.110965, 6.80768, 6.848\n"
        ),
        "{text}"
    );
    let two = log(0, &[(1000, 0, 490, 4)]);
    let text = printed(
        fio_programs::percentiles,
        "--percentiles 100 25 --output-unit nsec --time-quantum 2 --",
        &[two],
    );
    assert!(text.ends_with("25.0, max, \n       0,        4, 6800, 6848\n"), "{text}");
}

#[test]
fn weighted_statistics_as_fio_prints_them() {
    let one = log(0, &[(800, 0, 100, 10), (800, 1, 100, 1), (1600, 0, 200, 8)]);
    let text = printed(fio_programs::weighted, "", std::slice::from_ref(&one));
    assert!(
        text.starts_with("end-time, samples, min, avg, median, 90%, 95%, 99%, max\n1000, 13, 100.000, "),
        "{text}"
    );
    let text = printed(fio_programs::weighted, "--noweight --directions -p 99 -d 1000", &[one]);
    let starts: Vec<String> =
        text.lines().skip(1).map(|line| line.split(", ").take(3).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(starts, ["1000 read 10", "1000 write 1", "2000 read 8"]);
}

#[test]
fn any_counts_and_times_can_be_added() {
    let most = u64::MAX;
    let one = log(0, &[(5, 0, 1, most), (9, 0, 2, most)]);
    assert!(printed(run, "", std::slice::from_ref(&one)).contains("all"));
    assert!(printed(run, "", &[log(0, &[(most, 0, 1, 1)])]).contains("use longer intervals"));
}

#[test]
fn mistakes_are_told_by_line() {
    let text = printed(run, "", &["1, 0, 4096, 5, 5\n".to_owned()]);
    assert!(text.ends_with("line 1: 2 bins; expected 1856, or fewer by a power of two"), "{text}");
    assert!(printed(run, "", &["bw\n".to_owned()]).contains("not a line of a histogram log"));
    assert!(printed(run, "", &[String::new()]).contains("no windows"));
}
