# Sourced by scripts/packages.sh, after scripts/set-up.sh: the tools, the programs, and the file tree of every
# package.

. packaging/version.sh

# zig links for both C libraries and both architectures, and for C libraries older than that of this machine.
build_packages=(ziglang==0.17.1 cargo-zigbuild==0.24.1)
cyclonedx_version=0.5.9
# The tools for the package formats.
needed_packages=(dpkg:dpkg-deb rpm:rpmbuild buildah:buildah gzip:gzip)
# The oldest C library that the packages support: that of Debian 10 and RHEL 8.
oldest_glibc=2.28

get_build_tools() {
    local tools=$target_directory/tools
    command -v rustup >/dev/null || {
        echo "The standard libraries of other platforms come through rustup, which is not installed: see https://rustup.rs" >&2
        exit 1
    }
    # One program is always built for this machine, because it generates the texts of the packages.
    rustup -q target add "$(uname -m)-unknown-linux-musl"
    # shellcheck disable=SC2154 # packages.sh says for which
    for architecture in "${architectures[@]}"; do
        rustup -q target add "$architecture-unknown-linux-musl" "$architecture-unknown-linux-gnu"
    done
    "$tools/zig/bin/python" -c 'import ziglang' 2>/dev/null ||
        install_python_packages "$tools/zig" "${build_packages[@]}" || exit 1
    [ -x "$tools/bin/cargo-cyclonedx" ] ||
        cargo install -q --locked --root "$tools" "cargo-cyclonedx@$cyclonedx_version"
    PATH=$tools/zig/bin:$tools/bin:$PATH
    install_missing_packages "$scratch/apt"
    local missing
    missing=$(missing_packages | tr '\n' ' ')
    [ -z "$missing" ] && return
    echo "Needed and not installed: $missing(Debian: apt-get install $missing)" >&2
    exit 1
}

# build TRIPLE BUILDS: builds the program for a platform (TRIPLE may end in the version of a C library), without
# paths of this machine.
build() {
    local registry=${CARGO_HOME:-$HOME/.cargo}
    RUSTFLAGS="--remap-path-prefix=$PWD=/fathom --remap-path-prefix=$registry=/cargo" \
        CARGO_PROFILE_DIST_STRIP=symbols CARGO_PROFILE_DIST_DEBUG=0 CARGO_TARGET_DIR=$2 FATHOM_VERSION=$version \
        cargo zigbuild -q --profile dist --locked -p fathom-io --features libhdfs --target "$1"
}

# tree DIRECTORY PROGRAM TRIPLE: creates the files of the package below DIRECTORY.
tree() {
    local root=$1
    # shellcheck disable=SC2154 # formats.sh has built it
    RUNS=$native ZSH_COMPLETIONS=vendor-completions packaging/install.sh "$2" "$root/usr"
    gzip -9n "$root/usr/share/man/man1/fathom.1"
    # It has a separate package.
    rm -r "$root/usr/include"
    cargo run -q --locked -p xtask -- notices "$3" >"$root/usr/share/doc/fathom/copyright"
    install -D -m 644 packaging/fathom-agent.service "$root/usr/lib/systemd/system/fathom-agent.service"
    gzip -9nc CHANGELOG.md >"$root/usr/share/doc/fathom/changelog.gz"
    settle "$root"
}

# header DIRECTORY: the header for building engines, which the static program cannot load.
header() {
    install -D -m 644 include/fathom_engine.h "$1/usr/include/fathom_engine.h"
    settle "$1"
}

# links DIRECTORY: creates links under fio's names.
links() {
    local name
    mkdir -p "$1/usr/bin" "$1/usr/share/man/man1"
    while read -r name; do
        ln -s fathom "$1/usr/bin/$name"
        ln -s fathom.1.gz "$1/usr/share/man/man1/$name.1.gz"
    done <packaging/fio-names
    settle "$1"
}

# Every file gets the time of the commit.
settle() {
    find "$1" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
}
