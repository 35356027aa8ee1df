//! Names of completion statuses (NVM Express Base, NVM and Zoned Namespace command set specifications).

/// Bit widths of the status code and of its type.
const CODE: u16 = 0x7ff;

/// Describes a status, as in `Invalid Protection Information, status 0x181`.
pub(super) fn describe(status: u16) -> String {
    let code = status & CODE;
    match name(code) {
        Some(name) => format!("{name}, status {code:#x}"),
        None => format!("status code type {:#x}, status code {:#x}", code >> 8, code & 0xff),
    }
}

fn name(code: u16) -> Option<&'static str> {
    NAMES.iter().find(|(of, _)| *of == code).map(|(_, name)| *name)
}

/// Status code type and status code, with their names.
const NAMES: [(u16, &str); 61] = [
    (0x000, "Successful Completion"),
    (0x001, "Invalid Command Opcode: the controller has no such command"),
    (0x002, "Invalid Field in Command"),
    (0x003, "Command ID Conflict"),
    (0x004, "Data Transfer Error"),
    (0x005, "Commands Aborted due to Power Loss Notification"),
    (0x006, "Internal Error"),
    (0x007, "Command Abort Requested"),
    (0x008, "Command Aborted due to SQ Deletion"),
    (0x009, "Command Aborted due to Missing Fused Command"),
    (0x00a, "Command Aborted due to Failed Fused Command"),
    (0x00b, "Invalid Namespace or Format"),
    (0x00c, "Command Sequence Error"),
    (0x00d, "Invalid SGL Segment Descriptor"),
    (0x00e, "Invalid Number of SGL Descriptors"),
    (0x00f, "Data SGL Length Invalid"),
    (0x010, "Invalid Use of Controller Memory Buffer"),
    (0x013, "PRP Offset Invalid"),
    (0x014, "Atomic Write Unit Exceeded"),
    (0x015, "Operation Denied"),
    (0x01c, "Sanitize Failed"),
    (0x01d, "Sanitize In Progress"),
    (0x01e, "SGL Data Block Granularity Invalid"),
    (0x020, "Namespace is Write Protected"),
    (0x021, "Command Interrupted"),
    (0x022, "Transient Transport Error"),
    (0x029, "FDP Disabled"),
    (0x02a, "Invalid Placement Handle List"),
    (0x080, "LBA Out of Range"),
    (0x081, "Capacity Exceeded"),
    (0x082, "Namespace Not Ready"),
    (0x083, "Reservation Conflict"),
    (0x084, "Format In Progress"),
    (0x180, "Conflicting Attributes"),
    (0x181, "Invalid Protection Information"),
    (0x182, "Attempted Write to Read Only Range"),
    (0x183, "Command Size Limit Exceeded"),
    (0x1b8, "Zone Boundary Error"),
    (0x1b9, "Zone Is Full"),
    (0x1ba, "Zone Is Read Only"),
    (0x1bb, "Zone Is Offline"),
    (0x1bc, "Zone Invalid Write"),
    (0x1bd, "Too Many Active Zones"),
    (0x1be, "Too Many Open Zones"),
    (0x1bf, "Invalid Zone State Transition"),
    (0x280, "Write Fault"),
    (0x281, "Unrecovered Read Error"),
    (0x282, "End-to-end Guard Check Error"),
    (0x283, "End-to-end Application Tag Check Error"),
    (0x284, "End-to-end Reference Tag Check Error"),
    (0x285, "Compare Failure: the device holds other data"),
    (0x286, "Access Denied"),
    (0x287, "Deallocated or Unwritten Logical Block"),
    (0x288, "End-to-End Storage Tag Check Error"),
    (0x300, "Internal Path Error"),
    (0x301, "Asymmetric Access Persistent Loss"),
    (0x302, "Asymmetric Access Inaccessible"),
    (0x303, "Asymmetric Access Transition"),
    (0x360, "Controller Pathing Error"),
    (0x370, "Host Pathing Error"),
    (0x371, "Command Aborted By Host"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_names_whatever_is_around_them() {
        // Bit 14 of the status is "do not retry".
        assert_eq!(describe(16769), "Invalid Protection Information, status 0x181");
        assert_eq!(describe(642), "End-to-end Guard Check Error, status 0x282");
        assert_eq!(describe(16825), "Zone Is Full, status 0x1b9");
        assert_eq!(describe(0x7ff), "status code type 0x7, status code 0xff");
    }

    #[test]
    fn each_code_has_one_name() {
        let mut codes: Vec<u16> = NAMES.iter().map(|(code, _)| *code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), NAMES.len());
    }
}
