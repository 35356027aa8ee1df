# Sourced by scripts/test.sh, scripts/bench.sh and the Makefile, after scripts/rust.sh: the tests on real kernel devices, in virtual machines
# (docs/lab.md).

# The kernel and QEMU.
export LAB_CACHE=${LAB_CACHE:-$tools_cache/lab}

# Each line has the test groups that run in one machine, one after the other, and its devices. A group is a
# module of crates/fathom/tests/it/lab. A kernel has only one scsi_debug, with one setting for all its disks.
# The slowest machines come first, so that none runs alone at the end.
lab_machines=(
    "zones,vsock,flash zns,zoned_null,vsock,mtd,nand:badblocks=3,5"
    "commands,scsi,record nvme,zns,fdp,pi,pi64,pi_ext,md,md_ext,scsi,virtio_scsi,dm"
    "blocks,persistent nvme,fdp,null_blk,virtio,virtio_scsi,scsi,dm,pmem,dax"
    "zoned_scsi,rdma zoned_scsi,rdma"
    "scsi_dif scsi_dif"
)

# lab_machine DIRECTORY PROGRAM GROUPS DEVICES: runs groups in one machine; test output goes to DIRECTORY.said,
# and the skipped tests are listed in DIRECTORY/skipped.
lab_machine() {
    local directory=$1 program=$2 groups=$3 devices=$4 answer vm='' filters
    IFS=, read -ra filters <<<"$groups"
    filters=("${filters[@]/#/lab::}")
    # Ending this script ends the machine.
    trap '[ -z "$vm" ] || kill "$vm" 2>/dev/null; wait; exit 143' TERM
    # The machine writes its results to the one directory that it shares with the host.
    mkdir -p "$directory"
    for _ in 1 2; do
        : >"$directory/skipped"
        printf -- '-- lab: %s, with %s\n' "$groups" "$devices" >"$directory.said"
        answer=0
        FATHOM_SKIP_LOG=$directory/skipped \
            scripts/lab/lab --with "$devices" --dir "$directory" --time 2700 -- \
            sh -c 'cd "$1" && shift && exec "$@"' sh "$PWD/crates/fathom" "$program" "${filters[@]/%/::}" --test-threads=1 \
            >>"$directory.said" 2>&1 &
        vm=$!
        wait "$vm" || answer=$?
        # Failures of the lab itself: a machine that did not boot or did not end in time.
        [ "$answer" -eq 124 ] || [ "$answer" -eq 125 ] || break
    done
    return "$answer"
}

# lab_one_ended: helper of lab_tests, whose variables it uses. Waits for the next machine to end, and shows its
# output.
lab_one_ended() {
    local pid name
    wait -n -p pid "${!running[@]}" || status=1
    name=${running[$pid]}
    unset "running[$pid]"
    cat "$directory/$name.said"
    cat "$directory/$name.said" >>"$directory/tests"
    cat "$directory/$name/skipped" >>"$FATHOM_SKIP_LOG"
}

# lab_tests DIRECTORY MOST [GROUP...]: runs the groups, all of them by default, in up to MOST machines at a time
# (four at most, as each takes up to 3 GiB); test output also goes to DIRECTORY/tests. Without a kernel to boot,
# all tests count as one skip, with the reason.
lab_tests() {
    local directory=$1 most=$2 program reason status=0 machine group groups
    local -A running=()
    shift 2
    : >>"$directory/tests"
    if ! reason=$(scripts/lab/lab --fetch 2>&1); then
        echo "SKIP lab: $(echo "$reason" | tail -n 1)" | tee -a "$FATHOM_SKIP_LOG"
        return 0
    fi
    echo "${reason##*$'\n'}"
    program=$(program_tests)
    program=${program#* }
    [ "$most" -le 4 ] || most=4
    for machine in "${lab_machines[@]}"; do
        groups=''
        for group in $(echo "${machine%% *}" | tr , ' '); do
            [ $# -gt 0 ] && [[ " $* " != *" $group "* ]] || groups+=${groups:+,}$group
        done
        [ -n "$groups" ] || continue
        [ "${#running[@]}" -lt "$most" ] || lab_one_ended
        lab_machine "$directory/lab-${groups//,/-}" "$program" "$groups" "${machine#* }" &
        running[$!]=lab-${groups//,/-}
    done
    while [ "${#running[@]}" -gt 0 ]; do
        lab_one_ended
    done
    return $status
}
