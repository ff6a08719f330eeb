"""How replicas share the shards: who is to hold how many, and what is given up."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest

from jobledger.core.ports.replicas import Replica
from jobledger.core.sharing import is_cut_off, quotas, surplus
from jobledger.core.values.ids import SHARDS
from tests.support.records import NOON

PATIENCE = timedelta(seconds=6)


def member(
    owner: str,
    shards: int = 0,
    *,
    heard: float | None = 100,
    well: float = 0,
    since: float = 0,
) -> Replica:
    """Return a replica; times are seconds after noon, and it is 100 s after noon."""
    return Replica(
        owner=owner,
        since=NOON + timedelta(seconds=since),
        until=NOON + timedelta(seconds=115),
        heard_at=None if heard is None else NOON + timedelta(seconds=heard),
        well_since=None if heard is None else NOON + timedelta(seconds=well),
        shards=shards,
    )


def starting(owner: str, shards: int = 0, *, since: float = 99) -> Replica:
    """Return a replica that has not listed everything yet."""
    return member(owner, shards, heard=None, since=since)


TABLE: Mapping[str, tuple[Sequence[Replica], Mapping[str, int]]] = {
    "a single one holds all": ([member("a", 16)], {"a": 16}),
    "a single one that starts holds all": ([starting("a")], {"a": 16}),
    "one joins": ([member("a", 16), member("b")], {"a": 8, "b": 8}),
    "a third joins": ([member("a", 8), member("b", 8), member("c")], {"a": 6, "b": 5, "c": 5}),
    "who holds more keeps the odd shard": (
        [member("a", 5), member("b", 5), member("c", 6)],
        {"a": 5, "b": 5, "c": 6},
    ),
    "one has gone": ([member("b", 5), member("c", 5)], {"b": 8, "c": 8}),
    "one that starts waits while others work": (
        [member("a", 16), starting("b")],
        {"a": 16, "b": 0},
    ),
    "of several that start the first takes all": (
        [starting("b", since=98), starting("a", since=99)],
        {"b": 16, "a": 0},
    ),
    "who started first and holds all still counts when a second is ready": (
        [starting("a", 16, since=95), member("b", well=99)],
        {"a": 8, "b": 8},
    ),
    "who started first and never gets ready loses all": (
        [starting("a", 16, since=80), member("b", well=90)],
        {"a": 0, "b": 16},
    ),
    "who is cut off from the API server loses all": (
        [member("a", 8, heard=93), member("b", 8)],
        {"a": 0, "b": 16},
    ),
    "a short silence costs nothing": (
        [member("a", 8, heard=95), member("b", 8)],
        {"a": 8, "b": 8},
    ),
    "nobody hears the API server: nothing moves": (
        [member("a", 8, heard=50), member("b", 8, heard=53)],
        {"a": 8, "b": 8},
    ),
    "it is back, and one has heard it sooner": (
        [member("a", 8, heard=50), member("b", 8, heard=100, well=97)],
        {"a": 8, "b": 8},
    ),
    "it is back, and one still does not hear it": (
        [member("a", 8, heard=50), member("b", 8, heard=100, well=93)],
        {"a": 0, "b": 16},
    ),
    "who is cut off is no reason for one that starts to wait": (
        [member("a", 16, heard=50), member("b", 0, heard=100, well=80), starting("c")],
        {"a": 0, "b": 16, "c": 0},
    ),
}


@pytest.mark.parametrize("row", TABLE)
def test_quotas(row: str) -> None:
    members, expected = TABLE[row]
    assert quotas(members, PATIENCE) == expected
    assert quotas(list(reversed(members)), PATIENCE) == expected


def test_more_replicas_than_shards_leave_some_with_nothing_to_do() -> None:
    members = [member(f"r{number:02}") for number in range(SHARDS + 2)]
    found = quotas(members, PATIENCE)
    assert sorted(found.values()) == [0, 0, *[1] * SHARDS]


def test_of_nobody_nothing_is_asked() -> None:
    assert quotas([], PATIENCE) == {}


@pytest.mark.parametrize(
    ("held", "quota", "leaving", "expected"),
    [
        (range(16), 16, (), ()),
        (range(4), 8, (), ()),
        (range(6), 4, (), (4, 5)),
        (range(6), 4, (0, 1), (0, 1)),
        (range(6), 5, (0, 1), (1,)),
        (range(6), 6, (0, 1), ()),
        ((2, 9), 0, (), (2, 9)),
    ],
)
def test_surplus(
    held: Sequence[int], quota: int, leaving: Sequence[int], expected: Sequence[int]
) -> None:
    """The highest are given up; what is leaving already is not exchanged for another."""
    assert surplus(held, quota, leaving) == frozenset(expected)


def test_nobody_is_cut_off_who_is_alone() -> None:
    alone = member("a", 16, heard=1)
    assert not is_cut_off(alone, [alone], PATIENCE)
