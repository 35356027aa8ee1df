#!/usr/bin/env bash
# Validates the manifests of packaging/kubernetes against the strict schemas of Kubernetes: the files, the manifests that grid.sh applies, and the output of kustomize if it (or kubectl) is installed.
# A missing tool results in a line `SKIP ...`, also in FATHOM_SKIP_LOG.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/rust.sh
. scripts/set-up.sh
validator_version=1.37.0
scratch=$(mktemp -d "${TMPDIR:-/tmp}/fathom-manifests.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

skip() {
    echo "SKIP manifests: $1" | tee -a "${FATHOM_SKIP_LOG:-/dev/null}"
}

environment=$tools_cache/kubernetes-validate-$validator_version
validator=$environment/bin/kubernetes-validate
if [ ! -x "$validator" ] && ! install_python_packages "$environment" "kubernetes-validate==$validator_version"; then
    rm -rf "$environment"
    skip "kubernetes-validate could not be installed"
    exit 0
fi

# Runs grid.sh with a fake kubectl, which records the manifests to apply and reports that the pod has started.
cat >"$scratch/kubectl" <<'END'
#!/usr/bin/env bash
case $1 in
apply) cat >"$KEPT" ;;
get) echo Running ;;
esac
END
chmod +x "$scratch/kubectl"
KEPT=$scratch/grid.yaml KUBECTL=$scratch/kubectl packaging/kubernetes/grid.sh registry.example/fathom:1 some.class >"$scratch/log" 2>&1 ||
    { cat "$scratch/log"; exit 1; }

status=0
mapfile -t files < <(git ls-files 'packaging/kubernetes/*.yaml' | grep -v kustomization)
"$validator" --strict --quiet "${files[@]}" "$scratch/grid.yaml" || status=1

builder=
if command -v kustomize >/dev/null; then builder="kustomize build"; elif command -v kubectl >/dev/null; then builder="kubectl kustomize"; fi
if [ -z "$builder" ]; then
    skip "neither kustomize nor kubectl is installed; the overlays were not built"
else
    for overlay in volume hosts; do
        if $builder "packaging/kubernetes/$overlay" >"$scratch/$overlay.yaml"; then
            "$validator" --strict --quiet "$scratch/$overlay.yaml" || status=1
        else
            status=1
        fi
    done
fi
exit $status
