"""What was seen unchanged, in sums."""

from datetime import timedelta

from jobledger.adapters.service.observing.confirmations import Confirmations
from jobledger.core.jobs.events import Confirmation
from tests.adapters.service.parts import run_all
from tests.support.records import NOON, a_stream

JOB, OTHER = a_stream("one"), a_stream("other")
LATER = NOON + timedelta(seconds=9)


def test_a_sum_holds_count_first_and_last_instant_per_source() -> None:
    confirmations = Confirmations()
    for at in (NOON, LATER):
        confirmations.count(JOB, "Ray job", at)
    confirmations.count(JOB, "RayJob", NOON)
    total = confirmations.take(JOB)
    assert total is not None
    assert total.at == LATER
    assert total.sources == (
        Confirmation(source="Ray job", count=2, first_at=NOON, last_at=LATER),
        Confirmation(source="RayJob", count=1, first_at=NOON, last_at=NOON),
    )


def test_taking_begins_anew_and_leaves_other_jobs_alone() -> None:
    confirmations = Confirmations()
    confirmations.count(JOB, "Ray job", NOON)
    confirmations.count(OTHER, "Ray job", NOON)
    assert confirmations.take(JOB) is not None
    assert confirmations.take(JOB) is None
    assert confirmations.take(OTHER) is not None


def test_only_sums_that_began_before_an_instant_are_old() -> None:
    confirmations = Confirmations()
    confirmations.count(JOB, "Ray job", NOON)
    confirmations.count(JOB, "RayJob", LATER)
    confirmations.count(OTHER, "Ray job", LATER)
    assert confirmations.older_than(LATER) == [JOB]


def test_what_is_forgotten_is_not_told() -> None:
    confirmations = Confirmations()
    confirmations.count(JOB, "Ray job", NOON)
    confirmations.forget(JOB)
    assert confirmations.take(JOB) is None


def test_no_count_is_lost_between_threads() -> None:
    confirmations, taken = Confirmations(), list[int]()

    def count() -> None:
        for _ in range(300):
            confirmations.count(JOB, "Ray job", NOON)

    def take() -> None:
        for _ in range(100):
            total = confirmations.take(JOB)
            taken.append(total.sources[0].count if total is not None else 0)

    run_all([count, take, count, take, count])
    left = confirmations.take(JOB)
    assert sum(taken) + (left.sources[0].count if left is not None else 0) == 900
