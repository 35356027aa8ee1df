# Sourced by the scripts of the JVM binding: builds its native library for each architecture that can be linked
# here, and collects the licences of its contents.

native_output=$(realpath -m "$target_directory")/jvm

# Builds the library for an architecture in the directory from which Maven packages it.
build_native() {
    local architecture=$1 triple=$1-unknown-linux-gnu place
    place=$native_output/resources/dev/fathom/io/linux-$architecture
    (cd bindings/jvm/native && CARGO_TARGET_DIR=$native_output cargo build -q --release --locked --target "$triple") || return 1
    mkdir -p "$place"
    cp "$native_output/$triple/release/libfathom_jvm.so" "$place/"
}

# The library for this machine's architecture must build. The other architecture is built if its cross
# compiler is installed; otherwise a message says that the jar lacks it.
build_natives() {
    local own other
    own=$(uname -m)
    case $own in
        x86_64) other=aarch64 ;;
        aarch64) other=x86_64 ;;
        *) echo "the JVM binding is for x86_64 and aarch64, and this is $own" >&2; return 1 ;;
    esac
    rm -rf "$native_output/resources"
    build_native "$own" || return 1
    mkdir -p "$native_output/resources/META-INF"
    cargo run -q --locked -p xtask -- notices "$own-unknown-linux-gnu" jar >"$native_output/resources/META-INF/COPYRIGHT" || return 1
    if command -v "$other-linux-gnu-gcc" >/dev/null && [ -d "$(rustc --print sysroot)/lib/rustlib/$other-unknown-linux-gnu" ]; then
        export "CARGO_TARGET_${other^^}_UNKNOWN_LINUX_GNU_LINKER=$other-linux-gnu-gcc"
        build_native "$other"
    else
        echo "SKIP the native library for $other: it needs $other-linux-gnu-gcc and rustup target add $other-unknown-linux-gnu" |
            tee -a "${FATHOM_SKIP_LOG:-/dev/null}"
    fi
}

# Checks for Maven and a JDK, or explains how to get them.
need_maven() {
    command -v mvn >/dev/null && command -v javac >/dev/null && return 0
    echo "the JVM binding needs Maven and JDK 17 or newer (Debian: apt-get install maven openjdk-17-jdk-headless)" >&2
    return 1
}
