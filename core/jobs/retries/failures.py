"""Retry groups of failures: what a retry rule distinguishes.

Each cause of a failure is in one of them; the causes are in `core.jobs.failures.rules`.
"""

from enum import StrEnum


class FailureClass(StrEnum):
    """A retry group. Its text is what users write in a retry policy."""

    APPLICATION = "application"
    """The entrypoint itself failed, mostly with an exit code."""
    HEAD_LOST = "head-lost"
    """The head, or the whole cluster, went while the job was running on it."""
    PREEMPTION = "preemption"
    """Kubernetes took a Pod of the attempt away: preempted, evicted, its node lost or drained."""
    IMAGE_PULL = "image-pull"
    """An image could not be pulled, so the attempt never got to run."""
    SUBMISSION = "submission"
    """The entrypoint could not be handed in."""
    OTHER = "other"
    """None of these: deadlines, refusals, silence."""
