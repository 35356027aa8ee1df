//! A finished chart, which becomes part of a page or a standalone SVG file.

use super::{BOTTOM, Coordinate, HEIGHT, LEFT, RIGHT, TOP, WIDTH};
use maud::{Markup, PreEscaped, Render, html};

/// Colours and lines of charts.
const STYLE: &str = include_str!("../assets/chart.css");
/// Start of every chart file; it distinguishes an earlier chart from other files.
pub(crate) const FILE_MARK: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- Made by fathom. -->";
/// Height of a line of a file's title and legend, in SVG units.
const LINE: f64 = 20.0;
/// Width of a line sample in the legend, and of each letter next to it.
const SAMPLE: f64 = 34.0;
const LETTER: f64 = 7.2;

/// A chart that is completely drawn.
pub(crate) struct Figure {
    /// Id of the chart, unique in its page.
    pub(crate) id: String,
    pub(crate) title: String,
    /// Names of the lines, with their styles.
    pub(super) legend: Vec<(String, usize)>,
    /// Axes and lines.
    pub(super) drawing: Markup,
    /// Cursor positions along x, and the text to show at each.
    pub(super) stops: Vec<(f64, String)>,
    /// Where each of them leads to, if they are linked; otherwise empty.
    pub(super) hrefs: Vec<Option<String>>,
    /// The same figures as a table, for screen readers.
    pub(super) table: Markup,
}

impl Figure {
    /// The chart as a self-contained SVG file, with title and legend above it.
    pub(crate) fn file(&self) -> String {
        let (legend, lines) = self.legend_of_file();
        let above = LINE * (1.0 + lines as f64) + 6.0;
        let height = HEIGHT + above;
        let drawn = html! {
            (PreEscaped(FILE_MARK)) "\n"
            svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (height) } width=(WIDTH) height=(height)
                role="img" aria-labelledby="title" {
                title id="title" { (self.title) }
                style { "\n" (PreEscaped(style_of_file())) }
                rect.paper width="100%" height="100%" {}
                text.heading x="12" y="18" { (self.title) }
                (legend)
                g transform={ "translate(0 " (above) ")" } { (self.drawing) }
            }
        };
        drawn.0 + "\n"
    }

    /// The stops as the script of the page reads them: place, text, and where it leads to.
    fn stops(&self) -> Vec<serde_json::Value> {
        let stop = |(index, (x, told)): (usize, &(f64, String))| {
            let place = (x * 10.0).round() / 10.0;
            match self.hrefs.get(index).and_then(Option::as_ref) {
                Some(href) => serde_json::json!([place, told, href]),
                None => serde_json::json!([place, told]),
            }
        };
        self.stops.iter().enumerate().map(stop).collect()
    }

    /// The legend of a file, and the number of lines that it takes.
    fn legend_of_file(&self) -> (Markup, usize) {
        let (mut x, mut line) = (LEFT, 1);
        let mut drawn = PreEscaped(String::new());
        for (name, style) in &self.legend {
            let width = SAMPLE + name.chars().count() as f64 * LETTER + 16.0;
            if x > LEFT && x + width > WIDTH - RIGHT {
                (x, line) = (LEFT, line + 1);
            }
            let y = LINE * (line as f64 + 0.6);
            html! {
                path class={ "line s" (style) } d={ "M" (Coordinate(x)) " " (Coordinate(y)) "h28" } {}
                text.label x=(Coordinate(x + SAMPLE)) y=(Coordinate(y + 4.0)) { (name) }
            }
            .render_to(&mut drawn.0);
            x += width;
        }
        (drawn, if self.legend.is_empty() { 0 } else { line })
    }
}

/// The CSS rules with all colours inserted, because many programs that draw SVG do not support variables.
fn style_of_file() -> String {
    let (colours, rules) =
        STYLE.split_once(":root {").and_then(|(_, rest)| rest.split_once('}')).unwrap_or_default();
    let mut style = rules.trim_start().to_owned();
    for (name, colour) in colours.split(';').filter_map(|colour| colour.split_once(':')) {
        style = style.replace(&format!("var({})", name.trim()), colour.trim());
    }
    style
}

/// Renders the chart as part of a page.
impl Render for Figure {
    fn render_to(&self, markup: &mut String) {
        let stops = serde_json::Value::from(self.stops()).to_string();
        // The children of an image are hidden from screen readers, and links are not to be.
        let role = if self.hrefs.is_empty() { "img" } else { "group" };
        let (title, told) = (format!("{}-title", self.id), format!("{}-told", self.id));
        html! {
            figure.chart id=(self.id) {
                figcaption id=(title) { (self.title) }
                @if !self.legend.is_empty() { ul.legend {
                    @for (name, style) in &self.legend { li {
                        svg viewBox="0 0 28 8" aria-hidden="true" { path class={ "line s" (style) } d="M0 4H28" {} }
                        (name)
                    } }
                } }
                svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role=(role) tabindex="0" aria-labelledby=(title)
                    aria-describedby=(told) data-stops=(stops) {
                    (self.drawing)
                    path.cursor d={ "M0 " (TOP) "V" (HEIGHT - BOTTOM) } visibility="hidden" {}
                }
                p.told id=(told) aria-live="polite" {}
                details { summary { "Figures of this chart" } (self.table) }
            }
        }
        .render_to(markup);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_no_variables_and_all_of_its_legend() {
        let legend = (0..7).map(|style| (format!("a line with a long name <{style}>"), style)).collect();
        let figure = Figure {
            id: "x".into(),
            title: "a & b".into(),
            legend,
            drawing: html! { path.line.s0 d="M0 0" {} },
            stops: Vec::new(),
            hrefs: Vec::new(),
            table: html! {},
        };
        let file = figure.file();
        assert!(!file.contains("var(") && file.contains(".heat { fill: #0b63b6;"), "{file}");
        assert!(file.contains("a &amp; b") && file.matches("<text class=\"label\"").count() == 7, "{file}");
        assert!(file.contains("viewBox=\"0 0 720 376\""), "four lines above the plot: {file}");
    }
}
