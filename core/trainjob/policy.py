"""The waiting times and settings for TrainJobs; recorded with the manifest for replay."""

from enum import StrEnum

from msgspec import Struct


class ConditionStyle(StrEnum):
    """Which conditions are shown: the setting `trainjob.conditions`."""

    UNLESS_RUNNING = "unless-running"
    """As `seed`, but Created steps back where it would be all that a running job shows.

    A client that knows a running job by its having no conditions, as the Kubeflow SDK, sees it.
    """
    SEED = "seed"
    """Created stands first; an unknown kind of runtime is a failed build."""
    UPSTREAM = "upstream"
    """What Trainer 2.3 writes: Created is not shown.

    The Kubeflow SDK shows Running only while there are no conditions.
    """


class TrainPolicy(Struct, frozen=True, kw_only=True):
    """What is not in the TrainJob's specification but decides about it."""

    conditions: ConditionStyle = ConditionStyle.SEED
    propagates: bool = False
    """Whether plugins may contribute conditions of their own."""
    retry_seconds: int = 10
    """Pause before what was refused is tried again; it doubles, up to 5 minutes."""
