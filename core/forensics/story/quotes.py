"""Quotes what a failure rests on: the line of its sign, and how the log of the attempt ends."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobledger.core.forensics.bundles.dossier import ReadEvent
from jobledger.core.forensics.failures.signs import Sign
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.failures.diagnosis import compiled
from jobledger.core.jobs.failures.rule import FailureRule
from jobledger.core.jobs.history.signs import Source
from jobledger.core.values.excerpts import around, cut, gist, telling_line

QUOTE_MAX = 300
"""Characters of a quote."""

_LOST = {"cluster": "RayCluster", "head": "head Pod", "jobset": "JobSet", "ray job": "Ray job"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEnd:
    """How a log that was kept of an attempt ends."""

    version: int
    """The event that names the log."""
    digest: str
    whose: str
    """Of what the log is, for people."""
    telling: str
    """The line that says most of why it ended."""
    last: str
    """The very last line that says something."""


def quoted_sign(sign: Sign, rule: FailureRule, log_ends: Iterable[LogEnd]) -> str:
    """Return the line of a sign that decided the class, or what says more beside it."""
    if sign.source is Source.LOSS:
        return f"the {_LOST.get(sign.text, sign.text)} was gone"
    if rule.general:
        ends = next((end for end in log_ends if end.digest == sign.digest and sign.digest), None)
        return gist(ends.telling if ends is not None else sign.text, QUOTE_MAX)
    patterns = (compiled(test.pattern) for test in rule.tests if sign.source in test.sources)
    found = next((match for one in patterns if (match := one.search(sign.text))), None)
    return gist(sign.text, QUOTE_MAX) if found is None else around(sign.text, found, QUOTE_MAX)


def log_ends(events: Sequence[ReadEvent], signs: Iterable[Sign], attempt: int) -> list[LogEnd]:
    """Return the ends of the logs that were kept of an attempt, in the order they were kept."""
    lines: dict[str, list[str]] = {}
    for sign in signs:
        if sign.source is Source.LOG and sign.attempt == attempt:
            lines.setdefault(sign.digest, []).append(sign.text)
    ends: dict[str, LogEnd] = {}
    for read in events:
        if not isinstance(read.event, shared.EvidenceCaptured) or read.event.attempt != attempt:
            continue
        for log in read.event.logs:
            kept = [line for line in lines.get(log.digest_of_content, ()) if line.strip()]
            if kept:
                ends[log.digest_of_content] = LogEnd(
                    version=read.version,
                    digest=log.digest_of_content,
                    whose=_whose(log.source, log.container),
                    telling=cut(" ".join(telling_line(kept).split()), QUOTE_MAX),
                    last=cut(" ".join(kept[-1].split()), QUOTE_MAX),
                )
    return list(ends.values())


def most_telling(ends: Sequence[LogEnd], signs: Sequence[Sign]) -> LogEnd | None:
    """Return the log that a failure's signs stand in, else the first that was kept."""
    digests = {sign.digest for sign in signs}
    return next((end for end in ends if end.digest in digests), ends[0] if ends else None)


def _whose(source: str, container: str) -> str:
    if source in ("driver", "submitter"):
        return f"the {source}"
    return f"container {container} of Pod {source}" if container else f"Pod {source}"
