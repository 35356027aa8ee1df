use super::*;
use crate::latency_csv::document::read_all;
use proptest::prelude::*;
use std::path::Path;

const REPORT: &str = r#"{
  "jobs" : [
    { "jobname" : "a, b", "read" : { "clat_ns" : { "N" : 4, "bins" : { "20" : 1, "9" : 2, "540" : 1 } } },
      "write" : { "lat_ns" : { "bins" : { "20" : 3 } } } }
  ]
}
"#;

fn file_of(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), text).expect("it can be written");
    file
}

fn ran(main: crate::ToolMain, words: &[&Path]) -> (String, Result<u8, String>) {
    let words: Vec<OsString> = words.iter().map(|word| word.as_os_str().to_owned()).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let done = main(&words, &mut Streams { out: &mut out, err: &mut err });
    (String::from_utf8(out).expect("text"), done.map_err(|failure| failure.to_string()))
}

#[test]
fn messages_and_repeated_documents_are_read() {
    let text = format!("fio: a note {{}}\n{REPORT}{REPORT}\nlast words\n");
    let jobs = read_all(&[file_of(&text).path().to_owned()]).expect("jobs");
    assert_eq!(jobs.len(), 2);
    assert_eq!(jobs[0], jobs[1]);
    assert_eq!(
        jobs[0].bins[1].iter().map(|(ns, count)| (*ns, *count)).collect::<Vec<_>>(),
        [(9, 2), (20, 1), (540, 1)]
    );
}

#[test]
fn no_report_is_an_error() {
    for (text, wanted) in [("", "json+"), ("{ \"jobs\" : [", "document 1"), ("{}", "json+")] {
        let error = read_all(&[file_of(text).path().to_owned()]).expect_err("no report").to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn bins_that_cannot_be_read_are_an_error() {
    for (bin, count) in [("x", "1"), ("20", "-1"), ("18446744073709551616", "1"), ("20", "1.5")] {
        let text =
            format!(r#"{{"jobs":[{{"jobname":"a","read":{{"clat_ns":{{"bins":{{"{bin}":{count}}}}}}}}}]}}"#);
        let error = read_all(&[file_of(&text).path().to_owned()]).expect_err("no bin").to_string();
        assert!(error.contains("job a") && error.contains(bin), "{error}");
    }
}

#[test]
fn a_report_without_bins_is_told() {
    let file = file_of(r#"{"jobs":[{"jobname":"a","read":{"clat_ns":{"N":4}}}]}"#);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let done = run(&[file.path().into()], &mut Streams { out: &mut out, err: &mut err });
    assert_eq!(done.ok(), Some(0));
    assert!(String::from_utf8_lossy(&err).contains("--output-format=json+"));
}

#[test]
fn the_long_form_has_a_line_per_bin() {
    let file = file_of(REPORT);
    let (text, done) = ran(run, &[file.path()]);
    assert_eq!(done, Ok(0));
    assert_eq!(
        text,
        "job,jobname,direction,latency,nsec,count,cumulative,percentile\n\
         0,\"a, b\",read,clat_ns,9,2,2,0.5\n0,\"a, b\",read,clat_ns,20,1,3,0.75\n\
         0,\"a, b\",read,clat_ns,540,1,4,1.0\n0,\"a, b\",write,lat_ns,20,3,3,1.0\n"
    );
}

#[test]
fn files_are_written_and_validated() {
    let file = file_of(REPORT);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let stub = directory.path().join("a.b.csv");
    let (text, done) = ran(run_as_fio, &[file.path(), &stub]);
    let written = directory.path().join("a.b_job0.csv");
    assert_eq!((text, done), (format!("{} generated\n", written.display()), Ok(0)));
    let table = std::fs::read_to_string(&written).expect("written");
    let empty = ", , , ";
    assert_eq!(
        table.lines().nth(2),
        Some(format!("20, {empty}1, 3, 0.75, {e}{e}{e}3, 3, 1.0, {e}{e}{e}", e = empty).as_str())
    );

    let check = [Path::new("--validate"), file.path(), &stub];
    assert_eq!(ran(run_as_fio, &check), (format!("{} validated\n", written.display()), Ok(0)));
    std::fs::write(&written, table.replace("9, , , , 2, 2", "9, , , , 3, 2")).expect("it can be written");
    let wanted = format!("mismatch: {} read clat_ns 9 ns\n", written.display());
    assert_eq!(ran(run_as_fio, &check), (wanted, Ok(1)));
}

proptest! {
    #[test]
    fn shares_grow_to_one(bins in proptest::collection::btree_map(0u64..1 << 40, 1u64..1 << 40, 1..50)) {
        let rows = document::cumulated(&bins);
        prop_assert!(rows.windows(2).all(|pair| pair[0].share < pair[1].share));
        prop_assert_eq!(rows.last().map(|row| row.share), Some(1.0));
    }

    #[test]
    fn any_counts_can_be_added(bins in proptest::collection::btree_map(any::<u64>(), any::<u64>(), 1..9)) {
        prop_assert_eq!(document::cumulated(&bins).len(), bins.len());
    }

    #[test]
    fn no_text_breaks_it(text in "[{}\"a: ,0-9\\[\\]\n]{0,60}") {
        let _ = read_all(&[file_of(&text).path().to_owned()]);
    }
}
