"""What the facts of a job of many attempts cost: as much for each attempt as of one of few."""

import sys
from collections.abc import Callable
from types import FrameType

import pytest
from msgspec.structs import replace

from bench.population.life import RULES
from jobledger.core.catalogue import read_event
from jobledger.core.projections.reporting.fold import Folded, fold, rows_of
from jobledger.core.rayjob.observations.observations import ManifestSeen
from jobledger.core.values.documents import Json
from tests.support.rayjob_stories import failed_attempts
from tests.support.recorded import recorded

HEAD: Json = {"containers": [{"name": "ray-head", "resources": {"requests": {"cpu": "2"}}}]}
DOCUMENT: Json = {"spec": {"rayClusterSpec": {"headGroupSpec": {"template": {"spec": HEAD}}}}}


def calls(work: Callable[[], object]) -> int:
    """Return how many calls of functions something makes, each step of a generator one."""
    count = 0

    def note(_frame: FrameType, what: str, _argument: object) -> None:
        nonlocal count
        count += what in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def folding(attempts: int) -> tuple[int, int]:
    """Return the calls of folding a job of so many failed attempts, and of making its rows."""
    records = recorded(
        replace(step, document=DOCUMENT) if isinstance(step, ManifestSeen) else step
        for step in failed_attempts(attempts, backoff_limit=attempts + 1)
    )
    events = [read_event(one) for one in records]
    folded = Folded()

    def play() -> None:
        nonlocal folded
        for one, event in zip(records, events, strict=True):
            folded = fold(folded, one, event, RULES)

    return calls(play), calls(lambda: rows_of(folded))


def test_the_facts_of_many_attempts_cost_as_much_for_each_as_those_of_few() -> None:
    folding(2)  # what is made once, and kept
    few, many = folding(25), folding(200)
    assert many[0] == pytest.approx(8 * few[0], rel=0.1)
    assert many[1] == pytest.approx(8 * few[1], rel=0.1)
