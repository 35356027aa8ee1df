#!/usr/bin/env python3
# kubestr: measures a storage class with four jobs, and prints minimum, maximum and average IOPS and bandwidth of each.
# From: own kubestr's printed results
# Compared: the lines, but for the figures
"""Small versions of kubestr's four jobs, and its output lines."""

from pathlib import Path

from consumer import document, figures, fio, say

jobs = {
    "read_iops": ("randread", "4K"),
    "write_iops": ("randwrite", "4K"),
    "read_bw": ("randread", "128K"),
    "write_bw": ("randwrite", "128k"),
}
text = "[global]\nrandrepeat=0\nverify=0\nioengine=libaio\ndirect=0\ngtod_reduce=1\n"
for number, (name, (rw, size)) in enumerate(jobs.items()):
    text += (
        f"[job{number}]\nname={name}\nbs={size}\niodepth=64\nsize=8M\nreadwrite={rw}\ntime_based\nramp_time=1s\nruntime=2s\n"
    )
Path("kubestr.fio").write_text(text)
result = document(fio("--directory . kubestr.fio --output-format=json"))
options = result["global options"]
print(
    f"ioengine={options['ioengine']} verify={options['verify']} direct={options['direct']} gtod_reduce={options['gtod_reduce']}"
)
say("disks have names", all(disk["name"] for disk in result["disk_util"]))
for job in result["jobs"]:
    own = job["job options"]
    print(
        f"JobName: {own['name']}  blocksize={own['bs'].translate(str.maketrans('0123456789', 'abcdefghij'))} filesize={own['size']} rw={own['rw']}"
    )
    for direction in ("read", "write"):
        stats = job[direction]
        if stats["iops"] or stats["bw"]:
            print(
                figures(
                    f"{direction}: IOPS={stats['iops']} BW={stats['bw']} iops: min={stats['iops_min']} max={stats['iops_max']} avg={stats['iops_mean']}"
                )
            )
            print(figures(f"bw: min={stats['bw_min']} max={stats['bw_max']} avg={stats['bw_mean']}"))
