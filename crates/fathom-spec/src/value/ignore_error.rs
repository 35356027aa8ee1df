//! `ignore_error`: error numbers that do not end a job.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{OptionValue, ParseContext, ValueError};
use crate::definition::OptionDef;

/// Error numbers that are tolerated, by kind of operation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IgnoreErrors {
    /// For reads.
    pub read: Vec<i32>,
    /// For writes.
    pub write: Vec<i32>,
    /// Errors tolerated in checks of the data.
    pub verify: Vec<i32>,
}

impl fmt::Display for IgnoreErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = |numbers: &[i32]| numbers.iter().map(i32::to_string).collect::<Vec<_>>().join(":");
        write!(formatter, "{},{},{}", join(&self.read), join(&self.write), join(&self.verify))
    }
}

/// Linux error names, indexed by number; empty for numbers without a name.
const NAMES: [&str; 134] = [
    "",
    "EPERM",
    "ENOENT",
    "ESRCH",
    "EINTR",
    "EIO",
    "ENXIO",
    "E2BIG",
    "ENOEXEC",
    "EBADF",
    "ECHILD",
    "EAGAIN",
    "ENOMEM",
    "EACCES",
    "EFAULT",
    "ENOTBLK",
    "EBUSY",
    "EEXIST",
    "EXDEV",
    "ENODEV",
    "ENOTDIR",
    "EISDIR",
    "EINVAL",
    "ENFILE",
    "EMFILE",
    "ENOTTY",
    "ETXTBSY",
    "EFBIG",
    "ENOSPC",
    "ESPIPE",
    "EROFS",
    "EMLINK",
    "EPIPE",
    "EDOM",
    "ERANGE",
    "EDEADLK",
    "ENAMETOOLONG",
    "ENOLCK",
    "ENOSYS",
    "ENOTEMPTY",
    "ELOOP",
    "",
    "ENOMSG",
    "EIDRM",
    "ECHRNG",
    "EL2NSYNC",
    "EL3HLT",
    "EL3RST",
    "ELNRNG",
    "EUNATCH",
    "ENOCSI",
    "EL2HLT",
    "EBADE",
    "EBADR",
    "EXFULL",
    "ENOANO",
    "EBADRQC",
    "EBADSLT",
    "",
    "EBFONT",
    "ENOSTR",
    "ENODATA",
    "ETIME",
    "ENOSR",
    "ENONET",
    "ENOPKG",
    "EREMOTE",
    "ENOLINK",
    "EADV",
    "ESRMNT",
    "ECOMM",
    "EPROTO",
    "EMULTIHOP",
    "EDOTDOT",
    "EBADMSG",
    "EOVERFLOW",
    "ENOTUNIQ",
    "EBADFD",
    "EREMCHG",
    "ELIBACC",
    "ELIBBAD",
    "ELIBSCN",
    "ELIBMAX",
    "ELIBEXEC",
    "EILSEQ",
    "ERESTART",
    "ESTRPIPE",
    "EUSERS",
    "ENOTSOCK",
    "EDESTADDRREQ",
    "EMSGSIZE",
    "EPROTOTYPE",
    "ENOPROTOOPT",
    "EPROTONOSUPPORT",
    "ESOCKTNOSUPPORT",
    "EOPNOTSUPP",
    "EPFNOSUPPORT",
    "EAFNOSUPPORT",
    "EADDRINUSE",
    "EADDRNOTAVAIL",
    "ENETDOWN",
    "ENETUNREACH",
    "ENETRESET",
    "ECONNABORTED",
    "ECONNRESET",
    "ENOBUFS",
    "EISCONN",
    "ENOTCONN",
    "ESHUTDOWN",
    "ETOOMANYREFS",
    "ETIMEDOUT",
    "ECONNREFUSED",
    "EHOSTDOWN",
    "EHOSTUNREACH",
    "EALREADY",
    "EINPROGRESS",
    "ESTALE",
    "EUCLEAN",
    "ENOTNAM",
    "ENAVAIL",
    "EISNAM",
    "EREMOTEIO",
    "EDQUOT",
    "ENOMEDIUM",
    "EMEDIUMTYPE",
    "ECANCELED",
    "ENOKEY",
    "EKEYEXPIRED",
    "EKEYREVOKED",
    "EKEYREJECTED",
    "EOWNERDEAD",
    "ENOTRECOVERABLE",
    "ERFKILL",
    "EHWPOISON",
];

/// The number of a Linux error name.
pub fn errno_number(name: &str) -> Option<i32> {
    let name = match name {
        "EWOULDBLOCK" => "EAGAIN",
        "EDEADLOCK" => "EDEADLK",
        "" => return None,
        name => name,
    };
    NAMES.iter().position(|known| *known == name).and_then(|number| i32::try_from(number).ok())
}

/// The name of a Linux error number.
pub fn errno_name(number: i32) -> Option<&'static str> {
    usize::try_from(number).ok().and_then(|number| NAMES.get(number).copied()).filter(|name| !name.is_empty())
}

fn parse_codes(text: &str, context: &mut ParseContext<'_>) -> Result<Vec<i32>, ValueError> {
    let mut codes = Vec::new();
    for part in text.split(':').map(str::trim).filter(|part| !part.is_empty()) {
        let code = if part.starts_with(|letter: char| letter.is_ascii_digit()) {
            part.parse().ok()
        } else {
            let code = errno_number(part);
            if code.is_none() {
                context.complain(format!("Unknown error {part}, please use number value"));
            }
            code
        };
        codes.push(code.ok_or_else(|| ValueError::new("error names or numbers such as EIO:ENOSPC or 5:28"))?);
    }
    Ok(codes)
}

impl OptionValue for IgnoreErrors {
    fn unset() -> Self {
        IgnoreErrors::default()
    }

    fn assign(
        &mut self,
        text: &str,
        _: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let mut classes = text.split(',');
        let mut next = || classes.next().map_or(Ok(Vec::new()), |codes| parse_codes(codes, context));
        *self = IgnoreErrors { read: next()?, write: next()?, verify: next()? };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{parse, parse_noting};
    use super::*;

    #[test]
    fn names_have_their_linux_numbers() {
        for (name, number) in
            [("EPERM", 1), ("EIO", 5), ("ENOSPC", 28), ("EILSEQ", 84), ("ETIMEDOUT", 110), ("EHWPOISON", 133)]
        {
            assert_eq!(errno_number(name), Some(number), "{name}");
        }
        assert_eq!(errno_number("EWOULDBLOCK"), Some(11));
        assert_eq!(errno_number("EDEADLOCK"), Some(35));
        assert_eq!(errno_number(""), None);
    }

    #[test]
    fn classes_are_separated_by_commas() {
        let errors: IgnoreErrors = parse("EIO:28,,5").unwrap();
        assert_eq!(errors, IgnoreErrors { read: vec![5, 28], write: vec![], verify: vec![5] });
        assert_eq!(parse_noting::<IgnoreErrors>("EFOO").1, ["Unknown error EFOO, please use number value"]);
    }

    proptest! {
        #[test]
        fn printing_parses_back(read in proptest::collection::vec(0i32..4096, 0..5), verify in 0i32..4096) {
            let errors = IgnoreErrors { read, write: vec![], verify: vec![verify] };
            prop_assert_eq!(parse(&errors.to_string()), Ok(errors));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = parse::<IgnoreErrors>(&text);
        }
    }
}
