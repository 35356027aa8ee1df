//! Texts of the list of mounts without the passwords and keys that some file systems let stand in them. Rather too much is hidden
//! than too little.

/// What stands for what is hidden.
const HIDDEN: &str = "<hidden>";
/// Parts of the names of options that hold secrets.
const SECRET: [&str; 8] = ["pass", "secret", "token", "key", "credential", "auth", "signature", "pwd"];

/// A source or options of a mount, as anybody may read them.
pub(super) fn without_secrets(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (item, next) = rest.split_at(end_of_item(rest));
        kept.push_str(&hide(item));
        let separator = next.chars().next().map_or(0, char::len_utf8);
        kept.push_str(&next[..separator]);
        rest = &next[separator..];
    }
    kept
}

/// Where an item of a list ends: at a comma or a blank, unless it is quoted.
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

/// An option, an address or a path.
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

/// An address without its password (`user:password@host`) and without what follows a question mark, which may be a signature.
fn hide_in_address(text: &str) -> String {
    let scheme = text.find("://").map(|place| place + "://".len());
    let start = scheme.unwrap_or(0);
    let (before, address) = text.split_at(start);
    let (address, query) = match address.split_once('?').filter(|_| scheme.is_some()) {
        Some((address, _)) => (address, format!("?{HIDDEN}")),
        None => (address, String::new()),
    };
    let user_end = address.find([':', '@']).filter(|&place| address[place..].starts_with(':'));
    let password = user_end.and_then(|colon| Some((colon + 1, address.rfind('@').filter(|&at| at > colon)?)));
    // Without a scheme, a colon comes after a host as well: `host:/path`.
    let password = password.filter(|(begin, _)| {
        scheme.is_some()
            || !address[..*begin].trim_start_matches('/').contains('/') && !address[*begin..].starts_with('/')
    });
    match password {
        Some((begin, end)) => format!("{before}{}{HIDDEN}{}{query}", &address[..begin], &address[end..]),
        None => format!("{before}{address}{query}"),
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
        fn no_password_comes_through(word in "Zq[a-z0-9!:/@.#]{0,9}Zq", prefix in "[ -~é]{0,12}") {
            for text in [format!("ftp://me:{word}@host/"), format!("a=b,password={word},c"), format!("ssh://me:{word}@h:22/{prefix}")] {
                prop_assert!(!without_secrets(&text).contains("Zq"), "{text}");
            }
            // Never panics, wherever quotes, commas and characters of several bytes stand.
            let _ = without_secrets(&format!("{prefix}{word}"));
        }
    }
}
