//! The likely cause of a change: attributes of the runs that change at the same point.

use crate::model::Cause;
use crate::series::Point;
use std::collections::BTreeSet;

/// The runs around a change, by their places among the runs that count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around {
    /// First run of the level before.
    pub(crate) first: usize,
    /// First run of the level after.
    pub(crate) place: usize,
    /// Earliest and latest run that may be the first of the level after.
    pub(crate) range: (usize, usize),
    /// End of the level after.
    pub(crate) end: usize,
}

/// Finds the attributes that change between the earliest and the latest place of the change: the old value does not
/// occur after it, nor the new one before it. An attribute that differs from run to run, such as a version, is one
/// too: it says where to look. `numbers` are those of the runs that count.
pub(crate) fn causes(points: &[Point], numbers: &[usize], around: Around) -> Vec<Cause> {
    let run = |place: usize| &points[numbers[place]];
    let names: BTreeSet<&String> =
        (around.first..around.end).flat_map(|place| run(place).attributes.keys()).collect();
    let mut causes: Vec<(usize, Cause)> = Vec::new();
    for name in names {
        let value = |place: usize| run(place).attributes.get(name);
        let changes = (around.range.0.max(around.first + 1)..=around.range.1)
            .filter(|place| value(*place) != value(place - 1))
            .filter(|place| {
                let (old, new) = (value(place - 1), value(*place));
                (around.first..*place).all(|other| value(other) != new)
                    && (*place..around.end).all(|other| value(other) != old)
            });
        let Some(place) = changes.min_by_key(|place| place.abs_diff(around.place)) else { continue };
        let (old, new) = (value(place - 1), value(place));
        let is_steady = (around.first..place).all(|other| value(other) == old)
            && (place..around.end).all(|other| value(other) == new);
        let (name, before, after) = (name.clone(), old.cloned(), new.cloned());
        causes.push((place, Cause { name, before, after, number: numbers[place], is_steady }));
    }
    causes.sort_by_key(|(place, cause)| (!cause.is_steady, place.abs_diff(around.place)));
    causes.into_iter().map(|(_, cause)| cause).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series() -> (Vec<Point>, Vec<usize>) {
        let points: Vec<Point> = (0..20)
            .map(|run| {
                Point::new(1.0)
                    .with("kernel", if run < 10 { "6.12.8" } else { "6.12.11" })
                    .with("firmware", if run < 11 { "A" } else { "B" })
                    .with("version", &run.to_string())
                    .with("host", if run % 2 == 0 { "one" } else { "two" })
                    .with("device", "sda")
            })
            .collect();
        (points, (0..20).collect())
    }

    #[test]
    fn the_attribute_that_changes_at_the_point_is_first() {
        let (points, numbers) = series();
        let around = Around { first: 0, place: 10, range: (9, 11), end: 20 };
        let found = causes(&points, &numbers, around);
        let names: Vec<(&str, bool)> =
            found.iter().map(|cause| (cause.name.as_str(), cause.is_steady)).collect();
        assert_eq!(names, [("kernel", true), ("firmware", true), ("version", false)]);
        assert_eq!(found[0].before.as_deref(), Some("6.12.8"));
        assert_eq!((found[0].after.as_deref(), found[0].number), (Some("6.12.11"), 10));
    }

    #[test]
    fn attributes_that_change_elsewhere_are_none() {
        let (points, numbers) = series();
        let around = Around { first: 0, place: 5, range: (5, 6), end: 20 };
        let names: Vec<String> =
            causes(&points, &numbers, around).into_iter().map(|cause| cause.name).collect();
        assert_eq!(names, ["version"]);
    }

    #[test]
    fn an_attribute_that_appears_is_one() {
        let (mut points, numbers) = series();
        points[10..].iter_mut().for_each(|point| point.attributes.clear());
        let around = Around { first: 0, place: 10, range: (10, 10), end: 20 };
        let found = causes(&points, &numbers, around);
        let device = found.iter().find(|cause| cause.name == "device").expect("the device is gone");
        assert_eq!((device.before.as_deref(), device.after.as_deref()), (Some("sda"), None));
    }
}
