"""Laws of the queue that tenants share: whatever comes in whichever order."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from jobledger.adapters.service.work.rotation import Rotation

NAMES = st.sampled_from("abcd")
MOVES = st.lists(st.one_of(NAMES, st.just("")), max_size=60)
"""A name: an item of that namespace comes in; an empty one: the next item is taken."""


def played(moves: list[str]) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Return what came in and what was taken, to the last; items are numbered as they come."""
    rotation: Rotation[int] = Rotation()
    come: list[tuple[str, int]] = []
    taken: list[tuple[str, int]] = []
    for move in moves:
        if move:
            come.append((move, len(come)))
            rotation.append(move, len(come) - 1)
        elif found := rotation.pop():
            taken.append(found)
        assert len(rotation) == len(come) - len(taken)
    while found := rotation.pop():
        taken.append(found)
    return come, taken


@given(MOVES)
def test_nothing_is_lost_or_doubled_and_each_namespace_keeps_its_order(moves: list[str]) -> None:
    come, taken = played(moves)
    assert sorted(taken, key=lambda item: item[1]) == come
    for name in "abcd":
        assert [item for item in taken if item[0] == name] == [it for it in come if it[0] == name]


@given(st.lists(NAMES, max_size=60))
def test_no_namespace_is_a_turn_ahead_of_another_that_waits(names: list[str]) -> None:
    _, taken = played(names)
    waiting, had = Counter(names), Counter[str]()
    for name, _ in taken:
        assert all(had[name] <= had[other] for other in waiting if had[other] < waiting[other])
        had[name] += 1


@given(MOVES, st.integers(0, 60))
def test_what_is_taken_and_put_back_at_once_changes_nothing(moves: list[str], count: int) -> None:
    kept: Rotation[int] = Rotation()
    disturbed: Rotation[int] = Rotation()
    for number, name in enumerate(move for move in moves if move):
        kept.append(name, number)
        disturbed.append(name, number)
    taken = [found for _ in range(count) if (found := disturbed.pop())]
    for name, number in reversed(taken):
        disturbed.append_left(name, number)
        disturbed.is_next(name)
    assert [disturbed.pop() for _ in moves] == [kept.pop() for _ in moves]


@given(st.lists(NAMES, min_size=1, max_size=60), st.integers(1, 60))
def test_what_is_dropped_is_the_last_of_whoever_has_the_most(names: list[str], drops: int) -> None:
    rotation: Rotation[int] = Rotation()
    waiting: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        rotation.append(name, number)
        waiting.setdefault(name, []).append(number)
    for _ in range(min(drops, len(names))):
        rotation.drop_of_longest()
        longest = max(waiting.values(), key=len)
        most = len(longest)
        ties = sorted(name for name, items in waiting.items() if len(items) == most)
        left = {name: count for name, count in counted(rotation).items() if count}
        (fewer,) = (name for name in ties if left.get(name, 0) == most - 1)
        waiting[fewer].pop()
        assert left == {name: len(items) for name, items in waiting.items() if items}
    while found := rotation.pop():
        assert waiting[found[0]].pop(0) == found[1]


def counted(rotation: Rotation[int]) -> Counter[str]:
    """Return how many items of each namespace wait; they wait afterwards as before."""
    taken = []
    while found := rotation.pop():
        taken.append(found)
    for name, number in taken:
        rotation.append(name, number)
    return Counter(name for name, _ in taken)
