//! Leads from a connected socket to an export: greeting, TLS, options.

use super::error::HandshakeError;
use super::uri::ExportUri;
use super::wire::{self, greeting, info, option, reply, transmission, u16_at, u32_at, u64_at};
use crate::net::transport::Transport;
use std::io::{Read, Write};

/// Maximum accepted length of a reply to an option.
const LONGEST_REPLY: u32 = 1 << 16;
/// Maximum number of replies to one option.
const MOST_REPLIES: usize = 10_000;

/// An export, as the server describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Export {
    /// Bytes.
    pub(super) size: u64,
    /// Capabilities of the export ([`transmission`]).
    pub(super) flags: u16,
    /// True if structured replies were negotiated.
    pub(super) structured: bool,
    /// Minimum and maximum length of a request, if the server announced them.
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

/// Negotiates the export with the server.
pub(super) fn negotiate(transport: &mut Transport, target: &ExportUri) -> Result<Export, HandshakeError> {
    let mut talk = Talk(transport);
    if talk.u64()? != wire::GREETING {
        return Err(HandshakeError::NotNbd);
    }
    match talk.u64()? {
        wire::OPTIONS => {}
        wire::OLD_STYLE => return talk.old_style(target),
        _ => return Err(HandshakeError::UnknownNbd),
    }
    let flags = talk.u16()?;
    let is_fixed = flags & greeting::FIXED_NEW_STYLE != 0;
    let no_zeroes = flags & greeting::NO_ZEROES != 0;
    talk.send(&u32::from(flags & (greeting::FIXED_NEW_STYLE | greeting::NO_ZEROES)).to_be_bytes())?;
    if !is_fixed {
        if target.tls.is_some() {
            return Err(HandshakeError::TooOldForTls);
        }
        return talk.choose_as_before(target, no_zeroes);
    }
    if let Some((rules, host)) = &target.tls {
        match talk.ask(option::START_TLS, &[])? {
            (reply::ACK, _) => {}
            (kind, text) => return Err(HandshakeError::refused("TLS", kind, &text)),
        }
        talk.0.encrypt(rules.settings()?, host)?;
    }
    let structured = talk.ask(option::STRUCTURED_REPLY, &[])?.0 == reply::ACK;
    talk.choose(target, structured, no_zeroes)
}

/// The requested name, for messages.
fn name_of(target: &ExportUri) -> &str {
    if target.export.is_empty() { "the default export" } else { &target.export }
}

struct Talk<'a>(&'a mut Transport);

impl Talk<'_> {
    fn receive(&mut self, bytes: &mut [u8]) -> Result<(), HandshakeError> {
        self.0.waiting().read_exact(bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => HandshakeError::Closed,
            std::io::ErrorKind::WouldBlock => HandshakeError::Silent,
            _ => HandshakeError::Broken(error),
        })
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), HandshakeError> {
        let mut stream = self.0.waiting();
        stream.write_all(bytes).and_then(|()| stream.flush()).map_err(HandshakeError::Broken)
    }

    fn u64(&mut self) -> Result<u64, HandshakeError> {
        let mut bytes = [0; 8];
        self.receive(&mut bytes)?;
        Ok(u64::from_be_bytes(bytes))
    }

    fn u32(&mut self) -> Result<u32, HandshakeError> {
        let mut bytes = [0; 4];
        self.receive(&mut bytes)?;
        Ok(u32::from_be_bytes(bytes))
    }

    fn u16(&mut self) -> Result<u16, HandshakeError> {
        let mut bytes = [0; 2];
        self.receive(&mut bytes)?;
        Ok(u16::from_be_bytes(bytes))
    }

    fn skip_zeroes(&mut self) -> Result<(), HandshakeError> {
        self.receive(&mut [0; 124])
    }

    fn send_option(&mut self, number: u32, data: &[u8]) -> Result<(), HandshakeError> {
        let mut bytes = wire::OPTIONS.to_be_bytes().to_vec();
        bytes.extend(number.to_be_bytes());
        bytes.extend((data.len() as u32).to_be_bytes());
        bytes.extend(data);
        self.send(&bytes)
    }

    /// One reply to an option: its kind and data.
    fn reply_to(&mut self, number: u32) -> Result<(u32, Vec<u8>), HandshakeError> {
        let (magic, about, kind, length) = (self.u64()?, self.u32()?, self.u32()?, self.u32()?);
        if magic != wire::OPTION_REPLY || about != number || length > LONGEST_REPLY {
            return Err(HandshakeError::Violation);
        }
        let mut data = vec![0; length as usize];
        self.receive(&mut data)?;
        Ok((kind, data))
    }

    fn ask(&mut self, number: u32, data: &[u8]) -> Result<(u32, Vec<u8>), HandshakeError> {
        self.send_option(number, data)?;
        self.reply_to(number)
    }

    /// Requests the export by name, including its information.
    fn choose(
        &mut self,
        target: &ExportUri,
        structured: bool,
        no_zeroes: bool,
    ) -> Result<Export, HandshakeError> {
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
        Err(HandshakeError::Violation)
    }

    /// Reports that the export was refused; the message lists the exports that exist.
    fn refused(&mut self, kind: u32, text: &[u8], target: &ExportUri) -> HandshakeError {
        let mut error = HandshakeError::refused(name_of(target), kind, text);
        if let HandshakeError::Refused { kind: reply::UNKNOWN, exports, .. } = &mut error {
            *exports = self.names().unwrap_or_default();
            // The server's reply is not awaited.
            let _ = self.send_option(option::ABORT, &[]);
        }
        error
    }

    /// Names of the server's exports.
    fn names(&mut self) -> Result<Vec<String>, HandshakeError> {
        const SHOWN: usize = 10;
        self.send_option(option::LIST, &[])?;
        let mut names = Vec::new();
        for _ in 0..MOST_REPLIES {
            let (reply::SERVER, data) = self.reply_to(option::LIST)? else { break };
            let length = u32_at(&data, 0).ok_or(HandshakeError::Violation)? as usize;
            let name = data.get(4..).and_then(|rest| rest.get(..length)).ok_or(HandshakeError::Violation)?;
            if names.len() < SHOWN && !name.is_empty() {
                names.push(String::from_utf8_lossy(name).replace(char::is_control, " "));
            }
        }
        Ok(names)
    }

    /// Selects an export with the old option; a server without such an export simply disconnects.
    fn choose_as_before(&mut self, target: &ExportUri, no_zeroes: bool) -> Result<Export, HandshakeError> {
        self.send_option(option::EXPORT_NAME, target.export.as_bytes())?;
        let size = self.u64().map_err(|_| HandshakeError::refused(name_of(target), reply::UNKNOWN, &[]))?;
        let flags = self.u16()?;
        if !no_zeroes {
            self.skip_zeroes()?;
        }
        Ok(Export { size, flags, ..Export::default() })
    }

    fn old_style(&mut self, target: &ExportUri) -> Result<Export, HandshakeError> {
        if target.tls.is_some() {
            return Err(HandshakeError::TooOldForTls);
        }
        if !target.export.is_empty() {
            return Err(HandshakeError::TooOldForNames);
        }
        let size = self.u64()?;
        let flags = self.u32()?;
        self.skip_zeroes()?;
        Ok(Export { size, flags: flags as u16, ..Export::default() })
    }
}
