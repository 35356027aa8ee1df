//! Shows how a distribution of random offsets loads a data set: the share of the I/Os that the most popular blocks receive.

use crate::{FioProgram, Tool};
use arguments::Format;
use fathom_command::{Failure, Streams, arguments};
use fathom_random::Sampler;
use lexopt::Arg::{Long, Short, Value};
use serde_json::json;
use std::ffi::OsString;

pub(crate) const TOOL: Tool = Tool {
    name: "distribution",
    summary: "Show how zipf, pareto or normal offsets spread over a data set",
    help: "\
Usage: fathom distribution [OPTION...] [zipf[:THETA]|pareto[:POWER]|normal[:DEVIATION]]

Draws one offset per block of a data set and prints the share of hits of the blocks, most popular first. Blocks without
hits are not ranked. Default zipf:1.2; pareto means pareto:0.3, normal means normal:20. The distributions are those of
random_distribution=.

  --size=SIZE              data set; default 500g
  --block-size=SIZE        default 4k
  --rows=N                 rows of the table; default 20
  --percent=P              also print how much of the data set gets P percent of the hits
  --ranks                  print the hits of each block, most popular first, instead of the table
  --seed=N                 seed of the random numbers; default 1
  --format=text|csv|json   default text
",
    run,
    fio_programs: &[FioProgram { name: "fio-genzipf", run: run_as_fio }],
};

/// Limit on the number of rows.
const MOST_ROWS: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Zipf,
    Pareto,
    Normal,
}

impl Kind {
    fn by_name(name: &str) -> Option<Kind> {
        [Kind::Zipf, Kind::Pareto, Kind::Normal]
            .into_iter()
            .find(|kind| kind.title().eq_ignore_ascii_case(name))
    }

    fn title(self) -> &'static str {
        match self {
            Kind::Zipf => "Zipf",
            Kind::Pareto => "Pareto",
            Kind::Normal => "Normal",
        }
    }

    fn usual_input(self) -> f64 {
        match self {
            Kind::Zipf => 1.2,
            Kind::Pareto => 0.3,
            Kind::Normal => 20.0,
        }
    }
}

#[derive(Debug)]
struct Options {
    kind: Kind,
    /// Exponent, power, or deviation in percent.
    input: Option<f64>,
    bytes: u64,
    block_size: u64,
    rows: u64,
    percent: Option<f64>,
    ranks: bool,
    seed: u64,
    format: Format,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            kind: Kind::Zipf,
            input: None,
            bytes: 500 << 30,
            block_size: 4096,
            rows: 20,
            percent: None,
            ranks: false,
            seed: 1,
            format: Format::Text,
        }
    }
}

fn run(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let mut options = Options::default();
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Long("size") => options.bytes = arguments::size(&mut parser, "--size")?,
            Long("block-size") | Short('b') => {
                options.block_size = arguments::size(&mut parser, "--block-size")?;
            }
            Long("rows") => options.rows = arguments::number(&mut parser, "--rows", 1)?,
            Long("percent") => options.percent = Some(arguments::fraction(&mut parser, "--percent")?),
            Long("ranks") => options.ranks = true,
            Long("seed") => options.seed = arguments::number(&mut parser, "--seed", 0)?,
            Long("format") => {
                let offered = [Format::Text, Format::Csv, Format::Json];
                options.format = arguments::format(&mut parser, &offered)?;
            }
            Value(value) => (options.kind, options.input) = parse_distribution(&value.to_string_lossy())?,
            other => return Err(other.unexpected().into()),
        }
    }
    let hits = Hits::draw(&options)?;
    print_hits(&options, &hits, streams)
}

/// A distribution such as `zipf:1.1`.
fn parse_distribution(text: &str) -> Result<(Kind, Option<f64>), Failure> {
    let (name, input) = text.split_once(':').map_or((text, None), |(name, input)| (name, Some(input)));
    let wrong = || {
        Failure::new(format!(
            "`{text}` is not a distribution; write for example zipf:1.2, pareto:0.3, normal:20"
        ))
    };
    let kind = Kind::by_name(name).ok_or_else(wrong)?;
    let input =
        input.map(|input| input.parse::<f64>().ok().filter(|input| input.is_finite()).ok_or_else(wrong));
    Ok((kind, input.transpose()?))
}

const FIO_USAGE: &str = "\
genzipf: shows how random offsets spread over a data set
\t-h\tThis text
\t-p\tData set that gets this percentage of the hits
\t-t\tDistribution (zipf, pareto, or normal)
\t-i\tIts parameter (zipf theta, pareto power,
\t\tor normal deviation in percent)
\t-b\tBlock size in bytes
\t-g\tSize of the data set in gigabytes
\t-o\tRows of the table
\t-c\tPrint CSV";

fn run_as_fio(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let mut options = Options::default();
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Short('h') => {
                writeln!(streams.out, "{FIO_USAGE}")?;
                return Ok(1);
            }
            Short('t') => {
                let name = arguments::text(&mut parser, "-t")?;
                // fio-genzipf ignores the text after the name; here it is the parameter, as in a job.
                let Ok((kind, input)) = parse_distribution(&name) else {
                    writeln!(streams.out, "wrong dist type: {name}")?;
                    return Ok(1);
                };
                options.kind = kind;
                options.input = input.or(options.input);
            }
            Short('i') => options.input = Some(arguments::fraction(&mut parser, "-i")?),
            Short('b') => options.block_size = arguments::size(&mut parser, "-b")?,
            Short('g') => {
                let gigabytes = arguments::number(&mut parser, "-g", 0)?;
                let bytes = gigabytes.checked_mul(1 << 30);
                options.bytes =
                    bytes.ok_or_else(|| Failure::new(format!("-g: {gigabytes} GiB is too much")))?;
            }
            Short('o') => options.rows = arguments::number(&mut parser, "-o", 1)?,
            Short('p') => {
                let percent = arguments::fraction(&mut parser, "-p")?;
                options.percent = (percent != 0.0).then_some(percent);
            }
            Short('c') => (options.ranks, options.format) = (true, Format::Csv),
            Value(_) => {}
            other => return Err(other.unexpected().into()),
        }
    }
    let hits = Hits::draw(&options)?;
    if !options.ranks {
        let (title, input) = (options.kind.title(), options.input());
        let (gigabytes, block_size) = (options.bytes >> 30, options.block_size);
        writeln!(
            streams.out,
            "Generating {title} distribution with {input:.6} input and {gigabytes} GiB size and {block_size} block_size."
        )?;
    }
    print_hits(&options, &hits, streams)
}

impl Options {
    fn input(&self) -> f64 {
        self.input.unwrap_or(self.kind.usual_input())
    }

    fn sampler(&self, blocks: u64) -> Result<Sampler, Failure> {
        let input = self.input();
        let wrong = |what: &str| Err(Failure::new(format!("{what}; {input} is not")));
        match self.kind {
            Kind::Zipf if input <= 0.0 || input == 1.0 => wrong("zipf input must be above 0 and not 1.0"),
            Kind::Pareto if input <= 0.0 || input >= 1.0 => wrong("pareto input must be > 0.00 and < 1.00"),
            Kind::Normal if input <= 0.0 || input > 100.0 => {
                wrong("normal input must be above 0 and at most 100")
            }
            Kind::Zipf => Ok(Sampler::zipf(input, None, blocks, self.seed)),
            Kind::Pareto => Ok(Sampler::pareto(input, None, blocks, self.seed)),
            Kind::Normal => Ok(Sampler::normal(input, None, blocks, self.seed)),
        }
    }
}

/// Hits of the blocks, the most popular first; blocks without hits are omitted.
#[derive(Debug)]
struct Hits {
    by_rank: Vec<u32>,
    total: u64,
}

/// One row of the table.
#[derive(Debug, PartialEq)]
struct Row {
    /// Blocks up to this row, in percent of the table.
    blocks_percent: f64,
    hits: u64,
    hits_percent: f64,
    sum_percent: f64,
}

impl Hits {
    /// One draw per block.
    fn draw(options: &Options) -> Result<Hits, Failure> {
        if options.block_size == 0 {
            return Err(Failure::new("a block size of 0 bytes gives no blocks"));
        }
        if options.rows > MOST_ROWS {
            return Err(Failure::new(format!(
                "{} rows exceed the limit of {MOST_ROWS}; --ranks (-c) lists each block",
                options.rows
            )));
        }
        if options.percent.is_some_and(|percent| !(0.0..=100.0).contains(&percent)) {
            return Err(Failure::new("the percentage of hits must be between 0 and 100"));
        }
        let total = options.bytes / options.block_size;
        let mut counts: Vec<u32> = Vec::new();
        if counts.try_reserve_exact(total as usize).is_err() {
            return Err(Failure::new(format!(
                "no memory to count the hits of {total} blocks; use a larger block size"
            )));
        }
        counts.resize(total as usize, 0);
        let mut sampler = options.sampler(total.max(2))?;
        for _ in 0..total {
            if let Some(count) = counts.get_mut(sampler.next() as usize) {
                *count += 1;
            }
        }
        counts.sort_unstable_by(|one, other| other.cmp(one));
        let hit = counts.partition_point(|count| *count > 0);
        counts.truncate(hit);
        Ok(Hits { by_rank: counts, total })
    }

    /// The ranked blocks in `count` rows of the same number of blocks; the last has the remainder.
    fn rows(&self, count: u64) -> Vec<Row> {
        let length = (self.by_rank.len() as u64).div_ceil(count) as usize;
        let percent = |hits: u64| if self.total == 0 { 0.0 } else { hits as f64 / self.total as f64 * 100.0 };
        let mut sum = 0;
        (0..count)
            .map(|number| {
                let start = (number as usize).saturating_mul(length).min(self.by_rank.len());
                let end = (start + length).min(self.by_rank.len());
                let hits = self.by_rank[start..end].iter().map(|hits| u64::from(*hits)).sum();
                sum += hits;
                Row {
                    blocks_percent: (number + 1) as f64 / count as f64 * 100.0,
                    hits,
                    hits_percent: percent(hits),
                    sum_percent: percent(sum),
                }
            })
            .collect()
    }

    /// The number of most popular blocks with this percentage of the hits.
    fn blocks_for(&self, percent: f64) -> u64 {
        let wanted = percent / 100.0 * self.total as f64;
        let mut sum = 0u64;
        let short = self.by_rank.iter().take_while(|hits| {
            let is_short = (sum as f64) < wanted;
            sum += u64::from(**hits);
            is_short
        });
        short.count() as u64
    }
}

fn print_hits(options: &Options, hits: &Hits, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    match (options.format, options.ranks) {
        (Format::Json, _) => print_json(options, hits, streams)?,
        (_, true) => {
            writeln!(streams.out, "rank, count")?;
            for (rank, count) in hits.by_rank.iter().enumerate() {
                writeln!(streams.out, "{rank}, {count}")?;
            }
        }
        (Format::Csv, false) => {
            writeln!(streams.out, "blocks_percent,hits_percent,sum_percent,hits,bytes")?;
            for Row { blocks_percent, hits, hits_percent, sum_percent } in hits.rows(options.rows) {
                let bytes = u128::from(hits) * u128::from(options.block_size);
                writeln!(
                    streams.out,
                    "{blocks_percent:.2},{hits_percent:.4},{sum_percent:.4},{hits},{bytes}"
                )?;
            }
        }
        (Format::Text, false) => print_table(options, hits, streams)?,
    }
    Ok(0)
}

const RULE: &str = "-----------------------------------------------------------------------";

fn print_table(options: &Options, hits: &Hits, streams: &mut Streams<'_>) -> Result<(), Failure> {
    if let Some(percent) = options.percent {
        let bytes = hits.blocks_for(percent) as f64 * options.block_size as f64;
        let megabytes = bytes / f64::from(1 << 20);
        writeln!(streams.out, "{percent:.2}% of hits satisfied in {megabytes:.3}MB of cache")?;
    }
    writeln!(streams.out, "\n   Rows           Hits %         Sum %           # Hits          Size\n{RULE}")?;
    for (number, row) in hits.rows(options.rows).iter().enumerate() {
        let start = if number == 0 { "Top" } else { "|->" };
        let (value, unit) = scaled(row.hits as f64 * options.block_size as f64);
        let Row { blocks_percent, hits, hits_percent, sum_percent } = row;
        writeln!(
            streams.out,
            "{start} {blocks_percent:6.2}%\t{hits_percent:6.2}%\t\t{sum_percent:6.2}%\t\t{hits:8}\t{value:6.2}{unit}"
        )?;
    }
    writeln!(streams.out, "{RULE}\nTotal\t\t\t\t\t\t{:8}", hits.total)?;
    Ok(())
}

/// Bytes in the largest unit, from kibibytes on, in which they are at least 1.
fn scaled(bytes: f64) -> (f64, char) {
    let mut value = bytes / 1024.0;
    for unit in ['K', 'M', 'G'] {
        if value < 1024.0 {
            return (value, unit);
        }
        value /= 1024.0;
    }
    (value, 'T')
}

fn print_json(options: &Options, hits: &Hits, streams: &mut Streams<'_>) -> Result<(), Failure> {
    let mut document = json!({
        "distribution": options.kind.title().to_lowercase(),
        "input": options.input(),
        "bytes": options.bytes,
        "block_size": options.block_size,
        "hits": hits.total,
        "blocks_hit": hits.by_rank.len(),
    });
    if let Some(percent) = options.percent {
        let bytes = hits.blocks_for(percent) as f64 * options.block_size as f64;
        document["cache"] = json!({"hits_percent": percent, "bytes": bytes});
    }
    if options.ranks {
        document["ranks"] = json!(hits.by_rank);
    } else {
        let rows: Vec<_> = hits
            .rows(options.rows)
            .iter()
            .map(|row| {
                json!({
                    "blocks_percent": row.blocks_percent, "hits": row.hits,
                    "hits_percent": row.hits_percent, "sum_percent": row.sum_percent
                })
            })
            .collect();
        document["rows"] = json!(rows);
    }
    Ok(writeln!(streams.out, "{document:#}")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn printed(main: crate::ToolMain, words: &str) -> (String, Result<u8, String>) {
        let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let done = main(&words, &mut Streams { out: &mut out, err: &mut err });
        (String::from_utf8(out).expect("text"), done.map_err(|failure| failure.to_string()))
    }

    #[test]
    fn the_popular_blocks_come_first() {
        let hits = Hits { by_rank: vec![6, 2, 1, 1], total: 10 };
        let rows = hits.rows(2);
        assert_eq!(rows.iter().map(|row| row.hits).collect::<Vec<_>>(), [8, 2]);
        assert_eq!(rows[1].sum_percent, 100.0);
        assert_eq!([0.0, 60.0, 61.0, 100.0].map(|percent| hits.blocks_for(percent)), [0, 1, 2, 4]);
    }

    #[test]
    fn inputs_are_checked() {
        for wrong in [
            "zipf:1.0",
            "zipf:0",
            "pareto:2",
            "normal:0",
            "foo",
            "zipf:x",
            "--block-size=0",
            "--percent=101",
            "--rows=9999999",
        ] {
            let (_, done) = printed(run, &format!("--size=1m {wrong}"));
            assert!(done.is_err(), "{wrong}");
        }
        assert_eq!(printed(run_as_fio, "-t foo"), ("wrong dist type: foo\n".to_owned(), Ok(1)));
    }

    #[test]
    fn an_empty_data_set_has_empty_rows() {
        let (text, done) = printed(run_as_fio, "-g 0 -o 1");
        assert_eq!(done, Ok(0));
        assert!(text.contains("\nTop 100.00%\t  0.00%\t\t  0.00%\t\t       0\t  0.00K\n"), "{text}");
    }

    proptest! {
        #[test]
        fn rows_hold_all_hits(by_rank in proptest::collection::vec(1u32..1000, 0..200), count in 1u64..50) {
            let total = by_rank.iter().map(|hits| u64::from(*hits)).sum();
            let rows = Hits { by_rank, total }.rows(count);
            prop_assert_eq!(rows.len() as u64, count);
            prop_assert_eq!(rows.iter().map(|row| row.hits).sum::<u64>(), total);
        }
    }
}
