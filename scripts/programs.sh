# Sourced by the scripts that run tests: builds all test programs once, and runs them.

# With every engine, as in packages.
all_engines=(--features fathom-io/libhdfs)

# build_tests: builds all programs and tests with one cargo command; a second command could select other
# features of dependencies and build them again.
build_tests() {
    cargo build --workspace --all-targets --locked "${all_engines[@]}" --message-format=json-render-diagnostics >"$scratch/built"
}

# Prints one line per test program: the directory that it runs in, and its path.
programs_of_tests() {
    sed -n '/"overflow_checks":[a-z]*,"test":true/s/.*"manifest_path":"\([^"]*\)\/Cargo.toml".*"executable":"\([^"]*\)".*/\1 \2/p' "$scratch/built"
}

# The line of crates/fathom/tests/it, the tests of the whole program.
program_tests() {
    programs_of_tests | grep '/crates/fathom [^ ]*/it-[0-9a-f]*$'
}

# The lines of all others.
unit_tests() {
    programs_of_tests | grep -vxF "$(program_tests)"
}

# run_program "DIRECTORY PROGRAM" WORDS...: runs a test program as cargo does, and appends its output to $scratch/tests.
run_program() {
    if [[ $1 != *' '* || $1 == *$'\n'* ]]; then
        echo "error: one test program was expected, and not '$1'" >&2
        return 1
    fi
    local directory=${1%% *} program=${1#* }
    shift
    (cd "$directory" && exec "$program" "$@") 2>&1 | tee -a "$scratch/tests"
}
