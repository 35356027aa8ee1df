//! Server-sent events of a run. The ID of an event is the offset in `events.jsonl` at which its line ends. A
//! browser that has lost the connection sends the last ID that it received, so it gets each event once, even
//! from a restarted server.

use super::answer::{self, Answer, Content};
use crate::folder::Folder;
use crate::runs::Runs;
use hyper::StatusCode;
use hyper::body::Bytes;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{self, Sender};
use tokio::time::{sleep, timeout};

/// Interval at which the events are polled.
const LOOK: Duration = Duration::from_millis(200);
/// Interval of keep-alives, by which the server notices a viewer that has disconnected.
const SIGN: Duration = Duration::from_secs(15);
/// Time after which a viewer that reads nothing is disconnected; it may reconnect.
const SLOW: Duration = Duration::from_secs(60);
/// Maximum size of one read in bytes, unless a line is longer.
const AT_ONCE: u64 = 256 << 10;

/// Streams the events of a run from an offset on.
pub(crate) fn of(runs: Rc<Runs>, folder: Folder, from: u64) -> Answer {
    let (sender, receiver) = mpsc::channel(4);
    tokio::task::spawn_local(async move {
        // The result is ignored, because a viewer that has disconnected needs no response.
        let _ = follow(&runs, &folder, from, &sender).await;
    });
    answer::of(StatusCode::OK, "text/event-stream", Content::Stream(receiver))
}

/// Error: the viewer has disconnected.
struct Gone;

async fn send(sender: &Sender<Bytes>, text: String) -> Result<(), Gone> {
    match timeout(SLOW, sender.send(Bytes::from(text))).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(Gone),
    }
}

async fn follow(runs: &Runs, folder: &Folder, from: u64, sender: &Sender<Bytes>) -> Result<(), Gone> {
    let path = folder.file("events.jsonl");
    let mut at = from;
    if from > 0 && !is_end_of_line(&path, from) {
        // If no line ends at the offset, the viewer saw another run of the same name and has to start over.
        at = 0;
        send(sender, "id: 0\nevent: restart\ndata: {}\n\n".to_owned()).await?;
    }
    let mut said = Instant::now();
    loop {
        runs.reap();
        // The state is read first, so that events written before the end are read after it.
        let state = folder.state();
        let lines = lines_from(&path, at).unwrap_or_default();
        if !lines.is_empty() {
            let mut told = String::with_capacity(lines.len() * 2);
            for line in lines.split_inclusive(|&byte| byte == b'\n') {
                // Offsets count bytes, regardless of whether they are UTF-8.
                at += line.len() as u64;
                told.push_str(&format!("id: {at}\ndata: {}\n\n", String::from_utf8_lossy(line).trim_end()));
            }
            send(sender, told).await?;
            said = Instant::now();
        } else if !state.is_under_way() {
            let run =
                runs.describe(folder).and_then(|run| serde_json::to_string(&run).ok()).unwrap_or_default();
            return send(sender, format!("id: {at}\nevent: end\ndata: {run}\n\n")).await;
        } else {
            if said.elapsed() >= SIGN {
                send(sender, ":\n\n".to_owned()).await?;
                said = Instant::now();
            }
            if sender.is_closed() {
                return Err(Gone);
            }
            sleep(LOOK).await;
        }
    }
}

fn is_end_of_line(path: &std::path::Path, at: u64) -> bool {
    let read = || -> io::Result<u8> {
        let mut byte = [0];
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(at - 1))?;
        file.read_exact(&mut byte)?;
        Ok(byte[0])
    };
    read().is_ok_and(|byte| byte == b'\n')
}

/// Returns complete lines starting at an offset; at least one, if there is one.
fn lines_from(path: &std::path::Path, at: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    loop {
        let begun = bytes.len();
        let read = file.by_ref().take(AT_ONCE).read_to_end(&mut bytes)?;
        let last = bytes[begun..].iter().rposition(|&byte| byte == b'\n');
        match last {
            Some(last) => {
                bytes.truncate(begun + last + 1);
                return Ok(bytes);
            }
            // The rest of the line has not been written yet, so no complete line is returned.
            None if read == 0 => return Ok(Vec::new()),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_may_be_long_and_hold_anything() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("events");
        let long = vec![b'x'; 3 * AT_ONCE as usize];
        std::fs::write(&path, [&long[..], b"\n\xc3\n\xc3\xa4\nhalf"].concat()).expect("it can be written");
        let length = long.len() as u64;
        assert!(lines_from(&path, 0).is_ok_and(|lines| lines.starts_with(&long) && lines.ends_with(b"\n")));
        assert_eq!(lines_from(&path, length + 1).ok().as_deref(), Some(&b"\xc3\n\xc3\xa4\n"[..]));
        // The offset comes from a browser, so it may be in the middle of a character.
        assert_eq!(lines_from(&path, length + 4).ok().as_deref(), Some(&b"\xa4\n"[..]));
        assert_eq!(lines_from(&path, length + 6).ok().as_deref(), Some(&b""[..]));
    }
}
