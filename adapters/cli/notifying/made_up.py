"""A notice of a job that never was, to try a target with."""

import uuid

from jobledger.core.jobs.failures.rules import CAUSES
from jobledger.core.kinds import KINDS
from jobledger.core.notifications.messages import Notice, notice_of
from jobledger.core.notifications.rules import OCCASIONS, Occasion
from jobledger.core.values.ids import EventId, stream_id
from jobledger.core.values.instants import Instant

CLUSTER, NAMESPACE, NAME = "made-up", "made-up", "made-up-by-notify-test"


def made_up(target: str, now: Instant) -> Notice:
    """Return a notice that says of itself that it is a test."""
    cause = CAUSES["out-of-memory"]
    occasion = Occasion(
        position=0,
        event_id=EventId(uuid.uuid4()),
        event=min(OCCASIONS["job-failed"]),
        called=frozenset({"job-failed"}),
        occurred_at=now,
        text="This is a test of `jobledger notify`: no job has failed.",
        stream_id=stream_id(CLUSTER, NAME, now),
        cluster=CLUSTER,
        kind=next(iter(KINDS)),
        namespace=NAMESPACE,
        name=NAME,
        uid="",
        labels={},
        attempt=1,
        cause=cause.name,
        failure_class=cause.group.value,
        advice=cause.advice,
    )
    return notice_of("notify-test", target, occasion)
