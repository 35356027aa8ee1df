//! Environment variables of the AWS tools besides credentials: the region, and the endpoint. Options of the job
//! take precedence.

use fathom_spec::JobSpec;
use fathom_spec::engines::http::{HttpMode, HttpOptions, Https};
use thiserror::Error;

/// An environment variable that does not name a server.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{variable}={url}: it looks like https://server:port, without a path; or name the server with http_host="
)]
pub(super) struct EndpointError {
    variable: &'static str,
    url: String,
}

/// The job's options, completed from the environment.
pub(super) fn completed(job: &JobSpec) -> Result<HttpOptions, EndpointError> {
    complete(job.private.http.clone(), &|option| job.is_set(option), &|name| {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    })
}

fn complete(
    mut options: HttpOptions,
    is_set: &dyn Fn(&str) -> bool,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<HttpOptions, EndpointError> {
    if options.http_mode != HttpMode::S3 {
        return Ok(options);
    }
    let first = |names: [&'static str; 2]| names.into_iter().find_map(|name| Some((name, variable(name)?)));
    if let Some((_, region)) =
        first(["AWS_REGION", "AWS_DEFAULT_REGION"]).filter(|_| !is_set("http_s3_region"))
    {
        options.http_s3_region = region;
    }
    let is_ignored = variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS").is_some_and(|value| value == "true");
    let endpoint = first(["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]);
    if let Some((name, url)) = endpoint.filter(|_| !is_ignored && !is_set("http_host")) {
        let (is_secure, host) = host_of(&url).ok_or(EndpointError { variable: name, url })?;
        options.http_host = host;
        if !is_set("https") {
            options.https = if is_secure { Https::On } else { Https::Off };
        }
    }
    Ok(options)
}

/// Parses a URL: whether the server uses TLS, and its host and port.
fn host_of(url: &str) -> Option<(bool, String)> {
    let (scheme, rest) = url.trim().split_once("://")?;
    let is_secure = match scheme.to_ascii_lowercase().as_str() {
        "https" => true,
        "http" => false,
        _ => return None,
    };
    let host = rest.trim_end_matches('/');
    (!host.is_empty() && !host.contains(['/', '?', '#', '@', ','])).then(|| (is_secure, host.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mode: HttpMode, given: &[&str], variables: &[(&str, &str)]) -> Result<HttpOptions, EndpointError> {
        let options = HttpOptions {
            http_mode: mode,
            http_host: "localhost".to_owned(),
            http_s3_region: "us-east-1".to_owned(),
            ..HttpOptions::default()
        };
        complete(options, &|option| given.contains(&option), &|name| {
            variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn regions_and_servers_of_the_environment_fill_what_the_job_leaves_open() {
        let all = [
            ("AWS_REGION", "eu-west-1"),
            ("AWS_DEFAULT_REGION", "x"),
            ("AWS_ENDPOINT_URL", "https://s3.test:9000/"),
        ];
        let found = of(HttpMode::S3, &[], &all).expect("complete");
        assert_eq!((found.http_s3_region.as_str(), found.http_host.as_str()), ("eu-west-1", "s3.test:9000"));
        assert_eq!(found.https, Https::On);
        let own = of(HttpMode::S3, &["http_s3_region", "http_host"], &all).expect("complete");
        assert_eq!((own.http_s3_region.as_str(), own.http_host.as_str()), ("us-east-1", "localhost"));
        assert_eq!(own.https, Https::Off);
        let fallback = of(HttpMode::S3, &[], &[("AWS_DEFAULT_REGION", "x")]).expect("complete");
        assert_eq!((fallback.http_s3_region.as_str(), fallback.http_host.as_str()), ("x", "localhost"));
        // The service-specific variable takes precedence. TLS that the job requests stays in effect.
        let both = [("AWS_ENDPOINT_URL", "https://all"), ("AWS_ENDPOINT_URL_S3", "http://[::1]:80")];
        let found = of(HttpMode::S3, &["https"], &both).expect("complete");
        assert_eq!((found.http_host.as_str(), found.https), ("[::1]:80", Https::Off));
        let ignored = [("AWS_ENDPOINT_URL", "https://all"), ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")];
        assert_eq!(of(HttpMode::S3, &[], &ignored).expect("complete").http_host, "localhost");
        let other = of(HttpMode::WebDav, &[], &all).expect("complete");
        assert_eq!((other.http_s3_region.as_str(), other.http_host.as_str()), ("us-east-1", "localhost"));
    }

    #[test]
    fn what_names_no_server_is_refused() {
        for url in ["s3.test", "ftp://x", "https://", "https://x/path", "https://a@b", "http://a,b"] {
            let told = of(HttpMode::S3, &[], &[("AWS_ENDPOINT_URL", url)]).expect_err(url).to_string();
            assert!(told.starts_with(&format!("AWS_ENDPOINT_URL={url}: ")), "{told}");
        }
    }
}
