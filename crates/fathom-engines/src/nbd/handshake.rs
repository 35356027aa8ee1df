//! From a connected socket to an export: greeting, TLS, options.

use super::uri::ExportUri;
use super::wire::{self, greeting, info, option, reply, transmission, u16_at, u32_at, u64_at};
use crate::net::transport::Transport;
use fathom_sys::Errno;
use std::io::{Read, Write};

/// Longest reply to an option that is believed.
const LONGEST_REPLY: u32 = 1 << 16;
/// Replies to one option that are listened to.
const MOST_REPLIES: usize = 10_000;

/// What the server says of the export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Export {
    /// Bytes.
    pub(super) size: u64,
    /// What it can do ([`transmission`]).
    pub(super) flags: u16,
    /// Replies may come in parts.
    pub(super) structured: bool,
    /// Smallest and largest length of a request, if the server has said so.
    pub(super) block_sizes: Option<(u32, u32)>,
}

impl Export {
    pub(super) fn can(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.can(transmission::READ_ONLY)
    }
}

/// Why there is no export to work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) errno: Errno,
    /// One sentence.
    pub(super) sentence: String,
}

impl From<String> for Refusal {
    fn from(sentence: String) -> Refusal {
        Refusal { errno: Errno(libc::EPROTO), sentence }
    }
}

impl From<&str> for Refusal {
    fn from(sentence: &str) -> Refusal {
        sentence.to_owned().into()
    }
}

const VIOLATION: &str = "the server breaks the NBD protocol";

/// Agrees with the server on the export.
pub(super) fn negotiate(transport: &mut Transport, target: &ExportUri) -> Result<Export, Refusal> {
    let mut talk = Talk(transport);
    if talk.u64()? != wire::GREETING {
        return Err("the server does not speak NBD".into());
    }
    match talk.u64()? {
        wire::OPTIONS => {}
        wire::OLD_STYLE => return talk.old_style(target),
        _ => return Err("the server does not speak NBD as it is today".into()),
    }
    let flags = talk.u16()?;
    let is_fixed = flags & greeting::FIXED_NEW_STYLE != 0;
    let no_zeroes = flags & greeting::NO_ZEROES != 0;
    talk.send(&u32::from(flags & (greeting::FIXED_NEW_STYLE | greeting::NO_ZEROES)).to_be_bytes())?;
    if !is_fixed {
        if target.tls.is_some() {
            return Err("the server is too old for TLS".into());
        }
        return talk.choose_as_before(target, no_zeroes);
    }
    if let Some((rules, host)) = &target.tls {
        match talk.ask(option::START_TLS, &[])? {
            (reply::ACK, _) => {}
            (kind, text) => return Err(refusal(Some("TLS"), kind, &text, target)),
        }
        talk.0.encrypt(rules.settings()?, host)?;
    }
    let structured = talk.ask(option::STRUCTURED_REPLY, &[])?.0 == reply::ACK;
    talk.choose(target, structured, no_zeroes)
}

/// Words of a server that refuses `what`, or the export.
fn refusal(what: Option<&str>, kind: u32, text: &[u8], target: &ExportUri) -> Refusal {
    let (errno, why) = match kind {
        reply::UNSUPPORTED => (libc::EOPNOTSUPP, "the server cannot do that"),
        reply::POLICY => (libc::EACCES, "the server's rules forbid it"),
        reply::TLS_REQUIRED => (libc::EACCES, "the server wants TLS: use nbds:// or nbds+unix:// in uri="),
        reply::UNKNOWN => (libc::ENOENT, "the server has no such export"),
        reply::SHUTDOWN => (libc::ESHUTDOWN, "the server is shutting down"),
        reply::BLOCK_SIZE_REQUIRED => (libc::EINVAL, "the server insists on block sizes"),
        _ => (libc::EPROTO, "the server refuses it"),
    };
    let said = String::from_utf8_lossy(text).trim().replace(char::is_control, " ");
    let said = if said.is_empty() { String::new() } else { format!(" ({said})") };
    let name = if target.export.is_empty() { "the default export" } else { target.export.as_str() };
    Refusal { errno: Errno(errno), sentence: format!("{}: {why}{said}", what.unwrap_or(name)) }
}

struct Talk<'a>(&'a mut Transport);

impl Talk<'_> {
    fn receive(&mut self, bytes: &mut [u8]) -> Result<(), String> {
        self.0.waiting().read_exact(bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => "the server closed the connection".to_owned(),
            std::io::ErrorKind::WouldBlock => "the server does not answer".to_owned(),
            _ => plain(&error),
        })
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut stream = self.0.waiting();
        stream.write_all(bytes).and_then(|()| stream.flush()).map_err(|error| plain(&error))
    }

    fn u64(&mut self) -> Result<u64, String> {
        let mut bytes = [0; 8];
        self.receive(&mut bytes)?;
        Ok(u64::from_be_bytes(bytes))
    }

    fn u32(&mut self) -> Result<u32, String> {
        let mut bytes = [0; 4];
        self.receive(&mut bytes)?;
        Ok(u32::from_be_bytes(bytes))
    }

    fn u16(&mut self) -> Result<u16, String> {
        let mut bytes = [0; 2];
        self.receive(&mut bytes)?;
        Ok(u16::from_be_bytes(bytes))
    }

    fn skip_zeroes(&mut self) -> Result<(), String> {
        self.receive(&mut [0; 124])
    }

    fn send_option(&mut self, number: u32, data: &[u8]) -> Result<(), String> {
        let mut bytes = wire::OPTIONS.to_be_bytes().to_vec();
        bytes.extend(number.to_be_bytes());
        bytes.extend((data.len() as u32).to_be_bytes());
        bytes.extend(data);
        self.send(&bytes)
    }

    /// One reply to an option: its kind and data.
    fn reply_to(&mut self, number: u32) -> Result<(u32, Vec<u8>), String> {
        let (magic, about, kind, length) = (self.u64()?, self.u32()?, self.u32()?, self.u32()?);
        if magic != wire::OPTION_REPLY || about != number || length > LONGEST_REPLY {
            return Err(VIOLATION.to_owned());
        }
        let mut data = vec![0; length as usize];
        self.receive(&mut data)?;
        Ok((kind, data))
    }

    fn ask(&mut self, number: u32, data: &[u8]) -> Result<(u32, Vec<u8>), String> {
        self.send_option(number, data)?;
        self.reply_to(number)
    }

    /// Asks for the export by name and for what there is to know of it.
    fn choose(&mut self, target: &ExportUri, structured: bool, no_zeroes: bool) -> Result<Export, Refusal> {
        let mut data = (target.export.len() as u32).to_be_bytes().to_vec();
        data.extend(target.export.as_bytes());
        data.extend(1_u16.to_be_bytes());
        data.extend(info::BLOCK_SIZE.to_be_bytes());
        self.send_option(option::GO, &data)?;
        let mut export = Export { structured, ..Export::default() };
        let mut is_described = false;
        for _ in 0..MOST_REPLIES {
            match self.reply_to(option::GO)? {
                (reply::ACK, _) if is_described => return Ok(export),
                (reply::INFO, data) => match u16_at(&data, 0) {
                    Some(info::EXPORT) => {
                        let (Some(size), Some(flags)) = (u64_at(&data, 2), u16_at(&data, 10)) else { break };
                        (export.size, export.flags, is_described) = (size, flags, true);
                    }
                    Some(info::BLOCK_SIZE) => {
                        export.block_sizes = u32_at(&data, 2).zip(u32_at(&data, 10));
                    }
                    _ => {}
                },
                (reply::UNSUPPORTED, _) => {
                    return self
                        .choose_as_before(target, no_zeroes)
                        .map(|found| Export { structured, ..found });
                }
                (kind, text) if kind & reply::ERROR != 0 => return Err(self.refused(kind, &text, target)),
                _ => break,
            }
        }
        Err(VIOLATION.into())
    }

    /// The export is not to be had; what there is instead is worth knowing.
    fn refused(&mut self, kind: u32, text: &[u8], target: &ExportUri) -> Refusal {
        let mut refusal = refusal(None, kind, text, target);
        if kind != reply::UNKNOWN {
            return refusal;
        }
        let names = self.names().unwrap_or_default();
        // Nobody waits for the answer.
        let _ = self.send_option(option::ABORT, &[]);
        if !names.is_empty() {
            refusal.sentence.push_str(&format!("; it has {}", names.join(", ")));
        }
        refusal
    }

    /// The exports of the server.
    fn names(&mut self) -> Result<Vec<String>, String> {
        const SHOWN: usize = 10;
        self.send_option(option::LIST, &[])?;
        let mut names = Vec::new();
        for _ in 0..MOST_REPLIES {
            let (reply::SERVER, data) = self.reply_to(option::LIST)? else { break };
            let length = u32_at(&data, 0).unwrap_or(0) as usize;
            let name = data.get(4..).and_then(|rest| rest.get(..length)).unwrap_or_default();
            if names.len() < SHOWN && !name.is_empty() {
                names.push(String::from_utf8_lossy(name).replace(char::is_control, " "));
            }
        }
        Ok(names)
    }

    /// The way to choose an export before there was another; a server that does not have it just goes.
    fn choose_as_before(&mut self, target: &ExportUri, no_zeroes: bool) -> Result<Export, Refusal> {
        self.send_option(option::EXPORT_NAME, target.export.as_bytes())?;
        let size = self.u64().map_err(|_| refusal(None, reply::UNKNOWN, &[], target))?;
        let flags = self.u16()?;
        if !no_zeroes {
            self.skip_zeroes()?;
        }
        Ok(Export { size, flags, ..Export::default() })
    }

    fn old_style(&mut self, target: &ExportUri) -> Result<Export, Refusal> {
        if target.tls.is_some() {
            return Err("the server is too old for TLS".into());
        }
        if !target.export.is_empty() {
            return Err("the server is too old for names of exports: leave the name out of uri=".into());
        }
        let size = self.u64()?;
        let flags = self.u32()?;
        self.skip_zeroes()?;
        Ok(Export { size, flags: flags as u16, ..Export::default() })
    }
}

/// An error without the number that std appends.
fn plain(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => Errno(number).text(),
        None => error.to_string(),
    }
}
