//! The connection with a name node, and what its errors say.

use crate::net::refusal::Refusal;
use fathom_spec::engines::libhdfs::LibhdfsOptions;
use hdfs_native::{Client, ClientBuilder, HdfsError};
use std::rc::Rc;
use std::time::Duration;

/// How long a name node may take to answer before the run.
const SETUP_LIMIT: Duration = Duration::from_secs(30);

/// Connects, and sees that somebody answers.
pub(super) async fn connect(options: &LibhdfsOptions) -> Result<Rc<Client>, Refusal> {
    let node = options.namenode.as_ref().or(options.hostname.as_ref()).map_or("localhost", String::as_str);
    let url = if node.contains("://") { node.to_owned() } else { format!("hdfs://{node}:{}", options.port) };
    let mut builder = ClientBuilder::new().with_url(&url);
    if url != node {
        // There is no other one to turn to, and an I/O that fails is an error and not tried in secret for minutes.
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

/// Where the chunks of a file lie, without their numbers.
pub(super) fn path_of(options: &LibhdfsOptions, name: &str) -> String {
    let folder = options.hdfsdirectory.trim_end_matches('/');
    let name = name.trim_start_matches('/');
    if folder.starts_with('/') || folder.is_empty() {
        format!("{folder}/{name}")
    } else {
        format!("/{folder}/{name}")
    }
}

/// One line about what went wrong.
pub(super) fn refusal(what: &str, error: HdfsError) -> Refusal {
    let errno = match &error {
        HdfsError::IOError(error) => error.raw_os_error().unwrap_or(libc::EIO),
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
    // Servers send their whole stack after the first line.
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default().trim();
    let line = line.split(" (os error").next().unwrap_or(line);
    Refusal::new(errno, format!("{what}: {line}"))
}

/// What a class of exceptions of the name node stands for.
fn errno_of(class: &str) -> i32 {
    match class.rsplit(['.', '$']).next().unwrap_or(class) {
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
