"""The reported progress of a TrainJob, and how often it is recorded.

Its Pods post it, and it stands in `status.trainerStatus`. Whoever may write there may do so a
thousand times a second: the log takes the first report, then at most one a minute that sums up
those since, and at once the first that says all is done. Source: Trainer v2.3, trainjob_types.go.
"""

from collections.abc import Sequence
from datetime import timedelta

from msgspec import Struct

from jobledger.core.jobs.history.progress import Metric
from jobledger.core.values.instants import Instant

WRITTEN_DOWN_EVERY = timedelta(seconds=60)
"""Least time between two events of one job about its progress."""

METRICS_MAX = 32
"""So many metrics of a report are kept; upstream takes 256."""

DONE = 100
"""Percentage at which nothing more is to come."""

METRICS_TOLD_MAX = 4
"""So many metrics are told in a sentence."""


class TrainerProgress(Struct, frozen=True, kw_only=True):
    """What `status.trainerStatus` says."""

    percentage: int | None = None
    """0 to 100; None: not known."""
    remaining_seconds: int | None = None
    """Estimated by the training code; None: not known."""
    metrics: tuple[Metric, ...] = ()
    """The first `METRICS_MAX` of them."""
    metrics_left_out: int = 0
    """How many more there were."""
    updated_at: Instant | None = None
    """When it was true, by the clock of the Pod."""


def is_due(before: TrainerProgress, told_at: Instant, now: TrainerProgress, at: Instant) -> bool:
    """Return whether a report is written down at `at`, or waits to be summed up with later ones.

    `before` was written down last, at `told_at`.
    """
    is_done = now.percentage == DONE and before.percentage != DONE
    return is_done or at - told_at >= WRITTEN_DOWN_EVERY


def in_words(progress: TrainerProgress) -> str:
    """Return a report in a line."""
    said = [f"{progress.percentage} %"] if progress.percentage is not None else []
    if progress.remaining_seconds is not None:
        said.append(f"about {progress.remaining_seconds} s left")
    said += _metrics(progress.metrics, progress.metrics_left_out)
    return ", ".join(said) or "nothing in particular"


def _metrics(metrics: Sequence[Metric], left_out: int) -> list[str]:
    told = [f"{one.name} {one.value}" for one in metrics[:METRICS_TOLD_MAX]]
    more = len(metrics) - len(told) + left_out
    return [*told, f"{more} more metrics"] if more else told
