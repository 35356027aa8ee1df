//! Describes the errors of failed SCSI commands.

use fathom_sys::scsi::Answer;

/// Names of the sense keys (SPC-5, table "sense key descriptions").
const KEYS: [&str; 16] = [
    "no sense",
    "recovered error",
    "not ready",
    "medium error",
    "hardware error",
    "illegal request",
    "unit attention",
    "data protect",
    "blank check",
    "vendor specific",
    "copy aborted",
    "aborted command",
    "reserved",
    "volume overflow",
    "miscompare",
    "completed",
];
const RECOVERED_ERROR: u8 = 1;
/// The status byte with which PRE-FETCH reports that all blocks fit into the cache.
const CONDITION_MET: u8 = 4;
const UNIT_ATTENTION: u8 = 6;

/// Common additional sense codes (SPC-5, annex "numeric order codes").
const CODES: &[((u8, u8), &str)] = &[
    ((0x03, 0x00), "peripheral device write fault"),
    ((0x04, 0x00), "not ready, cause not reportable"),
    ((0x04, 0x01), "becoming ready"),
    ((0x04, 0x02), "initializing command required"),
    ((0x04, 0x04), "format in progress"),
    ((0x0c, 0x00), "write error"),
    ((0x10, 0x01), "guard check failed"),
    ((0x10, 0x02), "application tag check failed"),
    ((0x10, 0x03), "reference tag check failed"),
    ((0x11, 0x00), "unrecovered read error"),
    ((0x14, 0x00), "recorded entity not found"),
    ((0x1a, 0x00), "parameter list length error"),
    ((0x1d, 0x00), "miscompare during verify operation"),
    ((0x20, 0x00), "invalid command operation code"),
    ((0x21, 0x00), "logical block address out of range"),
    ((0x21, 0x04), "unaligned write command"),
    ((0x21, 0x05), "write boundary violation"),
    ((0x21, 0x06), "attempt to read invalid data"),
    ((0x21, 0x07), "read boundary violation"),
    ((0x24, 0x00), "invalid field in the command"),
    ((0x25, 0x00), "logical unit not supported"),
    ((0x26, 0x00), "invalid field in the parameter list"),
    ((0x27, 0x00), "write protected"),
    ((0x27, 0x07), "space allocation failed"),
    ((0x28, 0x00), "medium may have changed"),
    ((0x29, 0x00), "power on or reset occurred"),
    ((0x2a, 0x09), "capacity has changed"),
    ((0x2c, 0x0e), "insufficient zone resources"),
    ((0x31, 0x00), "medium format corrupted"),
    ((0x3a, 0x00), "medium not present"),
    ((0x3f, 0x0e), "logical units have changed"),
    ((0x44, 0x00), "internal target failure"),
    ((0x55, 0x0e), "insufficient zone resources"),
];

/// Decoded sense data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sense {
    key: u8,
    code: u8,
    qualifier: u8,
}

impl Sense {
    /// Decodes sense data in fixed or descriptor format; `None` without sense data.
    fn of(answer: &Answer) -> Option<Sense> {
        let bytes = answer.sense();
        let at = |index: usize| bytes.get(index).copied().unwrap_or(0);
        match at(0) & 0x7f {
            0x70 | 0x71 => Some(Sense { key: at(2) & 0xf, code: at(12), qualifier: at(13) }),
            0x72 | 0x73 => Some(Sense { key: at(1) & 0xf, code: at(2), qualifier: at(3) }),
            _ => None,
        }
    }
}

/// True if the command succeeded, possibly after retries by the device.
pub(crate) fn is_good(answer: &Answer) -> bool {
    let is_recovered = || Sense::of(answer).is_some_and(|sense| sense.key == RECOVERED_ERROR);
    answer.good || answer.host_status == 0 && (answer.status == CONDITION_MET || is_recovered())
}

/// True for a unit attention, for example after a reset. The command can then be repeated.
pub(crate) fn is_attention(answer: &Answer) -> bool {
    Sense::of(answer).is_some_and(|sense| sense.key == UNIT_ATTENTION)
}

/// Describes the failure of a command, with all its bytes.
pub(crate) fn describe(answer: &Answer, command: &[u8]) -> String {
    let mut words = Vec::new();
    if answer.host_status != 0 {
        words.push(format!(
            "transport {:#04x}{}",
            answer.host_status,
            in_brackets(host_word(answer.host_status))
        ));
    }
    if answer.status != 0 {
        words.push(format!("SCSI status {:#04x}{}", answer.status, in_brackets(status_word(answer.status))));
    }
    if let Some(Sense { key, code, qualifier }) = Sense::of(answer) {
        let known = CODES.iter().find(|(pair, _)| *pair == (code, qualifier)).map_or("", |(_, word)| word);
        words.push(format!(
            "sense key {key:x} ({}), code {code:02x}/{qualifier:02x}{}",
            KEYS[usize::from(key)],
            in_brackets(known)
        ));
        words.push(format!("sense data {}", hex(answer.sense())));
    }
    words.push(format!("command {}", hex(command)));
    words.join(", ")
}

fn in_brackets(word: &str) -> String {
    if word.is_empty() { String::new() } else { format!(" ({word})") }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<String>>().join(" ")
}

/// Names of SAM-5.
fn status_word(status: u8) -> &'static str {
    match status {
        0x02 => "check condition",
        0x08 => "busy",
        0x18 => "reservation conflict",
        0x28 => "task set full",
        0x30 => "ACA active",
        0x40 => "task aborted",
        _ => "",
    }
}

/// The name of a status of Linux' host adapter drivers.
fn host_word(status: u16) -> &'static str {
    match status {
        0x01 => "no connection",
        0x02 => "bus busy",
        0x03 => "timed out",
        0x04 => "bad target",
        0x05 => "aborted",
        0x06 => "parity error",
        0x07 => "error of the adapter",
        0x08 => "reset",
        0x0e | 0x0f => "transport failed",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_sys::scsi::SENSE;
    use proptest::prelude::*;

    fn answer(bytes: &[u8]) -> Answer {
        let mut sense = [0; SENSE];
        sense[..bytes.len()].copy_from_slice(bytes);
        let sense_length = bytes.len() as u8;
        Answer { residual: 0, status: 2, host_status: 0, driver_status: 8, sense, sense_length, good: false }
    }

    #[test]
    fn both_formats_are_told_in_words() {
        let fixed = answer(&[0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0]);
        assert_eq!(
            describe(&fixed, &[0x2e, 0]),
            "SCSI status 0x02 (check condition), sense key 5 (illegal request), code 20/00 (invalid command operation code), sense \
             data 70 00 05 00 00 00 00 0a 00 00 00 00 20 00 00 00 00 00, command 2e 00"
        );
        let descriptor = answer(&[0x72, 0x0e, 0x1d, 0]);
        assert!(
            describe(&descriptor, &[])
                .contains("sense key e (miscompare), code 1d/00 (miscompare during verify")
        );
        assert!(!is_good(&fixed));
        assert!(is_good(&answer(&[0x70, 0, 1])));
        assert!(is_attention(&answer(&[0x72, 6, 0x29, 0])));
    }

    proptest! {
        #[test]
        fn any_sense_data_has_words(bytes in proptest::collection::vec(any::<u8>(), 0..=SENSE), host in any::<u16>()) {
            let answer = Answer { host_status: host, ..answer(&bytes) };
            prop_assert!(describe(&answer, &bytes).contains("command"));
        }
    }
}
