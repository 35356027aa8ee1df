//! Uses found in recorded trees of the kernel's tables. Each test describes its machine line by line.

use super::*;
use std::collections::HashMap;

/// A machine recorded in a directory.
struct Recorded {
    root: tempfile::TempDir,
    /// Identities of device files and other files.
    things: HashMap<PathBuf, Thing>,
    claimed: Vec<PathBuf>,
    /// Backing objects of loop devices whose recorded name does not lead to them.
    backings: HashMap<PathBuf, Thing>,
    mapped: HashMap<u64, Vec<Part>>,
    groups: HashMap<PathBuf, String>,
    inodes: u64,
}

const SECTOR: u64 = 512;

impl Recorded {
    fn new() -> Recorded {
        let root = tempfile::tempdir().expect("a directory");
        for directory in ["proc/self", "sys/block", "sys/dev/block", "sys/fs"] {
            fs::create_dir_all(root.path().join(directory)).expect("made");
        }
        Recorded {
            root,
            things: HashMap::new(),
            claimed: Vec::new(),
            backings: HashMap::new(),
            mapped: HashMap::new(),
            groups: HashMap::new(),
            inodes: 0,
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        std::os::unix::fs::symlink(self.path(target), path).expect("linked");
    }

    /// A disk (`sda`) or one of its partitions (`sda/sda1`), its number, first sector and length in sectors.
    fn device(mut self, name: &str, number: (u32, u32), start: u64, sectors: u64) -> Recorded {
        let directory = format!("sys/devices/virtual/block/{name}");
        let (major, minor) = number;
        self.write(&format!("{directory}/dev"), &format!("{major}:{minor}\n"));
        self.write(&format!("{directory}/size"), &format!("{sectors}\n"));
        if name.contains('/') {
            self.write(&format!("{directory}/partition"), "1\n");
            self.write(&format!("{directory}/start"), &format!("{start}\n"));
        } else {
            self.link(&format!("sys/block/{name}"), &directory);
        }
        self.link(&format!("sys/dev/block/{major}:{minor}"), &directory);
        let own = name.rsplit('/').next().expect("a name");
        self.things.insert(self.path(&format!("dev/{own}")), Thing::Device(libc::makedev(major, minor)));
        self
    }

    fn file(mut self, path: &str) -> Recorded {
        self.inodes += 1;
        self.things.insert(self.path(path), Thing::File(99, self.inodes));
        self
    }

    /// Records that `member` is part of `holder`.
    fn holds(self, holder: &str, member: &str) -> Recorded {
        let own = holder.rsplit('/').next().expect("a name").to_owned();
        self.link(
            &format!("sys/devices/virtual/block/{member}/holders/{own}"),
            &format!("sys/devices/virtual/block/{holder}"),
        );
        self
    }

    fn says(self, path: &str, text: &str) -> Recorded {
        let before = fs::read_to_string(self.path(path)).unwrap_or_default();
        self.write(path, &format!("{before}{text}\n"));
        self
    }

    fn mounts(self, number: &str, directory: &str, kind_and_source: &str) -> Recorded {
        let line = format!("40 22 {number} / {directory} rw,relatime shared:7 - {kind_and_source} rw");
        self.says("proc/self/mountinfo", &line)
    }

    fn swaps(self, path: &str, kind: &str) -> Recorded {
        let head = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";
        self.write(
            "proc/swaps",
            &format!("{head}{path}                               {kind}\t1048572\t0\t-2\n"),
        );
        self
    }

    fn looped(self, name: &str, file: &str, offset: u64) -> Recorded {
        let directory = format!("sys/devices/virtual/block/{name}/loop");
        self.write(&format!("{directory}/backing_file"), &format!("{file}\n"));
        self.write(&format!("{directory}/offset"), &format!("{offset}\n"));
        self
    }

    fn claims(mut self, path: &str) -> Recorded {
        self.claimed.push(self.path(path));
        self
    }

    fn used(&self, path: &str) -> Option<String> {
        let machine = Machine {
            root: self.root.path(),
            identify: &|path| self.things.get(path).copied(),
            is_claimed: &|path| self.claimed.iter().any(|claimed| claimed == path),
            backing: &|path| self.backings.get(path).copied(),
            mapped: &|number| self.mapped.get(&number).cloned().unwrap_or_default(),
            group: &|path| self.groups.get(path).cloned(),
        };
        let tables = Tables::read(&machine);
        Search::of(&machine, &tables, &self.path(path)).map(|used| used.to_string())
    }

    #[track_caller]
    fn expect(&self, path: &str, words: &str) {
        assert_eq!(self.used(path).as_deref(), Some(words), "{path}");
    }

    #[track_caller]
    fn expect_free(&self, path: &str) {
        assert_eq!(self.used(path), None, "{path}");
    }
}

/// A disk with three partitions, and a disk without any.
fn disks() -> Recorded {
    Recorded::new()
        .device("sda", (8, 0), 0, 10_000)
        .device("sda/sda1", (8, 1), 100, 1_000)
        .device("sda/sda2", (8, 2), 1_100, 1_000)
        .device("sda/sda3", (8, 3), 2_100, 1_000)
        .device("sdb", (8, 16), 0, 10_000)
        .mounts("0:21", "/proc", "proc proc")
}

#[test]
fn an_idle_disk_is_free() {
    for path in ["/dev/sda", "/dev/sda1", "/dev/sdb", "/dev/sdz"] {
        disks().expect_free(path);
    }
}

#[test]
fn a_mount_protects_its_device_and_the_disk_around_it() {
    let machine =
        disks().mounts("8:1", "/my\\040home", "ext4 /dev/sda1").claims("/dev/sda1").claims("/dev/sda");
    machine.expect("/dev/sda1", "it is mounted at /my home (ext4)");
    machine.expect("/dev/sda", "partition sda1 of it is mounted at /my home (ext4)");
    machine.expect_free("/dev/sda2");
    let machine = disks().mounts("8:0", "/whole", "ext4 /dev/sda");
    machine.expect("/dev/sda2", "disk sda around it is mounted at /whole (ext4)");
}

#[test]
fn file_systems_over_several_devices_protect_all_of_them() {
    let pool = "sys/fs/btrfs/5b7a/devices";
    let machine = disks().mounts("0:33", "/pool", "btrfs /dev/sda1");
    machine.link(&format!("{pool}/sda1"), "sys/devices/virtual/block/sda/sda1");
    machine.link(&format!("{pool}/sdb"), "sys/devices/virtual/block/sdb");
    machine.expect("/dev/sda1", "it is mounted at /pool (btrfs)");
    machine.expect("/dev/sdb", "it is one of the devices of the file system mounted at /pool (btrfs)");
    machine.expect("/dev/sda", "partition sda1 of it is mounted at /pool (btrfs)");
    machine.expect_free("/dev/sda2");
    // The device is mounted in a namespace that this process cannot see.
    let machine = disks();
    machine.link(&format!("{pool}/sdb"), "sys/devices/virtual/block/sdb");
    machine.expect("/dev/sdb", "it is one of the devices of a mounted btrfs");
    let machine = disks().mounts("0:34", "/several", "bcachefs /dev/sda2:/dev/sdb");
    machine.expect("/dev/sdb", "it is one of the devices of the file system mounted at /several (bcachefs)");
    let line = "40 22 8:1 / /logged rw - xfs /dev/sda1 rw,attr2,logdev=/dev/sda3,noquota";
    let machine = disks().says("proc/self/mountinfo", line);
    machine.expect("/dev/sda3", "it is one of the devices of the file system mounted at /logged (xfs)");
}

#[test]
fn swap_is_protected_as_a_device_and_as_a_file() {
    let machine = disks().swaps("/dev/sda3", "partition");
    machine.expect("/dev/sda3", "it is active swap");
    machine.expect("/dev/sda", "partition sda3 of it is active swap");
    let machine = disks().file("/swap\\file").file("/other").swaps("/swap\\134file", "file");
    machine.expect("/swap\\file", "it is active swap");
    machine.expect_free("/other");
}

#[test]
fn members_of_other_devices_are_protected() {
    let machine = disks()
        .device("md0", (9, 0), 0, 900)
        .says("sys/devices/virtual/block/md0/md/level", "raid1")
        .holds("md0", "sda/sda1")
        .mounts("9:0", "/raid", "ext4 /dev/md0");
    machine.expect("/dev/sda1", "it belongs to md0 (raid1), which is mounted at /raid (ext4)");
    machine
        .expect("/dev/sda", "partition sda1 of it belongs to md0 (raid1), which is mounted at /raid (ext4)");
    machine.expect("/dev/md0", "it is mounted at /raid (ext4)");
    for (uuid, kind) in
        [("LVM-Qq", "logical volume"), ("CRYPT-LUKS2-1", "encrypted device"), ("", "mapped device")]
    {
        let machine = disks()
            .device("dm-0", (253, 0), 0, 900)
            .says("sys/devices/virtual/block/dm-0/dm/name", "vg-root")
            .says("sys/devices/virtual/block/dm-0/dm/uuid", uuid)
            .holds("dm-0", "sdb");
        machine.expect("/dev/sdb", &format!("it belongs to dm-0 ({kind} vg-root)"));
        machine.expect_free("/dev/dm-0");
    }
    let machine = disks().device("bcache0", (252, 0), 0, 900).holds("bcache0", "sdb");
    machine.expect("/dev/sdb", "it belongs to bcache0");
}

/// Two volumes on one disk: using one leaves the other free.
#[test]
fn volumes_beside_a_mounted_one_are_free() {
    let machine = disks()
        .device("dm-0", (253, 0), 0, 900)
        .device("dm-1", (253, 1), 0, 900)
        .holds("dm-0", "sdb")
        .holds("dm-1", "sdb")
        .mounts("253:0", "/", "ext4 /dev/dm-0");
    machine.expect_free("/dev/dm-1");
}

#[test]
fn loop_devices_lead_up_and_down() {
    let machine = disks()
        .file("/images/a")
        .file("/images/b")
        .device("loop0", (7, 0), 0, 1_000)
        .looped("loop0", "/images/a", 0)
        .device("loop1", (7, 1), 0, 1_000)
        .looped("loop1", "/dev/loop0", 0)
        .device("loop2", (7, 2), 0, 1_000)
        .looped("loop2", "/images/a", 0)
        .device("loop3", (7, 3), 0, 1_000)
        .looped("loop3", "/images/b", 0)
        .device("loop4", (7, 4), 0, 1_000)
        .looped("loop4", "/dev/sdb", 0)
        .mounts("7:1", "/m", "ext4 /dev/loop1")
        .mounts("8:16", "/sdb", "ext4 /dev/sdb");
    machine.expect("/dev/loop1", "it is mounted at /m (ext4)");
    machine.expect("/dev/loop0", "loop device loop1 on it is mounted at /m (ext4)");
    machine.expect("/images/a", "loop device loop1 on that, loop device loop0 on it is mounted at /m (ext4)");
    machine.expect(
        "/dev/loop2",
        "loop device loop1 on that, loop device loop0 on that, /images/a behind it is mounted at /m (ext4)",
    );
    machine.expect("/dev/loop4", "/dev/sdb behind it is mounted at /sdb (ext4)");
    for free in ["/images/b", "/dev/loop3"] {
        machine.expect_free(free);
    }
}

/// Two loop devices show two different parts of one image.
#[test]
fn parts_that_do_not_overlap_do_not_count() {
    let machine = disks()
        .file("/image")
        .device("loop0", (7, 0), 0, 1_000)
        .looped("loop0", "/image", 0)
        .device("loop1", (7, 1), 0, 1_000)
        .looped("loop1", "/image", 1_000 * SECTOR)
        .device("loop2", (7, 2), 0, 1_000)
        .looped("loop2", "/image", 500 * SECTOR)
        .mounts("7:0", "/first", "ext4 /dev/loop0");
    machine.expect_free("/dev/loop1");
    assert!(machine.used("/dev/loop2").is_some());
    assert!(machine.used("/image").is_some());
    // The same with a disk: only the third partition is below the loop device.
    let machine = disks()
        .device("loop0", (7, 0), 0, 1_000)
        .looped("loop0", "/dev/sda", 2_100 * SECTOR)
        .mounts("8:1", "/one", "ext4 /dev/sda1")
        .claims("/dev/sda");
    machine.expect_free("/dev/loop0");
    let machine = machine.mounts("8:3", "/three", "ext4 /dev/sda3");
    machine.expect("/dev/loop0", "partition sda3 of that, /dev/sda behind it is mounted at /three (ext4)");
}

#[test]
fn a_claim_protects_what_no_table_knows() {
    let machine = disks().claims("/dev/sdb");
    machine.expect("/dev/sdb", "it is claimed by the kernel or a program (open with O_EXCL)");
    // A claim on the whole disk may stem from another partition.
    let machine = disks().claims("/dev/sda").claims("/dev/sda2");
    machine.expect_free("/dev/sda1");
    assert!(machine.used("/dev/sda").is_some());
}

/// A mount made after the tables were read first appears as a claim.
#[test]
fn a_claim_is_explained_by_tables_that_are_newer() {
    let recorded = disks();
    let mountinfo = recorded.path("proc/self/mountinfo");
    let is_claimed = |_: &Path| {
        fs::create_dir_all(mountinfo.parent().expect("a directory")).expect("made");
        fs::write(&mountinfo, "40 22 8:16 / /m rw shared:7 - ext4 /dev/sdb rw\n").expect("written");
        true
    };
    let machine = Machine {
        root: recorded.root.path(),
        identify: &|path| recorded.things.get(path).copied(),
        is_claimed: &is_claimed,
        backing: &|_| None,
        mapped: &|_| Vec::new(),
        group: &|_| None,
    };
    let found = Search::of(&machine, &Tables::read(&machine), &recorded.path("/dev/sdb")).expect("a use");
    assert_eq!((found.to_string().as_str(), found.is_mount), ("it is mounted at /m (ext4)", true));
}

/// Without tables that describe devices, as in a container, the kernel still reports which devices are claimed.
#[test]
fn without_tables_a_claim_counts() {
    let mut machine = disks().claims("/dev/sdb");
    fs::remove_dir_all(machine.path("sys")).expect("removed");
    machine.expect("/dev/sdb", "it is claimed by the kernel or a program (open with O_EXCL)");
    machine.expect_free("/dev/sda");
    machine.things.remove(&machine.path("dev/sdb"));
    machine.expect_free("/dev/sdb");
}

/// The backing file of a loop device is identified by its inode, both under another name and when its old name
/// belongs to another file.
#[test]
fn loop_devices_know_their_file_whatever_its_name() {
    let mut machine = disks()
        .file("/image")
        .file("/hidden")
        .device("loop0", (7, 0), 0, 1_000)
        .looped("loop0", "/image", 0)
        .mounts("7:0", "/m", "ext4 /dev/loop0");
    let real = machine.things[&machine.path("/hidden")];
    machine.things.insert(machine.path("/other-name"), real);
    machine.backings.insert(machine.path("/dev/loop0"), real);
    machine.expect("/other-name", "loop device loop0 on it is mounted at /m (ext4)");
    machine.expect_free("/image");
}

#[test]
fn a_file_of_an_overlay_is_the_one_in_its_upper_directory() {
    let line = "40 22 0:50 / /merged rw - overlay overlay rw,lowerdir=/low,upperdir=/up,workdir=/work";
    let overlay = || {
        let machine = disks().says("proc/self/mountinfo", line);
        // The file must exist, because canonical paths are resolved.
        machine.write("merged/image", "");
        machine.write("up/image", "");
        machine.file("/merged/image").file("/up/image").device("loop0", (7, 0), 0, 1_000).mounts(
            "7:0",
            "/m",
            "ext4 /dev/loop0",
        )
    };
    let words = "loop device loop0 on it is mounted at /m (ext4)";
    for looped in ["/merged/image", "/up/image"] {
        let machine = overlay().looped("loop0", looped, 0);
        machine.expect("/merged/image", words);
        machine.expect("/up/image", words);
    }
}

/// Two mapped devices over the same blocks, and one over adjacent blocks.
#[test]
fn volumes_over_the_same_blocks_are_one() {
    let mut machine = disks();
    for number in 0..3 {
        let name = format!("dm-{number}");
        machine = machine.device(&name, (253, number), 0, 900).holds(&name, "sdb");
        machine = machine.says(&format!("sys/devices/virtual/block/{name}/dm/name"), &name);
        let at = [0, 500, 2_000][number as usize] * SECTOR;
        let part = Part { own: 0..900 * SECTOR, below: libc::makedev(8, 16), at, length: 900 * SECTOR };
        machine.mapped.insert(libc::makedev(253, number), vec![part]);
    }
    let machine = machine.mounts("253:0", "/m", "ext4 /dev/dm-0");
    machine.expect("/dev/dm-1", "mapped device dm-0 over the same blocks as it is mounted at /m (ext4)");
    machine.expect_free("/dev/dm-2");
    machine.expect("/dev/dm-0", "it is mounted at /m (ext4)");
}

#[test]
fn attached_flash_memory_is_protected() {
    let mut machine = disks().device("mtdblock0", (31, 0), 0, 900).device("mtdblock1", (31, 1), 0, 900);
    for number in 0..2 {
        let path = machine.path(&format!("dev/mtd{number}"));
        machine.things.insert(path, Thing::Flash(number));
    }
    let machine = machine.says("sys/class/ubi/ubi0/mtd_num", "0").says("sys/class/ubi/ubi0_0/name", "volume");
    for path in ["/dev/mtd0", "/dev/mtdblock0"] {
        machine.expect(path, "it is attached as ubi0 (UBI)");
    }
    machine.expect_free("/dev/mtd1");
    machine.expect_free("/dev/mtdblock1");
    machine.link("sys/class/block/mtdblock1", "sys/devices/virtual/block/mtdblock1");
    machine
        .mounts("31:1", "/flash", "jffs2 /dev/mtdblock1")
        .expect("/dev/mtd1", "it is mounted at /flash (jffs2)");
}

#[test]
fn devices_of_a_group_that_is_not_active_are_protected() {
    let mut machine = disks();
    machine.groups.insert(machine.path("/dev/sda2"), "the volume group data".to_owned());
    machine.expect("/dev/sda2", "it belongs to the volume group data, which is not active");
    machine.expect("/dev/sda", "partition sda2 of it belongs to the volume group data, which is not active");
    machine.expect_free("/dev/sda1");
}
