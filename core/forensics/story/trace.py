"""A job as a trace, in OpenTelemetry's model: one span for it, one for each of its attempts.

Under an attempt stand what it went through (starting, running), what was done for it (effects) and
what was waited for (decisions). Ids follow from the job: a trace that is sent again is the same.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from jobledger.core.forensics.bundles.dossier import ReadEvent
from jobledger.core.jobs.rows import AttemptRow, DecisionRow, EffectRow, JobRow
from jobledger.core.projections.view import View, advance
from jobledger.core.values.instants import Instant, rfc3339

FAILED = "failed"
"""Outcome of an attempt, and state of an effect."""

JOB = ("job",)
"""Of which the id of the job's own span is made."""

Values = Mapping[str, str | int | bool]


class Span(Struct, frozen=True, kw_only=True):
    """Something that took time."""

    id: bytes
    """Eight bytes."""
    parent: bytes
    """Id of the span that it is a part of; empty: of none."""
    name: str
    began: Instant
    ended: Instant
    values: Values
    """More about it, by OpenTelemetry's names where it has some."""
    error: str = ""
    """Why it failed; empty: it did not."""


class Trace(Struct, frozen=True, kw_only=True):
    """Everything that happened to one job."""

    id: bytes
    """Sixteen bytes: those of the job's stream."""
    cluster: str
    spans: tuple[Span, ...]
    """The job's own first."""


def trace_of(events: Sequence[ReadEvent]) -> Trace:
    """Return the trace of a job, of all its events.

    What goes on ends with the last event and has `jobledger.unfinished`.
    """
    _, rows = advance(View(), [one.event for one in events])
    return Trace(
        id=rows.job.stream_id.bytes,
        cluster=rows.job.cluster,
        spans=(
            _of_job(rows.job),
            *(span for attempt in rows.attempts for span in _of_attempt(rows.job, attempt)),
            *(_of_effect(rows.job, effect) for effect in rows.effects),
            *(_of_decision(rows.job, decision) for decision in rows.decisions),
        ),
    )


def _of_job(job: JobRow) -> Span:
    ended = job.ended_at or job.deleted_at
    whole = _span(
        job,
        JOB,
        f"{job.kind} {job.namespace}/{job.name}",
        (job.created_at, ended),
        {
            "k8s.cluster.name": job.cluster,
            "k8s.namespace.name": job.namespace,
            "jobledger.kind": job.kind,
            "jobledger.name": job.name,
            "jobledger.uid": job.uid,
            "jobledger.phase": job.phase,
            "jobledger.reason": job.reason,
            "jobledger.retries": job.retries,
        },
    )
    problem = _problem(job.reason, job.message) if job.phase == "Failed" else ""
    return replace(whole, parent=b"", error=problem)


def _of_attempt(job: JobRow, attempt: AttemptRow) -> Iterator[Span]:
    number = str(attempt.number)
    whole = _span(
        job,
        ("attempt", number),
        f"attempt {number}",
        (attempt.started_at, attempt.ended_at),
        {
            "jobledger.attempt": attempt.number,
            "jobledger.outcome": attempt.outcome,
            "jobledger.reason": attempt.reason,
            "jobledger.retried": attempt.retried,
            "ray.cluster.name": attempt.ray_cluster_name,
            "ray.job.id": attempt.ray_job_id,
        },
    )
    problem = _problem(attempt.reason, attempt.message) if attempt.outcome == FAILED else ""
    yield replace(whole, error=problem)
    starting = (attempt.started_at, attempt.running_at or attempt.ended_at)
    yield _span(job, ("starting", number), "starting", starting, {}, parent=("attempt", number))
    if attempt.running_at is not None:
        running = (attempt.running_at, attempt.ended_at)
        yield _span(job, ("running", number), "running", running, {}, parent=("attempt", number))


def _of_effect(job: JobRow, effect: EffectRow) -> Span:
    span = _span(
        job,
        ("effect", str(effect.effect_id)),
        effect.kind,
        (effect.requested_at, effect.ended_at),
        {"jobledger.target": effect.target, "jobledger.state": effect.state},
        _within(effect.attempt),
    )
    return replace(span, error=effect.trouble or FAILED if effect.state == FAILED else "")


def _of_decision(job: JobRow, decision: DecisionRow) -> Span:
    return _span(
        job,
        ("decision", str(decision.decision_id)),
        f"pending: {decision.kind}",
        (decision.scheduled_at, decision.resolved_at),
        {
            "jobledger.due_at": rfc3339(decision.due_at),
            "jobledger.state": decision.state,
            "jobledger.cause": decision.cause,
            "jobledger.resolution": decision.resolution,
        },
        parent=_within(decision.attempt),
    )


def _within(attempt: int) -> tuple[str, ...]:
    return ("attempt", str(attempt)) if attempt else JOB


def _problem(reason: str, message: str) -> str:
    return ": ".join(part for part in (reason, message) if part) or FAILED


def _span(
    job: JobRow,
    what: tuple[str, ...],
    name: str,
    time: tuple[Instant, Instant | None],
    values: Values,
    parent: tuple[str, ...] = JOB,
) -> Span:
    began, ended = time
    told = {key: value for key, value in values.items() if value != ""}
    if ended is None:
        told["jobledger.unfinished"] = True
    return Span(
        id=_id(job, what),
        parent=_id(job, parent),
        name=name,
        began=began,
        ended=max(began, ended or job.last_event_at),
        values=told,
    )


def _id(job: JobRow, what: tuple[str, ...]) -> bytes:
    return hashlib.sha256("\x1f".join((str(job.stream_id), *what)).encode()).digest()[:8]
