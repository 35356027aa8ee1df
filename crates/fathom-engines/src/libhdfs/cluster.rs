//! The connection to a name node, and descriptions of its errors.

use crate::net::refusal::Refusal;
use fathom_errors::plain;
use fathom_spec::engines::libhdfs::LibhdfsOptions;
use hdfs_native::{Client, ClientBuilder, HdfsError};
use std::rc::Rc;
use std::time::Duration;

/// Timeout of requests to a name node before the run.
const SETUP_LIMIT: Duration = Duration::from_secs(30);

/// Connects to the cluster and checks that its server responds.
pub(super) async fn connect(options: &LibhdfsOptions) -> Result<Rc<Client>, Refusal> {
    let node = options.namenode.as_ref().or(options.hostname.as_ref()).map_or("localhost", String::as_str);
    let url = if node.contains("://") { node.to_owned() } else { format!("hdfs://{node}:{}", options.port) };
    let mut builder = ClientBuilder::new().with_url(&url);
    if url != node {
        // With a single name node, a failed I/O must be reported instead of being retried for minutes.
        builder = builder.with_config([("dfs.client.failover.max.attempts", "0")]);
    }
    let client = builder.build().map_err(|error| refusal(&url, error))?;
    let answer = tokio::time::timeout(SETUP_LIMIT, client.get_file_info("/")).await;
    let seconds = SETUP_LIMIT.as_secs();
    let silent = |_| Refusal::new(libc::ETIMEDOUT, format!("{url}: no answer within {seconds} s"));
    answer.map_err(silent)?.map_err(|error| {
        let Refusal { errno, sentence } = refusal(&url, error);
        let sentence = format!("{sentence}; does a name node listen there (namenode=, port=)?");
        Refusal { errno, sentence }
    })?;
    Ok(Rc::new(client))
}

/// Path of a file's chunks, without the chunk numbers.
pub(super) fn path_of(options: &LibhdfsOptions, name: &str) -> String {
    let folder = options.hdfsdirectory.trim_end_matches('/');
    let name = name.trim_start_matches('/');
    if folder.starts_with('/') || folder.is_empty() {
        format!("{folder}/{name}")
    } else {
        format!("/{folder}/{name}")
    }
}

/// Describes an error on one line.
pub(super) fn refusal(what: &str, error: HdfsError) -> Refusal {
    let errno = match &error {
        HdfsError::IOError(error) => match error.kind() {
            std::io::ErrorKind::UnexpectedEof => libc::ECONNRESET,
            _ => error.raw_os_error().unwrap_or(libc::EIO),
        },
        HdfsError::FileNotFound(_) => libc::ENOENT,
        HdfsError::AlreadyExists(_) => libc::EEXIST,
        HdfsError::IsADirectoryError(_) => libc::EISDIR,
        HdfsError::InvalidPath(_) | HdfsError::InvalidArgument(_) | HdfsError::UrlParseError(_) => {
            libc::EINVAL
        }
        HdfsError::UnsupportedFeature(_) => libc::EOPNOTSUPP,
        HdfsError::SASLError(_) | HdfsError::GSSAPIError(..) | HdfsError::NoSASLMechanism => libc::EACCES,
        HdfsError::RPCError(class, _) | HdfsError::FatalRPCError(class, _) => errno_of(class),
        _ => libc::EIO,
    };
    Refusal::new(errno, format!("{what}: {}", sentence_of(&error)))
}

/// The part of an error that matters to a user, without the client's RPC layers and the server's class names
/// and stack.
fn sentence_of(error: &HdfsError) -> String {
    let text = match error {
        HdfsError::IOError(error) => match error.kind() {
            std::io::ErrorKind::UnexpectedEof => "the server closed the connection".to_owned(),
            _ => first_line(&plain(error)),
        },
        HdfsError::RPCError(class, said) | HdfsError::FatalRPCError(class, said) => {
            said_by_server(class, said)
        }
        HdfsError::FileNotFound(_) => "there is no such file".to_owned(),
        HdfsError::AlreadyExists(_) => "the file exists already".to_owned(),
        HdfsError::IsADirectoryError(_) => "it is a folder".to_owned(),
        HdfsError::BlocksNotFound(_) => "the name node knows no data node that has its blocks".to_owned(),
        HdfsError::ChecksumError => "a data node sent data that does not match its checksum".to_owned(),
        HdfsError::DataTransferError(said) => format!("a data node failed: {}", first_line(said)),
        HdfsError::OperationFailed(said) | HdfsError::InvalidArgument(said) => first_line(said),
        HdfsError::NoSASLMechanism => {
            "the server requires an authentication method that this client does not have".to_owned()
        }
        HdfsError::SASLError(said) => format!("the server refused the user: {}", first_line(said)),
        HdfsError::InvalidRPCResponse(_) => {
            "the answer is not from a name node; is this its RPC port (8020 or 9000, not 9870)?".to_owned()
        }
        other => first_line(&plain(other)),
    };
    match text.is_empty() {
        true => "the server gave no reason".to_owned(),
        false => text,
    }
}

/// The name node's message, with an explanation of its exception if one is known.
fn said_by_server(class: &str, said: &str) -> String {
    let said = first_line(said);
    let means = match short(class) {
        "SafeModeException" => "the name node is in safe mode and changes nothing",
        "StandbyException" => {
            "this name node is on standby; name the active one, or the service of both (namenode=hdfs://NAME)"
        }
        // The server's message begins with the same words as the explanation.
        "AccessControlException" if !said.is_empty() => return said,
        "AccessControlException" => "permission denied",
        "DSQuotaExceededException" | "NSQuotaExceededException" => "a quota is used up",
        "AlreadyBeingCreatedException" | "RecoveryInProgressException" => {
            "another client has it open for writing"
        }
        _ => "the name node refused",
    };
    if said.is_empty() || said == "null" {
        format!("{means} ({})", short(class))
    } else {
        format!("{means}: {said}")
    }
}

/// The first line of a text, without the exception's name at its start; servers append a stack trace to it.
fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim();
    let is_class = |word: &str| word.contains('.') && word.ends_with("Exception") && !word.contains(' ');
    let line = match line.split_once(": ") {
        Some((class, rest)) if is_class(class) => rest,
        _ => line,
    };
    line.trim().trim_end_matches('.').to_owned()
}

/// The name of a class without its package.
fn short(class: &str) -> &str {
    class.rsplit(['.', '$']).next().unwrap_or(class)
}

/// The errno for a class of exceptions of the name node.
fn errno_of(class: &str) -> i32 {
    match short(class) {
        "AccessControlException" => libc::EACCES,
        "FileNotFoundException" => libc::ENOENT,
        "FileAlreadyExistsException" => libc::EEXIST,
        "ParentNotDirectoryException" => libc::ENOTDIR,
        "DSQuotaExceededException" | "NSQuotaExceededException" => libc::EDQUOT,
        "SafeModeException" => libc::EROFS,
        "AlreadyBeingCreatedException" | "RecoveryInProgressException" => libc::EBUSY,
        _ => libc::EIO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_sentences() {
        let rpc = |class: &str, said: &str| HdfsError::RPCError(class.to_owned(), said.to_owned());
        let denied = "Permission denied: user=nobody, access=WRITE, inode=\"/\"\n\tat org.apache.hadoop.hdfs.X(Y.java:1)";
        for (error, errno, sentence) in [
            (
                rpc("org.apache.hadoop.security.AccessControlException", denied),
                libc::EACCES,
                "/f: Permission denied: user=nobody, access=WRITE, inode=\"/\"",
            ),
            (
                rpc("org.apache.hadoop.ipc.StandbyException", ""),
                libc::EIO,
                "/f: this name node is on standby; name the active one, or the service of both (namenode=hdfs://NAME) (StandbyException)",
            ),
            (
                rpc(
                    "java.io.IOException",
                    "java.io.IOException: File /f could only be written to 0 of the 1 minReplication nodes.",
                ),
                libc::EIO,
                "/f: the name node refused: File /f could only be written to 0 of the 1 minReplication nodes",
            ),
            (
                HdfsError::IOError(std::io::Error::from_raw_os_error(libc::ECONNREFUSED)),
                libc::ECONNREFUSED,
                "/f: Connection refused",
            ),
            (
                HdfsError::IOError(std::io::ErrorKind::UnexpectedEof.into()),
                libc::ECONNRESET,
                "/f: the server closed the connection",
            ),
            (HdfsError::OperationFailed(String::new()), libc::EIO, "/f: the server gave no reason"),
        ] {
            let refusal = refusal("/f", error);
            assert_eq!((refusal.errno.0, refusal.sentence.as_str()), (errno, sentence));
        }
    }
}
