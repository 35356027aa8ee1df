//! Values kept separately for reads, writes and trims.

use crate::direction::Direction;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Index, IndexMut};

/// One value each for reads, writes and trims: an array indexed by [`Direction`], so that the index cannot be
/// out of bounds. It is serialized as an array of three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
#[repr(transparent)]
pub struct PerDirection<T>([T; 3]);

impl<T> PerDirection<T> {
    /// Creates it from the values of reads, writes and trims.
    pub const fn new(values: [T; 3]) -> PerDirection<T> {
        PerDirection(values)
    }

    /// Creates it with a value per direction that `make` computes.
    pub fn from_fn(make: impl FnMut(Direction) -> T) -> PerDirection<T> {
        PerDirection(Direction::ALL.map(make))
    }

    /// Creates it with the same value for all directions.
    pub fn all(value: T) -> PerDirection<T>
    where
        T: Clone,
    {
        PerDirection([value.clone(), value.clone(), value])
    }

    /// Iterates over the directions with their values.
    pub fn iter(&self) -> impl Iterator<Item = (Direction, &T)> {
        Direction::ALL.into_iter().zip(&self.0)
    }

    /// Iterates over the directions with their mutable values.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Direction, &mut T)> {
        Direction::ALL.into_iter().zip(&mut self.0)
    }

    /// Iterates over the values.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }

    /// Iterates over the mutable values.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }

    /// Returns references to the values.
    pub fn each_ref(&self) -> PerDirection<&T> {
        PerDirection(self.0.each_ref())
    }

    /// Returns the values of reads, writes and trims.
    pub fn into_array(self) -> [T; 3] {
        self.0
    }

    /// Applies `change` to each value.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> PerDirection<U> {
        PerDirection(self.0.map(change))
    }
}

impl<T> Index<Direction> for PerDirection<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, direction: Direction) -> &T {
        &self.0[direction as usize]
    }
}

impl<T> IndexMut<Direction> for PerDirection<T> {
    #[inline(always)]
    fn index_mut(&mut self, direction: Direction) -> &mut T {
        &mut self.0[direction as usize]
    }
}

impl<T> From<[T; 3]> for PerDirection<T> {
    fn from(values: [T; 3]) -> PerDirection<T> {
        PerDirection(values)
    }
}

impl<T> From<PerDirection<T>> for [T; 3] {
    fn from(values: PerDirection<T>) -> [T; 3] {
        values.0
    }
}

/// Formats the values as in options: `1,2,3`.
impl<T: fmt::Display> fmt::Display for PerDirection<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [read, write, trim] = &self.0;
        write!(formatter, "{read},{write},{trim}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_direction_has_a_value_of_its_own() {
        let mut values = PerDirection::from_fn(Direction::index);
        values[Direction::Trim] = 7;
        for value in values.values_mut().take(1) {
            *value = 5;
        }
        assert_eq!(Direction::ALL.map(|direction| values[direction]), [5, 1, 7]);
        assert!(values.iter().all(|(direction, value)| values[direction] == *value));
        assert_eq!(values.map(|value| value * 2).to_string(), "10,2,14");
    }

    #[test]
    fn it_is_stored_as_an_array() {
        let values = PerDirection::new([1, 2, 3]);
        let text = serde_json::to_string(&values).expect("numbers can be written");
        assert_eq!(text, "[1,2,3]");
        assert_eq!(serde_json::from_str::<PerDirection<u32>>(&text).expect("it can be read"), values);
        assert_eq!(size_of::<PerDirection<u64>>(), size_of::<[u64; 3]>());
    }
}
