"""Builds a report's question from the options; a wrong option ends with one line that helps."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta, tzinfo
from difflib import get_close_matches
from typing import NoReturn
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.output import fail
from jobledger.adapters.cli.periods import duration, instant
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.reports.asking.dimensions import BUCKETS, LABEL, OF_FAILURES
from jobledger.adapters.postgres.reports.asking.report import Question, Report
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.jobs.failures.rules import CAUSES
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.kinds import KINDS
from jobledger.core.values.instants import Instant

PERIOD = timedelta(days=7)
"""What is reported on if nobody says since when."""

ROWS = 20
ROWS_BY_TIME = 1_000
"""As many rows are shown if nobody says how many: of hours, days and weeks all."""

NOTHING = "nothing"
"""Says `--by`: one row over everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What was typed; empty: it was not given."""

    since: str
    until: str
    by: Sequence[str]
    timezone: str
    filters: Mapping[str, str]
    thresholds: Mapping[str, timedelta | float | None]
    limit: int | None


def question(report: Report, words: Words) -> Question:
    """Return what is asked; end with a message if it makes no sense."""
    zone = zone_named(words.timezone)
    since, until = period(words.since, words.until, zone)
    by = dimensions(report, words.by)
    return Question(
        since=since,
        until=until,
        by=by,
        zone=zone,
        filters=filters(report, words.filters),
        thresholds=thresholds(report, words.thresholds),
        limit=limited(words.limit, by),
    )


def report_named(name: str) -> Report:
    """Return the report of a name; end with suggestions if there is none."""
    if name not in REPORTS:
        _unknown("report", name, REPORTS, "`jobledger report --list` says what each tells")
    return REPORTS[name]


def zone_named(name: str) -> tzinfo:
    """Return the time zone of a name; end with suggestions if there is none."""
    if name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        known = available_timezones()
        if not known:
            fail("this machine knows no time zones; install tzdata", ExitCode.MISCONFIGURED)
        _unknown("time zone", name, known, "write it as Europe/Berlin or UTC", listed=False)


def period(since: str, until: str, zone: tzinfo) -> tuple[Instant, Instant]:
    """Return the half-open period that is meant; end with a message if it has no length.

    Also if the calendar, which has the years 1 to 9999, does not reach to its ends in the zone.
    """
    last = instant(until, zone) if until else SystemClock().now()
    try:
        first = instant(since, zone) if since else last - PERIOD
        shown = [at.astimezone(zone).isoformat(timespec="seconds") for at in (first, last)]
    except OverflowError:
        asked = f"--since {since or '7d before the end'} --until {until or 'now'}"
        fail(f"{asked} in {zone} is beyond the years 1 to 9999", ExitCode.USAGE)
    if first >= last:
        fail("--since {} is not before --until {}".format(*shown), ExitCode.USAGE)
    return first, last


def dimensions(report: Report, by: Sequence[str]) -> tuple[str, ...]:
    """Return what to group by; end with a message if the report lacks it."""
    if not by:
        return report.default_by
    names = tuple(dict.fromkeys(name.strip() for item in by for name in item.split(",")))
    if names == (NOTHING,):
        return ()
    known = (*report.dimensions, *(BUCKETS if report.dated else ()))
    if not known:
        message = f"each row of {report.name} is one job: it cannot be grouped; leave --by out"
        fail(message, ExitCode.USAGE)
    for name in names:
        if name not in known and not (report.by_label and LABEL.fullmatch(name)):
            others = f"or label:NAME, or '{NOTHING}'" if report.by_label else f"or '{NOTHING}'"
            _unknown(f"dimension of {report.name}", name, known, others)
    if "job" in names and "cluster" not in names:  # a job's name is its own in one cluster alone
        at = names.index("job")
        return (*names[:at], "cluster", *names[at:])
    return names


def filters(report: Report, given: Mapping[str, str]) -> dict[str, str]:
    """Return what the facts are narrowed by; end with a message if the report cannot be, by one."""
    wanted = {name: value for name, value in given.items() if value}
    for name in OF_FAILURES.keys() & wanted.keys():
        if name not in report.dimensions:
            owners = ", ".join(one.name for one in REPORTS.values() if name in one.dimensions)
            fail(f"--{name} is for {owners}, not for {report.name}", ExitCode.USAGE)
    if (kind := wanted.get("kind", "")) and kind not in KINDS:
        _unknown("kind", kind, KINDS, "it is written like this")
    known = (*FailureClass, *CAUSES)
    if (cause := wanted.get("cause", "")) and cause not in known:
        hint = "docs/reference/failure-classes.md says what each is"
        _unknown("cause", cause, dict.fromkeys(map(str, known)), hint)
    return wanted


def thresholds(
    report: Report, given: Mapping[str, timedelta | float | None]
) -> dict[str, timedelta | float | None]:
    """Return the report's thresholds; end with a message if one is given that it lacks."""
    own = {item.name: item.default for item in report.thresholds}
    for name, value in given.items():
        if value is not None and name not in own:
            option = name.replace("_", "-")
            owners = ", ".join(
                other.name
                for other in REPORTS.values()
                if any(item.name == name for item in other.thresholds)
            )
            fail(f"--{option} is for {owners}, not for {report.name}", ExitCode.USAGE)
    return {**own, **{name: value for name, value in given.items() if value is not None}}


def limited(limit: int | None, by: Sequence[str]) -> int:
    """Return how many rows at most."""
    if limit is not None:
        return limit
    return ROWS_BY_TIME if set(by) & set(BUCKETS) else ROWS


def lasting(text: str) -> timedelta | None:
    """Return the duration that an option names, None if it was not given."""
    return duration(text) if text else None


def _unknown(
    what: str, name: str, known: Iterable[str], hint: str, *, listed: bool = True
) -> NoReturn:
    names = sorted(known) if not listed else list(known)
    close = get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        told = f"did you mean {' or '.join(close)}?"
    elif listed:
        told = f"there are {', '.join(names)}"
    else:
        told = ""
    message = "; ".join(part for part in (f"no {what} {name!r}", told, hint) if part)
    fail(message, ExitCode.USAGE)
