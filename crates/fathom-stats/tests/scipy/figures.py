"""Reads pairs of sets as JSON and prints what SciPy and NumPy make of each. What needs more values is null."""

import json
import sys

import numpy
from scipy import special, stats


def figures(first, second):
    first, second = numpy.array(first), numpy.array(second)
    found = dict.fromkeys(["welch", "welch_p", "welch_low", "welch_high", "shift", "hedges"])
    found["median"] = numpy.median(second)
    found["quantile"] = numpy.quantile(second, 0.9)
    found["interval_low"], found["interval_high"] = median_interval(second)
    ties = len(set(first) | set(second)) < len(first) + len(second)
    test = stats.mannwhitneyu(first, second, method="asymptotic" if ties else "exact")
    found["u"], found["u_p"] = test.statistic, test.pvalue
    differences = second[:, None] - first[None, :]
    found["cliff"] = numpy.sign(differences).mean()
    if min(len(first), len(second)) >= 2:
        welch = stats.ttest_ind(numpy.log(second), numpy.log(first), equal_var=False)
        interval = welch.confidence_interval(0.95)
        found["welch"] = numpy.log(second).mean() - numpy.log(first).mean()
        found["welch_p"], found["welch_low"], found["welch_high"] = welch.pvalue, interval.low, interval.high
        degrees = len(first) + len(second) - 2
        pooled = (first.var(ddof=1) * (len(first) - 1) + second.var(ddof=1) * (len(second) - 1)) / degrees
        correction = numpy.exp(special.gammaln(degrees / 2) - special.gammaln((degrees - 1) / 2))
        correction /= numpy.sqrt(degrees / 2)
        found["hedges"] = correction * (second.mean() - first.mean()) / numpy.sqrt(pooled)
    if min(len(first), len(second)) >= 4:
        found["shift"] = numpy.median(differences)
    return {name: None if value is None else float(value) for name, value in found.items()}


def median_interval(values):
    if len(values) < 6:
        mean, error = values.mean(), stats.sem(values)
        return stats.t.interval(0.95, len(values) - 1, loc=mean, scale=error)
    interval = stats.quantile_test(values, q=0, p=0.5).confidence_interval(0.95)
    return interval.low, interval.high


print(json.dumps([figures(pair["first"], pair["second"]) for pair in json.load(sys.stdin)]))
