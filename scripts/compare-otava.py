"""Judges the series of `proof series` on standard input with Apache Otava, and prints its table."""

import collections
import json
import sys
import time

from otava.analysis import compute_change_points

table = collections.defaultdict(lambda: {"series": 0, "any": 0, "near": 0, "elsewhere": 0})
spent = 0.0
for line in sys.stdin:
    series = json.loads(line)
    start = time.perf_counter()
    # The defaults of `otava analyze`, and the same smallest change as fathom's.
    found, _ = compute_change_points(series["values"], window_len=50, max_pvalue=0.001, min_magnitude=0.02)
    spent += time.perf_counter() - start
    row = table[series["noise"], series["course"]]
    places = [change.index for change in found]
    row["series"] += 1
    row["any"] += bool(places)
    if series["place"] is not None:
        row["near"] += any(abs(place - series["place"]) <= 5 for place in places)
        row["elsewhere"] += any(abs(place - series["place"]) > 5 for place in places)

print("| noise | course | any | within 5 | elsewhere |")
for (noise, course), row in table.items():
    shares = " | ".join(f"{100 * row[key] / row['series']:.2f} %" for key in ("any", "near", "elsewhere"))
    print(f"| {noise} | {course} | {shares} |")
print(f"{1000 * spent / max(1, sum(row['series'] for row in table.values())):.1f} ms per series")
