"""Quotes what a failure rests on: the line of its sign, and how the log of the attempt ends."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from jobledger.core.forensics.bundles.dossier import ReadEvent
from jobledger.core.forensics.failures.signs import Sign
from jobledger.core.forensics.story.account import Sentence
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.failures.diagnosis import compiled
from jobledger.core.jobs.failures.guesses import certain
from jobledger.core.jobs.failures.rule import FailureRule
from jobledger.core.jobs.history.signs import Source
from jobledger.core.values.excerpts import Weight, around, cut, gist, telling
from jobledger.core.values.instants import Instant

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
    weight: Weight
    """How much the next says."""
    telling: str
    """The line that says most of why it ended."""
    last: str
    """The very last line that says something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """What is quoted of the signs of a failure."""

    text: str
    version: int
    """The event in which it stands, or that names the log."""
    where: str
    """What said it, for people; empty if the text says so itself."""
    digest: str = ""
    """The log in which it stands; empty: it stands in the event."""
    came_at: Instant | None = None
    """When it came about, where somebody said so."""


_TALK = (Source.RAY, Source.REFUSAL, Source.SUBMITTER, Source.MESSAGE)
"""What has more to say than a word, beside logs."""

_WHERE = {
    Source.REASON: "",
    Source.LOSS: "",
    Source.DECISION: "",
    Source.POD: "Pod",
    Source.RAY: "Ray's message",
    Source.EXIT: "exit code",
    Source.KUBERNETES_EVENT: "Kubernetes Event",
}
"""How a source is named where its own name does not do; empty: the sign says enough."""


def in_short(text: str) -> str:
    """Return what a text says, short enough to stand within a sentence."""
    return gist(text, QUOTE_MAX).rstrip(".")


def digest_of(quote: Quote | None) -> tuple[str, ...]:
    """Return the log in which a quote stands; nothing, if it stands in an event."""
    return (quote.digest,) if quote is not None and quote.digest else ()


def digests_of(found: Iterable[Sign]) -> tuple[str, ...]:
    """Return the logs in which signs stand."""
    return tuple(sorted({sign.digest for sign in found if sign.digest}))


def loss_words(sign: Sign) -> str:
    """Return what was lost, in words."""
    return f"the {_LOST.get(sign.text, sign.text)} was gone"


def quoted(
    rule: FailureRule, matched: Sequence[Sign], signs: Iterable[Sign], ends: Sequence[LogEnd]
) -> Quote | None:
    """Return what decided the class, or what says more beside it; None for a mere loss.

    Args:
        rule: of the class.
        matched: the signs that it found.
        signs: all that there are.
        ends: the ends of the logs of the attempt.
    """
    tells = compiled(rule.telling) if rule.telling else None
    sign = min(matched, key=lambda one: (not (tells and tells.search(one.text)), one.version))
    if sign.source is Source.LOSS:
        return None
    if rule.general:
        return _most_telling_quote(sign, signs, ends)
    clear = certain(sign.text)
    tests = [test.pattern for test in rule.tests if sign.source in test.sources]
    patterns = [compiled(one) for one in ((rule.telling, *tests) if rule.telling else tests)]
    found = next((match for one in patterns if (match := one.search(clear))), None)
    text = gist(sign.text, QUOTE_MAX) if found is None else around(sign.text, found, QUOTE_MAX)
    log = next((end for end in ends if sign.digest and end.digest == sign.digest), None)
    where = f"log of {log.whose}" if log is not None else _where(sign)
    return Quote(
        text=text,
        version=sign.version,
        where=where,
        digest=sign.digest,
        came_at=sign.came_at,
    )


def _most_telling_quote(sign: Sign, signs: Iterable[Sign], ends: Sequence[LogEnd]) -> Quote:
    """Return the line that says most of why an attempt failed, wherever it stands."""
    found = [
        (
            end.weight,
            Quote(
                text=end.telling,
                version=end.version,
                where=f"log of {end.whose}",
                digest=end.digest,
            ),
        )
        for end in ends
    ]
    talk = (one for one in signs if one.source in _TALK and one.attempt == sign.attempt)
    for one in (*talk, sign) if sign.source is Source.REASON else (sign, *talk):
        weight, line = telling(one.text.splitlines())
        text = gist(one.text, QUOTE_MAX) if weight <= Weight.LAST else cut(line, QUOTE_MAX)
        quote = Quote(text=text, version=one.version, where=_where(one), came_at=one.came_at)
        found.append((weight, quote))
    return max(found, key=lambda one: one[0])[1]


def _where(sign: Sign) -> str:
    where = _WHERE.get(sign.source, str(sign.source))
    return f"{where} {sign.whose}".rstrip() if where else ""


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
            kept = [one for one in lines.get(log.digest_of_content, ()) if _says_something(one)]
            if kept:
                weight, line = telling(kept)
                ends[log.digest_of_content] = LogEnd(
                    version=read.version,
                    digest=log.digest_of_content,
                    whose=_whose(log.source, log.container),
                    weight=weight,
                    telling=cut(" ".join(line.split()), QUOTE_MAX),
                    last=cut(" ".join(kept[-1].split()), QUOTE_MAX),
                )
    return list(ends.values())


def _says_something(line: str) -> bool:
    """Return whether a line is no blank and no rule between parts of a log."""
    return any(character.isalnum() for character in line)


def most_telling(ends: Sequence[LogEnd], signs: Sequence[Sign]) -> LogEnd | None:
    """Return the log that a failure's signs stand in, else the first that was kept."""
    digests = {sign.digest for sign in signs}
    return next((end for end in ends if end.digest in digests), ends[0] if ends else None)


def how_it_ends(end: LogEnd | None, shown: str = "") -> Iterator[Sentence]:
    """Yield how a log ends, but for the lines that are shown already."""
    if end is None:
        return
    lines = [text for text in dict.fromkeys((end.telling, end.last)) if text not in shown]
    if lines:
        yield Sentence(
            text=f"The log of {end.whose} ends: {' … '.join(lines).rstrip('.: ')}.",
            versions=(end.version,),
            evidence=(end.digest,),
        )


def _whose(source: str, container: str) -> str:
    if source in ("driver", "submitter"):
        return f"the {source}"
    return f"container {container} of Pod {source}" if container else f"Pod {source}"
