use super::*;

const DOCUMENT: &str = r#"{
  "fio version" : "fio-3.33", "timestamp" : 1711704325, "time" : "Fri Mar 29 10:25:30 2024",
  "global options" : { "direct" : "1", "ioengine" : "libaio" },
  "jobs" : [ { "jobname" : "a", "groupid" : 0, "error" : 0, "job options" : { "rw" : "randread", "direct" : "0", "group_reporting" : null },
    "read" : { "io_bytes" : 4096, "bw_bytes" : 4096, "iops" : 1.000000, "runtime" : 1000, "total_ios" : 1,
      "clat_ns" : { "min" : 100, "max" : 540, "mean" : 100.5, "stddev" : 0.0, "N" : 1,
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
    let clat = &job.read.as_ref().expect("reads").clat;
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
    assert_eq!(result.jobs[0].io_bytes(fathom_stats::Direction::Read), 8192);
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
    let read = result.jobs[0].read.as_ref().expect("reads");
    assert_eq!(read.io_bytes.checked_mul(1000), Some(1000 << 53));
    let count = read.clat.histogram().expect("bins").count();
    assert!(count.checked_mul(1000).is_some(), "{count}");
    let interval = format!(
        r#"{{"interval":{{"end_ms":{wrapped},"jobs":[{{"read":{{"io_bytes":{wrapped},"clat_ns":{{"bins":{{"1":{wrapped}}}}}}}}}]}},"#
    );
    let line = text.replace('\n', " ").replacen('{', &interval, 1);
    let timeline = parse(&line, "r.jsonl").expect("reads").timeline.expect("a timeline");
    assert_eq!(timeline.jobs[0].points[0].read.io_bytes, 1 << 53);
    assert_eq!(timeline.jobs[0].points[0].read.clat_bins.values().sum::<u64>(), 1 << 45);
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
fn lines_have_a_timeline() {
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
    let timeline = result.timeline.expect("a timeline");
    assert_eq!(timeline.interval_ms, 1000);
    let ends: Vec<u64> = timeline.jobs[0].points.iter().map(|point| point.end_ms).collect();
    assert_eq!(ends, [1000, 2000]);
    assert_eq!(timeline.jobs[0].points[1].read.clat_bins.values().sum::<u64>(), 2);
    // A very short last line has no rate of its own and is merged into the previous point.
    let text = format!("{}{}{}", line(1000, false), line(2000, false), line(2003, true));
    let timeline = parse(&text, "r.jsonl").expect("reads").timeline.expect("a timeline");
    let points = &timeline.jobs[0].points;
    assert_eq!((points.len(), points[1].end_ms, points[1].read.total_ios), (2, 2003, 4));
    assert_eq!(points[1].read.clat_bins.values().sum::<u64>(), 4);
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

#[test]
fn hosts_have_results_of_their_own() {
    let members = DOCUMENT.find("\"jobs\"").expect("it has jobs");
    let end = DOCUMENT.rfind('}').expect("it ends");
    let results = &DOCUMENT[members..end];
    let hosts = format!(
        r#""fathom hosts" : {{
          "hosts" : [
            {{ "name" : "a", "host_name" : "a.org", "groups" : [ "g" ], "transport" : "ssh", "state" : "whole", "start_skew_ns" : -5,
              "first_done_ms" : 7, "last_done_ms" : 8, "errors" : 1,
              "read" : {{ "total_ios" : 3, "bw_bytes" : 4096.0, "iops" : 1.5, "p50_ns" : 5, "p99_ns" : 6, "p99_9_ns" : 7, "max_ns" : 8 }},
              "straggling" : [ {{ "direction" : "read", "figure" : "rate", "value" : 1.0, "median" : 2.0, "text" : "slow\u001b[2J" }} ],
              "fathom hosts" : {{ "hosts" : [ {{ "name" : "inner" }} ] }}, {results} }},
            {{ "name" : "b", "state" : "lost", "reason" : "gone", "snapshot_ms" : 2500 }},
            {{ "name" : "c", "state" : "never began", "reason" : "no" }}
          ],
          "skew" : {{ "median_ns" : 5, "largest_ns" : 6, "clock_bound_ns" : 7 }},
          "overlap" : {{ "begin_ms" : 1, "end_ms" : 7, "read" : {{ "bw_bytes" : 9.5, "iops" : 2 }} }}
        }}, "jobs""#
    );
    let result = parse(&DOCUMENT.replacen("\"jobs\"", &hosts, 1), "r.json").expect("reads");
    assert!(result.is_of_fathom());
    let hosts = result.hosts.as_ref().expect("there are hosts");
    let first = &hosts.hosts[0];
    assert_eq!(
        (&*first.name, &*first.host_name, &*first.groups[0], &*first.transport),
        ("a", "a.org", "g", "ssh")
    );
    assert_eq!(
        (first.start_skew_ns, first.first_done_ms, first.last_done_ms, first.errors),
        (Some(-5), Some(7), Some(8), 1)
    );
    let [Some(read), None, None] = first.directions() else { panic!("{first:?}") };
    assert_eq!((read.total_ios, read.bytes_per_second, read.iops), (3, 4096.0, 1.5));
    assert_eq!((read.p50_ns, read.p99_ns, read.p99_9_ns, read.max_ns), (Some(5), Some(6), Some(7), Some(8)));
    assert_eq!(first.remark(), "slow\u{fffd}[2J");
    assert_eq!(hosts.hosts[1].remark(), "gone (figures of its first 2.5 s)");
    assert_eq!(hosts.hosts[2].remark(), "no");
    // If there is one host, its own result is the result of the run, with the options of the whole document.
    let own = &first.result;
    assert_eq!((&own.jobs, &own.disk_util), (&result.jobs, &result.disk_util));
    assert_eq!(own.option(&own.jobs[0], "ioengine"), Some("libaio"));
    assert_eq!((&*own.source, own.hosts.is_none(), own.timestamp), ("a", true, Some(1_711_704_325)));
    let overlap = hosts.overlap.as_ref().expect("there is one");
    assert_eq!((overlap.begin_ms, overlap.end_ms), (1, 7));
    assert_eq!(overlap.directions()[0].map(|read| (read.bytes_per_second, read.iops)), Some((9.5, 2.0)));
    assert_eq!(
        hosts.skew.as_ref().map(|skew| (skew.median_ns, skew.largest_ns, skew.clock_bound_ns)),
        Some((5, 6, Some(7)))
    );
}
