"""What an event of any kind of job means for reports: of failures, of clusters, of adoptions."""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from jobledger.core.jobs.retries.failures import FailureClass


class Found(NamedTuple):
    """The attempt in which a job was found."""

    attempt: int = 0
    """Its number; 0: none."""
    may_have_run: bool = False
    """Whether it may have run before the job was found."""


NOT_FOUND = Found()
"""The job was seen from its beginning on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFailed:
    """An attempt failed, or was lost."""

    attempt: int
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureJudged:
    """It was decided whether a failed attempt is retried."""

    attempt: int
    failure: FailureClass
    exit_code: int | None
    retried: bool
    counted: bool = True
    """Whether the retry counts against the limit; of one that is refused nothing is said."""
    by_policy: bool = False
    """A retry policy was asked, so that the class was acted upon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFailed:
    """The job ended with a failure."""

    attempt: int | None
    """The attempt that it ended in; None: the last one."""
    reason: str
    message: str


FailureNews: TypeAlias = AttemptFailed | FailureJudged | JobFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNews:
    """A cluster that belongs to an attempt was seen."""

    name: str
    created: bool = False
    ready: bool = False
    gone: bool = False


class AttemptCluster(NamedTuple):
    """Whose cluster the current attempt runs on."""

    shared: bool = False
    """One that is not the job's own."""
    kept: bool = False
    """That of the attempt before."""


class Workload(NamedTuple):
    """What a manifest says that a job runs; unknown is empty."""

    framework: str
    runtime: str
    """What the framework is run by: a runtime's name, or a way of submission."""
    image: str
