#!/usr/bin/env bash
# watchers: scripts that find the workers of a run by name, count them, stop them with a signal, and read the resulting report.
# From: own pgrep, pidstat and bpftrace by name
# Needs: pgrep jq
# Compared: workers per job and their names, exit status after SIGINT and SIGTERM, and that the report is whole
set -uo pipefail
for signal in INT TERM; do
    # A shell starts background processes with SIGINT ignored.
    perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' fio --name=a --rw=randread --size=1M --bs=4k --filename=data --ioengine=psync --time_based --runtime=600 --numjobs=3 \
        --rate_iops=100 --output-format=json --output="$signal.json" >"$signal.out" 2>"$signal.errors" &
    run=$!
    # The file is laid out first; then each job has a worker. A worker has the name of the program, which is fio
    # unless a loader starts it.
    for _ in $(seq 1000); do
        name=$(cat "/proc/$run/comm")
        [ "$(pgrep -c -P "$run" -x "${name:0:15}")" -lt 3 ] || break
        sleep 0.02
    done
    echo "$signal: workers of the same name: $(pgrep -c -P "$run" -x "${name:0:15}")"
    kill -"$signal" "$run"
    wait "$run"
    echo "$signal: exit status $?"
    jq -c '[.jobs[] | [.error, (.read.runtime >= 0)]]' < <(sed -n '/^{/,$p' "$signal.json")
    # The stream is documented in docs/compatibility.md.
    cat "$signal.errors" "$signal.out" "$signal.json" | grep -om1 "terminating on signal $(kill -l "$signal")$"
done
