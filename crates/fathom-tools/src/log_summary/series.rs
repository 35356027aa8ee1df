//! Bandwidth, IOPS and latency logs as series of samples.

use crate::input;
use fathom_command::Failure;
use fathom_logs::compressed::inflate;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// A value and the time span it covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Milliseconds; the end of the previous sample in the same series.
    pub(crate) start_ms: f64,
    /// Milliseconds.
    pub(crate) end_ms: f64,
    pub(crate) value: f64,
}

/// The samples of one direction in one file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    pub(crate) file: PathBuf,
    /// 0 read, 1 write, 2 trim.
    pub(crate) direction: u8,
    pub(crate) samples: Vec<Sample>,
    /// True if lines are single I/Os instead of windows.
    pub(crate) single_ios: bool,
}

/// The kind of the values of a log, which only its name shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bandwidth,
    Iops,
    Latency,
}

impl Kind {
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Kind::Bandwidth => "Bandwidth in KiB/s",
            Kind::Iops => "IOPS",
            Kind::Latency => "Latencies in ns",
        }
    }
}

impl Series {
    /// Derives the kind from the name that fathom and fio give their logs: `PREFIX_clat.3.log`, compressed or
    /// not.
    pub(crate) fn kind(&self) -> Option<Kind> {
        let name = self.file.file_name()?.to_str()?;
        let (_, kind) = name.split('.').next()?.rsplit_once('_')?;
        match kind {
            "bw" => Some(Kind::Bandwidth),
            "iops" => Some(Kind::Iops),
            "lat" | "clat" | "slat" => Some(Kind::Latency),
            _ => None,
        }
    }
}

/// The first fields of a line; the rest is not needed here.
struct Line {
    time_ms: f64,
    value: f64,
    /// Direction and block size, or second value, direction and block size (`log_window_value=both`).
    rest: [u64; 3],
}

/// The series of all files; a file has one per direction. Compressed logs are supported.
pub(crate) fn read(files: &[PathBuf], direction: Option<u8>) -> Result<Vec<Series>, Failure> {
    let mut all = Vec::new();
    for file in files {
        let mut lines = Vec::new();
        let mut reader = open_log(file)?;
        input::lines(file, &mut reader, |line| {
            lines.push(parse(line).ok_or("not a line of a bandwidth, IOPS or latency log")?);
            Ok::<(), &str>(())
        })?;
        all.extend(
            series_of(file, &lines)
                .into_iter()
                .filter(|series| direction.is_none_or(|direction| direction == series.direction)),
        );
    }
    if all.is_empty() {
        return Err(Failure::new("the logs have no samples"));
    }
    if all.iter().any(|series| series.single_ios) && !all.iter().all(|series| series.single_ios) {
        return Err(Failure::new(
            "some logs have a line per I/O and some have averages (log_avg_msec); read them separately",
        ));
    }
    Ok(all)
}

/// A log as text. A compressed one is recognized by the header of its first zlib stream.
pub(crate) fn open_log(file: &Path) -> Result<Box<dyn BufRead>, Failure> {
    let mut reader = input::open(file)?;
    let start = reader.fill_buf().map_err(|error| Failure::file(file, &error))?;
    if start.first() != Some(&0x78) {
        return Ok(reader);
    }
    let mut text = Vec::new();
    inflate(&mut reader, &mut text).map_err(|error| Failure::file(file, &error))?;
    Ok(Box::new(std::io::Cursor::new(text)))
}

fn parse(line: &str) -> Option<Line> {
    let mut fields = line.split(',').map(str::trim);
    let time_ms = fields.next()?.parse::<u64>().ok()? as f64;
    let value = fields.next()?.parse::<u64>().ok()? as f64;
    let rest = [fields.next()?.parse().ok()?, fields.next()?.parse().ok()?];
    let next = fields.next().and_then(|field| field.parse().ok()).unwrap_or(0);
    Some(Line { time_ms, value, rest: [rest[0], rest[1], next] })
}

fn series_of(file: &Path, lines: &[Line]) -> Vec<Series> {
    // A third field above 2 cannot be a direction, so it is the maximum of a window. A fourth field below 3
    // cannot be a block size, so the next one is.
    let is_single = |line: &Line| line.rest[0] == 0 && line.rest[1] <= 2 && line.rest[2] > 2;
    let with_maximum = lines.iter().any(|line| line.rest[0] > 2 || is_single(line));
    let direction_of = |line: &Line| if with_maximum { line.rest[1] } else { line.rest[0] };
    (0..3u8)
        .filter_map(|direction| {
            let own: Vec<&Line> =
                lines.iter().filter(|line| direction_of(line) == u64::from(direction)).collect();
            let first = own.first()?;
            let mut start_ms = match own.get(1) {
                // The first window is assumed to be as long as the second, because times may be relative to
                // another epoch.
                Some(second) => (first.time_ms - (second.time_ms - first.time_ms)).max(0.0),
                None => 0.0,
            };
            let samples = own
                .iter()
                .map(|line| {
                    let sample = Sample { start_ms, end_ms: line.time_ms.max(start_ms), value: line.value };
                    start_ms = sample.end_ms;
                    sample
                })
                .collect();
            // Only single I/Os have a block size other than 0.
            let single_ios = own.iter().any(|line| line.rest[1 + usize::from(with_maximum)] != 0);
            Some(Series { file: file.to_owned(), direction, samples, single_ios })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(text: &str) -> Vec<Series> {
        let lines: Vec<Line> = text.lines().map(|line| parse(line).expect("a line")).collect();
        series_of(Path::new("log"), &lines)
    }

    #[test]
    fn directions_are_series_of_their_own() {
        let all = series("500, 10, 0, 0, 0\n500, 20, 1, 0, 0\n1000, 30, 0, 0, 0\n1000, 40, 1, 0, 0\n");
        assert_eq!(all.len(), 2);
        let second = Sample { start_ms: 500.0, end_ms: 1000.0, value: 40.0 };
        assert_eq!((all[1].direction, all[1].samples[1]), (1, second));
        assert!(!all[1].single_ios);
    }

    #[test]
    fn columns_are_told_apart() {
        assert_eq!(series("500, 256, 300, 1, 0, 0\n")[0].direction, 1);
        assert!(series("3, 256, 0, 4096, 0\n")[0].single_ios);
        let single = &series("3, 256, 0, 1, 4096, 0\n3, 256, 0, 1, 4096, 4096, 0\n")[0];
        assert!(single.single_ios && single.direction == 1 && single.samples.len() == 2);
        assert!(parse("500, x, 0, 0").is_none() && parse("500, 1").is_none());
    }
}
