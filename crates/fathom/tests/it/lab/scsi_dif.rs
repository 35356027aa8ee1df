//! A SCSI disk with protection information: the kernel generates and checks it, for every engine.

use super::{device, run};

#[test]
fn what_is_written_is_read_and_verified() {
    let (block, generic) = (require!(device("scsi_dif")), require!(device("scsi_dif_sg")));
    for engine in ["psync", "pvsync2", "libaio --iodepth=8", "io_uring --iodepth=8", "sg"] {
        for more in ["--rw=write --bs=64k", "--rw=randwrite --bs=512", "--rw=randrw --bs=4k --fsync=16"] {
            let words = format!("--ioengine={engine} --direct=1 --size=1m --verify=crc32c {more}");
            run(&block, &words).expect_clean();
        }
    }
    // Data written with the information can be read without checking it.
    run(
        &block,
        "--ioengine=psync --direct=1 --rw=write --bs=64k --size=1m --verify=pattern --verify_pattern=0x3c",
    )
    .expect_clean();
    run(&generic, "--ioengine=sg --rw=read --bs=64k --size=1m --verify=pattern --verify_pattern=0x3c")
        .expect_clean();
}
