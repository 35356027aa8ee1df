# Sourced by scripts that make packages and wheels: the version of their contents.

# The build backend for wheels; hatchling output is reproducible.
# shellcheck disable=SC2034 # for the scripts that make wheels
wheel_tools=(hatchling==1.27.0 pyelftools==0.32)

# 0.1.0 for the tag v0.1.0; between tags also the number of commits since and the commit. `+` sorts after the release.
version_of_commit() {
    local declared described
    declared=$(workspace_value version)
    described=$(git describe --tags --match 'v[0-9]*' --dirty=+dirty 2>/dev/null) || {
        echo "$declared+$(git rev-list --count HEAD).g$(git describe --always --exclude '*' --dirty=.dirty)"
        return
    }
    described=${described#v}
    # v0.1.0-12-gabc becomes 0.1.0+12.gabc.
    echo "$described" | sed 's/-\([0-9]*\)-g/+\1.g/'
}

# workspace_value KEY: prints a value of [workspace.package] in Cargo.toml, the only definition of version,
# repository and authors.
workspace_value() {
    sed -n '/^\[workspace.package\]/,/^$/s/^'"$1"' = \[\{0,1\}"\([^"]*\)".*/\1/p' Cargo.toml
}
