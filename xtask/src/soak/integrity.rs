//! Verify jobs on intact and on damaged files.

use super::devices::LoopDevice;
use super::program::{Finished, Program};
use super::{Round, jobs};
use crate::chance::Chance;
use std::path::{Path, PathBuf};

/// Content of the files before the job, to determine where it wrote.
const BEFORE: u8 = 0xee;
const SECTOR: usize = 512;
/// Size of a device: more than any job needs.
const DEVICE_SIZE: usize = 512 << 10;

/// One job: written, checked, damaged, and checked again.
pub(crate) fn round(program: &Program, chance: &mut Chance, directory: &Path) -> Result<Round, String> {
    let (layout, order) = (jobs::layout(chance), jobs::order(chance));
    let device = device(chance, &order, directory)?;
    let names = match &device {
        Some(device) => format!("--filename={}", device.path().display()),
        None => jobs::names(&order).to_owned(),
    };
    let words = format!("--name=job {names} --size=256k --output-format=json {layout} {order}");
    let laid_out = format!("{words} --create_only=1");
    good(&laid_out, program.run(directory, &laid_out)?)?;
    for file in files(directory)?.iter().filter(|_| device.is_none()) {
        let length = std::fs::metadata(file).map_err(text)?.len() as usize;
        std::fs::write(file, vec![BEFORE; length]).map_err(text)?;
    }
    good(&words, program.run(directory, &words)?)?;
    let check = format!("{words} --verify_only=1 --verify_header_seed=1 --verify_write_sequence=1");
    good(&check, program.run(directory, &check)?).map_err(|told| format!("  a false alarm:\n{told}"))?;
    let files = files(directory)?;
    let file = &files[chance.below(files.len() as u64) as usize];
    let before = std::fs::read(file).map_err(text)?;
    let mut data = before.clone();
    let how = damage(&mut data, chance);
    let must_be_found = {
        let mut changed = (0..data.len()).filter(|&at| data[at] != before[at]);
        changed.any(|at| is_known(&layout, &order, &before, at))
    };
    std::fs::write(file, &data).map_err(text)?;
    let finished = program.run(directory, &check)?;
    let json = serde_json::from_str::<serde_json::Value>(&finished.stdout);
    if json.is_err() || !matches!(finished.status.code(), Some(0 | 1)) {
        return Err(format!("  after damage, no report or no proper end:\n{}", finished.told(&check)));
    }
    if must_be_found && finished.is_success() {
        let places: Vec<usize> = (0..data.len()).filter(|&at| data[at] != before[at]).take(4).collect();
        let told = finished.told(&check);
        return Err(format!("  damage missed: {how} in {}, bytes {places:?} ...\n{told}", file.display()));
    }
    Ok(Round::Good(match (must_be_found, finished.is_success()) {
        (true, _) if device.is_some() => "clean, and damage found on a device",
        (true, _) => "clean, and damage found",
        (false, true) => "clean; damage where nothing is promised",
        (false, false) => "clean; damage found where it need not be",
    }))
}

/// In some rounds with one file, it is replaced by a loop device that is written to through the page cache.
fn device(chance: &mut Chance, order: &str, directory: &Path) -> Result<Option<LoopDevice>, String> {
    if chance.below(3) > 0 || jobs::names(order).is_empty() {
        return Ok(None);
    }
    let image = directory.join("image");
    std::fs::write(&image, vec![BEFORE; DEVICE_SIZE]).map_err(text)?;
    let device = LoopDevice::on(&image);
    if device.is_none() {
        std::fs::remove_file(&image).map_err(text)?;
    }
    Ok(device)
}

/// True if a check covers a byte: written, not possibly reverted, and not part of a header, which has unused bytes.
fn is_known(layout: &str, order: &str, before: &[u8], at: usize) -> bool {
    let sector = &before[at / SECTOR * SECTOR..(at / SECTOR * SECTOR + SECTOR).min(before.len())];
    let is_written = sector.iter().any(|&byte| byte != BEFORE) && sector.iter().any(|&byte| byte != 0);
    is_written && !order.contains("trim") && !layout.contains("crc16") && at % SECTOR >= 400
}

/// Damages data in one of several ways; returns a description.
fn damage(data: &mut [u8], chance: &mut Chance) -> &'static str {
    let sectors = (data.len() / SECTOR).max(1) as u64;
    let sector = chance.below(sectors) as usize * SECTOR;
    let end = data.len();
    match chance.below(4) {
        0 => {
            let at = sector + 440 + chance.below(72) as usize;
            data[at.min(end - 1)] ^= 1 << chance.below(8);
            "a flipped bit"
        }
        1 => {
            data[sector..(sector + 8 * SECTOR).min(end)].fill(0);
            "zeros"
        }
        2 => {
            let other = chance.below(sectors) as usize * SECTOR;
            let bytes = data[other..(other + SECTOR).min(end)].to_vec();
            let room = (end - sector).min(bytes.len());
            data[sector..sector + room].copy_from_slice(&bytes[..room]);
            "another sector"
        }
        _ => {
            for (at, byte) in data[sector..(sector + SECTOR).min(end)].iter_mut().enumerate() {
                *byte ^= (at * 7) as u8 | 1;
            }
            "garbage"
        }
    }
}

/// The data files below a directory.
fn files(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(text)? {
        let path = entry.map_err(text)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with("local-") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn good(words: &str, finished: Finished) -> Result<(), String> {
    let wrong = serde_json::from_str::<serde_json::Value>(&finished.stdout)
        .map_or(u64::MAX, |report| report["fathom verify"][0]["wrong_blocks"].as_u64().unwrap_or(0));
    match finished.is_success() && wrong == 0 {
        true => Ok(()),
        false => Err(finished.told(words)),
    }
}

fn text(error: std::io::Error) -> String {
    format!("  {error}")
}
