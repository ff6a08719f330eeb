"""What is said of a seed that failed: why, the end of its trace, and how to see it again."""

from collections import deque

from tests.simulation.run import Run
from tests.simulation.witness import Violation

TAIL_LINES = 30


def failure(seed: int, run: Run | None = None, *, loses: bool = False) -> str:
    """Run a seed; return what is to be said if it fails, and nothing if it does not.

    The trace comes from a second run: the same seed does the same again.
    """
    run = run or Run(seed, loses=loses)
    try:
        run.to_the_end()
    except (Violation, Exception) as broken:  # noqa: BLE001 whatever ends a run is its failure
        return _told(seed, broken, run.loses)
    return ""


def _told(seed: int, broken: BaseException, loses: bool) -> str:
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    again = Run(seed, tail.append, loses=loses)
    try:
        again.to_the_end()
    except (Violation, Exception) as twice:  # noqa: BLE001 as above
        same = str(twice) == str(broken)
    else:
        same = False
    note = "" if same else "\n(the second run went otherwise: something reads a clock or dice)"
    lines = "\n".join(tail)
    return (
        f"{lines}\nseed {seed}: {type(broken).__name__}: {broken}{note}\n"
        f"again: python -m tests.simulation --trace {seed}{' --set-back' if loses else ''}"
    )
