//! Forms of the command line.

use super::super::Family;
use super::super::case::same;

const COMMAND_LINES: Family = Family {
    base: "",
    rows: &[
        same("--name=a --filename=data --size=64k "),
        same("--name=a --filename=data --size=64k -rw=write"),
        same("--name=a --filename=data --size=64k --rw write"),
        same("--name=a --filename=data --size=64k --rw=write --bs 8k"),
        same("--name=a --filename=data --size=64k --rw=read --name=b --filename=data --size=64k --rw=write"),
        same("--name=a --filename=data --size=64k --rw=read --readonly")
            .differs(&["stderr", "normal", "terse", "json"], "--readonly makes no file"),
        same("--name=a --filename=data --size=64k --rw=write --readonly"),
        same("--name=a --filename=data --size=64k --rw=randrw --readonly"),
        same("--name=a --filename=data --size=64k --rw=trim --readonly"),
        same("--name=a --filename=data --size=64k --parse-only"),
        same("--name=a --filename=data --size=64k --parse-only --rw=foo"),
        same("--name=a --filename=data --size=64k --parse-only --nosuch=1"),
        same("--name=a --filename=data --size=64k --showcmd"),
        same("--name=a --filename=data --size=64k --rw=write --showcmd"),
        same("--name=a --filename=data --size=64k --debug=nosuch"),
        same("--name=a --filename=data --size=64k --max-jobs=1 --numjobs=2"),
        same("--name=a --filename=data --size=64k --eta=nosuch"),
        same("--name=a --filename=data --size=64k --eta=always --eta-newline=1 --rw=read"),
        same("--name=a --filename=data --size=64k --status-interval=x"),
        same("--name=a --filename=data --size=64k --section=a"),
        same("--name=a --filename=data --size=64k --alloc-size=64"),
        same("--name=a --filename=data --size=64k --aux-path=. --write_lat_log=l"),
        same("--name=a --filename=data --size=64k --warnings-fatal --nosuch"),
        same("--name=a --filename=data --size=64k --warnings-fatal"),
        same("--name=a --filename=data --size=64k --idle-prof=none"),
        same("--name=a --filename=data --size=64k --idle-prof=nosuch"),
        same("--name=a --filename=data --size=64k --terse-version=9"),
        same("--name=a --filename=data --size=64k --terse-version=x"),
        same("--name=a --filename=data --size=64k --output-format="),
        same("--name=a --filename=data --size=64k --latency-log"),
        same("--name=a --filename=data --size=64k --bandwidth-log")
            .differs(&["file"], "fio writes nothing without a status line"),
        same("--name=a --filename=data --size=64k --unlink=1 --rw=write"),
        same("--name=a --filename=data --size=64k --kb_base=1000 --size=64k --bs=1k"),
        same("--name=a --filename=data --size=64k --runtime=1"),
        same("--name=a --filename=data --size=64k --timeout=1"),
        same("--name=a --filename=data --size=64k --runtime 1 --time_based --rate_iops=10"),
        same("--name=a --filename=data --size=64k --append-terse --minimal"),
        same("--name=a --filename=data --size=64k --thread --rw=read --name=b"),
        same("--name=a --filename=data --size=64k --size=4k --numjobs=10 --group_reporting"),
        same("--name=a --filename=data --size=64k --rw=read --name=b --stonewall"),
        same("").differs(&["normal"], "the help is in words of our own"),
        same("--version"),
        same("-v"),
        same("nosuch.fio"),
        same("--nosuch"),
        same("--name"),
        same("--name="),
        same("--size=4k").differs(&["normal"], "the help is in words of our own"),
        same("--rw=read --name=a --size=4k"),
        same("--crctest=nosuch"),
        same("--enghelp=nosuch"),
        same("--cmdhelp=nosuch").differs(&["normal"], "fio prints an empty line"),
        same("--output=missing/out --name=a --size=4k"),
        same("--output=. --name=a --size=4k"),
        same("--parse-only nosuch.fio"),
        same("--profile=nosuch"),
        same("--inflate-log=nosuch"),
        same("--remote-config=x"),
        same("--trigger-file=").differs(&["normal"], "the help is in words of our own"),
        same("--name=a --size=4k --trigger-timeout=x"),
        same("--max-jobs=x").differs(&["normal"], "the help is in words of our own"),
    ],
};

#[test]
fn command_lines() {
    super::super::check(&COMMAND_LINES);
}
