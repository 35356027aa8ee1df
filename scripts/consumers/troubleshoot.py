#!/usr/bin/env python3
# troubleshoot: cluster checks of Replicated and kURL; decodes JSON into Go types, which refuse numbers of another type.
# From: go github.com/replicatedhq/troubleshoot v0.133.0
# Needs: go
# Compared: the content of its structures for each document, and the texts made from it
"""troubleshoot's original structures and texts, without its Kubernetes dependencies."""

import os
import re
import subprocess
from pathlib import Path

from consumer import document, figures, fio, say

(source,) = Path(os.environ["CONSUMER"]).glob(
    "pkg/mod/github.com/replicatedhq/troubleshoot@*/pkg/collect/host_filesystem_performance.go"
)
text = source.read_text()
parts = re.findall(
    r"^type (?:Fio|FSPerf)\w+ struct \{\n.*?^\}\n|^func \(\w (?:Fio|FSPerf)\w+\) \w+\(\) \w+ \{\n.*?^\}\n|^var fsPerfTmpl.*?`\)\)\n",
    text,
    re.MULTILINE | re.DOTALL,
)
main = """func main() {
	var result FioResult
	if err := json.NewDecoder(os.Stdin).Decode(&result); err != nil { panic(err) }
	fmt.Println(result.String())
	fmt.Println(result.Jobs[0].Sync.FSPerfResults().String())
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil { panic(err) }
}
"""
imports = '"bytes"; "encoding/json"; "fmt"; "os"; "text/template"; "time"'
Path("main.go").write_text(f"package main\nimport ({imports})\n{''.join(parts)}{main}")
subprocess.run(["go", "build", "-o", "reader", "main.go"], check=True, env={**os.environ, "GOFLAGS": "-mod=mod"})
runs = {
    "etcd": "--rw=write --ioengine=sync --fdatasync=1 --directory=. --size=256k --bs=2k --name=fsperf --runtime=120",
    "mixed": "--rw=randrw --ioengine=libaio --iodepth=4 --filename=data --size=1M --bs=4k --name=mixed --gtod_reduce=1 --rate_iops=100",
}
for name, words in runs.items():
    printed = fio(words + " --output-format=json")
    done = subprocess.run(["./reader"], input=printed, capture_output=True, text=True, check=True)
    *lines, encoded = done.stdout.rstrip("\n").split("\n")
    seen, job = document(encoded)["jobs"][0], document(printed)["jobs"][0]
    say(
        f"{name} counts",
        [(seen[each]["total_ios"], seen[each]["io_bytes"]) for each in ("read", "write") if seen[each].get("total_ios")],
    )
    say(
        f"{name} same as in the document",
        [seen[each].get("lat_ns", {}).get("max", 0) == job[each]["lat_ns"]["max"] for each in ("read", "write", "sync")],
    )
    say(f"{name} options", seen["job options"])
    for line in lines:
        if "util=" not in line and "FIO version" not in line:
            print(
                figures(re.sub(r"(?<=: )[\d.]+[nµm]?s|(?<=: )0s", "1", line))
                if re.match(r" *(p[\d.]+|Min|Max|Avg):", line)
                else figures(line)
            )
