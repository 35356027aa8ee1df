//! Arguments of a library's `open` and `size` functions, kept valid during the call.

use super::interface::{RawEngine, RawSetup, RawTarget, RawValue};
use super::library::text;
use crate::net::refusal::Refusal;
use fathom_run::engine::Setup;
use fathom_spec::JobSpec;
use fathom_spec::definition::{Kind, OptionDef};
use std::ffi::{CString, c_char, c_void};

/// Maximum length of a message from the library, in bytes.
const MESSAGE: usize = 512;

pub(super) struct Told {
    raw: RawSetup,
    message: Box<[c_char]>,
    // Strings to which the pointers in `raw` refer.
    _texts: Vec<CString>,
    _values: Vec<RawValue>,
    _targets: Vec<RawTarget>,
}

impl Told {
    /// Builds the arguments from the job and its options.
    pub(super) fn of_job(job: &JobSpec, options: &'static [OptionDef]) -> Told {
        let mut texts = vec![c_text(&job.name)];
        let values: Vec<RawValue> = options.iter().map(|option| value(job, option, &mut texts)).collect();
        let mut message = vec![0; MESSAGE].into_boxed_slice();
        let raw = RawSetup {
            job: texts[0].as_ptr(),
            values: values.as_ptr(),
            targets: std::ptr::null(),
            target_count: 0,
            depth: 0,
            clone: 0,
            reads: 0,
            writes: 0,
            reserved: 0,
            buffers: std::ptr::null_mut(),
            buffer_stride: 0,
            buffer_size: 0,
            message: message.as_mut_ptr(),
            message_size: MESSAGE as u64,
        };
        Told { raw, message, _texts: texts, _values: values, _targets: Vec::new() }
    }

    /// Builds the arguments for opening an engine, which include data that only a worker has.
    pub(super) fn of_worker(setup: &Setup<'_>, options: &'static [OptionDef]) -> Told {
        let mut told = Told::of_job(setup.job, options);
        for file in setup.files {
            let name = c_text(&file.name);
            told._targets.push(RawTarget { name: name.as_ptr(), start: file.start, size: file.size });
            told._texts.push(name);
        }
        told.raw = RawSetup {
            targets: told._targets.as_ptr(),
            target_count: told._targets.len() as u32,
            depth: setup.depth,
            clone: setup.clone,
            reads: u32::from(setup.reads),
            writes: u32::from(setup.writes),
            buffers: setup.buffers.first(),
            buffer_stride: setup.buffers.stride() as u64,
            buffer_size: setup.buffers.length() as u64,
            ..told.raw
        };
        told
    }

    /// Size of a target in bytes.
    pub(super) fn size(&mut self, engine: &RawEngine, name: &str) -> Result<u64, Refusal> {
        let Some(size) = engine.size else { return Err(Refusal::new(libc::ENOSYS, "there is no size")) };
        let c_name = c_text(name);
        // SAFETY: a function of the library, called as the header says; all pointers refer to data kept here.
        let bytes = unsafe { size(&self.raw, c_name.as_ptr()) };
        u64::try_from(bytes).map_err(|_| self.refusal(-bytes, &format!("the size of {name}")))
    }

    /// Opens the state of a worker.
    pub(super) fn open(&mut self, engine: &RawEngine) -> Result<*mut c_void, Refusal> {
        let Some(open) = engine.open else { return Err(Refusal::new(libc::ENOSYS, "there is no open")) };
        let mut state = std::ptr::null_mut();
        // SAFETY: as above.
        let result = unsafe { open(&self.raw, &mut state) };
        if result < 0 { Err(self.refusal(-i64::from(result), "open")) } else { Ok(state) }
    }

    /// The error, with the library's message if it wrote one.
    fn refusal(&mut self, errno: i64, what: &str) -> Refusal {
        // The buffer is terminated here, because the library may have filled all of it.
        self.message[MESSAGE - 1] = 0;
        let errno = i32::try_from(errno).unwrap_or(libc::EINVAL);
        match text(self.message.as_ptr()).filter(|text| !text.is_empty()) {
            Some(sentence) => Refusal::new(errno, sentence),
            None => Refusal::of(fathom_sys::Errno(errno), what, ""),
        }
    }
}

fn value(job: &JobSpec, option: &'static OptionDef, texts: &mut Vec<CString>) -> RawValue {
    let given = &job.private.outside;
    let number = match option.kind {
        Kind::Int => given.number(option),
        Kind::Size => i64::try_from(given.bytes(option)).unwrap_or(i64::MAX),
        Kind::Bool => i64::from(given.switch(option)),
        Kind::Time => i64::try_from(given.time(option).as_nanos()).unwrap_or(i64::MAX),
        _ => {
            let text = c_text(given.text(option));
            let raw = RawValue { number: 0, text: text.as_ptr() };
            texts.push(text);
            return raw;
        }
    };
    RawValue { number, text: std::ptr::null() }
}

/// A C string of the text up to its first zero byte.
fn c_text(text: &str) -> CString {
    let bytes = text.split('\0').next().unwrap_or_default();
    CString::new(bytes).unwrap_or_default()
}
