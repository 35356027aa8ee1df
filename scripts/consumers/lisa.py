#!/usr/bin/env python3
# lisa: Microsoft's tests of virtual machines; extracts IOPS and latency from the normal report.
# From: pypi mslisa 20260921.2 --no-deps
# Compared: that its pattern finds both figures, for each way of access
"""LISA's own command line and parser; the rest of LISA, which needs machines to log in to, is left out."""

import ast
import os
import re
from decimal import Decimal
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from consumer import figure, fio, say

(source,) = Path(os.environ["CONSUMER"]).glob("lib/python*/site-packages/lisa/tools/fio.py")
classes = {node.name: node for node in ast.parse(source.read_text()).body if isinstance(node, ast.ClassDef)}
wanted = {"get_result_from_raw_output", "_get_command"}
classes["Fio"].bases = []
classes["Fio"].body = [
    node
    for node in classes["Fio"].body
    if (isinstance(node, ast.FunctionDef) and node.name in wanted)
    or (isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_result_pattern")
]
module = ast.Module([classes["FIOResult"], classes["IoEngine"], classes["Fio"]], [])
names: dict[str, Any] = {"re": re, "Decimal": Decimal, "Enum": Enum, "BSD": type("BSD", (), {})}
exec(compile(module, "lisa", "exec"), names)  # noqa: S102 (executing it is the purpose of this consumer)
tool = names["Fio"]()
tool.node = SimpleNamespace(os="Linux")
for mode in ("randread", "randwrite", "read", "write"):
    for depth, jobs in ((1, 2), (4, 2)):
        command = tool._get_command("iteration1", "data", mode, depth, jobs, 1, "4K", 16, time_based=True, overwrite=True)
        found = tool.get_result_from_raw_output(mode, fio(command), depth, jobs)
        say(f"{mode} {depth} depth", found.qdepth)
        figure(f"{mode} {depth} IOPS", found.iops)
        figure(f"{mode} {depth} latency", found.latency)
# Its data integrity test.
command = tool._get_command(
    "verify", "data", "write", 2, 1, 0, "", 16, do_verify=True, bsrange="512-256K", verify_dump=True, verify="crc32c"
)
found = tool.get_result_from_raw_output("write", fio(command), 2, 1)
figure("verified IOPS", found.iops)
