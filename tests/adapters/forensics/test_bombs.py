"""Files that are small and would fill the memory, or are cut off, end in a sentence."""

import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from jobledger.adapters.forensics import bundle_files, foreign_files
from jobledger.adapters.forensics.archive_files import bundles, seals_of
from jobledger.adapters.forensics.bundle_files import read_file
from jobledger.adapters.forensics.foreign_files import text_of, values_in
from jobledger.core.errors import BrokenChain, LedgerMisconfigured
from jobledger.core.forensics.bundles.bundle import Bundle, lines
from tests.support import rayjob_stories as stories
from tests.support.recorded import recorded, stored
from tests.support.records import NOON

LINES = list(lines(Bundle(exported_at=NOON, events=stored(recorded(stories.succeeded())))))
MANY = 100_000
LISTS = "[" + ",".join(["[]"] * MANY) + "]"
"""Three characters for each list, which takes sixty bytes once it is read."""

ARCHIVE_HEAD = '{"archive_file":"jobledger archive file 1","number":1}\n'


def swollen() -> list[str]:
    """Return the beginning of a bundle whose events hold little more than empty lists."""
    event = json.loads(LINES[1])
    event["event"]["data"] = {"x": "here"}
    return [LINES[0], *[json.dumps(event).replace('"here"', LISTS) + "\n"] * 40]


@pytest.mark.parametrize(
    ("begin", "read"),
    [
        ("", read_file),
        (ARCHIVE_HEAD, lambda path: list(bundles(path))),
    ],
    ids=["bundle", "archive"],
)
def test_what_fills_the_memory_is_not_read_to_its_end(
    begin: str,
    read: Callable[[Path], object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(gzip.compress("".join([begin, *swollen()]).encode()))
    most = 4 * MANY
    for module in (bundle_files, foreign_files):
        monkeypatch.setattr(module, "VALUES_MAX", most)
    tracemalloc.start()
    try:
        with pytest.raises(BrokenChain, match=f"more than {most:,} values"):
            read(bomb)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 80 * most, "all forty events would take six times as much"


def test_seals_and_records_have_as_many_values_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (bundle_files, foreign_files):
        monkeypatch.setattr(module, "VALUES_MAX", MANY)
    record = tmp_path / "archive-000001.json"
    record.write_text(LISTS)
    with pytest.raises(LedgerMisconfigured, match="more than 100,000 values"):
        text_of(record, 1 << 30)
    archive = tmp_path / "archive.gz"
    archive.write_bytes(gzip.compress(f'{ARCHIVE_HEAD}{{"sealed":{LISTS}}}\n'.encode()))
    with pytest.raises(BrokenChain, match="more than 100,000 values"):
        seals_of(archive, lambda _: True)


def test_the_values_of_a_text_are_never_counted_too_low() -> None:
    for value, least in (([[], [], []], 4), ({"a": {"b": 1}}, 3), (["x,y", 1], 3), (1, 0)):
        assert values_in(json.dumps(value)) >= least


def test_genuine_events_are_far_from_the_limit() -> None:
    """Six thousand events are an hour's budget of a job: a day of them fits into a bundle."""
    events = [line for line in LINES if line.startswith('{"event":')]
    each = sum(map(values_in, events)) / len(events)
    assert 24 * 6_000 * each < foreign_files.VALUES_MAX


@pytest.mark.parametrize("cut", [-1, -20, 30], ids=["its last byte", "its end", "nearly all"])
def test_a_packed_bundle_that_is_cut_off_is_not_whole(cut: int, tmp_path: Path) -> None:
    half = tmp_path / "half.gz"
    half.write_bytes(gzip.compress("".join(LINES).encode())[:cut])
    with pytest.raises(BrokenChain, match="it is not whole"):
        read_file(half)


def test_what_follows_a_packed_bundle_is_told(tmp_path: Path) -> None:
    more = tmp_path / "more.gz"
    more.write_bytes(gzip.compress("".join(LINES).encode()) + b"and more")
    with pytest.raises(BrokenChain, match="it is not whole"):
        read_file(more)
