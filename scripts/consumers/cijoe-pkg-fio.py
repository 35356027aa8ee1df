#!/usr/bin/env python3
# cijoe-pkg-fio: tests systems over ssh; extracts the JSON from a file that also contains the normal report.
# From: pypi cijoe-pkg-fio 0.9.7
# Compared: exit status, counts, options, and every key of the directions in the document that it finds
"""The wrapper's parameters and parser, with commands that run on this machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from cijoe.fio import wrapper
from consumer import say, tree

output = Path("output.txt").absolute()
Path("data").write_bytes(bytes(8 << 20))
(Path.cwd() / "kept").mkdir()


def run(command: str, env: dict[str, str] | None = None) -> tuple[int, Any]:
    """The commands that cijoe runs on its target."""
    done = subprocess.run(["sh", "-c", command], env={**os.environ, **(env or {})}, stdout=subprocess.DEVNULL, check=False)
    return done.returncode, SimpleNamespace(output_dpath=Path.cwd() / "kept")


options = {"fio": {"bin": "fio", "engines": {"libaio": {"type": "builtin"}, "io_uring": {"type": "builtin"}}}}
cijoe = SimpleNamespace(config=SimpleNamespace(options=options), run=run, get=lambda *_: None)
device = {"uri": str(Path("data").absolute()), "labels": []}
for engine in ("libaio", "io_uring"):
    aux = {"size": "4M", "direct": "0", "time_based": "0", "runtime": "0", "ramp_time": "0"}
    status, _ = wrapper.fio_fancy(cijoe, output, "verify", engine, device, aux=aux)
    found = wrapper.dict_from_fio_output_file(output)
    job = found["jobs"][0]
    say(
        engine,
        (status, job["error"], job["write"]["total_ios"], job["read"]["total_ios"], {**job["job options"], "filename": ""}),
    )
say("keys", sorted(line.split(" = ")[0] for name in ("read", "write", "trim", "sync") for line in tree(job[name], name)))
