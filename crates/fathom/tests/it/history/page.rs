//! The page of `fathom history report` in a browser: marks and changes lead to their runs.

use super::answers::nights;
use super::history;
use crate::report_page::check_silence;
use crate::serve_page::CONTRAST;
use crate::support::browser::Browser;
use crate::support::scratch;
use serde_json::{Value, json};

#[test]
fn marks_and_changes_lead_to_their_runs() {
    fathom_only!();
    let mut browser = require!(Browser::start());
    let directory = scratch();
    nights(directory.path(), 40, 26);
    history(directory.path(), "report -o page.html").run();
    let page = directory.path().join("page.html");
    browser.open(&page);
    assert_eq!(browser.value("document.querySelectorAll('.chart > svg a').length"), 80);
    let dangling = "[...document.querySelectorAll('a[href^=\"#run-\"]')].filter(a => !document.querySelector(a.getAttribute('href'))).length";
    assert_eq!(browser.value(dangling), 0);
    let tree = browser.call("Accessibility.getFullAXTree", json!({}));
    let names: Vec<&str> = tree["nodes"]
        .as_array()
        .expect("nodes")
        .iter()
        .filter(|node| node["role"]["value"] == "link")
        .map(|node| node["name"]["value"].as_str().unwrap_or_default())
        .collect();
    assert!(names.iter().all(|name| !name.is_empty()), "{names:?}");
    assert_eq!(names.iter().filter(|name| name.starts_with("run 27, ")).count(), 2, "{names:?}");
    // The change in the list, a mark, and the cursor of a chart.
    let target = "document.querySelector('.runs tr:target')?.id";
    browser.value("document.querySelector('.verdict a').click()");
    browser.wait_until(&format!("{target} === 'run-27'"));
    browser.value(
        "document.querySelector('.chart > svg a[href=\"#run-5\"]').dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }))",
    );
    browser.wait_until(&format!("{target} === 'run-5'"));
    browser.value("document.querySelector('.chart > svg').focus()");
    browser.press("End", 35);
    browser.press("Enter", 13);
    browser.wait_until(&format!("{target} === 'run-40'"));
    browser.value("document.querySelector('.chart > svg').focus()");
    browser.press("Home", 36);
    browser.press("Tab", 9);
    assert_eq!(
        browser.value("document.activeElement.getAttribute('href')"),
        "#run-1",
        "the line below the chart"
    );
    check_silence(&browser, &page);
    everyone_can_use(&mut browser);
}

/// Phones, dark mode and paper.
fn everyone_can_use(browser: &mut Browser) {
    for width in [360, 320] {
        let metrics = json!({ "width": width, "height": 740, "deviceScaleFactor": 1, "mobile": false });
        browser.call("Emulation.setDeviceMetricsOverride", metrics);
        let needed = browser.value("document.documentElement.scrollWidth");
        assert!(needed.as_u64().is_some_and(|needed| needed <= width), "{needed} of {width}");
    }
    browser.call("Emulation.clearDeviceMetricsOverride", json!({}));
    for scheme in ["light", "dark"] {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.call("Emulation.setEmulatedMedia", features);
        let least: Value = browser.value(CONTRAST);
        assert!(least.as_f64().is_some_and(|ratio| ratio >= 4.5), "{scheme}: {least}");
    }
    browser.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    assert_eq!(browser.value("document.querySelector('#run-27').checkVisibility()"), true);
    let printed = browser.call("Page.printToPDF", json!({}));
    assert!(printed["data"].as_str().is_some_and(|data| data.len() > 20_000));
}
