#!/usr/bin/env bash
# Installs, runs and removes the output of `make packages`, each package in its own root: the Debian packages in a new Debian, the RPM
# packages with rpm, the static programs in an empty directory (the one for the other architecture under qemu), the image with buildah, the
# wheels with pip. As root. Builds the packages first unless target/packages is up to date with this commit.
# The last line is `N passed, N failed, N skipped`.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/rust.sh
. scripts/set-up.sh
. scripts/apt-beside.sh
. packaging/build.sh
. packaging/aarch64/machine.sh
needed_packages=(debootstrap:debootstrap rpm:rpm qemu-user-static:qemu-aarch64-static buildah:buildah mandoc:mandoc
    qemu-system-arm:qemu-system-aarch64 cpio:cpio kmod:depmod lintian:lintian)

target_directory=$(realpath -m "$target_directory")
packages=$target_directory/packages
version=$(version_of_commit)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/fathom-test-packages.XXXXXX")
leave() {
    local place
    for place in proc dev; do
        mountpoint -q "$scratch/debian/$place" && umount -l "$scratch/debian/$place"
    done
    rm -rf --one-file-system "$scratch"
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
. scripts/checks.sh

# Runs a job that writes, reads back and verifies, and checks its JSON report. The caller supplies the arguments
# before --name.
runs_jobs() {
    local directory=$1
    shift
    "$@" --name=check --filename="$directory/check.data" --size=4m --bs=4k --rw=randrw --verify=crc32c --verify_state_save=0 --output-format=json \
        >"$scratch/report" || return
    python3 - "$scratch/report" <<'PYTHON'
import json, sys
job = json.load(open(sys.argv[1]))["jobs"][0]
assert job["error"] == 0 and job["read"]["total_ios"] + job["write"]["total_ios"] >= 1024, job
PYTHON
}

names_answer() {
    local name
    while read -r name; do
        case $name in
        fio) chroot "$1" fio --version >"$scratch/answer" ;;
        # fio's programs print their usage, but their exit status varies.
        *) chroot "$1" "$name" --help >"$scratch/answer" 2>&1 || true ;;
        esac
        grep -qi 'usage\|syntax\|option\|^fio-' "$scratch/answer" || { echo "$name does not answer"; return 1; }
    done <packaging/fio-names
}

# The unit names an installed program, and systemd accepts the unit, if systemd is installed.
unit_is_right() {
    local unit=usr/lib/systemd/system/fathom-agent.service
    grep -q '^ExecStart=/usr/bin/fathom agent ' "$1/$unit" && [ -x "$1/usr/bin/fathom" ] || return
    command -v systemd-analyze >/dev/null || return 0
    mkdir -p "$scratch/unit" && sed "s|=/usr/bin/fathom|=$1/usr/bin/fathom|" "$1/$unit" >"$scratch/unit/fathom-agent.service" &&
        systemd-analyze verify --man=no "$scratch/unit/fathom-agent.service"
}

# All files except those that packaging tools write for themselves.
files_of() {
    find "$1" -xdev \( -path "$1/proc" -o -path "$1/dev" -o -path "$1/var" -o -path "$1/tmp" \) -prune -o -print | sort
}

lintian_is_content() {
    lintian --fail-on error,warning --tag-display-limit 0 "$packages"/*_amd64.deb "$packages"/*_all.deb
}

debian() {
    local root=$scratch/debian mirror
    mirror=$(debian_mirror)
    if ! debootstrap --variant=minbase "$(debian_release)" "$root" "$mirror" >"$scratch/log" 2>&1; then
        skip "the Debian packages in a new Debian" "debootstrap: $(tail -1 "$scratch/log")"
        return
    fi
    mount -t proc proc "$root/proc" && mount --bind /dev "$root/dev"
    files_of "$root" >"$scratch/before"
    cp "$packages"/fathom_*_amd64.deb "$packages"/fathom-fio-compat_*.deb "$packages"/fathom-dev_*.deb "$root/tmp"
    check "lintian finds nothing but what is explained" lintian_is_content
    check "apt installs the package" chroot "$root" sh -c 'apt-get -qq install -y --no-install-recommends /tmp/fathom_*_amd64.deb'
    check "it says its version" grep -q "^fathom $version " <(chroot "$root" fathom --version)
    for engine in psync io_uring libaio; do
        check "it runs a job with $engine" runs_jobs /tmp chroot "$root" fathom --ioengine="$engine"
    done
    check "the manual page is one" mandoc -T lint -W error "$root/usr/share/man/man1/fathom.1.gz"
    check "completions are there" chroot "$root" bash -c '. /usr/share/bash-completion/completions/fathom && complete -p fathom'
    check "the agent's unit is one" unit_is_right "$root"
    check "the copyright names what is inside" grep -q "^ring " "$root/usr/share/doc/fathom/copyright"
    check "a missing client library is named" grep -q 'apt-get install librados2' \
        <(chroot "$root" fathom --name=a --ioengine=rados --pool=p --clientname=admin --size=1m --rw=read 2>&1)
    check "fio's names install" chroot "$root" sh -c 'dpkg -i /tmp/fathom-fio-compat_*.deb'
    check "every one of them answers" names_answer "$root"
    check "the header installs" chroot "$root" sh -c 'dpkg -i /tmp/fathom-dev_*.deb && test -s /usr/include/fathom_engine.h'
    check "all of it is removed" chroot "$root" sh -c 'dpkg -P fathom-dev fathom-fio-compat fathom'
    files_of "$root" >"$scratch/after"
    check "and nothing is left" diff "$scratch/before" "$scratch/after"
}

# stub NAME LINE: builds an empty package with this line in its spec, to stand in for a package of an RPM system.
stub() {
    local top=$scratch/stubs
    mkdir -p "$top"
    printf '%s\n' "Name: $1" "Version: 1" "Release: 1" "Summary: stub" "License: MIT" "BuildArch: noarch" "$2" "%description" "stub" "%files" \
        >"$top/$1.spec"
    rpmbuild -bb --quiet --define "_topdir $top" --define "_rpmdir $top" "$top/$1.spec" >"$scratch/log" 2>&1
    echo "$top/noarch/$1-1-1.noarch.rpm"
}

rpm_packages() {
    local root=$scratch/rpm main compat devel
    main=$packages/fathom-$version-1.x86_64.rpm
    compat=$packages/fathom-fio-compat-$version-1.noarch.rpm
    devel=$packages/fathom-devel-$version-1.noarch.rpm
    mkdir -p "$root"
    check "rpm refuses a system with an older C library" grep -q "libc.so.6(GLIBC_$oldest_glibc)(64bit) is needed" \
        <(rpm --root "$root" -i "$main" 2>&1)
    rpm --root "$root" -i "$(stub glibc "Provides: libc.so.6(GLIBC_$oldest_glibc)(64bit)")"
    check "rpm installs the package, and needs nothing else" rpm --root "$root" -i "$main"
    check "the program runs" grep -q "^fathom $version " <("$root/usr/bin/fathom" --version)
    rpm --root "$root" -i "$(stub fio '')"
    check "fio's names wait until fio is removed" grep -q 'conflicts with' <(rpm --root "$root" -i "$compat" 2>&1)
    check "fio is removed" rpm --root "$root" -e fio
    check "its names are installed" rpm --root "$root" -i "$compat"
    check "the program runs under fio's name, too" grep -q '^fio-3' <("$root/usr/bin/fio" --version)
    check "the header is installed" rpm --root "$root" -i "$devel"
    check "the files are those that were packed" rpm --root "$root" -V fathom fathom-devel fathom-fio-compat
    check "the licences are marked as such" grep -q LICENSE-MIT <(rpm --root "$root" -q --licensefiles fathom)
    check "all of it is removed" rpm --root "$root" -e fathom fathom-devel fathom-fio-compat
    check "and no file is left" test -z "$(find "$root" -xdev \( -type f -o -type l \) ! -path '*/rpm/*' ! -path '*/.rpmdb/*')"
}

static_program() {
    local root=$scratch/static
    mkdir -p "$root/tmp" "$root/proc"
    tar -xzf "$packages/fathom-$version-x86_64-linux-static.tar.gz" -C "$root" --strip-components=1
    check "the static program needs nothing" runs_jobs /tmp chroot "$root" /fathom --ioengine=psync
    check "it runs io_uring" runs_jobs /tmp chroot "$root" /fathom --ioengine=io_uring --iodepth=8
    check "it says which engines it lacks" grep -q 'static build' \
        <(chroot "$root" /fathom --name=a --ioengine=rados --pool=p --clientname=admin --size=1m --rw=read 2>&1)
}

# Runs the program of the other architecture on the same input as this machine's: texts and figures must be equal.
other_architecture() {
    local root=$scratch/aarch64 here=$scratch/static/fathom words
    if ! command -v qemu-aarch64-static >/dev/null; then
        skip "the program for aarch64" "qemu-user-static is not installed"
        return
    fi
    if [ ! -f "$packages/fathom-$version-aarch64-linux-static.tar.gz" ]; then
        skip "the program for aarch64" "make packages was told to leave it out"
        return
    fi
    mkdir -p "$root"
    tar -xzf "$packages/fathom-$version-aarch64-linux-static.tar.gz" -C "$root" --strip-components=1
    local other=(qemu-aarch64-static "$root/fathom")
    check "aarch64: its version" grep -q "^fathom $version " <("${other[@]}" --version)
    for engine in psync pvsync sync vsync mmap null posixaio; do
        check "aarch64: a job with $engine" runs_jobs_anywhere "$engine" "${other[@]}"
    done
    check "aarch64: threads, rates, an open loop" "${other[@]}" --name=a --size=1m --filename="$root/data" --rw=randread --ioengine=psync --thread \
        --numjobs=3 --time_based --runtime=2 --rate_iops=200 --open_loop=1
    check "aarch64: latencies are times" latencies_are_times "${other[@]}"
    head -c 1M /dev/urandom >"$scratch/data"
    cat "$scratch/data" "$scratch/data" >"$scratch/twice"
    for words in "dedupe $scratch/twice" "distribution --help" "tools" "man" "help" "completion zsh" "--enghelp" "--cmdhelp"; do
        # shellcheck disable=SC2086
        check "aarch64: the same answer to ${words%% /*}" same_text <($here $words 2>&1) <("${other[@]}" $words 2>&1)
    done
    # The same seed gives the same offsets and data.
    words="--name=a --filename=data --size=1m --bs=4k --rw=randwrite --ioengine=psync --randseed=7 --buffer_compress_percentage=30"
    # shellcheck disable=SC2086
    check "aarch64: the same data of one seed" sh -c "cd $scratch && $here $words && mv data here.data && ${other[*]} $words && cmp data here.data"
}

# Emulates a complete machine of the other architecture, with io_uring, a disk, a clock and several processors.
# Its checks are added to ours.
other_machine() {
    local place=$target_directory/tools/aarch64-machine title
    if [ ! -x "$scratch/aarch64/fathom" ]; then
        skip "a machine of aarch64" "there is no program for it"
        return
    fi
    if ! command -v qemu-system-aarch64 >/dev/null; then
        skip "a machine of aarch64" "qemu-system-arm is not installed"
        return
    fi
    if ! fetch_kernel "$place" >"$scratch/log" 2>&1; then
        skip "a machine of aarch64" "there is no kernel for it: $(tail -1 "$scratch/log")"
        return
    fi
    run_machine "$place" "$scratch/aarch64/fathom" packaging/aarch64/checks >"$scratch/machine"
    while read -r title; do
        check "aarch64 machine: $title" passed_in_machine "$title"
    done < <(sed -nE 's/^(ok|FAILED) //p' "$scratch/machine")
    check "aarch64 machine: to the end" ended_in_machine
}

passed_in_machine() {
    grep -qxF "ok $1" "$scratch/machine" && return
    grep -xF -A 5 "FAILED $1" "$scratch/machine"
    return 1
}

ended_in_machine() {
    tail -n 5 "$scratch/machine"
    grep -qx "the end" "$scratch/machine"
}

runs_jobs_anywhere() {
    local engine=$1
    shift
    case $engine in
    null) "$@" --name=a --ioengine=null --size=8m --rw=randrw ;;
    *) runs_jobs "$scratch" "$@" --ioengine="$engine" ;;
    esac
}

# True if two files have the same text and are not empty.
same_text() {
    cat "$1" >"$scratch/one"
    cat "$2" >"$scratch/other"
    [ -s "$scratch/one" ] && cmp "$scratch/one" "$scratch/other"
}

# A job of 100 I/Os with a think time of 2 ms shows that the clock of the other architecture is right.
latencies_are_times() {
    "$@" --name=a --ioengine=psync --filename="$scratch/check.data" --size=400k --bs=4k --rw=read --thinktime=2000 --thinktime_spin=2000 \
        --output-format=json >"$scratch/report" || return
    python3 - "$scratch/report" <<'PYTHON'
import json, sys
read = json.load(open(sys.argv[1]))["jobs"][0]["read"]
assert 190 <= read["runtime"] <= 5000, read["runtime"]
assert 0 < read["clat_ns"]["mean"] < 50e6, read["clat_ns"]
PYTHON
}

container_image() {
    local storage=(--root "$scratch/storage" --runroot "$scratch/run" --storage-driver vfs) container
    if ! command -v buildah >/dev/null; then
        skip "the image" "buildah is not installed"
        return
    fi
    container=$(buildah "${storage[@]}" from "oci-archive:$packages/fathom-$version-x86_64.oci.tar" 2>"$scratch/log") || {
        check "the image is one" cat "$scratch/log" /nonexistent
        return
    }
    check "the image runs a job" buildah "${storage[@]}" run --isolation chroot "$container" -- /fathom --name=a --size=1m --rw=randwrite \
        --verify=crc32c --ioengine=psync
    check "its entry point is the program" grep -q /fathom <(buildah "${storage[@]}" inspect "$container")
    buildah "${storage[@]}" rm "$container" >/dev/null
}

# For each platform, pip finds the wheel, which contains the same program as the package. Without
# --only-binary, pip would take the archives next to the wheels for source distributions.
python_wheels() {
    local environment=$scratch/python wheel
    if ! python3 -m venv "$environment" >"$scratch/log" 2>&1; then
        skip "the wheels" "python3 has no venv: $(tail -1 "$scratch/log")"
        return
    fi
    check "pip installs the wheels" "$environment/bin/pip" -q install --no-index --only-binary=:all: --find-links "$packages" fathom-io fathom-fio-compat
    check "the program of the wheel runs" grep -q "^fathom $version " <("$environment/bin/fathom" --version)
    check "a job runs from Python" env -C "$scratch" "$environment/bin/python" -c 'import fathom
assert fathom.run(name="a", rw="write", size="1m", filename="check.data").job("a").write.io_bytes == 1 << 20'
    check "a program that calls fio gets it" grep -q '^fio-3' <("$environment/bin/fio" --version)
    for wheel in "$packages"/fathom_io-*.whl; do
        check "${wheel##*-none-} is what its name says" wheel_is_true "$wheel"
    done
    check "pip removes them" "$environment/bin/pip" -q uninstall -y fathom-io fathom-fio-compat
    check "and no program is left" test ! -e "$environment/bin/fathom" -a ! -e "$environment/bin/fio"
}

# A static program runs with every C library; any other requests a loader, and must run with the oldest
# supported C library. The licences of the contents are included.
wheel_is_true() {
    python3 - "$1" "$oldest_glibc" <<'PYTHON'
import re, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
program = next(wheel.read(name) for name in wheel.namelist() if name.endswith(".data/scripts/fathom"))
static = b"/ld-linux" not in program[:4096]
assert static == ("musllinux" in sys.argv[1]), "the C library"
machine = {62: "x86_64", 183: "aarch64"}[int.from_bytes(program[18:20], "little")]
assert re.search("linux_[0-9]+_[0-9]+_" + machine + "[.]", sys.argv[1]), machine
needed = tuple(map(int, re.search("manylinux_([0-9]+)_([0-9]+)", sys.argv[1]).groups()))
assert needed <= tuple(map(int, sys.argv[2].split("."))), needed
assert b"ring " in next(wheel.read(name) for name in wheel.namelist() if name.endswith("licenses/copyright"))
PYTHON
}

papers() {
    check "the checksums hold" sh -c "cd '$packages' && sha256sum -c --quiet SHA256SUMS"
    check "the list of components names the crates" components_are_named
    check "it names no directory of the machine that built it" names_no_directory
    # Rejects dependencies without a version and circular dependencies. Other steps build the crates.
    check "the crates can be published" cargo package -q --workspace --no-verify --no-metadata --locked --target-dir "$scratch/crates"
}

names_no_directory() {
    ! grep -o 'file:///[^"]*' "$packages/fathom-$version.cdx.json" | grep -v '^file:///fathom/'
}

components_are_named() {
    python3 - "$packages/fathom-$version.cdx.json" <<'PYTHON'
import json, sys
components = {component["name"] for component in json.load(open(sys.argv[1]))["components"]}
assert {"ring", "io-uring", "serde_json"} <= components, components
PYTHON
}

if [ "$(id -u)" -ne 0 ]; then
    echo "make test-packages needs root, for roots of their own" >&2
    exit 1
fi
install_missing_packages "$scratch/apt"
if [ ! -f "$packages/fathom-$version.cdx.json" ]; then
    scripts/packages.sh || exit 1
fi
papers
debian
rpm_packages
static_program
other_architecture
other_machine
container_image
python_wheels
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
