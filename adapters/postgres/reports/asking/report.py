"""The definition of a report: meaning, columns, units, SQL, question and answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import TypeAlias

from jobledger.core.values.instants import Instant

Value: TypeAlias = str | int | float | bool | datetime | None
"""What a cell of an answer may hold."""

Row: TypeAlias = Mapping[str, Value]


class Unit(StrEnum):
    """What the numbers of a column count."""

    COUNT = "count"
    SECONDS = "seconds"
    CLUSTER_SECONDS = "cluster-seconds"
    """Seconds that one RayCluster (or JobSet) was held; two at once count twice."""
    RESOURCE_SECONDS = "resource-seconds"
    """Seconds that one core, GiB or accelerator was held; the name of the column says which."""
    MONEY = "money"
    """Of the list of prices, which says nothing of its currency."""
    NUMBER = "number"
    """One that cannot be added up: a mean, an estimate, or so many times."""
    SHARE = "share"
    """A part of one: from 0 to 1."""
    INSTANT = "instant"
    TEXT = "text"
    FLAG = "true or false"

    @property
    def is_additive(self) -> bool:
        """Whether values of two groups may be added up, and nothing there means zero."""
        return self in {Unit.COUNT, Unit.CLUSTER_SECONDS, Unit.RESOURCE_SECONDS, Unit.MONEY}

    @property
    def is_number(self) -> bool:
        """Whether it can be drawn."""
        return self not in {Unit.INSTANT, Unit.TEXT, Unit.FLAG}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of an answer."""

    name: str
    """For machines; it never changes its meaning."""
    unit: Unit
    meaning: str
    title: str = ""
    """Heading in a table for people; without it the name."""
    rank: int = 1
    """Where a terminal is too narrow, columns of a high rank are left out first; 0: never."""

    @property
    def heading(self) -> str:
        """Return what stands above it in a table."""
        return self.title or self.name.replace("_", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """What of an answer is drawn."""

    columns: tuple[str, ...]
    """Measures of one unit; the first is the one that bars show."""
    title: str
    style: str = "cyan"
    """Colour in the terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A number that the asker may set: an option of the command that only some reports have."""

    name: str
    """Name of the parameter in the SQL: `within`, `longer_than`, `target`."""
    meaning: str
    kind: type[timedelta] | type[float]
    default: timedelta | float | None = None
    """None: without it the rule of the report applies."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """Something that rows can be grouped by, and facts narrowed by."""

    sql: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A question that can be asked by its name."""

    name: str
    summary: str
    """One sentence."""
    rule: str
    """Which facts count, and at which instant they are dated."""
    columns: tuple[Column, ...]
    """The measures, in the order in which they are shown."""
    dimensions: Mapping[str, Dimension]
    """What the rows may be grouped by; empty: its rows are single facts."""
    default_by: tuple[str, ...]
    dated: str
    """SQL of the instant that hours, days and weeks are made of; empty: it has none."""
    order: str
    """SQL by which the rows are ordered: columns of the answer, each with its direction."""
    sql: str
    """The query; `asking` says what it puts in place of which brace."""
    chart: Chart
    keys: tuple[Column, ...] = ()
    """What names a row, where rows are single facts."""
    listed: str = ""
    """SQL of what a group must be to be a row; empty: every group is one. It is not asked of hours,
    days and weeks alone, which have a row each: what they counted must not pass for nothing."""
    beside: tuple[str, ...] = ()
    """Dimensions that rows are grouped by whatever is asked for, unless it is one row."""
    apart: tuple[str, ...] = ()
    """Dimensions that name a part of what the others name: `{whole}` leaves them out."""
    thresholds: tuple[Threshold, ...] = ()
    snapshot: bool = False
    """Whether it tells of the instant `until`; `since` then only bounds what it compares with."""

    @property
    def by_label(self) -> bool:
        """Whether its rows may be grouped by `label:` and the name of a label as well."""
        return bool(self.dimensions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a report."""

    since: Instant
    """The first instant that counts."""
    until: Instant
    """The first instant that no longer counts."""
    by: tuple[str, ...] = ()
    zone: tzinfo = UTC
    """Where hours, days and weeks begin."""
    filters: Mapping[str, str] = field(default_factory=dict)
    thresholds: Mapping[str, timedelta | float | None] = field(default_factory=dict)
    limit: int = 20
    """At most so many rows; the row over everything is not counted."""


def grouped_by(report: Report, question: Question) -> tuple[str, ...]:
    """Return what rows are grouped by: what is asked for, and what the report has beside it."""
    beside = report.beside if question.by else ()
    return tuple(dict.fromkeys((*question.by, *beside)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a report says."""

    report: Report
    question: Question
    keys: tuple[Column, ...]
    """The columns that the rows are grouped by."""
    rows: Sequence[Row]
    total: Row | None
    """The same measures over everything that was asked for, left-out rows included."""
    more: bool
    """Whether there are rows beyond the limit."""
    events: int
    """Events that are in the log."""
    events_behind: int
    """Those of them that are not yet in what reports read."""
    stale_since: Instant | None = None
    """When it was true, where a standby was asked that has taken over nothing since."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return keys and measures."""
        return (*self.keys, *self.report.columns)
