#!/usr/bin/env python3
# hardware: Red Hat's inventory of machines; measures disks, alone and together.
# From: pypi hardware 0.33.0
# Needs: losetup
# Compared: the entries of its list, but for the figures in it
"""hardware's original disk benchmark, on two loop devices."""

import os
import subprocess
from pathlib import Path

from consumer import figures, say, skip
from hardware.benchmark import disk

if os.geteuid() != 0:
    skip("loop devices are made by root alone")
devices = []
try:
    for name in ("a", "b"):
        Path(name).write_bytes(bytes(8 << 20))
        made = subprocess.run(
            ["losetup", "--find", "--show", "--direct-io=off", name], capture_output=True, text=True, check=False
        )
        if made.returncode != 0:
            skip(f"no loop device: {made.stderr.strip()}")
        devices.append(made.stdout.strip())
    disk.RAMP_TIME = 1
    found = [("disk", device.removeprefix("/dev/"), "size", "1") for device in devices]
    disk.disk_perf(found, destructive=True, running_time=1)
    measured = found[len(devices) :]
    say("entries", len(measured))
    for _, device, name, value in measured:
        say(f"disk {devices.index('/dev/' + device)} {name}", figures(value))
finally:
    for device in devices:
        subprocess.run(["losetup", "--detach", device], check=False)
