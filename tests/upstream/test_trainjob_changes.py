"""What is said of a changed TrainJob, and shown of its JobSet, is what Trainer says and shows.

The answers are kept as data, so that this needs no Go; `make upstream` makes them anew.
"""

import pytest

from tests.upstream import trainjob_data, trainjob_statuses, trainjob_updates

SUSPENDED = sorted(trainjob_updates.SUSPENDED)


def updates() -> list[trainjob_updates.Update]:
    runtimes, _ = trainjob_data.read()
    return list(trainjob_updates.updates(runtimes))


@pytest.mark.parametrize("suspended", SUSPENDED)
def test_a_change_that_trainer_refuses_is_refused_and_no_other(suspended: str) -> None:
    answers = trainjob_updates.read()
    wrong = [
        f"{one.id}: {difference}"
        for one in updates()
        if one.id.startswith(f"{suspended}/")
        for difference in trainjob_updates.found(one, answers[one.id])
    ]
    assert wrong == []


def test_a_jobset_is_shown_as_trainer_shows_it() -> None:
    answers = trainjob_statuses.read()
    wrong = [
        f"{one.id}: {difference}"
        for one in trainjob_statuses.sights()
        for difference in trainjob_statuses.found(one, answers[one.id])
    ]
    assert wrong == []


def test_every_change_and_status_was_asked_and_every_answer_has_its_case() -> None:
    assert {one.id for one in updates()} == set(trainjob_updates.read())
    assert {one.id for one in trainjob_statuses.sights()} == set(trainjob_statuses.read())


def test_the_listed_difference_is_seen() -> None:
    """A line whose difference is gone is to be removed."""
    answers = trainjob_updates.read()
    assert any(trainjob_updates.is_known(one, answers[one.id]) for one in updates())
