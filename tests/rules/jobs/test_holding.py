"""What a job is held for, by its events."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from jobledger.core.jobs.control.lost_history import holding_of
from jobledger.core.jobs.events import (
    ControlReleased,
    ControlTaken,
    LedgerBehindFound,
    RecoveredFromCluster,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=1)
FOUND = LedgerBehindFound(at=NOON, signs=("the status is Complete",))
MORE = LedgerBehindFound(at=LATER, signs=("RayCluster x is there",))
RECOVERED = RecoveredFromCluster(at=LATER, behind_since=NOON)
RELEASED = ControlReleased(at=LATER, why="its namespace is not ours")
TAKEN = ControlTaken(at=LATER, recorded_since=NOON, recorded_because="another was at work")


@pytest.mark.parametrize(
    ("events", "held"),
    [
        ((), None),
        ((FOUND,), FOUND),
        ((FOUND, MORE), replace(MORE, signs=(*FOUND.signs, *MORE.signs))),
        ((FOUND, RECOVERED), None),
        ((FOUND, TAKEN), None),
        ((FOUND, RELEASED), None),
        ((FOUND, RECOVERED, MORE), MORE),
        ((RECOVERED, object()), None),
    ],
)
def test_a_job_is_held_from_the_first_sign_until_it_is_taken_over(
    events: tuple[object, ...], held: LedgerBehindFound | None
) -> None:
    assert holding_of(events) == held
