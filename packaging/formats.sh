# Sourced by scripts/packages.sh: creates packages from the programs, one function per format.

# make_all OUTPUT BUILDS: all formats for all architectures.
make_all() {
    local output=$1 builds=$2 work architecture triple native
    work=$(mktemp -d "$scratch/work.XXXXXX")
    # The texts in the packages come from a program that runs here.
    build "$(uname -m)-unknown-linux-musl" "$builds"
    native=$builds/$(uname -m)-unknown-linux-musl/dist/fathom
    links "$work/links"
    header "$work/header"
    for architecture in "${architectures[@]}"; do
        echo "== $architecture: programs"
        build "$architecture-unknown-linux-musl" "$builds"
        build "$architecture-unknown-linux-gnu.$oldest_glibc" "$builds"
        triple=$architecture-unknown-linux-gnu
        tree "$work/$architecture" "$builds/$triple/dist/fathom" "$triple"
        triple=$architecture-unknown-linux-musl
        tree "$work/$architecture-static" "$builds/$triple/dist/fathom" "$triple"
        echo "== $architecture: packages"
        deb fathom "$work/$architecture" "$(debian_name "$architecture")" "$output"
        rpm_packages "$work/$architecture" "$work/links" "$work/header" "$architecture" "$output"
        tarball "$work/$architecture-static" "$architecture" "$output"
        image "$work/$architecture-static" "$architecture" "$output"
        # One for each C library, with the licences of its contents.
        wheels "$work/$architecture" "$output"
        wheels "$work/$architecture-static" "$output"
    done
    deb fathom-fio-compat "$work/links" all "$output"
    deb fathom-dev "$work/header" all "$output"
    components "$output"
    (cd "$output" && sha256sum -- * >SHA256SUMS)
}

debian_name() {
    case $1 in
    x86_64) echo amd64 ;;
    aarch64) echo arm64 ;;
    esac
}

# deb PACKAGE TREE ARCHITECTURE OUTPUT
deb() {
    local root=$scratch/deb size papers
    rm -rf "$root"
    cp -a "$2" "$root"
    # The location required by Debian's policy.
    [ ! -f "$root/usr/share/doc/fathom/LICENSE-MIT" ] || rm "$root"/usr/share/doc/fathom/LICENSE-*
    papers=$root/usr/share/doc/$1
    mkdir -p "$papers" "$root/usr/share/lintian/overrides"
    # The program's file covers everything inside.
    [ -f "$papers/copyright" ] || install -m 644 packaging/deb/copyright "$papers"
    debian_changes "$1" | gzip -9n >"$papers/changelog.Debian.gz"
    sed "s/@PACKAGE@/$1/" packaging/deb/lintian-overrides >"$root/usr/share/lintian/overrides/$1"
    [ "$1" = fathom ] || sed -i '/copyright/d' "$root/usr/share/lintian/overrides/$1"
    size=$(find "$root" -type f -printf '%s\n' | awk '{ sum += $1 } END { print int(sum / 1024) + 1 }')
    mkdir "$root/DEBIAN"
    sed "s/@VERSION@/$version-1/; s/@ARCHITECTURE@/$3/; s/@SIZE@/$size/; s|@MAINTAINER@|$(workspace_value authors)|; s|@REPOSITORY@|$(workspace_value repository)|" \
        "packaging/deb/$1.control" >"$root/DEBIAN/control"
    (cd "$root" && find usr -type f | sort | xargs md5sum >DEBIAN/md5sums)
    settle "$root"
    dpkg-deb --root-owner-group -Zxz --build "$root" "$4/$1_$version-1_$3.deb" >/dev/null
}

# debian_changes PACKAGE: in Debian's format, which names the release; the changes are in the program's
# changelog.gz.
debian_changes() {
    printf '%s (%s-1) unstable; urgency=medium\n\n  * Packaged from the project%s repository.\n\n -- %s  %s\n' \
        "$1" "$version" "'s" "$(workspace_value authors)" "$(date -R -u -d "@$SOURCE_DATE_EPOCH")"
}

# rpm_packages TREE LINKS HEADER ARCHITECTURE OUTPUT: all three packages; those of the links and of the header are the same for all architectures.
rpm_packages() {
    local top=$scratch/rpm
    rm -rf "$top"
    mkdir -p "$top"
    (cd "$2" && find . ! -type d -printf '/%P\n' | sort) >"$top/files"
    rpmbuild -bb --quiet --target "$4" --define "_topdir $top" --define "_rpmdir $top/out" --define "_buildhost localhost" \
        --define "fathom_version $version" --define "tree $1" --define "compat $2" --define "header $3/usr/include" --define "compat_files $top/files" \
        --define "repository $(workspace_value repository)" --define "maintainer $(workspace_value authors)" \
        --define "day $(date -u -d "@$SOURCE_DATE_EPOCH" '+%a %b %d %Y')" --define "use_source_date_epoch_as_buildtime 1" --define "clamp_mtime_to_source_date_epoch 1" \
        --define "_build_id_links none" --define "__os_install_post %{nil}" --define "debug_package %{nil}" \
        packaging/rpm/fathom.spec
    find "$top/out" -name '*.rpm' -exec cp {} "$5" \;
}

# tarball TREE ARCHITECTURE OUTPUT: the static program and its documents.
tarball() {
    local name=fathom-$version-$2-linux-static
    mkdir "$scratch/$name"
    cp -a "$1/usr/bin/fathom" "$1"/usr/share/doc/fathom/{copyright,LICENSE-MIT,LICENSE-APACHE,README.md} \
        "$1/usr/share/man/man1/fathom.1.gz" "$scratch/$name"
    packed "$scratch" "$name" | gzip -9n >"$3/$name.tar.gz"
    rm -rf "${scratch:?}/$name"
}

# packed DIRECTORY WHAT: writes a reproducible tar archive to standard output.
packed() {
    tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rw,go=rX --mtime="@$SOURCE_DATE_EPOCH" -C "$1" -cf - "$2"
}

# image TREE ARCHITECTURE OUTPUT: an image with only the static program; jobs are in /data. Image names cannot
# contain a plus sign.
image() {
    local storage=(--root "$scratch/storage" --runroot "$scratch/run" --storage-driver vfs) container
    container=$(buildah "${storage[@]}" from --arch "$(debian_name "$2")" scratch)
    mkdir -p "$scratch/image/data" "$scratch/image/tmp"
    chmod 1777 "$scratch/image/tmp"
    cp "$1/usr/bin/fathom" "$1/usr/share/doc/fathom/copyright" "$scratch/image"
    settle "$scratch/image"
    buildah "${storage[@]}" copy -q "$container" "$scratch/image" / >/dev/null
    buildah "${storage[@]}" config --entrypoint '["/fathom"]' --workingdir /data --arch "$(debian_name "$2")" --os linux \
        --label org.opencontainers.image.title=fathom --label "org.opencontainers.image.version=$version" \
        --label "org.opencontainers.image.licenses=MIT OR Apache-2.0" "$container"
    buildah "${storage[@]}" commit -q --format oci --timestamp "$SOURCE_DATE_EPOCH" "$container" \
        "oci:$scratch/oci:fathom:${version//+/-}" >/dev/null
    buildah "${storage[@]}" rm "$container" >/dev/null
    # An archive created by buildah contains the time of its creation.
    packed "$scratch/oci" . >"$3/fathom-$version-$2.oci.tar"
    rm -rf "$scratch/image" "$scratch/oci"
}

# wheels TREE OUTPUT: for Python. The wheel with fio's names is the same for all programs.
wheels() {
    FATHOM_VERSION=$version scripts/wheel.sh "$2" "$1/usr/bin/fathom" "$1/usr/share/doc/fathom/copyright" >/dev/null
}

# components OUTPUT: all packages inside the program, as CycloneDX; the serial number is that of the commit.
components() {
    cargo cyclonedx -q --features libhdfs --format json --manifest-path crates/fathom/Cargo.toml --override-filename fathom.cdx
    # It identifies the crates by their location, which differs on every machine.
    sed "s|file://$PWD/|file:///fathom/|g" crates/fathom/fathom.cdx.json >"$1/fathom-$version.cdx.json"
    find crates xtask -name 'fathom.cdx.json' -delete
}
