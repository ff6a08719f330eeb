"""One story for every kind of life that a Job can have, and how it would be recorded."""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from jobledger.core.batchjob.observations import SeenBatchStatus
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import Outcome
from jobledger.core.jobs.policy import Policy
from jobledger.core.log.chain import GENESIS
from jobledger.core.log.envelope import EventRecord
from jobledger.core.log.recording import Tail, Writer
from jobledger.core.turns import record_turn
from tests.support import batchjobs
from tests.support.batchjobs import (
    CREATE,
    RESUME,
    SUSPEND,
    Played,
    Step,
    after,
    complete_end,
    completed,
    created,
    deleted,
    due,
    failed_end,
    failing,
    interrupted,
    job,
    job_gone,
    manifest,
    manifest_gone,
    outcome,
    pods,
    retried,
    running,
    surveyed,
)

RAN = SeenBatchStatus(started_at=after(-100), pods=pods(active=1, failed=2))
DONE = SeenBatchStatus(started_at=after(-100), pods=pods(succeeded=1), end=complete_end(-10))

BATCH_LIVES: Mapping[str, tuple[Step, ...]] = {
    "completed": (*completed(), manifest_gone()),
    "failed": failing(),
    "retried": (
        *retried(),
        created(63, 2),
        job(70, 2, active=1),
        job(90, 2, end=complete_end(90), succeeded=1),
    ),
    "out-of-retries": (*retried(), created(63, 2), job(90, 2, end=failed_end(90), failed=1)),
    "retried-after-a-pause": (
        *failing(backoff_limit=1, policy=Policy(retry_delay_seconds=30)),
        deleted(61),
        job_gone(62),
        due(DecisionKind.RETRY),
        created(91, 2),
    ),
    "lost": (*running(), job_gone(50)),
    "past-its-deadline": (
        *running(deadline=100, backoff_limit=5),
        due(DecisionKind.JOB_DEADLINE),
        deleted(101),
        job_gone(102),
    ),
    "suspended-and-resumed": (
        *running(),
        manifest(20, generation=2, suspend=True),
        outcome(SUSPEND, 21, uid="job-1"),
        job(22, suspend=True),
        interrupted(22, 30),
        manifest(40, generation=3),
        outcome(RESUME, 41, uid="job-1"),
        job(42, active=1),
        job(60, end=complete_end(), succeeded=1),
    ),
    "refused": (
        manifest(),
        outcome(CREATE, 1, Outcome.FALTERED, trouble="503"),
        outcome(CREATE, 2, Outcome.FAILED, trouble="exceeded quota"),
        due(DecisionKind.EFFECT_RETRY),
        outcome(CREATE, 13, Outcome.SUPERSEDED, trouble="the specification has changed since"),
        manifest(14, generation=2),
        created(15),
    ),
    "deleted": (
        *running(),
        manifest(20, generation=2, deleting=True),
        job_gone(21),
        manifest_gone(),
    ),
    "held-and-recovered": (
        manifest(status=RAN),
        job(3, 3, active=1),
        surveyed(5, 3, status=RAN),
        job(60, 3, end=complete_end(), succeeded=1),
    ),
    "found-ended": (manifest(status=DONE),),
    "found-without-a-status": (surveyed(0, 2), created(1, 2)),
    "behind-by-a-job": (
        *running(backoff_limit=3),
        job(20, 2, active=1),
        surveyed(30, 2, backoff_limit=3),
    ),
    "recorded-and-taken": (
        manifest(recorded="another installation controls it"),
        job(10, active=1),
        manifest(20),
        job(60, end=complete_end(), succeeded=1),
    ),
}


def recorded_job(story: Iterable[Step], latency_seconds: float = 0.02) -> list[EventRecord]:
    """Return the records of a life: each turn with its own cause, hashed and linked."""
    played = Played()
    tail = Tail(stream_id=batchjobs.STREAM, version=0, chain=GENESIS)
    records: list[EventRecord] = []
    for step in story:
        observation = step(played.state) if callable(step) else step
        played.take(observation)
        now = observation.at + timedelta(seconds=latency_seconds)
        writer = Writer(actor="jobledger-0", epoch=1, now=now)
        made, tail = record_turn(tail, writer, observation, played.decided)
        records += made
    return records
