use super::*;

const DOCUMENT: &str = r#"{
  "fio version" : "fio-3.33", "timestamp" : 1711704325, "time" : "Fri Mar 29 10:25:30 2024",
  "global options" : { "direct" : "1", "ioengine" : "libaio" },
  "jobs" : [ { "jobname" : "a", "groupid" : 0, "error" : 0, "job options" : { "rw" : "randread", "direct" : "0", "group_reporting" : null },
    "read" : { "io_bytes" : 4096, "bw_bytes" : 4096, "iops" : 1.000000, "runtime" : 1000, "total_ios" : 1,
      "clat_ns" : { "min" : 100, "max" : 100, "mean" : 100.5, "stddev" : 0.0, "N" : 1,
        "percentile" : { "99.000000" : 540, "50.000000" : 100 }, "bins" : { "540" : 3, "100" : 5 } } },
    "usr_cpu" : 1.5, "iodepth_level" : { "1" : 100.0, "2" : 0.0, ">=64" : 0.0 } } ],
  "disk_util" : [ { "name" : "sda", "util" : 99.5 } ]
}
"#;

#[test]
fn a_result_is_found_behind_messages() {
    let text = format!("note: both iodepth >= 1 and synchronous I/O engine\n{DOCUMENT}\nrun done\n");
    let result = parse(&text, "r.json").expect("reads");
    let job = &result.jobs[0];
    assert_eq!((result.version.as_str(), job.name.as_str()), ("fio-3.33", "a"));
    let clat = &job.read.clat;
    assert_eq!(clat.percentiles, [(50.0, 100), (99.0, 540)]);
    assert_eq!(clat.percentile(50.0), Some(100.0));
    assert_eq!(clat.percentile(99.0), Some(540.0));
    assert_eq!(clat.histogram().map(|histogram| histogram.count()), Some(8));
    assert_eq!(job.iodepth_level[0], ("1".to_owned(), 100.0));
    assert_eq!(result.option(job, "direct"), Some("0"));
    assert!(!result.is_set(job, "direct") && result.is_set(job, "group_reporting"));
    assert_eq!(result.option(job, "ioengine"), Some("libaio"));
    let names: Vec<&str> = job.options.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["rw", "direct", "group_reporting"], "the order of the document");
    assert_eq!(job.active().len(), 1);
    assert_eq!(result.disk_util[0].util, 99.5);
    assert!(!result.is_of_fathom());
}

#[test]
fn of_several_documents_the_last_is_the_run() {
    let later = DOCUMENT.replace("\"io_bytes\" : 4096", "\"io_bytes\" : 8192");
    let result = parse(&format!("{DOCUMENT}{later}"), "r.json").expect("reads");
    assert_eq!(result.jobs[0].read.io_bytes, 8192);
}

#[test]
fn blanks_and_marks_may_stand_before_a_result() {
    for lead in ["\u{feff}", "  ", "run:\n\t"] {
        assert_eq!(parse(&format!("{lead}{}", DOCUMENT.trim()), "r.json").expect("reads").jobs.len(), 1);
    }
}

#[test]
fn counters_below_zero_do_not_overflow() {
    let wrapped = u64::MAX.to_string();
    let text = DOCUMENT.replace("\"io_bytes\" : 4096", &format!("\"io_bytes\" : {wrapped}"));
    let text = text.replace("\"540\" : 3, \"100\" : 5", &format!("\"540\" : {wrapped}, \"100\" : {wrapped}"));
    let result = parse(&text, "r.json").expect("reads");
    let read = &result.jobs[0].read;
    assert_eq!(read.io_bytes.checked_mul(1000), Some(1000 << 53));
    let count = read.clat.histogram().expect("bins").count();
    assert!(count.checked_mul(1000).is_some(), "{count}");
    let interval = format!(
        r#"{{"interval":{{"end_ms":{wrapped},"jobs":[{{"read":{{"io_bytes":{wrapped},"clat_ns":{{"bins":{{"1":{wrapped}}}}}}}}}]}},"#
    );
    let line = text.replace('\n', " ").replacen('{', &interval, 1);
    let course = parse(&line, "r.jsonl").expect("reads").course.expect("a course");
    assert_eq!(course.jobs[0].points[0].read.io_bytes, 1 << 53);
    assert_eq!(course.jobs[0].points[0].read.clat_bins.values().sum::<u64>(), 1 << 45);
}

#[test]
fn names_stay_on_their_line() {
    let text = DOCUMENT.replace("\"jobname\" : \"a\"", r#""jobname" : "a\nb\u001b[31m\u00e9""#);
    assert_eq!(parse(&text, "r.json").expect("reads").jobs[0].name, "a\u{fffd}b\u{fffd}[31mé");
}

#[test]
fn what_never_ends_is_no_result() {
    let error = |path: &str| read(Path::new(path)).map(|_| ()).map_err(|error| error.to_string());
    assert!(error("/").is_err_and(|error| error.contains("a directory")));
}

#[test]
fn lines_have_a_course() {
    let line = |end: u64, last: bool| {
        let interval = format!(
            r#""interval":{{"number":1,"start_ms":{},"end_ms":{end},"jobs":[{{"jobname":"a","groupid":0,"read":{{"io_bytes":512,"total_ios":2,"clat_ns":{{"bins":{{"100":2}}}}}}}}]}}"#,
            end - 1000
        );
        let document = DOCUMENT.replace('\n', " ");
        format!("{{{interval},\"final\":{last},{}\n", document.trim_start_matches('{').trim_end())
    };
    let half = &line(3000, true)[..100];
    let text = format!("{}{}{half}", line(1000, false), line(2000, false));
    let result = parse(&text, "r.jsonl").expect("reads");
    let course = result.course.expect("a course");
    assert_eq!(course.interval_ms, 1000);
    let ends: Vec<u64> = course.jobs[0].points.iter().map(|point| point.end_ms).collect();
    assert_eq!(ends, [1000, 2000]);
    assert_eq!(course.jobs[0].points[1].read.clat_bins.values().sum::<u64>(), 2);
}

#[test]
fn what_is_no_result_is_told() {
    let error = |text: &str| parse(text, "r.json").map(|_| ()).map_err(|error| error.to_string());
    let says =
        |text: &str, what: &str| assert!(error(text).is_err_and(|error| error.contains(what)), "{text}");
    says("", "no result in it");
    says("fio: no jobs\n", "no result in it");
    says("{ \"fio version\" : ", "truncated");
    says("{ \"fio version\" : nan }", "write the result again");
    says("{}", "neither");
    says("{\"jobs\" : 5}", "not a result of a run");
    says("{\"fio version\" : \"fio-3.42\", \"client_stats\" : [5]}", "not a result of a run");
}
