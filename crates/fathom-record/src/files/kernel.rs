//! The kernel's events of system calls, rings and processes.

use super::calls::{ARGUMENTS, NEEDED, RULES};
use crate::RecordError;
use crate::format::{Field, Format};
use crate::instance::Instance;
use std::io::ErrorKind;
use std::rc::Rc;

/// Bytes of a program's name.
const LONGEST_NAME: usize = 15;

/// What happened.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A system call begins: its place in [`RULES`], and its arguments.
    Enter(u16, [u64; ARGUMENTS]),
    /// It ends: its result.
    Exit(u16, i64),
    /// A process or thread was made, with these flags of clone.
    Fork { child: u32, flags: u64 },
    /// A process runs another program. It had another id if the caller was not its first thread.
    Exec { before: u32, program: Option<Rc<[u8]>> },
    /// A thread ends.
    End,
    /// A request was taken from a ring.
    Submit { request: u64, opcode: u8 },
    /// The request uses this descriptor.
    RingFile { request: u64, descriptor: i32 },
    /// The request goes on in a kernel thread.
    Punt { request: u64 },
    /// The request is complete.
    Complete { request: u64, result: i64 },
    /// A ring was made.
    Ring,
    /// The file system accesses a place of a file: device, inode, offset, and length if it is exact.
    Place { device: u32, inode: u64, offset: u64, length: Option<u64> },
}

/// Kinds of events, as they are decoded.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Enter(u16),
    Exit(u16),
    Fork,
    Exec,
    End,
    Submit,
    RingFile,
    Punt,
    Complete,
    Ring,
    /// Offsets are in units of 2 to this power.
    Place(u32),
}

struct Decoder {
    id: u16,
    kind: Kind,
    fields: [Option<Field>; ARGUMENTS],
}

/// Events of processes and rings: name, kind, fields.
const OTHERS: [(&str, Kind, &[&str]); 8] = [
    ("task/task_newtask", Kind::Fork, &["pid", "clone_flags"]),
    ("sched/sched_process_exec", Kind::Exec, &["old_pid", "filename"]),
    ("sched/sched_process_exit", Kind::End, &[]),
    ("io_uring/io_uring_submit_req", Kind::Submit, &["req", "opcode"]),
    ("io_uring/io_uring_file_get", Kind::RingFile, &["req", "fd"]),
    ("io_uring/io_uring_queue_async_work", Kind::Punt, &["req"]),
    ("io_uring/io_uring_complete", Kind::Complete, &["req", "res"]),
    ("io_uring/io_uring_create", Kind::Ring, &[]),
];

/// Events of file systems, which say where a request of a ring goes: the ring's own events do not.
const PLACES: [(&str, u32, [&str; 4]); 8] = [
    ("iomap/iomap_dio_rw_begin", 0, ["dev", "ino", "pos", "count"]),
    ("filemap/mm_filemap_get_pages", 12, ["s_dev", "i_ino", "index", ""]),
    ("ext4/ext4_da_write_begin", 0, ["dev", "ino", "pos", "len"]),
    ("ext4/ext4_write_begin", 0, ["dev", "ino", "pos", "len"]),
    ("xfs/xfs_file_direct_read", 0, ["dev", "ino", "offset", "count"]),
    ("xfs/xfs_file_direct_write", 0, ["dev", "ino", "offset", "count"]),
    ("xfs/xfs_file_buffered_read", 0, ["dev", "ino", "offset", "count"]),
    ("xfs/xfs_file_buffered_write", 0, ["dev", "ino", "offset", "count"]),
];

/// Turns events of tracefs into [`Event`]s.
pub(crate) struct Events {
    decoders: Vec<Decoder>,
    /// Place in `decoders` plus 1 by number of event; 0 for events that are not recorded.
    places: Box<[u16]>,
    /// Offsets of an event's number, of 16 bits, and of its thread.
    id: Field,
    tid: Field,
}

impl Events {
    /// Reads the layouts of all events and enables them. The instance does not trace yet.
    pub(crate) fn enable(instance: &Instance) -> Result<Events, RecordError> {
        let mut events = Events::of_common(instance)?;
        for (number, rule) in RULES.iter().enumerate() {
            let number = number as u16;
            let sides =
                [("enter", rule.has_enter, Kind::Enter(number)), ("exit", rule.has_exit, Kind::Exit(number))];
            for (side, _, kind) in sides.into_iter().filter(|(_, is_wanted, _)| *is_wanted) {
                let name = format!("syscalls/sys_{side}_{}", rule.name);
                let is_there =
                    events.add(instance, &name, kind, if side == "enter" { None } else { Some(&["ret"]) })?;
                if !is_there && NEEDED.contains(&rule.name) {
                    return Err(RecordError::NoCalls);
                }
                if let Some(filter) = rule.filter.filter(|_| is_there && side == "enter") {
                    // Older kernels do not know all operators; what is not wanted is left out later.
                    let _ = instance.write(&format!("events/{name}/filter"), filter);
                }
            }
        }
        for (name, kind, fields) in OTHERS {
            events.add(instance, name, kind, Some(fields))?;
        }
        events.prepare_places(instance)?;
        Ok(events)
    }

    /// Only the ends of calls that open files, and what rings need: that they are made, and their threads.
    pub(crate) fn enable_opens(instance: &Instance) -> Result<Events, RecordError> {
        let mut events = Events::of_common(instance)?;
        for (number, rule) in RULES.iter().enumerate() {
            if matches!(rule.what, super::calls::What::Open(_)) {
                events.add(
                    instance,
                    &format!("syscalls/sys_exit_{}", rule.name),
                    Kind::Exit(number as u16),
                    Some(&["ret"]),
                )?;
            }
        }
        events.add(instance, "io_uring/io_uring_create", Kind::Ring, Some(&[]))?;
        let (name, kind, fields) = OTHERS[0];
        events.add(instance, name, kind, Some(fields))?;
        Ok(events)
    }

    /// Lets the kernel enable the events of file systems as soon as any ring is made: only requests of rings need them.
    fn prepare_places(&mut self, instance: &Instance) -> Result<(), RecordError> {
        for (name, shift, fields) in PLACES {
            if self.describe(instance, name, Kind::Place(shift), Some(&fields))? {
                let trigger = format!("enable_event:{}", name.replace('/', ":"));
                // Without triggers, the recorder enables them itself, a little later.
                let _ = instance.write("events/io_uring/io_uring_create/trigger", &trigger);
            }
        }
        Ok(())
    }

    /// Enables the events of file systems.
    pub(crate) fn enable_places(&self, instance: &Instance) {
        for (name, ..) in PLACES {
            // Kernels lack some of them.
            let _ = instance.write(&format!("events/{name}/enable"), "1");
        }
    }

    fn of_common(instance: &Instance) -> Result<Events, RecordError> {
        let name = "events/syscalls/sys_enter_read/format";
        let text = match instance.read(name) {
            Err(RecordError::Refused { error, .. }) if error.kind() == ErrorKind::NotFound => {
                return Err(RecordError::NoCalls);
            }
            text => text?,
        };
        let format = Format::parse(&text);
        let common = |field: &str, size: usize| format.field(field).filter(|field| field.size == size);
        let unknown = || RecordError::Layout(name.to_owned());
        let id = common("common_type", 2).ok_or_else(unknown)?;
        let tid = common("common_pid", 4).ok_or_else(unknown)?;
        Ok(Events { decoders: Vec::new(), places: vec![0; 1 << 16].into_boxed_slice(), id, tid })
    }

    /// Adds and enables an event, unless this kernel lacks it.
    fn add(
        &mut self,
        instance: &Instance,
        name: &str,
        kind: Kind,
        fields: Option<&[&str]>,
    ) -> Result<bool, RecordError> {
        let is_there = self.describe(instance, name, kind, fields)?;
        if is_there {
            instance.write(&format!("events/{name}/enable"), "1")?;
        }
        Ok(is_there)
    }

    /// Reads the layout of an event, unless this kernel lacks it. Without names, its fields are the arguments of a system call.
    fn describe(
        &mut self,
        instance: &Instance,
        name: &str,
        kind: Kind,
        fields: Option<&[&str]>,
    ) -> Result<bool, RecordError> {
        let text = match instance.read(&format!("events/{name}/format")) {
            Err(RecordError::Refused { error, .. }) if error.kind() == ErrorKind::NotFound => {
                return Ok(false);
            }
            text => text?,
        };
        let format = Format::parse(&text);
        let mut found = [None; ARGUMENTS];
        match fields {
            Some(names) => {
                for (place, name) in found.iter_mut().zip(names).filter(|(_, name)| !name.is_empty()) {
                    *place = format.field(name);
                    // An event of another kernel, with other fields, is not used.
                    if place.is_none() {
                        return Ok(false);
                    }
                }
            }
            None => found.iter_mut().zip(format.arguments()).for_each(|(place, field)| *place = Some(field)),
        }
        let id = format.id.ok_or_else(|| RecordError::Layout(format!("events/{name}/format")))?;
        self.decoders.push(Decoder { id, kind, fields: found });
        self.places[usize::from(id)] = self.decoders.len() as u16;
        Ok(true)
    }

    /// The event in these bytes, and its thread; `None` if it is not one of ours.
    #[inline]
    pub(crate) fn decode(&self, bytes: &[u8]) -> Option<(u32, Event)> {
        let id = self.id.number(bytes)? as u16;
        let decoder = self.decoders.get(usize::from(*self.places.get(usize::from(id))?).checked_sub(1)?)?;
        debug_assert_eq!(decoder.id, id);
        let tid = self.tid.number(bytes)? as u32;
        let field = |place: usize| decoder.fields[place].and_then(|field| field.number(bytes));
        let event = match decoder.kind {
            Kind::Enter(rule) => {
                let mut arguments = [0; ARGUMENTS];
                for (place, argument) in arguments.iter_mut().enumerate() {
                    *argument = field(place).unwrap_or(0);
                }
                Event::Enter(rule, arguments)
            }
            Kind::Exit(rule) => Event::Exit(rule, field(0)? as i64),
            Kind::Fork => Event::Fork { child: field(0)? as u32, flags: field(1)? },
            Kind::Exec => {
                let path = field(1).and_then(|place| text_at(bytes, place));
                Event::Exec { before: field(0)? as u32, program: path.map(program) }
            }
            Kind::End => Event::End,
            Kind::Submit => Event::Submit { request: field(0)?, opcode: field(1)? as u8 },
            Kind::RingFile => Event::RingFile { request: field(0)?, descriptor: field(1)? as i32 },
            Kind::Punt => Event::Punt { request: field(0)? },
            Kind::Complete => Event::Complete { request: field(0)?, result: i64::from(field(1)? as i32) },
            Kind::Ring => Event::Ring,
            Kind::Place(shift) => Event::Place {
                device: field(0)? as u32,
                inode: field(1)?,
                offset: field(2)? << shift,
                length: field(3),
            },
        };
        Some((tid, event))
    }
}

/// The text of a field of variable length: its offset and length are in the two halves of a number.
fn text_at(bytes: &[u8], place: u64) -> Option<&[u8]> {
    let (offset, length) = ((place & 0xffff) as usize, (place >> 16 & 0xffff) as usize);
    let text = bytes.get(offset..offset.checked_add(length)?)?;
    Some(text.split(|byte| *byte == 0).next().unwrap_or_default())
}

/// The name that the kernel gives a program: the end of its path, at most 15 bytes of it.
fn program(path: &[u8]) -> Rc<[u8]> {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name[..name.len().min(LONGEST_NAME)].into()
}
