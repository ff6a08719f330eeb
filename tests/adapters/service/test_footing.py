"""Whether the log still has what was appended: also if others were appended to since."""

import pytest

from tests.adapters.service.turns import TurnBench, seen
from tests.support.set_back import kept


@pytest.fixture
def bench() -> TurnBench:
    """A turn that has appended to two streams, and has looked since."""
    made = TurnBench()
    made.see(seen("one"), seen("two"))
    made.take()
    assert not made.turn.footing.is_lost()
    return made


def test_news_of_another_job_do_not_hide_what_is_lost(bench: TurnBench) -> None:
    set_back = kept(bench.store, bench.table)
    bench.see(seen("one", 2))
    bench.take()
    set_back()
    bench.see(seen("two", 2))
    bench.take()
    assert bench.turn.footing.is_lost()


def test_what_was_looked_at_before_still_counts_while_nothing_happens(bench: TurnBench) -> None:
    set_back = kept(bench.store, bench.table)
    bench.see(seen("one", 2))
    bench.take()
    assert not bench.turn.footing.is_lost()
    assert not bench.turn.footing.is_lost()
    set_back()
    assert bench.turn.footing.is_lost()


def test_a_log_that_only_grew_has_lost_nothing(bench: TurnBench) -> None:
    for generation in (2, 3, 4):
        bench.see(seen("one", generation), seen("two", generation))
        bench.take()
    assert not bench.turn.footing.is_lost()
    bench.turn.footing.forget()
    assert not bench.turn.footing.is_lost()


def test_nor_do_news_of_a_job_that_was_read_anew(bench: TurnBench) -> None:
    """It was over and nothing was known of it any more; then it is in the log as it once was."""
    set_back = kept(bench.store, bench.table)
    bench.see(seen("two", 2))
    bench.take()
    assert not bench.turn.footing.is_lost()
    set_back()
    bench.slots.drop([seen("two").identity.stream_id])
    bench.see(seen("two", 3))
    bench.take()
    assert bench.turn.footing.is_lost()


def test_nor_does_it_matter_that_a_job_was_only_read_here(bench: TurnBench) -> None:
    """Another run has written it: by what was read of it this one would decide all the same."""
    set_back = kept(bench.store, bench.table)
    bench.see(seen("one", 2))
    bench.take()
    bench.slots.drop([seen("one").identity.stream_id])
    bench.turn.footing.forget()
    bench.see(seen("one", 2))
    bench.take()
    assert not bench.turn.footing.is_lost()
    set_back()
    assert bench.turn.footing.is_lost()


def test_nor_that_an_old_job_was_read_last(bench: TurnBench) -> None:
    """Its end tells nothing of what was appended to others after it."""
    set_back = kept(bench.store, bench.table)
    bench.see(seen("two", 2))
    bench.take()
    bench.slots.drop([seen("one").identity.stream_id])
    bench.see(seen("one"))
    bench.take()
    assert not bench.turn.footing.is_lost()
    assert not bench.turn.footing.is_lost()
    set_back()
    assert bench.turn.footing.is_lost()
