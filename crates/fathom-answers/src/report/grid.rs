//! The grid of `fathom quick` on a page: a bar for each test, its figures, and the doubts beside them.

use crate::quick::{Bar, GridReport};
use crate::table::escape;
use std::fmt::Write as _;

/// The grid, then the doubts about the whole run.
pub(super) fn html(report: &GridReport<'_>) -> String {
    let mut text = String::from(
        "<div class=\"scroll\"><table class=\"grid-of-tests\"><thead><tr><th scope=\"col\">test</th><th scope=\"col\" \
         class=\"right\">MB/s</th><th scope=\"col\" class=\"bar-cell\">among those of its block size</th><th scope=\"col\" class=\"right\">IOPS</th>\
         <th scope=\"col\" class=\"right less\">p50</th><th scope=\"col\" class=\"right\">p99</th><th scope=\"col\" \
         class=\"right less\">p99.9</th><th scope=\"col\">doubts</th></tr></thead><tbody>",
    );
    report.bars().iter().for_each(|bar| row(bar, &mut text));
    text.push_str("</tbody></table></div>\n");
    let notes: String = report.notes().iter().map(|note| format!("<li>{}</li>", escape(note))).collect();
    if !notes.is_empty() {
        let _ = writeln!(text, "<h3>Caveats</h3><ul class=\"notes\">{notes}</ul>");
    }
    text
}

fn row(bar: &Bar, text: &mut String) {
    let [direction, pattern, depth] = bar.names.each_ref().map(|name| escape(name));
    let figure = |place: usize| escape(bar.figures.get(place).map_or("-", String::as_str));
    let kind = if bar.names[0] == "write" { "s1" } else { "s0" };
    let _ = write!(
        text,
        "<tr><th scope=\"row\">{direction} {pattern}, depth {depth}</th><td class=\"right\">{}</td><td class=\"bar-cell\"><svg \
         viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"bar {kind}\" width=\"{:.1}\" \
         height=\"10\"/></svg></td>",
        figure(0),
        bar.share * 100.0
    );
    for place in 1..5 {
        let class = if [2, 4].contains(&place) { "right less" } else { "right" };
        let _ = write!(text, "<td class=\"{class}\">{}</td>", figure(place));
    }
    let doubts: String = bar.doubts.iter().map(|doubt| format!("<li>{}</li>", escape(doubt))).collect();
    let _ = match doubts.is_empty() {
        true => write!(text, "<td></td></tr>"),
        false => write!(
            text,
            "<td class=\"doubts\"><details><summary>doubtful</summary><ul>{doubts}</ul></details></td></tr>"
        ),
    };
}
