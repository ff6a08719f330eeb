"""The fields of a Job, and the annotations of ours on it, that the rules use.

Everything else is read from the live object when the Job of an attempt is built.
"""

import re

from msgspec import Struct

from jobledger.core.batchjob.names import MANAGED_BY
from jobledger.core.jobs.retries.job_deadline import read_job_deadline
from jobledger.core.jobs.retries.options import NOTHING_ASKED, RetryOptions
from jobledger.core.jobs.retries.retry import LIMIT
from jobledger.core.jobs.retries.slips import JOB_DEADLINE, POLICY, complaint
from jobledger.core.log.storable import word
from jobledger.core.values.documents import Manifest, child
from jobledger.core.values.our_prefix import OUR_PREFIX

BACKOFF_LIMIT = "backoff-limit"
"""Name of the annotation behind the prefix."""

BACKOFF_LIMIT_ANNOTATION = f"{OUR_PREFIX}{BACKOFF_LIMIT}"
"""How often a Job is retried on a new Job; its own spec.backoffLimit counts Pods of one attempt."""

BACKOFF_LIMIT_MAX = 100
"""Most retries that can be asked for."""

KNOWN = (JOB_DEADLINE, BACKOFF_LIMIT)
"""Names of the annotations that are read."""


MANAGED_BY_US = frozenset({MANAGED_BY})
"""Values of spec.managedBy that leave the Job to this controller."""


def limit_named(verdict: str) -> str:
    """Return what a verdict about a retry says, with the annotation for a Job's own backoffLimit.

    So it is where it is told: the log keeps the words of the rule, which is that of all kinds.
    """
    return verdict.replace(LIMIT, BACKOFF_LIMIT_ANNOTATION)


class BatchJobSpec(Struct, frozen=True, kw_only=True, gc=False):
    """What decides about the life of the job."""

    suspend: bool = False
    managed_by: str = ""
    backoff_limit: int = 0
    """How often it is retried on a new Job. Ours, asked for by an annotation."""
    options: RetryOptions = NOTHING_ASKED
    """What else it asks for about its retries."""

    @property
    def is_ours(self) -> bool:
        """Return whether the Job is given to this controller."""
        return self.managed_by in MANAGED_BY_US


class ReadSpec(Struct, frozen=True):
    """What was read, and what could not be."""

    spec: BatchJobSpec
    problems: tuple[str, ...] = ()
    """One per annotation that is left out: its name, its value and what to write instead."""


def read_spec(manifest: Manifest) -> ReadSpec:
    """Return the specification of a Job; what is absent or of a wrong type has its default.

    A deadline over all attempts that cannot be understood, or a policy, which this kind of job does
    not take, might forbid any retry: none is granted.
    """
    spec = child(manifest, "spec")
    limit, problems = _backoff_limit(manifest)
    asked = read_job_deadline(manifest, known=KNOWN, has_retries=True)
    read = BatchJobSpec(
        suspend=spec.get("suspend") is True,
        managed_by=word(spec, "managedBy"),
        backoff_limit=limit,
        options=RetryOptions(
            job_deadline_seconds=asked.seconds or None,
            unclear=POLICY in asked.unclear,
            deadline_unclear=JOB_DEADLINE in asked.unclear,
        ),
    )
    return ReadSpec(read, (*problems, *asked.problems))


def _backoff_limit(manifest: Manifest) -> tuple[int, tuple[str, ...]]:
    written = child(manifest, "metadata", "annotations").get(BACKOFF_LIMIT_ANNOTATION)
    if not isinstance(written, str):
        return 0, ()
    if re.fullmatch(r"[0-9]{1,9}", written.strip()) and int(written) <= BACKOFF_LIMIT_MAX:
        return int(written), ()
    wanted = f"write a whole number from 0 to {BACKOFF_LIMIT_MAX}"
    return 0, (complaint(BACKOFF_LIMIT_ANNOTATION, written, wanted),)
