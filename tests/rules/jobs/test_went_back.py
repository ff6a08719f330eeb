"""When a look at a job's object is old, and when the object went back."""

from typing import NamedTuple

import pytest

from jobledger.core.jobs.control.went_back import is_old_look
from jobledger.core.values.instants import Instant
from tests.support.records import NOON

DELETED = NOON


class Look(NamedTuple):
    generation: int
    deleting_at: Instant | None
    instead_of: int = 0


@pytest.mark.parametrize(
    ("generation", "instead_of", "deleting", "known_deleting", "is_old"),
    [
        pytest.param(6, 0, None, None, False, id="a later one"),
        pytest.param(5, 0, None, None, False, id="the one that is known"),
        pytest.param(4, 0, None, None, True, id="an earlier one"),
        pytest.param(4, 5, None, None, False, id="an earlier one, asked for since then"),
        pytest.param(4, 3, None, None, True, id="asked for before the known one was written down"),
        pytest.param(4, 0, DELETED, None, False, id="deleted, of which nobody knew"),
        pytest.param(4, 0, DELETED, DELETED, True, id="deleted, as is known"),
        pytest.param(4, 0, None, DELETED, True, id="from before its deletion"),
        pytest.param(4, 5, None, DELETED, False, id="the deletion was lost, and it was asked for"),
    ],
)
def test_a_look(
    generation: int,
    instead_of: int,
    deleting: Instant | None,
    known_deleting: Instant | None,
    *,
    is_old: bool,
) -> None:
    seen = Look(generation=generation, instead_of=instead_of, deleting_at=deleting)
    known = Look(generation=5, deleting_at=known_deleting)
    assert is_old_look(seen, known) is is_old
