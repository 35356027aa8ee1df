#!/usr/bin/env python3
# cdmpy: prints a table like CrystalDiskMark's, from the JSON of one job file.
# From: pypi cdmpy 0.3.2
# Compared: the table, but for the figures in it
"""All tests of cdmpy in their smallest size."""

import re
import subprocess

from consumer import figures, say

done = subprocess.run(
    ["python", "-m", "cdm", ".", "-s", "2m", "-n", "1", "-x", "70", "-a", "seq,2,1", "-a", "rnd,4,2"],
    stdout=subprocess.PIPE,
    text=True,
    check=False,
)
say("exit status", done.returncode)
table = [line for line in done.stdout.splitlines() if line.startswith("|")]
say("rows", len(table))
for line in table:
    print(
        figures(
            re.sub(
                r"(SEQ|RND)\w+ Q\w+ *T\w+",
                lambda found: "_".join(found.group().split()).translate(str.maketrans("0123456789", "abcdefghij")),
                line,
            )
        )
    )
