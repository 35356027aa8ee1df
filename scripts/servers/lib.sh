# Shared by every start/stop script in this folder; sourced, never run. `NAME start DIR` starts a server on
# loopback, waits until it answers, and prints KEY=VALUE lines, which are also written to DIR/env; `NAME stop DIR` stops
# exactly what start started. With INSTALL=1 and as root, missing Debian packages are installed first; with
# OWN_NETWORK=1 and as root, the server gets a separate network without other traffic. A script sets NAME, PACKAGES and
# COMMANDS, defines start() and maybe stop_extra(), then calls main "$@". Its also_WORD() implements `NAME WORD DIR ...`
# for a running server.
set -euo pipefail

die() { printf '%s: %s\n' "$NAME" "$*" >&2; exit 1; }
say() { printf '%s\n' "$*" | tee -a "$DIR/env"; }      # prints KEY=VALUE to stdout and to DIR/env
port_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Chooses an unused port, which is the same after a restart.
# shellcheck disable=SC2120 # scripts with several ports name the others
pick_port() {
    local keep="$DIR/port.${1:-main}" p
    if [ -s "$keep" ] && port_free "$(cat "$keep")"; then cat "$keep"; return; fi
    for _ in $(seq 100); do
        p=$((20000 + RANDOM % 10000))
        if port_free "$p"; then echo "$p" | tee "$keep"; return; fi
    done
    die "no free port"
}

# wait_for SECONDS 'what' command...: waits until the command succeeds; fails if the time elapses or a daemon dies.
wait_for() {
    local limit=$1 what=$2 f; shift 2
    local end=$((SECONDS + limit))
    until "$@" >/dev/null 2>&1; do
        for f in "$DIR"/*.pid; do
            [ -e "$f" ] && ! alive "$f" &&
                { tail -n 5 "$DIR/$(basename "$f" .pid).log" >&2 || true; die "$(basename "$f" .pid) ended early"; }
        done
        [ $SECONDS -lt $end ] || die "no $what after ${limit}s (see the logs in $DIR)"
        sleep 0.1
    done
}
listening() { ! port_free "$1"; }

# spawn TAG command...: runs a command in the background, in a separate session and detached from its parent
# (some servers exit with their parent); DIR/TAG.pid contains "pid start-time", DIR/TAG.log the output
spawn() {
    local tag=$1; shift
    rm -f "$DIR/$tag.pid"
    # shellcheck disable=SC2016
    (setsid bash -c 'echo $$ >"$1.new"; sleep 0.05; shift; exec "$@"' - "$DIR/$tag.pid" "$@" </dev/null >>"$DIR/$tag.log" 2>&1 &)
    until [ -s "$DIR/$tag.pid.new" ]; do sleep 0.01; done
    read -r pid <"$DIR/$tag.pid.new"; rm "$DIR/$tag.pid.new"
    echo "$pid $(started "$pid")" >"$DIR/$tag.pid"
}
adopt() { echo "$(cat "$2") $(started "$(cat "$2")")" >"$DIR/$1.pid"; }    # adopt TAG FILE: registers a daemon that writes its pid itself
started() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
alive() {   # alive FILE: succeeds if the process named by the file is still running (a reused number does not count)
    local pid when; read -r pid when <"$1" || return 1
    [ "$(started "$pid")" = "$when" ] && ! grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null
}
# reap FILE...: sends TERM, and KILL after 5 s; only to processes recorded by start
reap() {
    local f pid
    for f in "$@"; do
        read -r pid _ <"$f" || true
        if alive "$f"; then
            kill "$pid" 2>/dev/null || true
            for _ in $(seq 50); do alive "$f" || break; sleep 0.1; done
            alive "$f" && kill -9 "$pid" 2>/dev/null || true
        fi
        rm -f "$f"
    done
}

install_packages() {
    local c missing=
    for c in $COMMANDS; do command -v "$c" >/dev/null || missing="$missing $c"; done
    [ -n "$missing" ] || return 0
    [ -n "$PACKAGES" ] || die "missing:$missing"
    [ -n "${INSTALL:-}" ] || die "missing:$missing (Debian: $PACKAGES)"
    [ "$(id -u)" = 0 ] || die "missing:$missing; as root: apt-get install $PACKAGES"
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $PACKAGES \
        >"$DIR/apt.log" 2>&1 || { tail -n 5 "$DIR/apt.log" >&2; die "apt-get install $PACKAGES failed (apt-get update first?)"; }
}

# mounted DIRECTORY: checks the kernel's mount list, because a file system with a hung daemon does not respond
mounted() { grep -qF " $1 " /proc/self/mountinfo; }
unmount() {   # unmount DIRECTORY
    if mounted "$1"; then fusermount3 -u "$1" 2>/dev/null || umount -l "$1" 2>/dev/null || fusermount3 -uz "$1"; fi
}

running() {   # succeeds if something was started here and all of it is still running
    local f found=1
    for f in "$DIR"/*.pid; do
        [ -e "$f" ] || continue
        alive "$f" || return 1
        found=0
    done
    return $found
}

stop() {
    if declare -F stop_extra >/dev/null; then stop_extra; fi
    local f
    for f in "$DIR"/*.pid; do [ -e "$f" ] && reap "$f"; done
    rm -f "$DIR/env"
}

main() {
    case ${1:-} in start | stop) [ $# = 2 ] ;; *) [ $# -gt 2 ] && declare -F "also_$1" >/dev/null ;; esac || usage
    PATH=$PATH:/usr/sbin:/sbin
    mkdir -p "$2"; DIR=$(cd "$2" && pwd)
    case $1 in
    start)
        if [ -s "$DIR/env" ] && running; then cat "$DIR/env"; return; fi
        stop; install_packages
        if [ -n "${OWN_NETWORK:-}" ]; then
            export -n OWN_NETWORK
            exec unshare --net bash -c 'ip link set lo up && exec "$0" "$@"' "$0" "$@"
        fi
        trap '[ $? = 0 ] || { stop; }' EXIT
        start ;;
    stop) stop ;;
    *) "also_$1" "${@:3}" ;;
    esac
}
usage() { { echo "usage:"; sed -n "s/^# \($NAME [a-z|]* DIR\)/    \1/p" "$0"; } >&2; exit 2; }
