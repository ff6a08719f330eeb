"""The deadline of a whole job over all its attempts: how it is requested, and when it starts.

Asked for by an annotation, of any kind of job. It counts from the start of the job's first attempt,
through failures and pauses; a suspension ends the count, and the first attempt after a resumption
begins it anew. Source: Kubernetes does so with the activeDeadlineSeconds of a batch/v1 Job
("effectively stopped and reset when the Job is resumed again"); by attempts it knows none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from jobledger.core.jobs.retries.slips import (
    JOB_DEADLINE,
    at_most_named,
    complaint,
    limit_meant,
    slips,
)
from jobledger.core.values.documents import Manifest, child
from jobledger.core.values.durations import SECONDS_MAX, duration_seconds
from jobledger.core.values.instants import Instant, go_time, later
from jobledger.core.values.our_prefix import OUR_PREFIX

JOB_DEADLINE_ANNOTATION = f"{OUR_PREFIX}{JOB_DEADLINE}"
"""Asks for the deadline; its value is a duration."""

WANTED = f"a duration from 1 to {SECONDS_MAX} seconds, as in 90, 90s or 1h30m"
"""What may be written."""


@dataclass(frozen=True, slots=True)
class AskedDeadline:
    """What the annotation says."""

    seconds: int = 0
    """0: there is no deadline."""
    problems: tuple[str, ...] = ()
    """Why it is left out: what stands there and what to write instead."""
    unclear: frozenset[str] = frozenset()
    """Which limits of retries (`slips.LIMITS`) are meant, and cannot be understood."""


def deadline_seconds(written: str) -> int | None:
    """Return the seconds that a deadline says; None for what is none."""
    found = duration_seconds(written)
    return found if found is not None and 1 <= found <= SECONDS_MAX else None


def read_job_deadline(
    job: Manifest, known: Sequence[str] = (JOB_DEADLINE,), *, has_retries: bool = False
) -> AskedDeadline:
    """Return what the annotation asks for, of a job that takes none about classes of failures.

    Names that are much like a `known` one (of those that the kind of job takes, behind the prefix),
    and those that RayJobs take for their retries, are named. What might forbid a retry is told so
    if the kind of job `has_retries`.
    """
    annotations = child(job, "metadata", "annotations")
    verb = "is" if len(known) == 1 else "are"
    names = ", ".join(sorted(known))
    said = f"there is no such annotation of this kind of job; known {verb} {names}"
    limits = {key: limit_meant(key, str(annotations[key])) for key in slips(annotations, known)}
    unknown = [
        complaint(key, written, said, forbids_retries=has_retries and limit != "")
        for key, limit in limits.items()
        if isinstance(written := annotations[key], str)
    ]
    problems, unclear = tuple(at_most_named(unknown)), frozenset(limits.values()) - {""}
    if JOB_DEADLINE_ANNOTATION not in annotations:
        return AskedDeadline(0, problems, unclear)
    written = annotations[JOB_DEADLINE_ANNOTATION]
    if isinstance(written, str):
        if (seconds := deadline_seconds(written.strip())) is not None:
            return AskedDeadline(seconds, problems, unclear)
        wanted = f"write {WANTED}"
        told = complaint(JOB_DEADLINE_ANNOTATION, written, wanted, forbids_retries=has_retries)
        problems = told, *problems
    return AskedDeadline(0, problems, unclear | {JOB_DEADLINE})


def due_at(since: Instant, seconds: int) -> Instant:
    """Return when a deadline that counts from `since` has passed."""
    return later(since, timedelta(seconds=seconds))


def cause(seconds: int) -> str:
    """Return why a decision about it is pending."""
    return f"{JOB_DEADLINE_ANNOTATION} {seconds} over all attempts"


def passed_message(kind: str, since: Instant, seconds: int) -> str:
    """Return what users are told when it has passed; `kind` is that of the job."""
    return (
        f"The {kind} has passed its {JOB_DEADLINE_ANNOTATION} over all attempts. "
        f"StartTime: {go_time(since)}. Seconds: {seconds}"
    )


def tells_of_it(message: str) -> bool:
    """Return whether a message of a failed job is that of `passed_message`."""
    return f" has passed its {JOB_DEADLINE_ANNOTATION} over all attempts." in message
