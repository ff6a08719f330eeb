"""Cuts long foreign texts to one line that still says what happened.

A message of Ray begins with the same words for every job and ends with a log; a log ends with the
exception, or with what wrapped it. The part that answers "why" is seldom at the beginning.
"""

import re
from collections.abc import Iterable
from enum import IntEnum

from jobledger.core.values.tracebacks import SPEAKER, said

LINE_MAX = 2000
"""A longer line is looked at no further than this, in characters."""

_EXCEPTION = re.compile(
    r"^(?:Exception in thread \"[^\"]{0,80}\" |Caused by: )?"
    r"(?:[A-Za-z_]\w*\.){0,9}([A-Z]\w*(?:Error|Exception|ExceptionGroup|Interrupt|Exit))\b(.*)"
)
"""The last line of a traceback of Python, or the first of one of Java."""

_RAISED = re.compile(r"^(?:[A-Za-z_]\w*\.){0,9}([A-Za-z_]\w*)(?:\(\w{1,80}\))?(?::|$)")
"""The line below a traceback's frames, whatever the exception is called."""

_PANIC = re.compile(r"^(?:panic: |fatal error: |thread '[^']{0,80}' .{0,40}panicked at )")
"""The last words of a program in Go or Rust."""

_WRAPPERS = frozenset(
    {
        "BaseExceptionGroup",
        "CalledProcessError",
        "ChildFailedError",
        "ExceptionGroup",
        "RayTaskError",
        "SubprocessCalledProcessError",
        "SystemException",
        "SystemExit",
        "TrainingFailedError",
        "TuneError",
        "UserCodeException",
        "WorkerGroupError",
    }
)
"""Exceptions that say only that another process, or a function of the user's, had one."""

_DIRECT_CAUSE = "The above exception was the direct cause of the following exception"

_TROUBLE = re.compile(
    r"\b(?:error|fatal|failed|failure|panicked|killed|denied|refused|not found|cannot|can't|unable"
    r"|out of memory|no such|not enough|insufficient|invalid|exceeded|missing|abort(?:ed|ing)?"
    r"|timed out|timeout|unknown|unsupported|mismatch|expired)\b",
    re.IGNORECASE,
)

_WORD = re.compile(r"\w")

_ERROR = re.compile(r"\b(?:ERROR|FATAL|CRITICAL|SEVERE|[Ee]rror:|[Ff]atal:)")
"""A program that calls it an error."""

_NO_TROUBLE = re.compile(
    r"\b(?:DEBUG|INFO)\b|\blevel=(?:debug|info)\b|: ulimit: open files: cannot modify limit: "
)
"""And one that calls it none; and what the shell of each head says that may not raise its limit of
files, which KubeRay tries and does not need."""

_SUMMARY = re.compile(
    r"^(?:\S+ FAILED$|Failures:$|<NO_OTHER_FAILURES>|Root Cause \(first observed)"
    r"|failed \(exitcode: -?\d+\) local_rank|sigkill_handler\]"
    r"|\bERR cli\.py:\d{1,6} -- Job '[^']{1,80}' failed$"
    r"|^jobset failed due to|^Job has reached the specified|^Container \S+ for pod \S+ failed with"
)
"""What torchrun, DeepSpeed's launcher, Ray's submitter, JobSet and Job write once something of
theirs has failed."""

_LOG_FOLLOWS = re.compile(r", last available logs \(truncated to [\d,]{1,12} chars\):$")
"""How the first line of Ray's message of a failed entrypoint ends: the end of its log follows."""


class Weight(IntEnum):
    """How much a line says of why a log ends."""

    NOTHING = 0
    LAST = 1
    """It is the last one."""
    WRAPPER = 2
    """It says that something else failed."""
    TROUBLE = 3
    """It speaks of trouble."""
    ERROR = 4
    """It is called an error."""
    EXCEPTION = 5


def telling_line(lines: Iterable[str]) -> str:
    """Return the line of a log that says most of why it ended; empty if there is none.

    See `telling`.
    """
    return telling(lines)[1]


def telling(lines: Iterable[str]) -> tuple[Weight, str]:
    """Return the line of a log that says most of why it ended, and how much that is.

    It is the last exception that wraps no other process's; of exceptions that were raised from one
    another it is the one that began it. Else it is the last line that is called an error; else the
    last that speaks of trouble; else what wraps; else the last line. A line that ends with a colon
    is told with the next one.
    """
    found: dict[Weight, str] = {}
    unfinished: Weight | None = None
    is_chained = below_header = False
    for line in said(text[:LINE_MAX] for text in lines):
        body = _LOG_FOLLOWS.sub("", line.body)
        if not body or not _WORD.search(body):
            continue
        if unfinished is not None:
            found[unfinished] += f" {body}"
            unfinished = None
        if body.startswith(_DIRECT_CAUSE):
            is_chained = Weight.EXCEPTION in found
            continue
        weight = _weight(body, is_below_frames=line.after_frames or below_header)
        below_header = body.startswith("Traceback (most recent call last)")
        found[Weight.LAST] = body
        if weight is Weight.EXCEPTION and is_chained:
            is_chained = False
            continue
        if weight is Weight.WRAPPER:
            found.pop(Weight.TROUBLE, None)
            found.pop(Weight.ERROR, None)
        if weight is not Weight.LAST:
            found[weight] = body
            unfinished = weight if body.endswith(":") else None
    best = max(found, default=Weight.NOTHING)
    return best, found.get(best, "")


def _weight(body: str, *, is_below_frames: bool) -> Weight:
    raised = _EXCEPTION.match(body) or (_RAISED.match(body) if is_below_frames else None)
    if raised is not None:
        return Weight.WRAPPER if raised[1] in _WRAPPERS else Weight.EXCEPTION
    if _PANIC.match(body):
        return Weight.EXCEPTION
    if _SUMMARY.search(body) or _NO_TROUBLE.search(body):
        return Weight.LAST
    if _ERROR.search(body):
        return Weight.ERROR
    return Weight.TROUBLE if _TROUBLE.search(body) else Weight.LAST


def gist(text: str, limit: int) -> str:
    """Return a text on one line of at most `limit` characters: its beginning and what tells most.

    A text that fits is returned whole.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    whole = " ".join(" ".join(lines).split())
    if len(whole) <= limit:
        return whole
    whole_first = " ".join(SPEAKER.sub("", lines[0][:LINE_MAX]).split())
    first = _LOG_FOLLOWS.sub("", whole_first)
    rest = lines if first == whole_first else lines[1:]
    tells_most = " ".join(telling_line(rest).split())
    if len(lines) == 1 or tells_most == first:
        return _middle_left_out(whole, limit)
    begin = cut(first, limit // 3)
    joint = " " if begin.endswith("…") else " … "
    return f"{begin}{joint}{cut(tells_most, limit - len(begin) - len(joint))}"


def around(text: str, found: re.Match[str], limit: int) -> str:
    """Return the line of a text in which a match begins, cut around the match to `limit`.

    A line that matches near its beginning is shown with its end: there stands why, where one error
    is told within another.
    """
    begins = text.rfind("\n", 0, found.start()) + 1
    ends = text.find("\n", found.start())
    line = text[begins : ends if ends >= 0 else len(text)]
    from_line = found.start() - begins
    before = min(from_line, max(0, limit // 3))
    if len(line) <= limit:
        return " ".join(line.split())
    if from_line + len(found[0]) < limit // 2:
        return _middle_left_out(" ".join(line.split()), limit)
    start = from_line - before
    shown = " ".join(line[start:].split())
    return cut(shown, limit) if start == 0 else f"…{cut(shown, limit - 1)}"


def cut(text: str, limit: int) -> str:
    """Return the beginning of a text, at most `limit` characters with the mark that ends it."""
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def _middle_left_out(line: str, limit: int) -> str:
    """Return both ends of a line, each with half of the room."""
    if len(line) <= limit:
        return line
    begin = line[: limit // 2].rstrip()
    return f"{begin}…{line[len(line) - (limit - len(begin) - 1) :].lstrip()}"
