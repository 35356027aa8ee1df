#!/usr/bin/env python3
# collector: programs that follow a run with --status-interval, as a stream of JSON documents.
# From: own what dashboards of runs read
# Compared: that every document is complete, that counts grow, and the keys of the first and of the last one
"""A stream of documents."""

import json

from consumer import fio, say

text = fio(
    "--name=a --rw=randread --size=4M --bs=4k --filename=data --ioengine=psync --rate_iops=500 --status-interval=1 --output-format=json"
).strip()
documents = []
decoder = json.JSONDecoder()
while text:
    found, end = decoder.raw_decode(text)
    documents.append(found)
    text = text[end:].lstrip()
say("documents", len(documents) >= 2)
counts = [each["jobs"][0]["read"]["total_ios"] for each in documents]
say("the last has everything", counts[-1])
say("counts grow", counts == sorted(counts))
say(
    "elapsed grows",
    [each["jobs"][0]["elapsed"] for each in documents] == sorted(each["jobs"][0]["elapsed"] for each in documents),
)
say(
    "same keys",
    {tuple(key for key in each["jobs"][0] if key not in ("latency_target_ns", "latency_window_us")) for each in documents},
)
