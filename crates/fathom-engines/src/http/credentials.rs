//! Who a job is on S3: by its options, the environment, or the credentials file of the AWS tools.

use fathom_spec::engines::http::HttpOptions;
use std::path::PathBuf;

/// Key id and secret. Never shown.
pub(super) struct Credentials {
    pub(super) id: String,
    pub(super) secret: String,
    pub(super) token: Option<String>,
}

impl Credentials {
    /// Those of a job, or one sentence on where they could come from.
    pub(super) fn find(options: &HttpOptions) -> Result<Credentials, String> {
        Credentials::from(options, &|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn from(options: &HttpOptions, variable: &dyn Fn(&str) -> Option<String>) -> Result<Credentials, String> {
        if let (Some(id), Some(secret)) = (&options.http_s3_keyid, &options.http_s3_key) {
            let token = options.http_s3_security_token.clone();
            return Ok(Credentials { id: id.clone(), secret: secret.clone(), token });
        }
        let given = |option: &Option<String>, name: &str| option.clone().or_else(|| variable(name));
        let id = given(&options.http_s3_keyid, "AWS_ACCESS_KEY_ID");
        let secret = given(&options.http_s3_key, "AWS_SECRET_ACCESS_KEY");
        let token = given(&options.http_s3_security_token, "AWS_SESSION_TOKEN");
        if let (Some(id), Some(secret)) = (id, secret) {
            return Ok(Credentials { id, secret, token });
        }
        let profile = variable("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
        let path = variable("AWS_SHARED_CREDENTIALS_FILE").map(PathBuf::from);
        let path = path.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".aws/credentials")));
        let text = path.as_ref().and_then(|path| std::fs::read_to_string(path).ok());
        text.and_then(|text| of_profile(&text, &profile)).ok_or_else(|| {
            format!(
                "no S3 credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or http_s3_keyid= and http_s3_key= \
                 in the job file, or the profile {profile} in {}",
                path.map_or_else(|| "~/.aws/credentials".to_owned(), |path| path.display().to_string())
            )
        })
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
        let lack = Credentials::from(&options, &nothing).err().expect("nothing to find");
        assert!(lack.contains("AWS_ACCESS_KEY_ID") && lack.contains(".aws/credentials"), "{lack}");
        let environment = |name: &str| Some(format!("env {name}"));
        options.http_s3_keyid = Some("mine".to_owned());
        let found = Credentials::from(&options, &environment).expect("both are there");
        assert_eq!((found.id.as_str(), found.secret.as_str()), ("mine", "env AWS_SECRET_ACCESS_KEY"));
    }
}
