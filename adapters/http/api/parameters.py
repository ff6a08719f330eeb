"""Parses the parameters of a request. Any input gives a value or a `BadRequest`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from uuid import UUID

from jobledger.core.jobs.failures.rules import CAUSES
from jobledger.core.kinds import KINDS, PHASES
from jobledger.core.ports.history import JobFilter
from jobledger.core.values.documents import LABEL_CHARACTERS_MAX
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant

LIMIT_DEFAULT, LIMIT_MAX = 50, 500
TEXT_CHARACTERS_MAX = 253
"""Longest name of a Kubernetes object; nothing that is longer can be found."""


class BadRequest(Exception):  # named as a sentence, like the core's
    """A parameter makes no sense."""


class ParameterKind(StrEnum):
    """Of which kind a parameter is; decides how it is read and described."""

    TEXT = "text"
    LABEL = "label"
    INSTANT = "instant"
    FLAG = "flag"
    CHOICE = "choice"
    NUMBER = "number"
    STREAM = "stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One query parameter."""

    name: str
    kind: ParameterKind
    meaning: str
    least: int = 0
    """Smallest value of a number."""
    most: int = 2**31 - 1
    """Largest value of a number."""
    choices: tuple[str, ...] = ()
    """What a choice is one of, in any case of its letters."""


_K = ParameterKind
LIMIT = Parameter(
    name="limit", kind=_K.NUMBER, meaning="At most so many items.", least=1, most=LIMIT_MAX
)
OF_JOBS = (
    Parameter(name="cluster", kind=_K.TEXT, meaning="Only jobs of this Kubernetes cluster."),
    Parameter(name="kind", kind=_K.CHOICE, meaning="Only jobs of this kind.", choices=tuple(KINDS)),
    Parameter(name="namespace", kind=_K.TEXT, meaning="Only this namespace."),
    Parameter(name="name", kind=_K.TEXT, meaning="Only jobs of this name."),
    Parameter(name="uid", kind=_K.TEXT, meaning="The job of this UID."),
    Parameter(name="phase", kind=_K.CHOICE, meaning="Only jobs in this phase.", choices=PHASES),
    Parameter(name="reason", kind=_K.TEXT, meaning="Only jobs with this reason."),
    Parameter(
        name="text",
        kind=_K.TEXT,
        meaning="Part of the name or namespace, or how the UID begins, in either case.",
    ),
    Parameter(
        name="cause",
        kind=_K.CHOICE,
        meaning="Only jobs of which an attempt failed of this cause.",
        choices=tuple(CAUSES),
    ),
    Parameter(name="label", kind=_K.LABEL, meaning="Only jobs with this label: name=value."),
    Parameter(name="open", kind=_K.FLAG, meaning="Only jobs in which something is left to do."),
    Parameter(name="created_from", kind=_K.INSTANT, meaning="Only jobs created from then on."),
    Parameter(name="created_until", kind=_K.INSTANT, meaning="Only jobs created before then."),
    Parameter(name="after", kind=_K.STREAM, meaning="`next` of the page before."),
    LIMIT,
)
OF_TIMELINE = (
    Parameter(name="after", kind=_K.NUMBER, meaning="Only what comes after this version."),
    LIMIT,
)
OF_MOMENT = (
    Parameter(name="version", kind=_K.NUMBER, meaning="When this version was written down."),
    Parameter(name="time", kind=_K.INSTANT, meaning="At this instant."),
)


class Asked:
    """The query parameters of a request, checked against those that are known."""

    def __init__(self, given: Mapping[str, str], known: tuple[Parameter, ...]) -> None:
        self._given = given
        self._known = {parameter.name: parameter for parameter in known}
        unknown = sorted(set(given) - set(self._known))
        if unknown:
            raise BadRequest(f"{unknown[0]!r} is no parameter here")

    def text(self, name: str) -> str:
        """Return a text; empty if it was not given."""
        found = self._given.get(name, "")
        if len(found) > TEXT_CHARACTERS_MAX or "\x00" in found:
            raise BadRequest(f"{name} cannot be the name of anything")
        return found

    def choice(self, name: str) -> str:
        """Return one of the choices as the ledger writes it; empty if it was not given."""
        known = {one.lower(): one for one in ("", *self._known[name].choices)}
        found = known.get(self._given.get(name, "").lower())
        if found is None:
            raise BadRequest(f"{name} is one of {', '.join(self._known[name].choices)}")
        return found

    def label(self, name: str) -> str:
        """Return a label as `name=value`; empty if it was not given."""
        found = self._given.get(name, "").strip()
        if found and "=" not in found[1:]:
            raise BadRequest(f"{name} is written as name=value")
        if len(found) > LABEL_CHARACTERS_MAX or not found.isprintable():
            raise BadRequest(f"{name} cannot be the label of anything")
        return found

    def number(self, name: str) -> int | None:
        """Return a number; None if it was not given."""
        found = self._given.get(name)
        if found is None:
            return None
        least, most = self._known[name].least, self._known[name].most
        digits = found.isascii() and found.isdigit() and len(found) <= len(str(most))
        if not digits or not least <= int(found) <= most:
            raise BadRequest(f"{name} must be a whole number from {least} to {most}")
        return int(found)

    def limit(self) -> int:
        """Return how many items are wanted."""
        found = self.number(LIMIT.name)
        return LIMIT_DEFAULT if found is None else found

    def flag(self, name: str) -> bool:
        """Return whether a flag is set."""
        found = self._given.get(name, "false")
        if found not in ("true", "false"):
            raise BadRequest(f"{name} must be true or false")
        return found == "true"

    def instant(self, name: str) -> Instant | None:
        """Return an instant; None if it was not given."""
        found = self._given.get(name)
        if found is None:
            return None
        try:
            parsed = datetime.fromisoformat(found)
            instant = parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
            return instant.astimezone(UTC)
        except (ValueError, OverflowError) as error:
            raise BadRequest(f"{name} must be an instant as 2026-11-21T03:00:00Z") from error

    def stream(self, name: str) -> StreamId | None:
        """Return a stream; None if it was not given."""
        found = self._given.get(name)
        return None if found is None else stream_of(found)


def stream_of(text: str) -> StreamId:
    """Return the stream that a text names; raise `BadRequest` if it names none."""
    try:
        return StreamId(UUID(text))
    except ValueError as error:
        raise BadRequest("a job is named by its stream_id, a UUID") from error


def job_filter(asked: Asked) -> JobFilter:
    """Return which jobs are asked for."""
    return JobFilter(
        cluster=asked.text("cluster"),
        kind=asked.choice("kind"),
        namespace=asked.text("namespace"),
        name=asked.text("name"),
        uid=asked.text("uid"),
        phase=asked.choice("phase"),
        reason=asked.text("reason"),
        text=asked.text("text"),
        cause=asked.choice("cause"),
        label=asked.label("label"),
        open_only=asked.flag("open"),
        created_from=asked.instant("created_from"),
        created_until=asked.instant("created_until"),
        older_than=asked.stream("after"),
    )
