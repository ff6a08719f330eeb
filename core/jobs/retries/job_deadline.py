"""The deadline of a whole job over all its attempts: how it is requested, and when it starts.

Asked for by an annotation, of any kind of job. It counts from the start of the job's first attempt,
through failures and pauses; a suspension ends the count, and the first attempt after a resumption
begins it anew. Source: Kubernetes does so with the activeDeadlineSeconds of a batch/v1 Job
("effectively stopped and reset when the Job is resumed again"); by attempts it knows none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from jobledger.core.jobs.retries.slips import at_most_named, complaint, is_slip_of, slips
from jobledger.core.values.documents import Manifest, child
from jobledger.core.values.durations import SECONDS_MAX, duration_seconds
from jobledger.core.values.instants import Instant, go_time, later
from jobledger.core.values.our_prefix import OUR_PREFIX

JOB_DEADLINE = "job-deadline-seconds"
"""Name of the annotation behind the prefix."""

POLICY = "retry-policy"
"""Name of the annotation, which RayJobs alone take, about classes of failures."""

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
    unknown = [
        complaint(
            key, written, said, forbids_retries=has_retries and bool(may_forbid(key, written))
        )
        for key in slips(annotations, known)
        if isinstance(written := annotations[key], str)
    ]
    problems = tuple(at_most_named(unknown))
    written = annotations.get(JOB_DEADLINE_ANNOTATION)
    if not isinstance(written, str):
        return AskedDeadline(problems=problems)
    seconds = deadline_seconds(written.strip())
    if seconds is not None:
        return AskedDeadline(seconds, problems)
    wanted = f"write {WANTED}"
    told = complaint(JOB_DEADLINE_ANNOTATION, written, wanted, forbids_retries=has_retries)
    return AskedDeadline(problems=(told, *problems))


def may_forbid(key: str, written: str) -> str:
    """Return what an annotation that is not known may have been meant for, if it limits retries.

    It is a policy where it has the form of one, or this deadline by a name that is much alike.
    """
    if "=" in written:
        return POLICY
    return JOB_DEADLINE if is_slip_of(key.removeprefix(OUR_PREFIX), (JOB_DEADLINE,)) else ""


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
