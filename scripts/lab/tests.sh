# Sourced by scripts/test.sh and test-lab.sh: the tests on real kernel devices, in virtual machines (docs/lab.md).

# The kernel and QEMU, below the target directory.
export LAB_CACHE=${LAB_CACHE:-$(realpath -m "$target_directory")/tools/lab}

# Each group is a module of crates/fathom/tests/it/lab and the devices of its machine.
lab_groups=(
    "blocks nvme,fdp,null_blk,virtio,virtio_scsi,scsi,dm"
    "commands nvme,zns,fdp,pi,pi64,pi_ext,md,md_ext,scsi,virtio_scsi"
    "flash mtd,nand:badblocks=3,5"
    "persistent pmem,dax"
    "rdma rdma"
    "scsi scsi,virtio_scsi"
    "scsi_dif scsi_dif"
    "zoned_scsi zoned_scsi"
    "zones zns,zoned_null"
)

# lab_tests DIRECTORY [GROUP...]: runs the groups, all of them by default; what the tests say also goes to DIRECTORY/tests. Where there is no
# kernel to boot, that is one skip, with the reason.
lab_tests() {
    local directory=$1 program reason status=0 group wanted tries answer
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
    # What the machine writes for us goes through the one directory that it shares.
    mkdir -p "$directory/lab"
    for group in "${lab_groups[@]}"; do
        [ "$wanted" = "  " ] || [[ $wanted == *" ${group%% *} "* ]] || continue
        : >"$directory/lab/skipped"
        for tries in 1 2; do
            printf -- '-- lab: %s\n' "$group"
            answer=0
            FATHOM_SKIP_LOG=$directory/lab/skipped \
                scripts/lab/lab --with "${group#* }" --dir "$directory/lab" --time 900 -- \
                sh -c 'cd "$1" && shift && exec "$@"' sh "$PWD/crates/fathom" "$program" "lab::${group%% *}::" --test-threads=1 \
                2>&1 | tee "$directory/lab/said" || answer=$?
            # The lab's own failures: a machine that never came up, or no end in time.
            [ "$answer" -eq 124 ] || [ "$answer" -eq 125 ] || break
        done
        cat "$directory/lab/said" >>"$directory/tests"
        cat "$directory/lab/skipped" >>"$FATHOM_SKIP_LOG"
        [ "$answer" -eq 0 ] || status=1
    done
    return $status
}
