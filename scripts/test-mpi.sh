#!/usr/bin/env bash
# Builds fathom-mpi with each available MPI (Open MPI and MPICH; or the one whose compiler MPICC names) and runs its tests under that
# MPI's launcher and under Slurm. The last line is `N passed, N failed, N skipped`; the exit status is 0 when nothing failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/rust.sh
. scripts/set-up.sh
. scripts/steps.sh
begin_steps fathom-test-mpi

# Debian package, and a file that exists once it is installed.
needed_packages=(
    "libopenmpi-dev:/usr/bin/mpicc.openmpi"
    "openmpi-bin:/usr/bin/mpirun.openmpi"
    "libmpich-dev:/usr/bin/mpicc.mpich"
    "mpich:/usr/bin/mpiexec.mpich"
    "libclang-dev:/usr/lib/llvm-*/lib/libclang.so"
)

# Lints run with the first MPI only: the code is the same for all.
check() {
    (cd mpi && CARGO_TARGET_DIR=$2 MPICC=$1 cargo clippy --all-targets --locked -- -D warnings)
}

tests() {
    (cd mpi && CARGO_TARGET_DIR=$2 MPICC=$1 cargo test --no-fail-fast --locked) 2>&1 | tee -a "$scratch/tests"
}

install_missing_packages "$scratch/packages"
[ "$(id -u)" -ne 0 ] || export INSTALL=1
if [ -n "${MPICC:-}" ]; then
    compilers=("$MPICC")
else
    compilers=()
    for compiler in mpicc.openmpi mpicc.mpich; do
        if command -v "$compiler" >/dev/null; then
            compilers+=("$compiler")
        else
            echo "SKIP fathom-mpi with $compiler: it is not installed" | tee -a "$FATHOM_SKIP_LOG"
        fi
    done
    if [ ${#compilers[@]} -eq 0 ] && command -v mpicc >/dev/null; then
        compilers=(mpicc)
    fi
fi
directory=$(realpath -m "$target_directory")
step formatting cargo fmt --manifest-path mpi/Cargo.toml -- --check
for index in "${!compilers[@]}"; do
    compiler=${compilers[index]}
    own=$directory/mpi-$(basename "$compiler")
    [ "$index" -ne 0 ] || step "lints" check "$compiler" "$own"
    step "tests with $compiler" tests "$compiler" "$own"
done

printf '\n== summary\n'
grep '^test .* \.\.\. FAILED$' "$scratch/tests"
failed=$(sum_of failed)
skipped=$(grep -c . "$FATHOM_SKIP_LOG")
# A skipped test counts as passed in its line `test result:`.
counted=$(grep -vc '^SKIP fathom-mpi with ' "$FATHOM_SKIP_LOG")
[ "$skipped" -eq 0 ] || { echo "skipped:"; sed 's/^SKIP /  /' "$FATHOM_SKIP_LOG"; }
for title in "${failed_steps[@]}"; do
    echo "failed step: $title"
    # Failing tests are counted individually.
    [[ $title == tests* && $failed -gt 0 ]] || failed=$((failed + 1))
done
echo "$(($(sum_of passed) - counted)) passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
