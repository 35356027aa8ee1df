//! Local files that clients of servers read, because a job names them.

use crate::nbd;
use fathom_spec::JobSpec;
use std::path::PathBuf;

/// Local files that a job with a server engine names, each with its option: certificates, keys, settings,
/// sockets.
pub fn client_files(job: &JobSpec) -> Vec<(&'static str, PathBuf)> {
    let (http, rados, rbd) = (&job.private.http, &job.private.rados, &job.private.rbd);
    let named = [
        ("conf", &rados.conf),
        ("conf", &rbd.conf),
        ("http_ca", &http.http_ca),
        ("http_cert", &http.http_cert),
        ("http_key", &http.http_key),
    ];
    let named = named.into_iter().filter_map(|(option, path)| Some((option, PathBuf::from(path.as_ref()?))));
    // The default path of a cluster's configuration contains the cluster's name.
    let clusters = [&rados.clustername, &rbd.clustername].into_iter().flatten();
    let clusters = clusters
        .filter(|name| name.contains('/'))
        .map(|name| ("clustername", PathBuf::from(format!("/etc/ceph/{name}.conf"))));
    let uri = job.private.nbd.uri.as_deref().map(nbd::files_of).unwrap_or_default();
    named.chain(clusters).chain(uri.into_iter().map(|path| ("uri", path))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::definition::Names;
    use fathom_spec::{Outcome, SystemSource, engines, parse};

    fn files(engine: &str, options: &[(&str, &str)]) -> Vec<(&'static str, PathBuf)> {
        let mut words = vec!["--name=a".to_owned(), format!("--ioengine={engine}"), "--size=4k".to_owned()];
        words.extend(options.iter().map(|(option, value)| format!("--{option}={value}")));
        match parse("fathom", &words, &SystemSource::new(4096)) {
            Outcome::Run(spec) => client_files(&spec.jobs[0]),
            other => panic!("{words:?}: {other:?}"),
        }
    }

    #[test]
    fn every_option_that_is_declared_to_name_one_gives_it() {
        let mut count = 0;
        for engine in engines::ALL.iter().filter(|engine| engine.built) {
            let named = engine.options.iter().filter(|option| option.names == Names::ClientFile);
            // Each option is checked alone, because some of them are valid only together.
            let options: Vec<(&str, &str)> = named.map(|option| (option.name, "/x/y")).collect();
            if options.is_empty() {
                continue;
            }
            let given = files(engine.name, &options);
            for (name, path) in &options {
                count += 1;
                assert!(given.contains(&(*name, PathBuf::from(path))), "{} {name}", engine.name);
            }
        }
        assert!(count >= 5, "{count}");
    }

    #[test]
    fn addresses_name_sockets_and_certificates() {
        assert_eq!(
            files("nbd", &[("uri", "nbd+unix:///e?socket=/run/s")]),
            [("uri", PathBuf::from("/run/s"))]
        );
        let tls = files("nbd", &[("uri", "nbds://h/e?tls-certificates=/etc/keys")]);
        assert!(tls.iter().any(|(_, path)| path.starts_with("/etc/keys")), "{tls:?}");
        assert_eq!(files("nbd", &[("uri", "nbd://h/e")]), []);
        assert_eq!(files("rados", &[("clustername", "ceph")]), []);
        assert_eq!(
            files("rados", &[("clustername", "../x")]),
            [("clustername", PathBuf::from("/etc/ceph/../x.conf"))]
        );
    }
}
