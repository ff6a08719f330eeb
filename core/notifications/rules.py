"""Rules of notifications as data: which events of which jobs go to which targets."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from uuid import UUID

from msgspec import Struct

from jobledger.core.catalogue import TYPES
from jobledger.core.jobs.failures.rules import CAUSES
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.kinds import KINDS, ROLES
from jobledger.core.values.ids import EventId
from jobledger.core.values.instants import Instant

OCCASIONS: Mapping[str, frozenset[str]] = {
    name: frozenset(stored for stored, cls in TYPES.items() if issubclass(cls, roles))
    for name, roles in {
        "job-failed": ROLES.failed,
        "job-complete": ROLES.completed,
        "attempt-failed": ROLES.attempt_ended,
        "manifest-rejected": ROLES.manifest_rejected,
    }.items()
}
"""Word for what happens to every kind of job -> stored names of the events that may tell of it."""

FEW = 12
"""So many names are told where one is given that is none; of more, the nearest."""


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule. A field that is left out does not restrict; of several all have to hold."""

    name: str
    """What it is called in messages, and where they wait."""
    targets: tuple[str, ...]
    """Names of the targets that are told."""
    events: tuple[str, ...] = ("job-failed",)
    """Words of `OCCASIONS`, or stored names of events."""
    failures: tuple[str, ...] = ()
    """Causes of failures, or retry groups, each of which stands for all its causes."""
    kinds: tuple[str, ...] = ()
    """Kinds of job."""
    clusters: tuple[str, ...] = ()
    """Kubernetes clusters as the ledger calls them; `*` stands for any characters."""
    namespaces: tuple[str, ...] = ()
    """Namespaces; `*` stands for any characters."""
    labels: Mapping[str, str] = {}
    """Labels that the job's object has, by name; `*` in a value stands for any characters."""

    @property
    def names(self) -> frozenset[str]:
        """Return the stored names of the events that it may ask for."""
        return frozenset().union(*(OCCASIONS.get(one, {one}) for one in self.events))


class Occasion(Struct, frozen=True, kw_only=True):
    """An event that somebody may be told of, and what was known of its job."""

    position: int
    """In the whole log."""
    event_id: EventId
    event: str
    """Its stored name."""
    called: frozenset[str]
    """What rules may call it: its stored name, and words of `OCCASIONS`."""
    occurred_at: Instant
    text: str
    """What is told of it, in one line: of an end, what `explain` says first."""
    stream_id: UUID
    cluster: str
    kind: str
    namespace: str
    name: str
    uid: str
    labels: Mapping[str, str]
    attempt: int
    """0: before the first."""
    cause: str = ""
    """Of the failure that the event tells of, as far as it shows; empty if it tells of none."""
    failure_class: str = ""
    """The retry group of the cause."""
    advice: str = ""
    """What to do about that cause."""


def slips(rules: Sequence[Rule], targets: Iterable[str]) -> Iterable[str]:
    """Yield what is wrong with rules, each in a sentence; `targets` are those that there are."""
    known, seen = frozenset(targets), set[str]()
    for rule in rules:
        where = f"rule {rule.name!r}"
        if not rule.name or rule.name in seen:
            yield f"{where}: each rule needs a name of its own"
        seen.add(rule.name)
        if not rule.targets or not rule.events:
            yield f"{where}: it needs at least one event and one target"
        checked = (
            ("target", rule.targets, known),
            ("event", rule.events, OCCASIONS.keys() | TYPES.keys()),
            ("cause of failures", rule.failures, CAUSES.keys() | frozenset(FailureClass)),
            ("kind of job", rule.kinds, KINDS.keys()),
        )
        for what, given, there in checked:
            for one in given:
                if one not in there:
                    yield f"{where}: there is no {what} {one!r}{_instead(one, there)}"


def _instead(given: str, there: Iterable[str]) -> str:
    """Return which names there are, or of many the nearest one, if one is near."""
    known = sorted(there)
    if known and len(known) <= FEW:
        return f"; write {' or '.join(known)}"
    near = get_close_matches(given, known, n=1)
    return f"; {near[0]} may be meant" if near else ""


def asks_for(rule: Rule, occasion: Occasion) -> bool:
    """Return whether a rule wants somebody to be told of an occasion."""
    return (
        not occasion.called.isdisjoint(rule.events)
        and _one_of(rule.failures, (occasion.cause, occasion.failure_class))
        and _one_of(rule.kinds, (occasion.kind,))
        and _like(rule.clusters, occasion.cluster)
        and _like(rule.namespaces, occasion.namespace)
        and all(
            name in occasion.labels and fnmatchcase(occasion.labels[name], _pattern(value))
            for name, value in rule.labels.items()
        )
    )


def _one_of(wanted: Sequence[str], found: Iterable[str]) -> bool:
    return not wanted or any(one in wanted for one in found if one)


def _like(patterns: Sequence[str], found: str) -> bool:
    return not patterns or any(fnmatchcase(found, _pattern(one)) for one in patterns)


def _pattern(written: str) -> str:
    """Return a pattern in which `*` alone has a meaning."""
    return written.replace("[", "[[]").replace("?", "[?]")
