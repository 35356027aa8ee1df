#!/usr/bin/env bash
# Records real loads on a scratch device, models each, runs the model under the recorder on another device, and prints how close it
# comes; then replays the recording on the first device, and prints the recorded latencies and those of the replay. Fails if a model
# is less accurate than the target, or if its job file is larger than 5 KB. Needs root, tracefs and loop devices; a load whose program
# is missing is skipped by name.

#
#   test-workloads.sh [--seconds=N] [--directory=DIR] [LOAD...]
#
# Loads: known onoff postgres sqlite rocksdb copy compile. The images of the devices and the traces go to DIR (default: a temporary
# directory).
set -euo pipefail
cd "$(dirname "$0")/.."

target=90
largest=5000
seconds=20
directory=
loads=()
for word in "$@"; do
    case $word in
    --seconds=*) seconds=${word#*=} ;;
    --directory=*) directory=${word#*=} ;;
    -*)
        sed -n '2,11s/^# \{0,1\}//p' "$0" >&2
        exit 1
        ;;
    *) loads+=("$word") ;;
    esac
done
[ ${#loads[@]} -gt 0 ] || loads=(known onoff postgres sqlite rocksdb copy compile)

if [ "$(id -u)" != 0 ] || ! [ -d /sys/kernel/tracing/instances ]; then
    echo "skipped: recording needs root and tracefs"
    exit 0
fi

# FATHOM_PROGRAM is one that is built already.
if [ -z "${FATHOM_PROGRAM:-}" ]; then
    . scripts/rust.sh
    cargo build --release --locked -p fathom-io
    FATHOM_PROGRAM=$target_directory/release/fathom
fi
fathom=$(realpath "$FATHOM_PROGRAM")

made=
[ -n "$directory" ] || made=$(mktemp -d "${TMPDIR:-/tmp}/fathom-workloads.XXXXXX")
directory=$(realpath "${directory:-$made}")
mkdir -p "$directory/mount"
source_device='' scratch_device=''
clean_up() {
    mountpoint -q "$directory/mount" && umount "$directory/mount"
    for device in $source_device $scratch_device; do losetup --detach "$device"; done
    rm -f "$directory/source.img" "$directory/scratch.img"
    [ -z "$made" ] || rm -rf "$made"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
truncate --size=6G "$directory/source.img" "$directory/scratch.img"
# Blocks that are written for the first time are slower than the same ones in a rehearsal.
dd if=/dev/zero of="$directory/source.img" bs=1M count=6144 conv=notrunc oflag=direct status=none
source_device=$(losetup --find --show --direct-io=on "$directory/source.img")
scratch_device=$(losetup --find --show --direct-io=on "$directory/scratch.img")

# A fresh file system on the source device; nothing of it is in the page cache.
fresh() {
    mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$source_device"
    mount "$source_device" "$directory/mount"
    chmod 777 "$directory/mount"
}

# Forgets what was read, so that reads reach the device.
cold() {
    sync
    echo 3 >/proc/sys/vm/drop_caches
}

record() {
    "$fathom" record "$source_device" --output="$directory/$load.trace" --force --names "$@" 2>"$directory/$load.record" >"$directory/$load.output" || {
        cat "$directory/$load.record" "$directory/$load.output" >&2
        return 1
    }
}

# Runs a command, and writes to the device what it left in the page cache.
and_sync='"$@"; sync'

load_known() {
    cat >"$directory/known.fio" <<END
[global]
filename=$source_device
direct=1
ioengine=io_uring
runtime=$seconds
time_based=1
[skewed]
rw=randread
bssplit=4k/60:8k/25:64k/15
random_distribution=zipf:1.2
size=1g
rate_iops=600
rate_process=poisson
iodepth=16
[log]
rw=write
bs=16k
offset=2g
size=256m
rate_iops=150
fsync=4
END
    record -- "$fathom" "$directory/known.fio"
}

load_onoff() {
    cat >"$directory/onoff.fio" <<END
[global]
filename=$source_device
direct=1
ioengine=io_uring
runtime=$seconds
time_based=1
open_loop=1
[bursts]
rw=randrw
rwmixread=70
bs=8k
size=1g
rate_iops=700,300
rate_process=onoff:500ms:1500ms:poisson
iodepth=32
END
    record -- "$fathom" "$directory/onoff.fio"
}

load_postgres() {
    local programs
    programs=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
    [ -n "$programs" ] || return 2
    local data=$directory/mount/data
    install -d -o postgres -m 700 "$data"
    chmod o+x "$directory" "$directory/mount"
    as() { setpriv --reuid=postgres --regid=postgres --clear-groups env -C / PATH="$programs:$PATH" "$@"; }
    as initdb -D "$data" --no-sync >/dev/null
    local options="-c shared_buffers=16MB -c listen_addresses= -c unix_socket_directories=$data -c checkpoint_timeout=30s -c max_wal_size=128MB"
    as pg_ctl -D "$data" -o "$options" -l "$data/log" -w start >/dev/null
    as createdb -h "$data" bench
    as pgbench -h "$data" -q -i -s 20 bench >/dev/null 2>&1
    as psql -h "$data" -c checkpoint bench >/dev/null
    cold
    local ended=0
    record -- setpriv --reuid=postgres --regid=postgres --clear-groups env -C / PATH="$programs:$PATH" \
        pgbench -h "$data" -c 4 -j 2 -T "$seconds" bench || ended=1
    as pg_ctl -D "$data" -m immediate stop >/dev/null
    return $ended
}

load_sqlite() {
    command -v sqlite3 >/dev/null || return 2
    local file=$directory/mount/db
    sqlite3 "$file" "pragma journal_mode=wal; create table t(k integer primary key, v text);" >/dev/null
    sqlite3 "$file" "with recursive n(x) as (values(1) union all select x + 1 from n where x < 200000) insert into t select x, hex(randomblob(100)) from n;"
    cold
    # Commits one by one for the whole time: an update of a row at random.
    record -- bash -c "
        end=\$((SECONDS + $seconds))
        { echo 'pragma synchronous=full;'
          while [ \$SECONDS -lt \$end ]; do
              echo \"update t set v = hex(randomblob(100)) where k = \$((RANDOM * 6 + RANDOM % 6));\"
          done; } | sqlite3 '$file' >/dev/null"
}

load_rocksdb() {
    command -v db_bench >/dev/null || return 2
    local options=(--db="$directory/mount/rocks" --num=400000 --value_size=400 --compression_type=none --cache_size=8388608
        --write_buffer_size=16777216 --target_file_size_base=16777216 --use_direct_reads=true)
    db_bench "${options[@]}" --benchmarks=fillrandom,waitforcompaction >/dev/null 2>&1
    cold
    record -- db_bench "${options[@]}" --use_existing_db=true --benchmarks=readrandomwriterandom --readwritepercent=80 --threads=2 \
        --duration="$seconds" --sync=true
}

load_copy() {
    mkdir "$directory/mount/from"
    # Real files: what Debian has installed.
    cp -r /usr/lib/x86_64-linux-gnu/. "$directory/mount/from/" 2>/dev/null || true
    cold
    record -- bash -c "$and_sync" bash cp -r "$directory/mount/from" "$directory/mount/to"
}

load_compile() {
    command -v cc >/dev/null || return 2
    local place=$directory/mount/source
    mkdir "$place"
    for number in $(seq 150); do
        {
            printf '#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n'
            for function in $(seq 60); do
                printf 'int f_%s_%s(int a) { char b[64]; snprintf(b, sizeof b, "%%d", a); return (int)strlen(b) + a %% %s; }\n' \
                    "$number" "$function" "$function"
            done
        } >"$place/file$number.c"
    done
    printf 'int main(void) { return 0; }\n' >"$place/main.c"
    printf 'OBJECTS := $(patsubst %%.c,%%.o,$(wildcard *.c))\nprogram: $(OBJECTS)\n\tcc -o $@ $^\n%%.o: %%.c\n\tcc -g -O1 -c -o $@ $<\n' >"$place/Makefile"
    cold
    record -- bash -c "$and_sync" bash make -s -j2 -C "$place"
}

failed=0
printf '%-10s %9s %9s %9s  %s\n' load accuracy model events 'worst properties'
for load in "${loads[@]}"; do
    ended=0
    case $load in
    known | onoff) "load_$load" || ended=$? ;;
    *)
        fresh
        "load_$load" || ended=$?
        umount "$directory/mount"
        ;;
    esac
    if [ $ended = 2 ]; then
        printf '%-10s skipped: its program is not installed\n' "$load"
        continue
    elif [ $ended != 0 ]; then
        printf '%-10s could not be recorded\n' "$load"
        failed=1
        continue
    fi
    # Blocks that the last model wrote are not the next one's.
    blkdiscard -f "$scratch_device" 2>/dev/null
    "$fathom" model "$directory/$load.trace" --output="$directory/$load.fio" --force >/dev/null
    "$fathom" model "$directory/$load.trace" --check="$scratch_device" --destroy="$scratch_device" --format=json \
        >"$directory/$load.json" 2>"$directory/$load.check" || {
        cat "$directory/$load.check" >&2
        failed=1
        continue
    }
    python3 - "$directory/$load.json" "$load" $target $largest <<'END' || failed=1
import json, sys
path, load, target, largest = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
found = json.load(open(path))
accuracy = found["accuracy"] * 100
name = lambda row: " ".join(str(row[key]) for key in ("property", "direction", "window_s") if key in row)
worst = sorted(found["properties"], key=lambda row: -row["error"])[:3]
worst = ", ".join(f"{name(row)} {row['error'] * 100:.0f} %" for row in worst)
requests = found["profiles"]["trace"]["requests"]
print(f"{load:10} {accuracy:7.1f} % {found['job_file_bytes']:7} B {requests:9}  {worst}")
sys.exit(accuracy < target or found["job_file_bytes"] > largest)
END
    # The same load on the same device, at the recorded rate: what is different is the replay's.
    rm -f "$directory/$load.rehearse.jsonl"
        ended=0
    "$fathom" rehearse "$directory/$load.trace" --on="$source_device" --destroy="$source_device" --scales=1 --most-runs=3 \
        --output="$directory/$load.rehearse.jsonl" --format=json >"$directory/$load.rehearsal" 2>"$directory/$load.rehearse" || ended=$?
    if [ $ended = 1 ]; then
        cat "$directory/$load.rehearse" >&2
        failed=1
        continue
    fi
    python3 - "$directory/$load.rehearsal" <<'END'
import json, sys
found = json.load(open(sys.argv[1]))
for row in found["at_recorded_rate"]:
    parts = []
    for percent in ("p50", "p99"):
        figure = row["percentiles"][percent + "_ns"]
        parts.append(f"{percent} {figure['recorded'] / 1e3:.0f} µs recorded, {figure['here'] / 1e3:.0f} µs rehearsed")
    print(f"{'':10} {row['direction']}s, from the {row['here_from']} on: {'; '.join(parts)}")
if not found["scales"][0]["sustained"]:
    print(f"{'':10} the device did not keep up")
END
done
exit $failed
