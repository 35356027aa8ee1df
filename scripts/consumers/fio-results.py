#!/usr/bin/env python3
# fio-results: a crate with types for the JSON, which must have every field with the right type.
# From: crate fio-results 0.1.0
# Needs: cargo
# Compared: whether it decodes, and all of its content except the figures
"""The crate in a program that prints the decoded result."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from consumer import figures, fio, say

package = Path(os.environ["CONSUMER"])
Path("src").mkdir()
shutil.copy(package / "Cargo.toml", ".")
shutil.copy(package / "Cargo.lock", ".")
Path("src/main.rs").write_text(
    """fn main() {
    let result: fio_results::FioResult = serde_json::from_reader(std::io::stdin()).unwrap_or_else(|error| panic!("{error}"));
    println!("{result:#?}");
}
"""
)
build = ["cargo", "build", "--quiet", "--locked"]
subprocess.run(build, check=True, env={**os.environ, "CARGO_TARGET_DIR": str(package / "target")})
words = (
    "--output-format=json --filename=data --size=1M --cpus_allowed=0 --cpus_allowed_policy=split --ioscheduler=none --direct=0"
)
words += " --rw=randrw --bs=4k --ioengine=libaio --iodepth=4 --runtime=10 --numjobs=2 --name=job"
done = subprocess.run([package / "target/debug/reader"], input=fio(words), capture_output=True, text=True, check=False)
say("decodes", done.returncode == 0 or done.stderr)
# The disk statistics of this machine include I/O from other processes.
report = done.stdout.split("disk_util:")[0]
say("I/Os", re.findall(r"total_ios: (\d+)", report))
for line in report.splitlines():
    if not re.search(r"fio_version|time|job_start|\d{4}-\d\d-\d\d|elapsed|majf|ctx", line):
        print(re.sub(r"\b[N0]\b", "figure", figures(line)).strip())
