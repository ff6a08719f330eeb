"""The types of the API's answers, from which OpenAPI is made."""

from dataclasses import dataclass

from jobledger.core.forensics.story.account import Account
from jobledger.core.forensics.story.moment import Moment
from jobledger.core.forensics.story.timeline import Line
from jobledger.core.jobs.history.progress import ShownProgress
from jobledger.core.jobs.rows import AttemptRow, DecisionRow, EffectRow, JobRow


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage:
    """Jobs, the youngest first."""

    items: tuple[JobRow, ...]
    next: str | None
    """Value of `after` for the next page; null on the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDetail:
    """One job with all that belongs to it."""

    job: JobRow
    attempts: tuple[AttemptRow, ...]
    decisions: tuple[DecisionRow, ...]
    effects: tuple[EffectRow, ...]
    progress: ShownProgress | None
    """How far the training is; null where its Pods never reported it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelinePage:
    """Lines of a job's story in order."""

    items: tuple[Line, ...]
    next: int | None
    """Value of `after` for the next page; null on the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why there is no answer (RFC 9457, application/problem+json)."""

    status: int
    title: str
    detail: str


ANSWERS = (JobPage, JobDetail, TimelinePage, Moment, Account, Problem)
"""Every shape that an answer may have."""
