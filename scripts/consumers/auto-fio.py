#!/usr/bin/env python3
# auto-fio: reads with a series of block sizes and recommends one.
# From: pypi auto-fio 0.1.0
# Compared: the block sizes, and that each has a throughput
"""All modes of auto-fio, on a small file."""

from auto_fio.backends import select_backend
from consumer import figure, say

backend = select_backend("auto")
say("backend", backend.name)
for size, rate in backend.measure(".", [4096, 65536, 1 << 20], 16 << 20):
    figure(f"{size}", rate)
