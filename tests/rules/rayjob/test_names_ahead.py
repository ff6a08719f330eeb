"""For which later attempt a name was made; five characters may be those of two attempts."""

import pytest
from msgspec.structs import replace

from jobledger.core.rayjob.names import submission_id
from jobledger.core.rayjob.names_ahead import submission_ahead
from jobledger.core.rayjob.state import Attempt, RayJobState
from tests.support.rayjob_builders import IDENTITY, JOB
from tests.support.records import NOON

TWICE = "uid-61959"
"""UID of a job of which attempt 148 would be called as attempt 2 is."""


def at_attempt(number: int) -> RayJobState:
    attempt = Attempt(
        number=number, cluster_name="train-zzzzz", job_id="", generation=1, started_at=NOON
    )
    identity = replace(IDENTITY, uid=TWICE)
    return RayJobState(identity=identity, attempt=attempt if number else None)


@pytest.mark.parametrize(
    ("known", "shown", "expected"),
    [
        pytest.param(0, 1, 1, id="of a log that knows no attempt"),
        pytest.param(1, 2, 2, id="of the next"),
        pytest.param(1, 5, 5, id="of one that is further"),
        pytest.param(2, 2, 0, id="of the present one, though a later one would be called so"),
        pytest.param(3, 2, 0, id="of an earlier one, though a later one would be called so"),
        pytest.param(2, 300, 0, id="of one that is too far"),
    ],
)
def test_a_submission_is_that_of_the_first_attempt_of_its_name(
    known: int, shown: int, expected: int
) -> None:
    assert submission_id(JOB, TWICE, 2) == submission_id(JOB, TWICE, 148)
    assert submission_ahead(at_attempt(known), submission_id(JOB, TWICE, shown)) == expected


def test_a_name_that_nobody_gave_is_of_none() -> None:
    assert submission_ahead(at_attempt(1), "train-my-own") == 0
    assert submission_ahead(at_attempt(1), "") == 0
