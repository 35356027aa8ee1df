//! `fathom report`: the page in a browser. It must show the figures of the result, load no external resources,
//! and be usable with the keyboard, a screen reader, a small screen, in dark mode and on paper.

use crate::support::browser::Browser;
use crate::support::program::{self, Launch};
use crate::support::{MIB, file_of, json, scratch};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const JOB: &str = "--name=mixed --filename=data --size=4m --bs=4k --rw=randrw --ioengine=libaio --iodepth=4 --direct=1 \
                   --time_based --runtime=3";

/// Runs a job and makes a page of its result; returns both.
#[track_caller]
fn page_of(directory: &Path, job: &str, format: &str) -> (PathBuf, Value) {
    file_of(directory, "data", 4 * MIB);
    let words = format!("--output-format={format} --output=result.json {job}");
    Launch::fathom(directory).words(&words).run().expect_clean();
    Launch::fathom(directory).words("report result.json -o report.html").run();
    let text = std::fs::read_to_string(directory.join("result.json")).expect("a result");
    (directory.join("report.html"), json::document(&text))
}

/// The page made no requests and logged no errors.
#[track_caller]
pub(crate) fn check_silence(browser: &Browser, page: &Path) {
    let own = format!("file://{}", page.display());
    for event in &browser.events {
        let method = event["method"].as_str().unwrap_or_default();
        let parameters = &event["params"];
        match method {
            "Network.requestWillBeSent" => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                assert!(url == own || url.starts_with("data:"), "the page asks for {url}");
            }
            "Runtime.exceptionThrown" => panic!("{parameters}"),
            "Log.entryAdded" => panic!("{parameters}"),
            "Runtime.consoleAPICalled" => panic!("{parameters}"),
            _ => {}
        }
    }
}

/// Opens the page of a stored results file, which makes no requests and logs no errors.
#[track_caller]
fn open_page_of(browser: &mut Browser, results: &str) {
    let directory = scratch();
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fathom-answers/tests/results").join(results);
    let words = format!("report {} -o report.html", results.display());
    assert_eq!(Launch::fathom(directory.path()).words(&words).run().code(), 0);
    let page = directory.path().join("report.html");
    browser.open(&page);
    check_silence(browser, &page);
}

/// The points of the line with this style in a chart.
fn points_of(browser: &mut Browser, chart: &str, line: &str) -> Vec<(f64, f64)> {
    let path =
        browser.value(&format!("document.querySelector('#{chart} > svg > path.{line}').getAttribute('d')"));
    let stretches = path.as_str().expect("a path").split('M');
    // Dots on the line follow as zero-length segments.
    let words = stretches.filter(|part| !part.contains('V')).flat_map(|part| part.split([' ', 'L']));
    let numbers: Vec<f64> =
        words.filter(|word| !word.is_empty()).map(|word| word.parse().expect("a number")).collect();
    numbers.chunks(2).map(|pair| (pair[0], pair[1])).collect()
}

/// The y coordinate of the line of this style in a chart at x, and the coordinates of two ticks of the y axis.
fn read_chart(browser: &mut Browser, chart: &str, line: &str, x: f64) -> (f64, Vec<(String, f64)>) {
    let points = points_of(browser, chart, line);
    let nearest = points.iter().min_by(|a, b| (a.0 - x).abs().total_cmp(&(b.0 - x).abs())).expect("points");
    let ticks = browser.value(&format!(
        "[...document.querySelectorAll('#{chart} > svg > text.tick[text-anchor=end]')].map(t => [t.textContent, +t.getAttribute('y') - 4])"
    ));
    let ticks = ticks.as_array().expect("ticks").iter();
    let ticks =
        ticks.map(|tick| (tick[0].as_str().unwrap_or_default().to_owned(), tick[1].as_f64().unwrap_or(0.0)));
    (nearest.1, ticks.collect())
}

fn ns_of(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').unwrap_or_else(|| panic!("no latency: {text}"));
    let factor = match unit {
        "ns" => 1.0,
        "µs" => 1e3,
        "ms" => 1e6,
        _ => 1e9,
    };
    number.parse::<f64>().expect("a number") * factor
}

#[test]
fn charts_show_the_values_of_the_result() {
    fathom_only!();
    let mut browser = require!(Browser::start());
    let directory = scratch();
    let (page, document) = page_of(directory.path(), JOB, "json+");
    browser.open(&page);
    check_silence(&browser, &page);
    let job = json::job(&document, "mixed");
    for (direction, style) in [("read", "s0"), ("write", "s1")] {
        // The point of the 99th percentile, and the line's height there.
        let stops =
            browser.value("JSON.parse(document.querySelector('#r0-s0-percentiles > svg').dataset.stops)");
        let stop = stops
            .as_array()
            .expect("stops")
            .iter()
            .find(|stop| stop[1].as_str().is_some_and(|told| told.starts_with("99 %: ")));
        let stop = stop.expect("a stop at 99 %");
        let told = stop[1].as_str().unwrap_or_default();
        let wanted = job[direction]["clat_ns"]["percentile"]["99.000000"].as_f64().expect("a percentile");
        let shown =
            told.split([':', ',']).find_map(|part| part.trim().strip_prefix(direction)).expect("told");
        assert!((ns_of(shown.trim()) / wanted - 1.0).abs() < 0.006, "{told}: {wanted}");
        let x = stop[0].as_f64().expect("a place");
        let (y, ticks) = read_chart(&mut browser, "r0-s0-percentiles", &format!("line.{style}"), x);
        let (low, high) = (&ticks[0], &ticks[ticks.len() - 1]);
        let decades = (ns_of(&high.0) / ns_of(&low.0)).log10();
        let drawn = ns_of(&low.0) * 10f64.powf((low.1 - y) / (low.1 - high.1) * decades);
        assert!((drawn / wanted - 1.0).abs() < 0.05, "{direction}: drawn at {drawn}, is {wanted}");
    }
    let rates = browser.value(
        "[...document.querySelectorAll('#r0-s0-iops table tbody tr')].map(row => [...row.children].map(cell => cell.textContent))",
    );
    let rates = rates.as_array().expect("rows");
    assert!(rates.len() >= 12, "two directions, four points a second: {rates:?}");
    let cells = browser.value("document.querySelectorAll('#r0-s0-heat-read path.heat').length");
    assert!(cells.as_u64().is_some_and(|paths| paths >= 2), "{cells} shades in the heat map");
    let depths = browser.value("document.querySelectorAll('#r0-s0-depths rect.bar').length");
    assert_eq!(depths, 7);
    let summary = browser.value("document.querySelector('section table').textContent");
    assert!(
        summary.as_str().is_some_and(|text| text.contains("mixed") && text.contains("of 4")),
        "{summary}"
    );
}

#[test]
fn the_keyboard_reaches_every_value() {
    fathom_only!();
    let mut browser = require!(Browser::start());
    let directory = scratch();
    let (page, _) = page_of(directory.path(), JOB, "json+");
    browser.open(&page);
    let mut presses = 0;
    while browser.value("document.activeElement.tagName") != "svg" {
        browser.press("Tab", 9);
        presses += 1;
        assert!(presses < 40, "Tab never comes to a chart");
    }
    let told = "document.getElementById(document.activeElement.getAttribute('aria-describedby')).textContent";
    assert_eq!(browser.value(told), "");
    browser.press("ArrowRight", 39);
    let first = browser.value(told);
    assert!(first.as_str().is_some_and(|text| text.contains("read ")), "{first}");
    browser.press("End", 35);
    let last = browser.value(told);
    assert_ne!(first, last);
    browser.press("ArrowLeft", 37);
    browser.press("ArrowRight", 39);
    assert_eq!(browser.value(told), last);
    browser.press("Home", 36);
    assert_eq!(browser.value(told), first);
    browser.press("Escape", 27);
    assert_eq!(browser.value(told), "");
    check_silence(&browser, &page);
}

#[test]
fn readers_small_screens_the_dark_and_paper() {
    fathom_only!();
    let mut browser = require!(Browser::start());
    let directory = scratch();
    let (page, _) = page_of(directory.path(), JOB, "json+");
    browser.open(&page);
    // A screen reader finds every chart by its name, and tables with headings.
    let tree = browser.call("Accessibility.getFullAXTree", json!({}));
    let nodes = tree["nodes"].as_array().expect("nodes").clone();
    let of_role =
        |role: &str| nodes.iter().filter(|node| node["role"]["value"] == role).collect::<Vec<&Value>>();
    let charts =
        browser.value("document.querySelectorAll('svg[role=img]').length").as_u64().expect("a number");
    let images: Vec<&Value> = of_role("image").into_iter().chain(of_role("img")).collect();
    assert_eq!(images.len() as u64, charts);
    assert!(images.iter().all(|image| image["name"]["value"].as_str().is_some_and(|name| !name.is_empty())));
    assert!(!of_role("columnheader").is_empty() && !of_role("rowheader").is_empty());
    let levels = browser.value("[...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])");
    let levels: Vec<u64> = levels.as_array().expect("levels").iter().filter_map(Value::as_u64).collect();
    assert_eq!(levels[0], 1);
    assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
    // A phone: the page itself never scrolls sideways.
    let metrics = json!({ "width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": false });
    browser.call("Emulation.setDeviceMetricsOverride", metrics);
    let width = browser.value("document.documentElement.scrollWidth");
    assert!(width.as_u64().is_some_and(|width| width <= 360), "{width}");
    // Texts of its charts are not cut, and do not cover each other.
    let shown = "[...document.querySelectorAll('.chart > svg text')].filter(t => getComputedStyle(t).display != 'none')\
                 .map(t => { const b = t.getBoundingClientRect(); return { text: t.textContent, b, svg: t.ownerSVGElement } })";
    let cut = format!(
        "{shown}.filter(t => t.b.width && (t.b.left < 0 || t.b.right > innerWidth)).map(t => t.text)"
    );
    assert_eq!(browser.value(&cut), json!([]));
    let covered = format!(
        "(all => all.flatMap((t, i) => all.slice(i + 1).filter(o => o.svg == t.svg && o.b.width && t.b.width \
        && o.b.left < t.b.right && t.b.left < o.b.right && o.b.top < t.b.bottom - 2 && t.b.top < o.b.bottom - 2)\
        .map(o => t.text + ' and ' + o.text)))({shown})"
    );
    assert_eq!(browser.value(&covered), json!([]));
    // Light and dark: text is legible on its background.
    let contrast = "(() => { const light = c => { const v = c.match(/\\d+/g).slice(0, 3).map(x => { x /= 255; \
                    return x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4 }); return .2126 * v[0] + .7152 * v[1] + .0722 * v[2] }; \
                    const s = getComputedStyle(document.body); const [a, b] = [light(s.color), light(s.backgroundColor)]; \
                    return [s.backgroundColor, (Math.max(a, b) + .05) / (Math.min(a, b) + .05)] })()";
    let mut grounds = Vec::new();
    for scheme in ["light", "dark"] {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.call("Emulation.setEmulatedMedia", features);
        let found = browser.value(contrast);
        assert!(found[1].as_f64().is_some_and(|ratio| ratio >= 7.0), "{scheme}: {found}");
        grounds.push(found[0].clone());
    }
    assert_ne!(grounds[0], grounds[1]);
    // Print.
    browser.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    assert_eq!(browser.value("getComputedStyle(document.querySelector('nav')).display"), "none");
    let printed = browser.call("Page.printToPDF", json!({}));
    assert!(printed["data"].as_str().is_some_and(|data| data.len() > 20_000));
    check_silence(&browser, &page);
}

#[test]
fn several_results_stand_side_by_side() {
    let reference = require!(program::reference());
    let mut browser = require!(Browser::start());
    let directory = scratch();
    let (page, _) = page_of(directory.path(), JOB, "json+");
    let words = format!("--output-format=json+ --output=fio.json {JOB}");
    Launch::of(&reference, directory.path()).words(&words).run().expect_clean();
    let finished = Launch::fathom(directory.path())
        .words("report result.json fio.json -o report.html --title=Both")
        .run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    browser.open(&page);
    check_silence(&browser, &page);
    assert_eq!(browser.value("document.title"), "Both");
    let legend =
        browser.value("document.querySelector('#side-by-side-read-percentiles .legend').textContent");
    assert!(
        legend
            .as_str()
            .is_some_and(|text| text.contains("fio.json read") && text.contains("result.json read")),
        "{legend}"
    );
    let missing =
        browser.value("document.body.textContent.includes('There is no timeline: results of fio have none')");
    assert_eq!(missing, true);
    // A result of fathom has its timeline, and a distribution from it.
    assert_eq!(browser.value("document.querySelectorAll('#r0-s0-heat-read, #r0-s0-distribution').length"), 2);
}

#[test]
fn only_reports_are_overwritten() {
    fathom_only!();
    let directory = scratch();
    let (page, _) = page_of(directory.path(), "--name=x --ioengine=null --size=1m --rw=read", "json");
    let report = |words: &str| Launch::fathom(directory.path()).words(&format!("report {words}")).run();
    assert_eq!(report("result.json -o report.html").code(), 0, "an earlier report may be replaced");
    let finished = report("result.json -o data");
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("data: this file exists; name a new one"), "{}", finished.stderr);
    assert_eq!(std::fs::metadata(directory.path().join("data")).map(|data| data.len()).ok(), Some(4 * MIB));
    assert_eq!(report("result.json").code(), 0);
    let own = std::fs::read_to_string(directory.path().join("result.html"));
    assert_eq!(own.ok(), std::fs::read_to_string(&page).ok(), "a page is named after its result");
    let printed = report("result.json -o -");
    assert_eq!(Some(printed.stdout), std::fs::read_to_string(&page).ok());
    for (words, what) in [("-o x.html", "no file given"), ("data -o x.html", "no result in it")] {
        let finished = report(words);
        assert_eq!(finished.code(), 1, "{words}");
        assert!(finished.stderr.contains(what), "{words}: {}", finished.stderr);
    }
}

/// Pages of sweeps and of comparisons: every cell and every figure is present, and nothing is requested.
#[test]
fn sweeps_and_comparisons_have_pages() {
    fathom_only!();
    let mut browser = require!(Browser::start());
    let directory = scratch();
    let run = |words: &str| Launch::fathom(directory.path()).words(words).run();
    let sweep = "sweep --vary=rate_iops=500,2000 --vary=bs=4k,8k --repeats=2 --output=x.sweep.jsonl -- --name=a --ioengine=null \
                 --size=1g --rw=read --time_based --runtime=200ms";
    assert_eq!(run(sweep).code(), 0);
    let finished = run("report x.sweep.jsonl");
    assert!(finished.code() == 0 && finished.stderr.starts_with("x.sweep.html: "), "{}", finished.stderr);
    let page = directory.path().join("x.sweep.html");
    browser.open(&page);
    check_silence(&browser, &page);
    let cells = "document.querySelectorAll('.heat-map td[class*=shade]').length";
    // Four cells of four figures.
    assert_eq!(browser.value(cells), 16);
    // Larger is darker: the minimum has no shade, and the maximum the darkest.
    let iops = "[...document.querySelector('#figure-1').nextElementSibling.querySelectorAll('td[class*=shade]')].map(cell => \
                [parseFloat(cell.textContent) * (cell.textContent.includes('k') ? 1000 : 1), Number(cell.className.split('-')[1])])";
    let iops: Vec<(f64, u8)> =
        serde_json::from_value(browser.value(iops)).expect("figures with their shades");
    let least = iops.iter().min_by(|one, other| one.0.total_cmp(&other.0)).expect("figures");
    let most = iops.iter().max_by(|one, other| one.0.total_cmp(&other.0)).expect("figures");
    assert!(least.0 <= 505.0 && most.0 > 505.0 && most.0 <= 2020.0, "{iops:?}");
    assert_eq!((least.1, most.1), (0, 7), "{iops:?}");
    for name in ["one", "two"] {
        let words = format!(
            "--name=a --ioengine=null --size=1g --rw=read --rate_iops=2000 --time_based --runtime=2 --output-format=json+ --output={name}.json"
        );
        assert_eq!(run(&words).code(), 0);
    }
    assert_eq!(run("compare one.json two.json -o pair.html").code(), 0);
    let page = directory.path().join("pair.html");
    browser.open(&page);
    check_silence(&browser, &page);
    let rows = browser.value("document.querySelectorAll('#pair-0 ~ .scroll tbody tr').length");
    assert!(rows.as_u64().is_some_and(|rows| rows >= 6), "{rows}");
    assert_eq!(browser.value("document.querySelectorAll('path.stroke').length > 0"), true);
    assert_eq!(browser.value("document.querySelectorAll('#pair-0-percentiles path.line').length >= 2"), true);
}

/// The page of a sweep of nine cells.
fn page_of_sweep(directory: &Path) -> PathBuf {
    let run = |words: &str| Launch::fathom(directory).words(words).run();
    let sweep = "sweep --vary=iodepth=64,1,8 --vary=bs=4k,8k,64k --repeats=3 --output=x.sweep.jsonl -- --name=a \
                 --ioengine=null --size=1g --rw=read --time_based --runtime=50ms";
    assert_eq!(run(sweep).code(), 0);
    assert_eq!(run("report x.sweep.jsonl").code(), 0);
    directory.join("x.sweep.html")
}

#[test]
fn charts_of_sweeps_are_legible_on_a_phone_and_in_the_dark() {
    fathom_only!();
    let mut browser = require!(Browser::start());
    let directory = scratch();
    browser.open(&page_of_sweep(directory.path()));
    // Each point is marked, and the intervals of the lines are side by side.
    let marks = browser.value("document.querySelectorAll('#figure-0-0 circle.mark').length");
    assert_eq!(marks, 9);
    let places = browser.value(
        "[...document.querySelectorAll('#figure-0-0 path.interval')].map(line => line.getAttribute('d').split(' ')[0])",
    );
    let places = places.as_array().expect("intervals").clone();
    assert!(places.len() == 3 && places[0] != places[1] && places[1] != places[2], "{places:?}");
    // 1, 8 and 64 are equally far apart on the logarithmic axis, in their order, and the axis has its name.
    let labels = browser.value(
        "[...document.querySelectorAll('#figure-0-0 g > text.tick')].map(t => [Number(t.textContent), +t.getAttribute('x')])",
    );
    let mut labels: Vec<(f64, f64)> = serde_json::from_value(labels).expect("labels");
    labels.sort_by(|one, other| one.0.total_cmp(&other.0));
    let [(one, first), (eight, second), (all, third)] = labels[..] else { panic!("{labels:?}") };
    assert_eq!((one, eight, all), (1.0, 8.0, 64.0));
    assert!(first < second && (2.0 * second - first - third).abs() < 0.3, "{labels:?}");
    let axes = "[...document.querySelectorAll('#figure-0-0 text.label')].map(t => t.textContent).join()";
    assert_eq!(browser.value(axes), "iodepth, logarithmic,MiB/s");
    // Every text is within its chart on a phone.
    let metrics = json!({ "width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": false });
    browser.call("Emulation.setDeviceMetricsOverride", metrics);
    let cut = "[...document.querySelectorAll('.chart > svg')].flatMap(svg => { const all = svg.getBoundingClientRect(); \
               return [...svg.querySelectorAll('text')].filter(t => getComputedStyle(t).display != 'none').filter(t => { \
               const own = t.getBoundingClientRect(); return own.left < all.left - 1 || own.right > all.right + 1 \
               || own.top < all.top - 1 || own.bottom > all.bottom + 1 }) }).map(t => t.textContent)";
    assert_eq!(browser.value(cut), json!([]));
    // Wide tables scroll by keyboard.
    assert_eq!(browser.value("[...document.querySelectorAll('.scroll')].every(t => t.tabIndex == 0)"), true);
    // The text of every cell of the heat maps has enough contrast.
    let contrast = "(() => { const of = c => c.match(/[\\d.]+/g).map(Number); \
                    const light = v => { const w = v.slice(0, 3).map(x => { x /= 255; \
                    return x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4 }); return .2126 * w[0] + .7152 * w[1] + .0722 * w[2] }; \
                    const page = of(getComputedStyle(document.body).backgroundColor); \
                    return [...document.querySelectorAll('.heat-map td[class*=shade]')].map(cell => { \
                    const style = getComputedStyle(cell), own = of(style.backgroundColor), part = own[3] ?? 1; \
                    const ground = page.slice(0, 3).map((value, place) => value * (1 - part) + own[place] * part); \
                    const [a, b] = [light(of(style.color)), light(ground)]; return (Math.max(a, b) + .05) / (Math.min(a, b) + .05) }) })()";
    for scheme in ["light", "dark"] {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.call("Emulation.setEmulatedMedia", features);
        let found: Vec<f64> = serde_json::from_value(browser.value(contrast)).expect("ratios");
        assert!(found.len() == 36 && found.iter().all(|ratio| *ratio >= 4.5), "{scheme}: {found:?}");
    }
}

#[test]
fn a_chart_is_an_svg_file() {
    fathom_only!();
    let mut browser = require!(Browser::start());
    let directory = scratch();
    page_of_sweep(directory.path());
    page_of(directory.path(), JOB, "json+");
    let report = |words: &str| Launch::fathom(directory.path()).words(&format!("report {words}")).run();
    for (results, name, lines) in
        [("x.sweep.jsonl", "figure-1-0", 3), ("result.json", "mixed-percentiles", 2)]
    {
        let listed = report(&format!("--chart=list {results}")).expect_clean().stdout;
        assert!(listed.lines().any(|line| line.starts_with(&format!("{name}: "))), "{listed}");
        assert_eq!(
            report(&format!("--chart={name} -o chart.svg {results}")).code(),
            0,
            "an earlier chart is replaced"
        );
        browser.open(&directory.path().join("chart.svg"));
        assert_eq!(browser.value("document.documentElement.localName"), "svg");
        let drawn = "document.querySelectorAll('g path.line').length";
        assert_eq!(browser.value(drawn), lines, "{results}");
        let title = browser.value("document.querySelector('title').textContent");
        assert!(listed.contains(&format!("{name}: {}", title.as_str().unwrap_or("none"))), "{listed}");
    }
    let finished = report("--chart=depth result.json");
    assert_eq!(finished.code(), 1);
    assert!(
        finished.stderr.contains("there is no chart `depth`; there are mixed-percentiles, "),
        "{}",
        finished.stderr
    );
    assert_eq!(
        report("--chart=mixed-percentiles -o data result.json").code(),
        1,
        "other files are not overwritten"
    );
}

/// A result of nine hosts: one is slow, one has a long tail, one was lost, and one never started.
const HOSTS: &str = include_str!("../../../fathom-report/tests/golden/hosts.json");

fn page_of_hosts(directory: &Path, result: &str) -> PathBuf {
    std::fs::write(directory.join("hosts.json"), result).expect("it can be written");
    Launch::fathom(directory).words("report hosts.json -o hosts.html --force").run();
    directory.join("hosts.html")
}

/// The text of a table's cells, a list per row.
fn cells_of(browser: &mut Browser, table: &str) -> Vec<Vec<String>> {
    let cells = browser.value(&format!(
        "[...document.querySelectorAll('{table} tbody tr')].map(row => [...row.children].map(cell => cell.textContent))"
    ));
    serde_json::from_value(cells).expect("rows of cells")
}

#[test]
fn hosts_have_a_table_and_a_chart_each() {
    fathom_only!();
    let mut browser = require!(Browser::start());
    let directory = scratch();
    let page = page_of_hosts(directory.path(), HOSTS);
    browser.open(&page);
    check_silence(&browser, &page);
    let rows = cells_of(&mut browser, "table.hosts");
    assert_eq!(rows.len(), 9);
    let row = |name: &str| rows.iter().find(|row| row[0] == name).expect("a row");
    assert_eq!(row("a1")[1..5], ["ok", "read", "4.26", "1.04k"]);
    assert_eq!(row("a3").last().map(String::as_str), Some("read rate 65% below the median"));
    assert_eq!((&*row("b4")[1], &*row("b5")[1]), ("lost", "never began"));
    let marked = "[...document.querySelectorAll('tr.straggler, tr.lost')].map(row => row.className + ' ' + row.children[0].textContent)";
    assert_eq!(browser.value(marked), json!(["straggler a3", "straggler b3", "lost b4", "lost b5"]));
    // All charts have one scale, so that lines are comparable: a host with a third of the rate is drawn at a
    // third of the height.
    let (usual, ticks) = read_chart(&mut browser, "r0-hosts-rate-0", "line", 300.0);
    let (slow, slow_ticks) = read_chart(&mut browser, "r0-hosts-rate-3", "line", 300.0);
    assert_eq!(ticks, slow_ticks);
    let base = ticks[0].1;
    let share = (base - slow) / (base - usual);
    assert!((share - 1.474_56 / 4.259_84).abs() < 0.02, "{share}");
    let title = browser.value("document.querySelector('#r0-hosts-rate-3 figcaption').textContent");
    assert_eq!(title, "a3: bandwidth over time (read rate 65% below the median)");
    // The navigation leads there, and a screen reader finds row headings.
    assert_eq!(browser.value("document.querySelector('nav a[href=\"#r0-hosts\"]').textContent"), "Hosts");
    assert_eq!(browser.value("document.querySelectorAll('table.hosts tbody th[scope=row]').length"), 9);
    // Marked values are legible in both schemes, and a small screen does not scroll.
    let contrast = "(() => { const light = c => { const v = c.match(/\\d+/g).slice(0, 3).map(x => { x /= 255; \
                    return x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4 }); return .2126 * v[0] + .7152 * v[1] + .0722 * v[2] }; \
                    const s = getComputedStyle(document.querySelector('tr.lost td')); const [a, b] = [light(s.color), light(s.backgroundColor)]; \
                    return (Math.max(a, b) + .05) / (Math.min(a, b) + .05) })()";
    for scheme in ["light", "dark"] {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.call("Emulation.setEmulatedMedia", features);
        let found = browser.value(contrast);
        assert!(found.as_f64().is_some_and(|ratio| ratio >= 7.0), "{scheme}: {found}");
    }
    let metrics = json!({ "width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": false });
    browser.call("Emulation.setDeviceMetricsOverride", metrics);
    let width = browser.value("document.documentElement.scrollWidth");
    assert!(width.as_u64().is_some_and(|width| width <= 360), "{width}");
    let printed = browser.call("Page.printToPDF", json!({}));
    assert!(printed["data"].as_str().is_some_and(|data| data.len() > 20_000));
    check_silence(&browser, &page);
}

#[test]
fn many_hosts_share_two_heat_maps() {
    fathom_only!();
    let mut browser = require!(Browser::start());
    let directory = scratch();
    let mut document: Value = serde_json::from_str(HOSTS).expect("JSON");
    let hosts = document["fathom hosts"]["hosts"].as_array_mut().expect("hosts");
    let (usual, slow, tail) = (hosts[0].clone(), hosts[3].clone(), hosts[5].clone());
    *hosts = (0..40)
        .map(|index| {
            let mut host = match index {
                10 => slow.clone(),
                30 => tail.clone(),
                _ => usual.clone(),
            };
            host["name"] = json!(format!("h{index}"));
            host["start_skew_ns"] = json!(0);
            host
        })
        .collect();
    let page = page_of_hosts(directory.path(), &document.to_string());
    browser.open(&page);
    check_silence(&browser, &page);
    assert_eq!(cells_of(&mut browser, "table.hosts").len(), 40);
    assert_eq!(browser.value("document.querySelectorAll('[id^=r0-hosts-rate-]').length"), 0);
    // Every host has a row of four spans; the slow one is lighter, the one with the tail is darker.
    for (map, slowest) in [("r0-hosts-rates", "slowest h10 (1.47 MB/s)"), ("r0-hosts-tails", "slowest h30 (")]
    {
        let boxes = "path => path.getAttribute('d').split('M').length - 1";
        let cells = browser.value(&format!(
            "[...document.querySelectorAll('#{map} path.heat')].map(path => [path.className.baseVal, ({boxes})(path)])"
        ));
        let cells: Vec<(String, u64)> = serde_json::from_value(cells).expect("shades with their cells");
        assert_eq!(cells.iter().map(|(_, count)| count).sum::<u64>(), 160, "{map}: {cells:?}");
        assert!(cells.iter().any(|(_, count)| *count == 4), "{map}: {cells:?}");
        let stops = browser.value(&format!("document.querySelector('#{map} > svg').dataset.stops"));
        let stops: Vec<(f64, String)> =
            serde_json::from_str(stops.as_str().expect("stops")).expect("places with texts");
        assert_eq!(stops.len(), 4);
        assert!(stops.iter().all(|(_, told)| told.contains(slowest)), "{map}: {stops:?}");
    }
    // The same as a table: a row for each host.
    assert_eq!(cells_of(&mut browser, "#r0-hosts-tails table")[30][0], "h30");
}

#[test]
fn the_page_of_a_pts_test_draws_its_window_and_asks_for_nothing() {
    fathom_only!();
    let mut browser = require!(Browser::start());
    open_page_of(&mut browser, "pts.jsonl");
    // Convergence and window of two block sizes, and both together.
    assert_eq!(browser.value("document.querySelectorAll('figure.chart > svg').length"), json!(5));
    // The lines at 110 and 90 % are equally far from the average, which is between them.
    let mut height = |style: &str| points_of(&mut browser, "part-1-window", &format!("line.{style}"))[0].1;
    let (average, above, below) = (height("s2"), height("s4"), height("s5"));
    assert!(above < average && average < below, "{above} {average} {below}");
    assert!((average - above - (below - average)).abs() < 0.3, "{above} {average} {below}");
}

#[test]
fn the_page_of_curves_draws_each_percentile_over_the_loads() {
    fathom_only!();
    let mut browser = require!(Browser::start());
    open_page_of(&mut browser, "curve.jsonl");
    // Both next to each other, and each alone.
    assert_eq!(browser.value("document.querySelectorAll('figure.chart > svg').length"), json!(3));
    let mut points = |style: &str| points_of(&mut browser, "curve-0-chart", &format!("line.{style}"));
    let (p50, p99, highest) = (points("s0"), points("s1"), points("s2"));
    assert_eq!([p50.len(), p99.len(), highest.len()], [3; 3]);
    // The y axis points down: a higher percentile is above, and loads increase to the right.
    for ((p50, p99), highest) in p50.iter().zip(&p99).zip(&highest) {
        assert!(p50.0 == p99.0 && p99.0 == highest.0, "{p50:?} {p99:?} {highest:?}");
        assert!(p50.1 > p99.1 && p99.1 >= highest.1, "{p50:?} {p99:?} {highest:?}");
    }
    assert!(p50.is_sorted_by(|left, right| left.0 < right.0), "{p50:?}");
    // The same as a table: a row for each load of both, and the answers.
    let rows = cells_of(&mut browser, "section > .scroll > table");
    assert_eq!(rows.len(), 6, "{rows:?}");
    assert_eq!(rows[5][0], "400", "{rows:?}");
    let answers =
        browser.value("[...document.querySelectorAll('section li')].map(line => line.textContent).join()");
    assert!(answers.as_str().is_some_and(|text| text.contains("p99<50.0ms: ")), "{answers}");
}
