# Sourced by scripts that fetch packages of another Debian suite or architecture: runs apt with a separate
# state. Nothing counts as installed there, so apt fetches all dependencies; the lists, pins and packages of
# the system are neither used nor changed.

# The Debian mirror that this machine uses.
debian_mirror() {
    apt-get indextargets --no-release-info --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' |
        grep -v security | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }'
}

# The Debian release of this machine. Call it in a subshell: it sets variables.
debian_release() {
    # shellcheck source=/dev/null
    . /etc/os-release && echo "$VERSION_CODENAME"
}

# begin_apt_beside STATE SUITE: creates the state in a directory and fetches the package lists. Here and
# below, apt_architecture selects another architecture. Returns 1 if the lists cannot be fetched.
begin_apt_beside() {
    local mirror
    mirror=$(debian_mirror) || true
    [ -n "$mirror" ] || { echo "apt knows no mirror of Debian" >&2; return 1; }
    mkdir -p "$1/lists/partial" "$1/cache/archives/partial"
    : >"$1/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $2 main" >"$1/sources.list"
    apt_beside "$1" apt-get -qq update || return 1
}

# apt_beside STATE PROGRAM ARGUMENT...: runs an apt program with that state. It downloads packages to STATE/cache/archives.
apt_beside() {
    "$2" -o Dir::Etc::sourcelist="$1/sources.list" -o Dir::Etc::sourceparts=- -o Dir::Etc::Preferences=/dev/null \
        -o Dir::Etc::PreferencesParts=/dev/null -o Dir::State="$1" -o Dir::State::status="$1/status" -o Dir::State::lists="$1/lists" \
        -o Dir::Cache="$1/cache" -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none -o Acquire::Retries=2 \
        -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
        ${apt_architecture:+-o APT::Architecture="$apt_architecture" -o APT::Architectures="$apt_architecture"} "${@:3}"
}
