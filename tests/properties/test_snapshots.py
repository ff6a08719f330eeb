"""A fold that goes on from a snapshot is the fold of the whole stream, wherever it was made."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobledger.adapters.service.work.slots import fold_slot
from jobledger.core.log.envelope import EventRecord
from jobledger.core.projections.snapshot import Folded, folded_in, is_genuine, snapshot_of
from tests.properties.effort import lighter
from tests.properties.test_replay import logged
from tests.properties.test_stories import choices, live, specs
from tests.properties.world import World
from tests.support.batch_lives import BATCH_LIVES, recorded_job
from tests.support.lives import LIVES
from tests.support.recorded import recorded, stored
from tests.support.records import NOON
from tests.support.train_lives import TRAIN_LIVES, recorded_training

KEY, CODE = b"a key of the tests", b"the code of today"


def assert_goes_on(records: Sequence[EventRecord], at: int) -> None:
    """Assert that a fold that was stored after `at` events goes on as that of all of them."""
    stream, events = records[0].stream_id, stored(records)
    first = fold_slot(stream, events[:at])
    put = snapshot_of(first.tail, Folded(view=first.view, spent=1.5, at=NOON), CODE, KEY)
    assert is_genuine(put, CODE, KEY)
    known = folded_in(put)
    assert (known.view, known.spent, known.at) == (first.view, 1.5, NOON)
    rest = fold_slot(stream, events[at:], (put.tail, known))
    whole = fold_slot(stream, events)
    assert (rest.view, rest.tail) == (whole.view, whole.tail)


@lighter
@given(specs, choices, st.data())
def test_of_whatever_happened(
    spec: dict[str, object], chosen: list[int], data: st.DataObject
) -> None:
    world = World(dict(spec))
    live(world, chosen)
    records = logged(world)
    if records:
        assert_goes_on(records, data.draw(st.integers(1, len(records))))


@pytest.mark.parametrize("name", LIVES)
def test_of_the_lives_of_rayjobs(name: str) -> None:
    records = recorded(LIVES[name]())
    for at in range(1, len(records) + 1):
        assert_goes_on(records, at)


@pytest.mark.parametrize("name", TRAIN_LIVES)
def test_of_the_lives_of_trainjobs(name: str) -> None:
    records = recorded_training(name)
    for at in range(1, len(records) + 1):
        assert_goes_on(records, at)


@pytest.mark.parametrize("name", BATCH_LIVES)
def test_of_the_lives_of_batch_jobs(name: str) -> None:
    records = recorded_job(BATCH_LIVES[name])
    for at in range(1, len(records) + 1):
        assert_goes_on(records, at)
