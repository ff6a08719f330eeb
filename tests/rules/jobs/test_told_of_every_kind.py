"""What Kubernetes Events tell of a job, whatever its kind."""

from uuid import UUID

import pytest

from jobledger.core.jobs.events import AnnotationsRejected, LedgerBehindFound, StatusWriteFailed
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.kinds import KINDS
from tests.support.records import NOON, a_stream

JOB = JobIdentity(
    stream_id=a_stream("told"),
    cluster="kind",
    namespace="ml",
    name="train",
    uid=str(UUID(int=1)),
    created_at=NOON,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("event", "words"),
    [
        (AnnotationsRejected(at=NOON, problems=("x: no number",)), "x: no number"),
        (LedgerBehindFound(at=NOON, signs=("the status shows more",)), "the status shows more"),
        (StatusWriteFailed(at=NOON, since=NOON, trouble="403 Forbidden"), "403 Forbidden"),
    ],
    ids=["annotations left out", "a ledger that is behind", "a status that is not written"],
)
def test_a_warning_says_what_the_owner_has_to_know(
    kind: str, event: AnnotationsRejected | LedgerBehindFound | StatusWriteFailed, words: str
) -> None:
    (told,) = KINDS[kind].kubernetes_events(JOB, event)
    assert told.type == "Warning"
    assert words in told.note
