#!/usr/bin/env bash
# Builds the JVM binding and tests it: the native library with cargo, the jar with Maven, as root also on a separate file system on a loop device. The last line is `N passed, N failed, N skipped`; the exit status is 0 when nothing failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/rust.sh
. scripts/jvm.sh
. scripts/steps.sh
need_maven || exit 1

begin_steps fathom-test-jvm
clean_up() {
    ! mountpoint -q "$scratch/mount" || umount "$scratch/mount"
    rm -rf "$scratch"
}
trap clean_up EXIT

in_subshell() {
    ("$@")
}

make_file_system() {
    mkdir "$scratch/mount"
    truncate -s 128M "$scratch/image"
    mkfs.ext4 -q "$scratch/image" && mount -o loop "$scratch/image" "$scratch/mount" || return 1
    FATHOM_JVM_MOUNT=$scratch/mount
    FATHOM_JVM_DEVICE=$(findmnt -no SOURCE "$scratch/mount")
    export FATHOM_JVM_MOUNT FATHOM_JVM_DEVICE
}

native() {
    (cd bindings/jvm/native && CARGO_TARGET_DIR=$native_output "$@") 2>&1 | tee -a "$scratch/tests"
}

maven() {
    (cd bindings/jvm && mvn -B -ntp verify) >"$scratch/maven" 2>&1
    local status=$?
    grep -E 'Tests run:|ERROR|BUILD' "$scratch/maven"
    return $status
}

# Adds up an attribute of the test suites of the jar.
sum_of_jar() {
    cat bindings/jvm/library/target/failsafe-reports/TEST-*.xml 2>/dev/null | grep -A3 '<testsuite ' |
        grep -o " $1=\"[0-9]*\"" | tr -dc '0-9\n' | awk '{ sum += $1 } END { print sum + 0 }'
}

# Follows docs/jvm.md: a new project, from an empty directory to a result.
example() {
    if [ ! -x "$FATHOM_TEST_PROGRAM" ]; then
        echo "SKIP the example: no fathom is built ($FATHOM_TEST_PROGRAM)" | tee -a "$FATHOM_SKIP_LOG"
        return 0
    fi
    local source=bindings/jvm/example/src/main/java/example/First.java
    if grep -qvxFf docs/jvm.md "$source"; then
        echo "docs/jvm.md lacks lines of $source:"
        grep -vxFf docs/jvm.md "$source"
        return 1
    fi
    scripts/install-jvm.sh || return 1
    mkdir "$scratch/path" && ln -s "$FATHOM_TEST_PROGRAM" "$scratch/path/fathom"
    cp -r bindings/jvm/example "$scratch/example" && cd "$scratch/example" || return 1
    PATH=$scratch/path:$PATH mvn -B -ntp -q -Dstyle.color=never compile exec:java -Dexec.mainClass=example.First | tee "$scratch/output" || return 1
    grep -q 'fathom: [0-9]* IOPS' "$scratch/output" && grep -q '1,024 blocks read with ' "$scratch/output"
}

# The coroutine example, after the first one has created its file.
kotlin_example() {
    [ -f "$scratch/example/first.data" ] || { echo "SKIP the example in Kotlin: the first one has made no file" | tee -a "$FATHOM_SKIP_LOG"; return 0; }
    local source=bindings/jvm/example-kotlin/src/main/kotlin/example/Coroutines.kt
    if grep -qvxFf docs/jvm.md "$source"; then
        echo "docs/jvm.md lacks lines of $source:"
        grep -vxFf docs/jvm.md "$source"
        return 1
    fi
    cp -r bindings/jvm/example-kotlin "$scratch/kotlin" && cp "$scratch/example/first.data" "$scratch/kotlin/" && cd "$scratch/kotlin" || return 1
    if ! mvn -B -ntp -q dependency:resolve-plugins dependency:resolve >"$scratch/resolved" 2>&1; then
        tail -n 3 "$scratch/resolved"
        echo "SKIP the example in Kotlin: Maven does not get the compiler" | tee -a "$FATHOM_SKIP_LOG"
        return 0
    fi
    mvn -B -ntp -q -Dstyle.color=never compile exec:java -Dexec.mainClass=example.CoroutinesKt | tee "$scratch/output" || return 1
    grep -q '4194304 bytes read with ' "$scratch/output"
}

# Checks that the POM contains everything required by Maven Central, and that placeholders are in one place.
central() {
    (cd bindings/jvm && mvn -B -ntp -q -Prelease -pl library -am -DskipTests -DskipITs package) || return 1
    local pom=bindings/jvm/library/target/effective.xml element kind place
    (cd bindings/jvm && mvn -B -ntp -q -pl library help:effective-pom -Doutput="$PWD/library/target/effective.xml") || return 1
    for element in name description url licenses developers scm; do
        grep -q "^ *<$element>" "$pom" || { echo "the POM has no <$element>"; return 1; }
    done
    place=$(sed -n 's/^repository = "\(.*\)"/\1/p' Cargo.toml)
    # The POM's URL and that of its source control; Maven appends a module's name to those of a parent.
    if [ "$(grep -c "<url>$place</url>" "$pom")" -ne 2 ] || grep -qF "$place/" "$pom"; then
        echo "the POM's addresses are not those of Cargo.toml, $place"
        grep -n '<url>' "$pom"
        return 1
    fi
    # grep reads to the end: with -q it would close the pipe of unzip early, which counts as a failure.
    for kind in sources javadoc; do
        unzip -l bindings/jvm/library/target/fathom-jvm-*-$kind.jar | grep 'dev/fathom/io/OpenFile\.' >/dev/null || { echo "no jar with $kind"; return 1; }
    done
}

# The jar contains the licences of the contents of its native library.
licences() {
    unzip -p bindings/jvm/library/target/fathom-jvm-[0-9]*[0-9].jar META-INF/COPYRIGHT | grep '^io-uring [0-9.]* (MIT OR Apache-2.0)'
}

# Classes compiled by a newer JDK would break an older one.
rm -rf bindings/jvm/library/target
step "formatting" cargo fmt --manifest-path bindings/jvm/native/Cargo.toml -- --check
step "lints" native cargo clippy -q --all-targets --locked -- -D warnings
step "tests of the native library" native cargo test -q --locked
step "native libraries" build_natives
if [ "$(id -u)" -eq 0 ]; then
    step "a file system on a loop device" make_file_system
fi
# The program under test; without it, the tests of Fathom.run are skipped.
export FATHOM_TEST_PROGRAM=${FATHOM_TEST_PROGRAM:-$(realpath -m "$target_directory/debug/fathom")}
step "tests of the jar, with $(java -version 2>&1 | head -1)" maven
step "licences in the jar" licences
step "the example of docs/jvm.md" in_subshell example
step "the example of docs/jvm.md in Kotlin" in_subshell kotlin_example
step "what Maven Central demands" central

printf '\n== summary\n'
failed=$(($(sum_of_jar failures) + $(sum_of_jar errors)))
skipped=$(($(sum_of_jar skipped) + $(grep -c . "$FATHOM_SKIP_LOG")))
sed 's/^SKIP /skipped: /' "$FATHOM_SKIP_LOG"
grep -ho '<skipped message="[^"]*"' bindings/jvm/library/target/failsafe-reports/TEST-*.xml 2>/dev/null | sort | uniq -c
for title in "${failed_steps[@]}"; do
    echo "failed step: $title"
    [[ $title == "tests of the jar"* && $failed -gt 0 ]] || failed=$((failed + 1))
done
jar_passed=$(($(sum_of_jar tests) - $(sum_of_jar failures) - $(sum_of_jar errors) - $(sum_of_jar skipped)))
echo "$(($(sum_of passed) + jar_passed)) passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
