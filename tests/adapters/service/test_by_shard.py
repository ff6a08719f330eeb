"""What is found by shard, or by what jobs share, is what looking through all would find."""

from hypothesis import given
from hypothesis import strategies as st

from jobledger.adapters.service.objects.by_shard import ByShard
from jobledger.adapters.service.objects.uids_by import UidsBy
from jobledger.core.values.ids import StreamId, shard_of
from tests.support.records import a_stream

STREAMS = [a_stream(f"job {number}") for number in range(12)]


@given(st.lists(st.tuples(st.sampled_from(STREAMS), st.sampled_from(["set", "drop", "del"]))))
def test_values_by_shard(steps: list[tuple[StreamId, str]]) -> None:
    found, plain = ByShard[int](), dict[StreamId, int]()
    for number, (stream, what) in enumerate(steps):
        if what == "set":
            found[stream] = plain[stream] = number
        elif what == "drop":
            assert found.drop(stream) == plain.pop(stream, None)
        elif stream in plain:
            del found[stream], plain[stream]
    assert found == plain
    for shard in {shard_of(stream) for stream in STREAMS}:
        assert set(found.of([shard])) == {one for one in plain if shard_of(one) == shard}
    assert set(found.of(range(10_000))) == set(plain)


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("ab"), st.sampled_from("123"))))
def test_uids_by_a_key(steps: list[tuple[bool, str, str]]) -> None:
    found, plain = UidsBy[str](), dict[str, set[str]]()
    for is_added, key, uid in steps:
        if is_added:
            found.add(key, uid)
            plain.setdefault(key, set()).add(uid)
        else:
            found.discard(key, uid)
            plain.setdefault(key, set()).discard(uid)
    for key in "ab":
        assert set(found.of(key)) == plain.get(key, set())
