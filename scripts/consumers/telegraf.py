#!/usr/bin/env python3
# telegraf: an agent that flattens the JSON of any command into numeric fields, and sends them to a time series database.
# From: own its documented rules for JSON
# Compared: the names of the fields of jobs
"""Numbers become fields, named by their path; text and values that are not numbers are dropped."""

from typing import Any

from consumer import document, fio, say


def flat(value: Any, name: str, fields: dict[str, float]) -> None:
    """Adds the numbers found under `value`."""
    if isinstance(value, dict):
        for key, each in value.items():
            flat(each, f"{name}_{key}" if name else key, fields)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            flat(each, f"{name}_{number}" if name else str(number), fields)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        fields[name] = float(value)


for words in (
    "--rw=randrw --fsync=8",
    "--rw=read --gtod_reduce=1",
    "--rw=write --iodepth=8 --ioengine=libaio --lat_percentiles=1",
):
    fields: dict[str, float] = {}
    flat(document(fio(f"--name=a --size=256k --bs=4k --filename=data --output-format=json --disk_util=0 {words}")), "", fields)
    own = {name for name in fields if name.startswith("fathom ") or name.endswith(("latency_target_ns", "latency_window_us"))}
    say(words, sorted(set(fields) - own))
