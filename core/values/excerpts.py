"""Cuts long foreign texts to one line that still says what happened.

A message of Ray begins with the same words for every job and ends with a log; a log ends with the
exception, or with what wrapped it. The part that answers "why" is seldom at the beginning.
"""

import re
from collections.abc import Sequence

LINE_MAX = 2000
"""A longer line is looked at no further than this, in characters."""

_PREFIX = re.compile(r"^(?:\[[^\]]{1,60}\]:?\s+|\([^)]{1,80}\)\s+)+")
"""Who speaks, before a line: `(train pid=12, ip=10.0.0.3)` of Ray, `[rank0]:` of torchrun."""

_EXCEPTION = re.compile(
    r"^(?:[A-Za-z_]\w*\.){0,9}([A-Z]\w*(?:Error|Exception|Interrupt|Exit))\b(.*)"
)
"""The last line of a traceback of Python."""

_WRAPPERS = frozenset({"ChildFailedError", "CalledProcessError", "SystemExit", "RayTaskError"})
"""Exceptions that say only that another process had one."""

_TROUBLE = re.compile(
    r"\b(?:error|fatal|failed|failure|panicked|killed|denied|refused|not found|cannot|can't|unable"
    r"|out of memory|no such)\b",
    re.IGNORECASE,
)


def telling_line(lines: Sequence[str]) -> str:
    """Return the line of a log that says most of why it ended; empty if there is none.

    It is the last exception of Python that wraps no other process's; else the last line that speaks
    of trouble; else the last line.
    """
    last = wrapper = trouble = ""
    exception = ""
    for line in lines:
        said = _PREFIX.sub("", line[:LINE_MAX].strip())
        if not said:
            continue
        last = said
        found = _EXCEPTION.match(said)
        if found and found[1] in _WRAPPERS:
            wrapper = said
        elif found:
            exception = said
        elif _TROUBLE.search(said):
            trouble = said
    return exception or wrapper or trouble or last


def gist(text: str, limit: int) -> str:
    """Return a text on one line of at most `limit` characters: its beginning and what tells most.

    A text that fits is returned whole.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    whole = " ".join(" ".join(lines).split())
    if len(whole) <= limit:
        return whole
    telling = " ".join(telling_line(lines).split())
    first = " ".join(_PREFIX.sub("", lines[0][:LINE_MAX]).split())
    if len(lines) == 1 or telling == first:
        return _middle_left_out(whole, limit)
    begin = cut(first, limit // 3)
    joint = " " if begin.endswith("…") else " … "
    return f"{begin}{joint}{cut(telling, limit - len(begin) - len(joint))}"


def around(text: str, found: re.Match[str], limit: int) -> str:
    """Return the line of a text in which a match begins, cut around the match to `limit`."""
    begins = text.rfind("\n", 0, found.start()) + 1
    ends = text.find("\n", found.start())
    line = text[begins : ends if ends >= 0 else len(text)]
    from_line = found.start() - begins
    before = min(from_line, max(0, limit // 3))
    if len(line) <= limit:
        return " ".join(line.split())
    start = from_line - before
    shown = " ".join(line[start:].split())
    return cut(shown, limit) if start == 0 else f"…{cut(shown, limit - 1)}"


def cut(text: str, limit: int) -> str:
    """Return the beginning of a text, at most `limit` characters with the mark that ends it."""
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def _middle_left_out(line: str, limit: int) -> str:
    """Return both ends of a line: two thirds of the room are for its beginning."""
    begin = line[: limit * 2 // 3].rstrip()
    return f"{begin}…{line[len(line) - (limit - len(begin) - 1) :].lstrip()}"
