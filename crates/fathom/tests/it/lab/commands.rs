//! Commands for NVMe namespaces and SCSI disks (`io_uring_cmd`), and protection information.

use super::{content, device, expect_sizes_of_fio, run, tool, traced, with};
use crate::support::program::{self, Launch};
use crate::support::{MIB, json, scratch};
use std::path::Path;

/// An NVMe command in the kernel's trace: the words `nvme_cmd_write` and `slba=0`, each with its value.
type Traced = Vec<(String, u64)>;

/// A run's commands to its namespace, without those that inspect a device.
fn commands_of(device: &str, words: &str) -> Vec<(String, Traced)> {
    let disk = device.replace("/dev/ng", "nvme");
    // Structures of a disk that are not cached, such as partitions, are read when it is opened: now rather than
    // by the run.
    let mut first = [0; 4096];
    std::fs::File::open(format!("/dev/{disk}"))
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut first))
        .expect("a disk can be read");
    let text = traced("nvme/nvme_setup_cmd", || run(device, words).expect_clean());
    // Queue 0 is the admin queue, which the kernel uses at any time. A path to the disk has the number of its
    // controller in its name: nvme0c1n1.
    let is_of_jobs = |line: &&str| {
        let named = line.split_once("disk=").and_then(|(_, rest)| rest.split(',').next());
        let is_own = named.is_none_or(|name| match name.split_once('c') {
            Some((start, end)) => disk
                .strip_prefix(start)
                .is_some_and(|rest| end.trim_start_matches(|c: char| c.is_ascii_digit()) == rest),
            None => name == disk,
        });
        is_own && !line.contains("qid=0,")
    };
    let commands = text
        .lines()
        .filter(is_of_jobs)
        .filter_map(|line| Some(line.split_once("cmd=(")?.1.trim_end_matches(')').to_owned()));
    let parsed = commands.map(|command| {
        let (name, rest) = command.split_once(' ').unwrap_or((&command, ""));
        let field = |field: &str| {
            let (key, value) = field.split_once('=')?;
            let digits = value.trim_start_matches("0x");
            let radix = if digits == value { 10 } else { 16 };
            Some((key.to_owned(), u64::from_str_radix(digits, radix).ok()?))
        };
        (name.to_owned(), rest.split(", ").filter_map(field).collect())
    });
    // Before a run writes to a device it reads the first block: it may belong to a volume group.
    let is_look = |(name, command): &(String, Traced)| {
        let begins_at_0 = || value(command, "slba") == 0 && value(command, "ctrl") == 0;
        words.contains("--rw=write") && name == "nvme_cmd_read" && begins_at_0()
    };
    parsed.filter(|(name, _)| !name.contains("identify")).skip_while(is_look).collect()
}

fn value(command: &Traced, key: &str) -> u64 {
    command.iter().find(|(of, _)| of == key).unwrap_or_else(|| panic!("no {key} in {command:?}")).1
}

/// Occurrences of a command, with one of its values each.
fn values(commands: &[(String, Traced)], name: &str, key: &str) -> Vec<u64> {
    commands.iter().filter(|(of, _)| of == name).map(|(_, command)| value(command, key)).collect()
}

const NVME: &str = "--ioengine=io_uring_cmd --bs=4k";

#[test]
fn what_is_written_is_read_and_verified() {
    for name in ["nvme_ng", "fdp_ng"] {
        let device = require!(device(name));
        for more in [
            "--rw=write",
            "--rw=write --iodepth=16 --nonvectored=0",
            "--rw=write --iodepth=16 --nonvectored=1 --fixedbufs --registerfiles",
            "--rw=randwrite --iodepth=8 --thread --force_async=4",
            "--rw=randrw --bs=64k --iodepth=4 --sqthread_poll",
            "--rw=randrw --numjobs=2 --offset_increment=1m",
            "--rw=write --fsync=8 --end_fsync=1",
            "--rw=trimwrite",
            "--rw=randtrimwrite --iodepth=4",
            "--rw=write --verify_mode=compare",
            "--rw=randwrite --iodepth=8 --verify_mode=compare --fixedbufs",
            "--rw=write --readfua=1 --writefua=1",
        ] {
            run(&device, &format!("{NVME} --size=1m --verify=crc32c {more}")).expect_clean();
        }
    }
    let device = require!(device("nvme_ng"));
    run(&device, "--ioengine=io_uring_cmd --bs=512 --size=64k --rw=write --verify=md5 --iodepth=4")
        .expect_clean();
    run(&device, &format!("{NVME} --size=1m --rw=randread --iodepth=4 --hipri")).expect_clean();
}

#[test]
fn commands_reach_what_was_asked_for_and_nothing_else() {
    let (generic, block) = (require!(device("nvme_ng")), require!(device("nvme")));
    run(&generic, &format!("{NVME} --rw=write --size=3m --buffer_pattern=0x11")).expect_clean();
    run(&generic, &format!("{NVME} --rw=write --offset=1m --size=1m --iodepth=8 --buffer_pattern=0x22"))
        .expect_clean();
    let found = content(&block, 3 * MIB);
    let (mib, is) = (MIB as usize, |part: &[u8], byte: u8| part.iter().all(|found| *found == byte));
    assert!(is(&found[..mib], 0x11) && is(&found[mib..2 * mib], 0x22) && is(&found[2 * mib..], 0x11));
    for more in
        ["", "--num_range=8", "--num_range=8 --iodepth=4", "--num_range=256", "--num_range=3 --number_ios=86"]
    {
        run(&generic, &format!("{NVME} --rw=write --size=3m --buffer_pattern=0x11")).expect_clean();
        run(&generic, &format!("{NVME} --rw=randtrim --offset=1m --size=1m {more}")).expect_clean();
        let found = content(&block, 3 * MIB);
        assert!(
            is(&found[..mib], 0x11) && is(&found[mib..2 * mib], 0) && is(&found[2 * mib..], 0x11),
            "{more}"
        );
    }
    // The rest beyond io_size is unchanged.
    run(&generic, &format!("{NVME} --rw=write --size=1m --buffer_pattern=0x11")).expect_clean();
    run(&generic, &format!("{NVME} --rw=trim --size=1m --io_size=20k --num_range=8")).expect_clean();
    let found = content(&block, MIB);
    assert!(is(&found[..20 << 10], 0) && is(&found[20 << 10..], 0x11));
}

#[test]
fn several_ranges_are_one_command_as_with_fio() {
    let device = require!(device("nvme_ng"));
    let reference = require!(program::reference());
    for more in [
        "--rw=trim --num_range=8",
        "--rw=randtrim --num_range=256",
        "--rw=trim --num_range=7 --iodepth=4",
        "--rw=trim --num_range=1",
    ] {
        let counts = [program::path(), reference.clone()].map(|program| {
            let directory = scratch();
            let launch = Launch::of(&program, directory.path());
            let finished = with(launch, &device, &format!("{NVME} --size=1m {more} --output-format=json"))
                .expect_clean();
            let document = json::document(&finished.stdout);
            let job = json::job(&document, "job");
            ["trim/total_ios", "trim/io_bytes", "write/io_bytes"].map(|path| json::integer(job, path))
        });
        assert_eq!(counts[0], counts[1], "{more}");
    }
    let trims = commands_of(&device, &format!("{NVME} --rw=trim --size=1m --num_range=8"));
    assert_eq!(values(&trims, "nvme_cmd_dsm", "nr"), [7; 32]);
}

#[test]
fn each_option_is_in_the_commands() {
    let device = require!(device("nvme_ng"));
    for (words, name, control) in [
        ("--rw=read", "nvme_cmd_read", 0x2000),
        ("--rw=read --pi_act=0", "nvme_cmd_read", 0),
        ("--rw=read --readfua=1 --pi_act=0", "nvme_cmd_read", 0x4000),
        ("--rw=write", "nvme_cmd_write", 0x2000),
        ("--rw=write --writefua=1", "nvme_cmd_write", 0x6000),
        ("--rw=write --write_mode=zeroes --pi_act=0", "nvme_cmd_write_zeroes", 0),
        ("--rw=write --write_mode=zeroes --deac=1 --pi_act=0", "nvme_cmd_write_zeroes", 0x0200),
    ] {
        let sent = commands_of(&device, &format!("{NVME} --size=16k {words}"));
        assert_eq!(values(&sent, name, "ctrl"), [control; 4], "{words}: {sent:?}");
        assert_eq!(values(&sent, name, "slba"), [0, 8, 16, 24], "{words}: {sent:?}");
    }
    let sent = commands_of(&device, &format!("{NVME} --size=16k --rw=write --write_mode=verify --pi_act=0"));
    assert_eq!(sent.len(), 4, "{sent:?}");
    let sent =
        commands_of(&device, &format!("{NVME} --size=256k --rw=write --write_mode=write/50:zeroes/50"));
    let (writes, zeroes) =
        (values(&sent, "nvme_cmd_write", "slba").len(), values(&sent, "nvme_cmd_write_zeroes", "slba").len());
    assert!(writes + zeroes == 64 && writes > 16 && zeroes > 16, "{writes} {zeroes}");
    let sent = commands_of(&device, &format!("{NVME} --size=64k --rw=write --fsync=4 --end_fsync=1"));
    assert_eq!(sent.iter().filter(|(name, _)| name == "nvme_cmd_flush").count(), 4, "{sent:?}");
    let sent = commands_of(
        &device,
        &format!("{NVME} --size=64k --rw=write --verify=pattern --verify_pattern=0x5a --verify_mode=compare"),
    );
    assert!(values(&sent, "nvme_cmd_read", "slba").is_empty(), "{sent:?}");
    assert_eq!(sent.iter().filter(|(name, _)| name == "nvme_cmd_compare").count(), 16, "{sent:?}");
}

/// A zeroed block is verified as well: it must read as zeroes.
#[test]
fn zeroes_are_verified_among_data() {
    let device = require!(device("nvme_ng"));
    for words in [
        "--rw=write --write_mode=zeroes",
        "--rw=randwrite --write_mode=write/50:zeroes/50 --iodepth=8",
        "--rw=write --write_mode=zeroes/30:write/70 --io_size=2m",
        "--rw=write --write_mode=write/50:zeroes/50 --verify_mode=compare",
        "--rw=randwrite --write_mode=write/50:zeroes/50 --verify_backlog=16",
    ] {
        let words = format!("{NVME} --size=1m --verify=crc32c --output-format=json {words}");
        let finished = run(&device, &words);
        assert_eq!(finished.code(), 0, "{words}: {}", finished.stderr);
        let document = json::document(&finished.stdout);
        assert_eq!(document["fathom verify"][0]["checked_reads"].as_u64(), Some(256), "{words}");
    }
    // Another run does not know which blocks they are.
    let finished = run(&device, &format!("{NVME} --rw=write --size=1m --write_mode=write/50:zeroes/50"));
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let finished = run(&device, &format!("{NVME} --rw=read --size=1m --verify=crc32c"));
    assert_eq!(finished.code(), 1, "{}", finished.stdout);
}

#[test]
fn a_device_that_holds_other_data_says_so() {
    let device = require!(device("nvme_ng"));
    for verify in ["--verify=crc32c", "--verify=pattern --verify_pattern=0x5a"] {
        let directory = scratch();
        let job = format!(
            "[global]\nioengine=io_uring_cmd\nfilename={device}\nbs=4k\n[checked]\nrw=write\nsize=64k\nrate_iops=4\n{}\nverify_mode=compare\n\
             [spoils]\nrw=write\nsize=8k\nstartdelay=2\nbuffer_pattern=0x77\n",
            verify.trim_start_matches("--").replace(" --", "\n")
        );
        std::fs::write(directory.path().join("job.fio"), job).expect("written");
        let finished = Launch::fathom(directory.path()).words("job.fio").run();
        assert_eq!(finished.code(), 1, "{}", finished.stdout);
        assert!(
            finished.stderr.contains("Compare Failure: the device holds other data, status 0x285"),
            "{}",
            finished.stderr
        );
        assert!(finished.stderr.contains("read offset=0"), "{}", finished.stderr);
    }
}

#[test]
fn what_a_controller_refuses_is_named() {
    let device = require!(device("nvme_ng"));
    let finished = run(&device, &format!("{NVME} --rw=write --size=16k --write_mode=uncor"));
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("Device-specific error (Invalid Command Opcode"), "{}", finished.stderr);
    assert!(
        finished.stdout.contains("err=16385") || finished.stderr.contains("err=16385"),
        "{}",
        finished.stderr
    );
    let finished = run(&device, "--ioengine=io_uring_cmd --rw=read --bs=8m --size=16m");
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("per command: use a smaller bs="), "{}", finished.stderr);
    // Commands without data have a limit as well: the block count of a command.
    let finished = run(&device, "--ioengine=io_uring_cmd --rw=write --write_mode=zeroes --bs=64m --size=64m");
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("at most 65536 blocks: use a smaller bs="), "{}", finished.stderr);
    let finished = run(&device, "--ioengine=io_uring_cmd --rw=read --bs=1000 --size=10000");
    assert_eq!(finished.code(), 1);
    assert!(
        finished.stderr.contains("block size must be a multiple of LBA data size"),
        "{}",
        finished.stderr
    );
}

#[test]
fn only_generic_devices_are_targets() {
    let (block, generic) = (require!(device("nvme")), require!(device("nvme_ng")));
    let directory = scratch();
    let file = crate::support::file_of(directory.path(), "f", MIB);
    let line = "ioengine io_uring_cmd only works with nvme ns generic char devices (/dev/ngXnY)";
    for target in [block.as_str(), "/dev/null", "/dev/nothing", file.to_str().expect("a name")] {
        let finished = run(target, &format!("{NVME} --rw=write --size=16k"));
        assert_eq!(finished.code(), 1, "{target}");
        assert!(finished.stderr.contains(line), "{target}: {}", finished.stderr);
    }
    let finished = run(&block, &format!("{NVME} --rw=read --size=16k"));
    assert!(finished.stderr.contains(&generic), "{}", finished.stderr);
    let directory = scratch();
    tool("mkfs.ext4", &format!("-q -F {block}"));
    tool("mount", &format!("{block} {}", directory.path().display()));
    let finished = run(&generic, &format!("{NVME} --rw=write --size=1m"));
    tool("umount", &directory.path().display().to_string());
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("is in use"), "{}", finished.stderr);
    tool("e2fsck", &format!("-fn {block}"));
    tool("wipefs", &format!("-aq {block}"));
}

#[test]
fn sizes_are_those_of_fio() {
    let sizes = ["--size=1m", "--size=50% --bs=1m --bs=512k", "--size=1m --offset=255m", "--bs=512k"];
    require!(expect_sizes_of_fio(&require!(device("nvme_ng")), NVME, &sizes));
}

#[test]
fn writes_are_placed_where_they_should_be() {
    let device = require!(device("fdp_ng"));
    let directory = scratch();
    let scheme = directory.path().join("scheme");
    std::fs::write(&scheme, "0,16384,2\n16384,32768,0\n").expect("written");
    let scheme = format!("--plid_select=scheme --dp_scheme={}", scheme.display());
    for (words, control, placed) in [
        ("--fdp=1", 0x20, vec![0, 1, 2, 3, 0, 1, 2, 3]),
        ("--dataplacement=fdp --plids=3,1", 0x20, vec![1, 3, 1, 3, 1, 3, 1, 3]),
        ("--dataplacement=fdp --plids=0-2", 0x20, vec![0, 1, 2, 0, 1, 2, 0, 1]),
        ("--dataplacement=streams --plids=7,5", 0x10, vec![5, 7, 5, 7, 5, 7, 5, 7]),
        (&format!("--fdp=1 {scheme}"), 0x20, vec![2, 2, 2, 2, 0, 0, 0, 0]),
        (&format!("--fdp=1 --plids=1,3,2 {scheme}"), 0x20, vec![3, 3, 3, 3, 1, 1, 1, 1]),
    ] {
        let sent = commands_of(&device, &format!("{NVME} --rw=write --size=32k --pi_act=0 {words}"));
        let handles: Vec<u64> =
            values(&sent, "nvme_cmd_write", "dsmgmt").iter().map(|word| word >> 16).collect();
        assert_eq!(handles, placed, "{words}: {sent:?}");
        assert_eq!(values(&sent, "nvme_cmd_write", "ctrl"), [control; 8], "{words}: {sent:?}");
    }
    let sent = commands_of(&device, &format!("{NVME} --rw=write --size=256k --fdp=1 --plid_select=random"));
    let mut handles: Vec<u64> =
        values(&sent, "nvme_cmd_write", "dsmgmt").iter().map(|word| word >> 16).collect();
    handles.sort_unstable();
    handles.dedup();
    assert_eq!(handles, [0, 1, 2, 3]);
    let sent = commands_of(&device, &format!("{NVME} --rw=read --size=32k --fdp=1"));
    assert_eq!(values(&sent, "nvme_cmd_read", "dsmgmt"), [0; 8]);
    let finished = run(&device, &format!("{NVME} --rw=write --size=16k --fdp=1 --plids=9"));
    assert!(
        finished.code() == 1 && finished.stderr.contains("PID index 9 must be smaller than 4"),
        "{}",
        finished.stderr
    );
    let plain = require!(super::device("nvme_ng"));
    let finished = run(&plain, &format!("{NVME} --rw=write --size=16k --fdp=1"));
    assert!(
        finished.code() == 1 && finished.stderr.contains("does not report where data can be placed"),
        "{}",
        finished.stderr
    );
}

/// Namespaces with metadata, the blocks that jobs use there, and their requirements.
const PROTECTED: [(&str, &str, &str); 4] = [
    ("pi_ng", "--bs=4k", "--md_per_io_size=64"),
    ("pi64_ng", "--bs=16k", "--md_per_io_size=64"),
    ("md_ng", "--bs=4k", "--md_per_io_size=128"),
    ("md_ext_ng", "--bs=4608", ""),
];

#[test]
fn metadata_goes_with_the_data() {
    for (name, size, metadata) in PROTECTED {
        let device = require!(device(name));
        for more in [
            "--rw=write",
            "--rw=randwrite --iodepth=8",
            "--rw=write --pi_act=0",
            "--rw=write --nonvectored=0",
        ] {
            let words = format!(
                "--ioengine=io_uring_cmd {size} --number_ios=32 {metadata} --verify=crc32c --size=2m {more}"
            );
            run(&device, &words).expect_clean();
        }
        if !metadata.is_empty() {
            let finished =
                run(&device, &format!("--ioengine=io_uring_cmd {size} --size=1m --rw=read --pi_act=0"));
            assert!(
                finished.code() == 1 && finished.stderr.contains("md_per_io_size should be at least"),
                "{name}: {}",
                finished.stderr
            );
        }
    }
    let extended = require!(device("pi_ext_ng"));
    run(&extended, "--ioengine=io_uring_cmd --bs=4k --size=1m --rw=write --verify=crc32c").expect_clean();
    run(&extended, "--ioengine=io_uring_cmd --bs=4160 --number_ios=32 --size=1m --rw=write --pi_act=0 --pi_chk=GUARD,REFTAG,APPTAG").expect_clean();
    run(&extended, "--ioengine=io_uring_cmd --bs=4160 --number_ios=32 --size=1m --rw=read --pi_act=0 --pi_chk=GUARD,REFTAG,APPTAG").expect_clean();
    for (words, said) in [
        ("--bs=4k --pi_act=0", "Did you mean to use a block size of 4160?"),
        ("--bs=4160 --pi_act=0 --verify=crc32c", "verify cannot be used when E2E data protection is enabled"),
    ] {
        let finished = run(&extended, &format!("--ioengine=io_uring_cmd --size=1m --rw=write {words}"));
        assert!(finished.code() == 1 && finished.stderr.contains(said), "{words}: {}", finished.stderr);
    }
}

/// Data protected by one program is valid for the other one and for the device.
#[test]
fn protection_information_is_that_of_fio() {
    let reference = require!(program::reference());
    let all = "--pi_chk=GUARD,REFTAG,APPTAG --apptag=0x77";
    for (name, size, metadata) in [
        ("pi_ng", "--bs=4k", "--md_per_io_size=64"),
        ("pi64_ng", "--bs=16k", "--md_per_io_size=64"),
        ("pi_ext_ng", "--bs=4160", ""),
    ] {
        let device = require!(device(name));
        let job = |program: &Path, words: &str| {
            let words =
                format!("--ioengine=io_uring_cmd {size} {metadata} --size=1m --number_ios=64 {words}");
            let directory = scratch();
            with(Launch::of(program, directory.path()), &device, &words)
        };
        let own = program::path();
        for (writer, reader) in [(&own, &own), (&own, &reference), (&reference, &own)] {
            job(writer, &format!("--rw=write --pi_act=0 {all}")).expect_clean();
            job(reader, &format!("--rw=read --pi_act=0 {all}")).expect_clean();
            let other = job(reader, "--rw=read --pi_act=0 --pi_chk=APPTAG --apptag=0x78");
            assert_ne!(other.code(), 0, "{name}");
            job(reader, "--rw=read --pi_act=0 --pi_chk=APPTAG --apptag=0x78 --apptag_mask=0xfff0")
                .expect_clean();
        }
        let finished = job(&own, "--rw=read --pi_act=0 --pi_chk=APPTAG --apptag=0x78");
        assert!(
            finished.stderr.contains("Application Tag Check Error, status 0x283"),
            "{name}: {}",
            finished.stderr
        );
        // Without its guard, a block is invalid.
        job(&own, "--rw=write --pi_act=0 --pi_chk=REFTAG").expect_clean();
        let finished = job(&own, "--rw=read --pi_act=0 --pi_chk=GUARD");
        assert!(
            finished.code() == 1 && finished.stderr.contains("Guard Check Error, status 0x282"),
            "{name}: {}",
            finished.stderr
        );
    }
}

/// The same on block devices, with the kernel's own requests.
#[test]
fn protection_information_goes_with_requests_of_the_kernel() {
    for (name, size, fields) in
        [("pi", "--bs=4k", "GUARD,REFTAG,APPTAG"), ("pi64", "--bs=16k", "GUARD,REFTAG,APPTAG")]
    {
        let device = require!(device(name));
        let job = |words: &str| {
            run(
                &device,
                &format!("--ioengine=io_uring --direct=1 {size} --size=1m --md_per_io_size=64 {words}"),
            )
        };
        let all = format!("--pi_act=0 --pi_chk={fields} --apptag=0x77");
        for more in [
            "--rw=write",
            "--rw=randwrite --iodepth=8",
            "--rw=write --fixedbufs --registerfiles",
            "--rw=write --nonvectored=0 --thread",
        ] {
            job(&format!("{more} --verify=crc32c {all}")).expect_clean();
        }
        job(&format!("--rw=read {all}")).expect_clean();
        job("--rw=read --pi_act=1").expect_clean();
        let finished = job("--rw=read --pi_act=0 --pi_chk=APPTAG --apptag=0x78");
        assert_eq!(finished.code(), 1, "{name}: {}", finished.stdout);
        // Data written through the generic device is valid for the block device.
        let generic = require!(super::device(&format!("{name}_ng")));
        run(
            &generic,
            &format!("--ioengine=io_uring_cmd {size} --size=1m --md_per_io_size=64 --rw=write {all}"),
        )
        .expect_clean();
        job(&format!("--rw=read {all}")).expect_clean();
        let finished = job("--rw=write --pi_act=0 --bs=1m");
        assert!(
            finished.code() == 1 && finished.stderr.contains("md_per_io_size should be at least"),
            "{name}: {}",
            finished.stderr
        );
    }
    let plain = require!(device("nvme"));
    let finished =
        run(&plain, "--ioengine=io_uring --direct=1 --rw=read --size=1m --md_per_io_size=64 --pi_act=0");
    assert!(
        finished.code() == 1 && finished.stderr.contains("Protection information not supported"),
        "{}",
        finished.stderr
    );
}

#[test]
fn zones_are_kept_to() {
    let (generic, block) = (require!(device("zns_ng")), require!(device("zns")));
    let report = |words: &str| {
        let finished = run(
            &generic,
            &format!("--ioengine=io_uring_cmd --bs=64k --zonemode=zbd {words} --output-format=json,normal"),
        )
        .expect_clean();
        let document = json::document(&finished.stdout);
        let job = json::job(&document, "job");
        let bytes = ["read/io_bytes", "write/io_bytes", "trim/io_bytes"].map(|path| json::integer(job, path));
        let resets = super::zones::resets_in(&finished.stdout);
        (bytes, resets)
    };
    const KIB: u64 = 1 << 10;
    for mode in ["write", "zone_append"] {
        for more in ["", "--iodepth=4", "--iodepth=4 --thread --registerfiles"] {
            tool("blkzone", &format!("reset {block}"));
            let words = format!("--write_mode={mode} {more}");
            // Fills each zone to its capacity; then each is reset first.
            assert_eq!(report(&format!("--rw=write --size=8m {words}")), ([0, 6144 * KIB, 0], 0), "{words}");
            assert_eq!(report(&format!("--rw=write --size=8m {words}")), ([0, 6144 * KIB, 0], 2), "{words}");
            assert_eq!(report("--rw=read --size=16m"), ([6144 * KIB, 0, 0], 0), "{words}");
            report(&format!("--rw=write --size=16m --verify=crc32c {words}"));
            report(&format!("--rw=randwrite --size=16m --verify=crc32c {words}"));
            report(&format!("--rw=randwrite --size=16m --io_size=8m --max_open_zones=2 {words}"));
            assert_eq!(report("--rw=trim --bs=4m --size=16m").0, [0, 0, 16 << 20], "{words}");
            assert_eq!(report("--rw=read --size=16m"), ([0; 3], 0), "{words}");
        }
    }
    let finished = run(
        &generic,
        "--ioengine=io_uring_cmd --bs=256k --rw=write --size=8m --zonemode=zbd --write_mode=zone_append",
    );
    assert!(
        finished.code() == 1 && finished.stderr.contains("Invalid Field in Command, status 0x2"),
        "{}",
        finished.stderr
    );
    let finished = run(&generic, "--ioengine=io_uring_cmd --bs=64k --rw=randwrite --size=16m");
    assert!(finished.code() == 1 && finished.stderr.contains("Zone"), "{}", finished.stderr);
}

const SCSI: &str = "--ioengine=io_uring_cmd --cmd_type=bsg --bs=4k";

/// The device of a disk as a file name of a job.
fn bsg(name: &str) -> Result<String, String> {
    device(name).map(|device| device.replace(':', "\\:"))
}

#[test]
fn disks_take_commands_too() {
    for name in ["virtio_scsi_bsg", "scsi_bsg"] {
        let device = require!(bsg(name));
        for more in [
            "--rw=write --iodepth=8",
            "--rw=randwrite --bs=512 --thread --iodepth=4",
            "--rw=write --fixedbufs --registerfiles --iodepth=4",
            "--rw=randrw --bs=64k --fsync=4",
            "--rw=write --cdb_len=16",
            "--rw=trimwrite",
        ] {
            run(&device, &format!("{SCSI} --size=1m --verify=crc32c {more}")).expect_clean();
        }
        let finished = run(&device, &format!("{SCSI} --rw=read --bs=1000 --size=10000"));
        assert!(finished.code() == 1 && finished.stderr.contains("whole blocks"), "{}", finished.stderr);
    }
    // This device compares.
    let device = require!(bsg("scsi_bsg"));
    run(&device, &format!("{SCSI} --size=256k --rw=write --verify=crc32c --verify_mode=compare"))
        .expect_clean();
}

/// Multi-range trims affect exactly their ranges: fio's extend beyond the job's region.
#[test]
fn several_ranges_of_a_disk_are_those_asked_for() {
    let (bsg, block) = (require!(bsg("scsi_bsg")), require!(device("scsi")));
    for more in ["", "--num_range=4", "--num_range=4 --iodepth=4"] {
        run(&bsg, &format!("{SCSI} --rw=write --size=3m --buffer_pattern=0x11")).expect_clean();
        run(&bsg, &format!("{SCSI} --rw=randtrim --offset=1m --size=1m {more}")).expect_clean();
        let (found, mib) = (content(&block, 3 * MIB), MIB as usize);
        let is = |part: &[u8], byte: u8| part.iter().all(|found| *found == byte);
        assert!(
            is(&found[..mib], 0x11) && is(&found[mib..2 * mib], 0) && is(&found[2 * mib..], 0x11),
            "{more}"
        );
    }
}

#[test]
fn each_option_of_disks_is_in_the_commands() {
    let device = require!(bsg("virtio_scsi_bsg"));
    // Other disks have their own commands, and uncached structures of this one are read now.
    let name = device.replace('\\', "");
    let place: Vec<&str> = name.rsplit('/').next().unwrap_or_default().split(':').collect();
    let [host, channel, id, unit] = place[..] else { panic!("{device}") };
    let of_device = format!("host_no={host} channel={channel} id={id} lun={unit} ");
    content(&require!(self::device("virtio_scsi")), 4096);
    for (words, first) in [
        ("--rw=read", "28 00"),
        ("--rw=read --cdb_len=10", "28 00"),
        ("--rw=read --cdb_len=16 --readfua=1", "88 08"),
        ("--rw=write --writefua=1", "2a 08"),
        ("--rw=write --write_mode=verify", "2f 00"),
        ("--rw=trim", "42 00"),
    ] {
        let text = traced("scsi/scsi_dispatch_cmd_start", || {
            run(&device, &format!("{SCSI} --size=16k {words}")).expect_clean()
        });
        let is_sent = |line: &&str| line.contains(&of_device) && line.contains(&format!("raw={first}"));
        assert_eq!(text.lines().filter(is_sent).count(), 4, "{words}: {text}");
    }
    let device = require!(bsg("scsi_bsg"));
    run(&device, &format!("{SCSI} --rw=write --size=16k --buffer_pattern=0x11")).expect_clean();
    let verify = format!("{SCSI} --rw=write --size=16k --write_mode=verify --verify_bytchk=1");
    run(&device, &format!("{verify} --buffer_pattern=0x11")).expect_clean();
    let finished = run(&device, &format!("{verify} --buffer_pattern=0x12"));
    assert!(finished.code() == 1 && finished.stderr.contains("miscompare"), "{}", finished.stderr);
    // Not every disk supports 32-byte commands and pre-fetch.
    for words in ["--rw=read --cdb_len=32", "--rw=read --read_mode=prefetch"] {
        let finished = run(&device, &format!("{SCSI} --size=16k {words}"));
        assert!(
            finished.code() == 0 || finished.stderr.contains("illegal request"),
            "{words}: {}",
            finished.stderr
        );
    }
}

#[test]
fn only_bsg_devices_of_free_disks_are_targets() {
    let (bsg, block) = (require!(bsg("virtio_scsi_bsg")), require!(device("virtio_scsi")));
    for target in [block.as_str(), "/dev/null"] {
        let finished = run(target, &format!("{SCSI} --rw=write --size=16k"));
        assert!(
            finished.code() == 1 && finished.stderr.contains("cmd_type=bsg works on bsg devices"),
            "{}",
            finished.stderr
        );
    }
    let directory = scratch();
    tool("mkfs.ext4", &format!("-q -F {block}"));
    tool("mount", &format!("{block} {}", directory.path().display()));
    let finished = run(&bsg, &format!("{SCSI} --rw=write --size=1m"));
    tool("umount", &directory.path().display().to_string());
    assert!(finished.code() == 1 && finished.stderr.contains("is in use"), "{}", finished.stderr);
    tool("e2fsck", &format!("-fn {block}"));
}

#[test]
fn examples_of_fio_run() {
    require!(super::example("uring-cmd-ng", &require!(device("nvme_ng")), "1m")).expect_clean();
    require!(super::example("uring-cmd-zoned", &require!(device("zns_ng")), "16m")).expect_clean();
}
