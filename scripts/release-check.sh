#!/usr/bin/env bash
# Dry run of a release: checks that version, change log and tag agree, builds the source archive, fills in the
# recipes, and checks them and the workflow with the tools that are installed. It lists the checks that it
# skipped. The last line is `N passed, N failed, N skipped`.
#
# release-check.sh [TAG]     TAG, such as v0.2.0, is the tag of the release; without it, checks that only a release
# needs are skipped
#
# target/release-files has the archive, the recipes and the text of the release afterwards.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/rust.sh
. scripts/set-up.sh
. packaging/version.sh
needed_packages=(ruby:ruby nix-bin:nix-instantiate shellcheck:shellcheck)
tag=${1:-}
version=$(workspace_value version)
repository=$(workspace_value repository)
maintainer=$(workspace_value authors)
files=$(realpath -m "$target_directory")/release-files
scratch=$(mktemp -d "${TMPDIR:-/tmp}/fathom-release.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
. scripts/checks.sh

# with TOOL TITLE COMMAND...: a check whose tool may be missing.
with() {
    if command -v "$1" >/dev/null; then check "${@:2}"; else skip "$2" "$1 is not installed"; fi
}

versions_agree() {
    local other status=0
    while read -r other; do
        [ "$other" = "$version" ] || { echo "Cargo.toml has $version, and $other for a crate of the workspace"; status=1; }
    done < <(sed -n 's/^fathom-[a-z-]* = { path = .*version = "\(.*\)" }/\1/p' Cargo.toml)
    other=$(sed -n '/<parent>/,/<\/parent>/d; s/^  <version>\(.*\)<\/version>/\1/p' bindings/jvm/pom.xml | head -n 1)
    [ "$other" = "$version" ] || { echo "bindings/jvm/pom.xml has $other, Cargo.toml $version"; status=1; }
    return $status
}

# The section of CHANGELOG.md about this version.
changes() {
    awk -v wanted="## $version" 'index($0, wanted) == 1 && length($0) >= length(wanted) { on = 1; next } /^## / { on = 0 } on' CHANGELOG.md
}

tag_agrees() {
    [ "$tag" = "v$version" ] || { echo "the tag is $tag, and Cargo.toml has $version"; return 1; }
    grep -qE "^## $version - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md || { echo "CHANGELOG.md has no line '## $version - DATE'"; return 1; }
    [ -n "$(changes)" ] || { echo "CHANGELOG.md says nothing of $version"; return 1; }
    [ -z "$(git status --porcelain)" ] || { echo "there are changes that are not committed"; return 1; }
}

address_is_set() {
    local value status=0
    for value in "$repository" "$maintainer"; do
        case $value in
        '' | *.invalid*) echo "Cargo.toml, [workspace.package]: \"$value\" is a place holder"; status=1 ;;
        esac
    done
    grep -qF "<fathom.repository>$repository</fathom.repository>" bindings/jvm/pom.xml ||
        { echo "bindings/jvm/pom.xml: fathom.repository is not Cargo.toml's $repository"; status=1; }
    return $status
}

# The archive is reproducible: the same commit gives the same bytes.
source_archive() {
    git archive --format=tar --prefix="fathom-$version/" HEAD | gzip -9n >"$1"
}

archive_is_whole() {
    local unpacked=$scratch/fathom-$version
    source_archive "$scratch/again.tar.gz" && cmp "$scratch/again.tar.gz" "$archive" || return
    tar -xzf "$archive" -C "$scratch" || return
    git ls-tree -r --name-only HEAD | sort >"$scratch/tracked"
    (cd "$unpacked" && find . ! -type d -printf '%P\n' | sort) | diff "$scratch/tracked" - || return
    # Recipes build it with the crates listed in its Cargo.lock.
    cargo metadata --quiet --locked --format-version=1 --manifest-path "$unpacked/Cargo.toml" >/dev/null
}

# The hash that Nix computes for an unpacked archive.
unpacked_hash() {
    nix-hash --type sha256 --base32 "$scratch/fathom-$version" 2>/dev/null || echo "@SHA256_UNPACKED@"
}

# recipe FILE: fills in the values of this release.
recipe() {
    sed -e "s|@VERSION@|$version|g; s|@REPOSITORY@|$repository|g; s|@MAINTAINER@|$maintainer|g" \
        -e "s|@SHA256@|$(sha256sum <"$archive" | cut -d ' ' -f 1)|g; s|@SHA512@|$(sha512sum <"$archive" | cut -d ' ' -f 1)|g" \
        -e "s|@SHA256_UNPACKED@|$(unpacked_hash)|g; /fills in the values between @ signs/d" "$1"
}

# Checks a shell recipe: its syntax, its fields, and shellcheck.
shell_recipe() {
    local said
    bash -n "$1" || return
    said=$(srcdir=/source pkgdir=/package bash -c '. "$1" && echo "$pkgver $url $source $builddir"' - "$1") || return
    echo "$said"
    [[ $said == "$version $repository $repository/releases/download/v$version/fathom-$version-source.tar.gz"* ]] || return
    # Packaging tools read and set variables that the file itself does not use or define.
    shellcheck --shell=bash --severity=warning --exclude=SC2034,SC2154,SC2164 "$1"
}

# Programs from PyPI and the Go module proxy, in the cache.
install_checkers() {
    local python=$tools_cache/check-jsonschema-0.39.0
    [ -x "$python/bin/check-jsonschema" ] || install_python_packages "$python" check-jsonschema==0.39.0
    PATH=$PATH:$python/bin
    if ! command -v actionlint >/dev/null && command -v go >/dev/null; then
        [ -x "$tools_cache/actionlint-1.7.7/actionlint" ] || GOFLAGS=-modcacherw GOBIN=$tools_cache/actionlint-1.7.7 \
            timeout 600 go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.7 >"$scratch/go.log" 2>&1 ||
            echo "note: actionlint could not be built: $(tail -n 1 "$scratch/go.log")"
        PATH=$PATH:$tools_cache/actionlint-1.7.7
    fi
}

install_missing_packages "$scratch/apt"
install_checkers
rm -rf "$files"
mkdir -p "$files/recipes"
echo "== fathom $version${tag:+, tag $tag}"

check "all versions are $version" versions_agree
if [ -n "$tag" ]; then
    check "tag, version and change log agree" tag_agrees
    check "repository and maintainer are set" address_is_set
else
    skip "tag, version and change log agree" "no tag was given"
    if address_is_set >/dev/null; then passed=$((passed + 1)); else skip "repository and maintainer are set" "they are place holders in Cargo.toml"; fi
fi
changes >"$files/changes.md"

archive=$files/fathom-$version-source.tar.gz
source_archive "$archive"
check "the source archive is whole, the same when made again, and has its Cargo.lock" archive_is_whole

for file in packaging/homebrew/fathom.rb packaging/nix/default.nix packaging/aur/PKGBUILD packaging/alpine/APKBUILD; do
    mkdir -p "$files/recipes/$(basename "$(dirname "$file")")"
    recipe "$file" >"$files/recipes/${file#packaging/}"
done
check "the recipes have all values" bash -c '! grep -rn "@[A-Z0-9_]*@" "$1"' - "$files/recipes"
with ruby "Homebrew's recipe is Ruby" ruby -c "$files/recipes/homebrew/fathom.rb"
with nix-instantiate "Nix's recipe is Nix" nix-instantiate --parse "$files/recipes/nix/default.nix"
with shellcheck "the AUR's recipe is shell and names the archive" shell_recipe "$files/recipes/aur/PKGBUILD"
with shellcheck "Alpine's recipe is shell and names the archive" shell_recipe "$files/recipes/alpine/APKBUILD"

with check-jsonschema "the workflow follows its schema" check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
with check-jsonschema "the forms for issues follow their schema" bash -c '
    check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml &&
    check-jsonschema --builtin-schema vendor.github-issue-forms $(ls .github/ISSUE_TEMPLATE/*.yml | grep -v config.yml)'
with actionlint "actionlint finds nothing in the workflow" actionlint .github/workflows/*.yml

cat <<END

Not checked here: that the recipes build (brew, makepkg, abuild and nix-build with nixpkgs are on no machine of the project), that the workflow runs at
the forge, and its signatures and provenance, which need the forge's identity. make lint, make test and make packages are separate.
$files has the archive, the recipes and the text of the release.
$passed passed, $failed failed, $skipped skipped
END
[ "$failed" -eq 0 ]
