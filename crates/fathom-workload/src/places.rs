//! Accesses by offset and time: a grid for each device.

use crate::timeline::{Bin, Timeline};
use fathom_stats::Direction;
use fathom_trace::Device;
use fathom_trace::requests::Request;
use serde::{Deserialize, Serialize};

/// Number of rows of the grid while it grows; only rows with accesses are shown.
const ROWS: usize = 512;
/// Maximum number of rows that are shown.
const SHOWN: usize = 64;
/// Initial height of a row in sectors: 64 KiB.
const LOWEST: u64 = 128;
/// Maximum number of devices with a grid.
const MOST_DEVICES: usize = 8;

/// Accesses of a device by offset and time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Map {
    /// Its number.
    pub device: Option<Device>,
    /// Offset of the lowest row in bytes.
    pub offset: u64,
    /// Height of a row in bytes.
    pub row_bytes: u64,
    /// Length of a column in seconds.
    pub column_s: f64,
    /// All cells with requests.
    pub cells: Vec<MapCell>,
}

/// A cell: column, row, reads, and writes or trims.
pub type MapCell = (u32, u32, u64, u64);

/// Numbers of reads, and of writes or trims, by row.
#[derive(Clone, Debug, Default)]
struct Column(Vec<(u32, u32)>);

impl Column {
    fn add(&mut self, row: usize, reads: u32, writes: u32) {
        if self.0.len() <= row {
            self.0.resize(row + 1, (0, 0));
        }
        let cell = &mut self.0[row];
        *cell = (cell.0.saturating_add(reads), cell.1.saturating_add(writes));
    }

    fn halve(&mut self) {
        let rows = std::mem::take(&mut self.0);
        rows.into_iter().enumerate().for_each(|(row, (reads, writes))| self.add(row / 2, reads, writes));
    }
}

impl Bin for Column {
    fn absorb(&mut self, next: Column) {
        next.0.into_iter().enumerate().for_each(|(row, (reads, writes))| self.add(row, reads, writes));
    }
}

#[derive(Debug, Default)]
struct Grid {
    height: u64,
    columns: Timeline<Column>,
}

/// Builds the maps of the first devices.
#[derive(Debug, Default)]
pub(crate) struct Mapper {
    start_ns: Option<u64>,
    grids: Vec<(Device, Grid)>,
}

impl Mapper {
    pub(crate) fn add(&mut self, request: &Request) {
        let start = *self.start_ns.get_or_insert(request.time_ns);
        if request.bytes == 0 {
            return;
        }
        let grid = match self.grids.iter().position(|(device, _)| *device == request.device) {
            Some(place) => place,
            None if self.grids.len() >= MOST_DEVICES => return,
            None => {
                let mut grid = Grid { height: LOWEST, columns: Timeline::default() };
                // All maps begin at the same time, so each grid gets a column for the start.
                grid.columns.at(start);
                self.grids.push((request.device, grid));
                self.grids.len() - 1
            }
        };
        let grid = &mut self.grids[grid].1;
        while request.sector / grid.height >= ROWS as u64 {
            grid.height *= 2;
            grid.columns.bins_mut().iter_mut().for_each(Column::halve);
        }
        let is_read = request.direction == Direction::Read;
        let row = (request.sector / grid.height) as usize;
        grid.columns.at(request.time_ns).add(row, u32::from(is_read), u32::from(!is_read));
    }

    pub(crate) fn finish(mut self, end_ns: u64) -> Vec<Map> {
        // All maps end at the same time, so each grid gets a column for the end.
        self.grids.iter_mut().for_each(|(_, grid)| {
            grid.columns.at(end_ns);
        });
        self.grids.into_iter().map(|(device, grid)| map(device, &grid)).collect()
    }
}

fn map(device: Device, grid: &Grid) -> Map {
    let used = || {
        grid.columns.bins().iter().flat_map(|column| {
            column.0.iter().enumerate().filter(|(_, cell)| **cell != (0, 0)).map(|(row, _)| row)
        })
    };
    let (low, high) = (used().min().unwrap_or(0), used().max().unwrap_or(0));
    let joined = (high - low + 1).div_ceil(SHOWN);
    let mut cells = Vec::new();
    for (number, column) in grid.columns.bins().iter().enumerate() {
        let mut rows: Vec<(u64, u64)> = vec![(0, 0); SHOWN];
        for (row, &(reads, writes)) in column.0.iter().enumerate().skip(low) {
            let cell = &mut rows[(row - low) / joined];
            *cell = (cell.0 + u64::from(reads), cell.1 + u64::from(writes));
        }
        let of_column = rows.into_iter().enumerate().filter(|(_, cell)| *cell != (0, 0));
        cells.extend(of_column.map(|(row, (reads, writes))| (number as u32, row as u32, reads, writes)));
    }
    Map {
        device: Some(device),
        offset: (low as u64 * grid.height).saturating_mul(512),
        row_bytes: (grid.height * joined as u64).saturating_mul(512),
        column_s: grid.columns.width_ns() as f64 / 1e9,
        cells,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_request_is_in_one_cell(places in prop::collection::vec((0u64..1 << 40, any::<bool>()), 1..300)) {
            let mut mapper = Mapper::default();
            let device = Device { major: 8, minor: 0 };
            for (time, &(sector, is_read)) in places.iter().enumerate() {
                let direction = if is_read { Direction::Read } else { Direction::Write };
                let time_ns = time as u64 * 30_000_000;
                mapper.add(&Request { time_ns, device, direction, sector, skip: 0, bytes: 512, code: 0, process: 0 });
            }
            let map = &mapper.finish(0)[0];
            let reads: u64 = map.cells.iter().map(|cell| cell.2).sum();
            let writes: u64 = map.cells.iter().map(|cell| cell.3).sum();
            prop_assert_eq!(reads, places.iter().filter(|place| place.1).count() as u64);
            prop_assert_eq!(reads + writes, places.len() as u64);
            let end = map.offset + map.row_bytes * SHOWN as u64;
            prop_assert!(places.iter().all(|&(sector, _)| sector * 512 >= map.offset && sector * 512 < end));
        }
    }
}
