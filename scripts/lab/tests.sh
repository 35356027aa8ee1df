# Sourced by scripts/test.sh and test-lab.sh: the tests on real kernel devices, in virtual machines (docs/lab.md).

# The kernel and QEMU, below the target directory.
export LAB_CACHE=${LAB_CACHE:-$(realpath -m "$target_directory")/tools/lab}

# Each group is a module of crates/fathom/tests/it/lab and the devices of its machine. Those that take longest come first, so that none is left
# alone at the end.
lab_groups=(
    "zones zns,zoned_null"
    "commands nvme,zns,fdp,pi,pi64,pi_ext,md,md_ext,scsi,virtio_scsi"
    "rdma rdma"
    "blocks nvme,fdp,null_blk,virtio,virtio_scsi,scsi,dm"
    "scsi scsi,virtio_scsi"
    "zoned_scsi zoned_scsi"
    "persistent pmem,dax"
    "vsock vsock"
    "flash mtd,nand:badblocks=3,5"
    "scsi_dif scsi_dif"
)

# lab_group DIRECTORY PROGRAM NAME DEVICES: runs one group; what its tests say goes to DIRECTORY.said, and who was skipped to DIRECTORY/skipped.
lab_group() {
    local directory=$1 program=$2 name=$3 devices=$4 tries answer vm=''
    # Whoever ends this ends the machine.
    trap '[ -z "$vm" ] || kill "$vm" 2>/dev/null; wait; exit 143' TERM
    # What the machine writes for us goes through the one directory that it shares.
    mkdir -p "$directory"
    for tries in 1 2; do
        : >"$directory/skipped"
        printf -- '-- lab: %s %s\n' "$name" "$devices" >"$directory.said"
        answer=0
        FATHOM_SKIP_LOG=$directory/skipped \
            scripts/lab/lab --with "$devices" --dir "$directory" --time 2700 -- \
            sh -c 'cd "$1" && shift && exec "$@"' sh "$PWD/crates/fathom" "$program" "lab::${name}::" --test-threads=1 \
            >>"$directory.said" 2>&1 &
        vm=$!
        wait "$vm" || answer=$?
        # The lab's own failures: a machine that never came up, or no end in time.
        [ "$answer" -eq 124 ] || [ "$answer" -eq 125 ] || break
    done
    return "$answer"
}

# lab_one_ended: for lab_tests, whose variables it uses. Waits for the group that ends next, and shows what it said.
lab_one_ended() {
    local pid name
    wait -n -p pid "${!running[@]}" || status=1
    name=${running[$pid]}
    unset "running[$pid]"
    cat "$directory/lab-$name.said"
    cat "$directory/lab-$name.said" >>"$directory/tests"
    cat "$directory/lab-$name/skipped" >>"$FATHOM_SKIP_LOG"
}

# lab_tests DIRECTORY [GROUP...]: runs the groups, all of them by default, as many at a time as there are processors (four at most, as each machine
# takes up to 3 GiB); what the tests say also goes to DIRECTORY/tests. Where there is no kernel to boot, that is one skip, with the reason.
lab_tests() {
    local directory=$1 program reason status=0 group name wanted most
    local -A running=()
    shift
    wanted=" $* "
    if ! reason=$(scripts/lab/lab --fetch 2>&1); then
        echo "SKIP lab: $(echo "$reason" | tail -n 1)" | tee -a "$FATHOM_SKIP_LOG"
        return 0
    fi
    echo "${reason##*$'\n'}"
    # Asked of the whole workspace, as `make test` builds it: for a part of it features differ, and much would be built again.
    program=$(cargo test --workspace --no-run --locked --message-format=json 2>/dev/null |
        sed -n 's/.*"executable":"\([^"]*\/it-[^"]*\)".*/\1/p' | tail -n 1)
    [ -n "$program" ] || { echo "the tests do not build"; return 1; }
    most=$(nproc)
    [ "$most" -le 4 ] || most=4
    for group in "${lab_groups[@]}"; do
        name=${group%% *}
        [ "$wanted" = "  " ] || [[ $wanted == *" $name "* ]] || continue
        [ "${#running[@]}" -lt "$most" ] || lab_one_ended
        lab_group "$directory/lab-$name" "$program" "$name" "${group#* }" &
        running[$!]=$name
    done
    while [ "${#running[@]}" -gt 0 ]; do
        lab_one_ended
    done
    return $status
}
