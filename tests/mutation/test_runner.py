"""The tool itself: a mistake is put into the function that is loaded, wherever that is kept."""

from pathlib import Path

from jobledger.core.jobs.retries.retry import judge
from tests.mutation.runner import function_of, loaded

ROOT = Path(__file__).resolve().parents[2]


def test_functions_are_found_that_the_garbage_collector_does_not_look_at() -> None:
    """As all are that were loaded before the tests began (`tests/conftest.py`)."""
    place = function_of(judge.__code__, ROOT)
    assert place is not None
    assert loaded(ROOT)[place] == [judge]
