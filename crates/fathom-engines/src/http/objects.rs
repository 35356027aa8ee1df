//! Maps I/Os to objects and requests.

use super::body::Payload;
use super::client::{Answer, Call, Client, Sink};
use super::endpoint::Failure;
use super::upload::{self, Blocks};
use fathom_run::engine::Io;
use fathom_run::unit::Operation;
use fathom_spec::engines::http::{HttpMode, HttpObjectMode, HttpOptions};
use hyper::Method;
use ring::digest;
use std::cell::RefCell;
use std::fmt::Write as _;
use std::rc::Rc;
use thiserror::Error;

/// Why the shares of requests are invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum MixError {
    /// A word is unknown, or a share is not a percentage.
    #[error("{option}={text}: shares of {} are needed, as in {}", known.join(", "), example(known))]
    NoShares { option: &'static str, text: String, known: Vec<&'static str> },
    /// Shares that do not add up to 100.
    #[error("{option}={text}: the shares add up to {sum} percent; they must be 100")]
    WrongSum { option: &'static str, text: String, sum: i64 },
}

/// Shares of the operations that implement one direction.
pub(super) struct Mix<O> {
    shares: Vec<(O, i64)>,
    credit: RefCell<Vec<i64>>,
}

impl<O: Copy> Mix<O> {
    /// Parses shares such as `get/70:head/30`; a single word gets the whole share.
    pub(super) fn parse(
        option: &'static str,
        text: &str,
        words: &[(&'static str, O)],
    ) -> Result<Mix<O>, MixError> {
        let mut shares = Vec::new();
        let known = || words.iter().map(|(word, _)| *word).collect();
        for entry in text.split(':') {
            let (word, share) = entry.split_once('/').unwrap_or((entry, "100"));
            let found = words.iter().find(|(known, _)| *known == word.trim());
            let share: Option<i64> = share.trim().parse().ok().filter(|share| (0..=100).contains(share));
            match (found, share) {
                (Some((_, operation)), Some(share)) => shares.push((*operation, share)),
                _ => {
                    return Err(MixError::NoShares { option, text: text.to_owned(), known: known() });
                }
            }
        }
        let sum: i64 = shares.iter().map(|(_, share)| share).sum();
        if sum != 100 {
            return Err(MixError::WrongSum { option, text: text.to_owned(), sum });
        }
        Ok(Mix { credit: RefCell::new(vec![0; shares.len()]), shares })
    }

    /// The next operation. At any time, the count of every operation differs from its share by less than one.
    fn next(&self) -> O {
        let mut credit = self.credit.borrow_mut();
        for (have, (_, share)) in credit.iter_mut().zip(&self.shares) {
            *have += share;
        }
        let chosen = (0..credit.len()).rev().max_by_key(|&place| credit[place]).unwrap_or(0);
        credit[chosen] -= 100;
        self.shares[chosen].0
    }

    pub(super) fn is_single(&self) -> bool {
        self.shares.len() == 1
    }
}

fn example(words: &[&str]) -> String {
    match words {
        [first, second, ..] => format!("{first}/70:{second}/30"),
        _ => String::new(),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadAs {
    Get,
    Head,
    List,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteAs {
    Put,
    Delete,
}

/// Words of `http_reads=`.
pub(super) const READS: [(&str, ReadAs); 3] =
    [("get", ReadAs::Get), ("head", ReadAs::Head), ("list", ReadAs::List)];
/// Words of `http_writes=`.
pub(super) const WRITES: [(&str, WriteAs); 2] = [("put", WriteAs::Put), ("delete", WriteAs::Delete)];

/// The objects of a job.
pub(super) struct Objects {
    pub(super) client: Rc<Client>,
    options: HttpOptions,
    names: Vec<String>,
    pub(super) reads: Mix<ReadAs>,
    pub(super) writes: Mix<WriteAs>,
    /// For each file whose blocks are parts of one object, the state of that object.
    blocks: Vec<Blocks>,
    /// Size in bytes of each file that is a single object.
    sizes: Vec<u64>,
}

impl Objects {
    /// Maps files with these names and sizes, written in blocks of `block` bytes.
    pub(super) fn new(
        client: Rc<Client>,
        options: &HttpOptions,
        files: Vec<(String, u64)>,
        block: u64,
    ) -> Result<Objects, Failure> {
        let invalid = |error: MixError| Failure::new(libc::EINVAL, error.to_string());
        let reads = Mix::parse("http_reads", &options.http_reads, &READS).map_err(invalid)?;
        let writes = Mix::parse("http_writes", &options.http_writes, &WRITES).map_err(invalid)?;
        let blocks = files.iter().map(|(name, size)| Blocks::new(name, block, *size)).collect();
        let (names, sizes) = files.into_iter().unzip();
        Ok(Objects { client, options: options.clone(), names, reads, writes, blocks, sizes })
    }

    /// Performs an I/O; returns the number of bytes moved.
    pub(super) async fn perform(&self, io: &Io) -> Result<i64, Failure> {
        match io.operation() {
            Operation::Read => match self.reads.next() {
                ReadAs::Get => self.get(io).await?,
                ReadAs::Head => self.head(io).await?,
                ReadAs::List => self.list(io).await?,
            },
            Operation::Write => match self.writes.next() {
                WriteAs::Put => self.put(io).await?,
                WriteAs::Delete => self.delete(io).await?,
            },
            Operation::Trim => self.delete(io).await?,
            // A sync has nothing to do, because an object is durable once the response to its upload has
            // arrived.
            _ => return Ok(0),
        }
        Ok(i64::from(io.length()))
    }

    /// True if the I/O covers only part of its object.
    fn is_part(&self, io: &Io) -> bool {
        let size = self.sizes[io.file() as usize];
        self.options.http_object_mode == HttpObjectMode::Range
            && (io.offset(), u64::from(io.length())) != (0, size)
    }

    /// The object of an I/O.
    fn path(&self, io: &Io) -> String {
        let name = &self.names[io.file() as usize];
        match self.options.http_object_mode {
            HttpObjectMode::Range => name.clone(),
            HttpObjectMode::Block => {
                block_name(&self.options.http_object_name, name, io.offset(), u64::from(io.length()))
            }
        }
    }

    async fn get(&self, io: &Io) -> Result<(), Failure> {
        let mut call = Call::new("get", Method::GET, &self.path(io));
        if self.options.http_object_mode == HttpObjectMode::Range {
            call.range = Some((io.offset(), io.offset() + u64::from(io.length().max(1)) - 1));
        }
        let answer = self.client.send(&call, Sink::Buffer(io.buffer(), io.length() as usize)).await?;
        if !answer.is_good() {
            return self.missing(&call, &answer);
        }
        let is_whole_instead = self.is_part(io) && answer.status != 206;
        if is_whole_instead || answer.received != u64::from(io.length()) {
            let sentence = match is_whole_instead {
                true => format!("GET {}: the server does not support ranges", call.path),
                false => format!("GET {}: received {} of {} bytes", call.path, answer.received, io.length()),
            };
            return Err(Failure::new(libc::EIO, sentence));
        }
        Ok(())
    }

    /// Checks a response: an unsuccessful one is an error, unless it concerns an object that the job itself
    /// deletes.
    fn missing(&self, call: &Call, answer: &Answer) -> Result<(), Failure> {
        let deletes_some = !self.writes.is_single();
        if answer.status == 404 && deletes_some && call.method != Method::PUT {
            self.client.tally.count("objects not found after a delete", 1);
            return Ok(());
        }
        Err(answer.refusal(call))
    }

    async fn head(&self, io: &Io) -> Result<(), Failure> {
        let call = Call::new("head", Method::HEAD, &self.path(io));
        let answer = self.client.send(&call, Sink::Text).await?;
        if answer.is_good() { Ok(()) } else { self.missing(&call, &answer) }
    }

    /// Lists up to a thousand names that have the same parent as the file.
    async fn list(&self, io: &Io) -> Result<(), Failure> {
        let name = &self.names[io.file() as usize];
        let call = listing(self.options.http_mode, name);
        let answer = self.client.send(&call, Sink::Text).await?;
        if answer.is_good() { Ok(()) } else { Err(answer.refusal(&call)) }
    }

    async fn put(&self, io: &Io) -> Result<(), Failure> {
        let payload = Payload::Lent(io.buffer(), io.length() as usize);
        if self.is_part(io) {
            return self.blocks[io.file() as usize].write(&self.client, io.offset(), payload).await;
        }
        let path = self.path(io);
        let part_size = self.options.http_part_size as usize;
        let is_s3 = self.options.http_mode == HttpMode::S3;
        if is_s3 && part_size > 0 && io.length() as usize > part_size {
            let at_once = self.options.http_parts as usize;
            return upload::whole(&self.client, &path, &payload, part_size, at_once).await;
        }
        let mut call = Call::new("put", Method::PUT, &path);
        call.payload = payload;
        call.makes_object = true;
        let answer = self.client.send(&call, Sink::Text).await?;
        if answer.is_good() { Ok(()) } else { Err(answer.refusal(&call)) }
    }

    async fn delete(&self, io: &Io) -> Result<(), Failure> {
        if self.is_part(io) {
            let sentence =
                "an object cannot be trimmed in part; http_object_mode=block has an object for each block";
            return Err(Failure::new(libc::EOPNOTSUPP, sentence));
        }
        let call = Call::new("delete", Method::DELETE, &self.path(io));
        let answer = self.client.send(&call, Sink::Text).await?;
        if answer.is_good() { Ok(()) } else { self.missing(&call, &answer) }
    }

    /// Aborts incomplete objects; returns their names.
    pub(super) async fn abort_uploads(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (blocks, name) in self.blocks.iter().zip(&self.names) {
            if blocks.abort(&self.client).await {
                names.push(name.clone());
            }
        }
        names
    }
}

/// The request that lists the names with the same parent.
fn listing(mode: HttpMode, name: &str) -> Call {
    let (folder, _) = name.rsplit_once('/').unwrap_or(("", name));
    let prefixed =
        |path: &str, prefix: &str, prefix_first: (&'static str, &str), limit: (&'static str, &str)| {
            let mut call = Call::new("list", Method::GET, path);
            call.query = vec![("prefix", prefix.to_owned())];
            for (key, value) in [prefix_first, limit] {
                if !key.is_empty() {
                    call.query.push((key, value.to_owned()));
                }
            }
            call
        };
    match mode {
        HttpMode::WebDav => {
            let Ok(method) = Method::from_bytes(b"PROPFIND") else {
                return Call::new("list", Method::GET, folder);
            };
            Call::new("list", method, &format!("{folder}/"))
        }
        HttpMode::S3 => {
            let rest = name.trim_start_matches('/');
            let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
            let prefix = key.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
            prefixed(&format!("/{bucket}"), &prefix, ("list-type", "2"), ("max-keys", "1000"))
        }
        HttpMode::Swift => prefixed(folder, "", ("", ""), ("limit", "1000")),
    }
}

/// The name of a block's object, from the template of the job.
pub(super) fn block_name(template: &str, file: &str, offset: u64, length: u64) -> String {
    let mut name = String::with_capacity(file.len() + 32);
    let mut rest = template.chars();
    let mut digits = String::new();
    while let Some(letter) = rest.next() {
        if letter != '%' {
            name.push(letter);
            continue;
        }
        digits.clear();
        let kind = loop {
            match rest.next() {
                Some(digit) if digit.is_ascii_digit() => digits.push(digit),
                other => break other,
            }
        };
        let _ = match kind {
            Some('f') => write!(name, "{file}"),
            Some('o') => write!(name, "{offset}"),
            Some('l') => write!(name, "{length}"),
            Some('n') => write!(name, "{}", offset / length.max(1)),
            Some('h') => {
                let hash = digest::digest(&digest::SHA256, format!("{file}_{offset}_{length}").as_bytes());
                let count: usize = digits.parse().unwrap_or(2);
                write!(name, "{}", &super::sign::hexadecimal(hash.as_ref())[..count.min(64)])
            }
            Some(other) => write!(name, "{other}"),
            None => write!(name, "%"),
        };
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_template() {
        assert_eq!(block_name("%f_%o_%l", "/b/obj", 65536, 4096), "/b/obj_65536_4096");
        assert_eq!(block_name("/b/%n%%", "x", 8192, 4096), "/b/2%");
        let hashed = block_name("/b/%3h/%n", "x", 0, 1);
        assert!(hashed.starts_with("/b/") && hashed.ends_with("/0") && hashed.len() == 8, "{hashed}");
        assert_ne!(hashed, block_name("/b/%3h/%n", "y", 0, 1));
    }

    #[test]
    fn shares_are_kept_at_all_times() {
        let mix = Mix::parse("http_reads", "get/60:head/30:list/10", &READS).expect("shares");
        let drawn: Vec<ReadAs> = (0..1000).map(|_| mix.next()).collect();
        for length in [10, 100, 1000] {
            let count = |what| drawn[..length].iter().filter(|&&drawn| drawn == what).count();
            assert_eq!(
                [ReadAs::Get, ReadAs::Head, ReadAs::List].map(count),
                [6, 3, 1].map(|n| n * length / 10)
            );
        }
        for wrong in ["get/60", "post", "get/x:head/40", "get/-10:head/110", ""] {
            assert!(Mix::parse("http_reads", wrong, &READS).is_err(), "{wrong}");
        }
    }

    #[test]
    fn listings_ask_for_what_lies_beside() {
        let s3 = listing(HttpMode::S3, "/bucket/a/b/obj");
        assert_eq!((s3.path.as_str(), s3.query[0].1.as_str()), ("/bucket", "a/b/"));
        assert_eq!(listing(HttpMode::Swift, "/v1/A/c/obj").path, "/v1/A/c");
        let dav = listing(HttpMode::WebDav, "/dav/obj");
        assert_eq!((dav.method.as_str(), dav.path.as_str()), ("PROPFIND", "/dav/"));
    }
}
