//! The dashboard for Grafana: every query runs on a real server, as the role that the documentation makes, and gives
//! what is stored.

use crate::made;
use crate::running::Server;
use fathom_history::{Access, Record, Store};
use postgres::types::Type;
use postgres::{Client, Row};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

const DASHBOARD: &str = include_str!("../../../../packaging/grafana-history.json");
const PAGE: &str = include_str!("../../../../docs/history.md");

/// What the user has chosen: the name of each variable with its values.
type Chosen = BTreeMap<String, Vec<String>>;

/// The limits of the time range, as Grafana writes them.
type Range = (String, String);

/// The time range between seconds since the epoch.
fn range(client: &mut Client, from: i32, to: i32) -> Range {
    let mut text = |seconds: i32| -> String {
        let sql =
            "SELECT to_char(to_timestamp($1::int) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')";
        client.query_one(sql, &[&seconds]).expect("a time").get(0)
    };
    (text(from), text(to))
}

/// SQL as Grafana sends it: macros of the data source and variables are replaced.
fn expanded(sql: &str, chosen: &Chosen, range: &Range) -> String {
    let mut out = String::new();
    let mut rest = sql;
    while let Some((before, after)) = rest.split_once('$') {
        out += before;
        rest = if let Some(after) = after.strip_prefix("__timeFilter(") {
            let (column, after) = after.split_once(')').expect("a column");
            out += &format!("{column} BETWEEN '{}' AND '{}'", range.0, range.1);
            after
        } else {
            let inner = after.strip_prefix('{').unwrap_or_else(|| panic!("an unknown macro: ${after}"));
            let (inner, after) = inner.split_once('}').expect("its end");
            let name = inner.strip_suffix(":sqlstring").unwrap_or_else(|| panic!("{inner} is not quoted"));
            let values = chosen.get(name).unwrap_or_else(|| panic!("the dashboard has no variable {name}"));
            let quoted = values.iter().map(|value| format!("'{}'", value.replace('\'', "''")));
            out += &quoted.collect::<Vec<_>>().join(",");
            after
        };
    }
    out + rest
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}"))
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().unwrap_or_else(|| panic!("no {name} in {value}"))
}

/// All values of all variables, each with those before it, as *All* chooses them; single ones have their default.
fn variables(board: &Value, client: &mut Client, range: &Range) -> Chosen {
    let mut chosen = Chosen::new();
    for variable in list(&board["templating"], "list") {
        let name = text(variable, "name").to_owned();
        let values = match text(variable, "type") {
            "query" => {
                let sql = expanded(text(variable, "query"), &chosen, range);
                let rows = client.query(&sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
                let all: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
                assert!(!all.is_empty(), "{name} has no values");
                match variable["multi"].as_bool() {
                    Some(true) => all,
                    _ => {
                        let usual = text(&variable["current"], "value").to_owned();
                        assert!(all.contains(&usual), "{name}: {all:?}");
                        vec![usual]
                    }
                }
            }
            _ => vec![variable["current"]["value"].as_str().unwrap_or_default().to_owned()],
        };
        chosen.insert(name, values);
    }
    chosen
}

struct Board {
    board: Value,
    client: Client,
    range: Range,
    chosen: Chosen,
}

impl Board {
    fn ask(&mut self, target: &Value) -> Vec<Row> {
        let sql = expanded(text(target, "rawSql"), &self.chosen, &self.range);
        let rows = self.client.query(&sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        if text(target, "format") == "time_series" {
            for row in &rows {
                let columns: Vec<(&str, &Type)> =
                    row.columns().iter().map(|column| (column.name(), column.type_())).collect();
                assert!(matches!(
                    columns[..],
                    [("time", &Type::TIMESTAMPTZ), ("metric", &Type::TEXT), ("value", _)]
                ));
                assert!([Type::FLOAT8, Type::INT8].contains(columns[2].1), "{columns:?}");
            }
        }
        rows
    }

    fn panel(&mut self, title: &str) -> Vec<Row> {
        let panel = list(&self.board, "panels").iter().find(|panel| text(panel, "title").starts_with(title));
        let target = panel.unwrap_or_else(|| panic!("no panel {title}"))["targets"][0].clone();
        self.ask(&target)
    }

    fn annotation(&mut self, name: &str) -> Vec<Row> {
        let all = list(&self.board["annotations"], "list");
        let found = all.iter().find(|annotation| text(annotation, "name") == name).expect("an annotation");
        let target = found["target"].clone();
        self.ask(&target)
    }
}

/// Times in ms, metrics and values of a panel of time series.
fn points(rows: &[Row]) -> Vec<(u64, String, f64)> {
    let time = |row: &Row| {
        let time: std::time::SystemTime = row.get(0);
        time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
    };
    let value = |row: &Row| match row.columns()[2].type_() {
        &Type::INT8 => row.get::<_, i64>(2) as f64,
        _ => row.get(2),
    };
    rows.iter().map(|row| (time(row), row.get(1), value(row))).collect()
}

/// What the panel must show of one figure: a point per run.
fn stored(records: &[Record], figure: &str) -> Vec<(u64, String, f64)> {
    let of_run = |record: &Record| {
        let (job, host) = (&record.jobs[0], &record.hosts[0].name);
        let short = &job.fingerprint[..8];
        let all = job.figures.iter().filter(|one| one.name == figure);
        let point = |one: &fathom_history::record::Figure| {
            let metric = format!("{} {} {host} {} {short}", job.name, one.direction, job.devices.join("+"));
            (record.begun_ms, metric, one.value)
        };
        all.map(point).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = records.iter().flat_map(of_run).collect();
    all.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
    assert!(!all.is_empty(), "{figure}");
    all
}

/// The statements that the page tells an administrator to run.
fn role() -> &'static str {
    let block = PAGE.split("```sql\n").skip(1).map(|part| part.split("```").next().unwrap_or_default());
    block.into_iter().find(|sql| sql.contains("CREATE ROLE grafana")).expect("the role in docs/history.md")
}

fn open(server: &Server, from: i32, to: i32) -> Board {
    let board: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let mut owner = server.client("storage").expect("connects");
    owner.batch_execute(role()).expect("a role");
    let mut config = postgres::Config::new();
    config.host_path(server.directory.path()).port(server.port).user("grafana").dbname("storage");
    let mut client = config.connect(postgres::NoTls).expect("connects");
    for refused in ["SELECT 1 FROM fathom.run", "DELETE FROM fathom.tags", "CREATE TABLE fathom.x (y int)"] {
        let error = client.batch_execute(refused).expect_err(refused);
        assert_eq!(error.code(), Some(&postgres::error::SqlState::INSUFFICIENT_PRIVILEGE), "{refused}");
    }
    let range = range(&mut client, from, to);
    let chosen = variables(&board, &mut client, &range);
    Board { board, client, range, chosen }
}

#[test]
fn every_query_of_the_dashboard_gives_what_is_stored() {
    let Some(server) = Server::start() else { return };
    let place = server.database("storage");
    // Hosts lab0 to lab9; from 1000 on with another kernel. An apostrophe is in a value.
    let numbers = (95..125).chain(1000..1010);
    let mut records: Vec<Record> = numbers.map(made::record).collect();
    records[7].jobs[0].name = "it's mine".to_owned();
    records[8].verdict = "wrong".to_owned();
    // A job on two drives.
    let job = &mut records[9].jobs[0];
    (job.devices, job.on_device) = (vec!["nvme0n1".to_owned(), "nvme1n1".to_owned()], None);
    let mut store = Store::open(&place, Access::Write).expect("opens");
    for record in &records {
        store.add(record).expect("added");
    }
    // Outside of the time range.
    store.add(&made::record(90_000)).expect("added");
    let mut board = open(&server, 1_700_000_000, 1_700_000_000 + 2000 * 3600);
    assert_eq!(board.chosen["host"].len(), 10);
    assert_eq!(board.chosen["device"], ["nvme0n1", "nvme0n1+nvme1n1"]);
    assert_eq!(board.chosen["job"], ["it's mine", "randread"]);

    assert_eq!(points(&board.panel("I/Os per second")), stored(&records, "iops"));
    assert_eq!(points(&board.panel("$figure")), stored(&records, "iops"));
    assert_eq!(points(&board.panel("Throughput")), stored(&records, "bytes_per_second"));

    let percentiles = points(&board.panel("Latency: "));
    assert_eq!(percentiles.len(), 3 * records.len());
    let newest = board.panel("Percentiles of the newest runs");
    for record in &records {
        for latency in record.jobs[0].latencies.iter().filter(|latency| latency.latency == "clat") {
            for (percent, ns) in &latency.percentiles {
                let metric = format!("p{percent} {} read {} ", record.jobs[0].name, record.hosts[0].name);
                let has = |(time, name, value): &(u64, String, f64)| {
                    *time == record.begun_ms && name.starts_with(&metric) && *value == *ns as f64
                };
                assert_eq!(
                    percentiles.iter().filter(|point| has(point)).count(),
                    usize::from([50.0, 99.0, 99.9].contains(percent)),
                    "{metric}"
                );
            }
        }
    }
    let last = records.last().expect("one");
    let p99 =
        last.jobs[0].latencies[0].percentiles.iter().find(|(percent, _)| *percent == 99.0).expect("p99").1;
    let of_last = format!("randread read {} nvme0n1 ", last.hosts[0].name);
    let row = newest
        .iter()
        .find(|row| row.get::<_, String>(0).starts_with(&of_last) && row.get::<_, f64>(1) == 99.0);
    assert_eq!(row.expect("a row").get::<_, i64>(2), p99 as i64);

    let verdicts = points(&board.panel("Runs by verdict"));
    let of = |word: &str| {
        verdicts.iter().filter(|(_, name, _)| name == word).map(|(_, _, count)| count).sum::<f64>()
    };
    assert_eq!(verdicts.iter().map(|(_, _, count)| count).sum::<f64>(), records.len() as f64);
    assert_eq!(of("wrong"), 1.0);

    let latest = board.panel("Latest runs");
    assert_eq!(latest.len(), records.len());
    let row = &latest[0];
    assert_eq!((row.get::<_, i64>("run_id"), row.get::<_, &str>("hosts")), (records.len() as i64, "lab9"));
    assert_eq!((row.get::<_, &str>("jobs"), row.get::<_, &str>("tags")), ("randread", "hundred=10"));
    drives(&mut board, &records);
    marks(&mut board, &records);

    // Fewer hosts, and an hour without runs.
    board.chosen.insert("host".to_owned(), vec!["lab3".to_owned()]);
    let three: Vec<Record> =
        records.iter().filter(|record| record.hosts[0].name == "lab3").cloned().collect();
    assert_eq!(points(&board.panel("I/Os per second")), stored(&three, "iops"));
    let sql = text(&list(&board.board["templating"], "list")[2], "query").to_owned();
    let devices = board.client.query(&expanded(&sql, &board.chosen, &board.range), &[]).expect("devices");
    assert_eq!(devices.iter().map(|row| row.get(0)).collect::<Vec<&str>>(), ["nvme0n1"], "those of lab3");
    board.chosen.insert("host".to_owned(), ["lab2", "lab3"].map(str::to_owned).to_vec());
    board.chosen.insert("job".to_owned(), vec!["it's mine".to_owned()]);
    assert_eq!(points(&board.panel("I/Os per second")), stored(&records[7..8], "iops"));
    board.range = range(&mut board.client, 1_600_000_000, 1_600_003_600);
    for panel in list(&board.board.clone(), "panels") {
        assert!(board.panel(text(panel, "title")).is_empty(), "{}", panel["title"]);
    }
}

/// The newest value of each serial number, compared with the median of its model.
fn drives(board: &mut Board, records: &[Record]) {
    let newest: BTreeMap<&str, f64> = records
        .iter()
        .filter(|record| record.jobs[0].name == "randread")
        .map(|record| {
            let iops = record.jobs[0]
                .figures
                .iter()
                .find(|figure| figure.name == "iops" && figure.direction == "read");
            (record.devices[0].serial.as_str(), iops.expect("iops").value)
        })
        .collect();
    let rows = board.panel("Drives compared");
    let reads: Vec<&Row> = rows
        .iter()
        .filter(|row| {
            row.get::<_, &str>("job_name") == "randread" && row.get::<_, &str>("direction") == "read"
        })
        .collect();
    assert_eq!(reads.len(), newest.len());
    for row in &reads {
        assert_eq!(row.get::<_, f64>("value"), newest[row.get::<_, &str>("serial")]);
        let mut siblings: Vec<f64> = reads
            .iter()
            .filter(|other| other.get::<_, &str>("model") == row.get::<_, &str>("model"))
            .map(|other| other.get("value"))
            .collect();
        siblings.sort_by(f64::total_cmp);
        let count = siblings.len();
        let median = (siblings[(count - 1) / 2] + siblings[count / 2]) / 2.0;
        assert_eq!(row.get::<_, i64>("drives"), count as i64);
        let percent = 100.0 * row.get::<_, f64>("value") / median;
        assert!((row.get::<_, f64>("percent_of_median") - percent).abs() < 1e-9);
    }
}

/// Changes of kernels and tags are marked where they happened.
fn marks(board: &mut Board, records: &[Record]) {
    let kernels = board.annotation("Kernels");
    assert_eq!(kernels.len(), 10, "one per host");
    let first = records.iter().find(|record| record.hosts[0].kernel == "Linux 6.12.1").expect("a run");
    let time: std::time::SystemTime = kernels[0].get("time");
    assert_eq!(time, UNIX_EPOCH + Duration::from_millis(first.begun_ms));
    assert_eq!(kernels[0].get::<_, &str>("text"), "lab0: kernel Linux 6.12.0 → Linux 6.12.1");
    let tags = board.annotation("Tags");
    let texts: Vec<&str> = tags.iter().map(|row| row.get("text")).collect();
    assert!(
        texts.contains(&"lab5: tag hundred 0 → 1") && texts.contains(&"lab0: tag hundred 1 → 10"),
        "{texts:?}"
    );
    assert!(tags.iter().all(|row| row.get::<_, &str>("tags") == "hundred"));
}
