"""fathom tests storage: `fathom.run(name="a", rw="randread", size="1g")`."""

from importlib import metadata

from .answering import FsyncCheck, Quick, QuickTest, fsync_check, quick
from .comparing import Comparison, Condition, Difference, compare
from .curving import Curve, Line, Response, Step, curve
from .program import FathomError, find_program
from .result import Direction, Disk, Finding, Group, GroupTotal, JobResult, Latency, Point, Result, Sync
from .running import Progress, Rates, StopRun, result_of_interrupted, run
from .storing import History, history
from .sweeping import Cell, Figure, Sweep, sweep

try:
    __version__ = metadata.version("fathom-io")
except metadata.PackageNotFoundError:
    # The package directory is used without installation.
    __version__ = "0"

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
    "FsyncCheck",
    "Group",
    "GroupTotal",
    "History",
    "JobResult",
    "Latency",
    "Line",
    "Point",
    "Progress",
    "Quick",
    "QuickTest",
    "Rates",
    "Response",
    "Result",
    "Step",
    "StopRun",
    "Sweep",
    "Sync",
    "__version__",
    "compare",
    "curve",
    "find_program",
    "fsync_check",
    "history",
    "quick",
    "result_of_interrupted",
    "run",
    "sweep",
]
