# Sourced by scripts/test.sh, scripts/bench.sh and the Makefile, after scripts/rust.sh: the tests on real kernel devices, in virtual machines
# (docs/lab.md).

# The kernel and QEMU.
export LAB_CACHE=${LAB_CACHE:-$tools_cache/lab}

# Each machine has the groups of tests that run in it, one after the other, and its devices. A group is a module of
# crates/fathom/tests/it/lab. There is one scsi_debug to a kernel, with one setting for all its disks. The machines that take longest come
# first, so that none is left alone at the end.
lab_machines=(
    "zones,vsock,flash zns,zoned_null,vsock,mtd,nand:badblocks=3,5"
    "commands,scsi,record nvme,zns,fdp,pi,pi64,pi_ext,md,md_ext,scsi,virtio_scsi,dm"
    "blocks,persistent nvme,fdp,null_blk,virtio,virtio_scsi,scsi,dm,pmem,dax"
    "zoned_scsi,rdma zoned_scsi,rdma"
    "scsi_dif scsi_dif"
)

# lab_machine DIRECTORY PROGRAM GROUPS DEVICES: runs groups in one machine; what their tests say goes to DIRECTORY.said, and which were skipped
# to DIRECTORY/skipped.
lab_machine() {
    local directory=$1 program=$2 groups=$3 devices=$4 answer vm='' filters
    IFS=, read -ra filters <<<"$groups"
    filters=("${filters[@]/#/lab::}")
    # Ending this ends the machine.
    trap '[ -z "$vm" ] || kill "$vm" 2>/dev/null; wait; exit 143' TERM
    # What the machine writes for us goes through the one directory that it shares.
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
        # The lab's own failures: a machine that never came up, or no end in time.
        [ "$answer" -eq 124 ] || [ "$answer" -eq 125 ] || break
    done
    return "$answer"
}

# lab_one_ended: for lab_tests, whose variables it uses. Waits for the machine that ends next, and shows what it said.
lab_one_ended() {
    local pid name
    wait -n -p pid "${!running[@]}" || status=1
    name=${running[$pid]}
    unset "running[$pid]"
    cat "$directory/$name.said"
    cat "$directory/$name.said" >>"$directory/tests"
    cat "$directory/$name/skipped" >>"$FATHOM_SKIP_LOG"
}

# lab_tests DIRECTORY MOST [GROUP...]: runs the groups, all of them by default, in up to MOST machines at a time (four at most, as each takes up
# to 3 GiB); what the tests say also goes to DIRECTORY/tests. Without a kernel to boot, all of it counts as one skip, with the reason.
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
    program=$(programs_of_tests | sed -n 's/.* \(.*\/it-.*\)/\1/p')
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
