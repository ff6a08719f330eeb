"""The waiting times and limits of this installation.

They come with the manifest observation and are recorded with it, so that a replay judges by the
same numbers.
"""

from datetime import timedelta

from msgspec import Struct


class Policy(Struct, frozen=True, kw_only=True, gc=False):
    """What is not in the job's specification but decides about it. Times are whole seconds."""

    transition_grace_seconds: int = 300
    """From the end of the Ray job, by Ray's word, until the job is concluded without its submitter.

    Source: KubeRay, RAYJOB_DEPLOYMENT_STATUS_TRANSITION_GRACE_PERIOD_SECONDS.
    """
    status_check_timeout_seconds: int = 300
    """How long the head may leave every status check unanswered.

    Source: KubeRay, RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS.
    """
    submitter_finished_timeout_seconds: int = 30
    """From the end of the submitter, as seen here, until the Ray job must have ended.

    Source: KubeRay, DefaultSubmitterFinishedTimeout; there it counts from the submitter's own
    clock.
    """
    retry_delay_seconds: int = 0
    """Pause before the first retry; it doubles with every further one. 0: at once, as upstream."""
    retry_delay_max_seconds: int = 3600
    """Longest pause before a retry."""
    evidence_timeout_seconds: int = 10
    """How long a failure waits for a look at its Pods, where a retry policy needs one."""
    effect_retry_seconds: int = 10
    """Pause before something that the API server refused is tried again; doubles, up to 5 minutes.
    """

    delete_job_after_finish: bool = False
    """Whether shutdownAfterJobFinishes deletes the RayJob itself, and not only its RayCluster.

    Source: KubeRay, DELETE_RAYJOB_CR_AFTER_JOB_FINISHES.
    """

    batch_scheduler: str = ""
    """Who places the Pods of a job together. Source: KubeRay, `--batch-scheduler`."""

    @property
    def transition_grace(self) -> timedelta:
        """Return the grace after the end of the Ray job."""
        return timedelta(seconds=self.transition_grace_seconds)

    @property
    def evidence_timeout(self) -> timedelta:
        """Return how long a failure waits for a look at its Pods."""
        return timedelta(seconds=self.evidence_timeout_seconds)

    @property
    def status_check_timeout(self) -> timedelta:
        """Return the time-out of the status checks."""
        return timedelta(seconds=self.status_check_timeout_seconds)

    @property
    def submitter_finished_timeout(self) -> timedelta:
        """Return the time-out after the end of the submitter."""
        return timedelta(seconds=self.submitter_finished_timeout_seconds)
