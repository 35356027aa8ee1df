"""fathom tests storage: `fathom.run(name="a", rw="randread", size="1g")`."""

from .comparing import Comparison, Condition, Difference, compare
from .curving import Curve, Line, Response, Step, curve
from .program import FathomError, find_program
from .result import Direction, Disk, Finding, Group, GroupTotal, JobResult, Latency, Point, Result, Sync
from .running import Progress, Rates, StopRun, result_of_interrupted, run
from .sweeping import Cell, Figure, Sweep, sweep

__all__ = [
    "Cell",
    "Comparison",
    "Condition",
    "Curve",
    "Difference",
    "Direction",
    "Disk",
    "FathomError",
    "Figure",
    "Finding",
    "Group",
    "GroupTotal",
    "JobResult",
    "Latency",
    "Line",
    "Point",
    "Progress",
    "Rates",
    "Response",
    "Result",
    "Step",
    "StopRun",
    "Sweep",
    "Sync",
    "compare",
    "curve",
    "find_program",
    "result_of_interrupted",
    "run",
    "sweep",
]
