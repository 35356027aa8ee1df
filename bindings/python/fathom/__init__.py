"""fathom tests storage: `fathom.run(name="a", rw="randread", size="1g")`."""

from .program import FathomError, find_program
from .result import Direction, JobResult, Latency, Result
from .running import Progress, run

__all__ = ["Direction", "FathomError", "JobResult", "Latency", "Progress", "Result", "find_program", "run"]
