#!/usr/bin/env bash
# JMH: batches of 1,024 random reads and writes of 4 KiB with the JVM binding and with FileChannel, and the same I/O by fathom's own io_uring engine,
# on one file; single reads, also with jasyncfio; and the cost of a call into native code. As root it uses a separate file system on a loop
# device; DIRECTORY names another place. FS=xfs creates an XFS instead of an ext4 file system; DIRECT=1 bypasses the page cache. The variable JMH contains additional arguments.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh
. scripts/jvm.sh
need_maven

program=${FATHOM:-$target_directory/release/fathom}
[ -x "$program" ] || program=$(command -v fathom) ||
    { echo "there is no fathom: build it with cargo build --release, or set FATHOM to a program" >&2; exit 1; }

scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/fathom-bench-jvm.XXXXXX")
clean_up() {
    [ -z "${file:-}" ] || rm -f "$file"
    # After a process has ended, the kernel tears down its rings in the background, so unmounting may take several attempts.
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        mountpoint -q "$scratch/mount" || break
        umount "$scratch/mount" 2>/dev/null || sleep 1
    done
    if mountpoint -q "$scratch/mount"; then
        echo "$scratch/mount is in use and stays; unmount and remove it" >&2
        return
    fi
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# With DIRECT=0 the page cache serves reads, so the benchmark measures the cost of a call rather than the disk.
direct=${DIRECT:-0}
place=${DIRECTORY:-}
if [ -z "$place" ] && [ "$(id -u)" -eq 0 ]; then
    mkdir "$scratch/mount"
    fallocate -l 1500M "$scratch/image"
    "mkfs.${FS:-ext4}" -q "$scratch/image"
    mount -o loop "$scratch/image" "$scratch/mount"
    losetup --direct-io=on "$(findmnt -no SOURCE "$scratch/mount")" || echo "note: the loop device goes through the page cache"
    place=$scratch/mount
fi
[ -n "$place" ] || place=$scratch
file=$place/fathom-bench-jvm.data

baseline() {
    printf '\n== fathom, io_uring, %s\n' "$1"
    "$program" --name=baseline --filename="$file" --size=1g --rw="$1" --bs=4k --ioengine=io_uring --iodepth=1024 \
        --iodepth_batch_submit=1024 --iodepth_batch_complete_min=1024 --iodepth_batch_complete_max=1024 \
        --direct="$direct" --fixedbufs=1 --registerfiles=1 --norandommap --runtime=10 --time_based --ramp_time=2 --randrepeat=0 \
        --output-format=json --output="$scratch/$1.json"
    awk -v which="${1#rand}" '$0 ~ "^ +\"" which "\" *:" { on = 1 } on && /"iops" *:/ { gsub(/[^0-9.]/, "", $NF); printf "%.0f I/Os a second, %.0f batches of 1024\n", $NF, $NF / 1024; exit }' \
        "$scratch/$1.json"
}

build_natives
(cd bindings/jvm && mvn -B -ntp -q -DskipTests package)
"$program" --name=fill --filename="$file" --size=1g --rw=write --bs=1m --direct=1 --end_fsync=1 --output=/dev/null

baseline randread
# shellcheck disable=SC2086
"${JAVA_HOME:+$JAVA_HOME/bin/}java" -Dfile="$file" -cp "bindings/jvm/bench/target/classes:bindings/jvm/bench/target/lib/*" \
    org.openjdk.jmh.Main -jvmArgsAppend "-Dfile=$file -Ddirect=$([ "$direct" = 0 ] && echo false || echo true)" -prof gc ${JMH:-}
baseline randwrite
