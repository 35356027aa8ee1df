#!/usr/bin/env bash
# Programs that call fio or read its output. Each runs with fio and with fathom under fio's name, and both
# runs must reach the same conclusion. The last line is `N passed, N failed, N skipped`; the exit status is 0
# when nothing failed. test-consumers.sh [NAME...] runs only those.
#
# A consumer is a file of scripts/consumers, a script that runs in an empty directory with `fio` on its path.
# Its output and exit status are its conclusion. Measured values are printed as kinds of figures
# (lib/consumer.py, lib/figures), because no two measurements are equal. The first line is a summary for the
# table. Exit status 77 skips it, with the last line on standard error as the reason. The comments at its head
# say:
#
#   # NAME: what it does with fio.
#   # From: REGISTRY PACKAGE VERSION [WITH...], which is installed into a cache outside the project: pypi, go, or debian (a program of the
# #   package fio, next to the fio that is compared with); or `own`, our own reader, written from the documentation of
# the named one.
# # Compared: what must be equal.
#   # Needs: commands without which it cannot run.
# # Differs: why the two conclusions differ, if that is intended (see docs/compatibility.md). They must then differ.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/rust.sh
. scripts/set-up.sh
. scripts/steps.sh
begin_steps fathom-test-consumers
scripts=$PWD/scripts/consumers
cache=$tools_cache/consumers
patience=300
# Debian package, and a command or path that exists once it is installed.
needed_packages=(
    jq:jq
    bc:bc
    procps:pgrep
    "python3-venv:/usr/lib/python3*/ensurepip/__init__.py"
)

# said FILE WORD: prints the text of the comment `# WORD: ...` at the head of a consumer.
said() {
    sed -n "2,/^[^#]/s/^# $2: //p" "$1"
}

# Links both programs as `fio`, each in its own directory.
link_programs() {
    local program=${FATHOM_TEST_PROGRAM:-$target_directory/debug/fathom}
    if [ -z "${FATHOM_TEST_PROGRAM:-}" ]; then
        cargo build --quiet --locked -p fathom-io || return
    fi
    use_reference_fio
    fio=${FATHOM_TEST_FIO:-$(command -v fio)} || { echo "there is no fio to compare with"; return 1; }
    mkdir -p "$scratch/fathom/bin" "$scratch/fio/bin"
    ln -s "$(realpath "$program")" "$scratch/fathom/bin/fio"
    ln -s "$(realpath "$fio")" "$scratch/fio/bin/fio"
    "$scratch/fio/bin/fio" --version && "$scratch/fathom/bin/fio" --version
}

# install_package REGISTRY PACKAGE VERSION WITH: installs a package once for all clones of the repository, and
# prints its directory or the reason for the failure.
install_package() {
    local place=$cache/$1-${2//\//-}-$3
    # Programs from Debian's package fio are links to the reference fio's files, which are only valid for this run.
    [ "$1" != debian ] || place=$scratch/$1-$2
    mkdir -p "$cache"
    (
        flock 9
        [ ! -e "$place/complete" ] || exit 0
        rm -rf "$place" && mkdir "$place" && "install_from_$1" "$place" "$2" "$3" "$4" >"$place/log" 2>&1 </dev/null && touch "$place/complete"
    ) 9>"$place.lock"
    if [ -e "$place/complete" ]; then
        echo "$place"
    else
        echo "$1 does not have $2 $3 for this machine: $(grep . "$place/log" | tail -n 1)"
        return 1
    fi
}

install_from_pypi() {
    # shellcheck disable=SC2086 # several
    python3 -m venv "$1" && timeout 600 "$1/bin/pip" --quiet --no-input --disable-pip-version-check --no-cache-dir install "$2==$3" $4
}

# Downloads only the code of the module, without its dependencies.
install_from_go() {
    command -v go >/dev/null || { echo "go is not installed"; return 1; }
    GOPATH=$1 GOFLAGS=-modcacherw timeout 300 go mod download "$2@$3"
}

# A crate of types, in a package whose program the consumer writes.
install_from_crate() {
    printf '[package]\nname = "reader"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n%s = "=%s"\nserde_json = "1"\n[workspace]\n' "$2" "$3" >"$1/Cargo.toml"
    mkdir "$1/src" && echo 'fn main() {}' >"$1/src/main.rs" && timeout 300 cargo fetch --quiet --manifest-path "$1/Cargo.toml"
}

# Programs from fio's packages are next to the reference fio.
install_from_debian() {
    local root name
    root=$(dirname "$(realpath "$fio")")/root
    [ -d "$root" ] || root=/
    mkdir "$1/bin"
    for name in fio_jsonplus_clat2csv fio2gnuplot genfio; do
        ln -s "$(realpath "$root/usr/bin/$name")" "$1/bin" || return
    done
}

# try_out FILE SIDE PLACE: runs a consumer with that side's program, in its own directory, and records its
# conclusion. The consumer is killed if this script ends.
try_out() {
    local name side=$2 interpreter status=0 script child
    name=$(basename "${1%.*}")
    interpreter=$(head -n 1 "$1" | sed 's/^#!//; s/^.*env //')
    [[ $interpreter != python3 || ! -x $3/bin/python ]] || interpreter=$3/bin/python
    mkdir -p "$scratch/$side/$name/"{work,temporary}
    # Copied under another name: Python searches the script's directory first, and consumers are named after the modules that they import.
    script=$scratch/$side/$name/script
    cp "$1" "$script"
    (
        cd "$scratch/$side/$name/work" &&
            exec env -i PATH="$scratch/$side/bin:$scripts/lib:$3/bin:$PATH" HOME="$scratch/$side/$name/temporary" TMPDIR="$scratch/$side/$name/temporary" \
                LANG=C.UTF-8 PYTHONPATH="$scripts/lib" PYTHONDONTWRITEBYTECODE=1 MPLBACKEND=Agg GOCACHE="$cache/go-build" CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}" GOTOOLCHAIN=local \
                CONSUMER="$3" SIDE="$side" timeout -k 10 "$patience" $interpreter "$script"
    ) >"$scratch/$side/$name/said" 2>"$scratch/$side/$name/errors" </dev/null &
    child=$!
    trap 'kill "$child"; wait "$child"; exit 143' TERM
    wait "$child" || status=$?
    trap - TERM
    echo "exit status $status" >>"$scratch/$side/$name/said"
    return $status
}

skip_consumer() {
    echo "SKIP $1: $2" >>"$FATHOM_SKIP_LOG"
    echo "skipped: $2" >"$scratch/results/$1"
}

# judge NAME FILE STATUS: writes the verdict for the table, and the differences.
judge() {
    local differs
    differs=$(said "$2" Differs)
    if diff "$scratch/fio/$1/said" "$scratch/fathom/$1/said" >"$scratch/$1.diff"; then
        if [ -n "$differs" ]; then
            echo "the same, and declared as different: $differs" | tee "$scratch/results/$1" >"$scratch/$1.failed"
        elif [ "$3" -ne 0 ]; then
            echo "the same, and it failed" >"$scratch/results/$1"
            tail -n 5 "$scratch/fio/$1/errors" >"$scratch/$1.failed"
        else
            echo "same" >"$scratch/results/$1"
        fi
    elif [ -n "$differs" ]; then
        echo "different, as declared" >"$scratch/results/$1"
    else
        echo "DIFFERENT" >"$scratch/results/$1"
        {
            cat "$scratch/$1.diff"
            tail -n 8 "$scratch/fathom/$1/errors"
        } >"$scratch/$1.failed"
    fi
}

consumer() {
    local file=$1 name registry package version with place status=0 command
    name=$(basename "${file%.*}")
    read -r registry package version with < <(said "$file" From)
    for command in $(said "$file" Needs); do
        PATH=$PATH:/usr/sbin:/sbin command -v "$command" >/dev/null || { skip_consumer "$name" "$command is not installed"; return; }
    done
    place=/nonexistent
    if [ "$registry" != own ]; then
        place=$(install_package "$registry" "$package" "$version" "$with") || { skip_consumer "$name" "$place"; return; }
    fi
    try_out "$file" fio "$place" || status=$?
    if [ "$status" -eq 77 ]; then
        skip_consumer "$name" "$(tail -n 1 "$scratch/fio/$name/errors")"
        return
    fi
    try_out "$file" fathom "$place"
    judge "$name" "$file" "$status"
    # The remaining files can be large.
    rm -rf "$scratch"/{fio,fathom}/"$name"/{work,temporary}
}

# Runs as many concurrently as there are processors: consumers mostly wait for devices.
run_consumers() {
    local file
    mkdir "$scratch/results"
    for file in "${files[@]}"; do
        while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
        { consumer "$file"; echo "$(basename "${file%.*}"): $(head -n 1 "$scratch/results/$(basename "${file%.*}")" 2>/dev/null)"; } &
    done
    wait
    ! compgen -G "$scratch/*.failed" >/dev/null
}

# docs/compatibility.md must list what is tested.
check_documentation() {
    local file
    for file in "${files[@]}"; do
        grep -q "^| $(basename "${file%.*}") | " crates/fathom-spec/src/programs_around_fio.md && continue
        echo "$file: not a row of programs_around_fio.md" | tee -a "$scratch/$(basename "${file%.*}").failed"
    done
}

# The first line of a conclusion, and the exit status.
headline() {
    [ ! -e "$1" ] || echo "$(head -n 1 "$1" | cut -c1-46), $(($(wc -l <"$1") - 1)) lines, $(tail -n 1 "$1" | sed 's/.* /exit /')"
}

table() {
    local file name from
    printf '\n%-22s | %-30s | %-70s | %-70s | %s\n' consumer "from, version" "with fio" "with fathom" "conclusions"
    for file in "${files[@]}"; do
        name=$(basename "${file%.*}")
        from=$(said "$file" From)
        printf '%-22s | %-30s | %-70s | %-70s | %s\n' "$name" "${from:0:30}" "$(headline "$scratch/fio/$name/said")" \
            "$(headline "$scratch/fathom/$name/said")" "$(cut -c1-60 "$scratch/results/$name")"
    done
    for file in "$scratch"/*.failed; do
        printf '\n-- %s\n' "$(basename "$file" .failed)"
        cat "$file"
    done
}

shopt -s nullglob
files=()
for file in "$scripts"/*.{py,sh}; do
    [ $# -eq 0 ] || [[ " $* " == *" $(basename "${file%.*}") "* ]] || continue
    files+=("$file")
done
install_missing_packages "$scratch/packages"
step "both programs" link_programs
[ ${#failed_steps[@]} -eq 0 ] || exit 1
step "${#files[@]} consumers" run_consumers
check_documentation
table

printf '\n== summary\n'
failed=$(compgen -G "$scratch/*.failed" | wc -l)
skipped=$(grep -c . "$FATHOM_SKIP_LOG")
[ "$skipped" -eq 0 ] || { echo "skipped:"; sed 's/^SKIP /  /' "$FATHOM_SKIP_LOG"; }
echo "$((${#files[@]} - failed - skipped)) passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
