//! The `http` engine and its options.

use crate::declare::{choices, options};
use crate::definition::{Bounds, Names};
use crate::diagnostic::Rejected;
use crate::engines::{EngineDef, Review};
use crate::options::verification::VerifyMethod;
use crate::spec::JobSpec;
use std::time::Duration;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "http";

/// `ioengine=http`
pub const DEFINITION: EngineDef = EngineDef::new(ENGINE, "objects over HTTP: WebDAV, S3, Swift")
    .built()
    .queues_from(u32::MAX)
    .on_server()
    .one_thread()
    .with_options(TABLE)
    .with_rules(&[check]);

choices! {
    /// Use of TLS.
    pub enum Https {
        /// Plain HTTP
        Off = "off",
        /// TLS
        On = "on",
        /// TLS without checking certificates
        Insecure = "insecure",
    }
}

choices! {
    /// Protocol flavour.
    pub enum HttpMode {
        /// WebDAV
        WebDav = "webdav",
        /// Amazon S3
        S3 = "s3",
        /// OpenStack Swift
        Swift = "swift",
    }
}

choices! {
    /// How blocks map to objects.
    pub enum HttpObjectMode {
        /// An object for each block
        Block = "block",
        /// Ranges of one object
        Range = "range",
    }
}

choices! {
    /// Version of the protocol.
    pub enum HttpVersion {
        /// HTTP/2 if TLS offers it, otherwise HTTP/1.1
        Auto = "auto",
        /// HTTP/1.1
        One = "1.1",
        /// HTTP/2, even without TLS
        Two = "2",
    }
}

choices! {
    /// What is hashed for the signature of a request.
    pub enum S3Payload {
        /// The body as well
        Signed = "signed",
        /// Only the head
        Unsigned = "unsigned",
    }
}

choices! {
    /// Checksums of bodies.
    pub enum HttpChecksum {
        /// None
        None = "none",
        /// MD5 (Content-MD5; ETag of Swift)
        Md5 = "md5",
        /// SHA-256 (x-amz-checksum-sha256)
        Sha256 = "sha256",
    }
}

options! {
    /// Options of the `http` engine.
    pub struct HttpOptions in Engine, table TABLE;

    /// Whether to use TLS
    Built Choice https: Https = "off", { choices: Https::CHOICES, engine: ENGINE };

    /// Server, with :PORT if it is not the default; several are separated by commas and used in turn. Default
    /// for S3: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL
    Built Text http_host: String = "localhost", { names: Names::Remote, engine: ENGINE };

    /// User of WebDAV
    Built Text http_user: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// Password of WebDAV; ${NAME} takes it from the environment
    Built Text http_pass: Option<String>, { names: Names::Remote, engine: ENGINE, secret: true };

    /// S3 secret; if unset, AWS_SECRET_ACCESS_KEY or the credentials file of the AWS tools
    Built Text http_s3_key: Option<String>, { names: Names::Remote, engine: ENGINE, secret: true };

    /// S3 key id; if unset, AWS_ACCESS_KEY_ID or the credentials file of the AWS tools
    Built Text http_s3_keyid: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// S3 session token; if unset, AWS_SESSION_TOKEN or the credentials file of the AWS tools
    Built Text http_s3_security_token: Option<String>, { names: Names::Remote, engine: ENGINE, secret: true };

    /// Swift token; if unset, OS_AUTH_TOKEN
    Built Text http_swift_auth_token: Option<String>, { names: Names::Remote, engine: ENGINE, secret: true };

    /// S3 region; if unset, AWS_REGION or AWS_DEFAULT_REGION
    Built Text http_s3_region: String = "us-east-1", { names: Names::Remote, engine: ENGINE };

    /// Key with which S3 encrypts the job's objects (SSE-C): 32 characters
    Built Text http_s3_sse_customer_key: Option<String>, { names: Names::Remote, engine: ENGINE, secret: true };

    /// Encryption algorithm
    Built Text http_s3_sse_customer_algorithm: String = "AES256", { names: Names::Remote, engine: ENGINE };

    /// S3 storage class of new objects
    Built Text http_s3_storage_class: String = "STANDARD", { names: Names::Remote, engine: ENGINE };

    /// Protocol flavour
    Built Choice http_mode: HttpMode = "webdav", { choices: HttpMode::CHOICES, engine: ENGINE };

    /// Show heads of requests and responses: 1 shows the first lines, 2 all lines except secrets
    Built Int http_verbose: u32 = "0", { bounds: Bounds::between(0.0, 2.0), engine: ENGINE };

    /// One object for each block, or ranges of one object
    ///
    /// An object cannot be changed in part: writes of ranges are uploads of the whole object in parts (rw=write on S3).
    Built Choice http_object_mode: HttpObjectMode = "block", {
        choices: HttpObjectMode::CHOICES,
        engine: ENGINE,
    };

    /// Names of objects that hold blocks: %f file name, %o offset, %l length, %n number of the block, %Nh the
    /// first N digits of a hash
    Built Text http_object_name: String = "%f_%o_%l", { names: Names::Remote, engine: ENGINE };

    /// Connections to each server; 0 opens as many as there are concurrent requests
    Built Int http_connections: u32 = "0", { bounds: Bounds::between(0.0, 65536.0), engine: ENGINE };

    /// Timeout for a server to accept a connection or answer the first requests, before the run
    Built Time http_connect_limit: Duration = "30s", { engine: ENGINE };

    /// Protocol version
    Built Choice http_version: HttpVersion = "auto", { choices: HttpVersion::CHOICES, engine: ENGINE };

    /// Number of retries of a request after status 429, 500, 502, 503, 504 or a lost connection
    Built Int http_retries: u32 = "0", { bounds: Bounds::between(0.0, 1000.0), engine: ENGINE };

    /// Pause before the first retry; doubled for each further one
    Built Time http_retry_pause: Duration = "100ms", { engine: ENGINE };

    /// Part size of multipart uploads to S3: larger bodies are sent in parts; 0 sends all in one request
    Built Int http_part_size: u64 = "0", { engine: ENGINE };

    /// Parts of one upload to send concurrently
    Built Int http_parts: u32 = "4", { bounds: Bounds::between(1.0, 1000.0), engine: ENGINE };

    /// What an S3 signature covers
    Built Choice http_s3_payload: S3Payload = "signed", { choices: S3Payload::CHOICES, engine: ENGINE };

    /// Checksum to send with bodies, and to compare with responses
    Built Choice http_checksum: HttpChecksum = "none", { choices: HttpChecksum::CHOICES, engine: ENGINE };

    /// File with the trusted certificate authorities, PEM
    Built Text http_ca: Option<String>, { names: Names::ClientFile, engine: ENGINE };

    /// Client certificate, PEM
    Built Text http_cert: Option<String>, { names: Names::ClientFile, engine: ENGINE };

    /// Private key of the client certificate, PEM
    Built Text http_key: Option<String>, { names: Names::ClientFile, engine: ENGINE };

    /// Acknowledge received data immediately, to avoid 40 ms delays with servers that hold back the end of a response
    Built Bool http_quickack: bool = "0", { engine: ENGINE };

    /// Operations for reads: percentages of get, head and list, as in get/70:head/30
    Built Text http_reads: String = "get", { names: Names::Remote, engine: ENGINE };

    /// Operations for writes: percentages of put and delete, as in put/80:delete/20
    Built Text http_writes: String = "put", { names: Names::Remote, engine: ENGINE };
}

/// Requires a key for each certificate, and refuses to verify operations that move no data.
fn check(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let options = &job.private.http;
    let moves_data = options.http_reads == "get" && options.http_writes == "put";
    if !moves_data && job.verification.verify != VerifyMethod::None {
        return Err(review.refuse(
            &job.origin,
            "fathom: only objects that are written and read can be verified",
            format!("job {}: verify= needs http_reads=get and http_writes=put", job.name),
        ));
    }
    if options.http_cert.is_some() != options.http_key.is_some() {
        return Err(review.refuse(
            &job.origin,
            "fathom: http_cert and http_key belong together",
            format!("job {}: http_cert= names the certificate, http_key= its private key", job.name),
        ));
    }
    Ok(())
}
