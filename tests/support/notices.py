"""Occasions and notices for tests."""

from uuid import UUID

from msgspec.structs import replace

from jobledger.core.notifications.messages import Notice, notice_of
from jobledger.core.notifications.rules import Occasion
from jobledger.core.values.ids import EventId
from tests.support.records import NOON, a_stream

OCCASION = Occasion(
    position=7,
    event_id=EventId(UUID(int=7)),
    event="JobFailed",
    called=frozenset({"JobFailed", "job-failed"}),
    occurred_at=NOON,
    text="RayJob ml/train failed after 2 attempts, because it ran out of memory.",
    stream_id=a_stream(),
    cluster="prod-eu",
    kind="RayJob",
    namespace="ml",
    name="train",
    uid="uid-1",
    labels={"team": "vision"},
    attempt=2,
    cause="out-of-memory",
    failure_class="application",
    advice="Give it more memory.",
)


def an_occasion(**fields: object) -> Occasion:
    """Return the failure of a job, with other fields."""
    return replace(OCCASION, **fields)


def a_notice(**fields: object) -> Notice:
    """Return what the target `chat` is told of it because of the rule `failures`."""
    return notice_of("failures", "chat", an_occasion(**fields))
