# Sourced by scripts/test-packages.sh: a virtual machine for aarch64 with Debian's kernel. qemu-user does not
# support io_uring and uses the clock of its host; here the program runs on a completely emulated system.

. scripts/apt-beside.sh

# fetch_kernel PLACE: puts kernel, modules and a shell for the machine into PLACE, once.
fetch_kernel() {
    local place=$1 state image package apt_architecture=arm64
    [ ! -e "$place/kernel/boot" ] || return 0
    state=$(mktemp -d "$scratch/apt.XXXXXX")
    begin_apt_beside "$state" "$(debian_release)" || return
    image=$(apt_beside "$state" apt-cache depends linux-image-cloud-arm64 | awk '$2 ~ /^linux-image-[0-9]/ { print $2; exit }')
    mkdir "$state/packages"
    (cd "$state/packages" && apt_beside "$state" apt-get -qq download "$image" busybox-static) || return
    rm -rf "$place"
    mkdir -p "$place/new"
    for package in "$state"/packages/*.deb; do
        dpkg-deb -x "$package" "$place/new" || return
    done
    mv "$place/new" "$place/kernel"
}

# run_machine PLACE PROGRAM SCRIPT: boots the kernel, runs the script with the program at /fathom and a disk of 64 MiB at /dev/vda, and prints what
# the script prints.
run_machine() {
    local kernel=$1/kernel root module version
    root=$(mktemp -d "$scratch/machine.XXXXXX")
    mkdir -p "$root"/tree/{bin,dev,proc,sys,tmp,modules}
    cp "$kernel/bin/busybox" "$root/tree/bin"
    install -m 755 "$2" "$root/tree/fathom"
    install -m 755 "$3" "$root/tree/checks"
    install -m 755 packaging/aarch64/init "$root/tree/init"
    version=$(basename "$kernel"/lib/modules/*)
    PATH=$PATH:/usr/sbin:/sbin depmod -b "$kernel" "$version"
    for module in virtio_mmio virtio_blk ext4; do
        PATH=$PATH:/usr/sbin:/sbin modprobe -d "$kernel" -S "$version" --show-depends "$module"
    done 2>/dev/null | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r module; do
        cp "$module" "$root/tree/modules"
        echo "/modules/${module##*/}" >>"$root/tree/modules/list"
    done
    truncate -s 64M "$root/disk"
    (cd "$root/tree" && find . | cpio -o -H newc --quiet -R 0:0) >"$root/initrd"
    timeout 600 qemu-system-aarch64 -machine virt -cpu max -smp 2 -m 768 -accel tcg,thread=multi -nodefaults -no-user-config -display none -no-reboot \
        -kernel "$kernel"/boot/vmlinuz-* -initrd "$root/initrd" -append "console=ttyAMA0 quiet panic=-1" -serial stdio \
        -drive "file=$root/disk,if=none,id=disk,format=raw,cache=unsafe" -device virtio-blk-device,drive=disk | tr -d '\r'
}
