//! The `http` engine and its options.

use crate::definition::{choices, options};
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "http";

/// `ioengine=http`
pub const DEFINITION: EngineDef = EngineDef::new(ENGINE, "objects over HTTP: WebDAV, S3, Swift")
    .synchronous()
    .on_server()
    .with_options(TABLE);

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

options! {
    /// Options of the `http` engine.
    pub struct HttpOptions at job.private.http, in Engine, table TABLE;

    /// TLS mode
    Later Choice https: Https = "off", { choices: Https::CHOICES, engine: ENGINE };

    /// Server
    Later Text http_host: String = "localhost", { engine: ENGINE };

    /// User
    Later Text http_user: Option<String>, { engine: ENGINE };

    /// Password
    Later Text http_pass: Option<String>, { engine: ENGINE };

    /// S3 secret
    Later Text http_s3_key: Option<String>, { engine: ENGINE };

    /// S3 key id
    Later Text http_s3_keyid: Option<String>, { engine: ENGINE };

    /// S3 session token
    Later Text http_s3_security_token: Option<String>, { engine: ENGINE };

    /// Swift token
    Later Text http_swift_auth_token: Option<String>, { engine: ENGINE };

    /// S3 region
    Later Text http_s3_region: String = "us-east-1", { engine: ENGINE };

    /// S3 customer key, base64 of key
    Later Text http_s3_sse_customer_key: Option<String>, { engine: ENGINE };

    /// S3 customer key algorithm
    Later Text http_s3_sse_customer_algorithm: String = "AES256", { engine: ENGINE };

    /// S3 storage class
    Later Text http_s3_storage_class: String = "STANDARD", { engine: ENGINE };

    /// Protocol flavour
    Later Choice http_mode: HttpMode = "webdav", { choices: HttpMode::CHOICES, engine: ENGINE };

    /// 0-2 debug level
    Later Int http_verbose: u32 = "0", { engine: ENGINE };

    /// One object per block, or ranges of one object
    Later Choice http_object_mode: HttpObjectMode = "block", {
        choices: HttpObjectMode::CHOICES,
        engine: ENGINE,
    };
}
