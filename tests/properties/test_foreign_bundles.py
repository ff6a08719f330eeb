"""Whatever a file holds, reading it as a bundle or an archive ends in a sentence, and soon."""

import gzip
import hashlib
import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from jobledger.adapters.forensics import bundle_files
from jobledger.adapters.forensics.archive_files import bundles, is_archive
from jobledger.adapters.forensics.bundle_files import read_file
from jobledger.core.errors import BrokenChain, JobledgerError, LedgerMisconfigured
from jobledger.core.forensics.bundles.bundle import Bundle, first_difference, lines, read
from jobledger.core.forensics.bundles.dossier import Dossier, reader_of
from jobledger.core.kinds import KINDS
from jobledger.core.log.envelope import StoredEvent
from tests.support import rayjob_stories as stories
from tests.support.recorded import recorded, stored
from tests.support.records import NOON, a_stream

CALM = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
GENUINE = Bundle(exported_at=NOON, events=stored(recorded(stories.succeeded())))
LINES = list(lines(GENUINE))
PACKED = gzip.compress("".join(LINES).encode(), mtime=0)

values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(),
        st.sampled_from([10**400, -1, "\x00", "\ud800", "9" * 5000, "2026-13-45T99:99:99Z"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=6,
)


PYTHONS = re.compile(
    "codec|decompress|sys\\.|compliant|hexadecimal|unpack \\(|formed|gzipped|marker"
)


def refused(make: Callable[[], object]) -> None:
    """Let something end well, or in an error in our words: any other fails the test."""
    said = ""
    try:
        make()
    except JobledgerError as error:
        said = str(error)
    assert not PYTHONS.search(said)


@CALM
@given(st.lists(st.one_of(st.text(), values.map(json.dumps)), max_size=5))
def test_any_lines_are_no_bundle(told: list[str]) -> None:
    refused(lambda: read(told))


@CALM
@given(st.data())
def test_a_bundle_with_anything_in_place_of_anything_is_refused(data: st.DataObject) -> None:
    parts = [json.loads(line) for line in LINES[:-1]]
    part = data.draw(st.sampled_from(parts))
    inner = part.get("event", part)
    inner[data.draw(st.sampled_from(sorted(inner)))] = data.draw(values)
    told = [json.dumps(one) + "\n" for one in parts]
    hashed = hashlib.sha256("".join(told).encode()).hexdigest()
    refused(lambda: read([*told, json.dumps({"end": hashed}) + "\n"]))


@CALM
@given(st.one_of(st.binary(max_size=300), st.binary(max_size=300).map(gzip.compress)), st.data())
def test_any_bytes_are_no_bundle_and_no_archive(
    tmp_path: Path, content: bytes, data: st.DataObject
) -> None:
    file = tmp_path / "x.gz"
    file.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    refused(lambda: is_archive(file))
    refused(lambda: read_file(file))
    refused(lambda: list(bundles(file)))


@pytest.mark.parametrize(
    ("damaged", "told"),
    [
        (PACKED[:-50], "it breaks off"),
        (PACKED[:200] + b"\0" * 8 + PACKED[208:], "it cannot be unpacked"),
        (PACKED + b"more", "it cannot be unpacked"),
    ],
)
def test_a_packed_file_that_is_damaged_says_so_in_our_words(
    tmp_path: Path, damaged: bytes, told: str
) -> None:
    file = tmp_path / "x.gz"
    file.write_bytes(damaged)
    for look in (read_file, lambda path: list(bundles(path))):
        with pytest.raises(BrokenChain, match=f"{told}.; copy it once more") as caught:
            look(file)
        assert not PYTHONS.search(str(caught.value))


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("9" * 5000, "a value that no ledger writes"),
        ("NaN", "a value that no ledger writes"),
        ('"\\ud800"', "half a character"),
    ],
)
def test_a_value_that_python_would_refuse_in_its_words_is_refused_in_ours(
    value: str, told: str
) -> None:
    spoilt = LINES[1].replace('"data":{', f'"data":{{"added":{value},', 1)
    with pytest.raises(BrokenChain, match=f"line 2 of the bundle: it has {told}"):
        read([LINES[0], spoilt])


@pytest.mark.parametrize("depth", [1000, 200_000])
def test_what_is_nested_without_end_is_refused(tmp_path: Path, depth: int) -> None:
    file = tmp_path / "deep"
    file.write_text("[" * depth)
    with pytest.raises(BrokenChain):
        read_file(file)
    assert not is_archive(file)


@pytest.mark.parametrize("kind", ["a directory", "a pipe", "a device"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "place"
    if kind == "a directory":
        place.mkdir()
    elif kind == "a pipe":
        os.mkfifo(place)
    else:
        place = Path("/dev/zero")
    for look in (read_file, is_archive):
        with pytest.raises(LedgerMisconfigured, match="is no file"):
            look(place)


def test_a_bundle_that_unpacks_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle_files, "BUNDLE_CHARACTERS_MAX", 1 << 20)
    file = tmp_path / "bomb.gz"
    line = json.dumps({"evidence": {"digest": hashlib.sha256().hexdigest(), "content": ""}}) + "\n"
    file.write_bytes(gzip.compress((LINES[0] + line * 20_000).encode()))
    with pytest.raises(BrokenChain, match="longer than 1 MB"):
        read_file(file)


def test_one_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle_files, "LINE_CHARACTERS_MAX", 1000)
    file = tmp_path / "bomb.gz"
    file.write_bytes(gzip.compress(b"[" * 100_000))
    with pytest.raises(BrokenChain, match="too long"):
        read_file(file)


def test_a_longer_bundle_that_tells_a_job_otherwise_is_told_from_one_that_continues_it() -> None:
    shorter = Bundle(exported_at=NOON, events=GENUINE.events[:4])
    assert first_difference(shorter, GENUINE) == 0
    assert first_difference(GENUINE, shorter) == 0
    third = GENUINE.events[2]
    other = replace(third, record=replace(third.record, chain=bytes(32)))
    forged = Bundle(exported_at=NOON, events=(*GENUINE.events[:2], other, *GENUINE.events[3:]))
    assert first_difference(shorter, forged) == 3


def dossier_of(events: Sequence[StoredEvent]) -> Dossier:
    return Dossier(events=tuple(events), evidence=reader_of({}), origin="x.bundle")


def test_a_story_that_does_not_begin_with_whose_it_is_is_refused() -> None:
    """Its hashes may be right: whoever writes a bundle writes them too."""
    for events in (GENUINE.events[1:], ()):
        with pytest.raises(BrokenChain, match="does not begin with who the job is"):
            dossier_of(events).read()


def test_a_story_under_the_stream_of_another_job_is_refused() -> None:
    """It would be kept in place of that one's, and nothing could be imported after it."""
    first, *rest = GENUINE.events
    moved = replace(first, record=replace(first.record, stream_id=a_stream("another")))
    with pytest.raises(BrokenChain, match="tells of stream"):
        dossier_of((moved, *rest)).read()


@pytest.mark.parametrize("name", ["schema_version", "version", "epoch", "position"])
@pytest.mark.parametrize("value", [2**15, 2**31, 10**30, -(10**30)])
def test_numbers_beyond_those_of_a_ledger_are_told(name: str, value: int) -> None:
    parts = [json.loads(line) for line in LINES[:-1]]
    parts[1]["event"][name] = value
    told = [json.dumps(one) + "\n" for one in parts]
    hashed = hashlib.sha256("".join(told).encode()).hexdigest()
    refused(lambda: read([*told, json.dumps({"end": hashed}) + "\n"]))


def test_a_story_of_two_kinds_of_job_is_refused() -> None:
    first, second, *rest = GENUINE.events
    foreign = min(KINDS["TrainJob"].event_types)
    strange = replace(second, record=replace(second.record, type=foreign))
    with pytest.raises(BrokenChain, match="events of several kinds of job"):
        dossier_of((first, strange, *rest)).read()
