# Sourced by the other scripts: finds cargo, or explains how to get it.

# Cargo.toml states the required Rust version, which cargo itself checks.
wanted_rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# A shell started before the installation of Rust does not have cargo on its path yet.
if ! command -v cargo >/dev/null && [ -x "$HOME/.cargo/bin/cargo" ]; then
    PATH="$HOME/.cargo/bin:$PATH"
fi

if ! command -v cargo >/dev/null; then
    cat >&2 <<END
fathom is built with Rust $wanted_rust or newer, and no cargo was found. Install it for your user with

    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh

or from your distribution's packages, then run make again.
END
    exit 1
fi

if ! command -v cc >/dev/null; then
    echo "Rust links with the system's C compiler, and no cc was found: install one (Debian: apt-get install gcc libc6-dev)." >&2
    exit 1
fi

# Cargo's target directory.
# shellcheck disable=SC2034 # for the other scripts
target_directory=${CARGO_TARGET_DIR:-target}

# Test programs that are not packaged, or not in the right version. They are fetched or built once for all
# clones of the repository.
# shellcheck disable=SC2034 # for the other scripts
tools_cache=${FATHOM_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/fathom}
