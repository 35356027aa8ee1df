//! S3 credentials of a job, from its options, the environment, or the credentials file of the AWS tools.

use fathom_spec::engines::http::HttpOptions;
use std::path::PathBuf;
use thiserror::Error;

/// Why there are no credentials.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum CredentialsError {
    /// Only one of the two keys is set.
    #[error(
        "half of the S3 credentials: {there} is set and {missing} is not; give both in one place (a key id and a secret from \
         different places do not belong together)"
    )]
    Half { there: &'static str, missing: &'static str },
    /// Neither key is set anywhere.
    #[error(
        "no S3 credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or http_s3_keyid= and \
        http_s3_key= in the job file, or the profile {profile} in {file}"
    )]
    None { profile: String, file: String },
}

/// Key ID and secret, which are never printed.
pub(super) struct Credentials {
    pub(super) id: String,
    pub(super) secret: String,
    pub(super) token: Option<String>,
}

impl Credentials {
    /// The credentials of a job.
    pub(super) fn find(options: &HttpOptions) -> Result<Credentials, CredentialsError> {
        Credentials::from(options, &|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    /// Finds the credentials. Both keys must come from the same place: an ID and a secret from different places
    /// do not match, and a request signed with them would reveal both to a server.
    fn from(
        options: &HttpOptions,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Credentials, CredentialsError> {
        let of_options = Source {
            names: ["http_s3_keyid=", "http_s3_key="],
            id: options.http_s3_keyid.clone(),
            secret: options.http_s3_key.clone(),
            token: options.http_s3_security_token.clone(),
        };
        let of_environment = Source {
            names: ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
            id: variable("AWS_ACCESS_KEY_ID"),
            secret: variable("AWS_SECRET_ACCESS_KEY"),
            token: variable("AWS_SESSION_TOKEN"),
        };
        for source in [of_options, of_environment] {
            if let Some(found) = source.pair()? {
                return Ok(found);
            }
        }
        let profile = variable("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
        let path = variable("AWS_SHARED_CREDENTIALS_FILE").map(PathBuf::from);
        let path = path.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".aws/credentials")));
        let text = path.as_ref().and_then(|path| std::fs::read_to_string(path).ok());
        text.and_then(|text| of_profile(&text, &profile)).ok_or_else(|| {
            let file =
                path.map_or_else(|| "~/.aws/credentials".to_owned(), |path| path.display().to_string());
            CredentialsError::None { profile, file }
        })
    }
}

/// A place that may contain credentials.
struct Source {
    /// Names of the ID and the secret in that place.
    names: [&'static str; 2],
    id: Option<String>,
    secret: Option<String>,
    token: Option<String>,
}

impl Source {
    /// Returns both keys or neither; one key without the other is a mistake.
    fn pair(self) -> Result<Option<Credentials>, CredentialsError> {
        let [id, secret] = self.names;
        match (self.id, self.secret) {
            (Some(id), Some(secret)) => Ok(Some(Credentials { id, secret, token: self.token })),
            (Some(_), None) => Err(CredentialsError::Half { there: id, missing: secret }),
            (None, Some(_)) => Err(CredentialsError::Half { there: secret, missing: id }),
            (None, None) => Ok(None),
        }
    }
}

fn of_profile(text: &str, profile: &str) -> Option<Credentials> {
    let mut is_wanted = false;
    let (mut id, mut secret, mut token) = (None, None, None);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_wanted = name.trim() == profile;
        } else if let Some((key, value)) = line.split_once('=').filter(|_| is_wanted) {
            let value = Some(value.trim().to_owned());
            match key.trim() {
                "aws_access_key_id" => id = value,
                "aws_secret_access_key" => secret = value,
                "aws_session_token" => token = value,
                _ => {}
            }
        }
    }
    Some(Credentials { id: id?, secret: secret?, token })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_found_among_others() {
        let text = "# mine\n[default]\naws_access_key_id = A\naws_secret_access_key=B=\n\n[ci]\naws_access_key_id=C\n\
                    aws_secret_access_key=D\naws_session_token=E\n";
        let default = of_profile(text, "default").expect("the profile");
        assert_eq!((default.id.as_str(), default.secret.as_str(), default.token), ("A", "B=", None));
        assert_eq!(of_profile(text, "ci").and_then(|found| found.token).as_deref(), Some("E"));
        assert!(of_profile(text, "other").is_none());
    }

    #[test]
    fn options_come_before_the_environment_and_a_lack_names_the_places() {
        let mut options = HttpOptions::default();
        let nothing = |_: &str| None;
        let lack = Credentials::from(&options, &nothing).err().expect("nothing to find").to_string();
        assert!(lack.contains("AWS_ACCESS_KEY_ID") && lack.contains(".aws/credentials"), "{lack}");
        let environment = |name: &str| name.starts_with("AWS_").then(|| format!("env {name}"));
        let found = Credentials::from(&options, &environment).expect("both are there");
        assert_eq!(
            (found.id.as_str(), found.secret.as_str()),
            ("env AWS_ACCESS_KEY_ID", "env AWS_SECRET_ACCESS_KEY")
        );
        assert_eq!(found.token.as_deref(), Some("env AWS_SESSION_TOKEN"));
        options.http_s3_keyid = Some("mine".to_owned());
        options.http_s3_key = Some("secret".to_owned());
        let found = Credentials::from(&options, &environment).expect("both are there");
        assert_eq!((found.id.as_str(), found.secret.as_str(), found.token), ("mine", "secret", None));
    }

    #[test]
    fn halves_from_two_places_are_no_pair() {
        let environment = |name: &str| name.starts_with("AWS_").then(|| format!("env {name}"));
        let id = HttpOptions { http_s3_keyid: Some("mine".to_owned()), ..HttpOptions::default() };
        let secret = HttpOptions { http_s3_key: Some("mine".to_owned()), ..HttpOptions::default() };
        for (options, missing) in [(id, "http_s3_key= is not"), (secret, "http_s3_keyid= is not")] {
            let told = Credentials::from(&options, &environment).err().expect("half is refused").to_string();
            assert!(told.contains(missing) && !told.contains("mine"), "{told}");
        }
        let only_id = |name: &str| (name == "AWS_ACCESS_KEY_ID").then(|| "id".to_owned());
        let told =
            Credentials::from(&HttpOptions::default(), &only_id).err().expect("half is refused").to_string();
        assert!(told.contains("AWS_SECRET_ACCESS_KEY is not"), "{told}");
        // A profile with only one of the keys counts as having none.
        assert!(of_profile("[default]\naws_access_key_id = A\n", "default").is_none());
    }
}
