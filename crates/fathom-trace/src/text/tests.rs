use super::*;
use crate::blktrace::TraceAction;
use crate::side::Note;
use fathom_stats::Direction;
use proptest::prelude::*;

/// An example of each format with two requests, at 1 s and 1.5 s of its clock. The first request took 2 ms, if
/// the format contains response times.
const EXAMPLES: [(&str, &str, bool); 8] = [
    ("MSR", "10000000,hm,1,Read,4096,8192,20000\n15000000,hm,1,Write,512,512,10\n", true),
    ("Alibaba", "419,R,4096,8192,1000000\n419,W,512,512,1500000\n", false),
    ("SPC", "0,8,8192,R,1.0\n0,1,512,w,1.5,more\n", false),
    ("Tencent", "1,8,16,0,1063\n1.5,1,1,1,1063\n", false),
    (
        "FIU",
        "1000000000 4892 syslogd 8 16 R 6 0 531e779e39a6d4dd2cb2d7a5dcd4d8b5\n1500000000 1 x 1 1 W 6 0 00\n",
        false,
    ),
    (
        "blkparse",
        "  8,0    3        1     1.000000000   697  Q   R 8 + 16 [a program]\n  8,0    3        2     1.002000000     0  C   R 8 + 16 [0]\n\
         8,0 3 3 1.5 697 Q W 1 + 1 [x]\nCPU0 (8,0):\n Reads Queued:           1,        4KiB\n",
        true,
    ),
    (
        "biosnoop",
        "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n1.002 a program 7 vda R 8 8192 2.00\n1.51 x 8 vda W 1 512 10\n",
        true,
    ),
    (
        "biosnoop -Q",
        "TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)\n1.002 a program 7 vda R 8 8192 0.5 1.50\n1.51 x 8 vda W 1 512 1 9\n",
        true,
    ),
];

fn events(text: &str) -> (Vec<Event>, Complaints) {
    let mut trace = TextTrace::open(text.as_bytes(), Vec::new()).expect("a trace");
    let (mut all, mut message) = (Vec::new(), Vec::new());
    while let Some(event) = trace.next(&mut message).expect("readable") {
        all.push(event);
    }
    (all, std::mem::take(trace.complaints()))
}

#[test]
fn every_format_gives_the_same_requests() {
    for (name, text, has_ends) in EXAMPLES {
        let (all, complaints) = events(text);
        assert_eq!(complaints, Complaints::default(), "{name}");
        let requests = all.iter().filter(|event| event.action == TraceAction::Queue);
        let found: Vec<_> =
            requests.map(|event| (event.time_ns, event.direction, event.sector, event.bytes)).collect();
        let wanted = [(1_000_000_000, Direction::Read, 8, 8192), (1_500_000_000, Direction::Write, 1, 512)];
        assert_eq!(found, wanted, "{name}");
        let end = all.iter().find(|event| event.action == TraceAction::Complete);
        assert_eq!(end.map(|event| event.time_ns), has_ends.then_some(1_002_000_000), "{name}");
        let volume = TextTrace::open(text.as_bytes(), Vec::new()).expect("a trace");
        assert!(volume.volumes.names.is_empty(), "{name}: nothing is read before it is asked for");
    }
    let issued = events(EXAMPLES[7].1).0.into_iter().find(|event| event.action == TraceAction::Issue);
    assert_eq!(issued.expect("an issue").time_ns, 1_000_500_000);
}

#[test]
fn volumes_keep_their_names() {
    let text = "10,usr,0,Read,0,512,1\n11,usr,1,Read,0,512,1\n12,usr,0,Write,0,512,1\n";
    let mut trace = TextTrace::open(text.as_bytes(), Vec::new()).expect("a trace");
    let mut names = Vec::new();
    while let Some(event) = trace.next(&mut Vec::new()).expect("readable") {
        if event.action == TraceAction::Queue {
            names.push(trace.volume(event.device).expect("a volume").to_owned());
        }
    }
    assert_eq!(names, ["usr.0", "usr.1", "usr.0"]);
    assert_eq!(trace.volume(Device { major: 8, minor: 0 }), None);
}

#[test]
fn requests_are_ordered_by_arrival_where_lines_are_by_completion() {
    let heading = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n";
    let (all, complaints) =
        events(&format!("{heading}1.0 x 1 vda R 8 512 1\n1.1 x 1 vda R 16 512 900\n0.0 x 1 vda F 0 0 1\n"));
    let sectors: Vec<(u64, TraceAction)> = all.iter().map(|event| (event.sector, event.action)).collect();
    assert_eq!(
        sectors,
        [
            (16, TraceAction::Queue),
            (8, TraceAction::Queue),
            (8, TraceAction::Complete),
            (16, TraceAction::Complete)
        ]
    );
    assert_eq!(complaints.count, 0, "a flush has no place and is no mistake");
}

#[test]
fn lines_far_out_of_order_are_counted() {
    let mut text: String = (0..ORDERED + 10).map(|line| format!("1,R,0,512,{}\n", 1000 + line)).collect();
    text.push_str("1,R,0,512,5\n");
    let (all, complaints) = events(&text);
    assert_eq!((all.len(), complaints.count), (ORDERED + 11, 1));
    assert!(all.is_sorted_by_key(|event| event.time_ns), "time never goes back");
    assert!(complaints.first[0].contains(&format!("line {}", ORDERED + 11)), "{complaints:?}");
}

#[test]
fn bad_lines_are_counted_and_named() {
    let long = "x".repeat(LONGEST_LINE as usize + 5);
    let text = format!(
        "timestamp,host,disk,type,offset,size,response\n1,h,0,Read,0,512,1\n\n2,h,0,Frob,0,512,1\n3,h,0,Read,7,512,1\n\
         4,h,0,Read,0,0,1\n5,h,0,Read,0,5000000000,1\n6,h,0\n{long}\n7,h,0,Read,0,512,x\n8,h,0,Write,0,512,1"
    );
    let (all, complaints) = events(&text);
    assert_eq!(all.iter().filter(|event| event.action == TraceAction::Queue).count(), 2);
    assert_eq!(complaints.count, 7);
    let told = complaints.first.join("\n");
    for wanted in [
        "line 4 is skipped: its type is neither Read nor Write: 2,h,0,Frob",
        "line 5 is skipped: its offset is not a multiple of 512",
        "line 6 is skipped: it moves no bytes",
        "line 7 is skipped: it is longer than 4 GiB",
        "line 8 is skipped",
        "line 9 is skipped: it has more than 16384 bytes",
        "line 10 is skipped: its response time",
    ] {
        assert!(told.contains(wanted), "{wanted} in {told}");
    }
}

#[test]
fn text_of_no_known_format_is_refused() {
    for text in [
        "",
        "fio version 1 iolog\n",
        "hello\nworld\n",
        "1,2,3\n",
        "TIME(ms) DISK COMM PID LAT(ms)\n0 vda x 1 2\n",
    ] {
        assert!(TextTrace::open(text.as_bytes(), Vec::new()).is_err(), "{text}");
    }
    let places =
        TextTrace::open(&b"TIME(ms) DISK COMM PID LAT(ms)\n"[..], Vec::new()).err().expect("an error");
    assert!(places.to_string().contains("SECTOR"), "{places}");
}

#[test]
fn messages_of_a_printed_trace_keep_the_side_section() {
    let text = "8,0 1 0 0.5 0 m N fathom {\"lost\":{\"cpu\":1,\"events\":7,\"after_ns\":1,\"before_ns\":2}}\n8,0 1 1 1.0 1 Q FWFSM 8 + 8 [x]\n\
                8,0 1 2 1.1 1 Q FN [x]\n8,0 1 3 1.2 1 C WS 8 + 8 [65531]\n8,0 1 4 1.2 1 C WS 8 + 8 [-5]\n";
    let mut trace = TextTrace::open(text.as_bytes(), Vec::new()).expect("a trace");
    let mut message = Vec::new();
    let first = trace.next(&mut message).expect("readable").expect("an event");
    assert_eq!(first.action, TraceAction::Note);
    assert!(matches!(Note::of_payload(&message), Some(Note::Lost(lost)) if lost.events == Some(7)));
    let write = trace.next(&mut message).expect("readable").expect("an event");
    assert!(write.flushes && message.is_empty(), "{write:?}");
    let flush = trace.next(&mut message).expect("readable").expect("an event");
    assert_eq!((flush.flushes, flush.bytes), (true, 0));
    let mut error = || trace.next(&mut message).expect("readable").expect("an event").error;
    assert_eq!((error(), error()), (5, 5));
}

proptest! {
    #[test]
    fn any_text_after_any_format_is_read_to_an_end(
        format in 0..EXAMPLES.len(), bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 0usize..200
    ) {
        let text = EXAMPLES[format].1.as_bytes();
        let all = [text, &bytes, &text[..cut.min(text.len())]].concat();
        let mut trace = TextTrace::open(&all[..], Vec::new()).expect("a trace");
        let mut latest = 0;
        while let Some(event) = trace.next(&mut Vec::new()).expect("readable") {
            prop_assert!(event.time_ns >= latest);
            latest = event.time_ns;
        }
    }
}
