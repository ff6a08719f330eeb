"""Reads an observation from the head's answer about a Ray job."""

from msgspec import Struct
from msgspec.structs import replace

from jobledger.core.rayjob.phases import ENDED, JobStatus
from jobledger.core.values.instants import Instant

COMMAND_ERROR = "JOB_ENTRYPOINT_COMMAND_ERROR"
"""Ray's word for an entrypoint that ended with a code other than 0. Source: JobErrorType."""

UNKNOWN_TO_ITS_HEAD = "it does not know the Ray job, though its Pod was not started again"
"""Trouble of a head that must know the Ray job and says it does not."""

LAST_CODE_OF_ITS_OWN = 128


class Entrypoint(Struct, frozen=True, kw_only=True, gc=False):
    """The Ray job of the attempt, as the head tells it."""

    status: JobStatus = JobStatus.NEW
    message: str = ""
    started_at: Instant | None = None
    ended_at: Instant | None = None
    ended_seen_at: Instant | None = None
    """When the controller learned that it had ended."""
    error_type: str = ""
    exit_code: int | None = None
    missed: bool = False
    """The head answered that it does not know it."""
    silent_since: Instant | None = None
    """Since when the head has left the status checks unanswered."""
    trouble: str = ""
    """Why it has, as it was told last."""
    troubles: int = 0
    """How often that was told."""

    def heard(self) -> "Entrypoint":
        """Return it as it is once its head is silent no more."""
        return replace(self, silent_since=None, trouble="", troubles=0)

    @property
    def has_ended(self) -> bool:
        """Return whether Ray will not change its mind any more."""
        return self.status in ENDED

    @property
    def explains_itself(self) -> bool:
        """Return whether it has ended as a program does: by itself, killed by no signal.

        Source: Ray, JobErrorType; a shell's exit codes above 128 are signals.
        """
        killed = self.exit_code is not None and not 0 <= self.exit_code <= LAST_CODE_OF_ITS_OWN
        return self.has_ended and not killed and self.error_type in ("", COMMAND_ERROR)
