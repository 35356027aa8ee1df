#!/usr/bin/env bash
# Measures a new volume of each storage class with `fathom quick`, and prints its grid. Volume and pod are removed at the end.
#
#   grid.sh IMAGE CLASS...     for example: grid.sh registry.example/fathom:0.1.0 standard premium-rwo
#
# KUBECTL names another kubectl, or one with options ("kubectl --context=test"); SIZE (8Gi) is the size of a volume, TIME (5s) that of each
# of the eight tests. Test output goes to standard output, progress to standard error.
set -euo pipefail
if [ $# -lt 2 ]; then
    sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
    exit 1
fi
read -ra kubectl <<<"${KUBECTL:-kubectl}"
image=$1
shift

manifest() {
    cat <<END
apiVersion: batch/v1
kind: Job
metadata:
  name: $1
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      enableServiceLinks: false
      securityContext:
        runAsNonRoot: true
        runAsUser: 65534
        runAsGroup: 65534
        fsGroup: 65534
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: fathom
          image: $image
          args: [quick, "--size=2g", "--time=${TIME:-5s}", /data]
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
          resources:
            requests:
              cpu: "1"
              memory: 256Mi
          volumeMounts:
            - name: data
              mountPath: /data
            - name: tmp
              mountPath: /tmp
      volumes:
        # Created with the pod and removed with it.
        - name: data
          ephemeral:
            volumeClaimTemplate:
              spec:
                accessModes: [ReadWriteOnce]
                storageClassName: "$2"
                resources:
                  requests:
                    storage: ${SIZE:-8Gi}
        - name: tmp
          emptyDir: {}
END
}

# has_begun JOB: waits until its pod runs or has ended. `kubectl wait` fails while there is no pod yet.
has_begun() {
    local waited phase
    for ((waited = 0; waited < 600; waited += 2)); do
        phase=$("${kubectl[@]}" get pod -l "job-name=$1" -o 'jsonpath={.items[*].status.phase}')
        case $phase in Running | Succeeded | Failed) return ;; esac
        sleep 2
    done
    echo "$1: after 10 minutes its pod is ${phase:-not there}; its events:" >&2
    "${kubectl[@]}" describe pod -l "job-name=$1" | sed -n '/^Events:/,$p' >&2
    "${kubectl[@]}" delete job "$1" >/dev/null
    return 1
}

status=0
for class in "$@"; do
    # Names of storage classes may contain dots, but names of pods may not.
    name=fathom-grid-${class//./-}
    trap '"${kubectl[@]}" delete job "$name" --ignore-not-found >/dev/null' EXIT
    echo "storage class $class: about a minute, and until its volume is there" >&2
    manifest "$name" "$class" | "${kubectl[@]}" apply -f - >/dev/null
    has_begun "$name" || { status=1; continue; }
    echo "== $class"
    "${kubectl[@]}" logs --follow "job/$name" || status=1
    "${kubectl[@]}" wait --for=condition=Complete --timeout=1m "job/$name" >/dev/null || status=1
    "${kubectl[@]}" delete job "$name" >/dev/null
done
exit $status
