#!/usr/bin/env bash
# Builds the documentation as a site with search, into target/site. Its sources keep their paths from the
# repository, so that every link works both in the repository and on the site. mdBook is built into the cache
# the first time.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh

mdbook_version=0.5.4
mdbook=$tools_cache/mdbook-$mdbook_version/bin/mdbook
if [ ! -x "$mdbook" ]; then
    echo "building mdbook $mdbook_version"
    build=$(mktemp -d "${TMPDIR:-/tmp}/fathom-mdbook.XXXXXX")
    trap 'rm -rf "$build"' EXIT
    # Without debug information, which would only take time and space.
    CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --locked --debug --root "$tools_cache/mdbook-$mdbook_version" --target-dir "$build" \
        --no-default-features --features search --version "$mdbook_version" mdbook
fi

sources=$(realpath -m "$target_directory")/site-sources
site=$(realpath -m "$target_directory")/site
rm -rf "$sources" "$site"
mkdir -p "$sources/src"
cp docs/book.toml "$sources"
# Every page, and the files that pages link to.
git ls-files --cached --others --exclude-standard -- '*.md' 'docs/*' 'examples/*' 'include/*' 'packaging/*' 'LICENSE-*' | while read -r file; do
    case $file in
    docs/SUMMARY.md | docs/book.toml) continue ;;
    docs/* | examples/* | include/* | packaging/* | LICENSE-*) ;;
    */*) continue ;;
    esac
    [ -f "$file" ] || continue
    mkdir -p "$sources/src/$(dirname "$file")"
    cp "$file" "$sources/src/$file"
done
# mdBook expects SUMMARY.md at the root, so its links get the prefix docs/.
sed -E 's#\]\(\.\./#](#; t; s#\]\(#](docs/#' docs/SUMMARY.md >"$sources/src/SUMMARY.md"
"$mdbook" build --dest-dir "$site" "$sources"
# mdBook renders README.md as index.html but does not change links to it, so both names exist.
for readme in . docs; do
    cp "$site/$readme/index.html" "$site/$readme/README.html"
done
echo "$site/index.html"
