# Sourced by the scripts that run tests: builds the programs that hold them, once, and runs them.

# With every engine, as packages have them.
all_engines=(--features fathom-io/libhdfs)

# build_tests: all programs and all tests, in one pass of the compiler: a second one would have other features of dependencies.
build_tests() {
    cargo build --workspace --all-targets --locked "${all_engines[@]}" --message-format=json-render-diagnostics >"$scratch/built"
}

# Each program of tests, after the directory that it runs in.
programs_of_tests() {
    sed -n '/"overflow_checks":[a-z]*,"test":true/s/.*"manifest_path":"\([^"]*\)\/Cargo.toml".*"executable":"\([^"]*\)".*/\1 \2/p' "$scratch/built"
}

# run_program "DIRECTORY PROGRAM" WORDS...: runs it as cargo does; what it says also goes to the file of tests.
run_program() {
    local directory=${1%% *} program=${1#* }
    shift
    (cd "$directory" && exec "$program" "$@") 2>&1 | tee -a "$scratch/tests"
}
