#!/bin/sh
# Installs a built program and its documents in the layout of packages and recipes.
#
#   install.sh PROGRAM PREFIX
#
# RUNS names a program that runs on this machine if PROGRAM is for another one; ZSH_COMPLETIONS names the directory below
# PREFIX/share/zsh (site-functions).
set -eu
[ $# -eq 2 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 1; }
program=$1
prefix=$2
runs=${RUNS:-$program}
papers=$(dirname "$0")/..
zsh=$prefix/share/zsh/${ZSH_COMPLETIONS:-site-functions}
install -D -m 755 "$program" "$prefix/bin/fathom"
mkdir -p "$prefix/share/man/man1" "$prefix/share/bash-completion/completions" "$prefix/share/fish/vendor_completions.d" "$zsh"
"$runs" man >"$prefix/share/man/man1/fathom.1"
"$runs" completion bash >"$prefix/share/bash-completion/completions/fathom"
"$runs" completion zsh >"$zsh/_fathom"
"$runs" completion fish >"$prefix/share/fish/vendor_completions.d/fathom.fish"
install -D -m 644 "$papers/include/fathom_engine.h" "$prefix/include/fathom_engine.h"
mkdir -p "$prefix/share/doc/fathom"
for paper in LICENSE-MIT LICENSE-APACHE README.md packaging/grafana-dashboard.json packaging/grafana-history.json; do
    install -m 644 "$papers/$paper" "$prefix/share/doc/fathom"
done
