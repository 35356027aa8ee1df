# Sourced by test.sh, and by other scripts with their own list: installs missing tools if that is permitted. A
# tool that cannot be installed is not a failure: the tests that need it are skipped, and the summary says so.

# Debian package, and a command or path pattern that exists once the package is installed.
needed_packages=(
    fio:fio
    strace:strace
    e2fsprogs:mkfs.ext4
    xfsprogs:mkfs.xfs
    btrfs-progs:mkfs.btrfs
    mdadm:mdadm
    dmsetup:dmsetup
    fdisk:sfdisk
    util-linux:losetup
    fuse3:fusermount3
    chromium:chromium
    mandoc:mandoc
    shellcheck:shellcheck
    zsh:zsh
    fish:fish
    nbdkit:nbdkit
    libnfs-utils:nfs-ls
    librdmacm1:/usr/lib/*/librdmacm.so.1
    ibverbs-providers:/usr/lib/*/libibverbs/librxe-*.so
    nfs-ganesha-vfs:ganesha.nfsd
    rpcbind:rpcbind
    iproute2:ip
    libiscsi-bin:iscsi-ls
    tgt:tgtd
    qemu-utils:qemu-nbd
    nbd-server:nbd-server
    apache2-bin:apache2
    apache2-utils:htpasswd
    openssl:openssl
    sshfs:sshfs
    openssh-server:sshd
    openssh-client:ssh-keygen
    rclone:rclone
    busybox-static:busybox
    cpio:cpio
    kmod:depmod
    xz-utils:xz
    bc:bc
    blktrace:blkparse
    zstd:zstd
    python3-six:/usr/lib/python3/dist-packages/six.py
)

missing_packages() {
    local entry
    for entry in "${needed_packages[@]}"; do
        case ${entry#*:} in
        /*) compgen -G "${entry#*:}" >/dev/null ;;
        *) PATH="$PATH:/usr/sbin:/sbin" command -v "${entry#*:}" >/dev/null ;;
        esac || echo "${entry%%:*}"
    done
}

# Announces the tools to be installed on this machine, and the expected duration, before installing them.
announce() {
    local missing
    missing=$(missing_packages | tr '\n' ' ')
    case $1 in
    tests)
        echo "Tests of fathom: about 9 minutes to build them on 2 processors, and about 20 minutes to run them."
        echo "As root they use loop devices, mounts and control groups of their own."
        ;;
    quick) echo "A quick check of fathom: what is built already is not built again; a first build takes about 9 minutes on 2 processors." ;;
    checks) echo "The checks of fathom: about 5 minutes on 2 processors, less when little has changed." ;;
    lab) echo "Tests of fathom on real kernel devices: about 9 minutes to build them on 2 processors, and about 14 minutes to run them in virtual machines." ;;
    servers)
        echo "Tests of fathom on servers: about 9 minutes to build them on 2 processors, and about 10 minutes to run them."
        echo "As root they install the servers that they start (Ceph, Gluster, Hadoop and others)."
        ;;
    esac
    case $1 in checks | quick) return ;; esac
    if [ -n "$missing" ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
        echo "Installed now with apt-get: $missing"
    elif [ -n "$missing" ]; then
        echo "Not installed, and left so without root and apt-get: $missing"
    fi
    [ "$1" != tests ] || echo "For this run alone, into a temporary directory: fio-plot, numpy and scipy (pip), fio-examples (apt-get)."
    echo "Kept in $tools_cache for the next run: the fio to compare with (140 MB, Debian's unstable suite), s3s-fs (crates.io),"
    echo "and a kernel and QEMU for the tests on real devices (330 MB, Debian's unstable suite)."
}

install_missing_packages() {
    local missing
    read -ra missing <<<"$(missing_packages | tr '\n' ' ')"
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        echo "note: not installed: ${missing[*]}; what needs them is skipped"
        return 0
    fi
    echo "installing ${missing[*]}"
    local log=$1
    export DEBIAN_FRONTEND=noninteractive
    # Only the tests may start servers: with this run level, the packages do not.
    { timeout 300 apt-get -qq update && RUNLEVEL=1 timeout 600 apt-get -qq install -y --no-install-recommends "${missing[@]}"; } \
        >"$log" 2>&1 </dev/null || { echo "note: that failed; what needs them is skipped"; tail -3 "$log"; }
}

install_missing_components() {
    command -v rustup >/dev/null || return 0
    cargo fmt --version >/dev/null 2>&1 || rustup -q component add rustfmt || true
    cargo clippy --version >/dev/null 2>&1 || rustup -q component add clippy || true
}

# Installs Python packages into a virtual environment.
install_python_packages() {
    local environment=$1 log=$1.log
    shift
    mkdir -p "$(dirname "$log")"
    if ! python3 -c 'import ensurepip' 2>/dev/null && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
        echo "installing python3-venv"
        DEBIAN_FRONTEND=noninteractive timeout 600 apt-get -qq install -y --no-install-recommends python3-venv \
            >"$log" 2>&1 </dev/null || true
    fi
    if python3 -m venv "$environment" >"$log" 2>&1 &&
        timeout 300 "$environment/bin/pip" --quiet --no-input install "$@" >>"$log" 2>&1; then
        return 0
    fi
    echo "note: $* could not be installed; what needs it is skipped"
    tail -3 "$log" 2>/dev/null || true
    return 1
}

# fio-plot, which the tests run on fathom's results. FATHOM_TEST_FIO_PLOT contains its path.
fio_plot_version=1.1.21

install_fio_plot() {
    [ -z "${FATHOM_TEST_FIO_PLOT:-}" ] || return 0
    if install_python_packages "$1" "fio-plot==$fio_plot_version"; then
        export FATHOM_TEST_FIO_PLOT=$1/bin
    fi
}

# SciPy, the reference for statistics. FATHOM_TEST_SCIPY contains its path.
numpy_version=2.4.6
scipy_version=1.17.1

install_scipy() {
    [ -z "${FATHOM_TEST_SCIPY:-}" ] || return 0
    if install_python_packages "$1" "numpy==$numpy_version" "scipy==$scipy_version"; then
        export FATHOM_TEST_SCIPY=$1/bin
    fi
}

# The example jobs of Debian's package fio-examples, unpacked but not installed. Tests find them by
# FATHOM_TEST_FIO_EXAMPLES.
fetch_fio_examples() {
    local directory=$1
    [ ! -d /usr/share/doc/fio/examples ] && [ -z "${FATHOM_TEST_FIO_EXAMPLES:-}" ] || return 0
    if mkdir -p "$directory" &&
        (cd "$directory" && timeout 100 apt-get -qq download fio-examples && dpkg-deb -x fio-examples*.deb .) \
            >"$directory.log" 2>&1 </dev/null; then
        export FATHOM_TEST_FIO_EXAMPLES=$directory/usr/share/doc/fio/examples
    else
        echo "note: fio-examples could not be fetched; the tests that need it will be skipped"
    fi
}

# An S3 server. It is built once, without optimisation, in a minute or two.
s3_server_version=0.14.1

install_s3_server() {
    local place=$tools_cache/s3s-fs-$s3_server_version log
    export PATH="$PATH:$place/bin"
    command -v s3s-fs >/dev/null && return 0
    echo "building s3s-fs $s3_server_version, an S3 server"
    log=$(mktemp "${TMPDIR:-/tmp}/fathom-s3.XXXXXX")
    # Without debug information, which would only take time and space.
    CARGO_PROFILE_DEV_DEBUG=0 timeout 900 cargo install --quiet --locked --debug --root "$place" --target-dir "$log.build" --features binary \
        --version "$s3_server_version" s3s-fs >"$log" 2>&1 </dev/null ||
        { echo "note: that failed; the tests that need it will be skipped"; tail -3 "$log"; }
    rm -rf "$log" "$log.build"
}

# The reference fio of the tests. FATHOM_TEST_FIO contains its path; if it cannot be fetched, tests use the
# installed fio.
use_reference_fio() {
    [ -z "${FATHOM_TEST_FIO:-}" ] || return 0
    local log
    log=$(mktemp "${TMPDIR:-/tmp}/fathom-fio.XXXXXX")
    if timeout 600 scripts/reference-fio.sh "$tools_cache/reference-fio" >"$log" 2>&1 </dev/null; then
        FATHOM_TEST_FIO=$(tail -n 1 "$log")
        export FATHOM_TEST_FIO
    else
        echo "note: the fio to compare with could not be fetched; the installed one is used where it will do"
        tail -3 "$log"
    fi
    rm -f "$log"
}
