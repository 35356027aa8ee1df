//! Links between the pages, and the form with conditions. Neither needs a script.

use super::{HistoryPage, HistoryQuery, fleet};
use maud::{Markup, html};

/// The pages, with their addresses.
const PAGES: [(HistoryPage, &str, &str); 3] = [
    (HistoryPage::List, "history", "Runs"),
    (HistoryPage::Changes, "history-changes", "Changes"),
    (HistoryPage::Fleet, "history-fleet", "Fleet"),
];

/// Links to the other pages, which keep the conditions.
pub(super) fn links(page: HistoryPage, query: &HistoryQuery) -> Markup {
    html! { nav aria-label="History" { ul { @for (own, address, name) in PAGES {
        li { a href=(query.address(address, 0)) aria-current=[(own == page).then_some("page")] { (name) } }
    } } } }
}

/// The form of a page.
pub(super) fn form(page: HistoryPage, query: &HistoryQuery) -> Markup {
    let action = PAGES.iter().find(|(own, ..)| *own == page).map_or("history", |(_, address, _)| address);
    html! {
        form method="get" action=(action) autocomplete="off" {
            fieldset {
                legend { "Only runs with" }
                p.quiet id="where-help" {
                    "NAME=VALUE, such as host=db1; names are host, kernel, device, model, firmware, serial, file_system, job, verdict, \
                     program, fingerprint, and those of tags. All conditions must be met."
                }
                @for (index, text) in query.conditions.iter().map(String::as_str).chain([""]).enumerate() {
                    p { input name="where" value=(text) aria-label={ "Condition " (index + 1) } aria-describedby="where-help"
                        maxlength="500" spellcheck="false"; }
                }
            }
            @if page != HistoryPage::List {
                p { label for="figure" { "Figures, such as iops, p99, read.p99.9, bw" }
                    input id="figure" name="figure" value=(query.figures.join(", ")) placeholder="iops, p99" spellcheck="false"; }
                p { label for="smallest" { "Smallest change that counts" }
                    input id="smallest" name="smallest" value=(query.smallest) spellcheck="false"
                        placeholder=(if page == HistoryPage::Fleet { "5%" } else { "2%" }); }
            }
            @if page == HistoryPage::Fleet {
                p { label for="by" { "What is compared" }
                    select id="by" name="by" { @for (value, text) in fleet::KINDS {
                        option value=(value) selected[value == query.by] { (text) }
                    } } }
            }
            p { button type="submit" { "Show" } }
        }
    }
}
