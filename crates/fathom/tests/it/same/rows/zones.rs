//! Zones of a file.

use super::super::Family;
use super::super::case::same;

const ZONES: Family = Family {
    base: "--name=a --filename=data --size=512k --bs=4k --random_generator=tausworthe --write_iolog=trace",
    rows: &[
        same("--rw=read --zonemode=strided --zonesize=32k --zonerange=64k"),
        same("--rw=write --zonemode=strided --zonesize=32k --zonerange=64k"),
        same("--rw=randread --zonemode=strided --zonesize=64k --zonerange=128k"),
        same("--rw=read --zonemode=strided --zonesize=32k --zoneskip=32k"),
        same("--rw=randread --zonemode=strided --zonesize=64k --zoneskip=64k"),
        same("--rw=randwrite --zonemode=strided --zonesize=16k --zonerange=64k --zoneskip=0"),
        same("--rw=read --zonemode=none --zonesize=64k"),
        same("--rw=read --zonesize=64k --zoneskip=64k"),
        same("--rw=rw --zonemode=strided --zonesize=32k --zoneskip=32k"),
        same("--rw=read --zonemode=strided --zonesize=32k --zoneskip=32k --loops=2"),
        same("--rw=read --zonemode=strided"),
        same("--rw=read --zonemode=strided --zonerange=64k"),
        same("--rw=write --zonemode=zbd --zonesize=64k")
            .differs(&["exit", "stderr", "normal", "terse", "json", "file"], "the file is laid out"),
        same("--rw=read --zonemode=zbd")
            .differs(&["stderr", "terse", "json", "files"], "fio ends without an error in its report"),
        same("--rw=read --zonemode=strided --zonesize=30k --zoneskip=10k --bs=4k"),
        same("--rw=randread --zonemode=strided --zonesize=32k --zoneskip=32k --io_size=256k"),
        same("--rw=write --zonemode=strided --zonesize=64k --zoneskip=64k --offset=64k"),
    ],
};

#[test]
fn zones() {
    super::super::check(&ZONES);
}
