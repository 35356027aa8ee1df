//! Charts as SVG in a page. The program draws them itself, so they work without scripts and on paper. For
//! screen readers, each chart also has its figures in a table.

mod figure;
pub(crate) mod heat;
pub(crate) mod links;
pub(crate) mod places;
pub(crate) mod scale;

use crate::table::Table;
pub(crate) use figure::{FILE_MARK, Figure};
use maud::{Markup, PreEscaped, Render, html};
use places::{Places, Room};
use scale::{Scale, Unit};
use std::fmt::Write as _;

/// Size of a chart and its margins, in SVG units.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 270.0;
const LEFT: f64 = 96.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 54.0;

/// An axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) scale: Scale,
    pub(crate) unit: Unit,
}

/// A coordinate in the SVG, with one decimal.
pub(crate) struct Coordinate(pub(crate) f64);

impl Render for Coordinate {
    fn render_to(&self, markup: &mut String) {
        let _ = write!(markup, "{:.1}", self.0);
    }
}

/// A line, or a row of bars.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    /// Index of the colour and the dash pattern.
    pub(crate) style: usize,
    /// Ascending in x.
    pub(crate) points: Vec<(f64, f64)>,
}

/// Radius of the mark of a point.
const MARK: f64 = 3.5;
/// Distance between the lines of a categorical chart, so that their intervals do not hide each other.
const APART: f64 = 7.0;
/// Half the length of the cap at each end of an interval.
const CAP: f64 = 3.0;

/// A chart under construction.
pub(crate) struct Chart {
    title: String,
    x: Axis,
    y: Axis,
    body: Markup,
    legend: Vec<(String, usize)>,
    /// Cursor positions along x, and the text to show at each.
    stops: Vec<(f64, String)>,
    /// Where each stop leads to, if stops are linked; otherwise empty.
    hrefs: Vec<Option<String>>,
}

impl Chart {
    pub(crate) fn new(title: &str, x: Axis, y: Axis) -> Chart {
        Chart {
            title: title.to_owned(),
            x,
            y,
            body: PreEscaped::default(),
            legend: Vec::new(),
            stops: Vec::new(),
            hrefs: Vec::new(),
        }
    }

    /// Position of a value on the x axis, in SVG units.
    fn at_x(&self, value: f64) -> f64 {
        LEFT + self.x.scale.place(value) * (WIDTH - LEFT - RIGHT)
    }

    /// Position of a value on the y axis, in SVG units.
    fn at_y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.scale.place(value) * (HEIGHT - TOP - BOTTOM)
    }

    /// The points of a line, in SVG units.
    fn places_of(&self, line: &Series) -> Vec<(f64, f64)> {
        line.points.iter().map(|&(x, y)| (self.at_x(x), self.at_y(y))).collect()
    }

    /// Appends a part to the drawing.
    fn draw(&mut self, part: &Markup) {
        part.render_to(&mut self.body.0);
    }

    /// Draws lines. With `is_stepped`, a line keeps each value until the next point.
    pub(crate) fn lines(&mut self, series: &[Series], is_stepped: bool) {
        for line in series {
            let mut points = Vec::new();
            for (x, y) in self.places_of(line) {
                if let Some(&(_, last)) = points.last().filter(|_| is_stepped) {
                    points.push((x, last));
                }
                points.push((x, y));
            }
            self.draw(&html! { path class={ "line s" (line.style) } d=(path_through(&points)) {} });
            self.legend.push((line.name.clone(), line.style));
        }
        self.add_stops(series);
    }

    /// Draws a line at whose points the cursor does not stop.
    pub(crate) fn bare_line(&mut self, line: &Series) {
        let path = path_through(&self.places_of(line));
        self.draw(&html! { path class={ "line s" (line.style) } d=(path) {} });
        self.legend.push((line.name.clone(), line.style));
    }

    /// Draws a histogram as a filled outline. The points are the starts of its bins.
    pub(crate) fn areas(&mut self, series: &[Series]) {
        for line in series {
            let base = self.at_y(0.0);
            let mut path = String::new();
            for (index, &(x, y)) in line.points.iter().enumerate() {
                let (x, y) = (self.at_x(x), self.at_y(y));
                let _ = match index {
                    0 => write!(path, "M{x:.1} {base:.1}V{y:.1}"),
                    _ => write!(path, "H{x:.1}V{y:.1}"),
                };
            }
            let _ = write!(path, "V{base:.1}Z");
            self.draw(&html! { path class={ "area s" (line.style) } d=(path) {} });
            self.legend.push((line.name.clone(), line.style));
        }
        self.add_stops(series);
    }

    /// Draws bars over the categories 0, 1, 2, ..., each of which has a name.
    pub(crate) fn bars(&mut self, names: &[String], values: &[f64], style: usize) {
        let slot = (WIDTH - LEFT - RIGHT) / names.len().max(1) as f64;
        for (index, (name, &value)) in names.iter().zip(values).enumerate() {
            let (x, y) = (LEFT + slot * index as f64, self.at_y(value));
            self.draw(&html! {
                rect class={ "bar s" (style) } x=(Coordinate(x + slot * 0.15)) y=(Coordinate(y)) width=(Coordinate(slot * 0.7))
                    height=(Coordinate(HEIGHT - BOTTOM - y)) {}
                (below(x + slot / 2.0, name))
            });
            self.stops.push((x + slot / 2.0, format!("{name}: {}", self.y.unit.text(value))));
        }
    }

    /// Draws a stack of bars over each of the named categories 0, 1, 2, .... The values of a part are those of all
    /// categories; the first part is at the bottom.
    pub(crate) fn stacks(&mut self, names: &[String], parts: &[(&str, Vec<f64>)]) {
        let slot = (WIDTH - LEFT - RIGHT) / names.len().max(1) as f64;
        for (index, name) in names.iter().enumerate() {
            let (x, mut base) = (LEFT + slot * index as f64, 0.0);
            for (style, (_, values)) in parts.iter().enumerate() {
                let (bottom, top) = (self.at_y(base), self.at_y(base + values[index]));
                self.draw(&html! {
                    rect class={ "bar s" (style) } x=(Coordinate(x + slot * 0.15)) y=(Coordinate(top))
                        width=(Coordinate(slot * 0.7)) height=(Coordinate(bottom - top)) {}
                });
                base += values[index];
            }
            self.draw(&below(x + slot / 2.0, name));
            let told =
                parts.iter().map(|(part, values)| format!("{part} {}", self.y.unit.text(values[index])));
            let told = format!("{name}: {}", told.collect::<Vec<String>>().join(", "));
            self.stops.push((x + slot / 2.0, told));
        }
        self.legend.extend(parts.iter().enumerate().map(|(style, (part, _))| ((*part).to_owned(), style)));
    }

    /// Draws lines over named categories 0, 1, 2, ..., with a mark for each point and a bar for its interval.
    pub(crate) fn lines_over(&mut self, places: &Places, lines: &[(Series, Vec<(f64, f64)>)]) {
        let at = |place: f64| LEFT + places.at(place as usize) * (WIDTH - LEFT - RIGHT);
        let labels = places.labels();
        for (index, (name, room)) in places.names().iter().zip(labels).enumerate() {
            let class = (room == Room::NotOnPhones).then_some("less");
            if room != Room::Nowhere {
                self.draw(&html! { g class=[class] { (below(at(index as f64), name)) } });
            }
            let values = lines.iter().filter_map(|(line, _)| {
                let point = line.points.iter().find(|point| point.0 == index as f64)?;
                Some(format!("{} {}", line.name, self.y.unit.text(point.1)))
            });
            let told = format!("{name}: {}", values.collect::<Vec<String>>().join(", "));
            self.stops.push((at(index as f64), told));
        }
        let has_intervals = lines.iter().flat_map(|(_, ends)| ends).any(|(low, high)| low < high);
        for (number, (line, ends)) in lines.iter().enumerate() {
            let shift = if has_intervals { shift_of(number, lines.len()) } else { 0.0 };
            let points: Vec<(f64, f64)> =
                line.points.iter().map(|&(x, y)| (at(x) + shift, self.at_y(y))).collect();
            let bars: Vec<(f64, f64, f64)> = points
                .iter()
                .zip(ends)
                .filter(|(_, (low, high))| low < high)
                .map(|(point, &(low, high))| (point.0, self.at_y(low), self.at_y(high)))
                .collect();
            self.draw(&html! {
                path class={ "line s" (line.style) } d=(path_through(&points)) {}
                path class={ "interval s" (line.style) } d=(interval_bars(&bars)) {}
            });
            self.mark(&points, line.style, false);
            self.legend.push((line.name.clone(), line.style));
        }
    }

    /// Marks the points of a line. Hollow marks stand for points of a different kind.
    pub(crate) fn marks(&mut self, line: &Series, is_hollow: bool) {
        let points = self.places_of(line);
        self.mark(&points, line.style, is_hollow);
    }

    fn mark(&mut self, points: &[(f64, f64)], style: usize, is_hollow: bool) {
        let kind = if is_hollow { "hollow" } else { "mark" };
        self.draw(&html! { @for &(x, y) in points {
            circle class={ (kind) " s" (style) } cx=(Coordinate(x)) cy=(Coordinate(y)) r=(MARK) {}
        } });
    }

    /// Draws the intervals of points at x, from low to high on the y axis; the intervals of line `number` of
    /// `count` are shifted, so that they do not hide those of other lines.
    pub(crate) fn intervals(
        &mut self,
        bars: &[(f64, f64, f64)],
        style: usize,
        (number, count): (usize, usize),
    ) {
        let shift = shift_of(number, count);
        let bar = |&(x, low, high): &(f64, f64, f64)| (self.at_x(x) + shift, self.at_y(low), self.at_y(high));
        let bars: Vec<(f64, f64, f64)> = bars.iter().map(bar).collect();
        self.draw(&html! { path class={ "interval s" (style) } d=(interval_bars(&bars)) {} });
    }

    /// Adds a cursor position for each x at which a line has a point.
    fn add_stops(&mut self, series: &[Series]) {
        let mut places: Vec<f64> =
            series.iter().flat_map(|line| line.points.iter().map(|point| point.0)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        for place in places {
            let values = series.iter().filter_map(|line| {
                let index = line.points.partition_point(|point| point.0 <= place).checked_sub(1)?;
                Some(format!("{} {}", line.name, self.y.unit.text(line.points[index].1)))
            });
            let told = format!("{}: {}", self.x.unit.text(place), values.collect::<Vec<String>>().join(", "));
            self.stops.push((self.at_x(place), told));
        }
    }

    /// Adds cursor positions with their texts.
    pub(crate) fn stops_at(&mut self, stops: &[(f64, String)]) {
        let stops: Vec<(f64, String)> =
            stops.iter().map(|(place, told)| (self.at_x(*place), told.clone())).collect();
        self.stops.extend(stops);
    }

    fn grid(&self) -> Markup {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let across = self.x.scale.ticks().into_iter().filter(|_| self.x.unit != Unit::Row);
        html! {
            @for (tick, y) in self.y.scale.ticks().into_iter().map(|tick| (tick, self.at_y(tick))) {
                path.grid d={ "M" (LEFT) " " (Coordinate(y)) "H" (right) } {}
                text.tick x=(LEFT - 6.0) y=(Coordinate(y + 4.0)) text-anchor="end" { (self.y.unit.tick(tick)) }
            }
            @for (tick, x) in across.map(|tick| (tick, self.at_x(tick))) {
                path.grid d={ "M" (Coordinate(x)) " " (TOP) "V" (bottom) } {}
                (below(x, &self.x.unit.tick(tick)))
            }
            text.label x=(LEFT + (right - LEFT) / 2.0) y=(HEIGHT - 6.0) text-anchor="middle" { (self.x.label) }
            text.label transform={ "translate(16 " (TOP + (bottom - TOP) / 2.0) ") rotate(-90)" } text-anchor="middle" {
                (self.y.label)
            }
        }
    }

    /// Completes the figure. `id` is unique in its page, and `table` holds the same figures for screen readers.
    pub(crate) fn figure(self, id: &str, table: &Table) -> Figure {
        self.figure_with(id, table.html())
    }

    /// Completes the figure with a table that is drawn already.
    pub(crate) fn figure_with(self, id: &str, table: Markup) -> Figure {
        let drawing = html! { (self.grid()) (self.body) };
        Figure {
            id: id.to_owned(),
            title: self.title,
            legend: self.legend,
            drawing,
            stops: self.stops,
            hrefs: self.hrefs,
            table,
        }
    }
}

/// Horizontal offset of a line's intervals from its points.
fn shift_of(number: usize, count: usize) -> f64 {
    (number as f64 - count.saturating_sub(1) as f64 / 2.0) * APART
}

/// A label below the plot.
fn below(x: f64, name: &str) -> Markup {
    html! { text.tick x=(Coordinate(x)) y=(HEIGHT - BOTTOM + 23.0) text-anchor="middle" { (name) } }
}

/// The SVG path of a line through points.
fn path_through(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (number, (x, y)) in points.iter().enumerate() {
        let _ = write!(path, "{}{x:.1} {y:.1}", if number == 0 { "M" } else { "L" });
    }
    path
}

/// The SVG path of interval bars, which are given as x, low and high in SVG units.
fn interval_bars(bars: &[(f64, f64, f64)]) -> String {
    let mut path = String::new();
    for (x, low, high) in bars {
        let left = x - CAP;
        let width = 2.0 * CAP;
        let _ =
            write!(path, "M{x:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}h{width}M{left:.1} {high:.1}h{width}");
    }
    path
}
