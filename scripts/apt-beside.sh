# Sourced by what takes packages of another suite or architecture of Debian: apt apart from the system, with its own state. Nothing counts as
# installed there, so all that a package needs comes along; the lists, pins and packages of the system do not matter, and stay as they are.

# The mirror of Debian that this machine uses.
debian_mirror() {
    apt-get indextargets --no-release-info --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' |
        grep -v security | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }'
}

# The release of Debian that this machine has. To be called in a subshell: it sets variables.
debian_release() {
    # shellcheck source=/dev/null
    . /etc/os-release && echo "$VERSION_CODENAME"
}

# begin_apt_beside STATE SUITE: makes the state in a directory and fetches the list of packages. With apt_architecture set, here and below, it is
# that of another architecture. Returns 1 where it cannot be had.
begin_apt_beside() {
    local mirror
    mirror=$(debian_mirror) || true
    [ -n "$mirror" ] || { echo "apt knows no mirror of Debian" >&2; return 1; }
    mkdir -p "$1/lists/partial" "$1/cache/archives/partial"
    : >"$1/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $2 main" >"$1/sources.list"
    apt_beside "$1" apt-get -qq update || return 1
}

# apt_beside STATE PROGRAM ARGUMENT...: a program of apt's with that state. What it downloads to install is in STATE/cache/archives.
apt_beside() {
    "$2" -o Dir::Etc::sourcelist="$1/sources.list" -o Dir::Etc::sourceparts=- -o Dir::Etc::Preferences=/dev/null \
        -o Dir::Etc::PreferencesParts=/dev/null -o Dir::State="$1" -o Dir::State::status="$1/status" -o Dir::State::lists="$1/lists" \
        -o Dir::Cache="$1/cache" -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none -o Acquire::Retries=2 \
        -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
        ${apt_architecture:+-o APT::Architecture="$apt_architecture" -o APT::Architectures="$apt_architecture"} "${@:3}"
}
