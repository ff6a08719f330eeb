"""Reads the end of the log of one run of a container, which may have been started again since.

Of a container that is started again there are the log of its present run and that of the one before
("previous"). A node keeps the last run that has ended: it removes the one before about when that
has ended too, a moment before a status tells of it.
Source: Kubernetes, PodLogOptions; kubelet, maxPerPodContainer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from jobledger.adapters.service.evidence.captured import EMPTY
from jobledger.core.errors import RequestInvalid
from jobledger.core.jobs.evidence.evidence import LOG_BYTES_MAX, LOG_LINES_MAX, ContainerEnd
from jobledger.core.jobs.evidence.pods import log_end
from jobledger.core.jobs.evidence.runs import RunNow, run_now
from jobledger.core.values.documents import Manifest

_ANSWER_BYTES_MAX = 2 * LOG_BYTES_MAX
"""Of a log that is asked for, so much is sent at most."""


MEANWHILE = "the container was started again meanwhile: the log that is kept may be a later run's"


class _ReadLog(Protocol):
    """Reads the log of one run of one container."""

    def __call__(self, *, tail_lines: int, limit_bytes: int) -> str:
        """Return its last lines, of those the first bytes."""


class _ReadRun(Protocol):
    """Reads the log of the present run of one container, or of the previous one."""

    def __call__(self, *, tail_lines: int, limit_bytes: int, previous: bool = ...) -> str:
        """Return its last lines, of those the first bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLog:
    """The log of a run of a container that a Pod's status told of."""

    read: _ReadRun
    run: ContainerEnd
    look: Callable[[], Manifest | None]
    """Returns the Pod as it is now, None if it is gone; raises if another has its name."""
    keep: Callable[[str, bool], None]
    """Keeps the end of a log, and whether there was more before; in place of what it kept."""

    def kept(self) -> str:
        """Keep the log of the run, or else that of one after it.

        Return why the first could not be had, if what was kept may be another's; else nothing.
        Raises as the port does, if there is neither.
        """
        try:
            found = end_of_log(partial(self.read, previous=self.run.previous))
        except RequestInvalid as error:
            return self._kept_otherwise(error)
        now = self._now()
        self.keep(*found)
        if self.run.previous:
            return "" if now is RunNow.PREVIOUS else MEANWHILE
        if now is RunNow.PRESENT:
            return ""
        return self._replaced() or ("" if now is RunNow.PREVIOUS else MEANWHILE)

    def _now(self) -> RunNow:
        there = self.look()
        return run_now(self.run, there if there is not None else {})

    def _kept_otherwise(self, lost: RequestInvalid) -> str:
        """Keep the log of a run after one whose log is gone; or the log of before, by now."""
        now = self._now()
        if self.run.previous:
            self.keep(*end_of_log(self.read))
            return str(lost)
        if now is RunNow.PRESENT:
            raise lost
        self.keep(*end_of_log(partial(self.read, previous=True)))
        return "" if now is RunNow.PREVIOUS else str(lost)

    def _replaced(self) -> str:
        """Keep the previous log in place of the present one, which may be a run's that goes on."""
        try:
            end, cut = end_of_log(partial(self.read, previous=True))
        except RequestInvalid as error:
            return str(error)
        if not end:
            return EMPTY
        self.keep(end, cut)
        return ""


def end_of_log(read: _ReadLog) -> tuple[str, bool]:
    """Return the last lines of a log, and whether there was more before them.

    A kubelet looks for the beginning of the last lines, and sends so many bytes from there
    (Kubernetes, PodLogOptions `tailLines` and `limitBytes`): an answer that is full lacks its end,
    where a traceback stands. Then fewer lines are asked for.
    """
    lines = LOG_LINES_MAX + 1  # one more than is kept shows that there is more
    content = read(tail_lines=lines, limit_bytes=_ANSWER_BYTES_MAX)
    while lines > 1 and len(content.encode()) >= _ANSWER_BYTES_MAX:
        lines //= 2
        content = read(tail_lines=lines, limit_bytes=_ANSWER_BYTES_MAX)
    end, cut = log_end(content)
    return end, cut or lines <= LOG_LINES_MAX
