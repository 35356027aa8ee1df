//! Removes passwords and keys that some file systems show in the list of mounts. When in doubt, text is hidden.

/// Placeholder for hidden text.
const HIDDEN: &str = "<hidden>";
/// Substrings that mark an option name as secret.
const SECRET: [&str; 8] = ["pass", "secret", "token", "key", "credential", "auth", "signature", "pwd"];

/// The source or the options of a mount, with secrets hidden.
pub(super) fn without_secrets(text: &str) -> String {
    // Passwords in addresses are hidden before the text is split at commas, because a password may contain one.
    let text = without_passwords_of_addresses(text);
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (item, next) = rest.split_at(end_of_item(rest));
        kept.push_str(&hide(item));
        let separator = next.chars().next().map_or(0, char::len_utf8);
        kept.push_str(&next[..separator]);
        rest = &next[separator..];
    }
    kept
}

/// Removes the password in an address with a scheme: from the colon after the user to the last `@`.
fn without_passwords_of_addresses(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find("://") {
        let (before, address) = rest.split_at(place + "://".len());
        kept.push_str(before);
        let own = &address[..address.find([' ', '"', '\'']).unwrap_or(address.len())];
        let colon = own.find([':', '@']).filter(|&colon| own[colon..].starts_with(':'));
        rest = match colon.zip(own.rfind('@')).filter(|(colon, at)| colon < at) {
            Some((colon, at)) => {
                kept.push_str(&own[..=colon]);
                kept.push_str(HIDDEN);
                &address[at..]
            }
            None => address,
        };
    }
    kept + rest
}

/// End of an item in a list: a comma or a space outside of quotes.
fn end_of_item(text: &str) -> usize {
    let mut quote = None;
    for (place, character) in text.char_indices() {
        match quote {
            Some(open) if open == character => quote = None,
            Some(_) => {}
            None if matches!(character, '"' | '\'') => quote = Some(character),
            None if matches!(character, ',' | ' ') => return place,
            None => {}
        }
    }
    text.len()
}

/// Hides the secret in an option, an address or a path.
fn hide(item: &str) -> String {
    match item.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}={HIDDEN}"),
        Some((name, value)) if !name.contains(['/', ':', '@', '?']) => {
            format!("{name}={}", hide_in_address(value))
        }
        _ => hide_in_address(item),
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|part| name.contains(part))
}

/// Hides the query of an address, which may be a signature, and the password in `user:password@host`.
fn hide_in_address(text: &str) -> String {
    if text.contains("://") {
        return match text.split_once('?') {
            Some((address, _)) => format!("{address}?{HIDDEN}"),
            None => text.to_owned(),
        };
    }
    let colon = text.find([':', '@']).filter(|&colon| text[colon..].starts_with(':'));
    // Only a colon after a user precedes a password; a colon also follows a host (`host:/path`) and occurs in
    // paths.
    let is_of_user = |colon: usize| {
        !text[..colon].trim_start_matches('/').contains('/') && !text[colon + 1..].starts_with('/')
    };
    match colon.filter(|&colon| is_of_user(colon)).zip(text.rfind('@')).filter(|(colon, at)| colon < at) {
        Some((colon, at)) => format!("{}{HIDDEN}{}", &text[..=colon], &text[at..]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_holds_no_secret_stays() {
        for text in [
            "/dev/nvme0n1p2",
            "server:/export/a@b",
            "root@127.0.0.1:/tmp/data@2",
            "//server/share",
            "mon1:6789,mon2:6789:/volumes/a",
            "dav:",
            "https://cloud.example/dav",
            "rw,nosuid,nodev,relatime rw,user_id=0,group_id=0,default_permissions,max_read=131072",
            "rw vers=4.2,rsize=1048576,proto=tcp,addr=10.0.0.1,clientaddr=fe80::1",
            "/dev/disk/by-path/pci-0000:00@1",
        ] {
            assert_eq!(without_secrets(text), text);
        }
    }

    #[test]
    fn secrets_are_hidden() {
        for (text, shown) in [
            ("ftp://me:pa@ss/w@host/dir", "ftp://me:<hidden>@host/dir"),
            ("curlftpfs#ftp://me:x@host/", "curlftpfs#ftp://me:<hidden>@host/"),
            ("//me:x@server/share", "//me:<hidden>@server/share"),
            ("rw,username=me,password=x,uid=0", "rw,username=me,password=<hidden>,uid=0"),
            ("rw,name=admin,secret=AQ==,acl", "rw,name=admin,secret=<hidden>,acl"),
            (
                ":s3,access_key_id=AK,secret_access_key=\"a,b c\",region=x:b",
                ":s3,access_key_id=<hidden>,secret_access_key=<hidden>,region=x:b",
            ),
            (":webdav,url='http://u:p@h/',pass=x:", ":webdav,url='http://u:<hidden>@h/',pass=<hidden>"),
            ("https://a.blob/c?sv=1&sig=x", "https://a.blob/c?<hidden>"),
            ("rw,url=https://u:p@h/", "rw,url=https://u:<hidden>@h/"),
        ] {
            assert_eq!(without_secrets(text), shown);
        }
    }

    proptest! {
        #[test]
        fn no_password_comes_through(word in "Zq[a-z0-9!:/@.#]{0,9}Zq", odd in "Zq[ -+,?-Y_-~]{0,9}Zq", rest in "[ -Y_-~é]{0,12}") {
            let odd = odd.replace([' ', '"', '\''], "");
            for text in [
                format!("ftp://me:{word}@host/"),
                format!("ssh://me:{odd}@h:22/{rest}"),
                format!("a=b,password={word},c"),
                format!(":dav,url=\"http://me:{odd}@h\",x=1"),
            ] {
                prop_assert!(!without_secrets(&text).contains("Zq"), "{text} {}", without_secrets(&text));
            }
            // Must not panic, regardless of where quotes, commas and multibyte characters are.
            let _ = without_secrets(&format!("{rest}{word}"));
        }
    }
}
