"""Identifiers follow from what they name; these values are part of the storage format."""

from uuid import UUID

import pytest

from jobledger.core.values.ids import (
    NAME_CHARACTERS,
    SHARDS,
    decision_id_of,
    effect_id_of,
    event_id,
    name_suffix,
    observation_id,
    shard_of,
    stream_id,
)
from tests.support.rayjob_builders import after
from tests.support.records import NOON

STREAM = stream_id("kind", "uid-of-train", NOON)
SEEN = observation_id(STREAM, "manifest", "7")
FROZEN = {
    "stream": "01a1fdfa-4600-7f66-b374-6996102fe84f",
    "observation": "3fb671d7-ad61-5200-b57f-9e2ccbf46b49",
    "event": "e1ea0157-1a1c-5abd-b6fe-b1551fb94f14",
    "effect": "bf61340b-7c6c-5d9f-8a54-ff2e66f15ac4",
    "decision": "6179a3f1-fd47-5090-8d9d-15ad8bf58828",
    "suffix": "skd2v",
    "shard": 15,
}


def test_ids_are_what_they_were_in_every_release() -> None:
    """A change here makes every stored stream another job's."""
    assert {
        "stream": str(STREAM),
        "observation": str(SEEN),
        "event": str(event_id(SEEN, 0)),
        "effect": str(effect_id_of(SEEN, "create_cluster", "train-skd2v")),
        "decision": str(decision_id_of(SEEN, "retry", "")),
        "suffix": name_suffix("uid-of-train", "cluster", "1"),
        "shard": shard_of(STREAM),
    } == FROZEN


def test_a_stream_is_a_uuid_of_version_7_that_holds_the_creation_instant() -> None:
    assert STREAM.version == 7
    assert STREAM.variant == "specified in RFC 4122"
    assert STREAM.int >> 80 == int(NOON.timestamp() * 1000)


def test_streams_sort_by_the_age_of_their_jobs() -> None:
    streams = [stream_id("kind", f"uid-{n}", after(n)) for n in range(50)]
    assert streams == sorted(streams)


@pytest.mark.parametrize(
    "other",
    [
        stream_id("other", "uid-of-train", NOON),
        stream_id("kind", "uid-of-test", NOON),
        stream_id("kinduid", "-of-train", NOON),
        stream_id("kind", "uid-of-train", after(0.001)),
    ],
)
def test_another_cluster_uid_or_creation_is_another_stream(other: UUID) -> None:
    assert other != STREAM


def test_every_ordinal_and_every_observation_makes_another_event() -> None:
    observations = [observation_id(STREAM, "poll", str(n)) for n in range(20)]
    assert len({event_id(seen, ordinal) for seen in observations for ordinal in range(20)}) == 400


def test_parts_of_an_observation_do_not_run_into_each_other() -> None:
    assert observation_id(STREAM, "ab", "c") != observation_id(STREAM, "a", "bc")


def test_shards_are_all_used_and_no_others() -> None:
    found = {shard_of(stream_id("kind", f"uid-{n}", NOON)) for n in range(400)}
    assert found == set(range(SHARDS))


def test_name_suffixes_are_five_characters_that_cannot_spell() -> None:
    """Source: k8s.io/apimachinery/pkg/util/rand: no vowels, no 0, 1, 3."""
    for number in range(200):
        suffix = name_suffix("uid", str(number))
        assert len(suffix) == 5
        assert set(suffix) <= set(NAME_CHARACTERS)
    assert not set("aeiou013") & set(NAME_CHARACTERS)
