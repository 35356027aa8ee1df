#!/usr/bin/env bash
# Builds the JVM binding, with the native library inside its jar, and installs it into Maven's local repository.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh
. scripts/jvm.sh
need_maven
build_natives
cd bindings/jvm
mvn -B -ntp -q -pl library -am -DskipTests install
echo "installed dev.fathom:fathom-jvm:0.1.0"
