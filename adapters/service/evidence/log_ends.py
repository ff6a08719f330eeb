"""Reads the end of a container's log, though a limit in bytes counts from the beginning."""

from typing import Protocol

from jobledger.core.jobs.evidence.evidence import LOG_BYTES_MAX, LOG_LINES_MAX
from jobledger.core.jobs.evidence.pods import log_end

ANSWER_BYTES_MAX = 2 * LOG_BYTES_MAX
"""Of a log that is asked for, so much is sent at most."""


class ReadLog(Protocol):
    """Reads the log of one container."""

    def __call__(self, *, tail_lines: int, limit_bytes: int) -> str:
        """Return its last lines, of those the first bytes."""
        ...


def end_of_log(read: ReadLog) -> tuple[str, bool]:
    """Return the last lines of a log, and whether there was more before them.

    A kubelet looks for the beginning of the last lines, and sends so many bytes from there
    (Kubernetes, PodLogOptions `tailLines` and `limitBytes`): an answer that is full lacks its end,
    where a traceback stands. Then fewer lines are asked for.
    """
    lines = LOG_LINES_MAX + 1  # one more than is kept shows that there is more
    content = read(tail_lines=lines, limit_bytes=ANSWER_BYTES_MAX)
    while lines > 1 and len(content.encode()) >= ANSWER_BYTES_MAX:
        lines //= 2
        content = read(tail_lines=lines, limit_bytes=ANSWER_BYTES_MAX)
    end, cut = log_end(content)
    return end, cut or lines <= LOG_LINES_MAX
