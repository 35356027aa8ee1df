#!/usr/bin/env python3
# benchmark-operator: runs fio servers in pods and a client with a file of their names, and reads the client's JSON.
# From: own the operator's use of fio
# Compared: the entries of hosts and of all clients, with their counts, options and keys
"""Two servers and a client."""

import subprocess
import time
from pathlib import Path

from consumer import document, say, tree

servers = []
for name in ("one", "two"):
    Path(name).mkdir()
    servers.append(subprocess.Popen(["fio", f"--server=sock:{Path(name).absolute()}/s"], stdout=subprocess.DEVNULL, cwd=name))
try:
    for name in ("one", "two"):
        while not Path(name, "s").exists():
            time.sleep(0.02)
    job = "[global]\nfilename=data\nsize=2M\nbs=4KiB\nioengine=psync\nfsync_on_close=1\ngroup_reporting\nnumjobs=2\n[write]\nrw=write\n[randread]\nstonewall\nrw=randread\n"
    Path("fiojob").write_text(job)
    words = [word for name in ("one", "two") for word in (f"--client=sock:{Path(name).absolute()}/s", "fiojob")]
    done = subprocess.run(["fio", *words, "--output-format=json", "--output=out.json"], stdout=subprocess.DEVNULL, check=False)
    say("exit status", done.returncode)
    text = Path("out.json").read_text()
    result = document(text[text.index("{") :])
    say("keys", [key for key in result if not key.startswith("fathom ")])
    entries = sorted(result["client_stats"], key=lambda each: (each["jobname"], each.get("hostname", "")))
    for each in entries:
        # For merged clones, fio reports only those of the first group (docs/compatibility.md).
        options = each.get("job options") if each["jobname"] == "write" else ""
        counts = (
            each["error"],
            each["read"]["total_ios"],
            each["write"]["total_ios"],
            each["read"]["io_bytes"],
            each["write"]["io_bytes"],
        )
        say(each["jobname"], (bool(each.get("hostname")), options, counts))
        directions = {key: each[key] for key in ("read", "write", "trim", "sync")}
        say("keys", sorted(line.split(" = ")[0] for line in tree(directions)))
finally:
    for server in servers:
        server.terminate()
        server.wait()
